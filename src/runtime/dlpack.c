/* dlpack.c - lazy tensors to and from DLPack. */
#include <tern/dlpack.h>

#include "base/status.h"
#include "runtime/context.h"
#include "tensor/dlpack.h"

tern_status tern_to_dlpack(tern_tensor *t, struct DLManagedTensorVersioned **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "to_dlpack: no place for the result");
    TERN_TRY(tern__expose(t));
    struct DLManagedTensorVersioned *managed;
    TERN_TRY(tern__dlpack_export(&t->type, &t->layout, t->storage, &managed));
    if (t->storage->frozen)
        managed->flags |= DLPACK_READ_ONLY;
    *out = managed;
    return TERN_OK;
}

tern_status tern_to_dlpack_unversioned(tern_tensor *t, struct DLManagedTensor **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "to_dlpack: no place for the result");
    TERN_TRY(tern__expose(t));
    TERN__FAIL_IF(t->storage->frozen, TERN_UNSUPPORTED,
                  "to_dlpack: the tensor is a constant, and the older form cannot say read-only: use the "
                  "versioned one");
    return tern__dlpack_export_unversioned(&t->type, &t->layout, t->storage, out);
}

static tern_status wrap(tern_ctx *ctx, const tern__type *type, const tern__layout *layout,
                        tern__storage *storage, tern_tensor **out)
{
    tern_tensor *t = tern__tensor_wrap_foreign(ctx, type, storage, layout);
    TERN_TRY(tern__tensor_check(t));
    *out = t;
    return TERN_OK;
}

tern_status tern_from_dlpack(tern_ctx *ctx, struct DLManagedTensorVersioned *managed, tern_tensor **out)
{
    TERN__FAIL_IF(!ctx || !managed || !out, TERN_INVALID_ARGUMENT, "from_dlpack: an argument is NULL");
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    TERN_TRY(tern__dlpack_import(managed, &type, &layout, &storage));
    return wrap(ctx, &type, &layout, storage, out);
}

tern_status tern_from_dlpack_unversioned(tern_ctx *ctx, struct DLManagedTensor *managed, tern_tensor **out)
{
    TERN__FAIL_IF(!ctx || !managed || !out, TERN_INVALID_ARGUMENT, "from_dlpack: an argument is NULL");
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    TERN_TRY(tern__dlpack_import_unversioned(managed, &type, &layout, &storage));
    return wrap(ctx, &type, &layout, storage, out);
}
