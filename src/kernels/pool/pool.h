/* pool.h - the largest and the mean of windows of images of f32, f16 or bf16, [n, c, h, w] or [n, h, w, c].
 *
 * Same bits as ref/: every result takes the elements of its window in ascending row and column; of equal ones the first is the
 * largest, and so is the first NaN; means are summed in f64 and rounded once. */
#ifndef TERN_KERNELS_POOL_H
#define TERN_KERNELS_POOL_H

#include "kernels/kernel.h"
#include "kernels/row/rowops.h"

/* One element of n windows, `step` apart, into what there is of their results. */
typedef struct tern__pool_kernel {
    void (*take_largest)(float *restrict to, const float *restrict x, int64_t step, int64_t n);
    void (*take_sum)(double *restrict to, const float *restrict x, int64_t step, int64_t n);
    /* The largest elements of n windows that lie in the image, side by side from x on, `stride` apart (1 or 2), of `rows` rows, each
     * `row` elements behind the one before; x and y without gaps. Results stay in registers meanwhile. NULL: none such. */
    void (*largest)(void *restrict y, const void *restrict x, tern_dtype dtype, int64_t row, int64_t rows,
                    int64_t columns, int64_t stride, int64_t n);
} tern__pool_kernel;

typedef struct tern__pool_program {
    const tern__pool_kernel *kernel;
    const tern__rowop_table *rows;
} tern__pool_program;

/* Does it take such images? Of 16 bits, windows of TERN__POOL_WIDEST columns at most. */
enum { TERN__POOL_WIDEST = 256 };
bool tern__pool_fits(const tern__type *x, const tern__attr *attrs);

/* Items of work: rows of results, of a channel or of all. */
int64_t tern__pool_work(const tern__type *y, const tern__attr *attrs);

/* Ops max_pool2d and avg_pool2d; args->program is a tern__pool_program. */
TERN__KERNEL(max_pool2d__rows);
TERN__KERNEL(avg_pool2d__rows);

#endif
