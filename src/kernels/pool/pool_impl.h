/* pool_impl.h - the inner loops of pools, plain C that the compiler turns into the vectors of the file's instruction set. A file
 * includes this header and writes TERN__POOL_KERNEL(suffix), or a kernel of its own that falls back on these. */
#ifndef TERN_KERNELS_POOL_IMPL_H
#define TERN_KERNELS_POOL_IMPL_H

#include "kernels/pool/pool.h"
#include "kernels/select.h"

/* What was there stays unless x is greater, or the first NaN. */
static inline float keep_largest(float was, float x)
{
    return ((x <= was) | (was != was)) ? was : x;
}

static void take_largest(float *restrict to, const float *restrict x, int64_t step, int64_t n)
{
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            to[i] = keep_largest(to[i], x[i]);
    else if (step == 2)
        for (int64_t i = 0; i < n; i++)
            to[i] = keep_largest(to[i], x[2 * i]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = keep_largest(to[i], x[i * step]);
}

static void take_sum(double *restrict to, const float *restrict x, int64_t step, int64_t n)
{
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            to[i] += (double)x[i];
    else if (step == 2)
        for (int64_t i = 0; i < n; i++)
            to[i] += (double)x[2 * i];
    else
        for (int64_t i = 0; i < n; i++)
            to[i] += (double)x[i * step];
}

#define TERN__POOL_KERNEL(suffix) \
    const tern__pool_kernel tern__pool__##suffix = {.take_largest = take_largest, .take_sum = take_sum};

#endif
