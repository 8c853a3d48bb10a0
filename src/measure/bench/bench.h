/* bench.h - suites of benchmarks: what can be measured, opened one by one. bench.c has the one driver that times them; regressions
 * open the same cells to take samples of their own.
 *
 * A case is one row of a suite; with a number of threads it is a cell. Order: describe, prepare (data), ready (compiled for a number
 * of threads, its results compared with the reference), run as often as wanted, ready with another number, ..., close. */
#ifndef TERN_MEASURE_BENCH_H
#define TERN_MEASURE_BENCH_H

#include <stdbool.h>

#include <tern/context.h>
#include <tern/measure.h>
#include <tern/program.h>
#include <tern/results.h>

#include "measure/deadline.h"
#include "measure/limits.h"
#include "measure/measure.h"
#include "measure/timing.h"

typedef struct tern__suite tern__suite;

typedef struct tern__bench {
    tern_bench_options o; /* settled */
    int usual_threads[2];
    const tern__suite *suite;
    const char *device; /* its name in the catalog */
    bool on_cpu;        /* limits are measured there, and memory is counted there */
    tern_ctx *ctx;      /* on the CPU: data are made in it, and references computed */
    /* what is measured runs in it; the same on the CPU, NULL if the device is not there */
    tern_ctx *device_ctx;
    tern__threads *pool; /* of the limits' probes */
} tern__bench;

typedef struct tern__cell {
    const tern__bench *bench;
    tern_result row;            /* texts live as long as the cell */
    char shape[256], dtype[32]; /* of the row */
    void *state;                /* the suite's */
    bool strided;               /* an operand does not lie in one piece; set by describe */
    bool limited;               /* `work` is what one run does at best */
    tern__limit_work work;
    double operations, bytes; /* of one run, by which its rates are reckoned; 0: not counted */
    double first_s;           /* how long the first run took; set by ready */
    tern__deadline deadline;  /* after which it is given up; zeroed: never */
} tern__cell;

struct tern__suite {
    const char *name, *what;
    const char *no_limit; /* why its cases have no share of a limit; NULL: they have one */
    /* why it is not measured on other devices; NULL: it is, its cases compile for bench->device_ctx */
    const char *cpu_only;
    /* Says which benchmark case i is. TERN_OUT_OF_RANGE past the last. */
    tern_status (*describe)(const tern__bench *bench, int i, tern__cell *cell);
    tern_status (*prepare)(int i, tern__cell *cell);
    /* Sets how it is done, what a run needs, its limit. TERN_INTERNAL: it differs from the reference. */
    tern_status (*ready)(tern__cell *cell, int threads);
    tern_status (*run)(void *state);
    /* The same with what it keeps from run to run (arenas) made anew, so that its memory can be counted; NULL: it keeps nothing. */
    tern_status (*run_anew)(void *state);
    void (*close)(tern__cell *cell); /* also of one that could not be prepared */
};

extern const tern__suite tern__suite_ops, tern__suite_graph, tern__suite_alloc, tern__suite_compile,
    tern__suite_transfer;

/* Of one device, options.device (NULL: the CPU). One that is not there opens as well: its cells cannot be prepared, and say why.
 * `bench` may lie anywhere; closing one that failed to open is fine. */
tern_status tern__bench_open(const tern_bench_options *options, tern__bench *bench);
void tern__bench_close(tern__bench *bench);

/* Sets the budget, the number of samples and that of warm-ups, where they are 0, to what is usual. */
void tern__bench_settle_sampling(tern_bench_options *o);

/* Does options.stop say so? */
bool tern__bench_stopped(const tern__bench *bench);

/* Measures every cell of the suite, or of the family that is asked for. TERN_STATE when all were visited: a row is faster than its
 * limit or differs from the reference, or none could be measured. */
tern_status tern__bench_visit(const tern__bench *bench, tern_bench_visit visit, void *user);

tern_status tern__cell_describe(const tern__bench *bench, int i, tern__cell *cell);
/* Its time begins: tern__cell_prepare, _ready and _run give up with TERN_CANCELLED when options.timeout_s are over. */
void tern__cell_begin(tern__cell *cell);
/* Prepares and readies; `threads` as often as wanted. Failures leave the cell to be closed. What they run on the bench's context is cut
 * short; what is timed afterwards is not, and looks at the clock after every run. */
tern_status tern__cell_prepare(int i, tern__cell *cell);
tern_status tern__cell_ready(tern__cell *cell, int threads);
/* Fits tern__thing; TERN_CANCELLED past the deadline. */
tern_status tern__cell_run(void *cell);
/* Its limit; NULL if it has none, and then TERN_UNAVAILABLE says why it should have. tern__limit_destroy it. */
tern_status tern__cell_limit(const tern__cell *cell, tern__limit **out);
/* Times a cell that is ready in turns with `limit` (may be NULL), as the bench's options say; `repeats` runs in a sample, 0: as many as
 * they ask for. Fills the row; `samples` (2 of TERN__ROUNDS_MOST: times, and the processor's) are its samples then. */
tern_status tern__cell_time(tern__cell *cell, tern__limit *limit, int64_t repeats,
                            double (*samples)[TERN__ROUNDS_MOST], tern__measurement *m);
/* The rates of a row of it, by the row's median. */
void tern__cell_rates(const tern__cell *cell, tern_result *row);
void tern__cell_close(tern__cell *cell);

/* The step with the most work says which kernel it is that is measured. */
void tern__row_find_kernel(const tern_program *program, tern_result *row);

#endif
