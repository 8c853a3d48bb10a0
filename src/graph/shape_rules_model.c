/* shape_rules_model.c - shapes of what transformers and image models are made of. */
#include "graph/rules.h"

#include <math.h>

/* Operand `i` has one entry for each row of `rows`. */
static tern_status need_one_per_row(const tern__call *call, int i, const tern__type *rows)
{
    const tern__type *x = call->in[i];
    TERN__RULE_FAIL_IF(x->rank != 1 || x->shape[0] != rows->shape[0], TERN_SHAPE,
                       "%s %s does not fit the rows of %s", TERN__OPERAND_NAME(i), TERN__SHAPE_TEXT(x),
                       TERN__SHAPE_TEXT(rows));
    return TERN_OK;
}

tern_status tern__rule_shape_rope(const tern__call *call)
{
    const tern__type *x = call->in[0];
    double theta = call->attrs[0].f;
    int64_t dims = call->attrs[1].i;
    TERN__RULE_FAIL_IF(x->rank != 3, TERN_SHAPE, "x %s must be [rows, heads, d]", TERN__SHAPE_TEXT(x));
    TERN_TRY(need_one_per_row(call, 1, x));
    TERN__RULE_FAIL_IF(!(theta > 0) || isinf(theta), TERN_INVALID_ARGUMENT,
                       "theta %g must be positive and finite", theta);
    TERN__RULE_FAIL_IF(dims < 0 || dims > x->shape[2], TERN_OUT_OF_RANGE,
                       "dims %" PRId64 " is outside 0..%" PRId64 ", the last axis of %s", dims, x->shape[2],
                       TERN__SHAPE_TEXT(x));
    dims = dims ? dims : x->shape[2];
    TERN__RULE_FAIL_IF(dims % 2 != 0, TERN_SHAPE, "dims %" PRId64 " must be even: they are rotated in pairs",
                       dims);
    tern__rule_copy_shape(call, 0, x);
    return TERN_OK;
}

/* Operand `i` has a last axis of 1 and for the rest the shape of `state`. */
static tern_status need_one_per_head(const tern__call *call, int i, const tern__type *state)
{
    const tern__type *x = call->in[i];
    tern__type wanted = *state;
    wanted.shape[3] = 1;
    TERN__RULE_FAIL_IF(!tern__shape_equal(x, &wanted), TERN_SHAPE, "%s %s does not fit k %s: it must be %s",
                       TERN__OPERAND_NAME(i), TERN__SHAPE_TEXT(x), TERN__SHAPE_TEXT(state),
                       TERN__SHAPE_TEXT(&wanted));
    return TERN_OK;
}

tern_status tern__rule_shape_attention(const tern__call *call)
{
    const tern__type *q = call->in[0], *k = call->in[1], *v = call->in[2];
    TERN__RULE_FAIL_IF(q->rank != 3, TERN_SHAPE, "q %s must be [rows, heads, d]", TERN__SHAPE_TEXT(q));
    TERN__RULE_FAIL_IF(k->rank != 4, TERN_SHAPE, "k %s must be [slots, capacity, kv_heads, d]",
                       TERN__SHAPE_TEXT(k));
    TERN__RULE_FAIL_IF(!tern__shape_equal(k, v), TERN_SHAPE, "k %s and v %s differ", TERN__SHAPE_TEXT(k),
                       TERN__SHAPE_TEXT(v));
    TERN__RULE_FAIL_IF(q->shape[2] != k->shape[3], TERN_SHAPE, "head sizes differ: q %s, k %s",
                       TERN__SHAPE_TEXT(q), TERN__SHAPE_TEXT(k));
    TERN__RULE_FAIL_IF(k->shape[2] == 0 || q->shape[1] % k->shape[2] != 0, TERN_SHAPE,
                       "%" PRId64 " heads of q cannot share %" PRId64 " heads of k evenly", q->shape[1],
                       k->shape[2]);
    TERN__RULE_FAIL_IF(!isfinite(call->attrs[0].f), TERN_INVALID_ARGUMENT, "scale %g must be finite",
                       call->attrs[0].f);
    TERN_TRY(need_one_per_row(call, 3, q));
    TERN_TRY(need_one_per_row(call, 4, q));
    TERN__RULE_FAIL_IF(call->n_in == 6, TERN_INVALID_ARGUMENT, "%s is missing: k and v are int8 both",
                       TERN__OPERAND_NAME(6));
    for (int i = 5; i < call->n_in; i++)
        TERN_TRY(need_one_per_head(call, i, k));
    tern__rule_copy_shape(call, 0, q);
    return TERN_OK;
}

/* The rows of a packed state are written whole: x has all of their columns. */
tern_status tern__rule_shape_overwrite(const tern__call *call)
{
    const tern__type *state = call->in[0], *x = call->in[1];
    tern__type *out = &call->out[0];
    TERN__RULE_FAIL_IF(!tern__shape_broadcast(state, x, out) || !tern__shape_equal(state, out), TERN_SHAPE,
                       "x %s does not broadcast to state %s", TERN__SHAPE_TEXT(x), TERN__SHAPE_TEXT(state));
    bool whole = state->rank == 0 || (x->rank > 0 && x->shape[x->rank - 1] == state->shape[state->rank - 1]);
    TERN__RULE_FAIL_IF(!whole && tern__dtype_is_packed(state->dtype), TERN_DTYPE,
                       "x %s does not have the whole rows of the %s state %s", TERN__SHAPE_TEXT(x),
                       tern_dtype_name(state->dtype), TERN__SHAPE_TEXT(state));
    return TERN_OK;
}

tern_status tern__rule_shape_write_slice(const tern__call *call)
{
    const tern__type *state = call->in[0], *x = call->in[1], *at = call->in[2];
    bool fits = x->rank == state->rank;
    for (int i = 0; fits && i < x->rank; i++)
        fits = x->shape[i] <= state->shape[i];
    TERN__RULE_FAIL_IF(!fits, TERN_SHAPE, "x %s does not fit into state %s", TERN__SHAPE_TEXT(x),
                       TERN__SHAPE_TEXT(state));
    TERN__RULE_FAIL_IF(at->rank != 1 || at->shape[0] != state->rank, TERN_SHAPE,
                       "at %s must have one entry for each axis of state %s", TERN__SHAPE_TEXT(at),
                       TERN__SHAPE_TEXT(state));
    tern__rule_copy_shape(call, 0, state);
    return TERN_OK;
}

/* state[slots, capacity, ...], x[rows, ...] */
tern_status tern__rule_shape_write_rows(const tern__call *call)
{
    const tern__type *state = call->in[0], *x = call->in[1];
    TERN__RULE_FAIL_IF(state->rank < 2, TERN_SHAPE, "state %s must be [slots, capacity, ...]",
                       TERN__SHAPE_TEXT(state));
    bool fits = x->rank == state->rank - 1;
    for (int i = 1; fits && i < x->rank; i++)
        fits = x->shape[i] == state->shape[i + 1];
    TERN__RULE_FAIL_IF(!fits, TERN_SHAPE, "the rows of x %s are not those of state %s", TERN__SHAPE_TEXT(x),
                       TERN__SHAPE_TEXT(state));
    TERN_TRY(need_one_per_row(call, 2, x));
    TERN_TRY(need_one_per_row(call, 3, x));
    tern__rule_copy_shape(call, 0, state);
    return TERN_OK;
}

/* ---- windows that slide over images -------------------------------------------------------------------- */

/* One direction of a window. `what`: "h" or "w". */
typedef struct window {
    const char *what;
    int64_t size, kernel, stride, pad, dilation;
} window;

/* How many places the window has: (size + 2 pad - dilation (kernel - 1) - 1) / stride + 1. */
static tern_status count_places(const tern__call *call, window w, int64_t *out)
{
    int64_t padded, reach;
    TERN__RULE_FAIL_IF(w.kernel < 1, TERN_INVALID_ARGUMENT, "kernel_%s %" PRId64 " must be at least 1",
                       w.what, w.kernel);
    TERN__RULE_FAIL_IF(w.stride < 1, TERN_INVALID_ARGUMENT, "stride_%s %" PRId64 " must be at least 1",
                       w.what, w.stride);
    TERN__RULE_FAIL_IF(w.dilation < 1, TERN_INVALID_ARGUMENT, "dilation_%s %" PRId64 " must be at least 1",
                       w.what, w.dilation);
    TERN__RULE_FAIL_IF(w.pad < 0, TERN_INVALID_ARGUMENT, "pad_%s %" PRId64 " is negative", w.what, w.pad);
    TERN__RULE_FAIL_IF(!tern__i64_add(w.pad, w.pad, &padded) || !tern__i64_add(padded, w.size, &padded) ||
                           !tern__i64_mul(w.kernel - 1, w.dilation, &reach),
                       TERN_OVERFLOW, "the window along %s is too large", w.what);
    TERN__RULE_FAIL_IF(reach >= padded, TERN_SHAPE,
                       "kernel_%s %" PRId64 " with dilation %" PRId64
                       " does not fit a padded size of %" PRId64,
                       w.what, w.kernel, w.dilation, padded);
    *out = (padded - reach - 1) / w.stride + 1;
    return TERN_OK;
}

/* Where an image tensor has its channels, rows and columns. */
typedef struct image_axes {
    int c, h, w;
} image_axes;

static image_axes axes_of_image(bool nhwc)
{
    return nhwc ? (image_axes){3, 1, 2} : (image_axes){1, 2, 3};
}

static tern_status need_image(const tern__call *call, bool nhwc)
{
    TERN__RULE_FAIL_IF(call->in[0]->rank != 4, TERN_SHAPE, "x %s must be %s", TERN__SHAPE_TEXT(call->in[0]),
                       nhwc ? "[n, h, w, c]" : "[n, c, h, w]");
    return TERN_OK;
}

enum conv2d_attr {
    CONV_STRIDE_H,
    CONV_STRIDE_W,
    CONV_PAD_H,
    CONV_PAD_W,
    CONV_DILATION_H,
    CONV_DILATION_W,
    CONV_GROUPS,
    CONV_NHWC
};

tern_status tern__rule_shape_conv2d(const tern__call *call)
{
    const tern__type *x = call->in[0], *weight = call->in[1];
    const tern__attr *attrs = call->attrs;
    int64_t groups = attrs[CONV_GROUPS].i;
    image_axes at = axes_of_image(attrs[CONV_NHWC].i);
    tern__type *out = &call->out[0];

    TERN_TRY(need_image(call, attrs[CONV_NHWC].i));
    TERN__RULE_FAIL_IF(weight->rank != 4, TERN_SHAPE, "weight %s must be [out, c / groups, kh, kw]",
                       TERN__SHAPE_TEXT(weight));
    TERN__RULE_FAIL_IF(groups < 1 || x->shape[at.c] % groups != 0 || weight->shape[0] % groups != 0,
                       TERN_SHAPE, "%" PRId64 " groups do not divide the channels of x %s and weight %s",
                       groups, TERN__SHAPE_TEXT(x), TERN__SHAPE_TEXT(weight));
    TERN__RULE_FAIL_IF(weight->shape[1] != x->shape[at.c] / groups, TERN_SHAPE,
                       "weight %s does not fit the %" PRId64 " channels of x %s in %" PRId64 " groups",
                       TERN__SHAPE_TEXT(weight), x->shape[at.c], TERN__SHAPE_TEXT(x), groups);
    if (call->n_in > 2)
        TERN__RULE_FAIL_IF(call->in[2]->rank != 1 || call->in[2]->shape[0] != weight->shape[0], TERN_SHAPE,
                           "bias %s does not fit weight %s", TERN__SHAPE_TEXT(call->in[2]),
                           TERN__SHAPE_TEXT(weight));

    window h = {"h",
                x->shape[at.h],
                weight->shape[2],
                attrs[CONV_STRIDE_H].i,
                attrs[CONV_PAD_H].i,
                attrs[CONV_DILATION_H].i};
    window w = {"w",
                x->shape[at.w],
                weight->shape[3],
                attrs[CONV_STRIDE_W].i,
                attrs[CONV_PAD_W].i,
                attrs[CONV_DILATION_W].i};
    out->rank = 4;
    out->shape[0] = x->shape[0];
    out->shape[at.c] = weight->shape[0];
    TERN_TRY(count_places(call, h, &out->shape[at.h]));
    return count_places(call, w, &out->shape[at.w]);
}

enum pool2d_attr {
    POOL_KERNEL_H,
    POOL_KERNEL_W,
    POOL_STRIDE_H,
    POOL_STRIDE_W,
    POOL_PAD_H,
    POOL_PAD_W,
    POOL_NHWC
};

/* Every window has to see the image: half of it may be padding, not more, and the image may not be empty. */
static tern_status count_pool_places(const tern__call *call, window w, int64_t *out)
{
    TERN_TRY(count_places(call, w, out));
    TERN__RULE_FAIL_IF(w.pad > w.kernel / 2, TERN_INVALID_ARGUMENT,
                       "pad_%s %" PRId64 " is more than half of kernel_%s %" PRId64, w.what, w.pad, w.what,
                       w.kernel);
    TERN__RULE_FAIL_IF(w.size == 0, TERN_SHAPE, "x %s has no pixels", TERN__SHAPE_TEXT(call->in[0]));
    return TERN_OK;
}

tern_status tern__rule_shape_pool2d(const tern__call *call)
{
    const tern__type *x = call->in[0];
    const tern__attr *attrs = call->attrs;
    image_axes at = axes_of_image(attrs[POOL_NHWC].i);
    TERN_TRY(need_image(call, attrs[POOL_NHWC].i));
    window h = {"h", x->shape[at.h], attrs[POOL_KERNEL_H].i, attrs[POOL_STRIDE_H].i, attrs[POOL_PAD_H].i, 1};
    window w = {"w", x->shape[at.w], attrs[POOL_KERNEL_W].i, attrs[POOL_STRIDE_W].i, attrs[POOL_PAD_W].i, 1};
    tern__rule_copy_shape(call, 0, x);
    TERN_TRY(count_pool_places(call, h, &call->out[0].shape[at.h]));
    return count_pool_places(call, w, &call->out[0].shape[at.w]);
}
