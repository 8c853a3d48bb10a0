/* llama2c_read.c - llama2.c's .bin: numbers, then tensors in a fixed order, by kind and then by layer.
 *
 *   version 0     seven i32, f32 tensors, and among them tables of cosines and sines. It has no magic number: a file is one if its
 *                 length is exactly what its seven numbers make it.
 *   version 1, 2  256 bytes: a magic number, the version, the seven i32, a byte that says whether the head is the table, in version 2
 *                 the size of a group, and zeros. Norms come first. The others are f32 in version 1; in version 2 the int8 of a
 *                 tensor and then an f32 scale for each group of them, whole tensors at a time: groups need not end with rows. */
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

enum { MAGIC = 0x616b3432, LONG_HEADER = 256, NEW_VERSIONS = 2 };

/* Of versions 1 and 2. */
static const tern__part_id new_order[TERN__LLAMA2C_PARTS] = {
    TERN__PART_ATTN_NORM, TERN__PART_FFN_NORM, TERN__PART_OUTPUT_NORM, TERN__PART_TABLE,
    TERN__PART_Q,         TERN__PART_K,        TERN__PART_V,           TERN__PART_O,
    TERN__PART_GATE,      TERN__PART_DOWN,     TERN__PART_UP,          TERN__PART_HEAD,
};

typedef struct header {
    tern__llama2c_shape shape;
    int version;
    int64_t group; /* of version 2 */
    int64_t bytes;
} header;

/* Adds one tensor, or one for each layer, behind the last. */
typedef struct cursor {
    tern_model_file *file;
    const header *h;
    int64_t at;  /* byte; -1 once it has wrapped, or a tensor is no whole number of groups */
    bool adding; /* or only counting */
} cursor;

/* Bytes of a tensor; false if they are too many, or not whole groups. */
static bool count_bytes(const cursor *c, tern_stored stored, int64_t rows, int64_t columns, int64_t *out)
{
    int64_t n, scales = 0;
    if (!tern__i64_mul(rows, columns, &n))
        return false;
    if (stored == TERN_STORED_F32)
        return tern__i64_mul(n, sizeof(float), out);
    return n % c->h->group == 0 && tern__i64_mul(n / c->h->group, sizeof(float), &scales) &&
           tern__i64_add(n, scales, out);
}

static tern_status step(cursor *c, const char *name, int rank, int64_t rows, int64_t columns)
{
    tern_file_tensor t = {.stored = c->h->version == 2 && rank == 2 ? TERN_STORED_I8_GROUPS : TERN_STORED_F32,
                          .rank = rank};
    int64_t bytes;
    t.shape[0] = rows;
    t.shape[rank - 1] = columns;
    const int64_t start = c->at;
    if (start < 0 || !count_bytes(c, t.stored, rows, columns, &bytes) ||
        !tern__i64_add(start, bytes, &c->at)) {
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
    const tern__llama2c_shape *s = &c->h->shape;
    const tern__part *part = tern__part_get(id);
    const tern__part_shape shape = {.width = s->dim,
                                    .heads = s->heads,
                                    .kv_heads = s->kv_heads,
                                    .head_width = s->dim / s->heads,
                                    .feed_forward = s->hidden,
                                    .vocabulary = s->vocabulary};
    for (int64_t i = 0; i < (part->in_layer ? s->layers : 1); i++) {
        char name[TERN__PART_NAME];
        TERN_TRY(step(c, tern__part_name(part, i, name), tern__part_is_vector(part) ? 1 : 2,
                      tern__part_rows(part, &shape), tern__part_columns(part, &shape)));
    }
    return TERN_OK;
}

static tern_status walk(cursor *c)
{
    const tern__llama2c_shape *s = &c->h->shape;
    for (int i = 0; i < TERN__LLAMA2C_PARTS; i++) {
        const tern__part_id id = (c->h->version ? new_order : tern__llama2c_order)[i];
        if (id == TERN__PART_HEAD && c->h->version == 0) /* cosines and sines, half a head each: not read */
            TERN_TRY(step(c, NULL, 2, s->context, s->dim / s->heads));
        if (id != TERN__PART_HEAD || s->untied)
            TERN_TRY(step_part(c, id));
    }
    return TERN_OK;
}

static bool makes_sense(const header *h)
{
    const tern__llama2c_shape *s = &h->shape;
    return s->dim > 0 && s->hidden > 0 && s->layers > 0 && s->layers <= TERN__MOST_LAYERS && s->heads > 0 &&
           s->kv_heads > 0 && s->vocabulary > 0 && s->context > 0 && s->dim % s->heads == 0 &&
           s->heads % s->kv_heads == 0 && s->dim / s->heads % 2 == 0 && (h->version != 2 || h->group > 0);
}

static tern_status read_numbers(tern__reader *r, header *h)
{
    int32_t n[TERN__LLAMA2C_HEADER / 4] = {0};
    for (size_t i = 0; i < TERN__COUNT(n); i++)
        TERN_TRY(tern__reader_u32(r, "the header", (uint32_t *)&n[i]));
    h->shape = (tern__llama2c_shape){n[0], n[1], n[2], n[3], n[4], n[5], n[6], false};
    h->bytes = TERN__LLAMA2C_HEADER;
    return TERN_OK;
}

/* What stands around the seven numbers since version 1. */
static tern_status read_new_header(const tern__file *part, tern__reader *r, header *h)
{
    uint32_t version = 0, group = 0;
    uint8_t tied = 0;
    TERN_TRY(tern__reader_u32(r, "the header", &version));
    TERN__FAIL_IF(version < 1 || version > NEW_VERSIONS, TERN_UNSUPPORTED,
                  "%s: llama2.c of version %u; versions 0, 1 and 2 can be read", part->path, version);
    TERN_TRY(read_numbers(r, h));
    TERN_TRY(tern__reader_u8(r, "the header", &tied));
    TERN__FAIL_IF(tied > 1, TERN_FORMAT, "%s: whether the head is the table of tokens is %u: neither 0 nor 1",
                  part->path, tied);
    if (version == 2)
        TERN_TRY(tern__reader_u32(r, "the header", &group));
    h->version = (int)version;
    h->group = (int32_t)group;
    h->shape.untied = tied == 0;
    h->bytes = LONG_HEADER;
    return TERN_OK;
}

static tern_status read_header(const tern__file *part, header *h)
{
    tern__reader r = {.file = part};
    uint32_t magic = 0;
    tern_status status = tern__reader_u32(&r, "the header", &magic);
    if (status == TERN_OK && magic == MAGIC) {
        status = read_new_header(part, &r, h);
    } else if (status == TERN_OK) {
        r.at = 0; /* it was the first of the numbers */
        status = read_numbers(&r, h);
        h->shape.untied = h->shape.vocabulary < 0;
        h->shape.vocabulary = h->shape.untied ? -h->shape.vocabulary : h->shape.vocabulary;
    }
    tern__reader_free(&r);
    return status;
}

static tern_status add_metadata(tern_model_file *file, const tern__llama2c_shape *s)
{
    const struct {
        tern__hparam id;
        int64_t value;
    } numbers[] = {
        {TERN__HPARAM_VOCABULARY, s->vocabulary},
        {TERN__HPARAM_CONTEXT, s->context},
        {TERN__HPARAM_WIDTH, s->dim},
        {TERN__HPARAM_LAYERS, s->layers},
        {TERN__HPARAM_FEED_FORWARD, s->hidden},
        {TERN__HPARAM_HEADS, s->heads},
        {TERN__HPARAM_KV_HEADS, s->kv_heads},
        {TERN__HPARAM_ROPE_WIDTH, s->dim / s->heads},
    };
    static const char architecture[] = "llama";
    char key[TERN__ARCH_KEY];
    TERN_TRY(
        tern__model_file_add_string(file, "general.architecture", architecture, sizeof architecture - 1));
    for (size_t i = 0; i < TERN__COUNT(numbers); i++)
        TERN_TRY(tern__model_file_add_int(file, tern__hparam_key(architecture, numbers[i].id, key),
                                          numbers[i].value));
    TERN_TRY(tern__model_file_add_int(file, "tokenizer.ggml.bos_token_id", 1));
    TERN_TRY(tern__model_file_add_int(file, "tokenizer.ggml.eos_token_id", 2));
    TERN_TRY(tern__model_file_add_float(file, tern__hparam_key(architecture, TERN__HPARAM_NORM_EPS, key),
                                        TERN__LLAMA2C_NORM_EPS));
    TERN_TRY(tern__model_file_add_float(file, tern__hparam_key(architecture, TERN__HPARAM_ROPE_THETA, key),
                                        TERN__LLAMA2C_ROPE_THETA));
    return tern__model_file_add_string(file, "tern.rope_style", "interleaved", 11);
}

tern_status tern__llama2c_parse(tern_model_file *file)
{
    static const char unknown[] = "%s: not a model file: neither GGUF, nor safetensors, nor llama2.c";
    const tern__file *part = &file->parts[0];
    header h = {.version = 0};
    TERN__FAIL_IF(part->bytes < TERN__LLAMA2C_HEADER, TERN_FORMAT, unknown, part->path);
    TERN_TRY(read_header(part, &h));
    TERN__FAIL_IF(!makes_sense(&h), TERN_FORMAT,
                  h.version ? "%s: its header is of llama2.c, but no model can have these sizes" : unknown,
                  part->path);
    cursor c = {.file = file, .h = &h, .at = h.bytes};
    TERN_TRY(walk(&c));
    TERN__FAIL_IF(c.at < 0 && h.version == 2, TERN_FORMAT,
                  "%s: its tensors are no whole groups of %lld, or too large for any file", part->path,
                  (long long)h.group);
    TERN__FAIL_IF(
        c.at < 0 || (uint64_t)c.at != part->bytes, TERN_FORMAT,
        h.version ? "%s: it has %llu bytes where its header makes it %lld: it is cut short or damaged"
                  : "%s: not a model file; or a llama2.c file of %llu bytes where its header makes it %lld",
        part->path, (unsigned long long)part->bytes, (long long)c.at);
    c = (cursor){.file = file, .h = &h, .at = h.bytes, .adding = true};
    TERN_TRY(walk(&c));
    file->version = h.version;
    file->group = h.group;
    return add_metadata(file, &h.shape);
}
