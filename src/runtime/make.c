/* make.c - tensors from data and from nothing. */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "graph/text.h"
#include "runtime/context.h"
#include "runtime/watch_plan.h"
#include "tensor/deferred.h"
#include "tensor/ternary.h"

static tern_tensor *need_context(const char *who)
{
    return tern__error_tensor(NULL, tern__fail(TERN_INVALID_ARGUMENT, "%s: the context is NULL", who));
}

/* `zero`: all bytes are 0. */
static tern_status create_storage(tern_ctx *ctx, const char *maker, const char *name, const tern__type *type,
                                  bool zero, tern__storage **out)
{
    const uint64_t scope = tern__watch_tensor(maker, name, tern__origin_now(ctx), type);
    const size_t bytes = tern__type_bytes(type);
    tern_status status = zero ? tern__storage_create_zero(ctx->pool, bytes, out)
                              : tern__storage_create(ctx->pool, bytes, 0, out);
    tern__watch_leave(scope);
    return status;
}

tern_tensor *tern_from_data(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape, const void *data)
{
    if (!ctx)
        return need_context("from_data");
    tern__type type;
    tern__storage *storage;
    tern_status status = tern__type_make("from_data", dtype, rank, shape, &type);
    if (status == TERN_OK && !data && tern__type_numel(&type) > 0)
        status = tern__fail(TERN_INVALID_ARGUMENT, "from_data: data is NULL");
    if (status == TERN_OK)
        status = tern__ternary_check("from_data", &type, data);
    if (status == TERN_OK)
        status = create_storage(ctx, "from_data", NULL, &type, false, &storage);
    if (status != TERN_OK)
        return tern__error_tensor(ctx, status);
    if (data) { /* NULL where there are no elements */
        memcpy(storage->host, data, tern__type_bytes(&type));
        tern__watch_copied(tern__type_bytes(&type), "in");
    }
    tern__layout layout;
    tern__layout_contiguous(&type, &layout);
    return tern__tensor_wrap(ctx, &type, storage, &layout);
}

/* The caller's drop function takes no size. */
typedef struct borrowed {
    void (*drop)(void *user, void *data);
    void *user, *data;
} borrowed;

static void drop_borrowed(void *user, void *host, size_t bytes)
{
    borrowed *b = user;
    (void)host, (void)bytes;
    b->drop(b->user, b->data);
    tern__free(b);
}

/* Bytes from the first element to behind the last, for strides that only go up. */
static tern_status borrowed_layout(const tern__type *type, const int64_t *strides, tern__layout *layout,
                                   size_t *bytes)
{
    tern__layout_contiguous(type, layout);
    if (!strides) {
        *bytes = tern__type_bytes(type);
        return TERN_OK;
    }
    TERN__FAIL_IF(tern__dtype_is_packed(type->dtype), TERN_UNSUPPORTED,
                  "borrow: packed data cannot be strided");
    int64_t last = 0;
    for (int i = 0; i < type->rank; i++) {
        int64_t reach;
        TERN__FAIL_IF(strides[i] < 0, TERN_INVALID_ARGUMENT,
                      "borrow: stride %d is negative: borrow forwards and flip", i);
        TERN__FAIL_IF(type->shape[i] > 0 && (!tern__i64_mul(type->shape[i] - 1, strides[i], &reach) ||
                                             !tern__i64_add(last, reach, &last)),
                      TERN_OVERFLOW, "borrow: strides reach beyond the address space");
        layout->strides[i] = strides[i];
    }
    size_t span;
    TERN__FAIL_IF(!tern__size_from_i64(last, &span) || !tern__size_add(span, 1, &span) ||
                      !tern__size_mul(span, tern__dtype_unit_bytes(type->dtype), bytes),
                  TERN_OVERFLOW, "borrow: strides reach beyond the address space");
    if (tern__type_numel(type) == 0)
        *bytes = 0;
    return TERN_OK;
}

static tern_status borrow_storage(const tern__type *type, size_t bytes, void *data,
                                  void (*drop)(void *, void *), void *user, tern__storage **out)
{
    TERN__FAIL_IF(!data && bytes, TERN_INVALID_ARGUMENT, "borrow: data is NULL");
    /* blocks are read byte by byte: files have them anywhere */
    size_t unit = tern__dtype_is_block(type->dtype) ? 1 : tern__dtype_unit_bytes(type->dtype);
    TERN__FAIL_IF((uintptr_t)data % unit, TERN_INVALID_ARGUMENT, "borrow: data is not aligned to %zu bytes",
                  unit);
    if (!drop)
        return tern__storage_borrow(data, bytes, false, NULL, NULL, out);
    borrowed *b = tern__alloc(sizeof *b);
    if (!b)
        return tern__out_of_memory(sizeof *b);
    *b = (borrowed){drop, user, data};
    tern_status status = tern__storage_borrow(data, bytes, false, drop_borrowed, b, out);
    if (status != TERN_OK)
        tern__free(b);
    return status;
}

tern_tensor *tern__tensor_wrap_foreign(tern_ctx *ctx, const tern__type *type, tern__storage *storage,
                                       const tern__layout *layout)
{
    void (*drop)(void *, void *, size_t) = storage->drop;
    storage->drop = NULL;
    tern_tensor *t = tern__tensor_wrap(ctx, type, storage, layout);
    if (!tern__tensor_is_error(t))
        storage->drop = drop;
    return t;
}

tern_tensor *tern_borrow(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape,
                         const int64_t *strides, void *data, void (*drop)(void *user, void *data), void *user)
{
    if (!ctx)
        return need_context("borrow");
    tern__type type;
    tern__layout layout;
    size_t bytes = 0;
    tern__storage *storage;
    tern_status status = tern__type_make("borrow", dtype, rank, shape, &type);
    if (status == TERN_OK)
        status = borrowed_layout(&type, strides, &layout, &bytes);
    if (status == TERN_OK && data)
        status = tern__ternary_check("borrow", &type, data);
    if (status == TERN_OK)
        status = borrow_storage(&type, bytes, data, drop, user, &storage);
    if (status != TERN_OK)
        return tern__error_tensor(ctx, status);
    void *own = storage->drop_user;
    tern_tensor *t = tern__tensor_wrap_foreign(ctx, &type, storage, &layout);
    if (tern__tensor_is_error(t))
        tern__free(own);
    return t;
}

static tern_tensor *filled(const char *who, tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape,
                           double value)
{
    if (!ctx)
        return need_context(who);
    tern__type type;
    tern_status status = tern__type_make(who, dtype, rank, shape, &type);
    if (status != TERN_OK)
        return tern__error_tensor(ctx, status);
    tern__attr attrs[3] = {{.i = dtype}, {.ints = type.shape, .count = (uint32_t)rank}, {.f = value}};
    return tern__record(ctx, TERN__OP_full, 0, NULL, attrs);
}

tern_tensor *tern_zeros(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape)
{
    return filled("zeros", ctx, dtype, rank, shape, 0);
}

tern_tensor *tern_ones(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape)
{
    return filled("ones", ctx, dtype, rank, shape, 1);
}

tern_tensor *tern_scalar(tern_ctx *ctx, tern_dtype dtype, double value)
{
    return filled("scalar", ctx, dtype, 0, NULL, value);
}

tern_tensor *tern_input(tern_ctx *ctx, const char *name, tern_dtype dtype, int rank, const int64_t *shape)
{
    if (!ctx)
        return need_context("input");
    tern__type type;
    tern_status status = tern__type_make("input", dtype, rank, shape, &type);
    if (status == TERN_OK && (!name || !name[0]))
        status = tern__fail(TERN_INVALID_ARGUMENT, "input: it needs a name");
    if (status != TERN_OK)
        return tern__error_tensor(ctx, status);
    return tern__tensor_leaf(ctx, TERN__OP_input, name, &type, NULL);
}

tern_tensor *tern_state(tern_ctx *ctx, const char *name, tern_dtype dtype, int rank, const int64_t *shape)
{
    if (!ctx)
        return need_context("state");
    tern__type type;
    tern__storage *storage;
    tern_status status = tern__type_make("state", dtype, rank, shape, &type);
    if (status == TERN_OK && (!name || !name[0]))
        status = tern__fail(TERN_INVALID_ARGUMENT, "state: it needs a name");
    if (status == TERN_OK && tern__dtype_is_packed(dtype))
        status =
            tern__fail(TERN_DTYPE, "state: %s cannot be written element by element", tern_dtype_name(dtype));
    if (status == TERN_OK)
        status = create_storage(ctx, "state", name, &type, true, &storage);
    if (status != TERN_OK)
        return tern__error_tensor(ctx, status);
    return tern__tensor_leaf(ctx, TERN__OP_state, name, &type, storage);
}

tern_tensor *tern_constant(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape,
                           const tern_constant_source *source)
{
    if (!ctx)
        return need_context("constant");
    tern__type type;
    tern__layout layout;
    tern__storage *storage = NULL;
    tern_status status = tern__type_make("constant", dtype, rank, shape, &type);
    if (status == TERN_OK && (!source || !source->fill))
        status = tern__fail(TERN_INVALID_ARGUMENT, "constant: it needs a function that makes its data");
    if (status == TERN_OK)
        status = tern__storage_defer(tern__type_bytes(&type),
                                     &(tern__source){source->fill, source->drop, source->user, source->step},
                                     &storage);
    if (status != TERN_OK) {
        if (source && source->drop)
            source->drop(source->user);
        return tern__error_tensor(ctx, status);
    }
    tern__layout_contiguous(&type, &layout);
    tern_tensor *t = tern__tensor_wrap(ctx, &type, storage, &layout);
    if (!tern__tensor_is_error(t))
        t->constant = true;
    return t;
}

tern_status tern_freeze(tern_tensor *t)
{
    TERN_TRY(tern_eval(t));
    TERN__FAIL_IF(t->consumed, TERN_STATE, "freeze: the tensor was given to a write: freeze its result");
    t->constant = true;
    t->storage->frozen = true;
    return TERN_OK;
}

tern_status tern_name(tern_tensor *t, const char *name)
{
    TERN__FAIL_IF(!t || !name, TERN_INVALID_ARGUMENT, "name: an argument is NULL");
    TERN_TRY(tern__tensor_check(t));
    TERN__FAIL_IF(
        !tern__is_identifier(name, strlen(name)), TERN_INVALID_ARGUMENT,
        "name: '%.64s' is no identifier: letters, digits, '_' and '.', not first a digit or '.', at "
        "most %d bytes",
        name, TERN__MAX_NAME);
    char *own = tern__strdup(name);
    if (!own)
        return tern__out_of_memory(strlen(name) + 1);
    tern__free(t->name);
    t->name = own;
    return TERN_OK;
}
