/* softmax.h - softmax and log_softmax over any axis but the last: columns side by side.
 *
 * Each column has the bits that the row program of the last axis would give it: the same instructions (row/rowops.h), and
 * the maximum and the sum of its elements in the same order, which is that of 16 lanes. */
#ifndef TERN_KERNELS_SOFTMAX_H
#define TERN_KERNELS_SOFTMAX_H

#include "kernels/reduce/columns.h"

/* Is it another axis than the last, of f32, f16 or bf16? */
bool tern__softmax_columns_fit(const tern__type *x, const tern__attr *axis);

/* Items of work: TERN__COLUMNS_LINE neighbouring columns. */
int64_t tern__softmax_columns_work(const tern__type *x, const tern__attr *axis);

/* Bytes of args->scratch. */
size_t tern__softmax_columns_scratch(void);

/* args->program is a tern__columns_program. */
TERN__KERNEL(softmax__columns);
TERN__KERNEL(log_softmax__columns);

#endif
