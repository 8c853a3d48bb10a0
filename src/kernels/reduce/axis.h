/* axis.h - the walk of kernels that work along one axis, which is not the last: blocks of neighbouring columns. */
#ifndef TERN_KERNELS_AXIS_H
#define TERN_KERNELS_AXIS_H

#include "kernels/kernel.h"

/* An element of row r and column c of x lies r * x_row + c * x_step elements behind x; those of y likewise. */
typedef struct tern__axis_block {
    const char *x;
    char *y;
    int64_t x_row, x_step, y_row, y_step;
    int64_t rows, n; /* n columns */
} tern__axis_block;

typedef void tern__axis_fn(void *user, const tern__axis_block *block);

/* The axis that an attribute names. */
int tern__axis_of(const tern__type *x, const tern__attr *axis);

/* Items of work: lines of TERN__COLUMNS_LINE columns. */
int64_t tern__axis_work(const tern__type *x, int axis);

/* Lines [begin, end) of in[0] along `axis`, in blocks of at most `most` columns. out[0] has the same shape, or lacks the axis. */
void tern__axis_walk(const tern__kernel_args *args, int axis, int64_t begin, int64_t end, int64_t most,
                     tern__axis_fn *work, void *user);

#endif
