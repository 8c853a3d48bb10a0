/* programs.c - programs of a training step over the states of a net and of an optimiser.
 *
 * A step of one pass is one program. Where passes accumulate, one program adds a pass's gradients to sums, and another makes a step
 * of them and clears them. So it is where activations are rounded, too: the optimiser is not. */
#include <string.h>

#include <tern/grad.h>
#include <tern/ops.h>
#include <tern/train.h>

#include "base/alloc.h"
#include "base/status.h"
#include "train/trainer.h"

static tern_status compile(tern_trainer *t, int n, tern_tensor *const *outputs, tern_precision precision,
                           tern__train_run which)
{
    tern_compile_options o = tern_compile_options_default();
    tern__train_runner *out = &t->runners[which];
    o.precision = precision;
    out->n_out = n;
    return tern_compile(t->ctx, n, outputs, NULL, &o, &out->program);
}

/* Programs are compiled in scopes of their own, which release what was recorded and so give spent states back; only then can an
 * exec work in place. */
static tern_status prepare(tern_trainer *t, tern__train_run which)
{
    tern__train_runner *r = &t->runners[which];
    return tern_exec_create_in_place(t->ctx, r->program, &r->exec);
}

static tern_tensor *tokens_input(const tern_trainer *t)
{
    const int64_t n = tern__train_pass_tokens(&t->o);
    return tern_input(t->ctx, "tokens", TERN_I32, 1, &n);
}

static tern_tensor *targets_input(const tern_trainer *t)
{
    return tern_input(t->ctx, "targets", TERN_I32, 2, (int64_t[]){tern__train_pass_tokens(&t->o), 1});
}

static tern_tensor *logits_of_pass(const tern_trainer *t)
{
    return tern__train_logits(&t->net, tokens_input(t), t->o.batch);
}

static tern_tensor *loss_of_pass(const tern_trainer *t)
{
    tern_tensor *logits = logits_of_pass(t); /* whose input is the first */
    return tern__train_loss(logits, targets_input(t));
}

/* Of the loss times its scale, where it has one. */
static tern_status gradients_of(const tern_trainer *t, tern_tensor *loss, tern_tensor **grads)
{
    return tern_grad(tern__train_scales_loss(&t->o) ? tern_mul(loss, t->scale[TERN__SCALE_IS]) : loss,
                     t->net.n, t->net.weights, grads);
}

static tern_tensor *number(const tern_trainer *t, double value)
{
    return tern_full(t->ctx, TERN_F32, 0, NULL, value);
}

/* The optimiser's step by `share` of the gradients. Outputs from `written` on: every state of the optimiser. */
static tern_status record_step(tern_trainer *t, tern_tensor **grads, double share, tern_tensor **norm,
                               tern_tensor **written)
{
    tern_tensor *rate = tern_input(t->ctx, "rate", TERN_F32, 0, NULL), *by = number(t, share);
    if (tern__train_scales_loss(&t->o))
        by = tern_div(by, t->scale[TERN__SCALE_IS]);
    for (int i = 0; i < t->net.n && (share != 1 || tern__train_scales_loss(&t->o)); i++)
        grads[i] = tern_mul(grads[i], by);
    return tern_optimiser_step(t->optimiser, rate, grads, written, norm);
}

/* Outputs: the loss, the norm, and every state that is written. */
static tern_status compile_step(tern_trainer *t, tern_tensor **grads)
{
    TERN_SCOPE(t->ctx) {
        tern_tensor *loss = loss_of_pass(t);
        t->outputs[0] = loss;
        TERN_TRY(gradients_of(t, loss, grads));
        TERN_TRY(record_step(t, grads, 1, &t->outputs[1], t->outputs + 2));
        return compile(t, 2 + tern_optimiser_count(t->optimiser), t->outputs, TERN_PRECISION_EXACT,
                       TERN__RUN_PASS);
    }
    return TERN_INTERNAL;
}

/* Outputs: the loss, and the sums. */
static tern_status compile_pass(tern_trainer *t, tern_tensor **grads)
{
    TERN_SCOPE(t->ctx) {
        tern_tensor *loss = loss_of_pass(t);
        t->outputs[0] = loss;
        TERN_TRY(gradients_of(t, loss, grads));
        for (int i = 0; i < t->net.n; i++)
            grads[i] = tern_add(t->sums[i], grads[i]);
        for (int i = 0; i < t->net.n; i++)
            t->outputs[1 + i] = tern_overwrite(t->sums[i], grads[i]);
        return compile(t, 1 + t->net.n, t->outputs, t->o.activations, TERN__RUN_PASS);
    }
    return TERN_INTERNAL;
}

/* Outputs: the norm, every state that is written, and the cleared sums. */
static tern_status compile_apply(tern_trainer *t, tern_tensor **grads)
{
    TERN_SCOPE(t->ctx) {
        const int written = tern_optimiser_count(t->optimiser);
        memcpy(grads, t->sums, (size_t)t->net.n * sizeof *grads);
        TERN_TRY(record_step(t, grads, 1 / (double)t->o.accumulate, &t->outputs[0], t->outputs + 1));
        for (int i = 0; i < t->net.n; i++)
            t->outputs[1 + written + i] = tern_overwrite(t->sums[i], number(t, 0));
        return compile(t, 1 + written + t->net.n, t->outputs, TERN_PRECISION_EXACT, TERN__RUN_APPLY);
    }
    return TERN_INTERNAL;
}

/* Output: the squares of all sums together, which are finite if these are. */
static tern_status compile_check(tern_trainer *t)
{
    TERN_SCOPE(t->ctx) {
        tern_tensor *sum = number(t, 0);
        for (int i = 0; i < t->net.n; i++)
            sum = tern_add(sum, tern_sum(tern_square(t->sums[i]), 0, NULL, false));
        return compile(t, 1, &sum, TERN_PRECISION_EXACT, TERN__RUN_CHECK);
    }
    return TERN_INTERNAL;
}

/* Output: the loss of each sequence. */
static tern_status compile_loss(tern_trainer *t)
{
    TERN_SCOPE(t->ctx) {
        tern_tensor *logits = logits_of_pass(t);
        tern_tensor *losses = tern__train_losses(logits, targets_input(t), t->o.batch);
        return compile(t, 1, &losses, TERN_PRECISION_EXACT, TERN__RUN_LOSS);
    }
    return TERN_INTERNAL;
}

tern_status tern__train_compile_logits(tern_trainer *t)
{
    TERN_SCOPE(t->ctx) {
        tern_tensor *logits = logits_of_pass(t);
        TERN_TRY(compile(t, 1, &logits, TERN_PRECISION_EXACT, TERN__RUN_LOGITS));
    }
    return prepare(t, TERN__RUN_LOGITS);
}

tern_status tern__train_compile(tern_trainer *t)
{
    const bool several = tern__train_keeps_sums(&t->o);
    tern_tensor **grads = tern__alloc_zero((size_t)t->net.n, sizeof(tern_tensor *));
    if (!grads)
        return tern__out_of_memory((size_t)t->net.n * sizeof(tern_tensor *));
    tern_status status = several ? compile_pass(t, grads) : compile_step(t, grads);
    if (status == TERN_OK && several)
        status = compile_apply(t, grads);
    tern__free(grads);
    TERN_TRY(status);
    if (tern__train_scales_loss(&t->o))
        TERN_TRY(compile_check(t));
    TERN_TRY(compile_loss(t));
    for (int i = 0; i < TERN__RUNS; i++)
        if (t->runners[i].program)
            TERN_TRY(prepare(t, (tern__train_run)i));
    return TERN_OK;
}
