/* dlpack.h - sharing memory with NumPy, PyTorch and others by DLPack, without copying, in both directions.
 *
 * The structs are those of the DLPack ABI; include its own header to look inside. A managed tensor must be
 * given back by calling its deleter exactly once, on any thread; it keeps the memory alive by itself and may
 * outlive the context. Ternary types have no DLPack form: TERN_UNSUPPORTED. */
#ifndef TERN_DLPACK_H
#define TERN_DLPACK_H

#include <tern/context.h>
#include <tern/export.h>
#include <tern/status.h>
#include <tern/tensor.h>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

#ifdef __cplusplus
extern "C" {
#endif

/* Evaluates `t` and exports it: version 1.x (capsule name "dltensor_versioned") or the older form ("dltensor").
 * The older form cannot say "read-only", so constants and mapped files are refused there. */
TERN_API tern_status tern_to_dlpack(tern_tensor *t, struct DLManagedTensorVersioned **out);
TERN_API tern_status tern_to_dlpack_unversioned(tern_tensor *t, struct DLManagedTensor **out);

/* Takes over `managed`, whose deleter runs when the last tensor that uses the memory dies. On failure the caller
 * still owns it. */
TERN_API tern_status tern_from_dlpack(tern_ctx *ctx, struct DLManagedTensorVersioned *managed,
                                      tern_tensor **out);
TERN_API tern_status tern_from_dlpack_unversioned(tern_ctx *ctx, struct DLManagedTensor *managed,
                                                  tern_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
