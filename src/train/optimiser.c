/* optimiser.c - AdamW and SGD as lazy tensors. Every parameter's update is elementwise, so the compiler makes one pass over memory of
 * it: parameter, gradient and moments are read once and written once. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/context.h>
#include <tern/ops.h>
#include <tern/optimiser.h>

#include "base/alloc.h"
#include "base/status.h"

enum { MOST_MOMENTS = 2 };

struct tern_optimiser {
    tern_ctx *ctx;
    tern_optimiser_options o;
    int n, moments;       /* of each parameter */
    double *decays;       /* (n) of each parameter */
    tern_tensor **states; /* (n * (1 + moments) + 1) */
};

tern_optimiser_options tern_optimiser_options_default(void)
{
    return (tern_optimiser_options){.kind = TERN_OPTIMISER_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8};
}

int tern_optimiser_moments(const tern_optimiser_options *options)
{
    const tern_optimiser_options o = options ? *options : tern_optimiser_options_default();
    return o.kind == TERN_OPTIMISER_ADAMW ? 2 : o.momentum > 0;
}

/* ---- making -------------------------------------------------------------------------------------------------------- */

static bool is_share(double x)
{
    return x >= 0 && x < 1;
}

static tern_status check_options(const tern_optimiser_options *o)
{
    TERN__FAIL_IF(o->kind != TERN_OPTIMISER_ADAMW && o->kind != TERN_OPTIMISER_SGD, TERN_INVALID_ARGUMENT,
                  "optimiser_create: there is no optimiser %d", (int)o->kind);
    const struct {
        const char *name;
        bool good;
        double value;
    } checks[] = {
        {"beta1", is_share(o->beta1), o->beta1},
        {"beta2", is_share(o->beta2), o->beta2},
        {"momentum", is_share(o->momentum), o->momentum},
        /* 0 / 0 where a gradient has always been 0 */
        {"eps", o->kind == TERN_OPTIMISER_SGD || (o->eps > 0 && isfinite(o->eps)), o->eps},
        {"weight_decay", o->weight_decay >= 0 && isfinite(o->weight_decay), o->weight_decay},
        {"clip", o->clip >= 0 && isfinite(o->clip), o->clip},
    };
    for (size_t i = 0; i < TERN__COUNT(checks); i++)
        TERN__FAIL_IF(!checks[i].good, TERN_INVALID_ARGUMENT, "optimiser_create: %s is %g", checks[i].name,
                      checks[i].value);
    return TERN_OK;
}

/* A zeroed state that belongs to the optimiser, whichever scope is open. */
static tern_status make_state(tern_optimiser *a, const char *name, int rank, const int64_t *shape,
                              tern_tensor **out)
{
    TERN_SCOPE(a->ctx) {
        tern_tensor *state = tern_state(a->ctx, name, TERN_F32, rank, shape);
        TERN_TRY(tern_status_of(state));
        *out = tern_keep(state);
    }
    return TERN_OK;
}

static tern_status make_states(tern_optimiser *a, const tern_parameter *parameters)
{
    for (int i = 0; i < a->n; i++) {
        tern_tensor *p = parameters[i].state;
        TERN__FAIL_IF(!p || tern_status_of(p) != TERN_OK || tern_dtype_of(p) != TERN_F32,
                      TERN_INVALID_ARGUMENT, "optimiser_create: parameter %d is no f32 state", i);
        const double decay = parameters[i].decay;
        TERN__FAIL_IF(!(decay >= 0) || !isfinite(decay), TERN_INVALID_ARGUMENT,
                      "optimiser_create: decay of parameter %d is %g", i, decay);
        a->states[i] = tern_keep(p);
        a->decays[i] = decay * a->o.weight_decay;
    }
    for (int which = 0; which < a->moments; which++) {
        for (int i = 0; i < a->n; i++) {
            char name[32];
            snprintf(name, sizeof name, "p%d.%c", i, which == 0 ? 'm' : 'v');
            TERN_TRY(make_state(a, name, tern_rank(a->states[i]), tern_shape(a->states[i]),
                                &a->states[a->n * (1 + which) + i]));
        }
    }
    return make_state(a, "steps", 0, NULL, &a->states[tern_optimiser_count(a) - 1]);
}

tern_status tern_optimiser_create(tern_ctx *ctx, const tern_optimiser_options *options, int n,
                                  const tern_parameter *parameters, tern_optimiser **out)
{
    TERN__FAIL_IF(!ctx || n < 1 || !parameters || !out, TERN_INVALID_ARGUMENT,
                  "optimiser_create: the context, the parameters or the place for the result are missing");
    const tern_optimiser_options o = options ? *options : tern_optimiser_options_default();
    TERN_TRY(check_options(&o));
    tern_optimiser *a = tern__alloc_zero(1, sizeof *a);
    if (!a)
        return tern__out_of_memory(sizeof *a);
    *a = (tern_optimiser){.ctx = ctx, .o = o, .n = n};
    a->moments = tern_optimiser_moments(&o);
    a->decays = tern__alloc_zero((size_t)n, sizeof *a->decays);
    a->states = tern__alloc_zero((size_t)tern_optimiser_count(a), sizeof(tern_tensor *));
    tern_status status = a->decays && a->states ? make_states(a, parameters) : tern__out_of_memory((size_t)n);
    if (status != TERN_OK) {
        tern_optimiser_free(a);
        return status;
    }
    *out = a;
    return TERN_OK;
}

void tern_optimiser_free(tern_optimiser *a)
{
    if (!a)
        return;
    for (int i = 0; a->states && i < tern_optimiser_count(a); i++)
        tern_release(a->states[i]);
    tern__free(a->states);
    tern__free(a->decays);
    tern__free(a);
}

int tern_optimiser_count(const tern_optimiser *a)
{
    return a ? a->n * (1 + a->moments) + 1 : 0;
}

tern_tensor *tern_optimiser_state(const tern_optimiser *a, int i)
{
    return i >= 0 && i < tern_optimiser_count(a) ? a->states[i] : NULL;
}

/* ---- a step -------------------------------------------------------------------------------------------------------- */

static tern_tensor *number(const tern_optimiser *a, double value)
{
    return tern_full(a->ctx, TERN_F32, 0, NULL, value);
}

/* The Euclidean norm of all gradients together, added in their order. */
static tern_tensor *norm_of(const tern_optimiser *a, tern_tensor *const *grads)
{
    tern_tensor *sum = number(a, 0);
    for (int i = 0; i < a->n; i++)
        sum = tern_add(sum, tern_sum(tern_square(grads[i]), 0, NULL, false));
    return tern_sqrt(sum);
}

/* old + share * (x - old), by two products: what a running mean of `keep` = 1 - share is. */
static tern_tensor *blend(const tern_optimiser *a, tern_tensor *old, double keep, tern_tensor *x)
{
    return tern_add(tern_mul(old, number(a, keep)), tern_mul(x, number(a, 1 - keep)));
}

/* 1 - beta^count: how much of a running mean that started at 0 is there. */
static tern_tensor *present(const tern_optimiser *a, double beta, tern_tensor *count)
{
    return tern_sub(number(a, 1), tern_pow(number(a, beta), count));
}

static tern_tensor *direction(const tern_optimiser *a, int i, tern_tensor *grad, tern_tensor *count,
                              tern_tensor **moments)
{
    tern_tensor *first = a->moments > 0 ? a->states[a->n + i] : NULL;
    if (a->o.kind == TERN_OPTIMISER_SGD) {
        if (first)
            grad = moments[0] = tern_add(tern_mul(first, number(a, a->o.momentum)), grad);
        return grad;
    }
    moments[0] = blend(a, first, a->o.beta1, grad);
    moments[1] = blend(a, a->states[2 * a->n + i], a->o.beta2, tern_square(grad));
    tern_tensor *m = tern_div(moments[0], present(a, a->o.beta1, count));
    tern_tensor *v = tern_div(moments[1], present(a, a->o.beta2, count));
    return tern_div(m, tern_add(tern_sqrt(v), number(a, a->o.eps)));
}

static tern_status write_state(const tern_optimiser *a, int i, tern_tensor *value, tern_tensor **written)
{
    TERN_TRY(tern_status_of(value));
    written[i] = tern_overwrite(a->states[i], value);
    return tern_status_of(written[i]);
}

/* Parameter i and its moments. All values come before the first write, which spends what the others read; the writes follow at once,
 * so that the one step that computes them puts them where they belong (passes/place.c). */
static tern_status record_parameter(const tern_optimiser *a, int i, tern_tensor *rate, tern_tensor *grad,
                                    tern_tensor *count, tern_tensor **written)
{
    tern_tensor *moments[MOST_MOMENTS] = {0}, *step = direction(a, i, grad, count, moments);
    if (a->decays[i] > 0)
        step = tern_add(step, tern_mul(a->states[i], number(a, a->decays[i])));
    tern_tensor *value = tern_sub(a->states[i], tern_mul(step, rate));
    TERN_TRY(write_state(a, i, value, written));
    for (int k = 0; k < a->moments; k++)
        TERN_TRY(write_state(a, a->n * (1 + k) + i, moments[k], written));
    return TERN_OK;
}

/* Before anything is recorded: what fails then has spent no state. */
static tern_status check_gradients(const tern_optimiser *a, tern_tensor *const *grads)
{
    for (int i = 0; i < a->n; i++) {
        TERN__FAIL_IF(!grads[i], TERN_INVALID_ARGUMENT, "optimiser_step: gradient %d is NULL", i);
        TERN_TRY(tern_status_of(grads[i]));
        bool same = tern_rank(grads[i]) == tern_rank(a->states[i]);
        for (int k = 0; same && k < tern_rank(grads[i]); k++)
            same = tern_dim(grads[i], k) == tern_dim(a->states[i], k);
        TERN__FAIL_IF(!same, TERN_SHAPE, "optimiser_step: gradient %d has another shape than its parameter",
                      i);
    }
    return TERN_OK;
}

tern_status tern_optimiser_step(tern_optimiser *a, tern_tensor *rate, tern_tensor *const *grads,
                                tern_tensor **written, tern_tensor **norm)
{
    TERN__FAIL_IF(
        !a || !rate || !grads || !written, TERN_INVALID_ARGUMENT,
        "optimiser_step: the optimiser, the rate, the gradients or the place for results are missing");
    TERN_TRY(check_gradients(a, grads));
    const int last = tern_optimiser_count(a) - 1;
    tern_tensor *length = norm || a->o.clip > 0 ? norm_of(a, grads) : NULL, *scale = NULL;
    if (a->o.clip > 0)
        scale = tern_minimum(number(a, 1), tern_div(number(a, a->o.clip), tern_add(length, number(a, 1e-6))));
    tern_tensor *count = tern_add(a->states[last], number(a, 1));
    for (int i = 0; i < a->n; i++)
        TERN_TRY(record_parameter(a, i, rate, scale ? tern_mul(grads[i], scale) : grads[i], count, written));
    TERN_TRY(write_state(a, last, count, written));
    if (norm)
        *norm = length;
    return TERN_OK;
}
