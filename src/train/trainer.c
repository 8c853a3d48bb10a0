/* trainer.c - a trainer is made, runs its programs (programs.c), and is looked at. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/ops.h>
#include <tern/train.h>

#include "base/alloc.h"
#include "base/status.h"
#include "train/trainer.h"

static const char *const SCALE_NAMES[TERN__SCALE] = {"loss_scale", "loss_scale.steps"};
static const double FIRST_SCALE = 65536, SCALE_GROWS_AFTER = 2000;

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

/* A number that is another one in each step: data, not a constant of a graph, of which each would be compiled and kept by itself. */
static tern_tensor *number_of_step(const tern_trainer *t, double value)
{
    return tern_from_data(t->ctx, TERN_F32, 0, NULL, &(float){(float)value});
}

static tern_status set_scale(tern_trainer *t, int i, double value)
{
    TERN_SCOPE(t->ctx) {
        return tern_assign(t->scale[i], number_of_step(t, value));
    }
    return TERN_INTERNAL;
}

static tern_status make_scale(tern_trainer *t)
{
    for (int i = 0; i < TERN__SCALE; i++)
        TERN_SCOPE(t->ctx) {
            tern_tensor *state = tern_state(t->ctx, SCALE_NAMES[i], TERN_F32, 0, NULL);
            TERN_TRY(tern_status_of(state));
            t->scale[i] = tern_keep(state);
        }
    return set_scale(t, TERN__SCALE_IS, FIRST_SCALE);
}

/* Weights, then moments, then the count: the optimiser's order; then the scale. */
static tern_status name_states(tern_trainer *t)
{
    const int n = t->net.n, count = tern_optimiser_count(t->optimiser), all = tern_trainer_states(t);
    t->names = tern__alloc_zero((size_t)all, sizeof *t->names);
    if (!t->names)
        return tern__out_of_memory((size_t)all * sizeof *t->names);
    for (int i = 0; i < count - 1; i++)
        snprintf(t->names[i], TERN__STATE_NAME, "%s%s", t->net.names[i % n],
                 i < n       ? ""
                 : i < 2 * n ? ".m"
                             : ".v");
    snprintf(t->names[count - 1], TERN__STATE_NAME, "steps");
    for (int i = count; i < all; i++)
        snprintf(t->names[i], TERN__STATE_NAME, "%s", SCALE_NAMES[i - count]);
    return TERN_OK;
}

static tern_status make_sums(tern_trainer *t)
{
    t->sums = tern__alloc_zero((size_t)t->net.n, sizeof(tern_tensor *));
    if (!t->sums)
        return tern__out_of_memory((size_t)t->net.n * sizeof(tern_tensor *));
    for (int i = 0; i < t->net.n; i++)
        TERN_SCOPE(t->ctx) {
            char name[TERN__STATE_NAME];
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
    t->inputs = tern__alloc_zero((size_t)tern__train_pass_tokens(&t->o), sizeof *t->inputs);
    t->targets = tern__alloc_zero((size_t)tern__train_pass_tokens(&t->o), sizeof *t->targets);
    return t->outputs && t->inputs && t->targets
               ? TERN_OK
               : tern__out_of_memory(n_out * sizeof(tern_tensor *) +
                                     8 * (size_t)tern__train_pass_tokens(&t->o));
}

static tern_status make(tern_trainer *t)
{
    TERN_TRY(tern__train_net_create(t->ctx, &t->o.shape, t->o.seed, &t->net));
    t->net.recompute = t->o.recompute;
    TERN_TRY(make_optimiser(t));
    if (tern__train_scales_loss(&t->o))
        TERN_TRY(make_scale(t));
    TERN_TRY(name_states(t));
    if (tern__train_keeps_sums(&t->o))
        TERN_TRY(make_sums(t));
    TERN_TRY(make_buffers(t));
    return tern__train_compile(t);
}

tern_status tern_trainer_create(tern_ctx *ctx, const tern_train_options *options, tern_trainer **out)
{
    TERN__FAIL_IF(!ctx || !options || !out, TERN_INVALID_ARGUMENT,
                  "trainer_create: the context, the options or the place for the result are missing");
    TERN_TRY(tern__train_check(options));
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

static void runner_free(tern__train_runner *r)
{
    tern_exec_free(r->exec);
    tern_program_free(r->program);
}

void tern_trainer_free(tern_trainer *t)
{
    if (!t)
        return;
    for (int i = 0; i < TERN__RUNS; i++)
        runner_free(&t->runners[i]);
    for (int i = 0; t->sums && i < t->net.n; i++)
        tern_release(t->sums[i]);
    for (int i = 0; i < TERN__SCALE; i++)
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

/* n sequences of context + 1 tokens as what is read and what is to be predicted. The places of others keep what they had, 0 or tokens
 * of an earlier pass: whoever gives fewer looks at no result of theirs. */
static void part_sequences(const tern_trainer *t, int64_t n, const int32_t *tokens)
{
    const int64_t context = t->o.shape.context;
    for (int64_t i = 0; i < n; i++) {
        const int32_t *sequence = tokens + i * (context + 1);
        memcpy(t->inputs + i * context, sequence, (size_t)context * sizeof *sequence);
        memcpy(t->targets + i * context, sequence + 1, (size_t)context * sizeof *sequence);
    }
}

/* Runs a pass over `sequences` of tokens, with the rate if it takes one; results are in t->outputs, in the open scope. */
static tern_status run_pass(tern_trainer *t, tern__train_run which, int64_t sequences, const int32_t *tokens,
                            const double *rate)
{
    const tern__train_runner *r = &t->runners[which];
    const int64_t n = tern__train_pass_tokens(&t->o);
    part_sequences(t, sequences, tokens);
    tern_tensor *in[3] = {tern_from_data(t->ctx, TERN_I32, 1, &n, t->inputs),
                          tern_from_data(t->ctx, TERN_I32, 2, (int64_t[]){n, 1}, t->targets)};
    if (rate)
        in[2] = number_of_step(t, *rate);
    return tern_exec_run(r->exec, rate ? 3 : 2, in, r->n_out, t->outputs);
}

/* The mean of the first n numbers of a tensor. */
static tern_status read_mean(tern_tensor *t, int64_t n, double *out)
{
    const float *data = tern_data_f32(t);
    if (!data)
        return tern_status_of(t) != TERN_OK ? tern_status_of(t) : TERN_INTERNAL;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)data[i];
    *out = sum / (double)n;
    return TERN_OK;
}

static tern_status read_number(tern_tensor *t, double *out)
{
    return read_mean(t, 1, out);
}

static tern_status step_at_once(tern_trainer *t, const int32_t *tokens, double rate, tern_train_result *out)
{
    TERN_SCOPE(t->ctx) {
        TERN_TRY(run_pass(t, TERN__RUN_PASS, t->o.batch, tokens, &rate));
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
        TERN_TRY(tern_exec_run(t->runners[TERN__RUN_CHECK].exec, 0, NULL, 1, t->outputs));
        TERN_TRY(read_number(t->outputs[0], &squares));
    }
    TERN_TRY(read_number(t->scale[TERN__SCALE_IS], &is));
    TERN_TRY(read_number(t->scale[TERN__SCALE_SINCE], &since));
    if (!isfinite(squares) && is > 1) {
        *out = (tern_train_result){.loss = out->loss, .norm = (double)INFINITY, .skipped = true};
        t->grows = false;
        TERN_TRY(set_scale(t, TERN__SCALE_SINCE, 0));
        return set_scale(t, TERN__SCALE_IS, fmax(is / 2, 1));
    }
    /* this step's gradients have the scale that it still is */
    t->grows = since + 1 >= SCALE_GROWS_AFTER;
    return set_scale(t, TERN__SCALE_SINCE, t->grows ? 0 : since + 1);
}

static tern_status step_in_passes(tern_trainer *t, const int32_t *tokens, double rate, tern_train_result *out)
{
    double sum = 0;
    for (int64_t i = 0; i < t->o.accumulate; i++)
        TERN_SCOPE(t->ctx) {
            double loss = 0;
            TERN_TRY(run_pass(t, TERN__RUN_PASS, t->o.batch,
                              tokens + i * t->o.batch * (t->o.shape.context + 1), NULL));
            TERN_TRY(read_number(t->outputs[0], &loss));
            sum += loss;
        }
    out->loss = sum / (double)t->o.accumulate;
    if (tern__train_scales_loss(&t->o))
        TERN_TRY(adjust_scale(t, out));
    if (out->skipped)
        return tern__trainer_clear_sums(t);
    TERN_SCOPE(t->ctx) {
        const tern__train_runner *apply = &t->runners[TERN__RUN_APPLY];
        tern_tensor *in = number_of_step(t, rate);
        TERN_TRY(tern_exec_run(apply->exec, 1, &in, apply->n_out, t->outputs));
        TERN_TRY(read_number(t->outputs[0], &out->norm));
    }
    double is = 1;
    if (!tern__train_scales_loss(&t->o) || !t->grows)
        return TERN_OK;
    TERN_TRY(read_number(t->scale[TERN__SCALE_IS], &is));
    return set_scale(t, TERN__SCALE_IS, 2 * is);
}

tern_status tern_trainer_step(tern_trainer *t, const int32_t *tokens, double rate, tern_train_result *out)
{
    TERN__FAIL_IF(!t || !tokens, TERN_INVALID_ARGUMENT,
                  "trainer_step: the trainer or the tokens are missing");
    TERN__FAIL_IF(!(rate >= 0) || !isfinite(rate), TERN_INVALID_ARGUMENT, "trainer_step: the rate is %g",
                  rate);
    TERN_TRY(check_tokens(t, tokens, t->o.accumulate * t->o.batch * (t->o.shape.context + 1)));
    tern_train_result result = {0};
    TERN_TRY(tern__train_keeps_sums(&t->o) ? step_in_passes(t, tokens, rate, &result)
                                           : step_at_once(t, tokens, rate, &result));
    if (out)
        *out = result;
    return TERN_OK;
}

tern_status tern_trainer_loss(tern_trainer *t, int64_t n, const int32_t *tokens, double *loss)
{
    TERN__FAIL_IF(!t || !tokens || !loss, TERN_INVALID_ARGUMENT,
                  "trainer_loss: the trainer, the tokens or the place for the result are missing");
    TERN__FAIL_IF(n < 1 || n > t->o.batch, TERN_INVALID_ARGUMENT,
                  "trainer_loss: %lld sequences; there must be 1 to %lld", (long long)n,
                  (long long)t->o.batch);
    TERN_TRY(check_tokens(t, tokens, n * (t->o.shape.context + 1)));
    TERN_SCOPE(t->ctx) {
        TERN_TRY(run_pass(t, TERN__RUN_LOSS, n, tokens, NULL));
        TERN_TRY(read_mean(t->outputs[0], n, loss));
    }
    return TERN_OK;
}

tern_status tern_trainer_logits(tern_trainer *t, const int32_t *tokens, tern_tensor **out)
{
    TERN__FAIL_IF(!t || !tokens || !out, TERN_INVALID_ARGUMENT,
                  "trainer_logits: the trainer, the tokens or the place for the result are missing");
    const int64_t n = tern__train_pass_tokens(&t->o);
    TERN_TRY(check_tokens(t, tokens, n));
    if (!t->runners[TERN__RUN_LOGITS].exec)
        TERN_TRY(tern__train_compile_logits(t));
    tern_tensor *in = NULL;
    TERN_SCOPE(t->ctx) {
        in = tern_keep(tern_from_data(t->ctx, TERN_I32, 1, &n, tokens));
    }
    /* behind that scope, so that the result belongs to the caller's, or to the caller */
    const tern_status status = tern_exec_run(t->runners[TERN__RUN_LOGITS].exec, 1, &in, 1, out);
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
    return t ? tern_optimiser_count(t->optimiser) + (tern__train_scales_loss(&t->o) ? TERN__SCALE : 0) : 0;
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
    (void)tern_train_needs(&t->o, out); /* they were checked when it was made */
    for (int i = 0; i < TERN__RUNS; i++)
        if (t->runners[i].program) {
            tern_program_info info;
            tern_program_get_info(t->runners[i].program, &info);
            out->arena_bytes += info.arena_bytes;
        }
}

const tern__train_net *tern__trainer_net(const tern_trainer *t)
{
    return &t->net;
}

const tern_program *tern_trainer_program(const tern_trainer *t, int i, const char **name)
{
    static const char *const NAMES[TERN__RUNS_OF_STEP] = {
        [TERN__RUN_PASS] = "pass", [TERN__RUN_CHECK] = "check", [TERN__RUN_APPLY] = "update"};
    for (int k = 0; t && i >= 0 && k < TERN__RUNS_OF_STEP; k++) {
        if (!t->runners[k].program || i-- > 0)
            continue;
        if (name)
            *name = tern__train_keeps_sums(&t->o) ? NAMES[k] : "step";
        return t->runners[k].program;
    }
    return NULL;
}
