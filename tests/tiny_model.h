/* tiny_model.h - a model file small enough for every test run, made byte by byte: GGUF, all tensors f32. */
#ifndef TERN_TESTS_TINY_MODEL_H
#define TERN_TESTS_TINY_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    TINY_VOCABULARY = 48,
    TINY_WIDTH = 32,
    TINY_LAYERS = 2,
    TINY_HEADS = 4,
    TINY_KV_HEADS = 2,
    TINY_FF = 40,
    TINY_CONTEXT = 64,
};

typedef struct tiny_file {
    FILE *f;
    uint64_t offset; /* of the next tensor's data */
    int n;
    struct {
        int64_t rows, columns; /* columns 0 = a vector */
    } tensors[64];
} tiny_file;

static inline void tiny_u32(tiny_file *t, uint32_t value)
{
    fwrite(&value, sizeof value, 1, t->f);
}

static inline void tiny_u64(tiny_file *t, uint64_t value)
{
    fwrite(&value, sizeof value, 1, t->f);
}

static inline void tiny_text(tiny_file *t, const char *text)
{
    tiny_u64(t, strlen(text));
    fwrite(text, 1, strlen(text), t->f);
}

static inline void tiny_meta(tiny_file *t, const char *architecture, const char *name, uint32_t value)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", architecture, name);
    tiny_text(t, key);
    tiny_u32(t, 4);
    tiny_u32(t, value);
}

static inline void tiny_tensor(tiny_file *t, const char *name, int64_t rows, int64_t columns)
{
    tiny_text(t, name);
    tiny_u32(t, columns ? 2 : 1);
    if (columns)
        tiny_u64(t, (uint64_t)columns);
    tiny_u64(t, (uint64_t)rows);
    tiny_u32(t, 0);
    tiny_u64(t, t->offset);
    uint64_t size = (uint64_t)rows * (uint64_t)(columns ? columns : 1) * sizeof(float);
    t->offset += (size + 31) & ~(uint64_t)31;
    t->tensors[t->n].rows = rows;
    t->tensors[t->n++].columns = columns;
}

static inline void tiny_layer(tiny_file *t, int layer, bool sub_norms)
{
    const int kv = TINY_WIDTH / TINY_HEADS * TINY_KV_HEADS;
    const struct {
        const char *part;
        int64_t rows, columns;
        bool there;
    } parts[] = {
        {"attn_norm", TINY_WIDTH, 0, true},
        {"attn_q", TINY_WIDTH, TINY_WIDTH, true},
        {"attn_k", kv, TINY_WIDTH, true},
        {"attn_v", kv, TINY_WIDTH, true},
        {"attn_sub_norm", TINY_WIDTH, 0, sub_norms},
        {"attn_output", TINY_WIDTH, TINY_WIDTH, true},
        {"ffn_norm", TINY_WIDTH, 0, true},
        {"ffn_gate", TINY_FF, TINY_WIDTH, true},
        {"ffn_up", TINY_FF, TINY_WIDTH, true},
        {"ffn_sub_norm", TINY_FF, 0, sub_norms},
        {"ffn_down", TINY_WIDTH, TINY_FF, true},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, parts[i].part);
        if (parts[i].there)
            tiny_tensor(t, name, parts[i].rows, parts[i].columns);
    }
}

/* Matrices of an architecture called bitnet-... are exactly ternary; everything is a function of the place. */
static inline void tiny_data(tiny_file *t, bool ternary)
{
    uint32_t random = 1;
    while (ftell(t->f) % 32 != 0)
        fputc(0, t->f);
    for (int i = 0; i < t->n; i++) {
        bool matrix = t->tensors[i].columns > 0;
        int64_t count = t->tensors[i].rows * (matrix ? t->tensors[i].columns : 1);
        for (int64_t k = 0; k < count; k++) {
            random = random * 1664525u + 1013904223u;
            float uniform = (float)(random >> 8) / 16777216.0f; /* in [0, 1) */
            float value = !matrix            ? 0.5f + uniform
                          : ternary && i > 0 ? (float)((int)(uniform * 3) - 1) * 0.125f
                                             : uniform - 0.5f;
            fwrite(&value, sizeof value, 1, t->f);
        }
        while (ftell(t->f) % 32 != 0)
            fputc(0, t->f);
    }
}

/* `architecture`: "bitnet-b1.58", "bitnet" or "llama". `window` 0: attention has none. */
static inline bool tiny_windowed_model(const char *path, const char *architecture, uint32_t window)
{
    bool ternary = strncmp(architecture, "bitnet", 6) == 0;
    tiny_file t = {.f = fopen(path, "wb")};
    if (!t.f)
        return false;
    fwrite("GGUF", 1, 4, t.f);
    tiny_u32(&t, 3);
    tiny_u64(&t, 2 + TINY_LAYERS * (ternary ? 11u : 9u));
    tiny_u64(&t, window ? 9 : 8);
    tiny_text(&t, "general.architecture");
    tiny_u32(&t, 8);
    tiny_text(&t, architecture);
    tiny_meta(&t, architecture, "block_count", TINY_LAYERS);
    tiny_meta(&t, architecture, "embedding_length", TINY_WIDTH);
    tiny_meta(&t, architecture, "feed_forward_length", TINY_FF);
    tiny_meta(&t, architecture, "context_length", TINY_CONTEXT);
    tiny_meta(&t, architecture, "attention.head_count", TINY_HEADS);
    tiny_meta(&t, architecture, "attention.head_count_kv", TINY_KV_HEADS);
    if (window)
        tiny_meta(&t, architecture, "attention.sliding_window", window);
    char key[128];
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", architecture);
    tiny_text(&t, key);
    tiny_u32(&t, 6);
    fwrite(&(float){1e-5f}, sizeof(float), 1, t.f);
    tiny_tensor(&t, "token_embd.weight", TINY_VOCABULARY, TINY_WIDTH);
    tiny_tensor(&t, "output_norm.weight", TINY_WIDTH, 0);
    for (int i = 0; i < TINY_LAYERS; i++)
        tiny_layer(&t, i, ternary);
    tiny_data(&t, ternary);
    bool written = !ferror(t.f);
    return fclose(t.f) == 0 && written;
}

static inline bool tiny_model(const char *path, const char *architecture)
{
    return tiny_windowed_model(path, architecture, 0);
}

#endif
