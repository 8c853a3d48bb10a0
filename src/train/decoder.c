/* decoder.c - the decoder of model/decoder.c as it is trained: whole sequences at once, keys and values nowhere but in the graph, and
 * attention spelled out in products and a softmax, which have gradients. */
#include "train/decoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/grad.h>
#include <tern/ops.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"

/* ---- weights ------------------------------------------------------------------------------------------------------- */

static int index_of(const tern__train_net *net, tern__part_id id, int64_t layer)
{
    if (id == TERN__PART_TABLE)
        return 0;
    if (id == TERN__PART_OUTPUT_NORM)
        return net->n - 1;
    return 1 + (int)layer * TERN__PARTS_OF_LAYER + (int)(id - TERN__PART_LAYER_BEGIN);
}

static tern_tensor *weight(const tern__train_net *net, tern__part_id id, int64_t layer)
{
    return net->weights[index_of(net, id, layer)];
}

/* The part that weight i is, and of which layer. */
static const tern__part *part_of(const tern__train_net *net, int i, int64_t *layer)
{
    *layer = (i - 1) / TERN__PARTS_OF_LAYER;
    if (i == 0)
        return tern__part_get(TERN__PART_TABLE);
    if (i == net->n - 1)
        return tern__part_get(TERN__PART_OUTPUT_NORM);
    return tern__part_get((tern__part_id)(TERN__PART_LAYER_BEGIN + (i - 1) % TERN__PARTS_OF_LAYER));
}

const tern__part *tern__train_net_part(const tern__train_net *net, int i)
{
    int64_t layer;
    return part_of(net, i, &layer);
}

static tern__part_shape shape_of(const tern_train_shape *s)
{
    return (tern__part_shape){.width = s->width,
                              .heads = s->heads,
                              .kv_heads = s->kv_heads,
                              .head_width = s->width / s->heads,
                              .feed_forward = s->feed_forward,
                              .vocabulary = s->vocabulary};
}

int64_t tern__train_net_parameters(const tern_train_shape *s)
{
    const tern__train_net net = {.shape = *s, .n = 2 + TERN__PARTS_OF_LAYER}; /* with one layer */
    const tern__part_shape shape = shape_of(s);
    int64_t n = 0, layer;
    for (int i = 0; i < net.n; i++) {
        const tern__part *part = part_of(&net, i, &layer);
        const bool once = i == 0 || i == net.n - 1;
        n += (once ? 1 : s->layers) * tern__part_rows(part, &shape) * tern__part_columns(part, &shape);
    }
    return n;
}

/* Of weight i: a hash, so that weights of neighbouring seeds have nothing in common. Sums would: i + 1 of one is i of the next. */
static int64_t seed_of(uint64_t seed, int i)
{
    const uint64_t words[] = {seed, (uint64_t)i};
    return (int64_t)tern__hash(words, sizeof words, 0);
}

/* Norms start at 1, the rest as normal numbers with a deviation of 0.02. */
static tern_status make_weight(tern__train_net *net, int i, uint64_t seed)
{
    int64_t layer;
    const tern__part *part = part_of(net, i, &layer);
    const bool vector = tern__part_is_vector(part);
    const tern__part_shape sizes = shape_of(&net->shape);
    const int64_t shape[] = {tern__part_rows(part, &sizes), tern__part_columns(part, &sizes)};
    const int64_t *dims = vector ? shape + 1 : shape;
    const int rank = vector ? 1 : 2;
    tern__part_name(part, layer, net->names[i]);
    TERN_SCOPE(net->ctx) {
        tern_tensor *state = tern_state(net->ctx, net->names[i], TERN_F32, rank, dims);
        TERN_TRY(tern_status_of(state));
        net->weights[i] = tern_keep(state);
        if (vector)
            return tern_fill_(state, 1);
        tern_tensor *random = tern_randn(net->ctx, TERN_F32, rank, dims, seed_of(seed, i));
        return tern_assign(state, tern_mul(random, tern_full(net->ctx, TERN_F32, 0, NULL, 0.02)));
    }
    return TERN_INTERNAL;
}

tern_status tern__train_net_create(tern_ctx *ctx, const tern_train_shape *shape, uint64_t seed,
                                   tern__train_net *net)
{
    *net = (tern__train_net){.ctx = ctx, .shape = *shape};
    net->n = 2 + (int)shape->layers * TERN__PARTS_OF_LAYER;
    net->weights = tern__alloc_zero((size_t)net->n, sizeof *net->weights);
    net->names = tern__alloc_zero((size_t)net->n, sizeof *net->names);
    if (!net->weights || !net->names)
        return tern__out_of_memory((size_t)net->n * sizeof *net->names);
    for (int i = 0; i < net->n; i++)
        TERN_TRY(make_weight(net, i, seed));
    return TERN_OK;
}

void tern__train_net_free(tern__train_net *net)
{
    for (int i = 0; net->weights && i < net->n; i++)
        tern_release(net->weights[i]);
    tern__free(net->weights);
    tern__free(net->names);
}

/* ---- forward ------------------------------------------------------------------------------------------------------- */

/* y = x W^T, with W rounded to codes and x to int8: what model/decoder.c does with the codes of a file. */
static tern_tensor *project(const tern__train_net *net, tern__part_id id, int64_t layer, tern_tensor *x)
{
    tern_tensor *w = weight(net, id, layer), *q, *s, *codes, *scale;
    if (net->shape.weights == TERN_TRAIN_WEIGHTS_FLOAT)
        return tern_linear(x, w);
    tern_quantise_rows(x, &q, &s);
    tern_ternary_quantise(w, NULL, TERN_T2, &codes, &scale);
    return tern_mul(tern_dequantise(tern_ternary_matmul(q, codes, NULL), s), scale);
}

static tern_tensor *norm(const tern__train_net *net, tern__part_id id, int64_t layer, tern_tensor *x)
{
    return tern_rmsnorm(x, weight(net, id, layer), net->shape.norm_eps);
}

static tern_tensor *split_heads(tern_tensor *x, int64_t heads)
{
    return tern_reshape(x, 3, (int64_t[]){tern_dim(x, 0), heads, tern_dim(x, 1) / heads});
}

/* [batch * context, kv heads * group, d] -> [batch, kv heads, group * context, d]: rows of heads that read the same keys follow each
 * other, so that their products are one. */
static tern_tensor *by_kv_head(const tern_train_shape *s, tern_tensor *x, int64_t batch)
{
    const int64_t group = tern_dim(x, 1) / s->kv_heads, d = tern_dim(x, 2);
    tern_tensor *apart = tern_reshape(x, 5, (int64_t[]){batch, s->context, s->kv_heads, group, d});
    return tern_reshape(tern_permute(apart, 5, (int64_t[]){0, 2, 3, 1, 4}), 4,
                        (int64_t[]){batch, s->kv_heads, group * s->context, d});
}

/* The way back: [batch, kv heads, group * context, d] -> [batch * context, heads * d]. */
static tern_tensor *by_token(const tern_train_shape *s, tern_tensor *x, int64_t batch)
{
    const int64_t group = s->heads / s->kv_heads, d = tern_dim(x, 3);
    tern_tensor *apart = tern_reshape(x, 5, (int64_t[]){batch, s->kv_heads, group, s->context, d});
    return tern_reshape(tern_permute(apart, 5, (int64_t[]){0, 3, 1, 2, 4}), 2,
                        (int64_t[]){batch * s->context, s->heads * d});
}

/* 0 where a token sees another, else -inf: [context, context]. */
static tern_tensor *mask_of(const tern__train_net *net)
{
    const int64_t shape[] = {net->shape.context, net->shape.context};
    tern_tensor *seen = tern_tril(tern_full(net->ctx, TERN_F32, 2, shape, 1), 0);
    return tern_log(seen);
}

/* softmax(q k^T / sqrt(d) + mask) v of [batch, kv heads, group * context, d] */
static tern_tensor *mix(const tern__train_net *net, tern_tensor *q, tern_tensor *k, tern_tensor *v,
                        tern_tensor *mask, int64_t batch)
{
    const tern_train_shape *s = &net->shape;
    const int64_t group = s->heads / s->kv_heads, d = tern_dim(q, 3);
    const int64_t grouped[] = {batch, s->kv_heads, group, s->context, s->context},
                  joined[] = {batch, s->kv_heads, group * s->context, s->context};
    tern_tensor *root = tern_full(net->ctx, TERN_F32, 0, NULL, 1 / sqrt((double)d));
    tern_tensor *scores = tern_mul(tern_matmul(q, k, false, true), root);
    tern_tensor *p = tern_softmax(tern_add(tern_reshape(scores, 5, grouped), mask), -1);
    return tern_matmul(tern_reshape(p, 4, joined), v, false, false);
}

static tern_tensor *attend(const tern__train_net *net, int64_t layer, tern_tensor *h, tern_tensor *positions,
                           tern_tensor *mask, int64_t batch)
{
    const tern_train_shape *s = &net->shape;
    tern_tensor *q = split_heads(project(net, TERN__PART_Q, layer, h), s->heads);
    tern_tensor *k = split_heads(project(net, TERN__PART_K, layer, h), s->kv_heads);
    tern_tensor *v = split_heads(project(net, TERN__PART_V, layer, h), s->kv_heads);
    q = by_kv_head(s, tern_rope(q, positions, s->rope_theta, 0, false), batch);
    k = by_kv_head(s, tern_rope(k, positions, s->rope_theta, 0, false), batch);
    v = by_kv_head(s, v, batch);
    if (net->recompute == TERN_RECOMPUTE_ATTENTION)
        tern_recompute_open(net->ctx);
    tern_tensor *y = mix(net, q, k, v, mask, batch);
    if (net->recompute == TERN_RECOMPUTE_ATTENTION)
        tern_recompute_close(net->ctx);
    return by_token(s, y, batch);
}

static tern_tensor *feed_forward(const tern__train_net *net, int64_t layer, tern_tensor *h)
{
    return tern_mul(tern_relu2(project(net, TERN__PART_GATE, layer, h)),
                    project(net, TERN__PART_UP, layer, h));
}

static void open_part(const tern__train_net *net, int64_t layer, const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "layer %lld/%s", (long long)layer, part);
    tern_origin_open(net->ctx, name);
}

tern_tensor *tern__train_logits(const tern__train_net *net, tern_tensor *tokens, int64_t batch)
{
    const tern_train_shape *s = &net->shape;
    tern_tensor *line = tern_arange(net->ctx, TERN_I32, 0, (double)s->context, 1);
    tern_tensor *positions = tern_reshape(tern_broadcast(line, 2, (int64_t[]){batch, s->context}), 1,
                                          (int64_t[]){batch * s->context});
    tern_tensor *mask = mask_of(net);
    tern_tensor *x = tern_gather(weight(net, TERN__PART_TABLE, 0), tokens, 0);
    for (int64_t i = 0; i < s->layers; i++) {
        if (net->recompute == TERN_RECOMPUTE_LAYERS)
            tern_recompute_open(net->ctx);
        open_part(net, i, "attention");
        tern_tensor *a = attend(net, i, norm(net, TERN__PART_ATTN_NORM, i, x), positions, mask, batch);
        x = tern_add(x, project(net, TERN__PART_O, i, norm(net, TERN__PART_ATTN_SUB_NORM, i, a)));
        tern_origin_close(net->ctx);
        open_part(net, i, "feed-forward");
        tern_tensor *f = feed_forward(net, i, norm(net, TERN__PART_FFN_NORM, i, x));
        x = tern_add(x, project(net, TERN__PART_DOWN, i, norm(net, TERN__PART_FFN_SUB_NORM, i, f)));
        tern_origin_close(net->ctx);
        if (net->recompute == TERN_RECOMPUTE_LAYERS)
            tern_recompute_close(net->ctx);
    }
    tern_origin_open(net->ctx, "output");
    tern_tensor *logits =
        tern_linear(norm(net, TERN__PART_OUTPUT_NORM, 0, x), weight(net, TERN__PART_TABLE, 0));
    tern_origin_close(net->ctx);
    return logits;
}

/* What the model thought of each target. */
static tern_tensor *log_likelihoods(tern_tensor *logits, tern_tensor *targets)
{
    return tern_take_along(tern_log_softmax(logits, -1), targets, -1);
}

tern_tensor *tern__train_loss(tern_tensor *logits, tern_tensor *targets)
{
    return tern_neg(tern_mean(log_likelihoods(logits, targets), 0, NULL, false));
}

tern_tensor *tern__train_losses(tern_tensor *logits, tern_tensor *targets, int64_t sequences)
{
    tern_tensor *each = tern_reshape(log_likelihoods(logits, targets), 2, (int64_t[]){sequences, -1});
    return tern_neg(tern_mean(each, 1, (int64_t[]){1}, false));
}
