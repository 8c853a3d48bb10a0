/* shape_rules.c - shapes of sources, of elementwise ops and of views. The other shape rules are in
 * shape_rules_axes.c (reductions, sorting), shape_rules_move.c, shape_rules_product.c and
 * shape_rules_model.c. */
#include "graph/rules.h"

#include <math.h>
#include <string.h>

tern_status tern__rule_axis(const tern__call *call, int64_t axis, int *out)
{
    const tern__type *x = call->in[0];
    TERN__RULE_FAIL_IF(!tern__axis_normalise(axis, x->rank, out), TERN_OUT_OF_RANGE,
                       "axis %" PRId64 " is outside the rank %d of %s", axis, x->rank, TERN__SHAPE_TEXT(x));
    return TERN_OK;
}

/* ---- sources ------------------------------------------------------------------------------------------- */

/* Sizes are checked with the whole type, after this. */
static tern_status set_shape(const tern__call *call, const tern__attr *shape)
{
    TERN__RULE_FAIL_IF(shape->count > TERN__MAX_RANK, TERN_SHAPE, "rank %u is above the limit of %d",
                       shape->count, TERN__MAX_RANK);
    call->out[0].rank = (int)shape->count;
    for (uint32_t i = 0; i < shape->count; i++)
        call->out[0].shape[i] = shape->ints[i];
    return TERN_OK;
}

tern_status tern__rule_shape_attr_shape(const tern__call *call)
{
    return set_shape(call, tern__attr_of_kind(call, TERN__ATTR_INTS));
}

tern_status tern__rule_shape_arange(const tern__call *call)
{
    double start = call->attrs[1].f, stop = call->attrs[2].f, step = call->attrs[3].f;
    TERN__RULE_FAIL_IF(!isfinite(start) || !isfinite(stop) || !isfinite(step), TERN_INVALID_ARGUMENT,
                       "start %g, stop %g and step %g must be finite", start, stop, step);
    TERN__RULE_FAIL_IF(step == 0, TERN_INVALID_ARGUMENT, "%s", "step is 0");
    double count = ceil((stop - start) / step);
    TERN__RULE_FAIL_IF(count >= 0x1p62, TERN_OVERFLOW, "%g elements from %g to %g by %g are too many", count,
                       start, stop, step);
    call->out[0].rank = 1;
    call->out[0].shape[0] = count > 0 ? (int64_t)count : 0;
    return TERN_OK;
}

tern_status tern__rule_shape_eye(const tern__call *call)
{
    call->out[0].rank = 2;
    call->out[0].shape[0] = call->attrs[1].i;
    call->out[0].shape[1] = call->attrs[2].i;
    return TERN_OK;
}

/* ---- elementwise --------------------------------------------------------------------------------------- */

tern_status tern__rule_shape_same(const tern__call *call)
{
    tern__rule_copy_shape(call, 0, call->in[0]);
    return TERN_OK;
}

tern_status tern__rule_shape_clamp(const tern__call *call)
{
    double low = call->attrs[0].f, high = call->attrs[1].f;
    TERN__RULE_FAIL_IF(isnan(low) || isnan(high), TERN_INVALID_ARGUMENT,
                       "the bounds %g and %g must not be NaN", low, high);
    return tern__rule_shape_same(call);
}

/* tern__shape_equal, inline. */
static inline bool same_shape(const tern__type *a, const tern__type *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static tern_status refuse_broadcast(const tern__call *call)
{
    if (call->n_in == 2)
        return TERN__RULE_FAIL(TERN_SHAPE, "shapes %s and %s do not broadcast", TERN__SHAPE_TEXT(call->in[0]),
                               TERN__SHAPE_TEXT(call->in[1]));
    return TERN__RULE_FAIL(TERN_SHAPE, "shapes %s, %s and %s do not broadcast", TERN__SHAPE_TEXT(call->in[0]),
                           TERN__SHAPE_TEXT(call->in[1]), TERN__SHAPE_TEXT(call->in[2]));
}

tern_status tern__rule_shape_broadcast(const tern__call *call)
{
    tern__rule_copy_shape(call, 0, call->in[0]);
    for (int i = 1; i < call->n_in; i++) {
        /* Equal shapes, the usual case, are worth a look: recording the smallest ops comes by here. */
        if (TERN__UNLIKELY(!same_shape(call->in[i], &call->out[0])) &&
            !tern__shape_broadcast(&call->out[0], call->in[i], &call->out[0]))
            return refuse_broadcast(call);
    }
    return TERN_OK;
}

/* ---- views --------------------------------------------------------------------------------------------- */

/* Rows of packed types are padded to units: they cannot be cut, joined or stepped through. */
static tern_status keep_packed_row(const tern__call *call, bool kept)
{
    TERN__RULE_FAIL_IF(!kept && tern__dtype_is_packed(call->in[0]->dtype), TERN_DTYPE,
                       "the last axis of %s%s must stay as it is: cast it to %s first",
                       tern_dtype_name(call->in[0]->dtype), TERN__SHAPE_TEXT(call->in[0]),
                       tern__dtype_is_block(call->in[0]->dtype) ? "f32" : "i8");
    return TERN_OK;
}

static int64_t last_size(const tern__type *type)
{
    return type->rank > 0 ? type->shape[type->rank - 1] : 1;
}

static tern_status refuse_reshape(const tern__call *call)
{
    return TERN__RULE_FAIL(TERN_SHAPE, "%s has %" PRId64 " elements and does not fit %s",
                           TERN__SHAPE_TEXT(call->in[0]), tern__type_numel(call->in[0]),
                           TERN__SHAPE_TEXT(&call->out[0]));
}

tern_status tern__rule_shape_reshape(const tern__call *call)
{
    int64_t elements = tern__type_numel(call->in[0]), known = 1;
    int open = -1; /* the axis whose size is -1 */
    tern__type *out = &call->out[0];
    TERN_TRY(set_shape(call, &call->attrs[0]));
    for (int i = 0; i < out->rank; i++) {
        if (out->shape[i] == -1) {
            TERN__RULE_FAIL_IF(open >= 0, TERN_SHAPE, "%s has more than one size of -1",
                               TERN__SHAPE_TEXT(out));
            open = i;
        } else {
            TERN__RULE_FAIL_IF(out->shape[i] < 0, TERN_SHAPE, "%s has a negative size",
                               TERN__SHAPE_TEXT(out));
            TERN__RULE_FAIL_IF(!tern__i64_mul(known, out->shape[i], &known), TERN_OVERFLOW, "%s is too large",
                               TERN__SHAPE_TEXT(out));
        }
    }
    if (open >= 0) {
        if (known == 0 || elements % known != 0)
            return refuse_reshape(call);
        out->shape[open] = elements / known;
    } else if (known != elements) {
        return refuse_reshape(call);
    }
    return keep_packed_row(call, last_size(call->in[0]) == last_size(out));
}

tern_status tern__rule_shape_permute(const tern__call *call)
{
    const tern__type *x = call->in[0];
    const tern__attr *axes = &call->attrs[0];
    unsigned seen = 0;
    TERN__RULE_FAIL_IF(axes->count != (uint32_t)x->rank, TERN_SHAPE, "%u axes were given for %s", axes->count,
                       TERN__SHAPE_TEXT(x));
    call->out[0].rank = x->rank;
    for (int i = 0; i < x->rank; i++) {
        int axis;
        TERN_TRY(tern__rule_axis(call, axes->ints[i], &axis));
        TERN__RULE_FAIL_IF(seen & 1u << axis, TERN_INVALID_ARGUMENT, "axis %d is named twice", axis);
        seen |= 1u << axis;
        call->out[0].shape[i] = x->shape[axis];
        if (i == x->rank - 1)
            TERN_TRY(keep_packed_row(call, axis == i));
    }
    return TERN_OK;
}

tern_status tern__rule_shape_slice(const tern__call *call)
{
    const tern__type *x = call->in[0];
    const tern__attr *start = &call->attrs[0], *stop = &call->attrs[1], *step = &call->attrs[2];
    TERN__RULE_FAIL_IF(start->count != (uint32_t)x->rank, TERN_SHAPE, "%u ranges were given for %s",
                       start->count, TERN__SHAPE_TEXT(x));
    call->out[0].rank = x->rank;
    for (int i = 0; i < x->rank; i++) {
        int64_t first, count;
        TERN__RULE_FAIL_IF(step->ints[i] == 0, TERN_INVALID_ARGUMENT, "the step of axis %d is 0", i);
        tern__slice_resolve(x->shape[i], start->ints[i], stop->ints[i], step->ints[i], &first, &count);
        call->out[0].shape[i] = count;
        if (i == x->rank - 1)
            TERN_TRY(keep_packed_row(call, count == x->shape[i] && step->ints[i] == 1));
    }
    return TERN_OK;
}

tern_status tern__rule_shape_broadcast_to(const tern__call *call)
{
    const tern__type *x = call->in[0];
    tern__type *out = &call->out[0];
    TERN_TRY(set_shape(call, &call->attrs[0]));
    int lead = out->rank - x->rank;
    bool fits = lead >= 0;
    for (int i = 0; fits && i < x->rank; i++)
        fits = x->shape[i] == out->shape[i + lead] || x->shape[i] == 1;
    TERN__RULE_FAIL_IF(!fits, TERN_SHAPE, "%s does not broadcast to %s", TERN__SHAPE_TEXT(x),
                       TERN__SHAPE_TEXT(out));
    return keep_packed_row(call, x->rank > 0 ? last_size(x) == last_size(out) : out->rank == 0);
}

tern_status tern__rule_shape_to_device(const tern__call *call)
{
    TERN__RULE_FAIL_IF(strcmp(call->attrs[0].text, "cpu") != 0, TERN_NOT_FOUND,
                       "unknown device '%.32s': the devices are: cpu", call->attrs[0].text);
    return tern__rule_shape_same(call);
}
