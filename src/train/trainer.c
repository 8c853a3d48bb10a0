/* trainer.c - programs of a training step over the states of a net and of an optimiser.
 *
 * A step of one pass is one program. Where passes accumulate, one program adds a pass's gradients to sums, and another makes a step
 * of them and clears them. So it is where activations are rounded, too: the optimiser is not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/grad.h>
#include <tern/ops.h>
#include <tern/train.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/arch/hparams.h"
#include "train/decoder.h"
#include "train/trainer.h"

/* A compiled program and what it runs in. */
typedef struct runner {
    tern_program *program;
    tern_exec *exec;
    int n_out;
} runner;

enum { STATE_NAME = TERN__PART_NAME + 2 };

/* States of the scale of the loss: itself, and the steps since it has changed. */
enum { SCALE_IS, SCALE_SINCE, SCALE };
static const char *const SCALE_NAMES[SCALE] = {"loss_scale", "loss_scale.steps"};
static const double FIRST_SCALE = 65536, SCALE_GROWS_AFTER = 2000;

struct tern_trainer {
    tern_ctx *ctx;
    tern_train_options o;
    tern__train_net net;
    tern_optimiser *optimiser;
    char (*names)[STATE_NAME]; /* (states) */
    tern_tensor *scale[SCALE]; /* of the loss, where activations are f16; else NULL */
    bool grows;                /* the scale, behind the step that is made */
    tern_tensor **sums;        /* (weights) of gradients, where they are kept; else NULL */
    tern_tensor **outputs;     /* (2 + states + weights) where results of a run go */
    int32_t *inputs, *targets; /* (batch * context) */
    runner pass;               /* a whole step where there are no sums */
    runner apply, check, loss, logits;
};

tern_train_options tern_train_options_default(void)
{
    tern_train_options o = {.shape = {.context = 256,
                                      .layers = 6,
                                      .width = 256,
                                      .feed_forward = 768,
                                      .heads = 4,
                                      .kv_heads = 4,
                                      .rope_theta = 10000,
                                      .norm_eps = 1e-5},
                            .batch = 16,
                            .accumulate = 1,
                            .optimiser = tern_optimiser_options_default(),
                            .decay_table = 1,
                            .seed = 1};
    o.optimiser.weight_decay = 0.1;
    o.optimiser.clip = 1;
    return o;
}

/* ---- options ------------------------------------------------------------------------------------------------------- */

static tern_status check_options(const tern_train_options *o)
{
    const tern_train_shape *s = &o->shape;
    const struct {
        const char *name;
        int64_t value, most;
    } sizes[] = {
        {"vocabulary", s->vocabulary, TERN__MOST_VOCABULARY},
        {"context", s->context, 1 << 16},
        {"layers", s->layers, TERN__MOST_LAYERS},
        {"width", s->width, TERN__MOST_WIDTH},
        {"feed_forward", s->feed_forward, TERN__MOST_WIDTH},
        {"heads", s->heads, TERN__MOST_HEADS},
        {"kv_heads", s->kv_heads, TERN__MOST_HEADS},
        {"batch", o->batch, 1 << 20},
        {"accumulate", o->accumulate, 1 << 20},
    };
    for (size_t i = 0; i < TERN__COUNT(sizes); i++)
        TERN__FAIL_IF(sizes[i].value < 1 || sizes[i].value > sizes[i].most, TERN_INVALID_ARGUMENT,
                      "training: %s is %lld; it must be 1 to %lld", sizes[i].name, (long long)sizes[i].value,
                      (long long)sizes[i].most);
    TERN__FAIL_IF(s->width % s->heads != 0 || s->width / s->heads % 2 != 0, TERN_INVALID_ARGUMENT,
                  "training: %lld heads share a width of %lld; each needs the same even part of it",
                  (long long)s->heads, (long long)s->width);
    TERN__FAIL_IF(s->heads % s->kv_heads != 0, TERN_INVALID_ARGUMENT,
                  "training: heads (%lld) must be a multiple of kv_heads (%lld)", (long long)s->heads,
                  (long long)s->kv_heads);
    TERN__FAIL_IF(!(s->rope_theta > 0) || !isfinite(s->rope_theta), TERN_INVALID_ARGUMENT,
                  "training: rope_theta is %g; it must be above 0", s->rope_theta);
    TERN__FAIL_IF(!(s->norm_eps > 0) || !isfinite(s->norm_eps), TERN_INVALID_ARGUMENT,
                  "training: norm_eps is %g; it must be above 0", s->norm_eps);
    TERN__FAIL_IF(s->weights != TERN_TRAIN_TERNARY && s->weights != TERN_TRAIN_FLOAT, TERN_INVALID_ARGUMENT,
                  "training: there is no kind of weights %d", (int)s->weights);
    TERN__FAIL_IF((int)o->recompute < TERN_RECOMPUTE_NONE || o->recompute > TERN_RECOMPUTE_LAYERS,
                  TERN_INVALID_ARGUMENT, "training: there is no way to recompute %d", (int)o->recompute);
    TERN__FAIL_IF((int)o->activations < TERN_PRECISION_EXACT || o->activations > TERN_PRECISION_F16,
                  TERN_INVALID_ARGUMENT, "training: there is no precision %d of activations",
                  (int)o->activations);
    return TERN_OK;
}

/* ---- programs ------------------------------------------------------------------------------------------------------ */

static tern_status compile(tern_trainer *t, int n, tern_tensor *const *outputs, tern_precision precision,
                           runner *out)
{
    tern_compile_options o = tern_compile_options_default();
    o.precision = precision;
    out->n_out = n;
    return tern_compile(t->ctx, n, outputs, NULL, &o, &out->program);
}

/* Programs are compiled in scopes of their own, which release what was recorded and so give spent states back; only then can an
 * exec work in place. */
static tern_status prepare(tern_trainer *t, runner *r)
{
    return tern_exec_create_in_place(t->ctx, r->program, &r->exec);
}

static int64_t tokens_of_pass(const tern_trainer *t)
{
    return t->o.batch * t->o.shape.context;
}

static tern_tensor *tokens_input(const tern_trainer *t)
{
    const int64_t n = tokens_of_pass(t);
    return tern_input(t->ctx, "tokens", TERN_I32, 1, &n);
}

static tern_tensor *loss_of_pass(const tern_trainer *t)
{
    tern_tensor *logits = tern__train_logits(&t->net, tokens_input(t), t->o.batch);
    tern_tensor *targets = tern_input(t->ctx, "targets", TERN_I32, 2, (int64_t[]){tokens_of_pass(t), 1});
    return tern__train_loss(logits, targets);
}

static bool scales_loss(const tern_trainer *t)
{
    return t->o.activations == TERN_PRECISION_F16;
}

static bool keeps_sums(const tern_trainer *t)
{
    return t->o.accumulate > 1 || t->o.activations != TERN_PRECISION_EXACT;
}

/* Of the loss times its scale, where it has one. */
static tern_status gradients_of(const tern_trainer *t, tern_tensor *loss, tern_tensor **grads)
{
    return tern_grad(scales_loss(t) ? tern_mul(loss, t->scale[SCALE_IS]) : loss, t->net.n, t->net.weights,
                     grads);
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
    if (scales_loss(t))
        by = tern_div(by, t->scale[SCALE_IS]);
    for (int i = 0; i < t->net.n && (share != 1 || scales_loss(t)); i++)
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
        return compile(t, 2 + tern_optimiser_count(t->optimiser), t->outputs, TERN_PRECISION_EXACT, &t->pass);
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
        return compile(t, 1 + t->net.n, t->outputs, t->o.activations, &t->pass);
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
        return compile(t, 1 + written + t->net.n, t->outputs, TERN_PRECISION_EXACT, &t->apply);
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
        return compile(t, 1, &sum, TERN_PRECISION_EXACT, &t->check);
    }
    return TERN_INTERNAL;
}

static tern_status compile_loss(tern_trainer *t)
{
    TERN_SCOPE(t->ctx) {
        tern_tensor *loss = loss_of_pass(t);
        return compile(t, 1, &loss, TERN_PRECISION_EXACT, &t->loss);
    }
    return TERN_INTERNAL;
}

static tern_status compile_logits(tern_trainer *t)
{
    TERN_SCOPE(t->ctx) {
        tern_tensor *logits = tern__train_logits(&t->net, tokens_input(t), t->o.batch);
        return compile(t, 1, &logits, TERN_PRECISION_EXACT, &t->logits);
    }
    return TERN_INTERNAL;
}

static tern_status compile_all(tern_trainer *t)
{
    const bool several = keeps_sums(t);
    tern_tensor **grads = tern__alloc_zero((size_t)t->net.n, sizeof(tern_tensor *));
    if (!grads)
        return tern__out_of_memory((size_t)t->net.n * sizeof(tern_tensor *));
    tern_status status = several ? compile_pass(t, grads) : compile_step(t, grads);
    if (status == TERN_OK && several)
        status = compile_apply(t, grads);
    tern__free(grads);
    TERN_TRY(status);
    TERN_TRY(compile_loss(t));
    TERN_TRY(prepare(t, &t->pass));
    if (several)
        TERN_TRY(prepare(t, &t->apply));
    if (scales_loss(t)) {
        TERN_TRY(compile_check(t));
        TERN_TRY(prepare(t, &t->check));
    }
    return prepare(t, &t->loss);
}

/* ---- making -------------------------------------------------------------------------------------------------------- */

static double decay_of(const tern_trainer *t, int weight)
{
    const tern__part *part = tern__train_net_part(&t->net, weight);
    if (tern__part_is_vector(part))
        return t->o.decay_norms;
    return part == tern__part_get(TERN__PART_TABLE) ? t->o.decay_table : 1;
}

static tern_status make_optimiser(tern_trainer *t)
{
    const int n = t->net.n;

    tern_parameter *parameters = tern__alloc_zero((size_t)n, sizeof *parameters);
    if (!parameters)
        return tern__out_of_memory((size_t)n * sizeof *parameters);
    for (int i = 0; i < n; i++)
        parameters[i] = (tern_parameter){t->net.weights[i], decay_of(t, i)};
    const tern_status status = tern_optimiser_create(t->ctx, &t->o.optimiser, n, parameters, &t->optimiser);
    tern__free(parameters);
    return status;
}

static tern_status make_scale(tern_trainer *t)
{
    for (int i = 0; i < SCALE; i++)
        TERN_SCOPE(t->ctx) {
            tern_tensor *state = tern_state(t->ctx, SCALE_NAMES[i], TERN_F32, 0, NULL);
            TERN_TRY(tern_status_of(state));
            t->scale[i] = tern_keep(state);
        }
    return tern_fill_(t->scale[SCALE_IS], FIRST_SCALE);
}

/* Weights, then moments, then the count: the optimiser's order; then the scale. */
static tern_status name_states(tern_trainer *t)
{
    const int n = t->net.n, count = tern_optimiser_count(t->optimiser), all = tern_trainer_states(t);
    t->names = tern__alloc_zero((size_t)all, sizeof *t->names);
    if (!t->names)
        return tern__out_of_memory((size_t)all * sizeof *t->names);
    for (int i = 0; i < count - 1; i++)
        snprintf(t->names[i], STATE_NAME, "%s%s", t->net.names[i % n], i < n ? "" : i < 2 * n ? ".m" : ".v");
    snprintf(t->names[count - 1], STATE_NAME, "steps");
    for (int i = count; i < all; i++)
        snprintf(t->names[i], STATE_NAME, "%s", SCALE_NAMES[i - count]);
    return TERN_OK;
}

static tern_status make_sums(tern_trainer *t)
{
    t->sums = tern__alloc_zero((size_t)t->net.n, sizeof(tern_tensor *));
    if (!t->sums)
        return tern__out_of_memory((size_t)t->net.n * sizeof(tern_tensor *));
    for (int i = 0; i < t->net.n; i++)
        TERN_SCOPE(t->ctx) {
            char name[STATE_NAME];
            snprintf(name, sizeof name, "%s.g", t->net.names[i]);
            tern_tensor *w = t->net.weights[i],
                        *sum = tern_state(t->ctx, name, TERN_F32, tern_rank(w), tern_shape(w));
            TERN_TRY(tern_status_of(sum));
            t->sums[i] = tern_keep(sum);
        }
    return TERN_OK;
}

static tern_status make_buffers(tern_trainer *t)
{
    const size_t n_out = 2 + (size_t)tern_optimiser_count(t->optimiser) + (size_t)t->net.n;
    t->outputs = tern__alloc_zero(n_out, sizeof(tern_tensor *));
    t->inputs = tern__alloc_zero((size_t)tokens_of_pass(t), sizeof *t->inputs);
    t->targets = tern__alloc_zero((size_t)tokens_of_pass(t), sizeof *t->targets);
    return t->outputs && t->inputs && t->targets
               ? TERN_OK
               : tern__out_of_memory(n_out * sizeof(tern_tensor *) + 8 * (size_t)tokens_of_pass(t));
}

static tern_status make(tern_trainer *t)
{
    TERN_TRY(tern__train_net_create(t->ctx, &t->o.shape, t->o.seed, &t->net));
    t->net.recompute = t->o.recompute;
    TERN_TRY(make_optimiser(t));
    if (scales_loss(t))
        TERN_TRY(make_scale(t));
    TERN_TRY(name_states(t));
    if (keeps_sums(t))
        TERN_TRY(make_sums(t));
    TERN_TRY(make_buffers(t));
    return compile_all(t);
}

tern_status tern_trainer_create(tern_ctx *ctx, const tern_train_options *options, tern_trainer **out)
{
    TERN__FAIL_IF(!ctx || !options || !out, TERN_INVALID_ARGUMENT,
                  "trainer_create: the context, the options or the place for the result are missing");
    TERN_TRY(check_options(options));
    tern_trainer *t = tern__alloc_zero(1, sizeof *t);
    if (!t)
        return tern__out_of_memory(sizeof *t);
    t->ctx = ctx;
    t->o = *options;
    const tern_status status = make(t);
    if (status != TERN_OK) {
        tern_trainer_free(t);
        return status;
    }
    *out = t;
    return TERN_OK;
}

static void runner_free(runner *r)
{
    tern_exec_free(r->exec);
    tern_program_free(r->program);
}

void tern_trainer_free(tern_trainer *t)
{
    if (!t)
        return;
    runner_free(&t->pass);
    runner_free(&t->apply);
    runner_free(&t->check);
    runner_free(&t->loss);
    runner_free(&t->logits);
    for (int i = 0; t->sums && i < t->net.n; i++)
        tern_release(t->sums[i]);
    for (int i = 0; i < SCALE; i++)
        tern_release(t->scale[i]);
    tern_optimiser_free(t->optimiser);
    tern__train_net_free(&t->net);
    tern__free(t->sums);
    tern__free(t->names);
    tern__free(t->outputs);
    tern__free(t->inputs);
    tern__free(t->targets);
    tern__free(t);
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

static tern_status check_tokens(const tern_trainer *t, const int32_t *tokens, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        TERN__FAIL_IF(tokens[i] < 0 || tokens[i] >= t->o.shape.vocabulary, TERN_INVALID_ARGUMENT,
                      "training: token %lld is %d, outside of a vocabulary of %lld", (long long)i,
                      (int)tokens[i], (long long)t->o.shape.vocabulary);
    return TERN_OK;
}

/* Sequences of context + 1 tokens as what is read and what is to be predicted. */
static void part_sequences(const tern_trainer *t, const int32_t *tokens)
{
    const int64_t context = t->o.shape.context;
    for (int64_t i = 0; i < t->o.batch; i++) {
        const int32_t *sequence = tokens + i * (context + 1);
        memcpy(t->inputs + i * context, sequence, (size_t)context * sizeof *sequence);
        memcpy(t->targets + i * context, sequence + 1, (size_t)context * sizeof *sequence);
    }
}

/* Runs a pass over `tokens`, with the rate if it takes one; results are in t->outputs, in the open scope. */
static tern_status run_pass(tern_trainer *t, const runner *r, const int32_t *tokens, const double *rate)
{
    const int64_t n = tokens_of_pass(t);
    part_sequences(t, tokens);
    tern_tensor *in[3] = {tern_from_data(t->ctx, TERN_I32, 1, &n, t->inputs),
                          tern_from_data(t->ctx, TERN_I32, 2, (int64_t[]){n, 1}, t->targets)};
    if (rate)
        in[2] = tern_scalar(t->ctx, TERN_F32, *rate);
    return tern_exec_run(r->exec, rate ? 3 : 2, in, r->n_out, t->outputs);
}

static tern_status read_number(tern_tensor *t, double *out)
{
    const float *data = tern_data_f32(t);
    if (!data)
        return tern_status_of(t) != TERN_OK ? tern_status_of(t) : TERN_INTERNAL;
    *out = (double)data[0];
    return TERN_OK;
}

static tern_status step_at_once(tern_trainer *t, const int32_t *tokens, double rate, tern_train_result *out)
{
    TERN_SCOPE(t->ctx) {
        TERN_TRY(run_pass(t, &t->pass, tokens, &rate));
        TERN_TRY(read_number(t->outputs[0], &out->loss));
        TERN_TRY(read_number(t->outputs[1], &out->norm));
    }
    return TERN_OK;
}

/* The scale's next value: half of it where gradients are not finite, and the step is skipped; twice of it after a long time without
 * any. At 1 there is nothing left to lower: the step is made, and its norm tells. */
static tern_status adjust_scale(tern_trainer *t, tern_train_result *out)
{
    double squares = 0, is = 1, since = 0;
    TERN_SCOPE(t->ctx) {
        TERN_TRY(tern_exec_run(t->check.exec, 0, NULL, 1, t->outputs));
        TERN_TRY(read_number(t->outputs[0], &squares));
    }
    TERN_TRY(read_number(t->scale[SCALE_IS], &is));
    TERN_TRY(read_number(t->scale[SCALE_SINCE], &since));
    if (!isfinite(squares) && is > 1) {
        *out = (tern_train_result){.loss = out->loss, .norm = (double)INFINITY, .skipped = true};
        t->grows = false;
        TERN_TRY(tern_fill_(t->scale[SCALE_SINCE], 0));
        return tern_fill_(t->scale[SCALE_IS], fmax(is / 2, 1));
    }
    /* this step's gradients have the scale that it still is */
    t->grows = since + 1 >= SCALE_GROWS_AFTER;
    return tern_fill_(t->scale[SCALE_SINCE], t->grows ? 0 : since + 1);
}

static tern_status step_in_passes(tern_trainer *t, const int32_t *tokens, double rate, tern_train_result *out)
{
    double sum = 0;
    for (int64_t i = 0; i < t->o.accumulate; i++)
        TERN_SCOPE(t->ctx) {
            double loss = 0;
            TERN_TRY(run_pass(t, &t->pass, tokens + i * t->o.batch * (t->o.shape.context + 1), NULL));
            TERN_TRY(read_number(t->outputs[0], &loss));
            sum += loss;
        }
    out->loss = sum / (double)t->o.accumulate;
    if (scales_loss(t))
        TERN_TRY(adjust_scale(t, out));
    if (out->skipped)
        return tern__trainer_clear_sums(t);
    TERN_SCOPE(t->ctx) {
        tern_tensor *in = tern_scalar(t->ctx, TERN_F32, rate);
        TERN_TRY(tern_exec_run(t->apply.exec, 1, &in, t->apply.n_out, t->outputs));
        TERN_TRY(read_number(t->outputs[0], &out->norm));
    }
    double is = 1;
    if (!scales_loss(t) || !t->grows)
        return TERN_OK;
    TERN_TRY(read_number(t->scale[SCALE_IS], &is));
    return tern_fill_(t->scale[SCALE_IS], 2 * is);
}

tern_status tern_trainer_step(tern_trainer *t, const int32_t *tokens, double rate, tern_train_result *out)
{
    TERN__FAIL_IF(!t || !tokens, TERN_INVALID_ARGUMENT,
                  "trainer_step: the trainer or the tokens are missing");
    TERN__FAIL_IF(!(rate >= 0) || !isfinite(rate), TERN_INVALID_ARGUMENT, "trainer_step: the rate is %g",
                  rate);
    TERN_TRY(check_tokens(t, tokens, t->o.accumulate * t->o.batch * (t->o.shape.context + 1)));
    tern_train_result result = {0};
    TERN_TRY(keeps_sums(t) ? step_in_passes(t, tokens, rate, &result)
                           : step_at_once(t, tokens, rate, &result));
    if (out)
        *out = result;
    return TERN_OK;
}

tern_status tern_trainer_loss(tern_trainer *t, const int32_t *tokens, double *loss)
{
    TERN__FAIL_IF(!t || !tokens || !loss, TERN_INVALID_ARGUMENT,
                  "trainer_loss: the trainer, the tokens or the place for the result are missing");
    TERN_TRY(check_tokens(t, tokens, t->o.batch * (t->o.shape.context + 1)));
    TERN_SCOPE(t->ctx) {
        TERN_TRY(run_pass(t, &t->loss, tokens, NULL));
        TERN_TRY(read_number(t->outputs[0], loss));
    }
    return TERN_OK;
}

tern_status tern_trainer_logits(tern_trainer *t, const int32_t *tokens, tern_tensor **out)
{
    TERN__FAIL_IF(!t || !tokens || !out, TERN_INVALID_ARGUMENT,
                  "trainer_logits: the trainer, the tokens or the place for the result are missing");
    const int64_t n = tokens_of_pass(t);
    TERN_TRY(check_tokens(t, tokens, n));
    if (!t->logits.program)
        TERN_TRY(compile_logits(t));
    if (!t->logits.exec)
        TERN_TRY(prepare(t, &t->logits));
    tern_tensor *in = tern_from_data(t->ctx, TERN_I32, 1, &n, tokens);
    const tern_status status = tern_exec_run(t->logits.exec, 1, &in, 1, out);
    tern_release(in);
    return status;
}

tern_status tern__trainer_clear_sums(tern_trainer *t)
{
    for (int i = 0; t->sums && i < t->net.n; i++)
        TERN_TRY(tern_fill_(t->sums[i], 0));
    return TERN_OK;
}

/* ---- looking ------------------------------------------------------------------------------------------------------- */

int tern_trainer_states(const tern_trainer *t)
{
    return t ? tern_optimiser_count(t->optimiser) + (scales_loss(t) ? SCALE : 0) : 0;
}

int tern_trainer_weights(const tern_trainer *t)
{
    return t ? t->net.n : 0;
}

tern_tensor *tern_trainer_state(const tern_trainer *t, int i, const char **name)
{
    if (i < 0 || i >= tern_trainer_states(t))
        return NULL;
    if (name)
        *name = t->names[i];
    const int count = tern_optimiser_count(t->optimiser);
    return i < count ? tern_optimiser_state(t->optimiser, i) : t->scale[i - count];
}

void tern_trainer_get_info(const tern_trainer *t, tern_trainer_info *out)
{
    if (!out)
        return;
    *out = (tern_trainer_info){0};
    if (!t)
        return;
    const tern_train_shape *s = &t->o.shape;
    for (int i = 0; i < t->net.n; i++)
        out->parameters += tern_numel(t->net.weights[i]);
    out->tokens = t->o.accumulate * tokens_of_pass(t);
    out->flops = (double)out->tokens * (6 * (double)out->parameters +
                                        12 * (double)s->context * (double)s->width * (double)s->layers);
    for (int i = 0; i < tern_trainer_states(t); i++)
        out->state_bytes += tern_nbytes(tern_trainer_state(t, i, NULL));
    for (int i = 0; t->sums && i < t->net.n; i++)
        out->state_bytes += tern_nbytes(t->sums[i]);
    const runner *runners[] = {&t->pass, &t->apply, &t->check, &t->loss, &t->logits};
    for (size_t i = 0; i < TERN__COUNT(runners); i++)
        if (runners[i]->program) {
            tern_program_info info;
            tern_program_get_info(runners[i]->program, &info);
            out->arena_bytes += info.arena_bytes;
        }
}

const tern__train_net *tern__trainer_net(const tern_trainer *t)
{
    return &t->net;
}

const tern_program *tern_trainer_program(const tern_trainer *t)
{
    return t ? t->pass.program : NULL;
}
