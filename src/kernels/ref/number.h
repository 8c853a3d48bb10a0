/* number.h - one element of any float type as a double, of any integer type as an int64_t. Private to
 * kernels/ref.
 *
 * Kernels with little arithmetic and many dtypes are written once, in double. Where the arithmetic has to
 * be that of f32, tern__as rounds after every operation: a double has more than twice the digits of a
 * float and two to spare, so + - * / and sqrt of floats, computed in double and rounded to float, have the
 * very bits of the float operation. A fused multiply-add does not, hence tern__fma_as. */
#ifndef TERN_KERNELS_REF_NUMBER_H
#define TERN_KERNELS_REF_NUMBER_H

#include <math.h>

#include "kernels/ref/loops.h"

/* x as the type that `dtype` computes in holds it: f64 as it is, the other floats in f32. */
static inline double tern__as(tern_dtype dtype, double x)
{
    return dtype == TERN_F64 ? x : (double)(float)x;
}

/* a * b + c, rounded once, in the type that `dtype` computes in. */
static inline double tern__fma_as(tern_dtype dtype, double a, double b, double c)
{
    return dtype == TERN_F64 ? fma(a, b, c) : (double)fmaf((float)a, (float)b, (float)c);
}

/* e^x likewise; in double first: an f32 result is the nearest float in all but the rarest cases. */
static inline double tern__exp_as(tern_dtype dtype, double x)
{
    return tern__as(dtype, exp(x));
}

/* Element `at` (in units from data) of a float type. */
static inline double tern__load_float(tern_dtype dtype, const void *data, int64_t at)
{
    switch (dtype) {
    case TERN_F16:
        return (double)tern__f16_to_f32(((const uint16_t *)data)[at]);
    case TERN_BF16:
        return (double)tern__bf16_to_f32(((const uint16_t *)data)[at]);
    case TERN_F32:
        return (double)((const float *)data)[at];
    default:
        return ((const double *)data)[at];
    }
}

static inline void tern__store_float(tern_dtype dtype, void *data, int64_t at, double x)
{
    switch (dtype) {
    case TERN_F16:
        ((uint16_t *)data)[at] = store_F16(x);
        return;
    case TERN_BF16:
        ((uint16_t *)data)[at] = store_BF16(x);
        return;
    case TERN_F32:
        ((float *)data)[at] = (float)x;
        return;
    default:
        ((double *)data)[at] = x;
        return;
    }
}

/* Element `at` of an integer type or bool. */
static inline int64_t tern__load_int(tern_dtype dtype, const void *data, int64_t at)
{
    switch (dtype) {
    case TERN_BOOL:
        return ((const uint8_t *)data)[at] != 0;
    case TERN_U8:
        return ((const uint8_t *)data)[at];
    case TERN_I8:
        return ((const int8_t *)data)[at];
    case TERN_I32:
        return ((const int32_t *)data)[at];
    default:
        return ((const int64_t *)data)[at];
    }
}

/* Wraps; bool is x != 0. */
static inline void tern__store_int(tern_dtype dtype, void *data, int64_t at, int64_t x)
{
    switch (dtype) {
    case TERN_BOOL:
        ((uint8_t *)data)[at] = x != 0;
        return;
    case TERN_U8:
        ((uint8_t *)data)[at] = (uint8_t)x;
        return;
    case TERN_I8:
        ((int8_t *)data)[at] = (int8_t)x;
        return;
    case TERN_I32:
        ((int32_t *)data)[at] = (int32_t)x;
        return;
    default:
        ((int64_t *)data)[at] = x;
        return;
    }
}

/* a + b, wrapping. */
static inline int64_t tern__wrapping_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

#endif
