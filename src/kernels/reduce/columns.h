/* columns.h - reductions over any axes but the last: sums, means, variances, largest and smallest of columns of f32, f16 or bf16;
 * sums, largest and smallest of whole numbers and bools.
 *
 * Same bits as ref/: every column takes its elements in ascending order, sums in f64 that are rounded once. Columns lie side by
 * side, so that vectors hold neighbours and rows are read as they lie. */
#ifndef TERN_KERNELS_COLUMNS_H
#define TERN_KERNELS_COLUMNS_H

#include "kernels/kernel.h"
#include "kernels/row/rowops.h"

enum {
    TERN__COLUMNS_LINE = 16, /* floats of a line of the cache */
    TERN__RUNNING_SIDE = 4,  /* rows whose running sums are made side by side */
};

/* Loops over elements of one type of whole numbers; results are 64 bits wide, and sums wrap. */
typedef struct tern__whole_loops {
    /* As below, into columns' results. */
    void (*add)(int64_t *to, const void *x, int64_t stride, int64_t rows, int64_t n);
    void (*largests)(int64_t *to, const void *x, int64_t stride, int64_t rows, int64_t n);
    void (*smallests)(int64_t *to, const void *x, int64_t stride, int64_t rows, int64_t n);
    /* Of n elements that follow each other, at least one for an extreme. */
    int64_t (*sum)(const void *x, int64_t n);
    int64_t (*largest)(const void *x, int64_t n);
    int64_t (*smallest)(const void *x, int64_t n);
} tern__whole_loops;

/* Each takes `rows` rows of n columns, `stride` elements apart, into what there is of the columns' results. `in_order`: memory is read
 * fastest row after row; it changes no bit. */
typedef struct tern__columns_kernel {
    void (*sum)(double *to, const float *x, int64_t stride, int64_t rows, int64_t n, bool in_order);
    void (*squares)(double *to, const double *centre, const float *x, int64_t stride, int64_t rows, int64_t n,
                    bool in_order);
    void (*largest)(float *to, const float *x, int64_t stride, int64_t rows, int64_t n, bool in_order);
    void (*smallest)(float *to, const float *x, int64_t stride, int64_t rows, int64_t n, bool in_order);
    /* Sums in the order of row programs, lanes of `half` columns: to[i] += x[i] + x[i + half], then those 2 half further on, of n
     * elements in all. */
    void (*pairs)(double *to, const float *x, int64_t half, int64_t n);
    /* The same of squares of what an element is from its lane's centre. */
    void (*square_pairs)(double *to, const double *centre, const float *x, int64_t half, int64_t n);
    void (*fold)(double *to, const double *x, int64_t n); /* to[i] += x[i] */
    /* Where the largest and smallest are: rows count from `first`. The first of equals, and a NaN before every number. */
    void (*where_largest)(float *best, int32_t *at, const float *x, int64_t stride, int64_t first,
                          int64_t rows, int64_t n);
    void (*where_smallest)(float *best, int32_t *at, const float *x, int64_t stride, int64_t first,
                           int64_t rows, int64_t n);
    /* The first of n elements that equals `what`, or is NaN too; n: none. */
    int64_t (*find)(const float *x, int64_t n, float what);
    /* Running sums of n columns: y[c] = sums[c] += x[c]. */
    void (*run)(double *sums, float *y, const float *x, int64_t n);
    /* Those of TERN__RUNNING_SIDE rows, n elements each. */
    void (*run_rows)(double *sums, float *const *y, const float *const *x, int64_t n);
    void (*run_whole)(int64_t *sums, int64_t *y, const int64_t *x, int64_t n);
    tern__whole_loops whole[TERN_DTYPE_COUNT]; /* of bool, u8, i8, i32, i64 */
} tern__columns_kernel;

/* What kernels along columns interpret. */
typedef struct tern__columns_program {
    const tern__columns_kernel *kernel;
    const tern__rowop_table *rows;
    bool streams;  /* results go past the caches, where a kernel can */
    bool in_order; /* memory is read fastest in one stream */
} tern__columns_program;

static inline bool tern__is_whole(tern_dtype dtype)
{
    return dtype == TERN_BOOL || dtype == TERN_U8 || dtype == TERN_I8 || dtype == TERN_I32 ||
           dtype == TERN_I64;
}

/* Bit d: axis d is reduced. No axes are all. */
uint32_t tern__columns_reduced(const tern__type *x, const tern__attr *axes);

/* Does a reduction of x, of floats, or (`whole`) of whole numbers, over attribute `axes` leave its last axis? */
bool tern__columns_fit(const tern__type *x, const tern__attr *axes, bool whole);

/* Items of work: TERN__COLUMNS_LINE columns. */
int64_t tern__columns_work(const tern__type *x, const tern__type *y);

/* Ops sum, mean, var, max and min (max of bools is op any, min op all); args->program is a tern__columns_program. */
TERN__KERNEL(sum__columns);
TERN__KERNEL(mean__columns);
TERN__KERNEL(var__columns);
TERN__KERNEL(max__columns);
TERN__KERNEL(min__columns);

#endif
