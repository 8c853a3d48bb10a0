/* parts.h - the table of parts.def: names and shapes of a model's tensors, for whoever reads, writes or makes them. */
#ifndef TERN_MODEL_ARCH_PARTS_H
#define TERN_MODEL_ARCH_PARTS_H

#include "model/arch/architecture.h"

typedef enum tern__part_id {
#define MODEL_PART(id, role, gguf, hf, rows, columns) TERN__PART_##id,
#define LAYER_PART(id, role, gguf, hf, rows, columns, field) TERN__PART_##id,
#include "model/arch/parts.def"
    TERN__PART_COUNT,
    TERN__PART_LAYER_BEGIN = TERN__PART_ATTN_NORM, /* those of each layer */
    TERN__PART_LAYER_END = TERN__PART_DOWN + 1,
    TERN__PARTS_OF_LAYER = TERN__PART_LAYER_END - TERN__PART_LAYER_BEGIN,
} tern__part_id;

typedef enum tern__role {
    TERN__ROLE_TABLE, /* of tokens */
    TERN__ROLE_NORM,
    TERN__ROLE_SUB_NORM, /* of architectures that have these */
    TERN__ROLE_LINEAR,
    TERN__ROLE_HEAD, /* of models in which the table does not serve as one */
} tern__role;

typedef enum tern__size {
    TERN__SIZE_ONE,
    TERN__SIZE_WIDTH,
    TERN__SIZE_HEADS, /* all heads together */
    TERN__SIZE_KV_HEADS,
    TERN__SIZE_FEED_FORWARD,
    TERN__SIZE_VOCABULARY,
    TERN__SIZE_COUNT
} tern__size;

typedef struct tern__part {
    bool in_layer;
    tern__role role;
    const char *gguf, *hf;
    tern__size rows, columns;
} tern__part;

/* The numbers that shapes of parts are made of. */
typedef struct tern__part_shape {
    int64_t width, heads, kv_heads, head_width, feed_forward, vocabulary;
} tern__part_shape;

enum { TERN__PART_NAME = 64 };

const tern__part *tern__part_get(tern__part_id id);
bool tern__part_is_vector(const tern__part *part);
int64_t tern__part_rows(const tern__part *part, const tern__part_shape *s); /* of a vector 1 */
int64_t tern__part_columns(const tern__part *part, const tern__part_shape *s);

/* GGUF's name; `layer` is that of a part of one. */
const char *tern__part_name(const tern__part *part, int64_t layer, char out[static TERN__PART_NAME]);

/* In whose words a name is. */
typedef enum tern__naming {
    TERN__NAMES_GGUF, /* "blk.12.attn_q.weight", "token_embd.weight" */
    TERN__NAMES_HF,   /* "model.layers.12.self_attn.q_proj.weight", "model.embed_tokens.weight" */
} tern__naming;

/* Takes the name of a tensor apart, the one place that does. The part that it belongs to, by what any architecture calls it;
 * TERN__PART_COUNT: to none of a model that is known. *layer: the number of the layer, also of parts that are not known, or -1: outside of
 * layers; only numbers that a layer can have count, as they are written. *suffix: from the last dot on, ".weight"; "" if the name ends with
 * the part. */
tern__part_id tern__part_parse(tern__naming naming, const char *name, int64_t *layer, const char **suffix);
/* The other way, as models of an architecture call it; "" if that has no such part. `room` bytes at `out`. */
void tern__part_compose(tern__naming naming, tern__part_id id, const tern__architecture *a, int64_t layer,
                        const char *suffix, char *out, size_t room);

/* The part that a tensor with this name of GGUF's is, the weight itself; NULL: of no model that is known. *layer: of a part of one, else 0. */
const tern__part *tern__part_of(const char *name, int64_t *layer);
/* Is it a weight of a layer's products? */
bool tern__part_is_linear(const char *name);

/* Which tensor of the file is the table of tokens. */
tern_status tern__table_of(const tern_model_file *file, int *table);
/* Which tensor of the file is the head: one of its own, or the table of tokens (*tied). TERN_NOT_FOUND if there is neither. */
tern_status tern__head_of(const tern_model_file *file, int *head, bool *tied);

/* Hugging Face's module in models of an architecture; NULL: that has no such part. */
const char *tern__part_module(tern__part_id id, const tern__architecture *a);

#endif
