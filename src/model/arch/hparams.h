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

/* Rows of hparams.def. */
typedef enum tern__hparam {
#define HPARAM(id, gguf, hf, kind, most) TERN__HPARAM_##id,
#include "model/arch/hparams.def"
    TERN__HPARAM_COUNT
} tern__hparam;

typedef struct tern__hparam_info {
    const char *gguf, *hf; /* `hf` may be NULL */
    enum { TERN__HPARAM_WHOLE, TERN__HPARAM_REAL } kind;
    int64_t most;
} tern__hparam_info;

const tern__hparam_info *tern__hparam_get(tern__hparam id);
/* Its key in the metadata of a file of this architecture: tern__arch_key. */
const char *tern__hparam_key(const char *architecture, tern__hparam id, char out[static TERN__ARCH_KEY]);

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
