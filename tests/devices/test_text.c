/* test_text.c - the built-in model says the same on every device: greedy, token by token, with the CPU beside it, as `tern compare
 * --devices --model` reads it; and every step of it is within the bound of its op. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "devices/device.h"
#include "devices.h"
#include "harness.h"
#include "measure/compare/compare_devices.h"

enum { TOKENS = 24 };

/* Most that a logit may differ by from the CPU's. Activations are rounded to int8 row by row: where two devices' sums differ in the last
 * place, a number can fall on the other side of a half. */
static const double logit_bound = 0.01;

static const char prompt[] = "KING RICHARD:\nWhat news ";

static int32_t likeliest(const float *logits, int64_t n)
{
    int32_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? (int32_t)i : best;
    return best;
}

static void says_the_same(const char *name, const char *path)
{
    const tern__text_question question = {.model = path, .prompt = prompt, .first = "cpu", .tokens = TOKENS};
    char words[512];
    tern_device_text said;
    CHECK_OK(tern__compare_text(&question, name, &said));
    printf("%s: %s\n", name, tern_device_text_words(&said, "the CPU", words, sizeof words));
    if (said.error[0] || said.parts)
        harness_fail(__FILE__, __LINE__, "%s: %s", name, words);
    CHECK_EQ(said.tokens, TOKENS);
    CHECK(said.difference <= logit_bound);
}

/* On the device alone, and every step of the model is within the bound of its op. */
static void reads_checked(const char *name, const char *path)
{
    tern_ctx_options options = tern_ctx_options_default();
    tern_ctx *ctx;
    tern_model *model;
    tern_session *session;
    tern_sequence *sequence;
    tern_ctx_stats stats;
    options.device = name;
    options.check = true;
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK_OK(tern_model_load(ctx, path, NULL, &model));
    CHECK_OK(tern_session_create(model, NULL, &session));
    CHECK_OK(tern_sequence_create(session, 0, &sequence));
    CHECK_OK(tern_sequence_prompt(sequence, (const int32_t[]){75, 73, 78, 71}, 4, NULL, NULL));
    for (int i = 0; i < 3; i++)
        CHECK_OK(tern_sequence_push(
            sequence, likeliest(tern_sequence_logits(sequence), tern_session_vocabulary(session))));
    tern_ctx_get_stats(ctx, &stats);
    CHECK(stats.checked_steps == stats.device_steps && stats.check_failures == 0);
    CHECK(strcmp(name, "cpu") == 0 || (stats.checked_steps > 0 && stats.fallback_steps == 0));
    tern_sequence_free(sequence);
    tern_session_free(session);
    tern_model_free(model);
    tern_ctx_destroy(ctx);
}

static void check_device(const char *name)
{
    const char *root = getenv("TERN_SOURCE_DIR");
    char path[1024];
    NEEDS_DEVICE(name);
    snprintf(path, sizeof path, "%s/models/shakespeare.gguf", root ? root : ".");
    FILE *file = fopen(path, "rb");
    if (!file)
        SKIP("models/shakespeare.gguf is not in this checkout");
    fclose(file);
    says_the_same(name, path);
    reads_checked(name, path);
}

#define TERN_DEVICE(name)    \
    TEST(text_on_##name)     \
    {                        \
        check_device(#name); \
    }
#define TERN_PLUGIN TERN_DEVICE
#include "devices/devices.def"
