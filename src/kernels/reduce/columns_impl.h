/* columns_impl.h - the inner loops of reductions of columns, plain C that the compiler turns into the vectors of the file's
 * instruction set. A file includes this header and writes TERN__COLUMNS_KERNEL(suffix).
 *
 * Four rows are taken at once, so that what there is of the results is loaded and stored a quarter as often. Rows are often a
 * page apart, where the hardware's prefetchers start anew: the ones after the next are fetched here. Processors that read one
 * stream best (`in_order`) take row after row instead, and fetch rows into the second-level cache: those of a page
 * apart share a few sets of the first. */
#ifndef TERN_KERNELS_COLUMNS_IMPL_H
#define TERN_KERNELS_COLUMNS_IMPL_H

#include "kernels/reduce/columns.h"
#include "kernels/select.h"

enum {
    TOGETHER = 4,
    LINE = TERN__COLUMNS_LINE,
    ON_THE_WAY = 1 << 13, /* elements between what is read and what is fetched */
};

/* Few elements have just been brought together, and are in the first-level cache. */
static inline bool takes_four(bool in_order, int64_t rows, int64_t n)
{
    return !in_order || rows * n <= ON_THE_WAY / 2;
}

/* Rows of n columns between the one that is read and the one that is fetched. */
static inline int64_t rows_ahead(int64_t n)
{
    return n > 0 && n < ON_THE_WAY ? ON_THE_WAY / n : 1;
}

/* A line of each of the next rows, which are `stride` elements apart. */
static inline void fetch_next(const float *x, int64_t stride)
{
    for (int i = 0; i < TOGETHER; i++)
        __builtin_prefetch(x + (TOGETHER + i) * stride);
}

/* A loop over rows; `take` makes `to` of what it was and of an element e of column c. */
#define TERN__COLUMNS_LOOP(T, take)                                                                      \
    int64_t r = 0;                                                                                       \
    for (const bool four = takes_four(in_order, rows, n); four && r + TOGETHER <= rows; r += TOGETHER) { \
        const float *x0 = x + r * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;       \
        const bool more = r + 2 * TOGETHER <= rows;                                                      \
        for (int64_t line = 0; line < n; line += LINE) {                                                 \
            const int64_t end = n - line < LINE ? n : line + LINE;                                       \
            if (more)                                                                                    \
                fetch_next(x0 + line, stride);                                                           \
            for (int64_t c = line; c < end; c++) {                                                       \
                T was = to[c];                                                                           \
                was = take(was, x0[c]);                                                                  \
                was = take(was, x1[c]);                                                                  \
                was = take(was, x2[c]);                                                                  \
                to[c] = take(was, x3[c]);                                                                \
            }                                                                                            \
        }                                                                                                \
    }                                                                                                    \
    for (const int64_t ahead = rows_ahead(n); r < rows; r++) {                                           \
        const float *row = x + r * stride;                                                               \
        const bool more = r + ahead < rows;                                                              \
        int64_t line = 0;                                                                                \
        for (; line + LINE <= n; line += LINE) {                                                         \
            if (more)                                                                                    \
                __builtin_prefetch(row + ahead * stride + line, 0, 2);                                   \
            for (int64_t c = line; c < line + LINE; c++)                                                 \
                to[c] = take(to[c], row[c]);                                                             \
        }                                                                                                \
        for (int64_t c = line; c < n; c++)                                                               \
            to[c] = take(to[c], row[c]);                                                                 \
    }

#define ADD(was, e) ((was) + (double)(e))
static void sum(double *restrict to, const float *restrict x, int64_t stride, int64_t rows, int64_t n,
                bool in_order)
{
    TERN__COLUMNS_LOOP(double, ADD)
}

#define ADD_SQUARE(was, e) ((was) + ((double)(e)-centre[c]) * ((double)(e)-centre[c]))
static void squares(double *restrict to, const double *restrict centre, const float *restrict x,
                    int64_t stride, int64_t rows, int64_t n, bool in_order)
{
    TERN__COLUMNS_LOOP(double, ADD_SQUARE)
}

/* A NaN stays: only another one replaces it. Of equals the first stays. */
#define LARGER(was, e) ((((e) > (was)) | ((e) != (e))) ? (e) : (was))
static void largest(float *restrict to, const float *restrict x, int64_t stride, int64_t rows, int64_t n,
                    bool in_order)
{
    TERN__COLUMNS_LOOP(float, LARGER)
}

#define SMALLER(was, e) ((((e) < (was)) | ((e) != (e))) ? (e) : (was))
static void smallest(float *restrict to, const float *restrict x, int64_t stride, int64_t rows, int64_t n,
                     bool in_order)
{
    TERN__COLUMNS_LOOP(float, SMALLER)
}

/* One stream, all of it: a page ahead it is fetched before the hardware's prefetchers, which stop at the end of each page. */
enum { AHEAD = 4096 / (int)sizeof(float) };

/* Loops over pairs of lanes; `of` is what an element e of lane i counts. */
#define OF_ITSELF(e, i) ((double)(e))
#define OF_DEVIATION(e, i) (((double)(e)-centre[i]) * ((double)(e)-centre[i]))

/* Whole pairs of a few lines each, sums in registers: those that are loaded and stored for each pair wait for their own stores. */
#define TERN__COLUMNS_PAIRS_OF(lines, of)                                           \
    do {                                                                            \
        enum { WIDTH = (lines)*LINE };                                              \
        double sums[WIDTH];                                                         \
        for (int i = 0; i < WIDTH; i++)                                             \
            sums[i] = to[i];                                                        \
        for (int64_t count = n / (2 * WIDTH); count > 0; count--, x += 2 * WIDTH) { \
            _Pragma("GCC unroll 8") for (int i = 0; i < 2 * (lines); i++)           \
                __builtin_prefetch(x + i * LINE + AHEAD);                           \
            for (int i = 0; i < WIDTH; i++)                                         \
                sums[i] += of(x[i], i) + of(x[i + WIDTH], i);                       \
        }                                                                           \
        n %= 2 * WIDTH;                                                             \
        for (int i = 0; i < WIDTH; i++)                                             \
            to[i] = sums[i];                                                        \
    } while (0)

#define TERN__COLUMNS_PAIRS(of)                                              \
    if (half == LINE)                                                        \
        TERN__COLUMNS_PAIRS_OF(1, of);                                       \
    else if (half == 2 * LINE)                                               \
        TERN__COLUMNS_PAIRS_OF(2, of);                                       \
    else if (half == 4 * LINE)                                               \
        TERN__COLUMNS_PAIRS_OF(4, of);                                       \
    for (; n >= 2 * half; n -= 2 * half, x += 2 * half)                      \
        for (int64_t line = 0; line < half; line += LINE) { /* whole ones */ \
            __builtin_prefetch(x + line + AHEAD);                            \
            __builtin_prefetch(x + line + half + AHEAD);                     \
            for (int64_t i = line; i < line + LINE; i++)                     \
                to[i] += of(x[i], i) + of(x[i + half], i);                   \
        }                                                                    \
    const int64_t two = n > half ? n - half : 0, all = n < half ? n : half;  \
    for (int64_t i = 0; i < two; i++)                                        \
        to[i] += of(x[i], i) + of(x[i + half], i);                           \
    for (int64_t i = two; i < all; i++)                                      \
        to[i] += of(x[i], i);

static void pairs(double *restrict to, const float *restrict x, int64_t half, int64_t n)
{
    TERN__COLUMNS_PAIRS(OF_ITSELF)
}

static void square_pairs(double *restrict to, const double *restrict centre, const float *restrict x,
                         int64_t half, int64_t n)
{
    TERN__COLUMNS_PAIRS(OF_DEVIATION)
}

static void fold(double *restrict to, const double *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += x[i];
}

/* ---- whole numbers: exact, so that their order is nobody's business ---- */

/* Sums of small ones are kept in 32 bits for so many elements. */
enum { BRIEF = 1 << 14 };

#define WHOLE_AS_IT_IS(e) (e)
#define WHOLE_BOOL(e) ((e) != 0)

#define TERN__WHOLE_LOOPS(name, T, BRIEF_T, as)                                                             \
    static void name##_add(int64_t *restrict to, const void *from, int64_t stride, int64_t rows, int64_t n) \
    {                                                                                                       \
        const T *x = from;                                                                                  \
        for (int64_t r = 0; r < rows; r++, x += stride)                                                     \
            for (int64_t c = 0; c < n; c++)                                                                 \
                to[c] = (int64_t)((uint64_t)to[c] + (uint64_t)(int64_t)as(x[c]));                           \
    }                                                                                                       \
    static int64_t name##_sum(const void *from, int64_t n)                                                  \
    {                                                                                                       \
        const T *x = from;                                                                                  \
        uint64_t all = 0;                                                                                   \
        for (int64_t i = 0, end; i < n; i = end) {                                                          \
            BRIEF_T sum = 0;                                                                                \
            end = n - i < BRIEF ? n : i + BRIEF;                                                            \
            for (int64_t j = i; j < end; j++)                                                               \
                sum += (BRIEF_T)as(x[j]);                                                                   \
            all += (uint64_t)(int64_t)sum;                                                                  \
        }                                                                                                   \
        return (int64_t)all;                                                                                \
    }                                                                                                       \
    TERN__WHOLE_EXTREME(name, largest, T, >, as)                                                            \
    TERN__WHOLE_EXTREME(name, smallest, T, <, as)

#define TERN__WHOLE_EXTREME(name, which, T, better, as)                                                 \
    static void name##_##which##s(int64_t *restrict to, const void *from, int64_t stride, int64_t rows, \
                                  int64_t n)                                                            \
    {                                                                                                   \
        const T *x = from;                                                                              \
        for (int64_t r = 0; r < rows; r++, x += stride)                                                 \
            for (int64_t c = 0; c < n; c++)                                                             \
                to[c] = (int64_t)as(x[c]) better to[c] ? (int64_t)as(x[c]) : to[c];                     \
    }                                                                                                   \
    static int64_t name##_##which(const void *from, int64_t n)                                          \
    {                                                                                                   \
        const T *x = from;                                                                              \
        T best = x[0];                                                                                  \
        for (int64_t i = 1; i < n; i++)                                                                 \
            best = (T)(as(x[i]) better as(best) ? x[i] : best);                                         \
        return (int64_t)as(best);                                                                       \
    }

/* clang-format off */
TERN__WHOLE_LOOPS(truth, uint8_t, int32_t, WHOLE_BOOL)
TERN__WHOLE_LOOPS(u8, uint8_t, int32_t, WHOLE_AS_IT_IS)
TERN__WHOLE_LOOPS(i8, int8_t, int32_t, WHOLE_AS_IT_IS)
TERN__WHOLE_LOOPS(i32, int32_t, int64_t, WHOLE_AS_IT_IS)
TERN__WHOLE_LOOPS(i64, int64_t, uint64_t, WHOLE_AS_IT_IS)
/* clang-format on */

#define TERN__WHOLE(name)                                                                                 \
    {                                                                                                     \
        .add = name##_add, .largests = name##_largests, .smallests = name##_smallests, .sum = name##_sum, \
        .largest = name##_largest, .smallest = name##_smallest                                            \
    }

/* ---- running sums ---- */

static void run_columns(double *restrict sums, float *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t c = 0; c < n; c++) {
        sums[c] += (double)x[c];
        y[c] = (float)sums[c];
    }
}

/* Each sum waits for the one before it; so there are four that do. */
static void run_rows(double *sums, float *const *y, const float *const *x, int64_t n)
{
    const float *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    float *restrict y0 = y[0], *restrict y1 = y[1], *restrict y2 = y[2], *restrict y3 = y[3];
    double s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    for (int64_t i = 0; i < n; i++) {
        y0[i] = (float)(s0 += (double)x0[i]);
        y1[i] = (float)(s1 += (double)x1[i]);
        y2[i] = (float)(s2 += (double)x2[i]);
        y3[i] = (float)(s3 += (double)x3[i]);
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}
_Static_assert(TERN__RUNNING_SIDE == 4, "rows are written out above");

static void run_whole_columns(int64_t *restrict sums, int64_t *restrict y, const int64_t *restrict x,
                              int64_t n)
{
    for (int64_t c = 0; c < n; c++) {
        sums[c] = (int64_t)((uint64_t)sums[c] + (uint64_t)x[c]);
        y[c] = sums[c];
    }
}

/* ---- places of extremes ---- */

/* A comparison with NaN is false: `was` stays only if it is NaN itself, or e is neither better nor NaN. */
#define TERN__COLUMNS_WHERE_RUN(better, from, end)                     \
    for (int64_t c = from; c < (end); c++) {                           \
        const float e = x[c], was = best[c];                           \
        const bool taken = (e better was) | ((e != e) & (was == was)); \
        best[c] = taken ? e : was;                                     \
        at[c] = taken ? (int32_t)(first + r) : at[c];                  \
    }
#define TERN__COLUMNS_WHERE(better)                                  \
    const int64_t ahead = rows_ahead(n);                             \
    for (int64_t r = 0; r < rows; r++, x += stride) {                \
        int64_t line = 0;                                            \
        for (; line + LINE <= n; line += LINE) {                     \
            if (r + ahead < rows)                                    \
                __builtin_prefetch(x + ahead * stride + line, 0, 2); \
            TERN__COLUMNS_WHERE_RUN(better, line, line + LINE)       \
        }                                                            \
        TERN__COLUMNS_WHERE_RUN(better, line, n)                     \
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

#define TERN__COLUMNS_KERNEL(suffix)                                                                  \
    const tern__columns_kernel tern__columns__##suffix = {.sum = sum,                                 \
                                                          .squares = squares,                         \
                                                          .largest = largest,                         \
                                                          .smallest = smallest,                       \
                                                          .pairs = pairs,                             \
                                                          .square_pairs = square_pairs,               \
                                                          .fold = fold,                               \
                                                          .where_largest = where_largest,             \
                                                          .where_smallest = where_smallest,           \
                                                          .find = find,                               \
                                                          .run = run_columns,                         \
                                                          .run_rows = run_rows,                       \
                                                          .run_whole = run_whole_columns,             \
                                                          .whole = {[TERN_BOOL] = TERN__WHOLE(truth), \
                                                                    [TERN_U8] = TERN__WHOLE(u8),      \
                                                                    [TERN_I8] = TERN__WHOLE(i8),      \
                                                                    [TERN_I32] = TERN__WHOLE(i32),    \
                                                                    [TERN_I64] = TERN__WHOLE(i64)}};

#endif
