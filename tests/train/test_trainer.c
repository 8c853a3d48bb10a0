/* test_trainer.c - a tiny decoder learns; its bits do not depend on threads; passes that accumulate are one larger batch; states go from
 * one trainer to another; bad calls. Losses and gradients against PyTorch: tests/oracle/test_training.py. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/log.h>
#include <tern/ops.h>
#include <tern/train.h>

#include "harness.h"

enum { VOCABULARY = 11, CONTEXT = 12, BATCH = 4, MOST_PASSES = 2, SEQUENCE = CONTEXT + 1 };

static tern_train_options tiny(tern_train_weights weights)
{
    tern_train_options o = tern_train_options_default();
    o.shape = (tern_train_shape){.vocabulary = VOCABULARY,
                                 .context = CONTEXT,
                                 .layers = 2,
                                 .width = 32,
                                 .feed_forward = 48,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .rope_theta = 10000,
                                 .norm_eps = 1e-5,
                                 .weights = weights};
    o.batch = BATCH;
    return o;
}

/* Sequences that count upwards from anywhere: what follows is certain. */
static void count_upwards(int step, int n, int32_t *tokens)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < SEQUENCE; k++)
            tokens[i * SEQUENCE + k] = (step * 5 + i * 3 + k) % VOCABULARY;
}

static void open(tern_train_options o, int threads, tern_ctx **ctx, tern_trainer **t)
{
    tern_ctx_options c = tern_ctx_options_default();
    c.tuning = "off";
    c.threads = threads;
    CHECK_OK(tern_ctx_create(&c, ctx));
    CHECK_OK(tern_trainer_create(*ctx, &o, t));
}

static void close(tern_ctx *ctx, tern_trainer *t)
{
    tern_trainer_free(t);
    tern_ctx_destroy(ctx);
}

static void train(tern_trainer *t, int from, int to, tern_train_result *last)
{
    int32_t tokens[BATCH * SEQUENCE];
    for (int i = from; i < to; i++) {
        count_upwards(i, BATCH, tokens);
        CHECK_OK(tern_trainer_step(t, tokens, 0.01, last));
    }
}

static void check_learns(tern_train_weights weights)
{
    tern_ctx *ctx;
    tern_trainer *t;
    tern_train_result first, last;
    open(tiny(weights), 2, &ctx, &t);
    train(t, 0, 1, &first);
    train(t, 1, 60, &last);
    CHECK_NEAR(first.loss, log(VOCABULARY), 0.3);
    CHECK(last.loss < 0.2);
    CHECK(last.norm > 0 && isfinite(last.norm));
    int32_t tokens[BATCH * SEQUENCE];
    double loss, again;
    count_upwards(1000, BATCH, tokens);
    CHECK_OK(tern_trainer_loss(t, BATCH, tokens, &loss));
    CHECK_OK(tern_trainer_loss(t, BATCH, tokens, &again));
    CHECK(loss < 0.2);
    CHECK(loss == again); /* a loss teaches nothing */
    /* fewer sequences than a pass takes: theirs alone count, whatever stood behind them */
    double sum = 0;
    for (int i = 0; i < BATCH; i++) {
        CHECK_OK(tern_trainer_loss(t, 1, tokens + i * SEQUENCE, &again));
        sum += again;
    }
    CHECK_NEAR(sum / BATCH, loss, 1e-12);
    CHECK_OK(tern_trainer_loss(t, BATCH - 1, tokens, &loss));
    CHECK_NEAR((sum - again) / (BATCH - 1), loss, 1e-12);
    CHECK_STATUS(tern_trainer_loss(t, 0, tokens, &loss), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_trainer_loss(t, BATCH + 1, tokens, &loss), TERN_INVALID_ARGUMENT);
    close(ctx, t);
}

TEST(learns_with_ternary_weights)
{
    check_learns(TERN_TRAIN_WEIGHTS_TERNARY);
}

TEST(learns_with_float_weights)
{
    check_learns(TERN_TRAIN_WEIGHTS_FLOAT);
}

/* The logits say the same as the loss. */
TEST(logits)
{
    tern_ctx *ctx;
    tern_trainer *t;
    open(tiny(TERN_TRAIN_WEIGHTS_TERNARY), 1, &ctx, &t);
    int32_t tokens[BATCH * SEQUENCE], inputs[BATCH * CONTEXT];
    count_upwards(0, BATCH, tokens);
    for (int i = 0; i < BATCH; i++)
        memcpy(inputs + i * CONTEXT, tokens + i * SEQUENCE, CONTEXT * sizeof *inputs);
    double loss, sum = 0;
    CHECK_OK(tern_trainer_loss(t, BATCH, tokens, &loss));
    TERN_SCOPE(ctx) {
        tern_tensor *logits;
        CHECK_OK(tern_trainer_logits(t, inputs, &logits));
        CHECK_EQ(tern_dim(logits, 0), BATCH * CONTEXT);
        CHECK_EQ(tern_dim(logits, 1), VOCABULARY);
        const float *data = tern_data_f32(logits);
        CHECK(data);
        for (int i = 0; i < BATCH * CONTEXT; i++) {
            double total = 0;
            for (int k = 0; k < VOCABULARY; k++)
                total += exp((double)data[i * VOCABULARY + k]);
            const int target = tokens[i / CONTEXT * SEQUENCE + i % CONTEXT + 1];
            sum += log(total) - (double)data[i * VOCABULARY + target];
        }
    }
    CHECK_NEAR(sum / (BATCH * CONTEXT), loss, 1e-5);
    close(ctx, t);
}

static void count_warnings(void *user, tern_log_level level, const char *message)
{
    (void)message;
    if (level == TERN_LOG_WARN)
        ++*(int *)user;
}

/* Logits belong to the open scope, or to the caller; what was made on the way to nobody. */
TEST(logits_have_an_owner)
{
    tern_ctx *ctx;
    tern_trainer *t;
    int warnings = 0;
    const int32_t tokens[BATCH * CONTEXT] = {0};
    tern_tensor *logits;
    open(tiny(TERN_TRAIN_WEIGHTS_TERNARY), 1, &ctx, &t);
    tern_log_set(TERN_LOG_WARN, count_warnings, &warnings);
    TERN_SCOPE(ctx) {
        CHECK_OK(tern_trainer_logits(t, tokens, &logits));
        CHECK_EQ(warnings, 0);
        tern_release(logits); /* which is the scope's to do, and said */
        CHECK_EQ(warnings, 1);
        CHECK(tern_data_f32(logits));
    }
    CHECK_OK(tern_trainer_logits(t, tokens, &logits));
    CHECK(tern_data_f32(logits));
    tern_release(logits);
    CHECK_EQ(warnings, 1);
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    close(ctx, t);
}

/* A token's logits do not change with those after it. */
TEST(nothing_is_seen_before_it_comes)
{
    tern_ctx *ctx;
    tern_trainer *t;
    open(tiny(TERN_TRAIN_WEIGHTS_TERNARY), 1, &ctx, &t);
    int32_t tokens[BATCH * CONTEXT] = {0};
    enum { CHANGED = 5 };
    float before[CONTEXT * VOCABULARY];
    TERN_SCOPE(ctx) {
        tern_tensor *logits;
        CHECK_OK(tern_trainer_logits(t, tokens, &logits));
        memcpy(before, tern_data_f32(logits), sizeof before);
        tokens[CHANGED] = 1;
        CHECK_OK(tern_trainer_logits(t, tokens, &logits));
        const float *after = tern_data_f32(logits);
        CHECK(memcmp(before, after, CHANGED * VOCABULARY * sizeof(float)) == 0);
        CHECK(memcmp(before + CHANGED * VOCABULARY, after + CHANGED * VOCABULARY,
                     VOCABULARY * sizeof(float)) != 0);
    }
    close(ctx, t);
}

static void compare_states(const tern_trainer *a, const tern_trainer *b, bool *same)
{
    *same = true;
    CHECK_EQ(tern_trainer_states(a), tern_trainer_states(b));
    for (int i = 0; i < tern_trainer_states(a); i++) {
        tern_tensor *x = tern_trainer_state(a, i, NULL), *y = tern_trainer_state(b, i, NULL);
        if (memcmp(tern_data(x), tern_data(y), tern_nbytes(x)) != 0)
            *same = false;
    }
}

TEST(same_bits_for_any_number_of_threads)
{
    tern_ctx *ctx[3];
    tern_trainer *t[3];
    tern_train_result last[3];
    for (int k = 0; k < 3; k++) {
        open(tiny(TERN_TRAIN_WEIGHTS_TERNARY), k + 1, &ctx[k], &t[k]);
        train(t[k], 0, 5, &last[k]);
    }
    for (int k = 1; k < 3; k++) {
        bool same;
        compare_states(t[0], t[k], &same);
        CHECK(same);
        CHECK(last[0].loss == last[k].loss && last[0].norm == last[k].norm);
    }
    for (int k = 0; k < 3; k++)
        close(ctx[k], t[k]);
}

/* States that were copied into another trainer go on as if nothing had happened. */
TEST(goes_on_from_states)
{
    tern_ctx *ctx[2];
    tern_trainer *t[2];
    tern_train_result whole, resumed;
    tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
    open(o, 1, &ctx[0], &t[0]);
    o.seed = 99; /* other first weights, which the states replace */
    open(o, 2, &ctx[1], &t[1]);
    train(t[0], 0, 5, &whole);
    for (int i = 0; i < tern_trainer_states(t[0]); i++)
        TERN_SCOPE(ctx[1]) {
            tern_tensor *from = tern_trainer_state(t[0], i, NULL);
            CHECK_OK(tern_assign(
                tern_trainer_state(t[1], i, NULL),
                tern_from_data(ctx[1], TERN_F32, tern_rank(from), tern_shape(from), tern_data(from))));
        }
    train(t[0], 5, 9, &whole);
    train(t[1], 5, 9, &resumed);
    bool same;
    compare_states(t[0], t[1], &same);
    CHECK(same);
    CHECK(whole.loss == resumed.loss);
    for (int k = 0; k < 2; k++)
        close(ctx[k], t[k]);
}

/* Two passes of two sequences learn what one pass of four learns, but for rounding. */
TEST(passes_accumulate)
{
    tern_ctx *ctx[2];
    tern_trainer *t[2];
    tern_train_result once, twice;
    tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_FLOAT);
    open(o, 1, &ctx[0], &t[0]);
    o.batch = BATCH / 2, o.accumulate = 2;
    open(o, 1, &ctx[1], &t[1]);
    train(t[0], 0, 5, &once);
    train(t[1], 0, 5, &twice);
    CHECK_NEAR(once.loss, twice.loss, 1e-4);
    CHECK_NEAR(once.norm, twice.norm, 1e-3);
    tern_trainer_info a, b;
    tern_trainer_get_info(t[0], &a);
    tern_trainer_get_info(t[1], &b);
    CHECK_EQ(a.tokens, b.tokens);
    CHECK_EQ(a.parameters, b.parameters);
    CHECK_EQ(b.state_bytes - a.state_bytes, (size_t)a.parameters * sizeof(float));
    for (int k = 0; k < 2; k++)
        close(ctx[k], t[k]);
}

/* ---- what is kept of a pass, and how ------------------------------------------------------------------------------- */

/* What is computed again has the bits that it had; the more of it, the less memory. */
TEST(recomputing_changes_no_bit)
{
    tern_ctx *ctx[3];
    tern_trainer *t[3];
    tern_train_result last[3];
    tern_trainer_info info[3];
    for (int k = 0; k < 3; k++) {
        tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
        o.recompute = (tern_recompute)k;
        open(o, 2, &ctx[k], &t[k]);
        train(t[k], 0, 3, &last[k]);
        tern_program_info program;
        tern_program_get_info(tern_trainer_program(t[k], 0, NULL), &program);
        tern_trainer_get_info(t[k], &info[k]);
        printf("%s: %zu bytes of intermediates, %d steps\n",
               k == 0   ? "none"
               : k == 1 ? "attention"
                        : "layers",
               program.arena_bytes, program.steps);
    }
    for (int k = 1; k < 3; k++) {
        bool same;
        compare_states(t[0], t[k], &same);
        CHECK(same);
        CHECK(last[0].loss == last[k].loss && last[0].norm == last[k].norm);
        CHECK(info[k].arena_bytes < info[k - 1].arena_bytes);
    }
    for (int k = 0; k < 3; k++)
        close(ctx[k], t[k]);
}

/* Bytes of a step's intermediates, of a decoder whose activations are larger than its weights. */
static size_t step_bytes(tern_recompute recompute, tern_precision activations)
{
    tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
    o.shape.context = 128;
    o.shape.layers = 6;
    o.shape.feed_forward = 96;
    o.recompute = recompute;
    o.activations = activations;
    tern_ctx *ctx;
    tern_trainer *t;
    tern_program_info info;
    open(o, 2, &ctx, &t);
    tern_program_get_info(tern_trainer_program(t, 0, NULL), &info);
    close(ctx, t);
    return info.arena_bytes;
}

/* Of six layers that are computed again one at a time is there, beside what they begin with; what is stored in half the bytes takes
 * little more than half. Neither holds if something in f32 stays alive from the way forward to the way back, or operands of the
 * gradients of weights to the end of it. */
TEST(what_is_not_kept_takes_no_memory)
{
    const double all = (double)step_bytes(TERN_RECOMPUTE_NONE, TERN_PRECISION_EXACT);
    const double again = (double)step_bytes(TERN_RECOMPUTE_LAYERS, TERN_PRECISION_EXACT) / all,
                 half = (double)step_bytes(TERN_RECOMPUTE_NONE, TERN_PRECISION_BF16) / all,
                 both = (double)step_bytes(TERN_RECOMPUTE_LAYERS, TERN_PRECISION_BF16) / all;
    printf("of %.0f bytes: layers again %.2f, bf16 %.2f, both %.2f\n", all, again, half, both);
    CHECK(again < 0.4);
    CHECK(half < 0.65);
    CHECK(both < 0.25);
}

/* Rounded activations learn as well, in less memory, with the same bits for any number of threads; beside recomputation too. */
static void check_small_activations(tern_precision precision)
{
    tern_ctx *ctx[2], *exact_ctx;
    tern_trainer *t[2], *exact;
    tern_train_result first, last, exact_last, other;
    tern_program_info a, b;
    tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
    open(o, 2, &exact_ctx, &exact);
    o.activations = precision;
    o.recompute = TERN_RECOMPUTE_ATTENTION;
    for (int k = 0; k < 2; k++)
        open(o, k + 1, &ctx[k], &t[k]);
    train(t[0], 0, 1, &first);
    train(exact, 0, 1, &exact_last);
    CHECK_NEAR(first.loss, exact_last.loss, 0.02);
    CHECK(fabs(first.norm / exact_last.norm - 1) < 0.05);
    train(t[0], 1, 50, &last);
    train(t[1], 0, 50, &other);
    printf("loss %g -> %g, norm %g beside %g\n", first.loss, last.loss, first.norm, exact_last.norm);
    CHECK(last.loss < 0.3 && !last.skipped);
    CHECK(last.loss == other.loss && last.norm == other.norm);
    tern_program_get_info(tern_trainer_program(t[0], 0, NULL), &a);
    tern_program_get_info(tern_trainer_program(exact, 0, NULL), &b);
    CHECK(a.arena_bytes < b.arena_bytes);
    for (int k = 0; k < 2; k++)
        close(ctx[k], t[k]);
    close(exact_ctx, exact);
}

TEST(activations_in_bf16)
{
    check_small_activations(TERN_PRECISION_BF16);
}

TEST(activations_in_f16)
{
    check_small_activations(TERN_PRECISION_F16);
}

/* The optimiser's results go straight into the states: a step that copies them there would read and write all of them once more. Only
 * the count of steps, one number that all updates read, is copied. */
TEST(updates_are_no_copies)
{
    static const tern_optimiser_options kinds[] = {
        {.kind = TERN_OPTIMISER_ADAMW,
         .beta1 = 0.9,
         .beta2 = 0.95,
         .eps = 1e-8,
         .weight_decay = 0.1,
         .clip = 1},
        {.kind = TERN_OPTIMISER_SGD, .momentum = 0.9, .weight_decay = 0.1},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tern_ctx *ctx;
        tern_trainer *t;
        tern_program_info info;
        tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
        o.optimiser = kinds[k];
        open(o, 2, &ctx, &t);
        tern_program_get_info(tern_trainer_program(t, 0, NULL), &info);
        int copies = 0;
        for (int i = 0; i < info.steps; i++) {
            tern_step_info step;
            CHECK_OK(tern_program_step(tern_trainer_program(t, 0, NULL), i, &step));
            copies += strcmp(step.ops[0], "overwrite") == 0;
        }
        CHECK(copies <= 1);
        close(ctx, t);
    }
}

/* How much two tensors of normal numbers have in common: 0 for independent ones, give or take 1 / sqrt(n). */
static double correlation(tern_tensor *a, tern_tensor *b)
{
    const float *x = tern_data_f32(a), *y = tern_data_f32(b);
    double xy = 0, xx = 0, yy = 0;
    for (int64_t i = 0; x && y && i < tern_numel(a); i++) {
        xy += (double)x[i] * (double)y[i];
        xx += (double)x[i] * (double)x[i];
        yy += (double)y[i] * (double)y[i];
    }
    return xy / sqrt(xx * yy);
}

/* First weights are independent: of each other, and of those of the next seed, wherever in the model they are. */
TEST(first_weights_have_nothing_in_common)
{
    tern_ctx *ctx[2];
    tern_trainer *t[2];
    int compared = 0;
    for (int k = 0; k < 2; k++) {
        tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
        o.shape.kv_heads = o.shape.heads; /* more of the same shape */
        o.seed = 1 + (uint64_t)k;
        open(o, 1, &ctx[k], &t[k]);
    }
    for (int i = 0; i < tern_trainer_weights(t[0]); i++)
        for (int k = 0; k < 2 * tern_trainer_weights(t[0]); k++) {
            const int weight = k / 2;
            tern_tensor *a = tern_trainer_state(t[0], i, NULL),
                        *b = tern_trainer_state(t[k % 2], weight, NULL);
            if (tern_rank(a) < 2 || tern_numel(a) != tern_numel(b) || a == b)
                continue;
            const double shared = correlation(a, b);
            if (!(fabs(shared) < 6 / sqrt((double)tern_numel(a))))
                harness_fail(__FILE__, __LINE__, "weight %d and weight %d of seed %d: %g", i, weight,
                             1 + k % 2, shared);
            compared++;
        }
    CHECK(compared > 20);
    for (int k = 0; k < 2; k++)
        close(ctx[k], t[k]);
}

/* A step is one program, or a pass and an update, with a check between them where the loss is scaled. */
TEST(programs_of_a_step_are_told)
{
    static const struct {
        int64_t accumulate;
        tern_precision activations;
        const char *names[4];
    } steps[] = {
        {1, TERN_PRECISION_EXACT, {"step"}},
        {2, TERN_PRECISION_EXACT, {"pass", "update"}},
        {1, TERN_PRECISION_BF16, {"pass", "update"}},
        {1, TERN_PRECISION_F16, {"pass", "check", "update"}},
    };
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        tern_ctx *ctx;
        tern_trainer *t;
        tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
        o.accumulate = steps[k].accumulate;
        o.activations = steps[k].activations;
        open(o, 1, &ctx, &t);
        const tern_program *before = NULL;
        int i = 0;
        for (; steps[k].names[i]; i++) {
            const char *name = "";
            const tern_program *program = tern_trainer_program(t, i, &name);
            CHECK(program && program != before);
            CHECK_STR(name, steps[k].names[i]);
            before = program;
        }
        CHECK(!tern_trainer_program(t, i, NULL) && !tern_trainer_program(t, -1, NULL));
        close(ctx, t);
    }
}

static double number_of(const tern_trainer *t, const char *name)
{
    const char *is;
    for (int i = 0; i < tern_trainer_states(t); i++) {
        tern_tensor *state = tern_trainer_state(t, i, &is);
        if (strcmp(is, name) == 0)
            return (double)tern_data_f32(state)[0];
    }
    return NAN;
}

static void set_number(const tern_trainer *t, const char *name, double value)
{
    const char *is;
    for (int i = 0; i < tern_trainer_states(t); i++) {
        tern_tensor *state = tern_trainer_state(t, i, &is);
        if (strcmp(is, name) == 0)
            CHECK_OK(tern_fill_(state, value));
    }
}

/* Too large a scale: nothing is learnt, the scale falls until gradients are finite. One that has stood for long grows. */
static void check_scale(int64_t passes)
{
    tern_ctx *ctx;
    tern_trainer *t;
    tern_train_result r;
    int32_t tokens[BATCH * SEQUENCE];
    tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
    o.activations = TERN_PRECISION_F16;
    o.batch = BATCH / passes, o.accumulate = passes;
    open(o, 2, &ctx, &t);
    CHECK_NEAR(number_of(t, "loss_scale"), 65536, 0);
    count_upwards(0, BATCH, tokens);
    set_number(t, "loss_scale", 0x1p100);
    float before[VOCABULARY * 32];
    CHECK_OK(tern_read(tern_trainer_state(t, 0, NULL), before, sizeof before));
    CHECK_OK(tern_trainer_step(t, tokens, 0.01, &r));
    CHECK(r.skipped && !isfinite(r.norm) && isfinite(r.loss));
    CHECK(memcmp(before, tern_data(tern_trainer_state(t, 0, NULL)), sizeof before) == 0);
    CHECK_NEAR(number_of(t, "loss_scale"), 0x1p99, 0);
    CHECK_NEAR(number_of(t, "steps"), 0, 0);
    set_number(t, "loss_scale", 1024);
    set_number(t, "loss_scale.steps", 1999);
    CHECK_OK(tern_trainer_step(t, tokens, 0.01, &r));
    CHECK(!r.skipped && isfinite(r.norm));
    CHECK(memcmp(before, tern_data(tern_trainer_state(t, 0, NULL)), sizeof before) != 0);
    CHECK_NEAR(number_of(t, "loss_scale"), 2048, 0);
    CHECK_NEAR(number_of(t, "loss_scale.steps"), 0, 0);
    CHECK_NEAR(number_of(t, "steps"), 1, 0);
    close(ctx, t);
}

/* Whatever changes from step to step, rates and the scale of the loss among it, is data: nothing is compiled after the first steps, so
 * that long runs take no more memory than short ones. */
static void check_compiles_once(tern_precision activations, int64_t passes)
{
    tern_ctx *ctx;
    tern_trainer *t;
    tern_train_result r;
    tern_ctx_stats before, after;
    int32_t tokens[BATCH * SEQUENCE];
    double loss;
    tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
    o.activations = activations;
    o.batch = BATCH / passes, o.accumulate = passes;
    open(o, 1, &ctx, &t);
    for (int i = 0; i < 30; i++) {
        if (i == 10)
            tern_ctx_get_stats(ctx, &before);
        if (i % 5 == 0 && activations == TERN_PRECISION_F16)
            set_number(t, "loss_scale", 0x1p100); /* too large: the step is skipped */
        count_upwards(i, BATCH, tokens);
        CHECK_OK(tern_trainer_step(t, tokens, 0.01 / (1 + i), &r));
        CHECK_OK(tern_trainer_loss(t, 1, tokens, &loss));
    }
    tern_ctx_get_stats(ctx, &after);
    CHECK_EQ(after.cache_misses, before.cache_misses);
    CHECK_EQ(after.cache_entries, before.cache_entries);
    close(ctx, t);
}

TEST(steps_compile_nothing)
{
    check_compiles_once(TERN_PRECISION_EXACT, 1);
    check_compiles_once(TERN_PRECISION_BF16, 2);
    check_compiles_once(TERN_PRECISION_F16, 1);
}

TEST(the_scale_of_the_loss)
{
    check_scale(1);
}

TEST(the_scale_of_the_loss_of_several_passes)
{
    check_scale(2);
}

/* Gradients of 0 show what decays: with a rate of 1 a weight keeps 1 - decay of itself. */
TEST(groups_decay_apart)
{
    tern_ctx *ctx[2];
    tern_trainer *t[2];
    tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_FLOAT);
    int32_t tokens[BATCH * SEQUENCE];
    o.optimiser = (tern_optimiser_options){.kind = TERN_OPTIMISER_SGD, .weight_decay = 0};
    open(o, 1, &ctx[0], &t[0]);
    o.optimiser.weight_decay = 0.5, o.decay_table = 0.5, o.decay_norms = 0.25;
    open(o, 1, &ctx[1], &t[1]);
    static const struct {
        int state;
        double decay;
    } groups[] = {{0, 0.25}, {1, 0.125}, {2, 0.5}}; /* the table, a norm, a layer's queries */
    float first[3];
    for (int i = 0; i < 3; i++)
        first[i] = tern_data_f32(tern_trainer_state(t[0], groups[i].state, NULL))[0];
    count_upwards(0, BATCH, tokens);
    for (int k = 0; k < 2; k++)
        CHECK_OK(tern_trainer_step(t[k], tokens, 1, NULL));
    for (int i = 0; i < 3; i++) {
        const float without = tern_data_f32(tern_trainer_state(t[0], groups[i].state, NULL))[0],
                    with = tern_data_f32(tern_trainer_state(t[1], groups[i].state, NULL))[0];
        CHECK_NEAR((double)(without - with), (double)first[i] * groups[i].decay, 1e-6);
    }
    for (int k = 0; k < 2; k++)
        close(ctx[k], t[k]);
}

/* What a trainer would have is known before it is made: exactly what it has then. */
TEST(needs_are_known_before)
{
    static const struct {
        tern_optimiser_kind kind;
        double momentum;
        tern_precision activations;
        int64_t passes;
    } ways[] = {{TERN_OPTIMISER_ADAMW, 0, TERN_PRECISION_EXACT, 1},
                {TERN_OPTIMISER_ADAMW, 0, TERN_PRECISION_F16, 2},
                {TERN_OPTIMISER_SGD, 0.9, TERN_PRECISION_BF16, 1},
                {TERN_OPTIMISER_SGD, 0, TERN_PRECISION_EXACT, 2}};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        tern_ctx *ctx;
        tern_trainer *t;
        tern_trainer_info before, after;
        tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
        o.optimiser.kind = ways[k].kind;
        o.optimiser.momentum = ways[k].momentum;
        o.activations = ways[k].activations;
        o.accumulate = ways[k].passes;
        CHECK_OK(tern_train_needs(&o, &before));
        open(o, 1, &ctx, &t);
        int64_t parameters = 0;
        size_t bytes = 0;
        for (int i = 0; i < tern_trainer_states(t); i++) {
            const tern_tensor *state = tern_trainer_state(t, i, NULL);
            parameters += i < tern_trainer_weights(t) ? tern_numel(state) : 0;
            bytes += tern_nbytes(state);
        }
        const bool sums = ways[k].passes > 1 || ways[k].activations != TERN_PRECISION_EXACT;
        CHECK_EQ(before.parameters, parameters);
        CHECK_EQ(before.state_bytes, bytes + (sums ? 4 * (size_t)parameters : 0));
        CHECK_EQ(before.tokens, ways[k].passes * BATCH * CONTEXT);
        CHECK_EQ(before.arena_bytes, 0);
        tern_trainer_get_info(t, &after);
        CHECK(after.state_bytes == before.state_bytes && after.arena_bytes > 0);
        close(ctx, t);
    }
    tern_train_options bad = tiny(TERN_TRAIN_WEIGHTS_TERNARY);
    tern_trainer_info info;
    bad.batch = 0;
    CHECK_STATUS(tern_train_needs(&bad, &info), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_train_needs(NULL, &info), TERN_INVALID_ARGUMENT);
}

TEST(states_have_names)
{
    tern_ctx *ctx;
    tern_trainer *t;
    const char *name;
    open(tiny(TERN_TRAIN_WEIGHTS_TERNARY), 1, &ctx, &t);
    const int n = tern_trainer_weights(t);
    CHECK_EQ(n, 2 + 2 * 11);
    CHECK_EQ(tern_trainer_states(t), 3 * n + 1);
    CHECK(tern_trainer_state(t, 0, &name));
    CHECK_STR(name, "token_embd.weight");
    tern_tensor *k = tern_trainer_state(t, n + 3, &name);
    CHECK_STR(name, "blk.0.attn_k.weight.m");
    CHECK(tern_dim(k, 0) == 16 && tern_dim(k, 1) == 32);
    tern_trainer_state(t, 3 * n - 1, &name);
    CHECK_STR(name, "output_norm.weight.v");
    tern_trainer_state(t, 3 * n, &name);
    CHECK_STR(name, "steps");
    CHECK(!tern_trainer_state(t, 3 * n + 1, &name) && !tern_trainer_state(t, -1, &name));
    close(ctx, t);
}

TEST(bad_options)
{
    tern_ctx *ctx;
    tern_trainer *t = NULL;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
#define REFUSED_WITH(change, text)                                             \
    do {                                                                       \
        tern_train_options o = tiny(TERN_TRAIN_WEIGHTS_TERNARY);               \
        change;                                                                \
        CHECK_STATUS(tern_trainer_create(ctx, &o, &t), TERN_INVALID_ARGUMENT); \
        CHECK(strstr(tern_last_error(), text) && !t);                          \
    } while (0)
    REFUSED_WITH(o.shape.vocabulary = 0, "vocabulary is 0");
    REFUSED_WITH(o.shape.layers = -1, "layers is -1");
    REFUSED_WITH(o.shape.heads = 3, "3 heads share a width of 32");
    REFUSED_WITH(o.shape.heads = 32, "even part");
    REFUSED_WITH(o.shape.kv_heads = 3, "multiple of kv_heads (3)");
    REFUSED_WITH(o.batch = 0, "batch is 0");
    REFUSED_WITH(o.accumulate = 0, "accumulate is 0");
    REFUSED_WITH(o.recompute = (tern_recompute)3, "recompute 3");
    REFUSED_WITH(o.activations = (tern_precision)3, "precision 3");
    REFUSED_WITH(o.decay_norms = -1, "decay of parameter");
    REFUSED_WITH(o.shape.norm_eps = NAN, "norm_eps");
    REFUSED_WITH(o.shape.rope_theta = 0, "rope_theta");
    REFUSED_WITH(o.optimiser.beta1 = 2, "beta1 is 2");
    tern_ctx_destroy(ctx);
}

TEST(bad_tokens)
{
    tern_ctx *ctx;
    tern_trainer *t;
    tern_train_result r;
    double loss;
    open(tiny(TERN_TRAIN_WEIGHTS_TERNARY), 1, &ctx, &t);
    int32_t tokens[BATCH * SEQUENCE] = {0};
    tokens[7] = VOCABULARY;
    CHECK_STATUS(tern_trainer_step(t, tokens, 0.1, &r), TERN_INVALID_ARGUMENT);
    CHECK(strstr(tern_last_error(), "token 7 is 11"));
    CHECK_STATUS(tern_trainer_loss(t, BATCH, tokens, &loss), TERN_INVALID_ARGUMENT);
    tokens[7] = -1;
    CHECK_STATUS(tern_trainer_step(t, tokens, 0.1, &r), TERN_INVALID_ARGUMENT);
    tokens[7] = 0;
    CHECK_STATUS(tern_trainer_step(t, tokens, -1, &r), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_trainer_step(t, tokens, NAN, &r), TERN_INVALID_ARGUMENT);
    CHECK(tern_data_f32(tern_trainer_state(t, tern_trainer_states(t) - 1, NULL))[0] == 0);
    close(ctx, t);
}
