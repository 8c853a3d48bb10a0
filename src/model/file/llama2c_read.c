/* llama2c_read.c - llama2.c's .bin, version 0: seven i32, then f32 tensors in a fixed order, by kind and then by layer. It has
 * no magic number: a file is one if its length is exactly what its seven numbers make it. */
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "model/file/llama2c.h"
#include "model/file/model_file.h"
#include "model/arch/hparams.h"

const tern__part_id tern__llama2c_order[TERN__LLAMA2C_PARTS] = {
    TERN__PART_TABLE, TERN__PART_ATTN_NORM, TERN__PART_Q,           TERN__PART_K,
    TERN__PART_V,     TERN__PART_O,         TERN__PART_FFN_NORM,    TERN__PART_GATE,
    TERN__PART_DOWN,  TERN__PART_UP,        TERN__PART_OUTPUT_NORM, TERN__PART_HEAD,
};

/* Adds one tensor, or one for each layer, behind the last. */
typedef struct cursor {
    tern_model_file *file;
    const tern__llama2c_shape *s;
    int64_t at;  /* byte; -1 once it has wrapped */
    bool adding; /* or only counting */
} cursor;

static tern_status step(cursor *c, const char *name, int rank, int64_t rows, int64_t columns)
{
    tern_file_tensor t = {.stored = TERN_STORED_F32, .rank = rank};
    int64_t bytes;
    t.shape[0] = rows;
    t.shape[rank - 1] = columns;
    bool fits = c->at >= 0 && tern__i64_mul(rows, columns, &bytes) && tern__i64_mul(bytes, 4, &bytes);
    int64_t start = c->at;
    if (!fits || !tern__i64_add(c->at, bytes, &c->at)) {
        c->at = -1;
        return TERN_OK;
    }
    if (!c->adding || !name)
        return TERN_OK;
    t.offset = (uint64_t)start;
    t.bytes = (uint64_t)bytes;
    TERN_TRY(tern__model_file_name(c->file, "a tensor", name, strlen(name), &t.name));
    t.stored_name = t.name;
    return tern__model_file_add_tensor(c->file, &t);
}

static tern_status step_part(cursor *c, tern__part_id id)
{
    const tern__llama2c_shape *s = c->s;
    const tern__part *part = tern__part_get(id);
    const int64_t sizes[TERN__SIZE_COUNT] = {[TERN__SIZE_ONE] = 1,
                                             [TERN__SIZE_WIDTH] = s->dim,
                                             [TERN__SIZE_HEADS] = s->dim,
                                             [TERN__SIZE_KV_HEADS] = s->dim / s->heads * s->kv_heads,
                                             [TERN__SIZE_FEED_FORWARD] = s->hidden,
                                             [TERN__SIZE_VOCABULARY] = s->vocabulary};
    for (int64_t i = 0; i < (part->in_layer ? s->layers : 1); i++) {
        char name[TERN__PART_NAME];
        TERN_TRY(step(c, tern__part_name(part, i, name), tern__part_is_vector(part) ? 1 : 2,
                      sizes[part->rows], sizes[part->columns]));
    }
    return TERN_OK;
}

static tern_status walk(cursor *c)
{
    for (int i = 0; i < TERN__LLAMA2C_PARTS; i++) {
        const tern__part_id id = tern__llama2c_order[i];
        if (id ==
            TERN__PART_HEAD) /* cosines and sines, half a head each, stand before it: computed, not read */
            TERN_TRY(step(c, NULL, 2, c->s->context, c->s->dim / c->s->heads));
        if (id != TERN__PART_HEAD || c->s->untied)
            TERN_TRY(step_part(c, id));
    }
    return TERN_OK;
}

/* Seven numbers; *makes_sense says whether a model can have them. */
static tern_status read_shape(const tern__file *part, tern__llama2c_shape *s, bool *makes_sense)
{
    tern__reader r = {.file = part};
    int32_t n[TERN__LLAMA2C_HEADER / 4] = {0};
    tern_status status = TERN_OK;
    for (size_t i = 0; i < TERN__COUNT(n) && status == TERN_OK; i++) {
        uint32_t word = 0;
        status = tern__reader_u32(&r, "the header", &word);
        n[i] = (int32_t)word;
    }
    tern__reader_free(&r);
    *s =
        (tern__llama2c_shape){n[0], n[1], n[2], n[3], n[4], n[5] < 0 ? -(int64_t)n[5] : n[5], n[6], n[5] < 0};
    *makes_sense = s->dim > 0 && s->hidden > 0 && s->layers > 0 && s->layers <= TERN__MOST_LAYERS &&
                   s->heads > 0 && s->kv_heads > 0 && s->vocabulary > 0 && s->context > 0 &&
                   s->dim % s->heads == 0 && s->heads % s->kv_heads == 0 && s->dim / s->heads % 2 == 0;
    return status;
}

static tern_status add_metadata(tern_model_file *file, const tern__llama2c_shape *s)
{
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"llama.vocab_size", s->vocabulary},
        {"llama.context_length", s->context},
        {"llama.embedding_length", s->dim},
        {"llama.block_count", s->layers},
        {"llama.feed_forward_length", s->hidden},
        {"llama.attention.head_count", s->heads},
        {"llama.attention.head_count_kv", s->kv_heads},
        {"llama.rope.dimension_count", s->dim / s->heads},
        {"tokenizer.ggml.bos_token_id", 1},
        {"tokenizer.ggml.eos_token_id", 2},
    };
    TERN_TRY(tern__model_file_add_string(file, "general.architecture", "llama", 5));
    for (size_t i = 0; i < TERN__COUNT(numbers); i++)
        TERN_TRY(tern__model_file_add_int(file, numbers[i].key, numbers[i].value));
    TERN_TRY(tern__model_file_add_float(file, "llama.attention.layer_norm_rms_epsilon", 1e-5));
    TERN_TRY(tern__model_file_add_float(file, "llama.rope.freq_base", 10000));
    return tern__model_file_add_string(file, "tern.rope_style", "interleaved", 11);
}

tern_status tern__llama2c_parse(tern_model_file *file)
{
    static const char unknown[] = "%s: not a model file: neither GGUF, nor safetensors, nor llama2.c";
    const tern__file *part = &file->parts[0];
    uint8_t start[8] = {0};
    tern__llama2c_shape s;
    bool makes_sense;
    TERN__FAIL_IF(part->bytes < TERN__LLAMA2C_HEADER, TERN_FORMAT, unknown, part->path);
    TERN_TRY(tern__file_read(part, 0, start, sizeof start));
    TERN__FAIL_IF(memcmp(start, "24ka", 4) == 0, TERN_UNSUPPORTED,
                  "%s: llama2.c of version %d; only version 0, in f32, can be read", part->path, start[4]);
    TERN_TRY(read_shape(part, &s, &makes_sense));
    TERN__FAIL_IF(!makes_sense, TERN_FORMAT, unknown, part->path);
    cursor c = {.file = file, .s = &s, .at = TERN__LLAMA2C_HEADER};
    TERN_TRY(walk(&c));
    TERN__FAIL_IF(c.at < 0 || (uint64_t)c.at != part->bytes, TERN_FORMAT,
                  "%s: not a model file; or a llama2.c file of %llu bytes where its header makes it %lld",
                  part->path, (unsigned long long)part->bytes, (long long)c.at);
    c = (cursor){.file = file, .s = &s, .at = TERN__LLAMA2C_HEADER, .adding = true};
    TERN_TRY(walk(&c));
    return add_metadata(file, &s);
}
