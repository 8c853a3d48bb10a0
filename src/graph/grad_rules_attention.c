/* grad_rules_attention.c - the gradient of attention, spelled out in products and a softmax. It holds the keys of every row's slot and
 * the scores of all of them: what fits where positions are few. Decoders are trained without caches (train/decoder.c). */
#include <math.h>

#include "base/status.h"
#include "graph/grad.h"
#include "graph/rules.h"

enum { Q, K, V, SLOTS, POSITIONS, K_SCALE, V_SCALE };

typedef struct sizes {
    int64_t rows, heads, d, slots, capacity, kv_heads;
} sizes;

static sizes sizes_of(const struct tern__grad_call *g)
{
    const int64_t *q = g->in[Q]->type.shape, *k = g->in[K]->type.shape;
    return (sizes){q[0], q[1], q[2], k[0], k[1], k[2]};
}

/* [rows, heads, d] -> [rows, kv_heads, heads that share a key, d] */
static tern_tensor *in_groups(const sizes *s, tern_tensor *x)
{
    return tern_reshape(x, 4, (int64_t[]){s->rows, s->kv_heads, s->heads / s->kv_heads, s->d});
}

/* What each row sees of k or v, [slots, capacity, kv_heads, ...] -> [rows, kv_heads, capacity, ...]; int8 as the floats that they
 * stand for. */
static tern_tensor *of_rows(const struct tern__grad_call *g, tern_tensor *slots, int which, int scale)
{
    const int64_t turn[] = {0, 2, 1, 3};
    tern_tensor *x = g->in[which];
    if (g->n_in > scale)
        x = tern_dequantise(x, g->in[scale]);
    return tern_permute(tern_gather(x, slots, 0), 4, turn);
}

/* The way back: summed over the rows of a slot. Codes are scaled numbers, so that theirs is smaller by the scale. */
static tern_tensor *to_slots(const struct tern__grad_call *g, const sizes *s, tern_tensor *slots,
                             tern_tensor *x, int scale)
{
    const int64_t turn[] = {0, 2, 1, 3}, shape[] = {s->slots, s->capacity, s->kv_heads, s->d};
    tern_tensor *zeros = tern_full(g->ctx, tern_dtype_of(GRAD), 4, shape, 0);
    tern_tensor *sum = tern_scatter_add(zeros, slots, tern_contiguous(tern_permute(x, 4, turn)));
    return g->n_in > scale ? tern_div(sum, g->in[scale]) : sum;
}

RULE(attention)
{
    tern__grad_widen(g);
    const sizes s = sizes_of(g);
    const double given = g->attrs[TERN__ATTR_attention_scale].f,
                 scale = given == 0 ? 1 / sqrt((double)s.d) : given; /* NOLINT: 0 means none was given */
    const int64_t each_row[] = {s.rows, 1, 1, 1}, last = -1;
    tern_tensor *zero = tern__grad_number(GRAD, 0), *first = tern_full(g->ctx, TERN_I32, 0, NULL, 0);
    tern_tensor *positions = g->in[POSITIONS];
    /* padding may name any slot: it sees nothing of it */
    tern_tensor *slots = tern_where(tern_ge(positions, first), g->in[SLOTS], first);
    tern_tensor *seen = tern_le(tern_arange(g->ctx, TERN_I32, 0, (double)s.capacity, 1),
                                tern_reshape(positions, 4, each_row));
    tern_tensor *q = in_groups(&s, g->in[Q]), *d = in_groups(&s, GRAD);
    tern_tensor *k = of_rows(g, slots, K, K_SCALE), *v = of_rows(g, slots, V, V_SCALE);
    tern_tensor *scores = tern__grad_times(tern_matmul(q, k, false, true), scale);
    tern_tensor *p = tern_softmax(tern_where(seen, scores, tern__grad_number(GRAD, -(double)INFINITY)), -1);
    p = tern_where(seen, p, zero); /* a row that sees nothing has no softmax */
    tern_tensor *of_p = tern_matmul(d, v, false, true);
    tern_tensor *of_scores = tern_mul(p, tern_sub(of_p, tern_sum(tern_mul(of_p, p), 1, &last, true)));
    of_scores = tern__grad_times(of_scores, scale);
    if (g->wanted[Q])
        g->of_in[Q] = tern_reshape(tern_matmul(of_scores, k, false, false), 3, g->in[Q]->type.shape);
    if (g->wanted[K])
        g->of_in[K] = to_slots(g, &s, slots, tern_matmul(of_scores, q, true, false), K_SCALE);
    if (g->wanted[V])
        g->of_in[V] = to_slots(g, &s, slots, tern_matmul(p, d, true, false), V_SCALE);
    return TERN_OK;
}
