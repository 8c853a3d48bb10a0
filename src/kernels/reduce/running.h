/* running.h - running sums along an axis, of f32, f16 and bf16, whole numbers and bools.
 *
 * Same bits as ref/: sums of floats are kept in f64, take their elements one after the other and are rounded at each step; whole
 * numbers wrap in 64 bits. A sum waits for the one before it: so neighbouring columns, or several rows, are summed side by side. */
#ifndef TERN_KERNELS_RUNNING_H
#define TERN_KERNELS_RUNNING_H

#include "kernels/reduce/columns.h"

/* Is it for such operands? `work`: items of work, rows or pages of columns. */
bool tern__running_fit(const tern__type *x, const tern__attr *axis, int64_t *work);

/* Op cumsum; args->program is a tern__columns_program. */
TERN__KERNEL(cumsum__lanes);

#endif
