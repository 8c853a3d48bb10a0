/* shape_rules_product.c - shapes of matrix products and of quantisation. */
#include "graph/rules.h"

static bool transposed(const tern__call *call, int i)
{
    return call->attrs[i].i != 0;
}

static tern_status refuse_matmul(const tern__call *call, const char *what)
{
    static const char *const NOTES[] = {"", " (a transposed)", " (b transposed)", " (both transposed)"};
    return TERN__RULE_FAIL(TERN_SHAPE, "%s: %s x %s%s", what, TERN__SHAPE_TEXT(call->in[0]),
                           TERN__SHAPE_TEXT(call->in[1]),
                           NOTES[transposed(call, 0) + 2 * transposed(call, 1)]);
}

/* A matrix operand's rows and columns after transposition. A vector is a row as `a`, a column as `b`. */
static void matrix_sizes(const tern__call *call, int i, int64_t *rows, int64_t *columns)
{
    const tern__type *x = call->in[i];
    int64_t last = x->shape[x->rank - 1], before = x->rank > 1 ? x->shape[x->rank - 2] : 1;
    bool swap = x->rank > 1 ? transposed(call, i) : i == 1;
    *rows = swap ? last : before;
    *columns = swap ? before : last;
}

/* The axes before the last two; none for a vector. */
static tern__type leading(const tern__type *x)
{
    tern__type lead = *x;
    lead.rank = x->rank > 2 ? x->rank - 2 : 0;
    return lead;
}

tern_status tern__rule_shape_matmul(const tern__call *call)
{
    const tern__type *a = call->in[0], *b = call->in[1];
    tern__type *out = &call->out[0];
    int64_t m, k, k_too, n;
    if (a->rank == 0 || b->rank == 0)
        return refuse_matmul(call, "operands need at least one axis");
    if ((a->rank == 1 && transposed(call, 0)) || (b->rank == 1 && transposed(call, 1)))
        return refuse_matmul(call, "a vector cannot be transposed");
    matrix_sizes(call, 0, &m, &k);
    matrix_sizes(call, 1, &k_too, &n);
    if (k != k_too)
        return refuse_matmul(call, "inner sizes differ");
    tern__type a_lead = leading(a), b_lead = leading(b);
    if (!tern__shape_broadcast(&a_lead, &b_lead, out))
        return refuse_matmul(call, "leading axes do not broadcast");
    if (a->rank > 1)
        out->shape[out->rank++] = m;
    if (b->rank > 1)
        out->shape[out->rank++] = n;
    return TERN_OK;
}

tern_status tern__rule_check_block_scales(const tern__call *call, int64_t n)
{
    if (call->n_in < 3)
        return TERN_OK;
    const tern__type *x = call->in[0], *scales = call->in[2];
    const int64_t k = x->shape[x->rank - 1];
    const bool fits = scales->rank == 2 && scales->shape[0] == n && scales->shape[1] > 0;
    TERN__RULE_FAIL_IF(!fits || (scales->shape[1] > 1 && (k % 4 != 0 || k / 4 % scales->shape[1] != 0)),
                       TERN_SHAPE,
                       "scales %s must be [%" PRId64
                       ", blocks], with one block or blocks of a multiple of 4 of the %" PRId64 " columns",
                       TERN__SHAPE_TEXT(scales), n, k);
    return TERN_OK;
}

tern_status tern__rule_check_exact_sums(const tern__call *call, int64_t largest)
{
    const tern__type *x = call->in[0];
    const int64_t most = INT32_MAX / largest;
    TERN__RULE_FAIL_IF(x->shape[x->rank - 1] > most, TERN_SHAPE,
                       "x %s has too many columns: sums of more than %" PRId64
                       " products need not fit i32; split them and add the parts as f32",
                       TERN__SHAPE_TEXT(x), most);
    return TERN_OK;
}

/* x[..., k], weight[n, k]: y[..., n] */
static tern_status shape_by_rows(const tern__call *call)
{
    const tern__type *x = call->in[0], *weight = call->in[1];
    TERN__RULE_FAIL_IF(x->rank == 0, TERN_SHAPE, "%s", "x needs at least one axis");
    TERN__RULE_FAIL_IF(weight->rank != 2, TERN_SHAPE, "weight %s must be a matrix [n, k]",
                       TERN__SHAPE_TEXT(weight));
    TERN__RULE_FAIL_IF(x->shape[x->rank - 1] != weight->shape[1], TERN_SHAPE,
                       "inner sizes differ: %s x %s transposed", TERN__SHAPE_TEXT(x),
                       TERN__SHAPE_TEXT(weight));
    TERN_TRY(tern__rule_check_block_scales(call, weight->shape[0]));
    tern__rule_copy_shape(call, 0, x);
    call->out[0].shape[x->rank - 1] = weight->shape[0];
    return TERN_OK;
}

tern_status tern__rule_shape_ternary_matmul(const tern__call *call)
{
    TERN_TRY(shape_by_rows(call));
    return tern__rule_check_exact_sums(call, TERN__LARGEST_I8_BY_TERNARY);
}

tern_status tern__rule_shape_linear(const tern__call *call)
{
    TERN_TRY(shape_by_rows(call));
    return call->in[1]->dtype == TERN_I8 ? tern__rule_check_exact_sums(call, TERN__LARGEST_I8_BY_I8)
                                         : TERN_OK;
}

tern_status tern__rule_shape_quantise_rows(const tern__call *call)
{
    const tern__type *x = call->in[0];
    TERN__RULE_FAIL_IF(x->rank == 0, TERN_SHAPE, "%s", "x needs at least one axis");
    tern__rule_copy_shape(call, 0, x);
    tern__rule_copy_shape(call, 1, x);
    call->out[1].shape[x->rank - 1] = 1;
    return TERN_OK;
}

tern_status tern__rule_shape_quantise_tensor(const tern__call *call)
{
    tern__rule_copy_shape(call, 0, call->in[0]);
    call->out[1].rank = 0;
    return TERN_OK;
}

/* The scale broadcasts to the operand, never the other way. */
tern_status tern__rule_shape_quantise_given(const tern__call *call)
{
    const tern__type *x = call->in[0], *scale = call->in[1];
    TERN__RULE_FAIL_IF(
        !tern__shape_broadcast(x, scale, &call->out[0]) || !tern__shape_equal(x, &call->out[0]), TERN_SHAPE,
        "scale %s does not broadcast to %s", TERN__SHAPE_TEXT(scale), TERN__SHAPE_TEXT(x));
    return TERN_OK;
}

static tern_status need_one_scale(const tern__call *call)
{
    TERN__RULE_FAIL_IF(call->n_in > 1 && call->in[1]->rank != 0, TERN_SHAPE, "scale %s must have rank 0",
                       TERN__SHAPE_TEXT(call->in[1]));
    return TERN_OK;
}

tern_status tern__rule_shape_ternary_quantise(const tern__call *call)
{
    TERN_TRY(need_one_scale(call));
    return tern__rule_shape_quantise_tensor(call);
}

tern_status tern__rule_shape_ternary_dequantise(const tern__call *call)
{
    TERN_TRY(need_one_scale(call));
    tern__rule_copy_shape(call, 0, call->in[0]);
    return TERN_OK;
}
