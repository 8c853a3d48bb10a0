/* trace.h - a ring of timed events, off by default. Profilers and reports read these and nothing else.
 *
 * Each thread that records has a ring of its own, so recording takes no lock; when a ring is full the oldest
 * events are overwritten and counted as lost. "Oldest" goes by the end of events, which is when they are
 * recorded. */
#ifndef TERN_TRACE_H
#define TERN_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>

typedef struct tern_trace_event {
    const char *name;      /* static or interned for the life of the process                          */
    const char *category;  /* "step", "wait", "run", "eval", "compile", "pass", "model", "work", "copy" ... */
    const char *kernel;    /* of a step: what ran; static, or NULL                                     */
    const char *where;     /* of a step: the part of the model, "layer 3/attention"; interned, or NULL */
    uint64_t start_ns;     /* monotonic clock                                                          */
    uint64_t duration_ns;  /* 0 for an instant                                                         */
    uint32_t thread;       /* small number, in order of first event; copies of a device have their own */
    uint32_t program;      /* which plan, from 1 in order of compilation; 0 = none                     */
    uint32_t step;         /* of the plan; of a "run": the worker; or UINT32_MAX                       */
    bool int8;             /* the flops are operations on int8                                         */
    bool at_most;          /* flops and bytes are the most they can be: the true work depends on data  */
    uint64_t flops, bytes; /* estimates of the work done; 0 = not applicable                           */
} tern_trace_event;

/* Zeroed fields are the defaults. */
typedef struct tern_trace_options {
    size_t events_per_thread; /* capacity of each ring, rounded up to a power of two; 0 = 65536 */
} tern_trace_options;

typedef void (*tern_trace_visit)(void *user, const tern_trace_event *event);

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_trace_options tern_trace_options_default(void);

/* Starts recording in the whole process (options NULL: defaults). TERN_STATE if it is on already. */
TERN_API tern_status tern_trace_start(const tern_trace_options *options);

/* Stops recording and calls `visit` (may be NULL) for every event kept, by thread, then by start; an event
 * comes before those nested in it. `lost`, if not NULL, receives how many were overwritten or found no
 * memory. TERN_STATE if recording is off. No tern call may be running on other threads. */
TERN_API tern_status tern_trace_stop(tern_trace_visit visit, void *user, uint64_t *lost);

TERN_API bool tern_trace_is_on(void);

#ifdef __cplusplus
}
#endif
#endif
