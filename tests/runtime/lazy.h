/* lazy.h - what tests of lazy tensors share. */
#ifndef TERN_TESTS_LAZY_H
#define TERN_TESTS_LAZY_H

#include <string.h>

#include <tern/tern.h>

/* A rank and its sizes: two arguments. */
#define SHAPE(...)                                                               \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) \
    {                                                                            \
        __VA_ARGS__                                                              \
    }

static inline tern_ctx *open_ctx(void)
{
    tern_ctx *ctx = NULL;
    tern_ctx_create(NULL, &ctx); /* a NULL context gives error tensors, which every test would notice */
    return ctx;
}

static inline tern_tensor *floats(tern_ctx *ctx, int n, const float *values)
{
    return tern_from_data(ctx, TERN_F32, 1, (int64_t[]){n}, values);
}

/* Exactly these values? -0 equals 0 and a NaN nothing. */
static inline bool holds(tern_tensor *t, int n, const float *expected)
{
    const float *data = tern_data_f32(t);
    if (!data || tern_numel(t) != n)
        return false;
    for (int i = 0; i < n; i++)
        if (data[i] != expected[i])
            return false;
    return true;
}

/* The same for bits. */
static inline bool holds_bits(tern_tensor *t, int n, const float *expected)
{
    const float *data = tern_data_f32(t);
    return data && tern_numel(t) == n && memcmp(data, expected, (size_t)n * sizeof *data) == 0;
}

#endif
