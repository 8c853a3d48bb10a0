/* hf_names.c - Hugging Face's names of tensors and GGUF's. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/file/codec.h"
#include "model/file/hf.h"
#include "model/file/load.h"
#include "model/file/stored.h"
#include "model/arch/hparams.h"
#include "model/arch/parts.h"

/* From one's words to the other's. Of a layer whatever stands behind a part goes along, such as ".weight_scale"; outside of layers only
 * weights are known. False if there is no other name. */
static bool translate(tern__naming from, const char *name, tern__naming to, const tern__architecture *a,
                      char *out, size_t room)
{
    int64_t layer;
    const char *suffix;
    const tern__part_id id = tern__part_parse(from, name, &layer, &suffix);
    if (id == TERN__PART_COUNT || (layer < 0 && strcmp(suffix, ".weight") != 0))
        return false;
    tern__part_compose(to, id, a, layer, suffix, out, room);
    return *out;
}

tern_status tern__hf_name(tern_model_file *file, const char *stored_name, const char **out)
{
    char name[TERN__MOST_NAME + 16];
    *out = stored_name;
    if (!translate(TERN__NAMES_HF, stored_name, TERN__NAMES_GGUF, NULL, name, sizeof name))
        return TERN_OK;
    *out = tern__arena_strndup(&file->arena, name, strlen(name));
    return *out ? TERN_OK : tern__out_of_memory(strlen(name) + 1);
}

void tern__hf_name_of(const char *name, const tern__architecture *a, char *out)
{
    const size_t room = TERN__MOST_NAME + 16;
    if (!translate(TERN__NAMES_GGUF, name, TERN__NAMES_HF, a, out, room))
        snprintf(out, room, "%s", name);
}

/* A size of config.json; 0: it says none, or none that a model could have. */
static int64_t size_said(const tern_model_file *file, const tern__architecture *a, tern__hparam id)
{
    char key[TERN__ARCH_KEY];
    int64_t size;
    return tern_model_file_get_int(file, tern__hparam_key(a->name, id, key), &size) == TERN_OK && size > 0 &&
                   size <= TERN__MOST_WIDTH
               ? size
               : 0;
}

/* Rows that config.json promises for a weight; 0: it does not say. */
static int64_t rows_promised(const tern_model_file *file, const char *name)
{
    const tern__architecture *a = tern__architecture_in(file);
    int64_t layer;
    const tern__part *part = tern__part_of(name, &layer);
    if (!a || !part || !part->in_layer)
        return 0;
    tern__part_shape s = {.width = size_said(file, a, TERN__HPARAM_WIDTH),
                          .heads = size_said(file, a, TERN__HPARAM_HEADS),
                          .kv_heads = size_said(file, a, TERN__HPARAM_KV_HEADS),
                          .head_width = size_said(file, a, TERN__HPARAM_HEAD_WIDTH),
                          .feed_forward = size_said(file, a, TERN__HPARAM_FEED_FORWARD)};
    if (s.head_width == 0 && s.heads > 0)
        s.head_width = s.width / s.heads;
    return tern__part_rows(part, &s);
}

tern_status tern__hf_find_packed(tern_model_file *file)
{
    const int planes = tern__codec_planes(TERN_STORED_HF_T2);
    for (size_t i = 0; i < file->n_tensors; i++) {
        tern_file_tensor *t = &file->tensors[i];
        if (t->stored != TERN_STORED_U8 || t->rank != 2 || tern__scale_of(file, t) < 0)
            continue;
        TERN__FAIL_IF(!tern__i64_mul(t->shape[0], planes, &t->shape[0]), TERN_FORMAT,
                      "%s: tensor '%s' is too large", file->parts[t->part].path, t->stored_name);
        t->stored = TERN_STORED_HF_T2;
        int64_t rows = rows_promised(file, t->name); /* the last plane may be short of some */
        if (rows < t->shape[0] && rows > t->shape[0] - planes)
            t->shape[0] = rows;
    }
    return TERN_OK;
}
