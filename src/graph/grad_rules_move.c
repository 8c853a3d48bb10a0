/* grad_rules_move.c - gradients of what only moves elements: each goes back to where it came from. */
#include "base/status.h"
#include "graph/grad.h"
#include "graph/rules.h"

/* Counted from the front; it was checked when the op was recorded. */
static int axis_of(int64_t axis, int rank)
{
    int at = 0;
    (void)tern__axis_normalise(axis, rank, &at);
    return at;
}

RULE(reshape)
{
    g->of_in[0] = tern_reshape(GRAD, X->type.rank, X->type.shape);
    return TERN_OK;
}

RULE(permute)
{
    const tern__attr *axes = &g->attrs[TERN__ATTR_permute_axes];
    int64_t back[TERN__MAX_RANK];
    for (uint32_t i = 0; i < axes->count; i++)
        back[axis_of(axes->ints[i], X->type.rank)] = i;
    g->of_in[0] = tern_permute(GRAD, (int)axes->count, back);
    return TERN_OK;
}

tern_tensor *tern__grad_stretch(tern_tensor *x, int axis, int64_t step)
{
    int64_t shape[TERN__MAX_RANK], before[TERN__MAX_RANK + 1] = {0}, after[TERN__MAX_RANK + 1] = {0};
    const int rank = tern_rank(x);
    if (step == 1 || tern__tensor_is_error(x))
        return x;
    /* rows of one element become rows of `step`: in a shape of three axes, which every rank has room for */
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < rank; i++) {
        shape[i] = i == axis ? tern_dim(x, i) * step : tern_dim(x, i);
        outer *= i <= axis ? tern_dim(x, i) : 1;
        inner *= i > axis ? tern_dim(x, i) : 1;
    }
    const int64_t folded[] = {outer, 1, inner};
    after[1] = step - 1;
    return tern_reshape(tern_pad(tern_reshape(x, 3, folded), 3, before, after, 0), rank, shape);
}

/* Axis by axis: stretched by the step, turned round if it was read backwards, and zeros around it. */
RULE(slice)
{
    const tern__attr *start = &g->attrs[TERN__ATTR_slice_start], *stop = &g->attrs[TERN__ATTR_slice_stop],
                     *step = &g->attrs[TERN__ATTR_slice_step];
    int64_t before[TERN__MAX_RANK] = {0}, after[TERN__MAX_RANK] = {0}, from[TERN__MAX_RANK] = {0},
            to[TERN__MAX_RANK], by[TERN__MAX_RANK];
    tern_tensor *t = GRAD;
    for (uint32_t i = 0; i < start->count; i++) {
        const int64_t size = X->type.shape[i], s = step->ints[i], width = s < 0 ? -s : s, axis = i;
        int64_t first, count;
        tern__slice_resolve(size, start->ints[i], stop->ints[i], s, &first, &count);
        if (s < 0)
            t = tern_flip(t, 1, &axis);
        t = tern__grad_stretch(t, (int)i, width);
        /* the lowest element read, and room for `count` of them a step apart; the last step may reach over the end */
        before[i] = count == 0 ? 0 : s < 0 ? first - (count - 1) * width : first;
        after[i] = size - before[i] - count * width;
        to[i] = size;
        by[i] = 1;
        if (after[i] < 0)
            after[i] = 0;
    }
    t = tern_pad(t, (int)start->count, before, after, 0);
    g->of_in[0] = tern_slice(t, (int)start->count, from, to, by);
    return TERN_OK;
}

RULE(pad)
{
    const tern__attr *before = &g->attrs[TERN__ATTR_pad_before];
    int64_t stop[TERN__MAX_RANK], step[TERN__MAX_RANK];
    for (uint32_t i = 0; i < before->count; i++) {
        stop[i] = before->ints[i] + X->type.shape[i];
        step[i] = 1;
    }
    g->of_in[0] = tern_slice(GRAD, (int)before->count, before->ints, stop, step);
    return TERN_OK;
}

RULE(concat)
{
    const int axis = axis_of(g->attrs[TERN__ATTR_concat_axis].i, Y->type.rank);
    int64_t at = 0;
    for (int i = 0; i < g->n_in; i++) {
        const int64_t end = at + g->in[i]->type.shape[axis];
        if (g->wanted[i])
            g->of_in[i] = tern_narrow(GRAD, axis, at, end);
        at = end;
    }
    return TERN_OK;
}

RULE(stack)
{
    const int axis = axis_of(g->attrs[TERN__ATTR_stack_axis].i, Y->type.rank);
    for (int i = 0; i < g->n_in; i++) {
        if (g->wanted[i])
            g->of_in[i] = tern_squeeze(tern_narrow(GRAD, axis, i, i + 1), axis);
    }
    return TERN_OK;
}

/* Parts that the loss does not depend on count as zeros. */
RULE(split)
{
    for (int i = 0; i < g->n_out; i++) {
        if (!g->of_out[i])
            g->of_out[i] = tern__grad_zeros(g->out[i]);
    }
    g->of_in[0] = tern_concat(g->n_out, g->of_out, g->attrs[TERN__ATTR_split_axis].i);
    return TERN_OK;
}

/* Rows that were taken several times get the sum. Along another axis than the first, x is turned for it. */
RULE(gather)
{
    const int rank = X->type.rank, axis = axis_of(g->attrs[TERN__ATTR_gather_axis].i, rank);
    const int taken = g->in[1]->type.rank, result = Y->type.rank;
    int64_t there[TERN__MAX_RANK], back[TERN__MAX_RANK], turned[TERN__MAX_RANK], rows[TERN__MAX_RANK];
    if (!g->wanted[0])
        return TERN_OK;
    tern__grad_widen(g); /* for the sums */
    /* the axes of the indices come first, then those of x but for `axis` */
    for (int i = 0; i < result; i++)
        there[i] = i < taken ? axis + i : i - taken < axis ? i - taken : i;
    turned[0] = X->type.shape[axis];
    rows[0] = tern_numel(g->in[1]);
    back[axis] = 0;
    for (int i = 0, k = 1; i < rank; i++) {
        if (i == axis)
            continue;
        turned[k] = rows[k] = X->type.shape[i];
        back[i] = k++;
    }
    tern_tensor *updates = tern_reshape(tern_permute(GRAD, result, there), rank, rows);
    tern_tensor *indices = tern_reshape(g->in[1], 1, &rows[0]);
    tern_tensor *sums =
        tern_scatter_add(tern_full(g->ctx, tern_dtype_of(GRAD), rank, turned, 0), indices, updates);
    g->of_in[0] = tern_permute(sums, rank, back);
    return TERN_OK;
}

RULE(scatter_add)
{
    g->of_in[0] = GRAD;
    if (g->wanted[2])
        g->of_in[2] = tern_gather(GRAD, g->in[1], 0);
    return TERN_OK;
}

RULE(tril)
{
    g->of_in[0] = tern_tril(GRAD, g->attrs[TERN__ATTR_tril_diagonal].i);
    return TERN_OK;
}

RULE(triu)
{
    g->of_in[0] = tern_triu(GRAD, g->attrs[TERN__ATTR_triu_diagonal].i);
    return TERN_OK;
}

RULE(flip)
{
    const tern__attr *axes = &g->attrs[TERN__ATTR_flip_axes];
    g->of_in[0] = tern_flip(GRAD, (int)axes->count, axes->ints);
    return TERN_OK;
}
