/* arg.c - where the largest and the smallest elements are. */
#include "kernels/reduce/arg.h"

#include <math.h>

#include "kernels/reduce/axis.h"
#include "kernels/row/floats.h"
#include "tensor/convert.h"

enum {
    MOST = 1024,  /* columns of a block: best ones and places stay in the first-level cache */
    BLOCK = 2048, /* elements of a row of which the best is found, then in which of them it is */
};

bool tern__arg_fit(const tern__type *x, const tern__attr *axis, int64_t *work)
{
    if (x->rank == 0 || !tern__floats_reads(x->dtype))
        return false;
    const int at = tern__axis_of(x, axis);
    const int64_t size = x->shape[at];
    if (size == 0 || size > INT32_MAX)
        return false;
    *work = at == x->rank - 1 ? tern__type_numel(x) / size : tern__axis_work(x, at);
    return true;
}

typedef struct search {
    const tern__columns_program *p;
    bool least;
    tern_dtype dtype;
    int64_t bytes;
} search;

/* ---- rows ---- */

/* Only the best block of a row is looked at again, to find the first that is it. */
static int64_t search_row(const search *s, const char *x, int64_t step, int64_t n)
{
    const tern__rowop op = s->least ? TERN__ROWOP_min : TERN__ROWOP_max;
    float room[BLOCK], best = s->least ? INFINITY : -INFINITY;
    int64_t at = 0;
    for (int64_t i = 0; i < n && !isnan(best); i += BLOCK) {
        const int64_t size = n - i < BLOCK ? n - i : BLOCK;
        if (step == 1) /* what lies behind it, be it of this row or of the next */
            tern__floats_fetch(x + (i + BLOCK) * s->bytes, size * s->bytes);
        const float *block =
            tern__floats_load(s->p->rows, s->dtype, x + i * step * s->bytes, step, size, room);
        tern__rowop_state state;
        s->p->rows->start(op, &state);
        s->p->rows->reduce[op](&state, block, size);
        const float found = (float)tern__rowop_finish(op, &state);
        if ((s->least ? found < best : found > best) || isnan(found)) {
            best = found;
            at = i;
        }
    }
    const int64_t size = n - at < BLOCK ? n - at : BLOCK;
    const float *block = tern__floats_load(s->p->rows, s->dtype, x + at * step * s->bytes, step, size, room);
    return at + s->p->kernel->find(block, size, best);
}

static void search_rows(const search *s, const tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int last = x->type->rank - 1;
    for (int64_t row = begin; row < end; row++) {
        int64_t rest = row, from = 0, to = 0;
        for (int d = last - 1; d >= 0; d--) {
            from += rest % x->type->shape[d] * x->strides[d];
            to += rest % x->type->shape[d] * y->strides[d];
            rest /= x->type->shape[d];
        }
        ((int64_t *)y->data)[to] =
            search_row(s, (const char *)x->data + from * s->bytes, x->strides[last], x->type->shape[last]);
    }
}

/* ---- columns ---- */

static void search_columns(void *user, const tern__axis_block *b)
{
    const search *s = user;
    float best[MOST], room[MOST];
    int32_t at[MOST] = {0};
    for (int64_t c = 0; c < b->n; c++)
        best[c] = s->least ? INFINITY : -INFINITY;
    const bool in_place = s->dtype == TERN_F32 && (b->x_step == 1 || b->n == 1);
    for (int64_t r = 0, rows = in_place ? b->rows : 1; r < b->rows; r += rows) {
        const float *x =
            tern__floats_load(s->p->rows, s->dtype, b->x + r * b->x_row * s->bytes, b->x_step, b->n, room);
        (s->least ? s->p->kernel->where_smallest : s->p->kernel->where_largest)(best, at, x, b->x_row, r,
                                                                                rows, b->n);
    }
    tern__convert(TERN_I32, at, 1, TERN_I64, b->y, b->y_step, b->n);
}

static tern_status run(const tern__kernel_args *args, int64_t begin, int64_t end, bool least)
{
    const tern__type *x = args->in[0].type;
    const int axis = tern__axis_of(x, &args->attrs[0]);
    search s = {.p = args->program,
                .least = least,
                .dtype = x->dtype,
                .bytes = (int64_t)tern__dtype_unit_bytes(x->dtype)};
    if (axis == x->rank - 1)
        search_rows(&s, args, begin, end);
    else
        tern__axis_walk(args, axis, begin, end, MOST, search_columns, &s);
    return TERN_OK;
}

TERN__KERNEL(argmax__blocks)
{
    return run(args, begin, end, false);
}

TERN__KERNEL(argmin__blocks)
{
    return run(args, begin, end, true);
}
