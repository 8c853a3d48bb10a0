/* parts.c - rows of parts.def, and which of them a tensor is. */
#include "model/arch/parts.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

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

const char *tern__part_name(const tern__part *part, int64_t layer, char out[static TERN__PART_NAME])
{
    if (part->in_layer)
        snprintf(out, TERN__PART_NAME, "blk.%lld.%s.weight", (long long)layer, part->gguf);
    else
        snprintf(out, TERN__PART_NAME, "%s.weight", part->gguf);
    return out;
}

const tern__part *tern__part_of(const char *name, int64_t *layer)
{
    long long number = 0;
    char own[TERN__PART_NAME];
    /* What is not written as we would write it is found out by writing it. */
    const bool in_layer = sscanf(name, "blk.%9lld.", &number) == 1;
    *layer = in_layer ? number : 0;
    for (size_t i = 0; i < TERN__COUNT(parts) && *layer >= 0; i++)
        if (parts[i].in_layer == in_layer && strcmp(tern__part_name(&parts[i], *layer, own), name) == 0)
            return &parts[i];
    return NULL;
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
