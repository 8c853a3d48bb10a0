/* decoder.c - the transformer, once for every family, as lazy tensors. What is fast about it is the compiler's doing.
 *
 * Per layer: norm, projections to q, k and v, rotation by position, keys and values written into the states, attention, (sub norm,)
 * output projection, residual; norm, gate and up projections, activation, (sub norm,) down projection, residual. */
#include "model/model.h"

#include <stdio.h>

/* y = x W^T. BitLinear: x becomes int8 with one scale s a row, the product of the codes is exact, and y = sums / s * scales;
 * where blocks have scales of their own, the product applies them. */
static tern_tensor *project(const tern__linear *w, tern_tensor *x)
{
    if (!w->scales)
        return tern_linear(x, w->weight);
    tern_tensor *q, *scale;
    tern_quantise_rows(x, &q, &scale);
    if (tern_rank(w->scales) > 0)
        return tern_div(tern_ternary_matmul(q, w->weight, w->scales), scale);
    return tern_mul(tern_dequantise(tern_ternary_matmul(q, w->weight, NULL), scale), w->scales);
}

static tern_tensor *norm(const tern_model *m, tern_tensor *x, tern_tensor *weight)
{
    return weight ? tern_rmsnorm(x, weight, m->h.norm_eps) : x;
}

static tern_tensor *split_heads(tern_tensor *x, int64_t heads, int64_t width)
{
    return tern_reshape(x, 3, (int64_t[]){tern_dim(x, 0), heads, width});
}

static tern_tensor *rotate(const tern_model *m, tern_tensor *x, tern_tensor *positions)
{
    return tern_rope(x, positions, m->h.rope_theta, m->h.rope_width,
                     m->h.rope_pairs == TERN__ROPE_NEIGHBOURS);
}

/* Writes x at the rows' slots and positions of the cache's part, and of int8 ones the scales too. */
static void remember(const tern__decoder_rows *rows, tern_tensor *x, tern__cache_part part,
                     tern_tensor *cache[TERN__CACHE_COUNT])
{
    static const tern__cache_part scales_of[] = {
        [TERN__CACHE_KEYS] = TERN__CACHE_KEY_SCALES, [TERN__CACHE_VALUES] = TERN__CACHE_VALUE_SCALES};
    const tern__cache_part scales = scales_of[part];
    if (cache[scales]) {
        tern_tensor *scale;
        tern_quantise_rows(x, &x, &scale);
        cache[scales] = tern_write_rows(cache[scales], scale, rows->slots, rows->positions);
    } else {
        x = tern_cast(x, tern_dtype_of(cache[part]));
    }
    cache[part] = tern_write_rows(cache[part], x, rows->slots, rows->positions);
}

/* Rows `wanted` of x; NULL: all of them. */
static tern_tensor *pick(tern_tensor *x, tern_tensor *wanted)
{
    return wanted ? tern_gather(x, wanted, 0) : x;
}

/* Keys and values of all rows of h, and what rows `wanted` (NULL: all) see. */
static tern_tensor *attend(const tern_model *m, const tern__layer *layer, tern_tensor *h,
                           const tern__decoder_rows *rows, tern_tensor *wanted,
                           tern_tensor *cache[TERN__CACHE_COUNT])
{
    const tern__hparams *p = &m->h;
    tern_tensor *asking = pick(h, wanted), *slots = pick(rows->slots, wanted),
                *positions = pick(rows->positions, wanted);
    tern_tensor *q = split_heads(project(&layer->q, asking), p->heads, p->head_width);
    tern_tensor *k = split_heads(project(&layer->k, h), p->kv_heads, p->head_width);
    tern_tensor *v = split_heads(project(&layer->v, h), p->kv_heads, p->head_width);
    remember(rows, rotate(m, k, rows->positions), TERN__CACHE_KEYS, cache);
    remember(rows, v, TERN__CACHE_VALUES, cache);
    tern_tensor *a =
        tern_attention(rotate(m, q, positions), cache[TERN__CACHE_KEYS], cache[TERN__CACHE_VALUES], slots,
                       positions, cache[TERN__CACHE_KEY_SCALES], cache[TERN__CACHE_VALUE_SCALES], 0);
    return tern_reshape(a, 2, (int64_t[]){tern_dim(asking, 0), p->heads * p->head_width});
}

static tern_tensor *feed_forward(const tern_model *m, const tern__layer *layer, tern_tensor *h)
{
    tern_tensor *gate = project(&layer->gate, h), *up = project(&layer->up, h);
    return tern_mul(tern__activation_get(m->h.activation)->apply(gate), up);
}

void tern__open_part(const tern_model *m, int64_t layer, const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "layer %lld/%s", (long long)layer, part);
    tern_origin_open(m->ctx, name);
}

tern_tensor *tern__decoder(const tern_model *m, const tern__decoder_rows *rows,
                           tern_tensor *outputs[TERN__CACHE_COUNT], int *n)
{
    tern_origin_open(m->ctx, "embedding");
    tern_tensor *x = tern_cast(tern_gather(m->embedding, rows->tokens, 0), TERN_F32);
    tern_origin_close(m->ctx);
    const bool fewer = rows->wanted && tern_dim(rows->wanted, 0) < tern_dim(rows->tokens, 0);
    for (int64_t i = 0; i < m->h.layers; i++) {
        const tern__layer *layer = &m->layers[i];
        tern_tensor *cache[TERN__CACHE_COUNT];
        for (int k = 0; k < TERN__CACHE_COUNT; k++)
            cache[k] = rows->cache[k][i];
        /* Of the last layer only keys and values are needed of rows that nobody asks for. */
        const bool last = i == m->h.layers - 1;
        tern_tensor *wanted = last && fewer ? rows->wanted : NULL;
        tern__open_part(m, i, "attention");
        tern_tensor *a = attend(m, layer, norm(m, x, layer->attn_norm), rows, wanted, cache);
        if (last && !rows->wanted) {
            tern_origin_close(m->ctx);
            *n = 0;
            for (int k = 0; k < TERN__CACHE_COUNT; k++)
                if (cache[k])
                    outputs[(*n)++] = cache[k];
            return NULL;
        }
        x = tern_add(pick(x, wanted), project(&layer->o, norm(m, a, layer->attn_sub_norm)));
        tern_origin_close(m->ctx);
        tern__open_part(m, i, "feed-forward");
        tern_tensor *f = feed_forward(m, layer, norm(m, x, layer->ffn_norm));
        x = tern_add(x, project(&layer->down, norm(m, f, layer->ffn_sub_norm)));
        tern_origin_close(m->ctx);
    }
    *n = 0;
    tern_origin_open(m->ctx, "output");
    x = norm(m, pick(x, fewer ? NULL : rows->wanted), m->output_norm);
    tern_origin_close(m->ctx);
    return x;
}
