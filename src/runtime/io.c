/* io.c - tensors in .npy and .npz files. */
#include <tern/io.h>

#include "base/alloc.h"
#include "base/status.h"
#include "runtime/context.h"
#include "tensor/deferred.h"
#include "tensor/npy.h"
#include "tensor/npz.h"

static tern_status wrap(tern_ctx *ctx, const tern__type *type, const tern__layout *layout,
                        tern__storage *storage, tern_tensor **out)
{
    tern_tensor *t = tern__tensor_wrap(ctx, type, storage, layout);
    TERN_TRY(tern__tensor_check(t));
    *out = t;
    return TERN_OK;
}

tern_status tern_npy_load(tern_ctx *ctx, const char *path, tern_tensor **out)
{
    TERN__FAIL_IF(!ctx || !path || !out, TERN_INVALID_ARGUMENT, "npy_load: an argument is NULL");
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    TERN_TRY(tern__npy_read(path, ctx->pool, &type, &layout, &storage));
    return wrap(ctx, &type, &layout, storage, out);
}

tern_status tern_npy_map(tern_ctx *ctx, const char *path, tern_tensor **out)
{
    TERN__FAIL_IF(!ctx || !path || !out, TERN_INVALID_ARGUMENT, "npy_map: an argument is NULL");
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    TERN_TRY(tern__npy_map(path, false, &type, &layout, &storage));
    return wrap(ctx, &type, &layout, storage, out);
}

tern_status tern_npy_save(tern_tensor *t, const char *path)
{
    TERN__FAIL_IF(!path, TERN_INVALID_ARGUMENT, "npy_save: the path is NULL");
    TERN_TRY(tern_eval(t));
    TERN_TRY(tern__storage_hold(t->storage));
    return tern__npy_write(path, &t->type, &t->layout, t->storage->host);
}

tern_status tern_npy_convert(const char *in_path, const char *out_path, tern_dtype to, size_t chunk_bytes)
{
    TERN__FAIL_IF(!in_path || !out_path, TERN_INVALID_ARGUMENT, "npy_convert: a path is NULL");
    return tern__npy_convert(in_path, out_path, to, chunk_bytes);
}

/* The public handle is the archive itself. */
static tern__npz *inner(const tern_npz *npz)
{
    return (tern__npz *)(void *)npz;
}

tern_status tern_npz_open(const char *path, tern_npz **out)
{
    TERN__FAIL_IF(!path || !out, TERN_INVALID_ARGUMENT, "npz_open: an argument is NULL");
    tern__npz *npz;
    TERN_TRY(tern__npz_open(path, &npz));
    *out = (tern_npz *)(void *)npz;
    return TERN_OK;
}

void tern_npz_close(tern_npz *npz)
{
    tern__npz_close(inner(npz));
}

int tern_npz_count(const tern_npz *npz)
{
    return npz ? (int)tern__npz_count(inner(npz)) : 0;
}

const char *tern_npz_name(const tern_npz *npz, int i)
{
    return i >= 0 && i < tern_npz_count(npz) ? tern__npz_name(inner(npz), (size_t)i) : NULL;
}

tern_status tern_npz_find(const tern_npz *npz, const char *name, int *out)
{
    TERN__FAIL_IF(!npz || !name || !out, TERN_INVALID_ARGUMENT, "npz_find: an argument is NULL");
    size_t i;
    TERN_TRY(tern__npz_find(inner(npz), name, &i));
    *out = (int)i;
    return TERN_OK;
}

static tern_status check_entry(const char *who, const tern_ctx *ctx, const tern_npz *npz, int i,
                               tern_tensor **out)
{
    TERN__FAIL_IF(!ctx || !npz || !out, TERN_INVALID_ARGUMENT, "%s: an argument is NULL", who);
    TERN__FAIL_IF(i < 0 || i >= tern_npz_count(npz), TERN_OUT_OF_RANGE, "%s: array %d: there are %d", who, i,
                  tern_npz_count(npz));
    return TERN_OK;
}

tern_status tern_npz_map(tern_ctx *ctx, const tern_npz *npz, int i, tern_tensor **out)
{
    TERN_TRY(check_entry("npz_map", ctx, npz, i, out));
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    TERN_TRY(tern__npz_map(inner(npz), (size_t)i, &type, &layout, &storage));
    return wrap(ctx, &type, &layout, storage, out);
}

tern_status tern_npz_load(tern_ctx *ctx, const tern_npz *npz, int i, tern_tensor **out)
{
    TERN_TRY(check_entry("npz_load", ctx, npz, i, out));
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    TERN_TRY(tern__npz_read(inner(npz), (size_t)i, ctx->pool, &type, &layout, &storage));
    return wrap(ctx, &type, &layout, storage, out);
}

tern_status tern_npz_save(const char *path, int n, const char *const *names, tern_tensor *const *tensors)
{
    TERN__FAIL_IF(!path || n < 0 || (n > 0 && (!names || !tensors)), TERN_INVALID_ARGUMENT,
                  "npz_save: an argument is NULL or the count is negative");
    TERN_TRY(tern_eval_all(n, tensors));
    for (int i = 0; i < n; i++)
        TERN_TRY(tern__storage_hold(tensors[i]->storage));
    tern__npz_item *items = tern__alloc_zero((size_t)n, sizeof *items);
    if (!items)
        return tern__out_of_memory((size_t)n * sizeof *items);
    for (int i = 0; i < n; i++)
        items[i] =
            (tern__npz_item){names[i], &tensors[i]->type, &tensors[i]->layout, tensors[i]->storage->host};
    tern_status status = tern__npz_write(path, (size_t)n, items);
    tern__free(items);
    return status;
}
