/* grad.h - gradients: how a number that was computed changes with what it was computed from.
 *
 * tern_grad walks the recorded operations back and records the gradient as lazy tensors like any others, so the compiler's passes
 * apply to both directions alike, and a training step is one program: loss, gradients and the writes that update states.
 *
 * Threading: as the context's. */
#ifndef TERN_GRAD_H
#define TERN_GRAD_H

#include <tern/context.h>
#include <tern/export.h>
#include <tern/status.h>
#include <tern/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Views of an evaluated tensor are evaluated at once and do not know what they are views of. Those of a watched tensor are
 * recorded, so that tern_grad sees through them. Watch a parameter before anything is computed from it; tensors without data
 * need not be watched. TERN_INVALID_ARGUMENT if t is NULL or an error tensor. */
TERN_API tern_status tern_watch(tern_tensor *t);

/* d loss / d params[i], of the shape and dtype of params[i], for all of them in one walk. `loss` is one float that was not
 * evaluated yet: evaluating lets go of how it was computed. New tensors belong to the open scope, or to the caller.
 *
 * Where a function has a kink the gradient is that of one side; maximum, minimum, max and min share it equally among all equals.
 * Steps (round, sign, comparisons) have the gradient 0. Quantisation passes gradients on as if it did not round
 * (straight-through): its scales count as constants.
 *
 * TERN_UNSUPPORTED names an operation on the way that has no gradient; TERN_INVALID_ARGUMENT names a parameter that the loss
 * does not depend on, or that is no float. On failure `grads` is untouched. */
TERN_API tern_status tern_grad(tern_tensor *loss, int n, tern_tensor *const *params, tern_tensor **grads);

/* What is recorded between the two is not kept for gradients: tern_grad records it once more, from what it reads of outside, where the
 * way back comes to it. Less memory for more time, and the same bits. What is open already includes what is opened inside. Close it
 * before tern_grad is called, else gradients are part of it too. */
TERN_API void tern_recompute_open(tern_ctx *ctx);  /* nothing if ctx is NULL */
TERN_API void tern_recompute_close(tern_ctx *ctx); /* nothing if none is open */

#ifdef __cplusplus
}
#endif

#endif
