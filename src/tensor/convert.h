/* convert.h - one conversion from any type to any type, for a run of elements.
 *
 * Rules: float -> integer truncates towards zero and saturates, NaN gives 0; anything -> bool is x != 0;
 * integer -> narrower integer wraps (as in C and NumPy); values -> ternary: negative, zero, positive after
 * rounding half to even and clamping to [-1, 1]; NaN gives 0. Blocks go through f32 on both sides (blocks.h). */
#ifndef TERN_TENSOR_CONVERT_H
#define TERN_TENSOR_CONVERT_H

#include "tensor/type.h"

/* Converts `n` elements; strides in elements. Neither type is packed. */
void tern__convert(tern_dtype from, const void *source, int64_t source_stride, tern_dtype to, void *target,
                   int64_t target_stride, int64_t n);

/* One contiguous row of `columns` elements, packed types allowed on both sides (target padding is set). */
void tern__convert_row(tern_dtype from, const void *source, tern_dtype to, void *target, int64_t columns);

#endif
