/* bench_data.h - what benchmarks compute with, and whether what they computed is right. Data and references are made on the CPU, so that
 * devices that lack an operation can be measured with the others, and are held to the same results. */
#ifndef TERN_MEASURE_BENCH_DATA_H
#define TERN_MEASURE_BENCH_DATA_H

#include <stdbool.h>

#include <tern/context.h>
#include <tern/dtype.h>
#include <tern/tensor.h>

/* What random i8 are multiplied with before they are rounded: random numbers are mostly below 2.5. */
#define TERN__DATA_I8_SCALE 50.0

/* Random numbers of that type, lazy: normal ones, quantised if the type is. The same for the same seed. */
tern_tensor *tern__data_random(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape, int64_t seed);

/* A copy of evaluated `t` in another context; the caller's. */
tern_status tern__data_carry(tern_ctx *to, tern_tensor *t, tern_tensor **out);

typedef struct tern__data_check {
    const char *name; /* of the benchmark, for messages */
    tern_ctx *ctx;    /* of the reference, on the CPU */
    /* the result is another device's: i8 may be off by one where they were rounded between two */
    bool other_device;
    /* the largest so far: root of mean squares, relative to the reference; NaN: wrong, nobody knows by how much */
    double error;
} tern__data_check;

/* TERN_INTERNAL: an element of `got` differs from that of `reference` by more than rounding. Those that the reference has are compared,
 * the first ones. */
tern_status tern__data_compare(tern__data_check *check, tern_tensor *got, tern_tensor *reference);

#endif
