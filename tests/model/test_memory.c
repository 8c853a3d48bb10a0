/* test_memory.c - what a model is said to take before it is loaded is what its session takes. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <tern/memory.h>
#include <tern/model.h>
#include <tern/model_convert.h>

#include "harness.h"

static void open_tiny(tern_model_file **file)
{
    char path[4096];
    tern_model_shape shape = {0};
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK(harness_path(path, sizeof path, "memory.gguf"));
    CHECK_OK(tern_model_synth(path, &shape, NULL));
    CHECK_OK(tern_model_file_open(path, NULL, file));
}

TEST(keys_and_values_as_a_session_has_them)
{
    static const tern_dtype kinds[] = {0, TERN_F32, TERN_F16, TERN_I8};
    tern_model_file *file = NULL;
    tern_ctx *ctx;
    tern_model *model;
    open_tiny(&file);
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_model_load_file(ctx, file, NULL, &model));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int slots = 0; slots < 3; slots++) {
            const tern_session_options o = {.slots = slots, .context = slots * 17, .cache = kinds[i]};
            tern_model_memory memory;
            tern_session *session;
            CHECK_OK(tern_model_plan_memory(file, &o, &memory));
            CHECK_OK(tern_session_create(model, &o, &session));
            CHECK_EQ(memory.context, tern_session_context(session));
            CHECK_EQ(memory.cache, tern_session_cache_bytes(session));
            tern_session_free(session);
        }
    tern_model_free(model);
    tern_ctx_destroy(ctx);
    tern_model_file_close(file);
}

/* A model whose weights outweigh what its programs take. */
static const tern_model_shape broad = {.name = "broad",
                                       .architecture = "bitnet-b1.58",
                                       .layers = 1,
                                       .width = 1536,
                                       .feed_forward = 6144,
                                       .heads = 12,
                                       .kv_heads = 6,
                                       .vocabulary = 512,
                                       .context = 64,
                                       .rope_base = 10000};

/* What was allocated since recording began and is there at its end. Weights that are read later have addresses for good, but
 * pages only while they are read. */
static double allocated(const tern_memory *memory)
{
    double bytes = 0;
    tern_memory_row row;
    for (int i = 0; tern_memory_get_row(memory, TERN_MEMORY_SITES, i, &row) == TERN_OK; i++)
        bytes += strstr(row.name, "tern__storage_defer") ? 0 : (double)row.live_bytes;
    return bytes;
}

TEST(weights_as_a_session_has_them)
{
    static const tern_stored types[] = {TERN_STORED_I2_S, TERN_STORED_TQ1_0, TERN_STORED_Q8_0,
                                        TERN_STORED_F16};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char path[4096];
        tern_synth_options synth = tern_synth_options_default();
        tern_model_file *file;
        tern_model_memory said;
        tern_ctx_options options = tern_ctx_options_default();
        tern_ctx *ctx;
        tern_model *model;
        tern_session *session;
        tern_memory *memory;
        synth.type = types[i];
        options.tuning = "off";
        CHECK(harness_path(path, sizeof path, "broad.gguf"));
        CHECK_OK(tern_model_synth(path, &broad, &synth));
        CHECK_OK(tern_model_file_open(path, NULL, &file));
        CHECK_OK(tern_model_plan_memory(file, NULL, &said));
        CHECK_OK(tern_ctx_create(&options, &ctx));
        CHECK_OK(tern_memory_start(NULL));
        CHECK_OK(tern_model_load_file(ctx, file, NULL, &model));
        CHECK_OK(tern_session_create(model, NULL, &session));
        CHECK_OK(tern_session_prepare(session, 1, 1));
        CHECK_OK(tern_memory_stop(&memory));
        const double taken = allocated(memory) - (double)tern_session_cache_bytes(session);
        printf("%s: said %.0f, taken %.0f bytes\n", tern_stored_get(types[i])->name, (double)said.weights,
               taken);
        /* Five codes in a byte or four, or weights that are there twice, differ by more. */
        CHECK_NEAR((double)said.weights, taken, 0.12 * taken);
        tern_memory_free(memory);
        tern_session_free(session);
        tern_model_free(model);
        tern_ctx_destroy(ctx);
        tern_model_file_close(file);
    }
}

/* Of what no session can have there is nothing to tell. */
TEST(options_are_checked_as_a_session_checks_them)
{
    static const tern_session_options wrong[] = {
        {.slots = -1},
        {.batch = -1},
        {.batch = 1 << 30},
        {.context = -1},
        {.cache = TERN_T5},
        {.cache = TERN_I32},
        {.cache = TERN_Q8_0},
        {.cache = (tern_dtype)99},
        {.cache = (tern_dtype)-1},
    };
    tern_model_file *file = NULL;
    tern_ctx *ctx;
    tern_model *model;
    tern_model_memory memory;
    open_tiny(&file);
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_model_load_file(ctx, file, NULL, &model));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tern_session *session = NULL;
        const tern_status status = tern_session_create(model, &wrong[i], &session);
        CHECK(status != TERN_OK && session == NULL);
        CHECK_STATUS(tern_model_plan_memory(file, &wrong[i], &memory), status);
    }
    /* A context beyond the model's is cut to it: what would run is told. */
    tern_model_info info;
    tern_model_get_info(model, &info);
    CHECK_OK(tern_model_plan_memory(file, &(tern_session_options){.context = (int64_t)1 << 40}, &memory));
    CHECK_EQ(memory.context, info.context);
    /* So many slots need no memory that exists, and still a number. */
    const tern_session_options many = {.slots = INT32_MAX}, one = {.slots = 1};
    tern_model_memory single;
    CHECK_OK(tern_model_plan_memory(file, &many, &memory));
    CHECK_OK(tern_model_plan_memory(file, &one, &single));
    CHECK_NEAR((double)memory.cache, (double)single.cache * INT32_MAX, 1e-6 * (double)memory.cache);
    tern_model_free(model);
    tern_ctx_destroy(ctx);
    tern_model_file_close(file);
}
