/* buffer.h - an operand as a kernel sees it: a pointer to element [0,0,...], a type and strides.
 *
 * No storage, no ownership. Strides count units (layout.h). */
#ifndef TERN_TENSOR_BUFFER_H
#define TERN_TENSOR_BUFFER_H

#include "tensor/layout.h"

typedef struct tern__buffer {
    void *data; /* element [0,0,...] */
    const tern__type *type;
    const int64_t *strides; /* (rank) in units */
} tern__buffer;

/* Offset, in elements, of row `row` of all axes but the last. */
static inline int64_t tern__buffer_row_offset(const tern__buffer *b, int64_t row)
{
    int64_t offset = 0;
    for (int d = b->type->rank - 2; d >= 0; d--) {
        offset += row % b->type->shape[d] * b->strides[d];
        row /= b->type->shape[d];
    }
    return offset;
}

/* Do rows [begin, end) lie the same distance apart, each in one piece? Then that distance. A row of one element is in one piece
 * whatever its stride. */
static inline bool tern__buffer_is_matrix(const tern__buffer *b, int64_t begin, int64_t end, int64_t *stride)
{
    const int last = b->type->rank - 1;
    if (b->strides[last] != 1 && b->type->shape[last] > 1)
        return false;
    const int64_t first = tern__buffer_row_offset(b, begin);
    *stride = end - begin > 1 ? tern__buffer_row_offset(b, begin + 1) - first : 0;
    for (int64_t row = begin + 1; row < end; row++)
        if (tern__buffer_row_offset(b, row) != first + (row - begin) * *stride)
            return false;
    return true;
}

#endif
