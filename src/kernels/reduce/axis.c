/* axis.c - blocks of neighbouring columns. */
#include "kernels/reduce/axis.h"

#include "kernels/reduce/columns.h"

enum { LINE = TERN__COLUMNS_LINE };

int tern__axis_of(const tern__type *x, const tern__attr *axis)
{
    return (int)(axis->i < 0 ? axis->i + x->rank : axis->i);
}

static int64_t inner_of(const tern__type *x, int axis)
{
    int64_t inner = 1;
    for (int d = axis + 1; d < x->rank; d++)
        inner *= x->shape[d];
    return inner;
}

static int64_t lines_of(int64_t columns)
{
    return columns / LINE + (columns % LINE != 0);
}

int64_t tern__axis_work(const tern__type *x, int axis)
{
    const int64_t inner = inner_of(x, axis), size = x->shape[axis];
    return inner == 0 || size == 0 ? 0 : tern__type_numel(x) / inner / size * lines_of(inner);
}

/* The strides of y along x's axes. */
static void align(const tern__buffer *x, const tern__buffer *y, int axis, int64_t *strides)
{
    const int lacks = x->type->rank - y->type->rank;
    for (int d = 0; d < x->type->rank; d++)
        strides[d] = d == axis && lacks ? 0 : y->strides[d > axis ? d - lacks : d];
}

/* Columns that are equally far apart in x and in y, from the first of the last axes to its end. */
static int64_t run_length(const tern__buffer *x, const int64_t *y_strides, int axis)
{
    int d = x->type->rank - 1;
    int64_t length = x->type->shape[d];
    for (; d - 1 > axis && x->strides[d - 1] == x->strides[d] * x->type->shape[d] &&
           y_strides[d - 1] == y_strides[d] * x->type->shape[d];
         d--)
        length *= x->type->shape[d - 1];
    return length;
}

/* Where column c (of the axes behind `axis`) of part `outer` begins. */
static int64_t offset_of(const tern__type *x, const int64_t *strides, int axis, int64_t outer, int64_t c)
{
    int64_t at = 0;
    for (int d = x->rank - 1; d > axis; d--) {
        at += c % x->shape[d] * strides[d];
        c /= x->shape[d];
    }
    for (int d = axis - 1; d >= 0; d--) {
        at += outer % x->shape[d] * strides[d];
        outer /= x->shape[d];
    }
    return at;
}

void tern__axis_walk(const tern__kernel_args *args, int axis, int64_t begin, int64_t end, int64_t most,
                     tern__axis_fn *work, void *user)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int64_t x_bytes = (int64_t)tern__dtype_unit_bytes(x->type->dtype),
                  y_bytes = (int64_t)tern__dtype_unit_bytes(y->type->dtype);
    int64_t y_strides[TERN__MAX_RANK];
    align(x, y, axis, y_strides);
    const int last = x->type->rank - 1;
    const int64_t inner = inner_of(x->type, axis), lines = lines_of(inner),
                  length = run_length(x, y_strides, axis);
    tern__axis_block b = {.x_row = x->strides[axis],
                          .x_step = x->strides[last],
                          .y_row = y_strides[axis],
                          .y_step = y_strides[last],
                          .rows = x->type->shape[axis]};
    for (int64_t line = begin, next; line < end; line = next) {
        const int64_t outer = line / lines, first = line % lines * LINE;
        next = (outer + 1) * lines < end ? (outer + 1) * lines : end;
        const int64_t stop = next % lines == 0 ? inner : (next - outer * lines) * LINE;
        for (int64_t c = first; c < stop; c += b.n) {
            b.n = stop - c < most ? stop - c : most;
            b.n = length - c % length < b.n ? length - c % length : b.n;
            b.x = (const char *)x->data + offset_of(x->type, x->strides, axis, outer, c) * x_bytes;
            b.y = (char *)y->data + offset_of(x->type, y_strides, axis, outer, c) * y_bytes;
            work(user, &b);
        }
    }
}
