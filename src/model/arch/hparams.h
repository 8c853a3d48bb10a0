/* hparams.h - the numbers of a model: how many layers, how wide, how rotated. */
#ifndef TERN_MODEL_ARCH_HPARAMS_H
#define TERN_MODEL_ARCH_HPARAMS_H

#include "model/arch/architecture.h"

/* Beyond any real model. What is made and what is loaded keep within them. */
enum {
    TERN__MOST_LAYERS = 4096,
    TERN__MOST_HEADS = 4096,
    TERN__MOST_WIDTH = 1 << 20,
    TERN__MOST_VOCABULARY = 1 << 24,
    TERN__MOST_CONTEXT = 1 << 27,
};

typedef struct tern__hparams {
    const char *architecture; /* of the file's */
    tern__activation activation;
    bool sub_norms;
    bool ternary; /* projections are BitLinear even where the file has them as floats */
    int64_t layers, width, heads, kv_heads, head_width, rope_width, feed_forward, context;
    int64_t vocabulary; /* how many tokens the file promises; 0: it does not say */
    double rope_theta, norm_eps;
    tern__rope_pairs rope_pairs;
} tern__hparams;

/* Reads and checks what the file says about its model. */
tern_status tern__hparams_read(const tern_model_file *file, tern__hparams *out);

#endif
