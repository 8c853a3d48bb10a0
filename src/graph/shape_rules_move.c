/* shape_rules_move.c - shapes of ops that move elements: joining, cutting, padding, picking by index. */
#include "graph/rules.h"

/* Appends a size to the result; false past the highest rank. */
static bool append(tern__type *out, int64_t size)
{
    if (out->rank == TERN__MAX_RANK)
        return false;
    out->shape[out->rank++] = size;
    return true;
}

static tern_status refuse_rank(const tern__call *call)
{
    return TERN__RULE_FAIL(TERN_SHAPE, "the result would have more than %d axes", TERN__MAX_RANK);
}

/* Do the shapes agree, the axis aside? */
static bool equal_but_for(const tern__type *a, const tern__type *b, int axis)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (i != axis && a->shape[i] != b->shape[i])
            return false;
    }
    return true;
}

tern_status tern__rule_shape_concat(const tern__call *call)
{
    int axis;
    TERN_TRY(tern__rule_axis(call, call->attrs[0].i, &axis));
    tern__rule_copy_shape(call, 0, call->in[0]);
    int64_t *size = &call->out[0].shape[axis];
    for (int i = 1; i < call->n_in; i++) {
        const tern__type *x = call->in[i];
        TERN__RULE_FAIL_IF(!equal_but_for(x, call->in[0], axis), TERN_SHAPE,
                           "%s %s does not fit %s but for axis %d", TERN__OPERAND_NAME(i),
                           TERN__SHAPE_TEXT(x), TERN__SHAPE_TEXT(call->in[0]), axis);
        TERN__RULE_FAIL_IF(!tern__i64_add(*size, x->shape[axis], size), TERN_OVERFLOW,
                           "axis %d becomes too large", axis);
    }
    return TERN_OK;
}

tern_status tern__rule_shape_stack(const tern__call *call)
{
    const tern__type *first = call->in[0];
    tern__type *out = &call->out[0];
    int axis;
    for (int i = 1; i < call->n_in; i++)
        TERN__RULE_FAIL_IF(!tern__shape_equal(call->in[i], first), TERN_SHAPE, "%s %s differs from %s",
                           TERN__OPERAND_NAME(i), TERN__SHAPE_TEXT(call->in[i]), TERN__SHAPE_TEXT(first));
    TERN__RULE_FAIL_IF(!tern__axis_normalise(call->attrs[0].i, first->rank + 1, &axis), TERN_OUT_OF_RANGE,
                       "new axis %" PRId64 " is outside the rank %d of the result", call->attrs[0].i,
                       first->rank + 1);
    out->rank = 0;
    for (int i = 0; i <= first->rank; i++) {
        if (!append(out, i == axis ? call->n_in : first->shape[i - (i > axis)]))
            return refuse_rank(call);
    }
    return TERN_OK;
}

tern_status tern__rule_shape_split(const tern__call *call)
{
    const tern__type *x = call->in[0];
    const tern__attr *sizes = &call->attrs[0];
    int64_t sum = 0;
    int axis;
    TERN_TRY(tern__rule_axis(call, call->attrs[1].i, &axis));
    TERN__RULE_FAIL_IF(sizes->count == 0, TERN_INVALID_ARGUMENT, "%s", "sizes is empty");
    for (int i = 0; i < call->n_out; i++) {
        int64_t size = sizes->ints[i];
        TERN__RULE_FAIL_IF(size < 0, TERN_SHAPE, "part %d has the negative size %" PRId64, i, size);
        TERN__RULE_FAIL_IF(!tern__i64_add(sum, size, &sum) || sum > x->shape[axis], TERN_SHAPE,
                           "the sizes up to part %d exceed axis %d of %s", i, axis, TERN__SHAPE_TEXT(x));
        tern__rule_copy_shape(call, i, x);
        call->out[i].shape[axis] = size;
    }
    TERN__RULE_FAIL_IF(sum != x->shape[axis], TERN_SHAPE,
                       "the sizes add up to %" PRId64 ", axis %d of %s does not", sum, axis,
                       TERN__SHAPE_TEXT(x));
    return TERN_OK;
}

tern_status tern__rule_shape_pad(const tern__call *call)
{
    const tern__type *x = call->in[0];
    const tern__attr *before = &call->attrs[0], *after = &call->attrs[1];
    TERN__RULE_FAIL_IF(before->count != (uint32_t)x->rank, TERN_SHAPE, "%u axes are padded of %s",
                       before->count, TERN__SHAPE_TEXT(x));
    tern__rule_copy_shape(call, 0, x);
    for (int i = 0; i < x->rank; i++) {
        int64_t *size = &call->out[0].shape[i];
        TERN__RULE_FAIL_IF(before->ints[i] < 0 || after->ints[i] < 0, TERN_INVALID_ARGUMENT,
                           "the padding of axis %d is negative", i);
        TERN__RULE_FAIL_IF(!tern__i64_add(*size, before->ints[i], size) ||
                               !tern__i64_add(*size, after->ints[i], size),
                           TERN_OVERFLOW, "axis %d becomes too large", i);
    }
    return TERN_OK;
}

tern_status tern__rule_shape_gather(const tern__call *call)
{
    const tern__type *x = call->in[0], *indices = call->in[1];
    tern__type *out = &call->out[0];
    int axis;
    bool fits = true;
    TERN_TRY(tern__rule_axis(call, call->attrs[0].i, &axis));
    TERN__RULE_FAIL_IF(tern__dtype_is_block(x->dtype) && axis == x->rank - 1, TERN_DTYPE,
                       "%s%s gives whole rows only, not along its last axis: cast it to f32 first",
                       tern_dtype_name(x->dtype), TERN__SHAPE_TEXT(x));
    out->rank = 0;
    for (int i = 0; i < axis; i++)
        fits = fits && append(out, x->shape[i]);
    for (int i = 0; i < indices->rank; i++)
        fits = fits && append(out, indices->shape[i]);
    for (int i = axis + 1; i < x->rank; i++)
        fits = fits && append(out, x->shape[i]);
    return fits ? TERN_OK : refuse_rank(call);
}

tern_status tern__rule_shape_take_along(const tern__call *call)
{
    int axis;
    TERN_TRY(tern__rule_axis(call, call->attrs[0].i, &axis));
    TERN__RULE_FAIL_IF(!equal_but_for(call->in[0], call->in[1], axis), TERN_SHAPE,
                       "indices %s do not fit x %s but for axis %d", TERN__SHAPE_TEXT(call->in[1]),
                       TERN__SHAPE_TEXT(call->in[0]), axis);
    tern__rule_copy_shape(call, 0, call->in[1]);
    return TERN_OK;
}

/* x[n, ...], indices[m], updates[m, ...] */
tern_status tern__rule_shape_scatter_add(const tern__call *call)
{
    const tern__type *x = call->in[0], *indices = call->in[1], *updates = call->in[2];
    TERN__RULE_FAIL_IF(x->rank == 0, TERN_SHAPE, "%s", "x needs at least one axis");
    TERN__RULE_FAIL_IF(indices->rank != 1, TERN_SHAPE, "indices %s must have one axis",
                       TERN__SHAPE_TEXT(indices));
    TERN__RULE_FAIL_IF(!equal_but_for(x, updates, 0) || updates->shape[0] != indices->shape[0], TERN_SHAPE,
                       "updates %s do not fit x %s and indices %s", TERN__SHAPE_TEXT(updates),
                       TERN__SHAPE_TEXT(x), TERN__SHAPE_TEXT(indices));
    tern__rule_copy_shape(call, 0, x);
    return TERN_OK;
}

tern_status tern__rule_shape_one_hot(const tern__call *call)
{
    TERN__RULE_FAIL_IF(call->attrs[0].i < 0, TERN_INVALID_ARGUMENT, "classes %" PRId64 " is negative",
                       call->attrs[0].i);
    tern__rule_copy_shape(call, 0, call->in[0]);
    return append(&call->out[0], call->attrs[0].i) ? TERN_OK : refuse_rank(call);
}

tern_status tern__rule_shape_matrix(const tern__call *call)
{
    TERN__RULE_FAIL_IF(call->in[0]->rank < 2, TERN_SHAPE, "%s is not a matrix: it needs two axes",
                       TERN__SHAPE_TEXT(call->in[0]));
    tern__rule_copy_shape(call, 0, call->in[0]);
    return TERN_OK;
}
