/* dlpack.h - a tensor (type, layout, storage) as a DLPack struct and back, without copying. */
#ifndef TERN_TENSOR_DLPACK_H
#define TERN_TENSOR_DLPACK_H

#include "tensor/dlpack_abi.h"
#include "tensor/layout.h"
#include "tensor/storage.h"

/* The result holds a reference to the storage until its deleter is called, on any thread. A read-only storage
 * sets the flag; the older form has none, so it is refused there with TERN_UNSUPPORTED, as t2 and t5 are in
 * both. */
tern_status tern__dlpack_export(const tern__type *type, const tern__layout *layout, tern__storage *storage,
                                struct DLManagedTensorVersioned **out);
tern_status tern__dlpack_export_unversioned(const tern__type *type, const tern__layout *layout,
                                            tern__storage *storage, struct DLManagedTensor **out);

/* Takes over `managed`: its deleter runs when the last reference to the storage goes. On failure the caller
 * still owns it. TERN_UNSUPPORTED: another major version, another device, an element type that tern has not,
 * elements off their alignment, too many axes. */
tern_status tern__dlpack_import(struct DLManagedTensorVersioned *managed, tern__type *type,
                                tern__layout *layout, tern__storage **storage);
tern_status tern__dlpack_import_unversioned(struct DLManagedTensor *managed, tern__type *type,
                                            tern__layout *layout, tern__storage **storage);

#endif
