/* test_text.c - the built-in model says the same on every device: greedy, token by token, with the CPU beside it. Both are fed the
 * same tokens, so the first place at which they would choose differently is where they part. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "devices/device.h"
#include "devices.h"
#include "harness.h"

enum { TOKENS = 24 };

/* Most that a logit may differ by from the CPU's. Activations are rounded to int8 row by row: where two devices' sums differ in the last
 * place, a number can fall on the other side of a half. */
static const double logit_bound = 0.01;

static const char prompt[] = "KING RICHARD:\nWhat news ";

typedef struct reader {
    tern_ctx *ctx;
    tern_model *model;
    tern_session *session;
    tern_sequence *sequence;
} reader;

static void reader_close(reader *r)
{
    tern_sequence_free(r->sequence);
    tern_session_free(r->session);
    tern_model_free(r->model);
    tern_ctx_destroy(r->ctx);
    *r = (reader){0};
}

static tern_status reader_open(reader *r, const char *device, bool check, const char *path)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.device = device;
    options.check = check;
    options.tuning = "off";
    TERN_TRY(tern_ctx_create(&options, &r->ctx));
    TERN_TRY(tern_model_load(r->ctx, path, NULL, &r->model));
    TERN_TRY(tern_session_create(r->model, NULL, &r->session));
    TERN_TRY(tern_sequence_create(r->session, 0, &r->sequence));
    return TERN_OK;
}

static tern_status feed_prompt(reader *r)
{
    tern_tokenizer *tokenizer = NULL;
    int32_t *ids = NULL;
    size_t n = 0;
    TERN_TRY(tern_tokenizer_from_file(tern_model_get_file(r->model), NULL, &tokenizer));
    tern_status status = tern_tokenizer_encode(tokenizer, prompt, sizeof prompt - 1, NULL, &ids, &n);
    tern_tokenizer_free(tokenizer);
    if (status == TERN_OK)
        status = tern_sequence_prompt(r->sequence, ids, (int64_t)n, NULL, NULL);
    tern_tokens_free(ids);
    return status;
}

static int32_t likeliest(const float *logits, int64_t n)
{
    int32_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? (int32_t)i : best;
    return best;
}

/* Not fmax: gcc 12 for aarch64 fails on it in a loop. What is no number counts as far. */
static double farther(double most, float a, float b)
{
    const double apart = fabs((double)a - (double)b);
    return apart <= most ? most : apart;
}

static void read_along(reader *device, reader *cpu, const char *name)
{
    const int64_t n = tern_session_vocabulary(cpu->session);
    double most = 0;
    CHECK_OK(feed_prompt(cpu));
    CHECK_OK(feed_prompt(device));
    for (int i = 0; i < TOKENS; i++) {
        const float *a = tern_sequence_logits(device->sequence), *b = tern_sequence_logits(cpu->sequence);
        for (int64_t k = 0; k < n; k++)
            most = farther(most, a[k], b[k]);
        const int32_t ours = likeliest(a, n), theirs = likeliest(b, n);
        if (ours != theirs) {
            harness_fail(
                __FILE__, __LINE__,
                "%s parts from the CPU at token %d: it chooses %d (logit %g, on the CPU %g), the CPU %d (%g, "
                "on %s %g); logits differed by %.3g at most",
                name, i, ours, (double)a[ours], (double)b[ours], theirs, (double)b[theirs], name,
                (double)a[theirs], most);
            return;
        }
        if (i + 1 < TOKENS) {
            CHECK_OK(tern_sequence_push(cpu->sequence, theirs));
            CHECK_OK(tern_sequence_push(device->sequence, theirs));
        }
    }
    printf("%s: %d tokens are the CPU's; logits differed by %.3g at most\n", name, TOKENS, most);
    CHECK(most <= logit_bound);
}

/* Every step of the model is within the bound of its op. */
static void read_checked(const char *name, const char *path)
{
    reader r = {0};
    tern_ctx_stats stats;
    CHECK_OK(reader_open(&r, name, true, path));
    CHECK_OK(feed_prompt(&r));
    for (int i = 0; i < 3; i++)
        CHECK_OK(tern_sequence_push(
            r.sequence, likeliest(tern_sequence_logits(r.sequence), tern_session_vocabulary(r.session))));
    tern_ctx_get_stats(r.ctx, &stats);
    CHECK(stats.checked_steps == stats.device_steps && stats.check_failures == 0);
    CHECK(strcmp(name, "cpu") == 0 || stats.checked_steps > 0);
    reader_close(&r);
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
    reader device = {0}, cpu = {0};
    CHECK_OK(reader_open(&cpu, NULL, false, path));
    CHECK_OK(reader_open(&device, name, false, path));
    read_along(&device, &cpu, name);
    tern_ctx_stats stats;
    tern_ctx_get_stats(device.ctx, &stats);
    CHECK(strcmp(name, "cpu") == 0 || (stats.device_steps > 0 && stats.fallback_steps == 0));
    reader_close(&device);
    reader_close(&cpu);
    read_checked(name, path);
}

#define TERN_DEVICE(name)    \
    TEST(text_on_##name)     \
    {                        \
        check_device(#name); \
    }
#define TERN_PLUGIN TERN_DEVICE
#include "devices/devices.def"
