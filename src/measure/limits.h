/* limits.h - one limit of the machine, as probes that can be run beside what it is the limit of.
 *
 * A limit is made for one piece of work ("read 1 GiB with 2 threads"). It has several ways to do that work, and the best of
 * them is the limit; which one that is differs between machines, thread counts and sizes, so it is found by running. */
#ifndef TERN_MEASURE_LIMITS_H
#define TERN_MEASURE_LIMITS_H

#include <stdint.h>

#include <tern/measure.h>

#include "base/threads.h"

typedef struct tern__limit tern__limit;

/* One run of what is to be measured. */
typedef struct tern__limit_work {
    tern_limit_kind kind;
    double operations;   /* FMA, INT8_DOT: two for each product */
    int64_t read_bytes;  /* READ_BW, COPY_BW */
    int64_t write_bytes; /* COPY_BW */
    /* READ_BW: where the bytes are, at a multiple of 64, or NULL: the limit has memory of its own, on huge pages. */
    const void *memory;
    /* READ_BW: workers share every `share` bytes, as they do with the matrices of a model one after the other, instead of
     * all bytes once; 0: no such parts. Both orders are tried. */
    int64_t share;
    int passes; /* READ_BW: each worker reads its part so often in a run, from where it is after the first time; 0: once */
    uint32_t isa_mask; /* what the probes may use: tern__isa_mask_capped; 0: all that this machine has */
} tern__limit_work;

/* For `workers` of the pool, which must outlive it. TERN_UNAVAILABLE if these instructions have no probe of the kind. */
tern_status tern__limit_create(tern__threads *threads, int workers, const tern__limit_work *work,
                               tern__limit **out);
void tern__limit_destroy(tern__limit *limit); /* NULL is fine */

int tern__limit_ways(const tern__limit *limit);
/* "2 streams, 4096 bytes ahead". Valid until the next call with this limit. */
const char *tern__limit_way_name(tern__limit *limit, int way);

/* Limits with the same likeness have the same ways, of which the same are fast: kind, workers, instructions, and sizes up to a power of two.
 * It has no padding, and may be compared byte by byte. */
typedef struct tern__limit_likeness {
    int32_t kind, workers, ways, read_log2, write_log2, share_log2;
    uint32_t isa_mask;
} tern__limit_likeness;
tern__limit_likeness tern__limit_likeness_of(const tern__limit *limit);

/* Runs the probe once. */
void tern__limit_run(tern__limit *limit, int way);
/* What the time of a probe's run must be multiplied with to be the least time of the work. */
double tern__limit_scale(const tern__limit *limit);

#endif
