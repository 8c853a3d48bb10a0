/* attention.c - causal grouped attention over a key/value state that many sequences share: the arithmetic of
 * attention/attention.h, word for word. Each (row, head) depends on no other row. Arithmetic is f64 if any operand is, else
 * f32, where e^x is that of row/vector_math.h, so that kernels with fused multiply-adds have the same bits. */
#include "kernels/attention/attention.h"
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

enum { CHUNK = TERN__ATTENTION_CHUNK, LANES = TERN__ATTENTION_LANES };

typedef struct heads {
    const tern__buffer *q, *k, *v;         /* (rows, heads, d) (slots, capacity, kv_heads, d) twice */
    const tern__buffer *k_scale, *v_scale; /* (slots, capacity, kv_heads, 1) or NULL */
    const tern__buffer *y;                 /* (rows, heads, d) */
    tern_dtype dtype;                      /* of the arithmetic */
    int64_t d, group;                      /* group: query heads that share a head of k and v */
    double scale;
    double *p, *query, *mix, *chunk_mix; /* scratch: (CHUNK) (d) (d) (d) */
} heads;

size_t tern_attention__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);

size_t tern_attention__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs)
{
    (void)n_in;
    (void)attrs;
    return (CHUNK + 3 * (size_t)in[0]->shape[2]) * sizeof(double);
}

static heads heads_of(const tern__kernel_args *args)
{
    heads h = {.q = &args->in[0],
               .k = &args->in[1],
               .v = &args->in[2],
               .k_scale = args->n_in > 5 ? &args->in[5] : NULL,
               .v_scale = args->n_in > 6 ? &args->in[6] : NULL,
               .y = &args->out[0],
               .dtype = TERN_F32};
    for (int i = 0; i < 3; i++) {
        if (args->in[i].type->dtype == TERN_F64)
            h.dtype = TERN_F64;
    }
    h.d = h.q->type->shape[2];
    h.group = h.q->type->shape[1] / h.k->type->shape[2];
    h.scale = args->attrs[0].f != 0 ? args->attrs[0].f : 1 / sqrt((double)h.d);
    h.scale = tern__as(h.dtype, h.scale);
    h.p = args->scratch;
    if (h.p) { /* without rows there is none */
        h.query = h.p + CHUNK;
        h.mix = h.query + h.d;
        h.chunk_mix = h.mix + h.d;
    }
    return h;
}

/* x = n ln 2 + r, and e^x = 2^n (1 + t). */
static float exp_f32(float x)
{
    const float magic = 0x1.8p23f;
    x = -104 > x ? -104 : x; /* NaN stays */
    x = 89 < x ? 89 : x;
    const float n = fmaf(x, 0x1.715476p+0f, magic) - magic;
    const float r = fmaf(n, 0x1.bd0106p-13f, fmaf(n, -0x1.63p-1f, x));
    float q = fmaf(0x1.6bea1cp-10f, r, 0x1.122d02p-7f);
    q = fmaf(q, r, 0x1.555682p-5f);
    q = fmaf(q, r, 0x1.5554aap-3f);
    q = fmaf(q, r, 0x1.fffffep-2f);
    const float t = fmaf(r * r, q, r);
    return isnan(x) ? x : ldexpf(t + 1, (int)n);
}

static double exp_of(const heads *h, double x)
{
    return h->dtype == TERN_F64 ? exp(x) : (double)exp_f32((float)x);
}

/* Lanes 8, 4, 2, 1 apart. */
static double add_lanes(const heads *h, double *lanes)
{
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        for (int i = 0; i < apart; i++)
            lanes[i] = tern__as(h->dtype, lanes[i] + lanes[i + apart]);
    }
    return lanes[0];
}

/* Units to element 0 of a head at a position of a slot, in k, v or their scales. */
static int64_t state_at(const tern__buffer *state, int64_t slot, int64_t position, int64_t head)
{
    return slot * state->strides[0] + position * state->strides[1] + head * state->strides[2];
}

static double load(const tern__buffer *x, int64_t at)
{
    const tern_dtype dtype = x->type->dtype;
    return dtype == TERN_I8 ? (double)((const int8_t *)x->data)[at] : tern__load_float(dtype, x->data, at);
}

static double dot(const heads *h, int64_t slot, int64_t position, int64_t head)
{
    const int64_t at = state_at(h->k, slot, position, head), step = h->k->strides[3];
    double lanes[LANES] = {0};
    for (int64_t i = 0; i < h->d; i++)
        lanes[i % LANES] = tern__fma_as(h->dtype, h->query[i], load(h->k, at + i * step), lanes[i % LANES]);
    return add_lanes(h, lanes);
}

/* Keys [first, first + n): p, their sum and the largest score. */
static void soften(const heads *h, int64_t slot, int64_t head, int64_t first, int64_t n, double *max,
                   double *sum)
{
    double lanes[LANES] = {0};
    *max = -INFINITY;
    for (int64_t t = 0; t < n; t++) {
        double factor = h->scale;
        if (h->k_scale)
            factor =
                tern__as(h->dtype, factor / load(h->k_scale, state_at(h->k_scale, slot, first + t, head)));
        h->p[t] = tern__as(h->dtype, dot(h, slot, first + t, head) * factor);
        if (h->p[t] > *max)
            *max = h->p[t];
    }
    const double base = *max == -INFINITY ? 0 : *max;
    for (int64_t t = 0; t < n; t++) {
        h->p[t] = exp_of(h, tern__as(h->dtype, h->p[t] - base));
        lanes[t % LANES] = tern__as(h->dtype, lanes[t % LANES] + h->p[t]);
    }
    *sum = add_lanes(h, lanes);
}

/* to[i] = the values of the chunk's keys, weighted by p. */
static void mix(const heads *h, int64_t slot, int64_t head, int64_t first, int64_t n, double *to)
{
    for (int64_t i = 0; i < h->d; i++)
        to[i] = 0;
    for (int64_t t = 0; t < n; t++) {
        const int64_t at = state_at(h->v, slot, first + t, head);
        double p = h->p[t];
        if (h->v_scale) {
            double scale = load(h->v_scale, state_at(h->v_scale, slot, first + t, head));
            p = tern__as(h->dtype, p * tern__as(h->dtype, 1 / scale));
        }
        for (int64_t i = 0; i < h->d; i++)
            to[i] = tern__fma_as(h->dtype, p, load(h->v, at + i * h->v->strides[3]), to[i]);
    }
}

/* One chunk after the other into h->mix; gives the sum of p. */
static double mix_all(const heads *h, int64_t slot, int64_t head, int64_t n)
{
    double max = 0, sum = 0, chunk_max, chunk_sum;
    for (int64_t first = 0; first < n; first += CHUNK) {
        const int64_t keys = n - first < CHUNK ? n - first : CHUNK;
        soften(h, slot, head, first, keys, &chunk_max, &chunk_sum);
        mix(h, slot, head, first, keys, first == 0 ? h->mix : h->chunk_mix);
        if (first == 0) {
            max = chunk_max;
            sum = chunk_sum;
            continue;
        }
        const double top = max > chunk_max ? max : chunk_max, base = top == -INFINITY ? 0 : top;
        const double a = exp_of(h, tern__as(h->dtype, max - base));
        const double b = exp_of(h, tern__as(h->dtype, chunk_max - base));
        sum = tern__fma_as(h->dtype, sum, a, tern__as(h->dtype, chunk_sum * b));
        for (int64_t i = 0; i < h->d; i++)
            h->mix[i] = tern__fma_as(h->dtype, h->mix[i], a, tern__as(h->dtype, h->chunk_mix[i] * b));
        max = top;
    }
    return sum;
}

/* Row and head `item`, whose row sees n keys of `slot`. */
static void attend(const heads *h, int64_t item, int64_t slot, int64_t n)
{
    const int64_t head = item % h->q->type->shape[1] / h->group;
    const int64_t from = tern__lane_offset(h->q, 2, item), to = tern__lane_offset(h->y, 2, item);
    for (int64_t i = 0; i < h->d; i++)
        h->query[i] = tern__load_float(h->q->type->dtype, h->q->data, from + i * h->q->strides[2]);
    const double sum = mix_all(h, slot, head, n);
    for (int64_t i = 0; i < h->d; i++) {
        const double y = n > 0 ? tern__as(h->dtype, h->mix[i] / sum) : 0;
        tern__store_float(h->y->type->dtype, h->y->data, to + i * h->y->strides[2],
                          isnan(y) ? (double)NAN : y);
    }
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
