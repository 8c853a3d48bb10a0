/* load.c - tensors of model files as tensors of Tern: as they are, and in f32. */
#include "model/file/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/file/codec.h"
#include "model/file/stored.h"
#include "tensor/convert.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

enum { PAGES_FROM = 1 << 21, CHUNK_BYTES = 1 << 20 };

static size_t whole_pages(size_t bytes)
{
    size_t page = tern__page_size();
    return (bytes + page - 1) / page * page; /* of sizes that lie inside a file */
}

tern_status tern__block_create(size_t bytes, void **out)
{
    void *block = bytes >= PAGES_FROM ? tern__pages_map(whole_pages(bytes), true)
                                      : tern__alloc_aligned(bytes ? bytes : 1, TERN__ALIGN);
    if (!block)
        return tern__out_of_memory(bytes);
    *out = block;
    return TERN_OK;
}

void tern__block_free(void *block, size_t bytes)
{
    if (bytes >= PAGES_FROM)
        tern__pages_unmap(block, whole_pages(bytes));
    else
        tern__free(block);
}

static void drop_block(void *user, void *data)
{
    tern__block_free(data, (size_t)(uintptr_t)user);
}

tern_status tern__block_wrap(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape, void *block,
                             size_t bytes, tern_tensor **out)
{
    tern_tensor *t = tern_borrow(ctx, dtype, rank, shape, NULL, block, drop_block,
                                 (void *)(uintptr_t)bytes); /* a number */
    tern_status status = tern_status_of(t);
    if (status != TERN_OK) {
        tern__block_free(block, bytes);
        return tern__fail(status, "%s", tern_message_of(t));
    }
    TERN_TRY(tern_freeze(t));
    *out = t;
    return TERN_OK;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

tern_status tern__load_check(const char *who, const tern_ctx *ctx, const tern_model_file *file, int i,
                             const void *out)
{
    TERN__FAIL_IF(!ctx || !file || !out, TERN_INVALID_ARGUMENT, "%s: an argument is NULL", who);
    TERN__FAIL_IF(i < 0 || (size_t)i >= file->n_tensors, TERN_OUT_OF_RANGE, "%s: tensor %d: there are %zu",
                  who, i, file->n_tensors);
    return TERN_OK;
}

tern_status tern__load_fail(const tern_model_file *file, const tern_file_tensor *t, tern_status status)
{
    char context[TERN__MOST_NAME + 16];
    const char *path = file->parts[t->part].path;
    snprintf(context, sizeof context, "tensor '%s'", t->stored_name);
    if (strncmp(tern_last_error(), path, strlen(path)) != 0) /* reading says the file, and needs no tensor */
        tern__fail_in(status, context);
    return tern__fail_of(status, path);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

tern_status tern_model_file_read(const tern_model_file *file, int i, uint64_t offset, void *out, size_t bytes)
{
    TERN__FAIL_IF(!file || !out, TERN_INVALID_ARGUMENT, "model_file_read: an argument is NULL");
    TERN__FAIL_IF(i < 0 || (size_t)i >= file->n_tensors, TERN_OUT_OF_RANGE,
                  "model_file_read: tensor %d: there are %zu", i, file->n_tensors);
    const tern_file_tensor *t = &file->tensors[i];
    TERN__FAIL_IF(!tern__range_fits(offset, bytes, t->bytes), TERN_OUT_OF_RANGE,
                  "model_file_read: %zu bytes from %llu on of tensor '%s', which has %llu", bytes,
                  (unsigned long long)offset, t->stored_name, (unsigned long long)t->bytes);
    return tern__file_read(&file->parts[t->part], t->offset + offset, out, bytes);
}

static tern_status load_plain(tern_ctx *ctx, const tern_model_file *file, int i, tern_tensor **out)
{
    const tern_file_tensor *t = &file->tensors[i];
    void *block = NULL;
    TERN_TRY(tern__block_create((size_t)t->bytes, &block));
    tern_status status = tern_model_file_read(file, i, 0, block, (size_t)t->bytes);
    if (status != TERN_OK) {
        tern__block_free(block, (size_t)t->bytes);
        return status;
    }
    return tern__block_wrap(ctx, tern_stored_get(t->stored)->dtype, t->rank, t->shape, block,
                            (size_t)t->bytes, out);
}

/* Elements [first, first + n) of int8 in groups, whose scales stand behind all of them. */
static tern_status read_grouped(const tern_model_file *file, int i, int64_t first, int64_t n, float *out)
{
    enum { AT_ONCE = 1 << 16 };
    const tern_file_tensor *t = &file->tensors[i];
    const int64_t group = file->group;
    const uint64_t scales_at = t->bytes / (uint64_t)(group + (int64_t)sizeof(float)) * (uint64_t)group;
    int8_t *codes = tern__alloc(AT_ONCE);
    float *scales = tern__alloc((AT_ONCE + 1) * sizeof *scales); /* of groups of one, at most */
    tern_status status =
        codes && scales ? TERN_OK : tern__out_of_memory(AT_ONCE + (AT_ONCE + 1) * sizeof *scales);
    for (int64_t at = first, end = first + n; at < end && status == TERN_OK; at += AT_ONCE) {
        const int64_t now = end - at < AT_ONCE ? end - at : AT_ONCE, from = at / group;
        const size_t n_scales = (size_t)((at + now - 1) / group - from + 1);
        status = tern_model_file_read(file, i, (uint64_t)at, codes, (size_t)now);
        if (status == TERN_OK)
            status = tern_model_file_read(file, i, scales_at + (uint64_t)from * sizeof *scales, scales,
                                          n_scales * sizeof *scales);
        for (int64_t k = 0; k < now && status == TERN_OK; k++)
            out[at - first + k] = (float)codes[k] * scales[(at + k) / group - from];
    }
    tern__free(codes);
    tern__free(scales);
    return status;
}

tern_status tern__rows_read_f32(const tern_model_file *file, int i, int64_t first, int64_t n, float *out)
{
    const tern_file_tensor *t = &file->tensors[i];
    int64_t rows, columns;
    tern__rows_and_columns(t->rank, t->shape, &rows, &columns);
    if (tern_stored_get(t->stored)->kind == TERN_STORED_GROUPED)
        return read_grouped(file, i, first * columns, n * columns, out);
    size_t row = rows ? (size_t)t->bytes / (size_t)rows : 0;
    size_t at_once = row && row < CHUNK_BYTES ? CHUNK_BYTES / row : 1;
    uint8_t *chunk = tern__alloc(at_once * row + 1);
    if (!chunk)
        return tern__out_of_memory(at_once * row);
    tern_status status = TERN_OK;
    for (int64_t r = 0; r < n && status == TERN_OK; r += (int64_t)at_once) {
        int64_t now = n - r < (int64_t)at_once ? n - r : (int64_t)at_once;
        status = tern_model_file_read(file, i, (uint64_t)(first + r) * row, chunk, (size_t)now * row);
        for (int64_t k = 0; k < now && status == TERN_OK; k++)
            tern__convert_row(tern_stored_get(t->stored)->dtype, chunk + (size_t)k * row, TERN_F32,
                              out + (r + k) * columns, columns);
    }
    tern__free(chunk);
    return status;
}

tern_status tern__numbers_check(const tern_model_file *file, int i)
{
    const tern_file_tensor *t = &file->tensors[i];
    int64_t rows, columns;
    size_t bytes;
    tern__rows_and_columns(t->rank, t->shape, &rows, &columns);
    if (!tern__stored_has_values(t->stored))
        return tern__scale_check(file, i); /* codes are finite */
    TERN__FAIL_IF(!tern__size_mul((size_t)(rows * columns), sizeof(float), &bytes), TERN_OVERFLOW,
                  "%s: tensor '%s' is too large", file->parts[t->part].path, t->stored_name);
    float *values = tern__alloc(bytes + 1);
    if (!values)
        return tern__out_of_memory(bytes);
    tern_status status = rows ? tern__rows_read_f32(file, i, 0, rows, values) : TERN_OK;
    for (int64_t k = 0; k < rows * columns && status == TERN_OK; k++)
        if (!isfinite(values[k]))
            status = tern__fail(TERN_FORMAT, "element %lld is not a finite number: the file is damaged",
                                (long long)k);
    tern__free(values);
    return status == TERN_OK ? TERN_OK : tern__load_fail(file, t, status);
}

static tern_status dequantise(tern_ctx *ctx, const tern_model_file *file, int i, float *out)
{
    const tern_file_tensor *t = &file->tensors[i];
    int64_t rows, columns;
    tern__rows_and_columns(t->rank, t->shape, &rows, &columns);
    TERN_SCOPE(ctx) {
        tern_tensor *codes, *scales;
        TERN_TRY(tern_model_file_load_ternary(ctx, file, i, TERN_T2, TERN_TERNARY_EXACT, &codes, &scales));
        const uint8_t *t2 = tern_data(codes);
        const float *s = tern_data_f32(scales);
        const int64_t blocks = tern_rank(scales) ? columns / TERN__TQ_BLOCK : 0;
        for (int64_t r = 0; r < rows; r++)
            tern__t2_row_f32(t2 + r * tern__t2_bytes(columns), columns, s + r * blocks, blocks ? blocks : 1,
                             out + r * columns);
    }
    return TERN_OK;
}

tern_status tern_model_file_load_f32(tern_ctx *ctx, const tern_model_file *file, int i, tern_tensor **out)
{
    TERN_TRY(tern__load_check("model_file_load_f32", ctx, file, i, out));
    const tern_file_tensor *t = &file->tensors[i];
    const tern_stored_info *info = tern_stored_get(t->stored);
    if (t->stored == TERN_STORED_F32)
        return load_plain(ctx, file, i, out);
    if (info->kind == TERN_STORED_OPAQUE)
        return tern__load_fail(file, t, tern__fail(TERN_UNSUPPORTED, "%s cannot be read", info->name));
    int64_t elements = 1;
    for (int axis = 0; axis < t->rank; axis++)
        elements *= t->shape[axis]; /* checked when the file was opened */
    size_t bytes;
    TERN__FAIL_IF(!tern__size_mul((size_t)elements, sizeof(float), &bytes), TERN_OVERFLOW,
                  "%s: tensor '%s' is too large", file->parts[t->part].path, t->stored_name);
    void *block = NULL;
    TERN_TRY(tern__block_create(bytes, &block));
    int64_t rows, columns;
    tern__rows_and_columns(t->rank, t->shape, &rows, &columns);
    tern_status status = info->kind == TERN_STORED_TERNARY ? dequantise(ctx, file, i, block)
                         : elements                        ? tern__rows_read_f32(file, i, 0, rows, block)
                                                           : TERN_OK;
    if (status != TERN_OK) {
        tern__block_free(block, bytes);
        return status;
    }
    return tern__block_wrap(ctx, TERN_F32, t->rank, t->shape, block, bytes, out);
}

tern_status tern_model_file_load(tern_ctx *ctx, const tern_model_file *file, int i, tern_tensor **out)
{
    TERN_TRY(tern__load_check("model_file_load", ctx, file, i, out));
    const tern_file_tensor *t = &file->tensors[i];
    const tern_stored_info *info = tern_stored_get(t->stored);
    if (info->kind == TERN_STORED_TERNARY)
        return tern__load_fail(
            file, t,
            tern__fail(TERN_DTYPE, "%s has scales: load it as ternary codes, or in f32", info->name));
    if (info->kind == TERN_STORED_OPAQUE)
        return tern__load_fail(file, t, tern__fail(TERN_UNSUPPORTED, "%s cannot be read", info->name));
    return info->kind == TERN_STORED_GROUPED ? tern_model_file_load_f32(ctx, file, i, out)
                                             : load_plain(ctx, file, i, out);
}
