/* write.c - kernels that write into a state: write_slice and write_rows. The result is the state itself,
 * so there is nothing to copy but the new elements. Everything that data decides is checked before the
 * first write. */
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

KERNEL(write_slice)
{
    (void)begin;
    (void)end;
    const tern__buffer *x = &args->in[1], *at = &args->in[2], *state = &args->out[0];
    const int rank = state->type->rank;
    int64_t offset = 0;
    for (int d = 0; d < rank; d++) {
        int64_t start = tern__load_int(at->type->dtype, at->data, d * at->strides[0]);
        TERN_TRY(tern__check_index(args, start, state->type->shape[d] - x->type->shape[d] + 1));
        offset += start * state->strides[d];
    }
    const size_t bytes = tern__dtype_unit_bytes(state->type->dtype);
    const int64_t x_step = tern__last_stride(x), state_step = tern__last_stride(state);
    tern__runs r;
    for (bool more = tern__runs_first(&r, x->type, 0, tern__type_numel(x->type)); more;
         more = tern__runs_next(&r))
        tern__copy(bytes, state->data, offset + tern__at(rank, r.index, state->strides), state_step, x->data,
                   tern__at(rank, r.index, x->strides), x_step, r.n);
    return TERN_OK;
}

/* Where row `row` of x goes; `position` is -1 if nowhere. */
static tern_status find_row(tern__kernel_args *args, int64_t row, int64_t *slot, int64_t *position)
{
    const tern__buffer *slots = &args->in[2], *positions = &args->in[3];
    const tern__type *state = args->out[0].type;
    *slot = tern__load_int(slots->type->dtype, slots->data, row * slots->strides[0]);
    *position = tern__load_int(positions->type->dtype, positions->data, row * positions->strides[0]);
    if (*position == -1)
        return TERN_OK;
    TERN_TRY(tern__check_index(args, *slot, state->shape[0]));
    return tern__check_index(args, *position, state->shape[1]);
}

/* x[rows, ...] into state[slots, capacity, ...]; of rows with one place the last wins. */
KERNEL(write_rows)
{
    (void)begin;
    (void)end;
    const tern__buffer *x = &args->in[1], *state = &args->out[0];
    const int64_t rows = x->type->shape[0], count = tern__type_numel(x->type);
    int64_t slot, position;
    for (int64_t row = 0; row < rows; row++)
        TERN_TRY(find_row(args, row, &slot, &position));

    const int rank = x->type->rank;
    const size_t bytes = tern__dtype_unit_bytes(state->type->dtype);
    const int64_t x_step = tern__last_stride(x), state_step = tern__last_stride(state);
    const int64_t per_row = rows == 0 ? 0 : count / rows;
    for (int64_t row = 0; row < rows; row++) {
        TERN_TRY(find_row(args, row, &slot, &position));
        if (position == -1)
            continue;
        int64_t place = slot * state->strides[0] + position * state->strides[1];
        tern__runs r;
        for (bool more = tern__runs_first(&r, x->type, row * per_row, (row + 1) * per_row); more;
             more = tern__runs_next(&r))
            tern__copy(bytes, state->data, place + tern__at(rank - 1, r.index + 1, state->strides + 2),
                       state_step, x->data, tern__at(rank, r.index, x->strides), x_step, r.n);
    }
    return TERN_OK;
}
