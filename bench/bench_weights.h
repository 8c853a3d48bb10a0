/* bench_weights.h - what the benchmarks of products with packed weights (ternary, heads) share: options, operands, and the line that
 * shows a measurement. Header-only, because each .c file here is a program. */
#ifndef TERN_BENCH_WEIGHTS_H
#define TERN_BENCH_WEIGHTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "measure/measure.h"
#include "measure/bench/threads_cost.h"

typedef struct bench_weights {
    uint32_t isa_mask;
    int rounds;
    bool gemv, gemm;
} bench_weights;

/* Takes --isa, --rounds and --only; false: it is none of them, or its value is none. */
static inline bool bench_weights_option(bench_weights *o, const char *name, const char *value)
{
    tern__isa cap;
    const int number = atoi(value);
    if (strcmp(name, "--isa") == 0 && tern__isa_parse(value, &cap) == TERN_OK)
        o->isa_mask = tern__isa_mask_capped(tern__cpu(), cap);
    else if (strcmp(name, "--rounds") == 0 && number > 0 && number <= TERN__ROUNDS_MOST / 2)
        o->rounds = number;
    else if (strcmp(name, "--only") == 0 && strcmp(value, "gemv") == 0)
        o->gemm = false;
    else if (strcmp(name, "--only") == 0 && strcmp(value, "gemm") == 0)
        o->gemv = false;
    else
        return false;
    return true;
}

/* Memory on pages of its own; ends the program if there is none. */
static inline void *bench_take(size_t bytes)
{
    void *p = tern__alloc_aligned(bytes, 4096);
    if (p == NULL) {
        fprintf(stderr, "out of memory (%zu bytes)\n", bytes);
        exit(1);
    }
    return p;
}

/* 24 random bits. */
static inline uint32_t bench_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* What two threads can read depends on whether their cores share a cache and the way from it to memory (threads_cost.h). */
static inline void bench_show_cores(tern__threads *threads, int workers)
{
    if (workers > 1)
        printf("a line from core to core takes %.0f ns\n", tern__threads_line_ns(threads));
}

/* Things that read `copies` of weights of `bytes` each, in turns with what only reads them. */
static inline tern_status bench_against_reading(tern__threads *threads, int workers, const void *memory,
                                                int64_t copies, int64_t bytes, tern__thing *things, int n,
                                                int rounds, tern__measurement *results)
{
    const tern__limit_work work = {.kind = TERN_LIMIT_READ_BW,
                                   .read_bytes = copies * bytes,
                                   .memory = memory,
                                   .share = bytes,
                                   .isa_mask = tern__cpu()->isa_mask};
    tern__limit *limit;
    bench_show_cores(threads, workers);
    TERN_TRY(tern__limit_create(threads, workers, &work, &limit));
    const tern_status status = tern__measure(things, n, limit, &(tern__turns){.rounds = rounds}, results);
    tern__limit_destroy(limit);
    return status;
}

/* Prints one line and returns the share; NaN, which has no row, if it cannot be: then *believable becomes false. */
static inline double bench_show(const tern__measurement *m, const char *kernel, const char *shape,
                                int workers, double work, const char *unit, bool *believable)
{
    printf("%-24s %-24s %d %10.1f us +- %4.1f%% %8.1f %-4s of %8.1f  share %.3f\n", kernel, shape, workers,
           m->time.median * 1e6, m->time.mad / m->time.median * 100, work / m->time.median * 1e-9, unit,
           work / m->limit_time.median * 1e-9, m->share.median);
    if (tern__is_believable(m))
        return m->share.median;
    fprintf(stderr, "%s %s, %d threads: %.3f of its limit, so the probes of the limit are wrong\n", kernel,
            shape, workers, m->share.median);
    *believable = false;
    return NAN;
}

#endif
