/* columns.h - reductions over any axes but the last: sums, means, variances, largest and smallest of columns of f32.
 *
 * Same bits as ref/: every column takes its elements in ascending order, sums in f64 that are rounded once. Columns lie side by
 * side, so that vectors hold neighbours and rows are read as they lie. */
#ifndef TERN_KERNELS_COLUMNS_H
#define TERN_KERNELS_COLUMNS_H

#include "kernels/kernel.h"

enum { TERN__COLUMNS_LINE = 16 }; /* floats of a line of the cache */

/* Each takes `rows` rows of n columns, `stride` elements apart, into what there is of the columns' results. */
typedef struct tern__columns_kernel {
    void (*sum)(double *to, const float *x, int64_t stride, int64_t rows, int64_t n);
    void (*squares)(double *to, const double *centre, const float *x, int64_t stride, int64_t rows,
                    int64_t n);
    void (*largest)(float *to, const float *x, int64_t stride, int64_t rows, int64_t n);
    void (*smallest)(float *to, const float *x, int64_t stride, int64_t rows, int64_t n);
    /* Of sums in the order of row programs: to[i] += x[i] + x[i + half], of which there are n in all and at most 2 half. */
    void (*pairs)(double *to, const float *x, int64_t half, int64_t n);
    void (*fold)(double *to, const double *x, int64_t n);
} tern__columns_kernel;

/* Does a reduction of x over attribute `axes` leave its last axis? */
bool tern__columns_fit(const tern__type *x, const tern__attr *axes);

/* Items of work: TERN__COLUMNS_LINE columns. */
int64_t tern__columns_work(const tern__type *x, const tern__type *y);

/* Ops sum, mean, var, max and min of f32; args->program is a tern__columns_kernel. */
TERN__KERNEL(sum__columns);
TERN__KERNEL(mean__columns);
TERN__KERNEL(var__columns);
TERN__KERNEL(max__columns);
TERN__KERNEL(min__columns);

#endif
