/* arg.h - argmax and argmin of f32, f16 and bf16: along the last axis, block by block of a row, and along others, neighbouring
 * columns at once. As ref/ has it: the first of equals, and the first NaN before every number. */
#ifndef TERN_KERNELS_ARG_H
#define TERN_KERNELS_ARG_H

#include "kernels/reduce/columns.h"

/* Is there a kernel for it? *work: items, which are rows or lines of columns. */
bool tern__arg_fit(const tern__type *x, const tern__attr *axis, int64_t *work);

/* args->program is a tern__columns_program. */
TERN__KERNEL(argmax__blocks);
TERN__KERNEL(argmin__blocks);

#endif
