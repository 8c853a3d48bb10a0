/* load_ternary.c - weights of ternary products, from whatever a file stores them as, to canonical codes and scales. Codes
 * come through unchanged; scales are joined to one where they are equal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/ops.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/file/codec.h"
#include "model/file/load.h"
#include "model/file/stored.h"
#include "tensor/half.h"

enum { CHUNK_BYTES = 1 << 20 };

/* A weight under way: everything here belongs to the caller until it is wrapped. */
typedef struct weight {
    int64_t rows, columns;
    size_t t2_row, row, codes_bytes, scales_bytes;
    uint8_t *codes; /* (rows, row) t2 or t5 */
    float *scales;  /* (rows, columns / 256), or 1 */
    int64_t n_scales;
} weight;

static void weight_free(weight *w)
{
    if (w->codes)
        tern__block_free(w->codes, w->codes_bytes);
    if (w->scales)
        tern__block_free(w->scales, w->scales_bytes);
}

static weight weight_shape(const tern_file_tensor *t, tern_dtype dtype)
{
    weight w = {0};
    tern__rows_and_columns(t->rank, t->shape, &w.rows, &w.columns);
    w.t2_row = (size_t)tern__t2_bytes(w.columns);
    w.row = dtype == TERN_T2 ? w.t2_row : (size_t)(w.columns / 5 + (w.columns % 5 != 0));
    return w;
}

static bool has_block_scales(tern_stored stored)
{
    const tern__codec *codec = tern__codec_get(stored);
    return codec && codec->scales == TERN__SCALES_BLOCKS;
}

static tern_status weight_create(const tern_file_tensor *t, tern_dtype dtype, weight *w)
{
    *w = weight_shape(t, dtype);
    w->n_scales = has_block_scales(t->stored) ? w->rows * (w->columns / TERN__TQ_BLOCK) : 1;
    w->scales_bytes = (size_t)(w->n_scales ? w->n_scales : 1) * sizeof(float);
    void *block = NULL;
    TERN__FAIL_IF(!tern__size_mul((size_t)w->rows, w->row, &w->codes_bytes), TERN_OVERFLOW,
                  "its codes are too many");
    TERN_TRY(tern__block_create(w->codes_bytes, &block));
    w->codes = block;
    TERN_TRY(tern__block_create(w->scales_bytes, &block));
    w->scales = block;
    return TERN_OK;
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

bool tern__scale_name(tern_file_format format, const char *name, char out[static TERN__SCALE_NAME])
{
    static const char end[] = ".weight";
    const size_t length = strlen(name), cut = strlen(end);
    if (length <= cut || length > TERN__MOST_NAME + 16 || strcmp(name + length - cut, end) != 0)
        return false;
    snprintf(out, TERN__SCALE_NAME, "%.*s%s", (int)(length - cut), name,
             format == TERN_FILE_SAFETENSORS ? ".weight_scale" : ".scale");
    return true;
}

int tern__scale_of(const tern_model_file *file, const tern_file_tensor *t)
{
    char name[TERN__SCALE_NAME];
    int i;
    return tern__scale_name(file->format, t->stored_name, name) &&
                   tern_model_file_find(file, name, &i) == TERN_OK
               ? i
               : -1;
}

/* The one number of a tensor. */
static tern_status read_one(const tern_model_file *file, int i, float *out)
{
    const tern_file_tensor *t = &file->tensors[i];
    int64_t elements = 1;
    for (int axis = 0; axis < t->rank; axis++)
        elements *= t->shape[axis]; /* checked when the file was opened */
    TERN__FAIL_IF(elements != 1, TERN_UNSUPPORTED, "'%s' has %lld elements; one scale is expected",
                  t->stored_name, (long long)elements);
    TERN__FAIL_IF(!tern__stored_has_values(t->stored), TERN_UNSUPPORTED, "'%s' is %s, which scales are not",
                  t->stored_name, tern_stored_get(t->stored)->name);
    return tern__rows_read_f32(file, i, 0, 1, out);
}

tern_status tern__scale_read(const tern_model_file *file, const tern_file_tensor *t, float *out, bool *found)
{
    const int i = tern__scale_of(file, t);
    const tern__codec *codec = tern__codec_get(t->stored);
    const bool beside = codec && codec->scales == TERN__SCALES_BESIDE;
    *out = 1;
    *found = i >= 0;
    TERN__FAIL_IF(!*found && beside, TERN_FORMAT, "its weight_scale is missing");
    if (!*found)
        return TERN_OK;
    const char *name = file->tensors[i].stored_name;
    TERN_TRY(read_one(file, i, out));
    TERN__FAIL_IF(!isfinite(*out), TERN_FORMAT, "'%s' is not a finite number", name);
    if (!beside)
        return TERN_OK;
    TERN__FAIL_IF(file->scale_meaning == TERN__SCALE_UNKNOWN, TERN_FORMAT,
                  "config.json is missing, which says whether '%s' multiplies or divides", name);
    TERN__FAIL_IF(
        file->scale_meaning == TERN__SCALE_UNSAID, TERN_FORMAT,
        "config.json does not say whether '%s' multiplies or divides: its quantization_config needs "
        "quant_method bitnet, and linear_class autobitlinear (multiplies) or bitlinear (divides)",
        name);
    if (file->scale_meaning == TERN__SCALE_DIVIDES) {
        TERN__FAIL_IF(!(*out != 0 && isfinite(1 / *out)), TERN_FORMAT, "'%s' divides, and is %g", name,
                      (double)*out);
        *out = 1 / *out;
    }
    return TERN_OK;
}

/* The block's scale does not matter where its codes are all zero: is there one scale for all others? */
static void join_scales(weight *w, const uint8_t *zero_blocks)
{
    int64_t chosen = -1;
    for (int64_t i = 0; i < w->n_scales; i++) {
        if (zero_blocks[i])
            continue;
        if (chosen >= 0 && w->scales[i] != w->scales[chosen])
            return;
        chosen = chosen < 0 ? i : chosen;
    }
    if (w->n_scales)
        w->scales[0] = w->scales[chosen < 0 ? 0 : chosen];
    else
        w->scales[0] = 1;
    w->n_scales = 1;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

/* Rows of bytes as the file has them; of up to `planes` rows of values each. */
typedef struct raw_rows {
    const tern__codec *codec;
    int64_t rows;
    size_t bytes;       /* of a row */
    int64_t begin, end; /* those of one part */
    int64_t at_once;    /* rows that are read together */
    size_t block;       /* bytes of a block; of types with scales in them */
} raw_rows;

static raw_rows raw_rows_of(const tern_file_tensor *t, const weight *w, int part, int parts)
{
    raw_rows raw = {.codec = tern__codec_get(t->stored),
                    .block = (size_t)tern_stored_get(t->stored)->block_bytes};
    raw.rows = w->rows / raw.codec->planes + (w->rows % raw.codec->planes != 0);
    raw.bytes = raw.rows ? (size_t)(t->bytes - (uint64_t)tern__codec_tail(t->stored)) / (size_t)raw.rows : 0;
    raw.begin = raw.rows * part / parts;
    raw.end = raw.rows * (part + 1) / parts;
    raw.at_once = raw.bytes ? (int64_t)(CHUNK_BYTES / raw.bytes) + 1 : 1;
    raw.at_once = raw.end - raw.begin < raw.at_once ? raw.end - raw.begin : raw.at_once;
    return raw;
}

/* Scratch for reading and decoding rows: one block. */
typedef struct scratch {
    uint8_t *raw;   /* (raw.at_once, raw.bytes) */
    uint8_t *t2;    /* (t2_row) */
    uint8_t *zeros; /* (n_scales) is the block all zero? */
} scratch;

static size_t raw_bytes(const raw_rows *raw)
{
    return (size_t)raw->at_once * raw->bytes;
}

static size_t scratch_bytes(const weight *w, const raw_rows *raw)
{
    return raw_bytes(raw) + w->t2_row + (size_t)w->n_scales + 1; /* some, of empty tensors too */
}

static scratch scratch_in(void *block, const weight *w, const raw_rows *raw)
{
    uint8_t *t2 = (uint8_t *)block + raw_bytes(raw);
    memset(t2 + w->t2_row, 0, (size_t)w->n_scales);
    return (scratch){.raw = block, .t2 = t2, .zeros = t2 + w->t2_row};
}

static void put_row(const weight *w, tern_dtype dtype, int64_t r, const uint8_t *t2)
{
    uint8_t *target = w->codes + (size_t)r * w->row;
    if (dtype == TERN_T2)
        memcpy(target, t2, w->row);
    else
        tern__t5_from_t2(t2, w->columns, target);
}

/* Scales of the blocks of row r, whose codes are in s->t2. */
static tern_status take_scales(weight *w, const scratch *s, const uint8_t *row, size_t block, int64_t r)
{
    int64_t blocks = w->columns / TERN__TQ_BLOCK;
    for (int64_t b = 0; b < blocks; b++) {
        uint16_t half;
        memcpy(&half, row + block * (size_t)(b + 1) - sizeof half, sizeof half);
        float scale = tern__f16_to_f32(half);
        TERN__FAIL_IF(!isfinite(scale), TERN_FORMAT, "the scale of block %lld is not a finite number",
                      (long long)(r * blocks + b));
        w->scales[r * blocks + b] = scale;
        s->zeros[r * blocks + b] = tern__t2_is_zero(s->t2 + 64 * b, 64);
    }
    return TERN_OK;
}

/* What is in row r of the bytes; scales too, if `w` has room for them. */
static tern_status decode_row(const uint8_t *bytes, const raw_rows *raw, int64_t r, tern_dtype dtype,
                              weight *w, const scratch *s)
{
    for (int plane = 0; plane < raw->codec->planes && r + plane * raw->rows < w->rows; plane++) {
        const int64_t row = r + plane * raw->rows;
        TERN__FAIL_IF(!raw->codec->decode(bytes, plane, w->columns, s->t2), TERN_FORMAT,
                      "row %lld has a code of 3, which is no ternary value", (long long)row);
        if (w->scales && raw->codec->scales == TERN__SCALES_BLOCKS)
            TERN_TRY(take_scales(w, s, bytes, raw->block, row));
        put_row(w, dtype, row, s->t2);
    }
    return TERN_OK;
}

/* The part's rows of the bytes. */
static tern_status decode_rows(const tern_model_file *file, int i, const raw_rows *raw, tern_dtype dtype,
                               weight *w, const scratch *s)
{
    for (int64_t first = raw->begin; first < raw->end && raw->bytes; first += raw->at_once) {
        int64_t n = raw->end - first < raw->at_once ? raw->end - first : raw->at_once;
        TERN_TRY(tern_model_file_read(file, i, (uint64_t)first * raw->bytes, s->raw, (size_t)n * raw->bytes));
        for (int64_t r = 0; r < n; r++)
            TERN_TRY(decode_row(s->raw + (size_t)r * raw->bytes, raw, first + r, dtype, w, s));
    }
    return TERN_OK;
}

static tern_status read_tail(const tern_model_file *file, int i, float *out)
{
    TERN_TRY(tern_model_file_read(file, i, file->tensors[i].bytes - TERN__SCALE_TAIL, out, sizeof *out));
    TERN__FAIL_IF(!isfinite(*out), TERN_FORMAT, "its scale is not a finite number");
    return TERN_OK;
}

static tern_status decode_tensor(const tern_model_file *file, int i, tern_dtype dtype, weight *w)
{
    const raw_rows raw = raw_rows_of(&file->tensors[i], w, 0, 1);
    void *block = tern__alloc(scratch_bytes(w, &raw));
    w->scales[0] = 1;
    if (!block)
        return tern__out_of_memory(scratch_bytes(w, &raw));
    const scratch s = scratch_in(block, w, &raw);
    tern_status status = decode_rows(file, i, &raw, dtype, w, &s);
    if (status == TERN_OK && raw.codec->scales == TERN__SCALES_BEHIND)
        status = read_tail(file, i, w->scales);
    if (status == TERN_OK && raw.codec->scales == TERN__SCALES_BLOCKS)
        join_scales(w, s.zeros);
    tern__free(block);
    return status;
}

/* ---- for constants that are read later (load_later.c) -------------------------------------------------------------- */

tern_status tern__ternary_read_part(tern__loading *loading, int i, tern_dtype dtype, int part, int parts,
                                    uint8_t *codes)
{
    const tern_model_file *file = tern__loading_file(loading);
    weight w = weight_shape(&file->tensors[i], dtype);
    w.codes = codes;
    const raw_rows raw = raw_rows_of(&file->tensors[i], &w, part, parts);
    void *block;
    if (raw.begin == raw.end)
        return TERN_OK;
    TERN_TRY(tern__loading_scratch(loading, part, scratch_bytes(&w, &raw), &block));
    const scratch s = scratch_in(block, &w, &raw);
    return decode_rows(file, i, &raw, dtype, &w, &s);
}

/* That of a tensor of blocks. */
static tern_status first_block_scale(const tern_model_file *file, int i, uint16_t *out)
{
    const uint64_t block = (uint64_t)tern_stored_get(file->tensors[i].stored)->block_bytes;
    return tern_model_file_read(file, i, block - sizeof *out, out, sizeof *out);
}

tern_status tern__ternary_same_scales(tern__loading *loading, int i, int part, int parts, bool *same)
{
    const tern_model_file *file = tern__loading_file(loading);
    const tern_file_tensor *t = &file->tensors[i];
    const weight w = weight_shape(t, TERN_T2);
    *same = true;
    if (!has_block_scales(t->stored) || w.rows * w.columns == 0)
        return TERN_OK;
    const raw_rows raw = raw_rows_of(t, &w, part, parts);
    uint16_t first;
    void *block;
    TERN_TRY(first_block_scale(file, i, &first));
    TERN_TRY(tern__loading_scratch(loading, part, raw_bytes(&raw) + 1, &block));
    for (int64_t r = raw.begin; r < raw.end && *same; r += raw.at_once) {
        const size_t n = (size_t)(raw.end - r < raw.at_once ? raw.end - r : raw.at_once) * raw.bytes;
        TERN_TRY(tern_model_file_read(file, i, (uint64_t)r * raw.bytes, block, n));
        for (size_t at = raw.block - sizeof first; at < n; at += raw.block)
            *same = *same && memcmp((uint8_t *)block + at, &first, sizeof first) == 0;
    }
    return TERN_OK;
}

tern_status tern__ternary_first_scale(const tern_model_file *file, int i, float *out)
{
    const tern_file_tensor *t = &file->tensors[i];
    uint16_t half = 0;
    float extra;
    bool found;
    *out = 1;
    if (tern__codec_get(t->stored)->scales == TERN__SCALES_BEHIND)
        TERN_TRY(read_tail(file, i, out));
    if (has_block_scales(t->stored) && t->bytes > 0) {
        TERN_TRY(first_block_scale(file, i, &half));
        *out = tern__f16_to_f32(half);
    }
    TERN__FAIL_IF(!isfinite(*out), TERN_FORMAT, "its scale is not a finite number");
    TERN_TRY(tern__scale_read(file, t, &extra, &found));
    *out *= extra;
    return TERN_OK;
}

tern_status tern__scale_check(const tern_model_file *file, int i)
{
    const tern_file_tensor *t = &file->tensors[i];
    float scale;
    bool found;
    tern_status status = tern_stored_get(t->stored)->kind == TERN_STORED_TERNARY
                             ? tern__ternary_first_scale(file, i, &scale)
                             : tern__scale_read(file, t, &scale, &found);
    return status == TERN_OK ? TERN_OK : tern__load_fail(file, t, status);
}

/* ---- floats ------------------------------------------------------------------------------------------------------ */

/* The one s such that all of x are -s, 0 or s. */
static tern_status exact_scale(const float *x, int64_t n, float *out)
{
    float s = 0;
    for (int64_t i = 0; i < n; i++) {
        TERN__FAIL_IF(!isfinite(x[i]), TERN_FORMAT, "element %lld is not a finite number", (long long)i);
        s = fabsf(x[i]) > s ? fabsf(x[i]) : s;
    }
    for (int64_t i = 0; i < n; i++)
        TERN__FAIL_IF(x[i] != 0 && fabsf(x[i]) != s, TERN_DTYPE,
                      "its weights are not ternary: element %lld is %g, the largest is %g", (long long)i,
                      (double)x[i], (double)s);
    *out = s > 0 ? s : 1;
    return TERN_OK;
}

/* Values that are there, as those of a variable: a program that is compiled for a constant keeps it, and programs outlive loading. */
static tern_tensor *as_variable(tern_ctx *ctx, tern_tensor *x)
{
    return tern_borrow(ctx, TERN_F32, tern_rank(x), tern_shape(x), NULL, (void *)(uintptr_t)tern_data_f32(x),
                       NULL, NULL);
}

/* Master weights are ternarised by their mean even if they are ternary already: so does everybody who runs such a file. Others are
 * what they say. */
static tern_status quantise(tern_ctx *ctx, const tern_model_file *file, int i, tern_dtype dtype,
                            tern_ternary_mode mode, weight *w)
{
    const bool absmean =
        mode == TERN_TERNARY_ABSMEAN || (mode == TERN_TERNARY_DECLARED && file->master_weights);
    TERN_SCOPE(ctx) {
        tern_tensor *x, *codes, *used;
        float s = 0;
        TERN_TRY(tern_model_file_load_f32(ctx, file, i, &x));
        tern_status status = exact_scale(tern_data_f32(x), tern_numel(x), &s);
        if (status != TERN_OK && !(absmean && status == TERN_DTYPE))
            return status;
        tern_ternary_quantise(as_variable(ctx, x),
                              absmean ? NULL : tern_from_data(ctx, TERN_F32, 0, NULL, &s), dtype, &codes,
                              &used);
        TERN_TRY(tern_read(codes, w->codes, w->codes_bytes));
        TERN_TRY(tern_read(used, w->scales, sizeof(float)));
    }
    return TERN_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static tern_status fill(tern_ctx *ctx, const tern_model_file *file, int i, tern_dtype dtype,
                        tern_ternary_mode mode, weight *w)
{
    const tern_file_tensor *t = &file->tensors[i];
    const tern_stored_info *info = tern_stored_get(t->stored);
    float extra;
    bool found;
    if (info->kind == TERN_STORED_TERNARY)
        TERN_TRY(decode_tensor(file, i, dtype, w));
    else if (info->kind == TERN_STORED_OPAQUE)
        return tern__fail(TERN_UNSUPPORTED, "%s cannot be read", info->name);
    else
        TERN_TRY(quantise(ctx, file, i, dtype, mode, w));
    TERN_TRY(tern__scale_read(file, t, &extra, &found));
    for (int64_t k = 0; k < w->n_scales; k++)
        w->scales[k] *= extra;
    return TERN_OK;
}

static tern_status wrap(tern_ctx *ctx, const tern_file_tensor *t, tern_dtype dtype, weight *w,
                        tern_tensor **codes, tern_tensor **scales)
{
    int64_t shape[TERN_MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    bool single = w->n_scales == 1;
    if (!single)
        shape[t->rank - 1] = w->columns / TERN__TQ_BLOCK;
    uint8_t *code_block = w->codes;
    float *scale_block = w->scales;
    w->codes = NULL;
    tern_tensor *c, *s;
    TERN_TRY(tern__block_wrap(ctx, dtype, t->rank, t->shape, code_block, w->codes_bytes, &c));
    w->scales = NULL;
    TERN_TRY(tern__block_wrap(ctx, TERN_F32, single ? 0 : t->rank, shape, scale_block, w->scales_bytes, &s));
    *codes = c;
    *scales = s;
    return TERN_OK;
}

tern_status tern_model_file_load_ternary(tern_ctx *ctx, const tern_model_file *file, int i, tern_dtype dtype,
                                         tern_ternary_mode mode, tern_tensor **codes, tern_tensor **scales)
{
    TERN_TRY(tern__load_check("model_file_load_ternary", ctx, file, i, codes));
    TERN__FAIL_IF(!scales, TERN_INVALID_ARGUMENT, "model_file_load_ternary: an argument is NULL");
    TERN__FAIL_IF(dtype != TERN_T2 && dtype != TERN_T5, TERN_DTYPE,
                  "model_file_load_ternary: %s is not ternary: t2 or t5", tern_dtype_name(dtype));
    TERN__FAIL_IF((unsigned)mode > TERN_TERNARY_ABSMEAN, TERN_INVALID_ARGUMENT,
                  "model_file_load_ternary: there is no mode %d", (int)mode);
    const tern_file_tensor *t = &file->tensors[i];
    weight w;
    tern_status status = weight_create(t, dtype, &w);
    if (status == TERN_OK)
        status = fill(ctx, file, i, dtype, mode, &w);
    if (status == TERN_OK)
        status = wrap(ctx, t, dtype, &w, codes, scales);
    else
        tern__load_fail(file, t, status);
    weight_free(&w);
    return status;
}
