/* test_curve.c - 50 steps of a tiny decoder have the losses that PyTorch has, as tests/golden/training.json keeps them.
 *
 * tests/oracle/test_training.py makes that file, in f64, says why ternary weights part, and compares each step tightly. How far they part: PyTorch
 * in f32 from itself, nudged, by up to 0.0011 in the first five steps and 0.033 later. Curves of float and of ternary weights are not further than
 * 0.1 from each other, so it is the first steps that tell them apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tern/train.h>

#include "../golden.h"
#include "harness.h"

enum { FIRST = 5 }; /* steps before rounding has parted curves */
typedef struct bounds {
    double first, later; /* largest relative differences */
} bounds;
static const bounds FLOAT = {1e-4, 1e-4}, TERNARY = {2e-3, 0.1};

enum { VOCABULARY = 23, CONTEXT = 24, BATCH = 4, STEPS = 50, SEQUENCE = CONTEXT + 1 };

static void make_sequences(int step, int32_t *out)
{
    for (int b = 0; b < BATCH; b++)
        for (int at = 0; at < SEQUENCE; at++)
            out[b * SEQUENCE + at] = (step * 7 + b * 5 + at * (1 + (step + b) % 3) + at / 4) % VOCABULARY;
}

/* The list of numbers behind "name" in the file. */
static bool read_losses(const char *name, double *losses)
{
    size_t length;
    char *text = golden_read("training.json", &length);
    const char *at = text ? strstr(text, name) : NULL;
    at = at ? strchr(at, '[') : NULL;
    for (int i = 0; at && i < STEPS; i++) {
        char *end;
        losses[i] = strtod(at + 1, &end);
        at = end == at + 1 ? NULL : end;
    }
    const bool whole = at && *at == ']';
    free(text);
    return whole;
}

static double bound_of(const bounds *b, int step)
{
    return step < FIRST ? b->first : b->later;
}

static void check_curve(tern_train_weights weights, const char *name, const bounds *b)
{
    double losses[STEPS];
    CHECK(read_losses(name, losses));
    tern_train_options o = tern_train_options_default();
    o.shape = (tern_train_shape){.vocabulary = VOCABULARY,
                                 .context = CONTEXT,
                                 .layers = 2,
                                 .width = 64,
                                 .feed_forward = 96,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .rope_theta = 10000,
                                 .norm_eps = 1e-5,
                                 .weights = weights};
    o.batch = BATCH;
    tern_ctx *ctx = NULL;
    tern_trainer *t = NULL;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_trainer_create(ctx, &o, &t));
    for (int i = 0; i < STEPS && !harness_failed(); i++) {
        int32_t tokens[BATCH * SEQUENCE];
        tern_train_result r = {0};
        make_sequences(i, tokens);
        CHECK_OK(tern_trainer_step(t, tokens, 0.002, &r));
        CHECK_NEAR(r.loss, losses[i], bound_of(b, i) * losses[i]);
    }
    tern_trainer_free(t);
    tern_ctx_destroy(ctx);
}

TEST(float_weights)
{
    check_curve(TERN_TRAIN_WEIGHTS_FLOAT, "\"float\"", &FLOAT);
}

TEST(ternary_weights)
{
    check_curve(TERN_TRAIN_WEIGHTS_TERNARY, "\"ternary\"", &TERNARY);
}

/* The bounds tell one from the other: a trainer that rounds nothing, or everything, would be found. */
TEST(curves_are_told_apart)
{
    double plain[STEPS], ternary[STEPS];
    int outside[2] = {0, 0};
    CHECK(read_losses("\"float\"", plain) && read_losses("\"ternary\"", ternary));
    for (int i = 0; i < STEPS; i++) {
        const double apart = fabs(plain[i] - ternary[i]);
        outside[0] += apart > bound_of(&TERNARY, i) * ternary[i];
        outside[1] += apart > bound_of(&FLOAT, i) * plain[i];
    }
    CHECK(outside[0] >= FIRST - 1);
    CHECK(outside[1] >= FIRST - 1);
}
