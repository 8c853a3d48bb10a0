/* test_model_failures.c - a model is opened, loaded, prompted, asked for text, compared with another head and let go, from each kind of
 * file, while the 1st, 2nd, 3rd, ... allocation fails, once or from then on, or the opening or reading of a file: an error each time and
 * no leak, what does come out is right, and the same context then does it all as if nothing had been. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <tern/alloc.h>
#include <tern/generate.h>
#include <tern/model.h>
#include <tern/model_convert.h>
#include <tern/tokenizer.h>

#include "base/file.h"
#include "gate.h"
#include "harness.h"

enum { TOKENS = 6, SEQUENCES = 2 };

/* ---- a program that uses a model ---- */

typedef struct outcome {
    int32_t tokens[SEQUENCES][TOKENS];
    int n[SEQUENCES];
} outcome;

typedef struct speaker {
    outcome *out;
    int sequence;
} speaker;

static bool take(void *user, const tern_generated *piece)
{
    const speaker *s = user;
    int *n = &s->out->n[s->sequence];
    if (piece->token != TERN_NO_TOKEN && *n < TOKENS)
        s->out->tokens[s->sequence][(*n)++] = piece->token;
    return true;
}

/* Two answers in one batch: one greedy with logprobs, one drawn from the whole vocabulary, with a penalty and a stop string. */
static tern_status answer(tern_sequence *const *sequences, const tern_tokenizer *tokenizer, outcome *out)
{
    static const char *const stops[] = {"never said"};
    tern_generate_options o[SEQUENCES];
    tern_generate_result results[SEQUENCES];
    speaker speakers[SEQUENCES];
    void *users[SEQUENCES];
    for (int i = 0; i < SEQUENCES; i++) {
        speakers[i] = (speaker){out, i};
        users[i] = &speakers[i];
        o[i] = tern_generate_options_default();
        o[i].most = TOKENS;
        o[i].ignore_end = true;
    }
    o[0].sampling.temperature = 0;
    o[0].logprobs = 3;
    o[1].sampling.top_k = 0;
    o[1].sampling.repeat_penalty = 1.5;
    o[1].n_stops = 1;
    o[1].stops = stops;
    return tern_generate_many(SEQUENCES, sequences, tokenizer, o, take, users, results);
}

static tern_status converse(tern_session *session, const tern_tokenizer *tokenizer, outcome *out)
{
    tern_sequence *sequences[SEQUENCES] = {NULL};
    int32_t *ids = NULL;
    size_t n = 0;
    tern_status status = tern_tokenizer_encode(tokenizer, "hello, world", 12, NULL, &ids, &n);
    for (int i = 0; i < SEQUENCES && status == TERN_OK; i++)
        status = tern_sequence_create(session, i, &sequences[i]);
    if (status == TERN_OK)
        status = tern_sequence_prompt(sequences[0], ids, (int64_t)n, NULL, NULL);
    if (status == TERN_OK)
        status = tern_sequence_copy(sequences[0], sequences[1]);
    if (status == TERN_OK)
        status = answer(sequences, tokenizer, out);
    for (int i = 0; i < SEQUENCES; i++)
        tern_sequence_free(sequences[i]);
    tern_tokens_free(ids);
    return status;
}

static tern_status use_model(tern_model *model, const tern_tokenizer *tokenizer, outcome *out)
{
    const tern_session_options o = {.slots = SEQUENCES, .context = 32, .batch = 8, .cache = TERN_I8};
    tern_session *session = NULL;
    tern_head_agreement heads;
    TERN_TRY(tern_session_create(model, &o, &session));
    tern_status status = tern_session_prepare(session, 1, 1);
    if (status == TERN_OK)
        status = converse(session, tokenizer, out);
    tern_session_free(session);
    return status == TERN_OK ? tern_model_compare_heads(model, 1, NULL, NULL, &heads) : status;
}

static tern_status use_file(tern_ctx *ctx, const char *path, outcome *out)
{
    tern_model_options o = tern_model_options_default();
    tern_model *model = NULL;
    tern_tokenizer *tokenizer = NULL;
    o.head = TERN_Q8_0;
    *out = (outcome){0};
    tern_status status = tern_model_load(ctx, path, &o, &model);
    if (status == TERN_OK)
        status = tern_tokenizer_from_file(tern_model_get_file(model), NULL, &tokenizer);
    if (status == TERN_OK)
        status = use_model(model, tokenizer, out);
    tern_tokenizer_free(tokenizer);
    tern_model_free(model);
    return status;
}

/* ---- the walk ---- */

/* What fails. */
typedef struct trouble {
    bool of_files; /* else of memory */
    bool for_ever;
} trouble;

static bool file_allow(void *user, const char *operation)
{
    (void)operation;
    return gate_allow(user, 0);
}

static void begin(const trouble *t, gate *g)
{
    if (t->of_files)
        tern__file_set_gate(file_allow, g);
    else
        tern_alloc_set_gate(gate_allow, g);
}

static void end(void)
{
    tern__file_set_gate(NULL, NULL);
    tern_alloc_set_gate(NULL, NULL);
}

/* The gate of files is for one thread. */
static tern_status make_context(const trouble *t, tern_ctx **ctx)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = t->of_files ? 1 : 2;
    options.tuning = "off";
    return tern_ctx_create(&options, ctx);
}

/* There are thousands of allocations, most of them of the compiler, which other tests walk one by one: here ever fewer of the later
 * ones are tried. */
static long next_of(const trouble *t, long nth)
{
    return nth + harness_every() + nth / (t->for_ever ? 16 : 32);
}

/* Once with failure g, and once more without. Adds to `failures` if the first was not survived. */
static void try_both(const char *path, const trouble *t, gate *g, const outcome *expected, int *failures)
{
    outcome got;
    tern_ctx *ctx;
    const uint64_t before = live_blocks();
    CHECK_OK(make_context(t, &ctx));
    begin(t, g);
    tern_status status = use_file(ctx, path, &got);
    end();
    for (int i = 0; i < SEQUENCES; i++) /* what was said before it failed is what was to be said */
        CHECK(memcmp(got.tokens[i], expected->tokens[i], (size_t)got.n[i] * sizeof got.tokens[i][0]) == 0);
    if (status != TERN_OK) {
        ++*failures;
        CHECK_STATUS(status, t->of_files ? TERN_IO : TERN_OUT_OF_MEMORY);
        CHECK(tern_last_error()[0] != 0);
    }
    CHECK_OK(use_file(ctx, path, &got));
    CHECK(memcmp(&got, expected, sizeof got) == 0);
    tern_ctx_destroy(ctx);
    CHECK_EQ(live_blocks(), before);
}

static void walk(const char *path, const trouble *t)
{
    outcome expected;
    tern_ctx *ctx;
    int failures = 0;
    bool fired = true;
    CHECK_OK(make_context(t, &ctx));
    CHECK_OK(use_file(ctx, path, &expected));
    CHECK(expected.n[0] == TOKENS && expected.n[1] == TOKENS);
    tern_ctx_destroy(ctx);
    for (long nth = 1; fired && !harness_failed(); nth = next_of(t, nth)) {
        gate g = {.countdown = nth, .for_ever = t->for_ever};
        try_both(path, t, &g, &expected, &failures);
        if (harness_failed())
            printf("     (%s %ld failing %s)\n", t->of_files ? "operation on files" : "allocation", nth,
                   t->for_ever ? "and all after it" : "once");
        fired = g.fired;
    }
    CHECK(failures * harness_every() > (t->of_files ? 10 : 50));
}

static void walk_all(const char *path)
{
    static const trouble troubles[] = {{.for_ever = false}, {.for_ever = true}, {.of_files = true}};
    for (int i = 0; i < 3; i++)
        walk(path, &troubles[i]);
}

static const char *path_of(const char *name)
{
    static char path[4096];
    harness_path(path, sizeof path, name);
    return path;
}

static void make_gguf(const char *name, const char *architecture, tern_stored type)
{
    tern_model_shape shape;
    tern_synth_options o = tern_synth_options_default();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    shape.architecture = architecture;
    shape.layers = 1;
    shape.vocabulary = 300;
    o.type = type;
    CHECK_OK(tern_model_synth(path_of(name), &shape, &o));
}

/* Has this build what the file's tokenizer needs? */
static bool can_use(const char *path)
{
    outcome ignored;
    tern_ctx *ctx;
    if (make_context(&(trouble){0}, &ctx) != TERN_OK)
        return true; /* which the walk will tell */
    const tern_status status = use_file(ctx, path, &ignored);
    tern_ctx_destroy(ctx);
    return status != TERN_UNAVAILABLE;
}

TEST(ternary_codes_in_gguf)
{
    make_gguf("a.gguf", "bitnet-b1.58", TERN_STORED_I2_S);
    if (!can_use(path_of("a.gguf")))
        SKIP("this build has no PCRE2, which the model's tokenizer needs");
    walk_all(path_of("a.gguf"));
}

TEST(numbers_in_gguf)
{
    make_gguf("a.gguf", "llama", TERN_STORED_F16);
    if (!can_use(path_of("a.gguf")))
        SKIP("this build has no PCRE2, which the model's tokenizer needs");
    walk_all(path_of("a.gguf"));
}

TEST(a_folder_of_safetensors)
{
    tern_ctx *ctx;
    tern_model_file *file;
    char from[4096];
    tern_convert_options o = tern_convert_options_default();
    make_gguf("a.gguf", "bitnet", TERN_STORED_TQ2_0);
    snprintf(from, sizeof from, "%s", path_of("a.gguf"));
    CHECK_EQ(mkdir(path_of("hf"), 0777), 0);
    CHECK_OK(make_context(&(trouble){0}, &ctx));
    CHECK_OK(tern_model_file_open(from, NULL, &file));
    o.shard_bytes = 1 << 17;
    const tern_status status = tern_model_convert(ctx, file, path_of("hf/model.safetensors"), &o);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
    if (status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE)
        SKIP("this build has no libjansson or no PCRE2, which safetensors and their tokenizer need");
    CHECK_OK(status);
    walk_all(path_of("hf"));
}
