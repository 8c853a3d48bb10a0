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

/* Is `module` what any architecture calls a part? */
static bool is_module(tern__part_id id, const char *module, size_t length)
{
    const tern__architecture *a;
    for (int i = 0; (a = tern__architecture_get(i)); i++) {
        const char *own = tern__part_module(id, a);
        if (own && strlen(own) == length && memcmp(own, module, length) == 0)
            return true;
    }
    return false;
}

/* "model.layers.12.self_attn.q_proj.weight" -> "blk.12.attn_q.weight"; "" if it is none of ours. */
static void layer_name(const char *name, char *out, size_t room)
{
    static const char start[] = "model.layers.";
    *out = 0;
    if (strncmp(name, start, strlen(start)) != 0)
        return;
    const char *number = name + strlen(start);
    size_t digits = 0;
    while (number[digits] >= '0' && number[digits] <= '9')
        digits++;
    const char *module = number + digits + 1, *last = strrchr(name, '.');
    if (digits == 0 || digits > 6 || number[digits] != '.' || last < module)
        return;
    size_t length = (size_t)(last - module);
    for (int i = TERN__PART_LAYER_BEGIN; i < TERN__PART_LAYER_END; i++)
        if (is_module((tern__part_id)i, module, length))
            snprintf(out, room, "blk.%.*s.%s%s", (int)digits, number, tern__part_get((tern__part_id)i)->gguf,
                     last);
}

/* "lm_head.weight" -> "output.weight" */
static void model_name(const char *name, char *out)
{
    const char *last = strrchr(name, '.');
    for (int i = 0; i < TERN__PART_COUNT && last && strcmp(last, ".weight") == 0; i++) {
        const tern__part *part = tern__part_get((tern__part_id)i);
        if (!part->in_layer && is_module((tern__part_id)i, name, (size_t)(last - name)))
            tern__part_name(part, 0, out);
    }
}

tern_status tern__hf_name(tern_model_file *file, const char *stored_name, const char **out)
{
    char name[TERN__MOST_NAME + 16];
    layer_name(stored_name, name, sizeof name);
    model_name(stored_name, name);
    *out = stored_name;
    if (!*name)
        return TERN_OK;
    *out = tern__arena_strndup(&file->arena, name, strlen(name));
    return *out ? TERN_OK : tern__out_of_memory(strlen(name) + 1);
}

void tern__hf_name_of(const char *name, const tern__architecture *a, char *out)
{
    const size_t room = TERN__MOST_NAME + 16;
    const char *last = strrchr(name, '.');
    char number[8] = "";
    int at = 0;
    snprintf(out, room, "%s", name);
    const bool in_layer = sscanf(name, "blk.%7[0-9].%n", number, &at) == 1 && at > 0;
    const char *own = name + (in_layer ? at : 0);
    for (int i = 0; i < TERN__PART_COUNT && last > own; i++) {
        const tern__part *part = tern__part_get((tern__part_id)i);
        const char *module = tern__part_module((tern__part_id)i, a);
        if (!module || part->in_layer != in_layer || strlen(part->gguf) != (size_t)(last - own) ||
            memcmp(part->gguf, own, (size_t)(last - own)) != 0)
            continue;
        if (in_layer)
            snprintf(out, room, "model.layers.%s.%s%s", number, module, last);
        else if (strcmp(last, ".weight") == 0)
            snprintf(out, room, "%s%s", module, last);
    }
}

/* A size of config.json; 0: it says none, or none that a model could have. */
static int64_t size_said(const tern_model_file *file, const tern__architecture *a, const char *name)
{
    char key[TERN__ARCH_KEY];
    int64_t size;
    return tern_model_file_get_int(file, tern__arch_key(a->name, name, key), &size) == TERN_OK && size > 0 &&
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
    tern__part_shape s = {.width = size_said(file, a, "embedding_length"),
                          .heads = size_said(file, a, "attention.head_count"),
                          .kv_heads = size_said(file, a, "attention.head_count_kv"),
                          .head_width = size_said(file, a, "attention.key_length"),
                          .feed_forward = size_said(file, a, "feed_forward_length")};
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
