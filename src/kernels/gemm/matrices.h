/* matrices.h - the matrices of a product in operands with any strides, axes and batches. */
#ifndef TERN_KERNELS_GEMM_MATRICES_H
#define TERN_KERNELS_GEMM_MATRICES_H

#include "kernels/kernel.h"

/* One operand as matrices: vectors have got their axis of size 1. */
typedef struct tern__matrices {
    const tern__buffer *buffer;
    int batch_rank;
    int64_t rows; /* of one matrix */
    int64_t row_stride, column_stride;
} tern__matrices;

static inline tern__matrices tern__matrices_of(const tern__buffer *x, bool is_matrix, bool transposed,
                                               bool is_row)
{
    const int rank = x->type->rank;
    tern__matrices o = {.buffer = x, .rows = 1};
    if (!is_matrix) {
        o.row_stride = is_row ? 0 : x->strides[rank - 1];
        o.column_stride = is_row ? x->strides[rank - 1] : 0;
        o.rows = is_row ? 1 : x->type->shape[rank - 1];
        return o;
    }
    const int rows = transposed ? rank - 1 : rank - 2, columns = 2 * rank - 3 - rows;
    o.batch_rank = rank - 2;
    o.rows = x->type->shape[rows];
    o.row_stride = x->strides[rows];
    o.column_stride = x->strides[columns];
    return o;
}

/* y has lost the axes that vectors do not have. */
static inline tern__matrices tern__matrices_of_result(const tern__buffer *y, bool a_is_matrix,
                                                      bool b_is_matrix)
{
    tern__matrices o = {.buffer = y, .rows = 1, .batch_rank = y->type->rank - a_is_matrix - b_is_matrix};
    if (a_is_matrix) {
        o.rows = y->type->shape[o.batch_rank];
        o.row_stride = y->strides[o.batch_rank];
    }
    if (b_is_matrix)
        o.column_stride = y->strides[y->type->rank - 1];
    return o;
}

/* First element of x's matrix for batch `batch` of y. */
static inline void *tern__matrix_at(const tern__matrices *x, const tern__matrices *y, int64_t batch)
{
    int64_t offset = 0;
    for (int d = y->batch_rank - 1; d >= 0; d--) {
        const int64_t size = y->buffer->type->shape[d];
        const int own = d - (y->batch_rank - x->batch_rank);
        if (own >= 0 && x->buffer->type->shape[own] != 1)
            offset += batch % size * x->buffer->strides[own];
        batch /= size;
    }
    return (char *)x->buffer->data + offset * (int64_t)tern__dtype_unit_bytes(x->buffer->type->dtype);
}

#endif
