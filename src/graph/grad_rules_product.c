/* grad_rules_product.c - gradients of products, of quantisation (straight-through) and of rotations. */
#include "base/status.h"
#include "graph/grad.h"
#include "graph/rules.h"

/* ---- matmul ------------------------------------------------------------------------------------------------------- */

/* How many matrices lie in the axes before the last `own`. */
static int64_t matrices(const tern_tensor *t, int own)
{
    int64_t n = 1;
    for (int i = 0; i < t->type.rank - own; i++)
        n *= t->type.shape[i];
    return n;
}

/* Is one matrix of an operand multiplied with several of the other? Its gradient is then a sum of products. */
static bool repeats(const struct tern__grad_call *g)
{
    const tern_tensor *a = g->in[0], *b = g->in[1];
    const int64_t n = matrices(Y, (a->type.rank > 1) + (b->type.rank > 1));
    return matrices(a, 2) != n || matrices(b, 2) != n;
}

/* y = op(a) op(b). A vector is a matrix with one row (a) or one column (b) whose axis y has not. Products add up in f32 by themselves. */
RULE(matmul)
{
    if (repeats(g))
        tern__grad_widen(g);
    const bool ta = g->attrs[TERN__ATTR_matmul_transpose_a].i != 0,
               tb = g->attrs[TERN__ATTR_matmul_transpose_b].i != 0;
    tern_tensor *a = g->in[0], *b = g->in[1], *d = GRAD;
    const bool row = a->type.rank == 1, column = b->type.rank == 1;
    if (column)
        d = tern_unsqueeze(d, -1), b = tern_unsqueeze(b, tb ? 0 : 1);
    if (row)
        d = tern_unsqueeze(d, -2), a = tern_unsqueeze(a, ta ? 1 : 0);
    if (g->wanted[0]) {
        tern_tensor *of_a = ta ? tern_matmul(b, d, tb, true) : tern_matmul(d, b, false, !tb);
        g->of_in[0] = row ? tern_squeeze(of_a, ta ? -1 : -2) : of_a;
    }
    if (g->wanted[1]) {
        tern_tensor *of_b = tb ? tern_matmul(d, a, true, ta) : tern_matmul(a, d, !ta, false);
        g->of_in[1] = column ? tern_squeeze(of_b, tb ? -2 : -1) : of_b;
    }
    return TERN_OK;
}

/* All axes but the last as one. */
static tern_tensor *as_matrix(tern_tensor *x)
{
    const int64_t columns = tern_rank(x) ? tern_dim(x, -1) : 1,
                  shape[] = {columns ? tern_numel(x) / columns : 0, columns};
    return tern_rank(x) == 2 ? x : tern_reshape(x, 2, shape);
}

/* y = x W^T, W being rows: dx = dy W, dW = dy^T x over all rows of x. */
static void linear_in_floats(struct tern__grad_call *g, tern_tensor *x, tern_tensor *weight)
{
    if (g->wanted[0])
        g->of_in[0] = tern_matmul(GRAD, weight, false, false);
    if (g->wanted[1])
        g->of_in[1] = tern_matmul(as_matrix(GRAD), as_matrix(x), true, false);
}

RULE(linear)
{
    linear_in_floats(g, tern__grad_float(X), tern_cast(g->in[1], TERN_F32));
    return TERN_OK;
}

/* With scales the blocks' sums count by them: the weight is then what it stands for. */
RULE(ternary_matmul)
{
    tern_tensor *one = tern_full(g->ctx, TERN_F32, 0, NULL, 1),
                *codes = tern_ternary_dequantise(g->in[1], one);
    if (g->n_in > 2) {
        const int64_t n = codes->type.shape[0], k = codes->type.shape[1], blocks = g->in[2]->type.shape[1];
        const int64_t apart[] = {n, blocks, blocks ? k / blocks : 0}, together[] = {n, k};
        tern_tensor *scaled = tern_mul(tern_reshape(codes, 3, apart), tern_unsqueeze(g->in[2], -1));
        codes = tern_reshape(scaled, 2, together);
    }
    TERN__FAIL_IF(g->n_in > 2 && (g->wanted[1] || g->wanted[2]), TERN_UNSUPPORTED,
                  "grad: ternary_matmul has no gradient for weights with scales of blocks");
    linear_in_floats(g, tern_cast(X, TERN_F32), codes);
    return TERN_OK;
}

/* ---- quantisation: as if nothing were rounded; scales are constants --------------------------------------------------- */

/* q = x * s */
RULE(quantise)
{
    g->of_in[0] = tern_mul(GRAD, g->in[1]);
    return TERN_OK;
}

RULE(quantise_by_itself)
{
    if (GRAD)
        g->of_in[0] = tern_mul(GRAD, g->out[1]);
    return TERN_OK;
}

/* y = q / s */
RULE(dequantise)
{
    if (g->wanted[0])
        g->of_in[0] = tern_div(GRAD, g->in[1]);
    return TERN_OK;
}

/* t = x / s */
RULE(ternary_quantise)
{
    if (GRAD)
        g->of_in[0] = tern_div(GRAD, g->out[1]);
    return TERN_OK;
}

/* y = t * s */
RULE(ternary_dequantise)
{
    if (g->wanted[0])
        g->of_in[0] = tern_mul(GRAD, g->in[1]);
    return TERN_OK;
}

/* ---- rotation: back by the same angles -------------------------------------------------------------------------------- */

RULE(rope)
{
    g->of_in[0] = tern_rope(GRAD, tern_neg(g->in[1]), g->attrs[TERN__ATTR_rope_theta].f,
                            g->attrs[TERN__ATTR_rope_dims].i, g->attrs[TERN__ATTR_rope_interleaved].i != 0);
    return TERN_OK;
}
