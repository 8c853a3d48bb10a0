/* attention.c - causal grouped attention over a key/value state that many sequences share.
 *
 * Each (row, head) is computed as the ops matmul, mul, softmax and matmul would: scores as fused chains
 * over d, scaled; probabilities with their sum in f64; the mix of values as fused chains over ascending
 * positions. So it equals that composition bit for bit, and depends on no other row. Arithmetic is f64 if
 * any operand is, else f32. */
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

typedef struct heads {
    const tern__buffer *q, *k, *v; /* (rows, heads, d) (slots, capacity, kv_heads, d) twice */
    const tern__buffer *y;         /* (rows, heads, d) */
    tern_dtype dtype;              /* of the arithmetic */
    int64_t d, group;              /* group: query heads that share a head of k and v */
    double scale;
    double *scores, *query, *sums; /* scratch: (capacity) (d) (d) */
} heads;

size_t tern_attention__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);

size_t tern_attention__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs)
{
    (void)n_in;
    (void)attrs;
    const int64_t capacity = in[1]->shape[1], d = in[0]->shape[2];
    return ((size_t)capacity + 2 * (size_t)d) * sizeof(double);
}

static heads heads_of(const tern__kernel_args *args)
{
    heads h = {
        .q = &args->in[0], .k = &args->in[1], .v = &args->in[2], .y = &args->out[0], .dtype = TERN_F32};
    for (int i = 0; i < 3; i++) {
        if (args->in[i].type->dtype == TERN_F64)
            h.dtype = TERN_F64;
    }
    h.d = h.q->type->shape[2];
    h.group = h.q->type->shape[1] / h.k->type->shape[2];
    h.scale = args->attrs[0].f != 0 ? args->attrs[0].f : 1 / sqrt((double)h.d);
    h.scale = tern__as(h.dtype, h.scale);
    h.scores = args->scratch;
    h.query = h.scores + h.k->type->shape[1];
    h.sums = h.query + h.d;
    return h;
}

/* Units to element 0 of a head at a position of a slot, in k or v. */
static int64_t state_at(const tern__buffer *state, int64_t slot, int64_t position, int64_t head)
{
    return slot * state->strides[0] + position * state->strides[1] + head * state->strides[2];
}

/* scores[t] = scale * (q . k[t]) for t < n; gives the largest, NaN if any is. */
static double score(const heads *h, int64_t slot, int64_t head, int64_t n)
{
    const tern_dtype k_dtype = h->k->type->dtype;
    const int64_t step = h->k->strides[3];
    double max = -INFINITY;
    for (int64_t t = 0; t < n; t++) {
        int64_t at = state_at(h->k, slot, t, head);
        double dot = 0;
        for (int64_t i = 0; i < h->d; i++)
            dot = tern__fma_as(h->dtype, h->query[i], tern__load_float(k_dtype, h->k->data, at + i * step),
                               dot);
        double s = h->scores[t] = tern__as(h->dtype, dot * h->scale);
        if (!isnan(max) && (s > max || isnan(s)))
            max = s;
    }
    return max;
}

/* scores -> probabilities, as the softmax kernel does it. */
static void normalise(const heads *h, double max, int64_t n)
{
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
        h->scores[t] = tern__exp_as(h->dtype, tern__as(h->dtype, h->scores[t] - max));
        sum += h->scores[t];
    }
    for (int64_t t = 0; t < n; t++)
        h->scores[t] = tern__as(h->dtype, h->scores[t] / sum);
}

/* sums[i] = the values v[t][i] weighted by scores[t], t < n. */
static void mix(const heads *h, int64_t slot, int64_t head, int64_t n)
{
    const tern_dtype v_dtype = h->v->type->dtype;
    const int64_t step = h->v->strides[3];
    for (int64_t i = 0; i < h->d; i++)
        h->sums[i] = 0;
    for (int64_t t = 0; t < n; t++) {
        int64_t at = state_at(h->v, slot, t, head);
        for (int64_t i = 0; i < h->d; i++)
            h->sums[i] = tern__fma_as(h->dtype, h->scores[t],
                                      tern__load_float(v_dtype, h->v->data, at + i * step), h->sums[i]);
    }
}

/* Row and head `item`, whose row sees n keys of `slot`. */
static void attend(const heads *h, int64_t item, int64_t slot, int64_t n)
{
    const int64_t head = item % h->q->type->shape[1] / h->group;
    const int64_t from = tern__lane_offset(h->q, 2, item), to = tern__lane_offset(h->y, 2, item);
    for (int64_t i = 0; i < h->d; i++)
        h->query[i] = tern__load_float(h->q->type->dtype, h->q->data, from + i * h->q->strides[2]);
    if (n > 0)
        normalise(h, score(h, slot, head, n), n);
    mix(h, slot, head, n);
    for (int64_t i = 0; i < h->d; i++)
        tern__store_float(h->y->type->dtype, h->y->data, to + i * h->y->strides[2], h->sums[i]);
}

KERNEL(attention)
{
    const heads h = heads_of(args);
    const tern__buffer *slots = &args->in[3], *positions = &args->in[4];
    const int64_t per_row = h.q->type->shape[1];
    for (int64_t item = begin; item < end; item++) {
        int64_t row = item / per_row;
        int64_t position =
            tern__load_int(positions->type->dtype, positions->data, row * positions->strides[0]);
        int64_t slot = tern__load_int(slots->type->dtype, slots->data, row * slots->strides[0]);
        if (position == -1) { /* padding: no keys, so zeros; its slot means nothing */
            attend(&h, item, 0, 0);
            continue;
        }
        TERN_TRY(tern__check_index(args, slot, h.k->type->shape[0]));
        TERN_TRY(tern__check_index(args, position, h.k->type->shape[1]));
        attend(&h, item, slot, position + 1);
    }
    return TERN_OK;
}
