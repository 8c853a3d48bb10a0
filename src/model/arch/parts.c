/* parts.c - rows of parts.def, and which of them a tensor is. */
#include "model/arch/parts.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/arch/hparams.h"

static const tern__part parts[] = {
#define MODEL_PART(id, role, gguf, hf, rows, columns) \
    {false, TERN__ROLE_##role, gguf, hf, TERN__SIZE_##rows, TERN__SIZE_##columns},
#define LAYER_PART(id, role, gguf, hf, rows, columns, field) \
    {true, TERN__ROLE_##role, gguf, hf, TERN__SIZE_##rows, TERN__SIZE_##columns},
#include "model/arch/parts.def"
};

const tern__part *tern__part_get(tern__part_id id)
{
    return &parts[id];
}

bool tern__part_is_vector(const tern__part *part)
{
    return part->role == TERN__ROLE_NORM || part->role == TERN__ROLE_SUB_NORM;
}

static int64_t size_of(tern__size size, const tern__part_shape *s)
{
    switch (size) {
    case TERN__SIZE_ONE:
        return 1;
    case TERN__SIZE_WIDTH:
        return s->width;
    case TERN__SIZE_HEADS:
        return s->heads * s->head_width;
    case TERN__SIZE_KV_HEADS:
        return s->kv_heads * s->head_width;
    case TERN__SIZE_FEED_FORWARD:
        return s->feed_forward;
    case TERN__SIZE_VOCABULARY:
        return s->vocabulary;
    case TERN__SIZE_COUNT:
        break;
    }
    return 0;
}

int64_t tern__part_rows(const tern__part *part, const tern__part_shape *s)
{
    return size_of(part->rows, s);
}

int64_t tern__part_columns(const tern__part *part, const tern__part_shape *s)
{
    return size_of(part->columns, s);
}

/* ---- names ---- */

static const char *const layer_starts[] = {[TERN__NAMES_GGUF] = "blk.", [TERN__NAMES_HF] = "model.layers."};

static const char *word_of(tern__naming naming, tern__part_id id, const tern__architecture *a)
{
    return naming == TERN__NAMES_GGUF ? parts[id].gguf : tern__part_module(id, a);
}

const char *tern__part_name(const tern__part *part, int64_t layer, char out[static TERN__PART_NAME])
{
    tern__part_compose(TERN__NAMES_GGUF, (tern__part_id)(part - parts), NULL, layer, ".weight", out,
                       TERN__PART_NAME);
    return out;
}

void tern__part_compose(tern__naming naming, tern__part_id id, const tern__architecture *a, int64_t layer,
                        const char *suffix, char *out, size_t room)
{
    const char *word = word_of(naming, id, a);
    if (!word)
        *out = 0;
    else if (parts[id].in_layer)
        snprintf(out, room, "%s%lld.%s%s", layer_starts[naming], (long long)layer, word, suffix);
    else
        snprintf(out, room, "%s%s", word, suffix);
}

/* What stands behind "blk.12."; NULL if a name does not begin with a layer. */
static const char *behind_layer(tern__naming naming, const char *name, int64_t *layer)
{
    const size_t start = strlen(layer_starts[naming]);
    if (strncmp(name, layer_starts[naming], start) != 0)
        return NULL;
    const char *digits = name + start, *at = digits;
    int64_t number = 0;
    for (; *at >= '0' && *at <= '9' && number < TERN__MOST_LAYERS; at++)
        number = number * 10 + (*at - '0');
    if (at == digits || *at != '.' || number >= TERN__MOST_LAYERS || (*digits == '0' && at > digits + 1))
        return NULL;
    *layer = number;
    return at + 1;
}

/* Is it what any architecture calls the part? */
static bool is_called(tern__naming naming, tern__part_id id, const char *word, size_t length)
{
    const tern__architecture *a;
    for (int i = 0; (a = tern__architecture_get(i)); i++) {
        const char *own = word_of(naming, id, a);
        if (own && strlen(own) == length && memcmp(own, word, length) == 0)
            return true;
    }
    return false;
}

tern__part_id tern__part_parse(tern__naming naming, const char *name, int64_t *layer, const char **suffix)
{
    *layer = -1;
    const char *rest = behind_layer(naming, name, layer), *word = rest ? rest : name;
    const char *dot = strrchr(word, '.');
    *suffix = dot ? dot : word + strlen(word);
    for (int i = 0; dot && i < TERN__PART_COUNT; i++)
        if (parts[i].in_layer == (rest != NULL) &&
            is_called(naming, (tern__part_id)i, word, (size_t)(dot - word)))
            return (tern__part_id)i;
    return TERN__PART_COUNT;
}

const tern__part *tern__part_of(const char *name, int64_t *layer)
{
    const char *suffix;
    const tern__part_id id = tern__part_parse(TERN__NAMES_GGUF, name, layer, &suffix);
    *layer = *layer < 0 ? 0 : *layer;
    return id < TERN__PART_COUNT && strcmp(suffix, ".weight") == 0 ? &parts[id] : NULL;
}

bool tern__part_is_linear(const char *name)
{
    int64_t layer;
    const tern__part *part = tern__part_of(name, &layer);
    return part && part->role == TERN__ROLE_LINEAR;
}

tern_status tern__table_of(const tern_model_file *file, int *table)
{
    char name[TERN__PART_NAME];
    return tern_model_file_find(file, tern__part_name(&parts[TERN__PART_TABLE], 0, name), table);
}

tern_status tern__head_of(const tern_model_file *file, int *head, bool *tied)
{
    char name[TERN__PART_NAME];
    *tied = tern_model_file_find(file, tern__part_name(&parts[TERN__PART_HEAD], 0, name), head) != TERN_OK;
    return *tied ? tern__table_of(file, head) : TERN_OK;
}

/* ---- of <tern/model_file.h>, but questions about parts and architectures ---- */

int64_t tern_model_file_vocabulary(const tern_model_file *file)
{
    tern_file_tensor t;
    int i;
    return file && tern__table_of(file, &i) == TERN_OK && tern_model_file_tensor(file, i, &t) == TERN_OK &&
                   t.rank == 2
               ? t.shape[0]
               : 0;
}

bool tern_model_file_runs_ternary(const tern_model_file *file, int i)
{
    tern_file_tensor t;
    if (!file || tern_model_file_tensor(file, i, &t) != TERN_OK)
        return false;
    const tern_stored_kind kind = tern_stored_get(t.stored)->kind;
    return kind == TERN_STORED_PLAIN ? t.rank == 2 && tern__part_is_linear(t.name) && tern__says_ternary(file)
                                     : kind == TERN_STORED_TERNARY;
}

const char *tern__part_module(tern__part_id id, const tern__architecture *a)
{
    return id == TERN__PART_ATTN_SUB_NORM  ? a->hf_attn_sub_norm
           : id == TERN__PART_FFN_SUB_NORM ? a->hf_ffn_sub_norm
                                           : parts[id].hf;
}
