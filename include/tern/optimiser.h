/* optimiser.h - optimisers as graph operations: a step is recorded like everything else, and compiled with the loss and its gradients
 * into one program that updates the parameters where they are.
 *
 *     tern_grad(loss, n, params, grads);
 *     tern_optimiser_step(optimiser, rate, grads, written, NULL);    records; nothing runs
 *     tern_compile(ctx, 1 + count, outputs, ...)                     loss, and everything written
 *
 * Threading: as the context's. */
#ifndef TERN_OPTIMISER_H
#define TERN_OPTIMISER_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>
#include <tern/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_optimiser tern_optimiser;

/* X(enumerator, number, name, meaning). */
#define TERN_OPTIMISER_LIST(X)                                                                       \
    X(ADAMW, 0, "adamw",                                                                             \
      "moments of gradients and of their squares, corrected for their start; decay apart from both") \
    X(SGD, 1, "sgd", "gradients, with momentum where that is above 0")

typedef enum tern_optimiser_kind {
#define TERN_OPTIMISER_ENUM(id, number, name, meaning) TERN_OPTIMISER_##id = number,
    TERN_OPTIMISER_LIST(TERN_OPTIMISER_ENUM)
#undef TERN_OPTIMISER_ENUM
} tern_optimiser_kind;

/* Start from tern_optimiser_options_default(): a zeroed one is refused. */
typedef struct tern_optimiser_options {
    tern_optimiser_kind kind;
    double beta1, beta2, eps; /* of AdamW; eps above 0 */
    double momentum;          /* of SGD */
    double weight_decay;      /* part of a parameter that goes with every step, times the rate */
    double clip; /* gradients are scaled so that the norm of all together is at most this; 0: never */
} tern_optimiser_options;

/* AdamW: 0.9, 0.95, 1e-8, no decay, no clipping. */
TERN_API tern_optimiser_options tern_optimiser_options_default(void);

/* What is trained: an f32 state, and its part of the options' weight_decay: 1 for most; 0 for norms and biases, which usually do not
 * decay; any other for a group that decays less, or more. */
typedef struct tern_parameter {
    tern_tensor *state;
    double decay;
} tern_parameter;

/* Makes the moments, zeroed states "p0.m", "p0.v" and so on, and a count of steps. Keeps a reference to every parameter. NULL options:
 * the defaults. TERN_INVALID_ARGUMENT names an option or a parameter that cannot be. */
TERN_API tern_status tern_optimiser_create(tern_ctx *ctx, const tern_optimiser_options *options, int n,
                                           const tern_parameter *parameters, tern_optimiser **out);
TERN_API void tern_optimiser_free(tern_optimiser *optimiser); /* NULL is fine; parameters stay */

/* How many numbers an optimiser keeps beside each one that it trains: AdamW 2, SGD 1 with momentum and 0 without. NULL: the defaults. */
TERN_API int tern_optimiser_moments(const tern_optimiser_options *options);

/* How many tensors a step writes, and tensor i of them: parameters first, then moments, then the count. What a checkpoint holds. */
TERN_API int tern_optimiser_count(const tern_optimiser *optimiser);
TERN_API tern_tensor *tern_optimiser_state(const tern_optimiser *optimiser, int i);

/* Records one step: grads[i] belongs to parameter i, `rate` is one f32 (an input, so that a schedule decides at every run).
 * written[0..tern_optimiser_count) are the new values, for outputs of a program; the states are spent until it is compiled and these
 * handles are released. `norm`, unless NULL: that of all gradients together, before clipping. Call it in a scope, which
 * then owns them and what is recorded on the way. */
TERN_API tern_status tern_optimiser_step(tern_optimiser *optimiser, tern_tensor *rate,
                                         tern_tensor *const *grads, tern_tensor **written,
                                         tern_tensor **norm);

#ifdef __cplusplus
}
#endif

#endif
