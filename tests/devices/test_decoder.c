/* test_decoder.c - the built-in model on every device: not one step of its programs is left to the CPU, with ternary weights of two
 * bits and of five to a byte, and the logits are the CPU's within a bound. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "devices.h"
#include "harness.h"

enum { PROMPT = 7, STEPS = 3 };

static const char *model_path(char *out, size_t size)
{
    const char *source = getenv("TERN_SOURCE_DIR");
    snprintf(out, size, "%s/models/shakespeare.gguf", source ? source : ".");
    FILE *file = fopen(out, "rb");
    if (!file)
        return NULL;
    fclose(file);
    return out;
}

/* The logits behind a prompt and a few more tokens, for the caller to free. */
static void run(const char *device, tern_dtype ternary, const char *path, int64_t *vocabulary,
                tern_ctx_stats *stats, float **out)
{
    tern_ctx *ctx = NULL;
    tern_model *model = NULL;
    tern_session *session = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    tern_model_options how = {.ternary = ternary};
    options.device = device;
    options.fallback = true; /* what is left to the CPU is counted */
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK_OK(tern_model_load(ctx, path, &how, &model));
    CHECK_OK(tern_session_create(model, NULL, &session));
    *vocabulary = tern_session_vocabulary(session);
    float *logits = calloc((size_t)*vocabulary * (STEPS + 1), sizeof *logits);
    tern_session_row rows[PROMPT];
    for (int i = 0; i < PROMPT; i++)
        rows[i] = (tern_session_row){.token = 40 + 3 * i, .position = i};
    CHECK_OK(tern_session_feed(session, PROMPT, rows, 1, (int[]){PROMPT - 1}, logits));
    for (int i = 0; i < STEPS; i++) {
        const tern_session_row row = {.token = 60 + i, .position = PROMPT + i};
        CHECK_OK(tern_session_feed(session, 1, &row, 1, (int[]){0}, logits + (i + 1) * *vocabulary));
    }
    tern_ctx_get_stats(ctx, stats);
    tern_session_free(session);
    tern_model_free(model);
    tern_ctx_destroy(ctx);
    *out = logits;
}

/* An activation that rounds to the other side of two int8 moves all logits a little: by a share of their spread. */
static void compare(const char *name, int64_t n, const float *got, const float *want)
{
    double apart = 0, spread = 0;
    for (int64_t i = 0; i < n * (STEPS + 1); i++) {
        const double d = (double)got[i] - (double)want[i];
        apart += d * d;
        spread += (double)want[i] * (double)want[i];
    }
    printf("%s: logits are %.2g of their size from the CPU's\n", name, sqrt(apart / spread));
    CHECK(sqrt(apart / spread) < 0.05);
}

static void check_device(const char *name, const char *path)
{
    for (int five = 0; five < 2; five++) {
        const tern_dtype ternary = five ? TERN_T5 : TERN_T2;
        int64_t n = 0;
        tern_ctx_stats there = {0}, here = {0};
        float *got = NULL, *want = NULL;
        run(name, ternary, path, &n, &there, &got);
        run(NULL, ternary, path, &n, &here, &want);
        CHECK(got && want);
        printf("%s, %s: %llu steps on it, %llu on the CPU\n", name, five ? "t5" : "t2",
               (unsigned long long)there.device_steps, (unsigned long long)there.fallback_steps);
        CHECK((there.device_steps > 0) == (strcmp(name, "cpu") != 0)); /* the CPU's own are no device's */
        CHECK_EQ(there.fallback_steps, 0);
        compare(name, n, got, want);
        free(got);
        free(want);
    }
}

static void test_device(const char *name)
{
    char path[4096];
    NEEDS_DEVICE(name);
    if (!model_path(path, sizeof path))
        SKIP("there is no models/shakespeare.gguf");
    check_device(name, path);
}

#define TERN_DEVICE(name)             \
    TEST(the_decoder_stays_on_##name) \
    {                                 \
        test_device(#name);           \
    }
#define TERN_PLUGIN TERN_DEVICE
#include "devices/devices.def"
