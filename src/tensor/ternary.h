/* ternary.h - rows of canonical t2 and t5 (the layout is stated in <tern/dtype.h>). */
#ifndef TERN_TENSOR_TERNARY_H
#define TERN_TENSOR_TERNARY_H

#include "tensor/type.h"

/* One row: `columns` values of -1, 0, +1 (other bytes are clamped) <-> packed bytes. Padding is written as
 * 0. */
void tern__ternary_pack_row(tern_dtype dtype, const int8_t *values, int64_t columns, uint8_t *packed);
void tern__ternary_unpack_row(tern_dtype dtype, const uint8_t *packed, int64_t columns, int8_t *values);

/* Value at one column. */
int8_t tern__ternary_at(tern_dtype dtype, const uint8_t *row, int64_t column);

/* Are all bytes of `rows` rows valid codes with canonical padding? Otherwise the first offender. */
bool tern__ternary_valid(tern_dtype dtype, const uint8_t *packed, int64_t rows, int64_t columns,
                         int64_t *bad_byte);

/* Contiguous data of t2 or t5 that came from outside must be canonical before kernels see it: else TERN_FORMAT. Other
 * types pass. */
tern_status tern__ternary_check(const char *who, const tern__type *type, const void *data);

#endif
