/* measure.h - how fast things are, and how fast they could be on this machine.
 *
 * A limit is what the hardware gives at most: bytes read or moved, multiply-adds in f32, products of int8. Limits are measured,
 * not looked up: each is the best of several probes, run in turns with what it is the limit of, so that a share of the limit
 * means something on a machine that others use as well.
 *
 * Threading: what measures belongs to one thread, and no tern call may be running on others meanwhile: it would be measured, too, and
 * memory is counted for the whole process. */
#ifndef TERN_MEASURE_H
#define TERN_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/results.h>
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

/* ---- Was the machine one's own? ------------------------------------------------------------------------------- */

/* Sums since some beginning, as the system tells them at one moment. Only Linux does. */
typedef struct tern_moment {
    uint64_t now_ns;
    uint64_t own_ns;    /* what this process computed */
    uint64_t waited_ns; /* its threads, runnable, for a core */
    uint64_t busy_ns;   /* what all cores computed, for whomever */
    uint64_t stolen_ns; /* what the host of a virtual machine kept from them */
    uint64_t tick_ns;   /* busy_ns and stolen_ns are whole ticks of each core */
    int cores;
    bool waits_known, cores_known; /* the system tells waited_ns; busy_ns, stolen_ns and cores */
} tern_moment;

TERN_API tern_moment tern_moment_now(void);

/* Did others have the machine since `begin`, so that what was timed meanwhile may be faster without them? true: other processes computed on
 * more than an eighth of the cores, or the host kept more than a twentieth of one back; `text` (room; may be NULL) says how much, "others
 * computed on 1.9 of 2 cores". false, and "", also where the system does not tell. */
TERN_API bool tern_moment_disturbed(const tern_moment *begin, char *text, size_t room);

/* Records the same as condition "disturbed_by" of results that were measured since `begin`: the text, "nobody", or "unavailable: " and why. */
TERN_API tern_status tern_results_note_disturbance(tern_results *results, const tern_moment *begin);

/* ---- Threads -------------------------------------------------------------------------------------------------- */

/* What it costs to compute with several threads, besides the work; medians. */
typedef struct tern_threads_cost {
    int threads;
    /* to give them work and learn that it is done, while they wait awake (runs that follow each other) */
    double region_us;
    double wakeup_us; /* the same after a pause, when they have gone to sleep */
    /* to meet once inside, between two steps of a plan; NaN: lost in the machine's noise */
    double barrier_us;
} tern_threads_cost;

/* Measures it with threads of its own, in some milliseconds. `threads` 0: as many as may be used. */
TERN_API tern_status tern_bench_threads(int threads, tern_threads_cost *out);

/* ---- Benchmarks ------------------------------------------------------------------------------------------------ */

/* Zeroed fields are the defaults. */
typedef struct tern_bench_options {
    const char *suite;  /* NULL: "ops"; tern_bench_suite names them */
    const char *family; /* NULL: all of the suite; those of tern_bench_case */
    const char *dtype;  /* only cases with an operand of this type, "f16"; NULL: all */
    /* only cases with an operand of these sizes, "512x512", or with this one among its sizes, "2560"; NULL: all */
    const char *size;
    /* only "contiguous" cases, or "strided" ones, whose operands do not lie in one piece; NULL: both */
    const char *layout;
    /* one of tern_catalog_device, or several with commas, "cpu,opencl": all cases on each; NULL: "cpu" */
    const char *device;
    const char *cpu;    /* highest instruction set to use, "avx2"; NULL = $TERN_CPU, else the best */
    int n_threads;      /* how many numbers of threads to measure with, ... */
    const int *threads; /* ... and which; none: one, and all that may be used */
    double budget_s; /* about how long the samples of a row may take, without data and reference; 0 = 0.5 */
    /* a row that takes longer than this is given up, in the middle of a run if need be; 0 = 60 */
    double timeout_s;
    int warmups;    /* runs before the first that counts; 0 = 1 */
    int rounds;     /* samples of a row at most, if the budget lasts so long; 0 = 100 */
    int64_t memory; /* bytes of the larger operands; 0 = 256 MiB, or four times the last cache */
    /* asked before each row and in the middle of one (by any thread); true: no further row is measured. NULL: nobody */
    tern_stop_asked stop;
    void *stop_user;
    bool guard; /* of models' files, where a baseline has models: tern_model_file_options */
} tern_bench_options;

/* Texts and samples are valid during the visit. */
typedef void (*tern_bench_visit)(void *user, const tern_result *row);

TERN_API tern_bench_options tern_bench_options_default(void);

/* Name and description of suite i: "ops", ... Static. TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_bench_suite(int i, const char **name, const char **what);

/* Which benchmark case i of the suite is, and its limit (the rest of the row is unknown), as `options` (NULL: defaults) size it; one that
 * they leave out is not visited. TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_bench_case(const tern_bench_options *options, int i, tern_bench_visit visit,
                                     void *user);

/* Compiles and runs every case that is asked for, compares its results with those of the reference kernels, then times it in
 * turns with its limit. Every case is visited once for each number of threads, also one that fails or takes too long; once, with 0
 * threads, on a device other than the CPU, which has threads, limits and memory of its own: data and references are made by the CPU, and
 * what the device cannot run is "unavailable: " and why.
 * TERN_CANCELLED: options->stop said so; the rows until then were visited, and the one that it came into was not.
 * TERN_NOT_FOUND: there is no such suite, family, device or instruction set, or no such case. TERN_STATE, after all rows: one was faster than its limit by
 * more than 2 %, so the limit's probes are too slow, or it differed from the reference, or none could be measured. */
TERN_API tern_status tern_bench_run(const tern_bench_options *options, tern_bench_visit visit, void *user);

/* Notes among the conditions of results what has to be the same for them to be taken again: budget, samples and warm-ups of a row, and, as
 * far as `options` say it, the size of operands and the highest instruction set. tern_regress_run reads it. */
TERN_API tern_status tern_bench_note_settings(const tern_bench_options *options, tern_results *results);

#ifdef __cplusplus
}
#endif
#endif
