/* model.h - a loaded language model: its numbers, its weights, and the graph that they make. */
#ifndef TERN_MODEL_MODEL_H
#define TERN_MODEL_MODEL_H

#include <tern/model.h>
#include <tern/ops.h>
#include <tern/tensor.h>

#include "model/arch/hparams.h"

/* A projection: y = x W^T. With scales it is BitLinear: x is quantised row by row, W holds ternary codes. */
typedef struct tern__linear {
    tern_tensor *weight; /* [out, in] */
    tern_tensor *scales; /* rank 0, or of blocks: [rows, blocks]; NULL: a plain product */
} tern__linear;

typedef struct tern__layer {
    tern_tensor *attn_norm, *attn_sub_norm, *ffn_norm, *ffn_sub_norm; /* sub norms: NULL without */
    tern__linear q, k, v, o, gate, up, down;
} tern__layer;

struct tern_model {
    tern_ctx *ctx;
    tern_model_file *file;
    struct tern__loading *loading; /* of weights that are read later: load.h */
    tern__hparams h;
    int64_t vocabulary;
    tern_tensor *embedding;   /* [vocabulary, width]; the head, or of the file's pages, where it is mapped */
    tern_tensor *output_norm; /* [width] */
    tern_tensor *head;        /* [vocabulary, width] */
    int head_at;              /* which tensor of the file the head is */
    bool tied;                /* the head has the embedding's data */
    tern__layer *layers;      /* (h.layers) */
    uint64_t parameters, ternary_weights, product_weights, weight_bytes, token_bytes;
};

/* ---- weights.c ---- */

/* Finds every weight of `m`, whose file and hparams are set. On failure some are there: tern_model_free lets them go. */
tern_status tern__weights_load(tern_model *m, const tern_model_options *options);
void tern__weights_release(tern_model *m);

/* ---- memory.c ---- */

/* Bytes of keys, values and their scales; a double, since a file may promise any number of positions. */
double tern__cache_bytes(const tern__hparams *h, int slots, int64_t context, tern_dtype dtype);

/* ---- decoder.c ---- */

/* What is remembered of every position: states [slots, context, kv_heads, head_width], and the scales of int8 ones
 * [slots, context, kv_heads, 1]. */
typedef enum tern__cache_part {
    TERN__CACHE_KEYS,
    TERN__CACHE_VALUES,
    TERN__CACHE_KEY_SCALES,
    TERN__CACHE_VALUE_SCALES,
    TERN__CACHE_COUNT
} tern__cache_part;

/* What a run of the decoder is given. */
typedef struct tern__decoder_rows {
    tern_tensor *tokens, *slots, *positions; /* i64 [rows]; position -1 = padding */
    tern_tensor *wanted;        /* i64 [wanted] rows whose logits are asked for; NULL: none are */
    tern_tensor **const *cache; /* (TERN__CACHE_COUNT, layers) */
} tern__decoder_rows;

/* Opens "layer 3/attention", for tern_origin_close: what is recorded and made meanwhile belongs to it. */
void tern__open_part(const tern_model *m, int64_t layer, const char *part);

/* Records the decoder up to the output norm, f32 [wanted, width]; NULL if none are wanted: then outputs[0..*n-1] are the last
 * layer's cache, at which nobody looks. */
tern_tensor *tern__decoder(const tern_model *m, const tern__decoder_rows *rows,
                           tern_tensor *outputs[TERN__CACHE_COUNT], int *n);

#endif
