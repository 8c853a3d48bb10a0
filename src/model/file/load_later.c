/* load_later.c - tensors of files as constants that are read when somebody needs them: weights that kernels read packed are read
 * only to be packed, and need memory once. */
#include "base/alloc.h"
#include "base/status.h"
#include "model/file/load.h"
#include "model/file/stored.h"
#include "tensor/convert.h"

typedef struct later {
    tern__loading *loading;      /* held */
    const tern_model_file *file; /* its */
    int tensor;
    tern_dtype dtype; /* that it becomes */
    size_t step;      /* bytes of a row of that, or 0: it is read whole */
} later;

/* One reading: bytes [offset, offset + bytes) of what it becomes. */
typedef struct reading {
    const later *what;
    uint8_t *data;
    size_t offset, bytes;
    _Atomic(bool) several; /* scales differ */
} reading;

static void drop(void *user)
{
    later *l = user;
    tern__loading_release(l->loading);
    tern__free(l);
}

/* Parts of whole pages, so that threads do not fault on the same ones. */
static tern_status read_plain_part(void *user, int part, int parts)
{
    const reading *r = user;
    const size_t pages = r->bytes / 4096 + 1;
    size_t begin = pages * (size_t)part / (size_t)parts * 4096,
           end = pages * (size_t)(part + 1) / (size_t)parts * 4096;
    end = end < r->bytes ? end : r->bytes;
    return begin < end ? tern_model_file_read(r->what->file, r->what->tensor, r->offset + begin,
                                              r->data + begin, end - begin)
                       : TERN_OK;
}

static tern_status read_ternary_part(void *user, int part, int parts)
{
    const reading *r = user;
    return tern__ternary_read_part(r->what->loading, r->what->tensor, r->what->dtype, part, parts, r->data);
}

/* Of one index of the first axis, in the contiguous form. */
static size_t row_bytes(const later *l)
{
    const tern_file_tensor *t = &l->file->tensors[l->tensor];
    const tern_dtype_info *info = tern_dtype_get(l->dtype);
    size_t units = 1;
    for (int d = 1; d < t->rank; d++)
        units *= (size_t)t->shape[d]; /* of a tensor that a file holds: it does not overflow */
    return units / (size_t)info->unit_elements * (size_t)info->unit_bytes;
}

/* Rows by way of f32, some at a time. */
static tern_status convert_part(void *user, int part, int parts)
{
    enum { AT_ONCE = 16 };
    const reading *r = user;
    const later *l = r->what;
    const tern_file_tensor *t = &l->file->tensors[l->tensor];
    const int64_t columns = t->shape[1];
    const size_t row = row_bytes(l);
    const int64_t start = (int64_t)(r->offset / row), rows = (int64_t)(r->bytes / row);
    void *values;
    tern_status status =
        tern__loading_scratch(l->loading, part, (size_t)columns * AT_ONCE * sizeof(float), &values);
    const int64_t end = rows * (part + 1) / parts;
    for (int64_t first = rows * part / parts; first < end && status == TERN_OK; first += AT_ONCE) {
        const int64_t n = end - first < AT_ONCE ? end - first : AT_ONCE;
        status = tern__rows_read_f32(l->file, l->tensor, start + first, n, values);
        for (int64_t k = 0; k < n && status == TERN_OK; k++)
            tern__convert_row(TERN_F32, (const float *)values + k * columns, l->dtype,
                              r->data + (size_t)(first + k) * row, columns);
    }
    return status;
}

static tern_status fill_with(const later *l, tern__file_work work, size_t offset, void *data, size_t bytes)
{
    const tern_file_tensor *t = &l->file->tensors[l->tensor];
    reading r = {.what = l, .data = data, .offset = offset, .bytes = bytes};
    const uint64_t read = l->step ? t->bytes / (uint64_t)t->shape[0] * (bytes / l->step) : t->bytes;
    tern_status status = tern__loading_share(l->loading, work, &r, read);
    return status == TERN_OK || status == TERN_CANCELLED ? status : tern__load_fail(l->file, t, status);
}

static tern_status fill_plain(void *user, size_t offset, void *data, size_t bytes)
{
    return fill_with(user, read_plain_part, offset, data, bytes);
}

static tern_status fill_ternary(void *user, size_t offset, void *data, size_t bytes)
{
    return fill_with(user, read_ternary_part, offset, data, bytes);
}

static tern_status fill_converted(void *user, size_t offset, void *data, size_t bytes)
{
    return fill_with(user, convert_part, offset, data, bytes);
}

static tern_status make(tern_ctx *ctx, tern__loading *loading, int i, tern_dtype dtype,
                        tern_status (*fill)(void *user, size_t offset, void *data, size_t bytes),
                        tern_tensor **out)
{
    later *l = tern__alloc_zero(1, sizeof *l);
    if (!l)
        return tern__out_of_memory(sizeof *l);
    const tern_model_file *file = tern__loading_file(loading);
    const tern_file_tensor *t = &file->tensors[i];
    *l = (later){.loading = tern__loading_retain(loading), .file = file, .tensor = i, .dtype = dtype};
    /* Ternary codes of some formats lie in an order of their own, and are read whole. */
    l->step = fill != fill_ternary && t->rank > 0 && t->shape[0] > 0 ? row_bytes(l) : 0;
    tern_tensor *made =
        tern_constant(ctx, dtype, t->rank, t->shape,
                      &(tern_constant_source){.fill = fill, .drop = drop, .user = l, .step = l->step});
    tern_status status = tern_status_of(made);
    if (status != TERN_OK)
        return tern__load_fail(file, t, tern__fail(status, "%s", tern_message_of(made)));
    tern__loading_expect(loading, t->bytes);
    *out = made;
    return TERN_OK;
}

tern_status tern__load_later(tern_ctx *ctx, tern__loading *loading, int i, tern_tensor **out)
{
    const tern_model_file *file = tern__loading_file(loading);
    const tern_file_tensor *t = &file->tensors[i];
    const tern_stored_info *info = tern_stored_get(t->stored);
    if (info->kind == TERN_STORED_GROUPED)
        return tern__load_later_as(ctx, loading, i, info->dtype, out);
    if (info->kind != TERN_STORED_PLAIN)
        return tern__load_fail(file, t,
                               tern__fail(TERN_UNSUPPORTED, "%s cannot be read as it is", info->name));
    return make(ctx, loading, i, info->dtype, fill_plain, out);
}

tern_status tern__load_later_as(tern_ctx *ctx, tern__loading *loading, int i, tern_dtype dtype,
                                tern_tensor **out)
{
    const tern_model_file *file = tern__loading_file(loading);
    const tern_file_tensor *t = &file->tensors[i];
    const tern_stored_info *info = tern_stored_get(t->stored);
    const tern_dtype_info *to = tern_dtype_get(dtype);
    if (info->kind == TERN_STORED_PLAIN && info->dtype == dtype)
        return tern__load_later(ctx, loading, i, out);
    TERN__FAIL_IF(!to || (to->kind != TERN_KIND_BLOCK && to->kind != TERN_KIND_FLOAT) || dtype == TERN_F64 ||
                      !tern__stored_has_values(t->stored) || t->rank != 2,
                  TERN_DTYPE, "%s: tensor '%s' cannot be converted to %s", file->parts[t->part].path,
                  t->stored_name, tern_dtype_name(dtype));
    TERN__FAIL_IF(t->shape[1] % to->unit_elements, TERN_SHAPE,
                  "%s: rows of tensor '%s' have %lld elements, %s has blocks of %d: take a type with smaller "
                  "ones, as q8_0 and q4_0 have, or f16 or bf16, which have none",
                  file->parts[t->part].path, t->stored_name, (long long)t->shape[1], to->name,
                  to->unit_elements);
    return make(ctx, loading, i, dtype, fill_converted, out);
}

static void drop_mapped(void *user, void *data)
{
    (void)data;
    tern_model_file_close(user);
}

tern_status tern__load_mapped(tern_ctx *ctx, tern__loading *loading, int i, tern_tensor **out)
{
    tern_model_file *file = tern__loading_file(loading);
    const tern_file_tensor *t = &file->tensors[i];
    const tern_stored_info *info = tern_stored_get(t->stored);
    const uintptr_t element = info->block_elements == 1 ? (uintptr_t)info->block_bytes : sizeof(uint16_t);
    const void *data =
        info->kind == TERN_STORED_PLAIN && t->bytes > 0 ? tern__model_file_mapped(file, i) : NULL;
    if (!data || (uintptr_t)data % element != 0)
        return tern__load_later(ctx, loading, i, out);
    tern__model_file_retain(file);
    /* It is frozen before anybody could write to it. */
    tern_tensor *made =
        tern_borrow(ctx, info->dtype, t->rank, t->shape, NULL, (void *)(uintptr_t)data, drop_mapped, file);
    tern_status status = tern_status_of(made);
    if (status != TERN_OK) {
        tern_model_file_close(file); /* it was not taken over */
        return tern__load_fail(file, t, tern__fail(status, "%s", tern_message_of(made)));
    }
    TERN_TRY(tern_freeze(made));
    *out = made;
    return TERN_OK;
}

static tern_status look_at_scales(void *user, int part, int parts)
{
    reading *r = user;
    bool same;
    TERN_TRY(tern__ternary_same_scales(r->what->loading, r->what->tensor, part, parts, &same));
    if (!same)
        atomic_store(&r->several, true);
    return TERN_OK;
}

tern_status tern__load_ternary_later(tern_ctx *ctx, tern__loading *loading, int i, tern_dtype dtype,
                                     tern_tensor **codes, tern_tensor **scale)
{
    const tern_model_file *file = tern__loading_file(loading);
    const tern_file_tensor *t = &file->tensors[i];
    const later what = {.loading = loading, .file = file, .tensor = i, .dtype = dtype};
    reading r = {.what = &what};
    float value;
    *codes = NULL;
    atomic_init(&r.several, false);
    tern_status status = tern__loading_share(loading, look_at_scales, &r, 0);
    if (status == TERN_OK && atomic_load(&r.several))
        return TERN_OK;
    if (status == TERN_OK)
        status = tern__ternary_first_scale(file, i, &value);
    if (status != TERN_OK)
        return tern__load_fail(file, t, status);
    tern_tensor *s = tern_scalar(ctx, TERN_F32, (double)value), *made;
    TERN_TRY(tern_freeze(s));
    TERN_TRY(make(ctx, loading, i, dtype, fill_ternary, &made));
    *codes = made;
    *scale = s;
    return TERN_OK;
}
