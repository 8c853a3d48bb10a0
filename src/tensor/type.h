/* type.h - what is known of a tensor without its data: element type and shape. Pure functions. */
#ifndef TERN_TENSOR_TYPE_H
#define TERN_TENSOR_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/dtype.h>
#include <tern/status.h>

enum { TERN__MAX_RANK = 8 };

typedef struct tern__type {
    tern_dtype dtype;
    int rank;                      /* 0 (a scalar) .. TERN__MAX_RANK */
    int64_t shape[TERN__MAX_RANK]; /* only the first `rank` are meaningful; sizes >= 0 */
} tern__type;

/* Fills `out`, refusing bad ranks, negative sizes and element or byte counts that overflow. `who` starts the
 * message: "zeros". */
tern_status tern__type_make(const char *who, tern_dtype dtype, int rank, const int64_t *shape,
                            tern__type *out);

/* Number of elements; cannot overflow for a type made by tern__type_make. 1 for rank 0. */
int64_t tern__type_numel(const tern__type *type);

/* Bytes of the contiguous form (packed types: rows padded to whole units, see <tern/dtype.h>). */
size_t tern__type_bytes(const tern__type *type);

bool tern__type_equal(const tern__type *a, const tern__type *b);
bool tern__shape_equal(const tern__type *a, const tern__type *b);

/* "f32[2,3]" into `buffer`, always terminated; returns `buffer`. */
enum { TERN__TYPE_TEXT = 192 };
char *tern__type_text(const tern__type *type, char buffer[TERN__TYPE_TEXT]);
char *tern__shape_text(int rank, const int64_t *shape, char buffer[TERN__TYPE_TEXT]); /* "[2,3]" */

/* NumPy broadcasting of two shapes (dtype untouched). false: they do not fit. */
bool tern__shape_broadcast(const tern__type *a, const tern__type *b, tern__type *out);

/* -1 -> rank-1 and so on; false if outside [-rank, rank). */
bool tern__axis_normalise(int64_t axis, int rank, int *out);

/* Facts from the table in <tern/dtype.h>, without checks. */
/* clang-format off */
static inline bool tern__dtype_is_packed(tern_dtype d) { return d >= TERN_T2; }
static inline bool tern__dtype_is_ternary(tern_dtype d) { return d == TERN_T2 || d == TERN_T5; }
static inline bool tern__dtype_is_block(tern_dtype d) { return d >= TERN_Q8_0; }
static inline bool tern__dtype_is_float(tern_dtype d) { return d >= TERN_F16 && d <= TERN_F64; }
static inline bool tern__dtype_is_int(tern_dtype d) { return d >= TERN_U8 && d <= TERN_I64; }
/* clang-format on */
size_t tern__dtype_unit_bytes(tern_dtype dtype);

/* Units (see <tern/dtype.h>) in a row of `columns`: columns, or the padded count for packed types. */
int64_t tern__row_units(tern_dtype dtype, int64_t columns);

#endif
