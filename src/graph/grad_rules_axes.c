/* grad_rules_axes.c - gradients of reductions, and of what goes along an axis: running sums, softmax, norms, sorting. */
#include <math.h>

#include "base/status.h"
#include "graph/grad.h"
#include "graph/rules.h"

/* ---- reductions: `axes` and `keepdims` stand first in all of them ------------------------------------------------------ */

enum { AXES, KEEPDIMS };

static bool is_reduced(const tern_tensor *x, const tern__attr *axes, int axis)
{
    for (uint32_t i = 0; i < axes->count; i++) {
        int at;
        if (tern__axis_normalise(axes->ints[i], x->type.rank, &at) && at == axis)
            return true;
    }
    return axes->count == 0;
}

/* Gives the reduced axes of `t` back as axes of size 1, if `keepdims` did not keep them. */
static tern_tensor *unreduce(tern_tensor *t, const tern_tensor *x, const tern__attr *axes, bool keepdims)
{
    int64_t shape[TERN__MAX_RANK];
    if (keepdims)
        return t;
    for (int i = 0; i < x->type.rank; i++)
        shape[i] = is_reduced(x, axes, i) ? 1 : x->type.shape[i];
    return tern_reshape(t, x->type.rank, shape);
}

/* How many elements of x go into one. */
static int64_t reduced(const tern_tensor *x, const tern__attr *axes)
{
    int64_t n = 1;
    for (int i = 0; i < x->type.rank; i++)
        n *= is_reduced(x, axes, i) ? x->type.shape[i] : 1;
    return n;
}

/* `t`, a result or its gradient, with the axes of x. */
static tern_tensor *spread(const struct tern__grad_call *g, tern_tensor *t)
{
    return unreduce(t, X, &g->attrs[AXES], g->attrs[KEEPDIMS].i != 0);
}

/* The same reduction's axes over another tensor of x's shape, all kept. */
static tern_tensor *sum_like(const struct tern__grad_call *g, tern_tensor *t)
{
    return tern_sum(t, (int)g->attrs[AXES].count, g->attrs[AXES].ints, true);
}

RULE(sum)
{
    g->of_in[0] = spread(g, GRAD);
    return TERN_OK;
}

RULE(mean)
{
    tern__grad_widen(g);
    g->of_in[0] = spread(g, tern__grad_times(GRAD, 1.0 / (double)reduced(X, &g->attrs[AXES])));
    return TERN_OK;
}

RULE(var)
{
    tern__grad_widen(g);
    const double n = (double)reduced(X, &g->attrs[AXES]);
    tern_tensor *mean = tern_mean(X, (int)g->attrs[AXES].count, g->attrs[AXES].ints, true);
    tern_tensor *slope =
        tern__grad_times(tern_sub(X, mean), 2 / (n - (double)g->attrs[TERN__ATTR_var_ddof].i));
    g->of_in[0] = tern_mul(spread(g, GRAD), slope);
    return TERN_OK;
}

/* The product of the others: y / x where no factor is 0; where one is, it alone has a gradient, the product of the rest. */
RULE(prod)
{
    tern__grad_widen(g);
    tern_tensor *one = tern__grad_number(X, 1), *zero = tern__grad_number(X, 0);
    tern_tensor *is_zero = tern_eq(X, zero), *rest = tern_where(is_zero, one, X);
    tern_tensor *zeros = sum_like(g, tern_cast(is_zero, tern_dtype_of(one)));
    tern_tensor *product = tern_prod(rest, (int)g->attrs[AXES].count, g->attrs[AXES].ints, true);
    tern_tensor *alone = tern_where(tern_logical_and(is_zero, tern_eq(zeros, one)), product, zero);
    tern_tensor *slope = tern_where(tern_eq(zeros, zero), tern_div(product, rest), alone);
    g->of_in[0] = tern_mul(spread(g, GRAD), slope);
    return TERN_OK;
}

/* Shared evenly among equals. */
RULE(reduced_extremum)
{
    tern__grad_widen(g);
    tern_tensor *chosen = tern_cast(tern_eq(X, spread(g, Y)), tern_dtype_of(GRAD));
    g->of_in[0] = tern_div(tern_mul(chosen, spread(g, GRAD)), sum_like(g, chosen));
    return TERN_OK;
}

/* Where all are -infinity, so is y, and nothing has a share in it. */
RULE(logsumexp)
{
    tern__grad_widen(g);
    tern_tensor *none = tern_eq(Y, tern__grad_number(Y, -(double)INFINITY));
    tern_tensor *y = tern_where(none, tern__grad_number(Y, 0), Y);
    g->of_in[0] = tern_mul(spread(g, GRAD), tern_exp(tern_sub(X, spread(g, y))));
    return TERN_OK;
}

/* ---- along an axis ----------------------------------------------------------------------------------------------------- */

RULE(cumsum)
{
    const int64_t axis = g->attrs[TERN__ATTR_cumsum_axis].i;
    g->of_in[0] = tern_flip(tern_cumsum(tern_flip(GRAD, 1, &axis), axis), 1, &axis);
    return TERN_OK;
}

RULE(softmax)
{
    tern__grad_widen(g);
    const int64_t axis = g->attrs[TERN__ATTR_softmax_axis].i;
    g->of_in[0] = tern_mul(Y, tern_sub(GRAD, tern_sum(tern_mul(GRAD, Y), 1, &axis, true)));
    return TERN_OK;
}

RULE(log_softmax)
{
    tern__grad_widen(g);
    const int64_t axis = g->attrs[TERN__ATTR_log_softmax_axis].i;
    g->of_in[0] = tern_sub(GRAD, tern_mul(tern_exp(Y), tern_sum(GRAD, 1, &axis, true)));
    return TERN_OK;
}

/* ---- norms over the last axis ------------------------------------------------------------------------------------------ */

static const int64_t LAST = -1;

static tern_tensor *mean_of(tern_tensor *x)
{
    return tern_mean(x, 1, &LAST, true);
}

/* Of y = u * weight, where u is x normalised and r = 1 / its length: r * (gu - u * mean(gu * u)), less the mean of gu where the
 * mean was taken out of x. */
static void norm(struct tern__grad_call *g, tern_tensor *u, tern_tensor *r, bool centred)
{
    tern_tensor *weight = g->n_in > 1 ? g->in[1] : NULL;
    tern_tensor *gu = weight ? tern_mul(GRAD, weight) : GRAD;
    if (g->wanted[0]) {
        tern_tensor *slope = tern_sub(gu, tern_mul(u, mean_of(tern_mul(gu, u))));
        g->of_in[0] = tern_mul(r, centred ? tern_sub(slope, mean_of(gu)) : slope);
    }
    if (weight && g->wanted[1])
        g->of_in[1] = tern_mul(GRAD, u);
}

RULE(rmsnorm)
{
    tern__grad_widen(g);
    tern_tensor *eps = tern__grad_number(X, g->attrs[TERN__ATTR_rmsnorm_eps].f);
    tern_tensor *r = tern_rsqrt(tern_add(mean_of(tern_square(X)), eps));
    norm(g, tern_mul(X, r), r, false);
    return TERN_OK;
}

RULE(layernorm)
{
    tern__grad_widen(g);
    tern_tensor *eps = tern__grad_number(X, g->attrs[TERN__ATTR_layernorm_eps].f);
    tern_tensor *centred = tern_sub(X, mean_of(X));
    tern_tensor *r = tern_rsqrt(tern_add(mean_of(tern_square(centred)), eps));
    norm(g, tern_mul(centred, r), r, true);
    if (g->n_in > 2 && g->wanted[2])
        g->of_in[2] = GRAD;
    return TERN_OK;
}

/* ---- sorting ------------------------------------------------------------------------------------------------------------- */

/* Values have gradients, indices have none: what came from a place goes back there. */
static void put_back(struct tern__grad_call *g, int64_t axis)
{
    int at = 0;
    if (!GRAD || !tern__axis_normalise(axis, X->type.rank, &at))
        return;
    /* one row for every lane: flat places are lane * length + index */
    const int rank = X->type.rank;
    const int64_t length = X->type.shape[at], kept = Y->type.shape[at];
    const int64_t lanes = kept ? tern_numel(Y) / kept : 0;
    tern_tensor *indices = tern_cast(tern_transpose(g->out[1], at, rank - 1), TERN_I64);
    tern_tensor *values = tern_transpose(GRAD, at, rank - 1), *zero = tern_full(g->ctx, TERN_I64, 0, NULL, 0);
    indices = tern_where(tern_lt(indices, zero),
                         tern_add(indices, tern_full(g->ctx, TERN_I64, 0, NULL, (double)length)), indices);
    const int64_t matrix[] = {lanes, kept}, column[] = {lanes, 1}, all = lanes * kept, room = lanes * length;
    tern_tensor *starts =
        tern_reshape(tern_arange(g->ctx, TERN_I64, 0, (double)room, (double)length), 2, column);
    tern_tensor *places = tern_reshape(tern_add(tern_reshape(indices, 2, matrix), starts), 1, &all);
    tern_tensor *zeros = tern_full(g->ctx, tern_dtype_of(GRAD), 1, &room, 0);
    tern_tensor *flat = tern_scatter_add(zeros, places, tern_reshape(values, 1, &all));
    int64_t shape[TERN__MAX_RANK];
    for (int i = 0; i < rank; i++)
        shape[i] = X->type.shape[i == at ? rank - 1 : i == rank - 1 ? at : i];
    g->of_in[0] = tern_transpose(tern_reshape(flat, rank, shape), at, rank - 1);
}

RULE(sort)
{
    put_back(g, g->attrs[TERN__ATTR_sort_axis].i);
    return TERN_OK;
}

RULE(topk)
{
    put_back(g, g->attrs[TERN__ATTR_topk_axis].i);
    return TERN_OK;
}

/* take_along picks as sort does, by indices that are given. */
RULE(take_along)
{
    tern__grad_widen(g);
    struct tern__grad_call picked = *g;
    tern_tensor *out[] = {Y, g->in[1]};
    picked.out = out;
    put_back(&picked, g->attrs[TERN__ATTR_take_along_axis].i);
    return TERN_OK;
}
