/* move.c - kernels that move whole pieces of their operands: concat, stack, split, pad, tril, triu, flip. */
#include "kernels/ref/walk.h"

/* ---- concat and stack ---------------------------------------------------------------------------------- */

/* Where the elements with one coordinate along the joined axis come from. The search resumes at the last
 * operand found, so a walk in ascending order passes over the operands once. */
typedef struct source {
    int operand;
    int64_t start, size; /* its part of the joined axis: [start, start + size) */
} source;

static void find_source(const tern__kernel_args *args, int axis, bool stacked, int64_t coordinate, source *s)
{
    if (coordinate < s->start)
        *s = (source){0, 0, stacked ? 1 : args->in[0].type->shape[axis]};
    while (coordinate >= s->start + s->size) {
        s->start += s->size;
        s->operand++;
        s->size = stacked ? 1 : args->in[s->operand].type->shape[axis];
    }
}

/* Units to the element of operand x at `index` of the result, `coordinate` along the joined axis, which a
 * stacked operand does not have. */
static int64_t joined_at(const tern__buffer *x, const tern__runs *r, int axis, bool stacked,
                         int64_t coordinate)
{
    int64_t at = stacked ? 0 : coordinate * x->strides[axis];
    for (int d = 0; d < r->type->rank; d++) {
        if (d != axis)
            at += r->index[d] * x->strides[stacked && d > axis ? d - 1 : d];
    }
    return at;
}

static tern_status join(tern__kernel_args *args, int64_t begin, int64_t end, bool stacked)
{
    const tern__buffer *y = &args->out[0];
    const int rank = y->type->rank, axis = tern__axis(&args->attrs[0], rank);
    const bool along_last = axis == rank - 1;
    const size_t size = tern__dtype_unit_bytes(y->type->dtype);
    const int64_t y_step = tern__last_stride(y);
    source s = {0, 0, stacked ? 1 : args->in[0].type->shape[axis]};
    tern__runs r;
    for (bool more = tern__runs_first(&r, y->type, begin, end); more; more = tern__runs_next(&r)) {
        int64_t to = tern__at(rank, r.index, y->strides);
        for (int64_t done = 0, n; done < r.n; done += n) {
            int64_t coordinate = r.index[axis] + (along_last ? done : 0);
            find_source(args, axis, stacked, coordinate, &s);
            int64_t available = along_last ? s.start + s.size - coordinate : r.n;
            n = available < r.n - done ? available : r.n - done;
            const tern__buffer *x = &args->in[s.operand];
            tern__copy(size, y->data, to + done * y_step, y_step, x->data,
                       joined_at(x, &r, axis, stacked, coordinate - s.start), tern__last_stride(x), n);
        }
    }
    return TERN_OK;
}

KERNEL(concat)
{
    return join(args, begin, end, false);
}

KERNEL(stack)
{
    return join(args, begin, end, true);
}

/* ---- split --------------------------------------------------------------------------------------------- */

KERNEL(split)
{
    (void)begin;
    (void)end;
    const tern__buffer *x = &args->in[0];
    const int axis = tern__axis(&args->attrs[1], x->type->rank);
    int64_t start = 0;
    for (int part = 0; part < args->n_out; part++) {
        const tern__buffer *y = &args->out[part];
        tern__copy_view(y, x, start * x->strides[axis], x->strides, 0, tern__type_numel(y->type));
        start += y->type->shape[axis];
    }
    return TERN_OK;
}

/* ---- pad ----------------------------------------------------------------------------------------------- */

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

KERNEL(pad)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int rank = y->type->rank;
    const int64_t *before = args->attrs[0].ints;
    const size_t size = tern__dtype_unit_bytes(y->type->dtype);
    const tern__unit value = tern__unit_of(y->type->dtype, args->attrs[2].f);
    const int64_t x_step = tern__last_stride(x), y_step = tern__last_stride(y);
    tern__runs r;
    for (bool more = tern__runs_first(&r, y->type, begin, end); more; more = tern__runs_next(&r)) {
        int64_t to = tern__at(rank, r.index, y->strides), from = 0;
        int64_t inside = 0, outside = r.n; /* of the run, [inside, outside) is in x */
        for (int d = 0; d < rank; d++) {
            int64_t own = r.index[d] - before[d];
            if (d == rank - 1) {
                inside = clamp(-own, 0, r.n);
                outside = clamp(x->type->shape[d] - own, inside, r.n);
                own += inside;
            } else if (own < 0 || own >= x->type->shape[d]) {
                inside = outside = r.n;
                break;
            }
            from += own * x->strides[d];
        }
        tern__fill(size, y->data, to, y_step, value, inside);
        if (inside < outside)
            tern__copy(size, y->data, to + inside * y_step, y_step, x->data, from, x_step, outside - inside);
        tern__fill(size, y->data, to + outside * y_step, y_step, value, r.n - outside);
    }
    return TERN_OK;
}

/* ---- tril and triu ------------------------------------------------------------------------------------- */

/* tril keeps the columns up to the diagonal of each row, triu those from it on; the others become zero. */
static tern_status triangle(tern__kernel_args *args, int64_t begin, int64_t end, bool lower)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int rank = y->type->rank;
    const size_t size = tern__dtype_unit_bytes(y->type->dtype);
    const tern__unit zero = {{0}};
    const int64_t x_step = tern__last_stride(x), y_step = tern__last_stride(y);
    /* beyond these a diagonal changes nothing, and the sum below could overflow */
    const int64_t rows = y->type->shape[rank - 2], columns = y->type->shape[rank - 1];
    const int64_t diagonal = clamp(args->attrs[0].i, -rows, columns);
    tern__runs r;
    for (bool more = tern__runs_first(&r, y->type, begin, end); more; more = tern__runs_next(&r)) {
        int64_t to = tern__at(rank, r.index, y->strides), from = tern__at(rank, r.index, x->strides);
        /* column of the diagonal, counted from the run's start */
        int64_t on_diagonal = r.index[rank - 2] + diagonal - r.index[rank - 1];
        int64_t first = lower ? 0 : clamp(on_diagonal, 0, r.n);
        int64_t past = lower ? clamp(on_diagonal + 1, 0, r.n) : r.n;
        tern__fill(size, y->data, to, y_step, zero, first);
        tern__copy(size, y->data, to + first * y_step, y_step, x->data, from + first * x_step, x_step,
                   past - first);
        tern__fill(size, y->data, to + past * y_step, y_step, zero, r.n - past);
    }
    return TERN_OK;
}

KERNEL(tril)
{
    return triangle(args, begin, end, true);
}

KERNEL(triu)
{
    return triangle(args, begin, end, false);
}

/* ---- flip ---------------------------------------------------------------------------------------------- */

KERNEL(flip)
{
    const tern__buffer *x = &args->in[0];
    const int rank = x->type->rank;
    const tern__attr *axes = &args->attrs[0];
    int64_t strides[TERN__MAX_RANK] = {0}, offset = 0;
    for (int d = 0; d < rank; d++)
        strides[d] = x->strides[d];
    for (int i = 0; i < (axes->count == 0 ? rank : (int)axes->count); i++) {
        int d = i;
        if (axes->count > 0)
            d = (int)(axes->ints[i] < 0 ? axes->ints[i] + rank : axes->ints[i]);
        offset += (x->type->shape[d] - 1) * x->strides[d];
        strides[d] = -x->strides[d];
    }
    tern__copy_view(&args->out[0], x, offset, strides, begin, end);
    return TERN_OK;
}
