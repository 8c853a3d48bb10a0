/* measure.h - how fast things are, and how fast they could be on this machine.
 *
 * A limit is what the hardware gives at most: bytes read or moved, multiply-adds in f32, products of int8. Limits are measured,
 * not looked up: each is the best of several probes, run in turns with what it is the limit of, so that a share of the limit
 * means something on a machine that others use as well. */
#ifndef TERN_MEASURE_H
#define TERN_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/status.h>

/* X(enumerator, number, name, what counts). */
#define TERN_LIMIT_LIST(X)                                        \
    X(READ_BW, 0, "read_bw", "bytes read from memory")            \
    X(COPY_BW, 1, "copy_bw", "bytes read and written")            \
    X(FMA, 2, "fma", "f32 operations, two for each multiply-add") \
    X(INT8_DOT, 3, "int8_dot", "int8 operations, two for each product that is added up")

typedef enum tern_limit_kind {
#define TERN_LIMIT_ENUM(id, number, name, counts) TERN_LIMIT_##id = number,
    TERN_LIMIT_LIST(TERN_LIMIT_ENUM)
#undef TERN_LIMIT_ENUM
} tern_limit_kind;

#ifdef __cplusplus
extern "C" {
#endif

/* "read_bw"; "unknown" for numbers that are no kinds. Static. */
TERN_API const char *tern_limit_name(tern_limit_kind kind);

/* ---- What a run should take ---------------------------------------------------------------------------------- */

/* A model of the machine: a step takes what it costs to be there, and then the longer of moving its bytes and computing its
 * flops. Bytes move at the speed of the caches if they fit in them, else at that of memory. Its rates are not limits: they
 * are what the library's own kernels reach, measured with programs or given by the caller. */
typedef struct tern_machine {
    double memory_bytes_per_s; /* of a step that moves more than cache_bytes */
    double cache_bytes_per_s;  /* of the others                              */
    double flops_per_s;
    double step_ns;       /* what a step takes that has nothing to do */
    uint64_t cache_bytes; /* of the last private cache; 0 = unknown: all bytes come from memory */
    bool busy; /* rates could not be measured twice alike: the machine had other work, and they are too low */
} tern_machine;

/* Measures this machine with the threads and instruction sets of the context: additions of arrays far
 * beyond the caches and well inside them, a product of matrices, additions of single numbers; the best of
 * a few runs of each, in two to six rounds until they agree. Takes 0.2 s if the machine has nothing else
 * to do. */
TERN_API tern_status tern_machine_measure(tern_ctx *ctx, tern_machine *out);

/* What a step of so many flops and bytes should take; rates that are 0 are left out. */
TERN_API double tern_machine_estimate_ns(const tern_machine *machine, uint64_t flops, uint64_t bytes);

/* ---- Threads -------------------------------------------------------------------------------------------------- */

/* What it costs to compute with several threads, besides the work; medians. */
typedef struct tern_threads_cost {
    int threads;
    double
        region_us; /* to give them work and learn that it is done, while they wait awake (runs that follow each other) */
    double wakeup_us;  /* the same after a pause, when they have gone to sleep */
    double barrier_us; /* to meet once inside, between two steps of a plan */
} tern_threads_cost;

/* Measures it with threads of its own, in some milliseconds. `threads` 0: as many as may be used. */
TERN_API tern_status tern_bench_threads(int threads, tern_threads_cost *out);

/* ---- Operations one by one ---------------------------------------------------------------------------------- */

/* Zeroed fields are the defaults. */
typedef struct tern_bench_options {
    const char *family; /* NULL: all; those of tern_bench_case */
    const char *cpu;    /* highest instruction set to use, "avx2"; NULL = $TERN_CPU, else the best */
    int n_threads;      /* how many numbers of threads to measure with, ... */
    const int *threads; /* ... and which; none: one, and all that may be used */
    double budget_s;    /* about how long a row may take; 0 = 0.5 */
    int64_t memory;     /* bytes of the larger operands; 0 = 256 MiB, or four times the last cache */
} tern_bench_options;

/* One measurement. Strings are valid during the visit. */
typedef struct tern_bench_row {
    const char *family, *name, *op;
    const char *shape;  /* of the operands, "i8[1,2560] t2[6912,2560]" */
    const char *kernel; /* that of the step with the most work; "" if it could not be compiled */
    const char *isa;    /* that it is written for */
    int threads,
        copies; /* copies: how many times the operation is done in a run, each with weights of its own */
    int rounds; /* samples; 0: it could not be measured, and `error` says why */
    double median_us;        /* of one run */
    double mad_us, min_us;   /* median distance from the median; the fastest */
    double gflops, gbytes_s; /* operations and bytes by the median; 0: not counted for this limit */
    tern_limit_kind limit_kind;
    double limit_share; /* of the limit, measured in the same rounds; NaN: `error` says why there is none */
    double limit_mad;   /* its median distance from the median */
    const char *limit;  /* how the limit was reached: "16 streams ..." */
    const char *error;  /* "", or one sentence */
} tern_bench_row;

typedef void (*tern_bench_visit)(void *user, const tern_bench_row *row);

/* Family, name, operation and shape of case i (the rest of the row is zero), as `options` (NULL: defaults) size it.
 * TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_bench_case(const tern_bench_options *options, int i, tern_bench_visit visit,
                                     void *user);

/* Compiles and runs every case of the family, compares its results with those of the reference kernels, then times it in
 * turns with its limit. Every case is visited once for each number of threads, also one that fails. TERN_NOT_FOUND: there
 * is no such family or instruction set. TERN_STATE, after all rows: one was faster than its limit by more than 2 %, so the
 * limit's probes are too slow, or it differed from the reference. */
TERN_API tern_status tern_bench_ops(const tern_bench_options *options, tern_bench_visit visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
