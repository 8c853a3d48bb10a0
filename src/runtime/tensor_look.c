/* tensor_look.c - what a tensor is and where its data are. */
#include <string.h>

#include "base/status.h"
#include "runtime/context.h"
#include "tensor/deferred.h"

_Static_assert((int)TERN_MAX_RANK == (int)TERN__MAX_RANK, "one rank limit, inside and out");

tern_ctx *tern_ctx_of(const tern_tensor *t)
{
    return t && t->node ? t->node->ctx : NULL;
}

tern_dtype tern_dtype_of(const tern_tensor *t)
{
    return t ? t->type.dtype : TERN_DTYPE_COUNT;
}

int tern_rank(const tern_tensor *t)
{
    return t ? t->type.rank : 0;
}

const int64_t *tern_shape(const tern_tensor *t)
{
    static const int64_t none[TERN__MAX_RANK];
    return t ? t->type.shape : none;
}

int64_t tern_dim(const tern_tensor *t, int axis)
{
    int at;
    return t && tern__axis_normalise(axis, t->type.rank, &at) ? t->type.shape[at] : -1;
}

int64_t tern_numel(const tern_tensor *t)
{
    return t ? tern__type_numel(&t->type) : 0;
}

size_t tern_nbytes(const tern_tensor *t)
{
    return t ? tern__type_bytes(&t->type) : 0;
}

/* After its device was lost a context computes on the CPU. */
static const tern__device_ops *computes(const tern_ctx *ctx)
{
    return ctx->lost ? ctx->host_ops : ctx->device_ops;
}

const char *tern_device_of(const tern_tensor *t)
{
    return t && t->node ? computes(t->node->ctx)->name : "none";
}

const char *tern_backend_of(const tern_tensor *t)
{
    return t && t->node ? computes(t->node->ctx)->backend : "none";
}

bool tern_is_evaluated(const tern_tensor *t)
{
    return t && t->storage != NULL;
}

bool tern_is_constant(const tern_tensor *t)
{
    return t && t->constant;
}

static char *element_zero(const tern_tensor *t)
{
    return (char *)t->storage->host + t->layout.offset * (int64_t)tern__dtype_unit_bytes(t->type.dtype);
}

/* A contiguous copy of a strided view. It is made once; its contents follow the storage when that may have changed. */
static tern_status make_dense(tern_tensor *t)
{
    if (t->dense && t->dense_version == t->storage->version && !t->storage->exposed && !t->storage->borrowed)
        return TERN_OK;
    tern_status status = TERN_OK;
    TERN_SCOPE(t->node->ctx) {
        bool consumed = t->consumed;
        t->consumed = false; /* its memory is what is asked for, whatever its value is called now */
        tern_tensor *copy = tern__record(NULL, TERN__OP_contiguous, 1, &t, NULL);
        t->consumed = consumed;
        status = tern_eval(copy);
        if (status == TERN_OK && t->dense) {
            memcpy(t->dense->host, copy->storage->host, tern__type_bytes(&t->type));
            tern__watch_copied(tern__type_bytes(&t->type), "copy");
        } else if (status == TERN_OK) {
            t->dense = copy->storage;
            tern__storage_retain(t->dense);
        }
        if (status == TERN_OK)
            t->dense_version = t->storage->version;
    }
    return status;
}

tern_status tern__copied_data(tern_tensor *t, const void **out)
{
    TERN_TRY(tern_eval(t));
    TERN_TRY(tern__settle_writes(t->node->ctx, t->storage));
    TERN_TRY(make_dense(t));
    *out = t->dense->host;
    return TERN_OK;
}

tern_status tern__dense_data(tern_tensor *t, const void **out)
{
    TERN_TRY(tern_eval(t));
    TERN_TRY(tern__settle_writes(t->node->ctx, t->storage));
    if (!tern__layout_is_contiguous(&t->type, &t->layout))
        return tern__copied_data(t, out);
    TERN_TRY(tern__storage_hold(t->storage));
    tern__storage_note_use(t->storage);
    *out = element_zero(t);
    return TERN_OK;
}

const void *tern_data(tern_tensor *t)
{
    const void *data = NULL;
    return tern__dense_data(t, &data) == TERN_OK ? data : NULL;
}

static const void *data_as(tern_tensor *t, tern_dtype dtype)
{
    if (tern__tensor_check(t) != TERN_OK)
        return NULL;
    if (t->type.dtype != dtype) {
        tern__fail(TERN_DTYPE, "data_%s: the tensor is %s: cast it first", tern_dtype_name(dtype),
                   tern_dtype_name(t->type.dtype));
        return NULL;
    }
    return tern_data(t);
}

const float *tern_data_f32(tern_tensor *t)
{
    return data_as(t, TERN_F32);
}

const double *tern_data_f64(tern_tensor *t)
{
    return data_as(t, TERN_F64);
}

const int8_t *tern_data_i8(tern_tensor *t)
{
    return data_as(t, TERN_I8);
}

const uint8_t *tern_data_u8(tern_tensor *t)
{
    return data_as(t, TERN_U8);
}

const int32_t *tern_data_i32(tern_tensor *t)
{
    return data_as(t, TERN_I32);
}

const int64_t *tern_data_i64(tern_tensor *t)
{
    return data_as(t, TERN_I64);
}

const uint8_t *tern_data_bool(tern_tensor *t)
{
    return data_as(t, TERN_BOOL);
}

tern_status tern_read(tern_tensor *t, void *out, size_t bytes)
{
    TERN_TRY(tern__tensor_check(t));
    size_t need = tern__type_bytes(&t->type);
    TERN__FAIL_IF(bytes < need || (!out && need), TERN_INVALID_ARGUMENT,
                  "read: %zu bytes are needed, %zu were given", need, bytes);
    TERN_TRY(tern_eval(t));
    const void *data = NULL;
    TERN_TRY(tern__dense_data(t, &data));
    if (need)
        memcpy(out, data, need);
    tern__watch_copied(need, "out");
    return TERN_OK;
}

tern_status tern_map(tern_tensor *t, void **data, int64_t *strides)
{
    TERN__FAIL_IF(!data || (!strides && tern_rank(t) > 0), TERN_INVALID_ARGUMENT,
                  "map: no place for the address or the strides");
    TERN_TRY(tern__expose(t));
    *data = element_zero(t);
    memcpy(strides, t->layout.strides, (size_t)t->type.rank * sizeof *strides);
    return TERN_OK;
}

tern_status tern_shares_storage(tern_tensor *a, tern_tensor *b, bool *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "shares_storage: no place for the result");
    TERN_TRY(tern_eval(a));
    TERN_TRY(tern_eval(b));
    *out = a->storage == b->storage;
    return TERN_OK;
}
