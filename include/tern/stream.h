/* stream.h - work beside what a context computes: copies and calls in order, on a thread of the stream's own. A copy of the next
 * batch then overlaps the computation of this one, on every device: tensors lie in host memory, and a device that has memory of its
 * own copies them in when they are staged (tern_exec_stage) or a partition begins. In traces a stream is a track of its own (category
 * "copy"), and so are a device's copies in and out.
 *
 *     TERN_TRY(tern_stream_write(stream, next, data));        returns at once; `data` stays until it is done
 *     TERN_TRY(tern_stream_record(stream, &copied));
 *     TERN_TRY(tern_exec_run(exec, 1, &now, 1, &y));          meanwhile
 *     TERN_TRY(tern_event_wait(copied));                      now `next` may be used
 *
 * tern_pipeline_run does this for a list of batches.
 *
 * Threading: a stream belongs to the thread of its context; events may be waited for and signalled by any. */
#ifndef TERN_STREAM_H
#define TERN_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/program.h>
#include <tern/status.h>
#include <tern/tensor.h>

typedef struct tern_stream tern_stream;
typedef struct tern_event tern_event;

/* Work on the stream's thread; a failure says why by tern_last_error's rules. It must not use the stream's context. */
typedef tern_status (*tern_stream_work)(void *user);

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_status tern_stream_create(tern_ctx *ctx, tern_stream **out);
/* Waits for what was begun. Before its context; NULL is fine. */
TERN_API void tern_stream_free(tern_stream *stream);

/* Each is begun when what was given to the stream before is done, and returns at once. Once something has failed, nothing behind it
 * is done any more: tern_stream_synchronise tells. Until it is done neither the tensor nor the data may be used. */

/* Copies tern_nbytes(t) bytes from `data` into `t`, which is contiguous and may be written. */
TERN_API tern_status tern_stream_write(tern_stream *stream, tern_tensor *t, const void *data);
/* Evaluates `t` (now), and copies it, row-major, to `data`. */
TERN_API tern_status tern_stream_read(tern_stream *stream, tern_tensor *t, void *data);
/* Calls. `name`, of the trace event, is static. */
TERN_API tern_status tern_stream_call(tern_stream *stream, const char *name, tern_stream_work work,
                                      void *user);
/* What comes later waits for the event, which may be another stream's. */
TERN_API tern_status tern_stream_wait(tern_stream *stream, tern_event *event);
/* An event that is done when everything before it is. */
TERN_API tern_status tern_stream_record(tern_stream *stream, tern_event **out);

/* Waits for everything, and gives the first failure: then the stream is as new. */
TERN_API tern_status tern_stream_synchronise(tern_stream *stream);

/* An event that tern_event_signal makes done. */
TERN_API tern_status tern_event_create(tern_event **out);
TERN_API tern_status tern_event_signal(tern_event *event);
TERN_API bool tern_event_is_done(const tern_event *event);
/* TERN_OK, or the status of the stream that it is of, if something before it failed. */
TERN_API tern_status tern_event_wait(tern_event *event);
TERN_API void tern_event_free(tern_event *event); /* also before it is done; NULL is fine */

/* ---- batches, one behind the other ---- */

typedef struct tern_pipeline {
    /* Fills the inputs of a batch: inputs[i] has room for input i of the program, row-major. On the stream's thread, while the batch
     * before is computed. */
    tern_status (*fill)(void *user, int64_t batch, int n_inputs, void *const *inputs);
    /* Takes the results, in order, on the caller's thread; they belong to a scope that is closed behind it. NULL: nobody does. */
    tern_status (*take)(void *user, int64_t batch, int n_outputs, tern_tensor *const *outputs);
    void *user;
} tern_pipeline;

/* Computes batches 0 to n - 1 with inputs in two sets of buffers: while one is read the other is filled. On a device that copies inputs
 * there are three: while one is computed, the next is copied to the device and the one behind it is filled; there a batch is
 * computed when the next is filled. Stops at the first failure. */
TERN_API tern_status tern_pipeline_run(tern_exec *exec, int64_t n, const tern_pipeline *pipeline);

#ifdef __cplusplus
}
#endif
#endif
