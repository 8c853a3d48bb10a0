/* parts.c - rows of parts.def. */
#include "model/arch/parts.h"

#include <stdio.h>

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

const char *tern__part_name(const tern__part *part, int64_t layer, char out[static TERN__PART_NAME])
{
    if (part->in_layer)
        snprintf(out, TERN__PART_NAME, "blk.%lld.%s.weight", (long long)layer, part->gguf);
    else
        snprintf(out, TERN__PART_NAME, "%s.weight", part->gguf);
    return out;
}

const char *tern__part_module(tern__part_id id, const tern__architecture *a)
{
    return id == TERN__PART_ATTN_SUB_NORM  ? a->hf_attn_sub_norm
           : id == TERN__PART_FFN_SUB_NORM ? a->hf_ffn_sub_norm
                                           : parts[id].hf;
}
