/* index.c - kernels that go where indices in a tensor point: gather, take_along, scatter_add, one_hot.
 *
 * Indices are i64; negative ones count from the end. One that points nowhere ends the kernel with
 * TERN_OUT_OF_RANGE. */
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"
#include "tensor/blocks.h"

/* Strides of one operand over the axes of another shape: 0 on the axes that it does not have. */
typedef struct spread {
    int64_t strides[TERN__MAX_RANK];
} spread;

/* A piece of a row of blocks, as f32. `row` counts units. */
static void unpack_piece(const tern__buffer *x, const tern__buffer *y, int64_t row, int64_t column,
                         int64_t to, int64_t y_step, int64_t n)
{
    const uint8_t *from = (const uint8_t *)x->data + row * (int64_t)tern__dtype_unit_bytes(x->type->dtype);
    float *at = (float *)y->data + to, values[TERN__BLOCK_MOST];
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < TERN__BLOCK_MOST ? n - i : TERN__BLOCK_MOST;
        tern__blocks_unpack(x->type->dtype, from, column + i, some, values);
        for (int64_t j = 0; j < some; j++)
            at[(i + j) * y_step] = values[j];
    }
}

/* y[r] = x at r's own coordinates, moved along one axis of x by the index found at r's coordinates in
 * `indices`. */
static tern_status pick(tern__kernel_args *args, int64_t begin, int64_t end, int axis, const spread *x_spread,
                        const spread *index_spread)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int64_t *indices = args->in[1].data;
    const int rank = y->type->rank;
    const size_t bytes = tern__dtype_unit_bytes(y->type->dtype);
    const bool blocks = tern__dtype_is_block(x->type->dtype);
    const int64_t axis_size = x->type->shape[axis], axis_stride = x->strides[axis];
    const int64_t y_step = tern__last_stride(y), x_step = rank == 0 ? 0 : x_spread->strides[rank - 1];
    const int64_t index_step = rank == 0 ? 0 : index_spread->strides[rank - 1];
    tern__runs r;
    for (bool more = tern__runs_first(&r, y->type, begin, end); more; more = tern__runs_next(&r)) {
        int64_t to = tern__at(rank, r.index, y->strides), from = tern__at(rank, r.index, x_spread->strides);
        int64_t index_at = tern__at(rank, r.index, index_spread->strides);
        /* an index that stays the same along the run moves the whole run */
        int64_t step = index_step == 0 ? r.n : 1;
        for (int64_t i = 0; i < r.n; i += step) {
            int64_t index;
            TERN_TRY(tern__resolve_index(args, indices[index_at + i * index_step], axis_size, &index));
            if (blocks) /* the last axis of x is that of y: runs lie along it, and its stride counts for nothing */
                unpack_piece(x, y, from - r.index[rank - 1] * x_step + index * axis_stride,
                             r.index[rank - 1] + i, to + i * y_step, y_step, step);
            else
                tern__copy(bytes, y->data, to + i * y_step, y_step, x->data,
                           from + i * x_step + index * axis_stride, x_step, step);
        }
    }
    return TERN_OK;
}

/* y has the axes of x with `axis` replaced by those of indices. */
KERNEL(gather)
{
    const tern__buffer *x = &args->in[0], *indices = &args->in[1];
    const int axis = tern__axis(&args->attrs[0], x->type->rank), index_rank = indices->type->rank;
    spread x_spread = {{0}}, index_spread = {{0}};
    for (int d = 0; d < x->type->rank; d++) {
        if (d != axis)
            x_spread.strides[d < axis ? d : d - 1 + index_rank] = x->strides[d];
    }
    for (int d = 0; d < index_rank; d++)
        index_spread.strides[axis + d] = indices->strides[d];
    return pick(args, begin, end, axis, &x_spread, &index_spread);
}

/* y and indices have one shape, that of x but for `axis`. */
KERNEL(take_along)
{
    const tern__buffer *x = &args->in[0], *indices = &args->in[1];
    const int axis = tern__axis(&args->attrs[0], x->type->rank);
    spread x_spread = {{0}}, index_spread = {{0}};
    for (int d = 0; d < x->type->rank; d++) {
        x_spread.strides[d] = d == axis ? 0 : x->strides[d];
        index_spread.strides[d] = indices->strides[d];
    }
    return pick(args, begin, end, axis, &x_spread, &index_spread);
}

/* ---- scatter_add --------------------------------------------------------------------------------------- */

static void add_run(tern_dtype dtype, void *y, int64_t to, int64_t y_step, const void *updates, int64_t from,
                    int64_t step, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (tern__dtype_is_float(dtype)) {
            double a = tern__load_float(dtype, y, to + i * y_step);
            double b = tern__load_float(dtype, updates, from + i * step);
            tern__store_float(dtype, y, to + i * y_step, a + b);
        } else {
            int64_t a = tern__load_int(dtype, y, to + i * y_step);
            int64_t b = tern__load_int(dtype, updates, from + i * step);
            tern__store_int(dtype, y, to + i * y_step, tern__wrapping_add(a, b));
        }
    }
}

/* x[rows, ...], indices[m], updates[m, ...]; sums are rounded to the result's type one by one. */
KERNEL(scatter_add)
{
    (void)begin;
    (void)end;
    const tern__buffer *x = &args->in[0], *indices = &args->in[1], *updates = &args->in[2];
    const tern__buffer *y = &args->out[0];
    const tern_dtype dtype = y->type->dtype;
    const int rank = updates->type->rank;
    tern__copy_view(y, x, 0, x->strides, 0, tern__type_numel(y->type));

    const int64_t y_step = tern__last_stride(y), step = tern__last_stride(updates);
    tern__runs r;
    for (bool more = tern__runs_first(&r, updates->type, 0, tern__type_numel(updates->type)); more;
         more = tern__runs_next(&r)) {
        int64_t from = tern__at(rank, r.index, updates->strides);
        int64_t to = tern__at(rank - 1, r.index + 1, y->strides + 1);
        int64_t piece = rank == 1 ? 1 : r.n; /* of the run, what goes to one row */
        for (int64_t i = 0; i < r.n; i += piece) {
            int64_t row, index = ((const int64_t *)indices->data)[(r.index[0] + i) * indices->strides[0]];
            TERN_TRY(tern__resolve_index(args, index, y->type->shape[0], &row));
            add_run(dtype, y->data, to + row * y->strides[0], y_step, updates->data, from + i * step, step,
                    piece);
        }
    }
    return TERN_OK;
}

/* ---- one_hot ------------------------------------------------------------------------------------------- */

KERNEL(one_hot)
{
    const tern__buffer *indices = &args->in[0], *y = &args->out[0];
    const int rank = y->type->rank;
    const size_t bytes = tern__dtype_unit_bytes(y->type->dtype);
    const tern__unit zero = tern__unit_of(y->type->dtype, 0), one = tern__unit_of(y->type->dtype, 1);
    const int64_t y_step = tern__last_stride(y);
    tern__runs r;
    for (bool more = tern__runs_first(&r, y->type, begin, end); more; more = tern__runs_next(&r)) {
        int64_t to = tern__at(rank, r.index, y->strides), first = r.index[rank - 1];
        int64_t index = ((const int64_t *)indices->data)[tern__at(rank - 1, r.index, indices->strides)];
        tern__fill(bytes, y->data, to, y_step, zero, r.n);
        if (index >= first && index - first < r.n)
            tern__fill(bytes, y->data, to + (index - first) * y_step, y_step, one, 1);
    }
    return TERN_OK;
}
