/* batch.h - how many items to work on at once, and working on any number of them.
 *
 * The finder measures: larger batches use weights that are read once more often, until something no longer
 * fits into a cache or into the memory that is allowed. The processor cuts a list of items into batches,
 * keeps their order, and takes what is left at the end as it comes.
 *
 * Threading: as the context that is given; tern_batch_process uses none. */
#ifndef TERN_BATCH_H
#define TERN_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/program.h>
#include <tern/status.h>
#include <tern/tensor.h>

/* ---- finding a size --------------------------------------------------------------------------------------------------- */

enum { TERN_BATCH_TRIALS = 64 };

typedef struct tern_batch_work {
    /* Makes the program for `batch` items at once. It is freed with tern_program_free. */
    tern_status (*compile)(void *user, tern_ctx *ctx, int64_t batch, tern_program **out);
    /* Runs it once. May set *ns to what it measured itself; else the time of the call counts. NULL: the
     * program is run with inputs that are made up, random for floats and 0 for integers. */
    tern_status (*run)(void *user, tern_ctx *ctx, int64_t batch, const tern_program *program, uint64_t *ns);
    void *user;
} tern_batch_work;

/* Zeroed fields are the defaults. */
typedef struct tern_batch_options {
    int64_t least, most;       /* sizes: least, twice that, ... and most; 0 = 1, and 256 */
    size_t memory_limit;       /* of one run: intermediates, inputs and outputs; 0 = none */
    uint64_t latency_limit_ns; /* of one run; 0 = none */
    int runs;                  /* timed ones of each size; 0 = 5 */
} tern_batch_options;

/* One size that was tried. */
typedef struct tern_batch_trial {
    int64_t batch;
    tern_status status; /* TERN_OK; TERN_LIMIT: too much memory or time; or what failed */
    size_t bytes;       /* of one run; 0 if it was not compiled */
    uint64_t median_ns; /* of one run; 0 if it did not run */
    double items_per_second;
} tern_batch_trial;

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_batch_options tern_batch_options_default(void);

/* *best: the size with most items per second among those within the limits. Sizes are tried upwards until
 * one is beyond a limit or fails, or throughput falls well below the best twice in a row. `trials` (room
 * for TERN_BATCH_TRIALS, or NULL) and *n_trials (or NULL) receive all of them. If no size works, the
 * status of the first is returned. */
TERN_API tern_status tern_batch_find(tern_ctx *ctx, const tern_batch_work *work,
                                     const tern_batch_options *options, int64_t *best,
                                     tern_batch_trial *trials, int *n_trials);

/* ---- any number of items ----------------------------------------------------------------------------------------------- */

/* Works on items[0..count) and fills results[0..count); both NULL if the caller of tern_batch_process gave
 * NULL. `first` is the number of items[0] in the whole list. */
typedef tern_status (*tern_batch_fn)(void *user, int64_t first, int64_t count, void *const *items,
                                     void **results);

/* Calls `fn` for batches of `batch` items, in order; the last has what is left. Stops at the first that
 * fails and returns its status. *done (or NULL) counts the items of the batches that succeeded. */
TERN_API tern_status tern_batch_process(int64_t n, void *const *items, void **results, int64_t batch,
                                        tern_batch_fn fn, void *user, int64_t *done);

/* The same with the exec of a program of one input [batch, ...] and one output [batch, ...]: items[i] is a
 * tensor [...], results[i] becomes one, owned like any other. Batches have the size that was recorded. A last
 * one with fewer items runs at its own size if the program was compiled for a range of batches that has it
 * (tern_compile_options.batch); else it is filled up with zeros, which no result shows. */
TERN_API tern_status tern_batch_run(tern_exec *exec, int64_t n, tern_tensor *const *items,
                                    tern_tensor **results, int64_t *done);

#ifdef __cplusplus
}
#endif
#endif
