/* dlpack.c - DLPack structs out of storages, and storages out of DLPack structs. */
#include "tensor/dlpack.h"

#include <stdint.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

/* clang-format off */
static const struct element {
    tern_dtype dtype;
    uint8_t code, bits;
} ELEMENTS[] = {
    {TERN_BOOL, DLPACK_BOOL, 8},    {TERN_U8, DLPACK_UINT, 8},   {TERN_I8, DLPACK_INT, 8},
    {TERN_I32, DLPACK_INT, 32},     {TERN_I64, DLPACK_INT, 64},  {TERN_F16, DLPACK_FLOAT, 16},
    {TERN_BF16, DLPACK_BFLOAT, 16}, {TERN_F32, DLPACK_FLOAT, 32}, {TERN_F64, DLPACK_FLOAT, 64},
};
/* clang-format on */

/* ---- export -------------------------------------------------------------------------------------------- */

/* One block: the struct that leaves, what it points to, and the storage it keeps. */
typedef struct exported {
    union {
        struct DLManagedTensorVersioned versioned;
        struct DLManagedTensor unversioned;
    };
    tern__storage *storage;
    int64_t shape[TERN__MAX_RANK], strides[TERN__MAX_RANK];
} exported;

static void exported_free(exported *e)
{
    tern__storage_release(e->storage);
    tern__free(e);
}

static void delete_versioned(struct DLManagedTensorVersioned *self)
{
    exported_free(self->manager_ctx);
}

static void delete_unversioned(struct DLManagedTensor *self)
{
    exported_free(self->manager_ctx);
}

/* Fills everything but the managing part. */
static tern_status export_tensor(const tern__type *type, const tern__layout *layout, tern__storage *storage,
                                 exported *e, DLTensor *out)
{
    const struct element *element = NULL;
    for (size_t i = 0; i < TERN__COUNT(ELEMENTS); i++) {
        if (ELEMENTS[i].dtype == type->dtype)
            element = &ELEMENTS[i];
    }
    TERN__FAIL_IF(!element, TERN_UNSUPPORTED, "dlpack: %s has no form there; cast to %s first",
                  tern_dtype_name(type->dtype), tern__dtype_is_block(type->dtype) ? "f32" : "i8");
    for (int i = 0; i < type->rank; i++) {
        e->shape[i] = type->shape[i];
        e->strides[i] = layout->strides[i];
    }
    /* other libraries do not always heed byte_offset, so the pointer has it */
    char *first = (char *)storage->host + layout->offset * (int64_t)tern__dtype_unit_bytes(type->dtype);
    *out = (DLTensor){
        .data = tern__type_numel(type) > 0 ? first : NULL,
        .device = {.device_type = DLPACK_CPU},
        .ndim = type->rank,
        .dtype = {.code = element->code, .bits = element->bits, .lanes = 1},
        .shape = e->shape,
        .strides = e->strides,
    };
    tern__storage_retain(storage);
    e->storage = storage;
    return TERN_OK;
}

tern_status tern__dlpack_export(const tern__type *type, const tern__layout *layout, tern__storage *storage,
                                struct DLManagedTensorVersioned **out)
{
    exported *e = tern__alloc_zero(1, sizeof *e);
    if (!e)
        return tern__out_of_memory(sizeof *e);
    tern_status status = export_tensor(type, layout, storage, e, &e->versioned.dl_tensor);
    if (status != TERN_OK) {
        tern__free(e);
        return status;
    }
    e->versioned.version = (DLPackVersion){DLPACK_MAJOR, DLPACK_MINOR};
    e->versioned.flags = storage->read_only ? DLPACK_READ_ONLY : 0;
    e->versioned.manager_ctx = e;
    e->versioned.deleter = delete_versioned;
    *out = &e->versioned;
    return TERN_OK;
}

tern_status tern__dlpack_export_unversioned(const tern__type *type, const tern__layout *layout,
                                            tern__storage *storage, struct DLManagedTensor **out)
{
    TERN__FAIL_IF(
        storage->read_only, TERN_UNSUPPORTED,
        "dlpack: the older form cannot say that memory is read-only; use the versioned one, or copy");
    exported *e = tern__alloc_zero(1, sizeof *e);
    if (!e)
        return tern__out_of_memory(sizeof *e);
    tern_status status = export_tensor(type, layout, storage, e, &e->unversioned.dl_tensor);
    if (status != TERN_OK) {
        tern__free(e);
        return status;
    }
    e->unversioned.manager_ctx = e;
    e->unversioned.deleter = delete_unversioned;
    *out = &e->unversioned;
    return TERN_OK;
}

/* ---- import -------------------------------------------------------------------------------------------- */

static tern_status import_type(const DLTensor *t, tern__type *out)
{
    const struct element *element = NULL;
    for (size_t i = 0; i < TERN__COUNT(ELEMENTS); i++) {
        if (ELEMENTS[i].code == t->dtype.code && ELEMENTS[i].bits == t->dtype.bits && t->dtype.lanes == 1)
            element = &ELEMENTS[i];
    }
    TERN__FAIL_IF(!element, TERN_UNSUPPORTED,
                  "dlpack: elements of code %u, %u bits and %u lanes are not supported", t->dtype.code,
                  t->dtype.bits, t->dtype.lanes);
    TERN__FAIL_IF(
        t->device.device_type != DLPACK_CPU, TERN_UNSUPPORTED,
        "dlpack: the memory belongs to device type %d; only the CPU's is taken (copy it there first)",
        t->device.device_type);
    TERN__FAIL_IF(t->ndim > TERN__MAX_RANK, TERN_UNSUPPORTED, "dlpack: %d axes; at most %d are supported",
                  t->ndim, TERN__MAX_RANK);
    return tern__type_make("dlpack", element->dtype, t->ndim, t->shape, out);
}

/* Strides as they are; the offset makes the lowest element the start of the storage. */
static bool import_layout(const DLTensor *t, const tern__type *type, tern__layout *out)
{
    int64_t low = 0, reach;
    tern__layout_contiguous(type, out);
    if (!t->strides || tern__type_numel(type) == 0)
        return true;
    for (int i = 0; i < type->rank; i++) {
        if (type->shape[i] == 1)
            continue; /* such a stride may be any number */
        out->strides[i] = t->strides[i];
        if (t->strides[i] >= 0)
            continue;
        if (!tern__i64_mul(t->strides[i], type->shape[i] - 1, &reach) || !tern__i64_add(low, reach, &low))
            return false;
    }
    return tern__i64_mul(low, -1, &out->offset) && tern__layout_fits(type, out, PTRDIFF_MAX);
}

static tern_status import_tensor(const DLTensor *t, bool read_only,
                                 void (*drop)(void *user, void *host, size_t bytes), void *drop_user,
                                 tern__type *type, tern__layout *layout, tern__storage **storage)
{
    tern__type made;
    tern__layout strided;
    int64_t low, high;
    TERN_TRY(import_type(t, &made));
    TERN__FAIL_IF(!import_layout(t, &made, &strided), TERN_OVERFLOW,
                  "dlpack: the strides reach beyond all memory");
    TERN__FAIL_IF(!t->data && tern__type_numel(&made) > 0, TERN_INVALID_ARGUMENT,
                  "dlpack: the data are NULL");
    TERN__FAIL_IF(t->data && ((uintptr_t)t->data + t->byte_offset) % tern__dtype_unit_bytes(made.dtype) != 0,
                  TERN_UNSUPPORTED, "dlpack: the data are not aligned to their elements; copy them first");
    tern__layout_span(&made, &strided, &low, &high); /* low is 0 */
    size_t lead = (size_t)strided.offset * tern__dtype_unit_bytes(made.dtype);
    char *host = t->data ? (char *)t->data + t->byte_offset - lead : NULL;
    TERN_TRY(tern__storage_borrow(host, (size_t)high, read_only, drop, drop_user, storage));
    *type = made;
    *layout = strided;
    return TERN_OK;
}

static void drop_versioned(void *user, void *host, size_t bytes)
{
    struct DLManagedTensorVersioned *managed = user;
    (void)host;
    (void)bytes;
    if (managed->deleter)
        managed->deleter(managed);
}

static void drop_unversioned(void *user, void *host, size_t bytes)
{
    struct DLManagedTensor *managed = user;
    (void)host;
    (void)bytes;
    if (managed->deleter)
        managed->deleter(managed);
}

tern_status tern__dlpack_import(struct DLManagedTensorVersioned *managed, tern__type *type,
                                tern__layout *layout, tern__storage **storage)
{
    TERN__FAIL_IF(!managed, TERN_INVALID_ARGUMENT, "dlpack: the tensor is NULL");
    TERN__FAIL_IF(managed->version.major != DLPACK_MAJOR, TERN_UNSUPPORTED,
                  "dlpack: version %u.%u of the ABI is not understood; %d.x is", managed->version.major,
                  managed->version.minor, DLPACK_MAJOR);
    return import_tensor(&managed->dl_tensor, managed->flags & DLPACK_READ_ONLY, drop_versioned, managed,
                         type, layout, storage);
}

tern_status tern__dlpack_import_unversioned(struct DLManagedTensor *managed, tern__type *type,
                                            tern__layout *layout, tern__storage **storage)
{
    TERN__FAIL_IF(!managed, TERN_INVALID_ARGUMENT, "dlpack: the tensor is NULL");
    return import_tensor(&managed->dl_tensor, false, drop_unversioned, managed, type, layout, storage);
}
