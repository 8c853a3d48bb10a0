/* blocks.h - rows of the block types q8_0, q6_k, q4_0 and q4_k (their bytes are stated in <tern/dtype.h>). */
#ifndef TERN_TENSOR_BLOCKS_H
#define TERN_TENSOR_BLOCKS_H

#include "tensor/type.h"

enum { TERN__BLOCK_MOST = 256 }; /* elements of the largest block; those of the others divide it */

/* Columns [first, first + n) of a row. */
void tern__blocks_unpack(tern_dtype dtype, const uint8_t *row, int64_t first, int64_t n, float *out);

/* A row of `columns` numbers, coded so that each comes back as near as the format allows without a long search; the last block
 * is filled with zeros. A number that is not finite makes its block NaN. */
void tern__blocks_pack_row(tern_dtype dtype, const float *values, int64_t columns, uint8_t *packed);

/* A row of -1, 0 and 1, whole blocks of them, times d: they come back exactly if f16 holds d. By the rule above they would be
 * fractions of an f16, each type its own, and some types have none that reaches both ends. */
void tern__blocks_pack_signs(tern_dtype dtype, const float *signs, int64_t columns, float d, uint8_t *packed);

/* Scale and offset j (0..7) of the twelve bytes of a q4_k block. */
void tern__q4_k_scale(const uint8_t s[12], int j, int *scale, int *offset);

#endif
