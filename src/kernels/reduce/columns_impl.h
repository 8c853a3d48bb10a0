/* columns_impl.h - the inner loops of reductions of columns, plain C that the compiler turns into the vectors of the file's
 * instruction set. A file includes this header and writes TERN__COLUMNS_KERNEL(suffix).
 *
 * Four rows are taken at once, so that what there is of the results is loaded and stored a quarter as often. Rows are often a
 * page apart, where the hardware's prefetchers start anew: the ones after the next are fetched here. */
#ifndef TERN_KERNELS_COLUMNS_IMPL_H
#define TERN_KERNELS_COLUMNS_IMPL_H

#include "kernels/select.h"

enum { TOGETHER = 4, LINE = TERN__COLUMNS_LINE };

/* A line of each of the next rows, which are `stride` elements apart. */
static inline void fetch_next(const float *x, int64_t stride)
{
    for (int i = 0; i < TOGETHER; i++)
        __builtin_prefetch(x + (TOGETHER + i) * stride);
}

/* A loop over rows; `take` makes `to` of what it was and of an element e of column c. */
#define TERN__COLUMNS_LOOP(T, take)                                                                \
    int64_t r = 0;                                                                                 \
    for (; r + TOGETHER <= rows; r += TOGETHER) {                                                  \
        const float *x0 = x + r * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride; \
        const bool more = r + 2 * TOGETHER <= rows;                                                \
        for (int64_t line = 0; line < n; line += LINE) {                                           \
            const int64_t end = n - line < LINE ? n : line + LINE;                                 \
            if (more)                                                                              \
                fetch_next(x0 + line, stride);                                                     \
            for (int64_t c = line; c < end; c++) {                                                 \
                T was = to[c];                                                                     \
                was = take(was, x0[c]);                                                            \
                was = take(was, x1[c]);                                                            \
                was = take(was, x2[c]);                                                            \
                to[c] = take(was, x3[c]);                                                          \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    for (; r < rows; r++)                                                                          \
        for (int64_t c = 0; c < n; c++)                                                            \
            to[c] = take(to[c], x[r * stride + c]);

#define ADD(was, e) ((was) + (double)(e))
static void sum(double *restrict to, const float *restrict x, int64_t stride, int64_t rows, int64_t n)
{
    TERN__COLUMNS_LOOP(double, ADD)
}

#define ADD_SQUARE(was, e) ((was) + ((double)(e)-centre[c]) * ((double)(e)-centre[c]))
static void squares(double *restrict to, const double *restrict centre, const float *restrict x,
                    int64_t stride, int64_t rows, int64_t n)
{
    TERN__COLUMNS_LOOP(double, ADD_SQUARE)
}

/* A NaN stays: only another one replaces it. Of equals the first stays. */
#define LARGER(was, e) ((((e) > (was)) | ((e) != (e))) ? (e) : (was))
static void largest(float *restrict to, const float *restrict x, int64_t stride, int64_t rows, int64_t n)
{
    TERN__COLUMNS_LOOP(float, LARGER)
}

#define SMALLER(was, e) ((((e) < (was)) | ((e) != (e))) ? (e) : (was))
static void smallest(float *restrict to, const float *restrict x, int64_t stride, int64_t rows, int64_t n)
{
    TERN__COLUMNS_LOOP(float, SMALLER)
}

/* One stream, all of it: a page ahead it is fetched before the hardware's prefetchers, which stop at the end of each page. */
enum { AHEAD = 4096 / (int)sizeof(float) };

/* Whole pairs of a line each, sums in registers: those that are loaded and stored for each pair wait for their own stores. */
static inline const float *pairs_of_lines(double *restrict to, const float *restrict x, int64_t count)
{
    double sums[LINE];
    for (int i = 0; i < LINE; i++)
        sums[i] = to[i];
    for (; count > 0; count--, x += 2 * LINE) {
        __builtin_prefetch(x + AHEAD);
        __builtin_prefetch(x + LINE + AHEAD);
        for (int i = 0; i < LINE; i++)
            sums[i] += (double)x[i] + (double)x[i + LINE];
    }
    for (int i = 0; i < LINE; i++)
        to[i] = sums[i];
    return x;
}

static void pairs(double *restrict to, const float *restrict x, int64_t half, int64_t n)
{
    if (half == LINE) {
        x = pairs_of_lines(to, x, n / (2 * LINE));
        n %= 2 * LINE;
    }
    for (; n >= 2 * half; n -= 2 * half, x += 2 * half)
        for (int64_t line = 0; line < half; line += LINE) { /* whole ones: half is a multiple */
            __builtin_prefetch(x + line + AHEAD);
            __builtin_prefetch(x + line + half + AHEAD);
            for (int64_t i = line; i < line + LINE; i++)
                to[i] += (double)x[i] + (double)x[i + half];
        }
    const int64_t two = n > half ? n - half : 0, all = n < half ? n : half;
    for (int64_t i = 0; i < two; i++)
        to[i] += (double)x[i] + (double)x[i + half];
    for (int64_t i = two; i < all; i++)
        to[i] += (double)x[i];
}

static void fold(double *restrict to, const double *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += x[i];
}

/* A comparison with NaN is false: `was` stays only if it is NaN itself, or e is neither better nor NaN. */
#define TERN__COLUMNS_WHERE(better)                                        \
    for (int64_t r = 0; r < rows; r++, x += stride)                        \
        for (int64_t c = 0; c < n; c++) {                                  \
            const float e = x[c], was = best[c];                           \
            const bool taken = (e better was) | ((e != e) & (was == was)); \
            best[c] = taken ? e : was;                                     \
            at[c] = taken ? (int32_t)(first + r) : at[c];                  \
        }

static void where_largest(float *restrict best, int32_t *restrict at, const float *restrict x, int64_t stride,
                          int64_t first, int64_t rows, int64_t n)
{
    TERN__COLUMNS_WHERE(>)
}

static void where_smallest(float *restrict best, int32_t *restrict at, const float *restrict x,
                           int64_t stride, int64_t first, int64_t rows, int64_t n)
{
    TERN__COLUMNS_WHERE(<)
}

/* Sixty-four at a time, then one by one where one of them is it. */
static int64_t find(const float *x, int64_t n, float what)
{
    const bool nan = what != what;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        int any = 0;
        for (int k = 0; k < 64; k++)
            any |= (x[i + k] == what) | (nan & (x[i + k] != x[i + k]));
        if (any)
            break;
    }
    while (i < n && !(x[i] == what || (nan && x[i] != x[i])))
        i++;
    return i;
}

#define TERN__COLUMNS_KERNEL(suffix)                                                        \
    const tern__columns_kernel tern__columns__##suffix = {.sum = sum,                       \
                                                          .squares = squares,               \
                                                          .largest = largest,               \
                                                          .smallest = smallest,             \
                                                          .pairs = pairs,                   \
                                                          .fold = fold,                     \
                                                          .where_largest = where_largest,   \
                                                          .where_smallest = where_smallest, \
                                                          .find = find};

#endif
