/* test_trainer.c - a tiny decoder learns; its bits do not depend on threads; passes that accumulate are one larger batch; states go from
 * one trainer to another; bad calls. Losses and gradients against PyTorch: tests/oracle/test_training.py. */
#include <math.h>
#include <string.h>

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
    CHECK_OK(tern_trainer_loss(t, tokens, &loss));
    CHECK_OK(tern_trainer_loss(t, tokens, &again));
    CHECK(loss < 0.2);
    CHECK(loss == again); /* a loss teaches nothing */
    close(ctx, t);
}

TEST(learns_with_ternary_weights)
{
    check_learns(TERN_TRAIN_TERNARY);
}

TEST(learns_with_float_weights)
{
    check_learns(TERN_TRAIN_FLOAT);
}

/* The logits say the same as the loss. */
TEST(logits)
{
    tern_ctx *ctx;
    tern_trainer *t;
    open(tiny(TERN_TRAIN_TERNARY), 1, &ctx, &t);
    int32_t tokens[BATCH * SEQUENCE], inputs[BATCH * CONTEXT];
    count_upwards(0, BATCH, tokens);
    for (int i = 0; i < BATCH; i++)
        memcpy(inputs + i * CONTEXT, tokens + i * SEQUENCE, CONTEXT * sizeof *inputs);
    double loss, sum = 0;
    CHECK_OK(tern_trainer_loss(t, tokens, &loss));
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

/* A token's logits do not change with those after it. */
TEST(nothing_is_seen_before_it_comes)
{
    tern_ctx *ctx;
    tern_trainer *t;
    open(tiny(TERN_TRAIN_TERNARY), 1, &ctx, &t);
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
        open(tiny(TERN_TRAIN_TERNARY), k + 1, &ctx[k], &t[k]);
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
    tern_train_options o = tiny(TERN_TRAIN_TERNARY);
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
    tern_train_options o = tiny(TERN_TRAIN_FLOAT);
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

TEST(states_have_names)
{
    tern_ctx *ctx;
    tern_trainer *t;
    const char *name;
    open(tiny(TERN_TRAIN_TERNARY), 1, &ctx, &t);
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
        tern_train_options o = tiny(TERN_TRAIN_TERNARY);                       \
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
    open(tiny(TERN_TRAIN_TERNARY), 1, &ctx, &t);
    int32_t tokens[BATCH * SEQUENCE] = {0};
    tokens[7] = VOCABULARY;
    CHECK_STATUS(tern_trainer_step(t, tokens, 0.1, &r), TERN_INVALID_ARGUMENT);
    CHECK(strstr(tern_last_error(), "token 7 is 11"));
    CHECK_STATUS(tern_trainer_loss(t, tokens, &loss), TERN_INVALID_ARGUMENT);
    tokens[7] = -1;
    CHECK_STATUS(tern_trainer_step(t, tokens, 0.1, &r), TERN_INVALID_ARGUMENT);
    tokens[7] = 0;
    CHECK_STATUS(tern_trainer_step(t, tokens, -1, &r), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_trainer_step(t, tokens, NAN, &r), TERN_INVALID_ARGUMENT);
    CHECK(tern_data_f32(tern_trainer_state(t, tern_trainer_states(t) - 1, NULL))[0] == 0);
    close(ctx, t);
}
