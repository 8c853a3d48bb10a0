/* synth.c - random models of any shape, for benchmarks and tests: GGUF files that load and run like trained ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/status.h"
#include "model/file/codec.h"
#include "model/convert/gguf_meta.h"
#include "model/convert/model_writer.h"
#include "model/file/stored.h"
#include "model/tokenizer/vocab.h"
#include "model/arch/hparams.h"
#include "model/arch/parts.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"

/* clang-format off */
static const tern_model_shape shapes[] = {
    /* name            architecture    layers  width    ff  heads  kv   vocabulary  context  rope */
    {"bitnet-2b-4t",   "bitnet-b1.58", 30,     2560,  6912, 20,     5,  128256,     4096,    500000},
    {"bitnet-large",   "bitnet",       24,     1536,  4096, 16,    16,   32002,     2048,     10000},
    {"llama3-8b",      "llama",        32,     4096, 14336, 32,     8,  128256,     8192,    500000},
    {"small",          "bitnet-b1.58",  4,      512,  1536,  8,     2,    4096,     1024,    500000},
    {"tiny",           "bitnet-b1.58",  2,      256,   512,  4,     2,     512,      256,    500000},
};
/* clang-format on */

tern_status tern_model_shape_get(int i, tern_model_shape *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "model_shape_get: the output is NULL");
    TERN__FAIL_IF(i < 0 || (size_t)i >= TERN__COUNT(shapes), TERN_OUT_OF_RANGE,
                  "model_shape_get: shape %d: there are %zu", i, TERN__COUNT(shapes));
    *out = shapes[i];
    return TERN_OK;
}

tern_status tern_model_shape_find(const char *name, tern_model_shape *out)
{
    TERN__FAIL_IF(!name || !out, TERN_INVALID_ARGUMENT, "model_shape_find: an argument is NULL");
    for (size_t i = 0; i < TERN__COUNT(shapes); i++) {
        if (strcmp(shapes[i].name, name) == 0) {
            *out = shapes[i];
            return TERN_OK;
        }
    }
    return tern__fail(TERN_NOT_FOUND, "there is no shape '%s'", name);
}

tern_synth_options tern_synth_options_default(void)
{
    return (tern_synth_options){
        .type = TERN_STORED_I2_S, .embedding = TERN_STORED_F16, .head = TERN_STORED_AS_IS};
}

/* ---- random rows --------------------------------------------------------------------------------------------------- */

enum { CHUNK = 1 << 20 };

typedef struct filling {
    tern__model_writer *w;
    uint64_t seed;    /* of this tensor */
    uint64_t counter; /* of blocks of 16 random bytes used */
    uint8_t *chunk;   /* (CHUNK) */
    float *row;       /* (columns) */
    uint8_t *encoded; /* (bytes of a row) */
} filling;

static void random_bytes(filling *f, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        uint32_t words[4];
        tern__philox(f->seed, f->counter++, words);
        memcpy(out + i, words, n - i < 16 ? n - i : 16);
    }
}

/* Blocks of random codes of a ternary type that GGUF has, and one scale for all; in f16 the nearest to it. */
static tern_status fill_codes(filling *f, tern_stored stored, int64_t elements, float scale)
{
    const tern_stored_info *info = tern_stored_get(stored);
    const tern__codec *codec = tern__codec_get(stored);
    const size_t block = (size_t)info->block_bytes, at_once = CHUNK / block,
                 codes = block - (codec->scales == TERN__SCALES_BLOCKS ? sizeof(uint16_t) : 0);
    uint8_t table[256], tail[TERN__SCALE_TAIL] = {0};
    uint16_t half;
    tern__convert(TERN_F32, &scale, 1, TERN_F16, &half, 1, 1);
    for (int i = 0; i < 256; i++)
        table[i] = codec->any(i);
    for (int64_t left = elements / info->block_elements; left > 0; left -= (int64_t)at_once) {
        size_t n = left < (int64_t)at_once ? (size_t)left : at_once;
        random_bytes(f, f->chunk, n * block);
        for (size_t b = 0; b < n; b++) {
            uint8_t *bytes = f->chunk + b * block;
            for (size_t i = 0; i < codes; i++)
                bytes[i] = table[bytes[i]];
            memcpy(bytes + codes, &half, block - codes);
        }
        TERN_TRY(tern__model_writer_write(f->w, f->chunk, n * block));
    }
    memcpy(tail, &scale, sizeof scale);
    return codec->scales == TERN__SCALES_BEHIND ? tern__model_writer_write(f->w, tail, sizeof tail) : TERN_OK;
}

/* Rows of numbers: ternary, which are -scale, 0 and scale (blocks: the f16 nearest to it), or around an offset; as the type has them. */
static tern_status fill_rows(filling *f, tern_stored stored, int64_t rows, int64_t columns, float scale,
                             bool ternary, float offset)
{
    const tern_stored_info *info = tern_stored_get(stored);
    size_t bytes = (size_t)(columns / info->block_elements * info->block_bytes);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            uint16_t word;
            if (c % (CHUNK / 2) == 0)
                random_bytes(f, f->chunk, columns - c < CHUNK / 2 ? (size_t)(columns - c) * 2 : CHUNK);
            memcpy(&word, f->chunk + 2 * (c % (CHUNK / 2)), sizeof word);
            f->row[c] = ternary ? (float)(word % 3) - 1 : offset + scale * ((float)word / 32768 - 1);
        }
        if (ternary && tern__stored_has_blocks(stored))
            tern__blocks_pack_signs(info->dtype, f->row, columns, scale, f->encoded);
        else {
            for (int64_t c = 0; c < columns && ternary; c++)
                f->row[c] *= scale;
            tern__convert_row(TERN_F32, f->row, info->dtype, f->encoded, columns);
        }
        TERN_TRY(tern__model_writer_write(f->w, f->encoded, bytes));
    }
    return TERN_OK;
}

/* ---- the tensors of a model ---------------------------------------------------------------------------------------- */

typedef struct making {
    const tern_model_shape *shape;
    const tern__architecture *architecture;
    tern_synth_options o;
} making;

typedef struct item {
    char name[TERN__PART_NAME];
    const tern__part *part;
    int64_t rows, columns;
} item;

static int64_t item_count(const tern_model_shape *s)
{
    return TERN__PART_COUNT + (s->layers - 1) * TERN__PARTS_OF_LAYER;
}

/* Tensor k; false where this model has none. */
static bool item_at(const making *m, int64_t k, item *out)
{
    const tern_model_shape *s = m->shape;
    const int64_t in_layers = s->layers * TERN__PARTS_OF_LAYER, from_layers = k - TERN__PART_LAYER_BEGIN;
    const tern__part_shape shape = {.width = s->width,
                                    .heads = s->heads,
                                    .kv_heads = s->kv_heads,
                                    .head_width = s->width / s->heads,
                                    .feed_forward = s->feed_forward,
                                    .vocabulary = s->vocabulary};
    const int64_t id = from_layers < 0           ? k
                       : from_layers < in_layers ? TERN__PART_LAYER_BEGIN + from_layers % TERN__PARTS_OF_LAYER
                                                 : k - in_layers + TERN__PARTS_OF_LAYER;
    const tern__part *part = tern__part_get((tern__part_id)id);
    *out = (item){
        .part = part, .rows = tern__part_rows(part, &shape), .columns = tern__part_columns(part, &shape)};
    tern__part_name(part, from_layers / TERN__PARTS_OF_LAYER, out->name);
    return part->role == TERN__ROLE_HEAD       ? m->o.head != TERN_STORED_AS_IS
           : part->role == TERN__ROLE_SUB_NORM ? m->architecture->sub_norms
                                               : true;
}

static tern_stored type_of(const tern_synth_options *o, const tern__part *part)
{
    return part->role == TERN__ROLE_LINEAR  ? o->type
           : part->role == TERN__ROLE_TABLE ? o->embedding
           : part->role == TERN__ROLE_HEAD  ? o->head
                                            : TERN_STORED_F32;
}

static tern_status fill_item(filling *f, const making *m, const item *t)
{
    tern_stored stored = type_of(&m->o, t->part);
    bool ternary = t->part->role == TERN__ROLE_LINEAR && m->architecture->ternary;
    /* two thirds of the codes are not zero, and a uniform number has a third of its bound's energy */
    float scale = sqrtf((ternary || tern_stored_get(stored)->kind == TERN_STORED_TERNARY ? 1.5f : 3.0f) /
                        (float)t->columns);
    tern_status status;
    if (tern__codec_get(stored))
        status = fill_codes(f, stored, t->rows * t->columns, scale);
    else if (tern__part_is_vector(t->part))
        status = fill_rows(f, stored, 1, t->columns, 0.1f, false, 1);
    else
        status = fill_rows(f, stored, t->rows, t->columns, t->part->role == TERN__ROLE_TABLE ? 1 : scale,
                           ternary, 0);
    return status == TERN_OK ? tern__model_writer_pad(f->w) : status;
}

/* ---- metadata ------------------------------------------------------------------------------------------------------ */

/* Bytes, then words that no text has, then beginning and end: enough to put text in and get text out. */
static void add_tokenizer(tern__model_writer *w, int64_t vocabulary)
{
    if (vocabulary < 258 || vocabulary > TERN__MAX_TOKENS)
        return; /* too few for all bytes, or more than a tokenizer has */
    tern__gguf_meta_string(w, "tokenizer.ggml.model", "gpt2", 4);
    tern__gguf_meta_string(w, "tokenizer.ggml.pre", "llama-bpe", 9);
    tern__gguf_meta_begin(w, "tokenizer.ggml.tokens", TERN_META_STRING, vocabulary);
    for (int64_t i = 0; i < vocabulary; i++) {
        char token[32];
        size_t length = i < 256               ? tern__alphabet_encode((uint8_t)i, token)
                        : i >= vocabulary - 2 ? (size_t)snprintf(token, sizeof token, "%s",
                                                                 i == vocabulary - 2 ? "<|bos|>" : "<|eos|>")
                                              : (size_t)snprintf(token, sizeof token, "[%lld]", (long long)i);
        tern__gguf_element_string(w, token, length);
    }
    tern__gguf_meta_begin(w, "tokenizer.ggml.token_type", TERN_META_I32, vocabulary);
    for (int64_t i = 0; i < vocabulary; i++)
        tern__strbuf_add_n(
            &w->metas, (const char *)&(int32_t){i < vocabulary - 2 ? TERN_TOKEN_NORMAL : TERN_TOKEN_CONTROL},
            4);
    tern__gguf_meta_begin(w, "tokenizer.ggml.merges", TERN_META_STRING, 0);
    tern__gguf_meta_u32(w, "tokenizer.ggml.bos_token_id", (uint32_t)vocabulary - 2);
    tern__gguf_meta_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)vocabulary - 1);
    tern__gguf_meta_bool(w, "tokenizer.ggml.add_bos_token", true);
}

/* ---- the whole ----------------------------------------------------------------------------------------------------- */

static tern_status check_shape(const tern_model_shape *s)
{
    const struct {
        const char *name;
        int64_t value, most;
    } sizes[] = {
        {"layers", s->layers, TERN__MOST_LAYERS},
        {"width", s->width, TERN__MOST_WIDTH},
        {"feed-forward width", s->feed_forward, TERN__MOST_WIDTH},
        {"heads", s->heads, TERN__MOST_HEADS},
        {"kv heads", s->kv_heads, TERN__MOST_HEADS},
        {"vocabulary", s->vocabulary, TERN__MOST_VOCABULARY},
        {"context", s->context, TERN__MOST_CONTEXT},
    };
    TERN__FAIL_IF(!s->name || !s->architecture || !*s->architecture, TERN_INVALID_ARGUMENT,
                  "model_synth: the shape has no name or architecture");
    for (size_t i = 0; i < TERN__COUNT(sizes); i++)
        TERN__FAIL_IF(sizes[i].value < 1 || sizes[i].value > sizes[i].most, TERN_SHAPE,
                      "model_synth: %lld %s; from 1 to %lld", (long long)sizes[i].value, sizes[i].name,
                      (long long)sizes[i].most);
    TERN__FAIL_IF(s->width % s->heads || s->heads % s->kv_heads || s->width / s->heads % 2, TERN_SHAPE,
                  "model_synth: width %lld, %lld heads and %lld kv heads do not divide evenly",
                  (long long)s->width, (long long)s->heads, (long long)s->kv_heads);
    return TERN_OK;
}

static tern_status check_type(tern_stored stored, bool ternary_too)
{
    const tern_stored_info *info = tern_stored_get(stored);
    bool can = info && info->gguf_number >= 0 &&
               (tern__stored_holds_weights(stored) || (ternary_too && info->kind == TERN_STORED_TERNARY));
    TERN__FAIL_IF(!can, TERN_DTYPE, "model_synth: weights cannot be written as %s",
                  info ? info->name : "that type");
    return TERN_OK;
}

static tern_status write_all(tern__model_writer *w, const making *m)
{
    const tern_model_shape *s = m->shape;
    item t;
    int64_t longest = s->width > s->feed_forward ? s->width : s->feed_forward;
    tern__gguf_add_shape(w, s, 1e-5);
    add_tokenizer(w, s->vocabulary);
    for (int64_t k = 0; k < item_count(s); k++) {
        if (!item_at(m, k, &t))
            continue;
        const bool vector = tern__part_is_vector(t.part);
        TERN_TRY(tern__model_writer_declare(w, t.name, type_of(&m->o, t.part), vector ? 1 : 2,
                                            vector ? &t.columns : (int64_t[]){t.rows, t.columns}));
    }
    TERN_TRY(tern__model_writer_begin(w));
    filling f = {.w = w,
                 .chunk = tern__alloc(CHUNK),
                 .row = tern__alloc((size_t)longest * sizeof(float)),
                 .encoded = tern__alloc((size_t)longest * sizeof(double))};
    tern_status status = f.chunk && f.row && f.encoded ? TERN_OK : tern__out_of_memory(CHUNK);
    for (int64_t k = 0; k < item_count(s) && status == TERN_OK; k++) {
        f.seed = m->o.seed * 0x9e3779b97f4a7c15u + (uint64_t)k;
        f.counter = 0;
        if (item_at(m, k, &t))
            status = fill_item(&f, m, &t);
    }
    tern__free(f.chunk);
    tern__free(f.row);
    tern__free(f.encoded);
    return status;
}

tern_status tern_model_synth(const char *path, const tern_model_shape *shape,
                             const tern_synth_options *options)
{
    tern__model_writer w;
    TERN__FAIL_IF(!path || !shape, TERN_INVALID_ARGUMENT, "model_synth: an argument is NULL");
    TERN_TRY(check_shape(shape));
    const tern_synth_options usual = tern_synth_options_default();
    making m = {.shape = shape,
                .o = options ? *options : usual,
                .architecture = tern__architecture_find(shape->architecture)};
    m.o.type = m.o.type == TERN_STORED_AS_IS ? usual.type : m.o.type;
    m.o.embedding = m.o.embedding == TERN_STORED_AS_IS ? usual.embedding : m.o.embedding;
    if (!m.architecture)
        return tern__architecture_unknown("model_synth", shape->architecture);
    TERN_TRY(check_type(m.o.type, true));
    TERN_TRY(check_type(m.o.embedding, false));
    if (m.o.head != TERN_STORED_AS_IS)
        TERN_TRY(check_type(m.o.head, false));
    tern__model_work work = {.progress = m.o.progress, .user = m.o.user};
    tern_status status = tern__gguf_create(path, &work, &w);
    if (status == TERN_OK)
        status = write_all(&w, &m);
    if (status == TERN_OK)
        status = tern__model_writer_commit(&w);
    tern__model_writer_abort(&w);
    return status;
}
