/* shape_rules_axes.c - shapes of reductions and of ops that work along an axis. */
#include "graph/rules.h"

/* The axes that a list names, as bits; an empty list names all. */
static tern_status axes_named(const tern__call *call, const tern__attr *axes, unsigned *out)
{
    unsigned named = 0;
    for (uint32_t i = 0; i < axes->count; i++) {
        int axis;
        TERN_TRY(tern__rule_axis(call, axes->ints[i], &axis));
        TERN__RULE_FAIL_IF(named & 1u << axis, TERN_INVALID_ARGUMENT, "axis %d is named twice", axis);
        named |= 1u << axis;
    }
    *out = axes->count ? named : (1u << call->in[0]->rank) - 1;
    return TERN_OK;
}

static void drop_axes(const tern__call *call, unsigned axes, bool keepdims)
{
    const tern__type *x = call->in[0];
    tern__type *out = &call->out[0];
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        bool dropped = axes & 1u << i;
        if (!dropped || keepdims)
            out->shape[rank++] = dropped ? 1 : x->shape[i];
    }
    out->rank = rank;
}

tern_status tern__rule_shape_reduce(const tern__call *call)
{
    unsigned axes;
    TERN_TRY(axes_named(call, &call->attrs[0], &axes));
    drop_axes(call, axes, call->attrs[1].i);
    return TERN_OK;
}

/* Without a neutral element there is no answer for nothing, unless there is no question either. */
tern_status tern__rule_shape_reduce_nonempty(const tern__call *call)
{
    TERN_TRY(tern__rule_shape_reduce(call));
    TERN__RULE_FAIL_IF(tern__type_numel(call->in[0]) == 0 && tern__type_numel(&call->out[0]) != 0, TERN_SHAPE,
                       "%s leaves nothing to choose from", TERN__SHAPE_TEXT(call->in[0]));
    return TERN_OK;
}

tern_status tern__rule_shape_reduce_axis(const tern__call *call)
{
    int axis;
    TERN_TRY(tern__rule_axis(call, call->attrs[0].i, &axis));
    TERN__RULE_FAIL_IF(call->in[0]->shape[axis] == 0, TERN_SHAPE,
                       "axis %d of %s leaves nothing to choose from", axis, TERN__SHAPE_TEXT(call->in[0]));
    drop_axes(call, 1u << axis, call->attrs[1].i);
    return TERN_OK;
}

tern_status tern__rule_shape_along_axis(const tern__call *call)
{
    int axis;
    TERN_TRY(tern__rule_axis(call, call->attrs[0].i, &axis));
    tern__rule_copy_shape(call, 0, call->in[0]);
    return TERN_OK;
}

/* weight and bias have one entry for each column. */
tern_status tern__rule_shape_norm(const tern__call *call)
{
    const tern__type *x = call->in[0];
    TERN__RULE_FAIL_IF(x->rank == 0, TERN_SHAPE, "%s", "x needs at least one axis");
    TERN__RULE_FAIL_IF(!(call->attrs[0].f >= 0), TERN_INVALID_ARGUMENT, "eps %g must not be negative",
                       call->attrs[0].f);
    for (int i = 1; i < call->n_in; i++) {
        const tern__type *w = call->in[i];
        TERN__RULE_FAIL_IF(w->rank != 1 || w->shape[0] != x->shape[x->rank - 1], TERN_SHAPE,
                           "%s %s does not fit the last axis of %s", TERN__OPERAND_NAME(i),
                           TERN__SHAPE_TEXT(w), TERN__SHAPE_TEXT(x));
    }
    tern__rule_copy_shape(call, 0, x);
    return TERN_OK;
}

tern_status tern__rule_shape_sort(const tern__call *call)
{
    TERN_TRY(tern__rule_shape_along_axis(call));
    tern__rule_copy_shape(call, 1, call->in[0]);
    return TERN_OK;
}

tern_status tern__rule_shape_topk(const tern__call *call)
{
    const tern__type *x = call->in[0];
    int64_t k = call->attrs[0].i;
    int axis;
    TERN_TRY(tern__rule_axis(call, call->attrs[1].i, &axis));
    TERN__RULE_FAIL_IF(k < 0 || k > x->shape[axis], TERN_OUT_OF_RANGE,
                       "k %" PRId64 " is outside 0..%" PRId64 ", the size of axis %d of %s", k,
                       x->shape[axis], axis, TERN__SHAPE_TEXT(x));
    for (int i = 0; i < 2; i++) {
        tern__rule_copy_shape(call, i, x);
        call->out[i].shape[axis] = k;
    }
    return TERN_OK;
}

tern_status tern__rule_shape_flip(const tern__call *call)
{
    unsigned axes;
    TERN_TRY(axes_named(call, &call->attrs[0], &axes));
    tern__rule_copy_shape(call, 0, call->in[0]);
    return TERN_OK;
}
