/* test_zero_options.c - {0} does what ..._default() does, or is refused with a message, as each header says. Walks all structs of
 * options; check_headers.sh sees to it that none is missing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"
#include "runtime/tensor_cache.h"
#include "tiny_model.h"

static tern_ctx *ctx;
static char path[4096];

static void set_up(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK(harness_path(path, sizeof path, "zero-options.gguf"));
    CHECK(tiny_model(path, "bitnet-b1.58"));
}

static void *read_all(const char *name, size_t *n)
{
    FILE *f = fopen(name, "rb");
    void *data = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        *n = (size_t)ftell(f);
        data = malloc(*n + 1);
        rewind(f);
        if (data && fread(data, 1, *n, f) != *n)
            *n = 0;
    }
    if (f)
        fclose(f);
    return data;
}

static bool same_files(const char *a, const char *b)
{
    size_t n = 0, m = 1;
    void *x = read_all(a, &n), *y = read_all(b, &m);
    const bool same = x && y && n > 0 && n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

/* ---- nothing is set ---- */

#define IS_ZERO(type)                                   \
    do {                                                \
        static const type zero;                         \
        type usual;                                     \
        memset(&usual, 1, sizeof usual);                \
        usual = type##_default();                       \
        CHECK(memcmp(&usual, &zero, sizeof zero) == 0); \
    } while (0)

TEST(defaults_that_are_zeros)
{
    IS_ZERO(tern_model_file_options);
    IS_ZERO(tern_convert_options);
    IS_ZERO(tern_train_export_options);
    IS_ZERO(tern_compile_options);
    IS_ZERO(tern_tokenizer_options);
    IS_ZERO(tern_encode_options);
    IS_ZERO(tern_decode_options);
    IS_ZERO(tern_bench_options);
    IS_ZERO(tern_compare_options);
    IS_ZERO(tern_device_compare_options);
    IS_ZERO(tern_regress_options);
    IS_ZERO(tern_governor_options);
    IS_ZERO(tern_pressure_options);
    IS_ZERO(tern_memory_options);
    IS_ZERO(tern_profile_options);
    IS_ZERO(tern_metrics_options);
    IS_ZERO(tern_trace_options);
}

/* ---- zeros stand for something else ---- */

TEST(contexts_and_pools)
{
    tern_ctx *zero, *usual;
    const tern_ctx_options options = tern_ctx_options_default();
    CHECK_OK(tern_ctx_create(&(tern_ctx_options){0}, &zero));
    CHECK_OK(tern_ctx_create(&options, &usual));
    CHECK_EQ(tern_ctx_threads(zero), tern_ctx_threads(usual));
    CHECK_STR(tern_tune_path(zero), tern_tune_path(usual));
    tern_ctx_destroy(zero);
    tern_ctx_destroy(usual);

    const tern_pool_options pool_options = tern_pool_options_default();
    static const size_t sizes[] = {100, 64 << 10, (64 << 10) + 1, 5 << 20};
    tern_pool *pools[2];
    tern_pool_stats stats[2] = {{0}};
    CHECK_OK(tern_pool_create(&(tern_pool_options){0}, &pools[0]));
    CHECK_OK(tern_pool_create(&pool_options, &pools[1]));
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            void *block;
            CHECK_OK(tern_pool_get(pools[k], sizes[i], 0, &block));
            tern_pool_put(pools[k], block);
        }
        tern_pool_get_stats(pools[k], &stats[k]);
        tern_pool_destroy(pools[k]);
    }
    CHECK(memcmp(&stats[0], &stats[1], sizeof stats[0]) == 0);
}

TEST(caches)
{
    const tern_cache_options options[] = {{0}, tern_cache_options_default(), {.max_bytes = SIZE_MAX}};
    tern__type type;
    CHECK_OK(tern__type_make("t", TERN_U8, 1, (int64_t[]){300 << 20}, &type));
    for (int i = 0; i < 2; i++) {
        tern_cache *cache;
        CHECK_OK(tern_cache_create(&options[i], &cache));
        CHECK_STATUS(tern__tensor_cache_put(cache, "x", &type, NULL), TERN_LIMIT);
        tern_cache_free(cache);
    }
    tern_cache *cache;
    tern_tensor *t;
    set_up();
    CHECK_OK(tern_cache_create(&options[2], &cache));
    t = tern_full(ctx, TERN_F32, 1, (int64_t[]){8}, 1);
    CHECK_OK(tern_cache_put(cache, "x", t));
    tern_cache_free(cache);
    tern_ctx_destroy(ctx);
}

static tern_status run_once(void *user, int configuration, uint64_t *ns)
{
    (void)configuration;
    ++*(int *)user;
    *ns = 1000;
    return TERN_OK;
}

static tern_status never_recorded(void *user, tern_ctx *c, int64_t batch, tern_program **out)
{
    (void)c;
    (void)out;
    *(int64_t *)user = batch;
    return TERN_UNSUPPORTED;
}

TEST(measurements)
{
    static const char *const names[] = {"one", "two"};
    const tern_tune_options tune[] = {{0}, tern_tune_options_default()};
    const tern_batch_options batch[] = {{0}, tern_batch_options_default()};
    int runs[2] = {0};
    set_up();
    for (int i = 0; i < 2; i++) {
        int best;
        int64_t first = 0;
        CHECK_OK(
            tern_tune(ctx, i ? "usual" : "zero", NULL, 2, names, run_once, &runs[i], &tune[i], &best, NULL));
        const tern_batch_work work = {.compile = never_recorded, .user = &first};
        int64_t size;
        CHECK_STATUS(tern_batch_find(ctx, &work, &batch[i], &size, NULL, NULL), TERN_UNSUPPORTED);
        CHECK_EQ(first, 1);
    }
    CHECK(runs[0] > 2 && runs[0] == runs[1]);
    tern_ctx_destroy(ctx);
    /* What is to be measured has no default. */
    CHECK_STATUS(tern_bench_model(&(tern_bench_model_options){0}, NULL, NULL), TERN_INVALID_ARGUMENT);
}

TEST(models_and_sessions)
{
    tern_model *model;
    set_up();
    CHECK_OK(tern_model_load(ctx, path, &(tern_model_options){0}, &model));
    const tern_session_options options[] = {{0}, tern_session_options_default()};
    tern_session *s[2];
    for (int i = 0; i < 2; i++)
        CHECK_OK(tern_session_create(model, &options[i], &s[i]));
    CHECK_EQ(tern_session_slots(s[0]), tern_session_slots(s[1]));
    CHECK_EQ(tern_session_context(s[0]), tern_session_context(s[1]));
    CHECK_EQ(tern_session_batch(s[0]), tern_session_batch(s[1]));
    CHECK_EQ(tern_session_cache_bytes(s[0]), tern_session_cache_bytes(s[1]));
    for (int i = 0; i < 2; i++)
        tern_session_free(s[i]);
    tern_model_info zero, usual;
    tern_model_get_info(model, &zero);
    tern_model_free(model);
    const tern_model_options defaults = tern_model_options_default();
    CHECK_OK(tern_model_load(ctx, path, &defaults, &model));
    tern_model_get_info(model, &usual);
    CHECK_EQ(zero.weight_bytes, usual.weight_bytes);
    CHECK_EQ(zero.token_bytes, usual.token_bytes);
    tern_model_free(model);
    tern_ctx_destroy(ctx);
}

TEST(files_that_are_written)
{
    char files[2][4096];
    tern_model_shape shape;
    const tern_synth_options synth[] = {{0}, tern_synth_options_default()};
    const tern_convert_options convert[] = {{0}, tern_convert_options_default()};
    tern_model_file *file;
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    for (int i = 0; i < 2; i++) {
        CHECK(harness_path(files[i], sizeof files[i], i ? "synth-usual.gguf" : "synth-zero.gguf"));
        CHECK_OK(tern_model_synth(files[i], &shape, &synth[i]));
    }
    CHECK(same_files(files[0], files[1]));
    CHECK_OK(tern_model_file_open(files[0], &(tern_model_file_options){0}, &file));
    for (int i = 0; i < 2; i++) {
        CHECK(harness_path(files[i], sizeof files[i], i ? "convert-usual.gguf" : "convert-zero.gguf"));
        CHECK_OK(tern_model_convert(ctx, file, files[i], &convert[i]));
    }
    CHECK(same_files(files[0], files[1]));
    /* and not in another type */
    tern_model_file *made;
    CHECK_OK(tern_model_file_open(files[0], NULL, &made));
    for (int i = 0; i < tern_model_file_count(file); i++) {
        tern_file_tensor a, b;
        CHECK_OK(tern_model_file_tensor(file, i, &a));
        CHECK_OK(tern_model_file_tensor(made, i, &b));
        CHECK_EQ(a.stored, b.stored);
    }
    tern_model_file_close(made);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* ---- zeros are refused ---- */

#define REFUSED_FOR(call, word)                         \
    do {                                                \
        CHECK_STATUS(call, TERN_INVALID_ARGUMENT);      \
        CHECK(strstr(tern_last_error(), word) != NULL); \
    } while (0)

TEST(what_has_no_meaning_is_refused_by_name)
{
    tern_model *model;
    tern_session *session;
    tern_sequence *sequence;
    tern_generate_result result;
    float logits[4] = {0};
    int32_t token;
    set_up();
    REFUSED_FOR(tern_sample(&(tern_sampling){0}, 4, logits, 0, NULL, 0, &token), "top_p");
    CHECK_OK(tern_model_load(ctx, path, NULL, &model));
    CHECK_OK(tern_session_create(model, NULL, &session));
    CHECK_OK(tern_sequence_create(session, 0, &sequence));
    CHECK_OK(tern_sequence_prompt(sequence, (int32_t[]){1, 2}, 2, NULL, NULL));
    REFUSED_FOR(tern_generate(sequence, NULL, &(tern_generate_options){0}, NULL, NULL, &result), "top_p");
    tern_generate_options none = tern_generate_options_default();
    none.most = 0; /* with all else set, 0 tokens are what they say */
    CHECK_OK(tern_generate(sequence, NULL, &none, NULL, NULL, &result));
    CHECK_EQ(result.tokens, 0);
    tern_sequence_free(sequence);
    tern_session_free(session);
    tern_model_free(model);

    tern_optimiser *optimiser;
    tern_trainer *trainer;
    tern_tokenizer *tokenizer;
    tern_tensor *state = tern_state(ctx, "p", TERN_F32, 1, (int64_t[]){4});
    const tern_parameter parameter = {state, 1};
    REFUSED_FOR(tern_optimiser_create(ctx, &(tern_optimiser_options){0}, 1, &parameter, &optimiser), "eps");
    REFUSED_FOR(tern_trainer_create(ctx, &(tern_train_options){0}, &trainer), "vocabulary");
    CHECK_STATUS(tern_tokenizer_train("text", 4, &(tern_tokenizer_train_options){0}, &tokenizer),
                 TERN_OUT_OF_RANGE);
    CHECK(strstr(tern_last_error(), "257") != NULL);
    CHECK(tern_schedule_rate(&(tern_schedule_options){0}, 0) == 0);
    tern_ctx_destroy(ctx);
}
