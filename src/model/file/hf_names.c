/* hf_names.c - Hugging Face's names of tensors and GGUF's. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/file/hf.h"
#include "model/file/stored.h"

typedef struct pair {
    const char *hf, *gguf;
} pair;

/* What stands between "model.layers.N." and ".weight" or another last word. */
static const pair modules[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.attn_sub_norm", "attn_sub_norm"},
    {"self_attn.inner_attn_ln", "attn_sub_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.ffn_sub_norm", "ffn_sub_norm"},
    {"mlp.ffn_layernorm", "ffn_sub_norm"},
};

static const pair wholes[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
};

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
    for (size_t i = 0; i < TERN__COUNT(modules); i++) {
        if (strlen(modules[i].hf) == length && memcmp(modules[i].hf, module, length) == 0)
            snprintf(out, room, "blk.%.*s.%s%s", (int)digits, number, modules[i].gguf, last);
    }
}

tern_status tern__hf_name(tern_model_file *file, const char *stored_name, const char **out)
{
    char name[TERN__MOST_NAME + 16];
    layer_name(stored_name, name, sizeof name);
    *out = stored_name;
    for (size_t i = 0; i < TERN__COUNT(wholes); i++) {
        if (strcmp(wholes[i].hf, stored_name) == 0)
            *out = wholes[i].gguf;
    }
    if (!*name)
        return TERN_OK;
    *out = tern__arena_strndup(&file->arena, name, strlen(name));
    return *out ? TERN_OK : tern__out_of_memory(strlen(name) + 1);
}

void tern__hf_name_of(const char *name, const char *architecture, char *out)
{
    const size_t room = TERN__MOST_NAME + 16;
    bool later = strcmp(architecture, "bitnet") == 0; /* of two names, that of family A comes second */
    const char *found = NULL, *last = strrchr(name, '.');
    char number[8] = "";
    int at = 0;
    snprintf(out, room, "%s", name);
    for (size_t i = 0; i < TERN__COUNT(wholes); i++) {
        if (strcmp(wholes[i].gguf, name) == 0)
            snprintf(out, room, "%s", wholes[i].hf);
    }
    if (sscanf(name, "blk.%7[0-9].%n", number, &at) != 1 || at == 0 || last <= name + at)
        return;
    size_t length = (size_t)(last - name) - (size_t)at;
    for (size_t i = 0; i < TERN__COUNT(modules); i++) {
        bool same = strlen(modules[i].gguf) == length && memcmp(modules[i].gguf, name + at, length) == 0;
        if (same && (!found || later))
            found = modules[i].hf;
    }
    if (found)
        snprintf(out, room, "model.layers.%s.%s%s", number, found, last);
}

/* Rows that config.json promises for a weight; 0: it does not say. */
static int64_t rows_promised(const tern_model_file *file, const char *name)
{
    static const pair sizes[] = {{".ffn_gate.weight", "feed_forward_length"},
                                 {".ffn_up.weight", "feed_forward_length"},
                                 {".ffn_down.weight", "embedding_length"},
                                 {".attn_output.weight", "embedding_length"}};
    const char *architecture;
    char key[TERN__MOST_NAME + 1];
    int64_t rows = 0;
    if (tern_model_file_get_string(file, "general.architecture", &architecture) != TERN_OK)
        return 0;
    for (size_t i = 0; i < TERN__COUNT(sizes); i++) {
        size_t n = strlen(name), m = strlen(sizes[i].hf);
        if (n > m && strcmp(name + n - m, sizes[i].hf) == 0 &&
            snprintf(key, sizeof key, "%s.%s", architecture, sizes[i].gguf) < (int)sizeof key &&
            tern_model_file_get_int(file, key, &rows) != TERN_OK)
            rows = 0;
    }
    return rows;
}

tern_status tern__hf_find_packed(tern_model_file *file)
{
    static const char last[] = ".weight";
    for (size_t i = 0; i < file->n_tensors; i++) {
        tern_file_tensor *t = &file->tensors[i];
        char name[TERN__MOST_NAME + 16];
        size_t length = strlen(t->stored_name);
        int sibling;
        if (t->stored != TERN_STORED_U8 || t->rank != 2 || length < sizeof last ||
            strcmp(t->stored_name + length - strlen(last), last) != 0)
            continue;
        snprintf(name, sizeof name, "%s_scale", t->stored_name);
        if (!tern__directory_find(file->stored_names, name, &sibling))
            continue;
        TERN__FAIL_IF(!tern__i64_mul(t->shape[0], 4, &t->shape[0]), TERN_FORMAT,
                      "%s: tensor '%s' is too large", file->parts[t->part].path, t->stored_name);
        t->stored = TERN_STORED_HF_T2;
        int64_t rows = rows_promised(file, t->name); /* the last of the four planes may be short of some */
        if (rows < t->shape[0] && rows > t->shape[0] - 4)
            t->shape[0] = rows;
    }
    return TERN_OK;
}
