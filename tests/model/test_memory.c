/* test_memory.c - what a model is said to take before it is loaded is what its session takes. */
#include <tern/catalog.h>
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

TEST(weights_as_the_device_packs_them)
{
    tern_model_file *file = NULL;
    tern_model_memory memory;
    tern_device_info device;
    double ternary = 0, rest = 0;
    open_tiny(&file);
    CHECK_OK(tern_catalog_device(0, &device));
    CHECK(device.ternary_bits == 2 || device.ternary_bits == 1.6);
    for (int i = 0; i < tern_model_file_count(file); i++) {
        tern_file_tensor t;
        CHECK_OK(tern_model_file_tensor(file, i, &t));
        if (tern_model_file_runs_ternary(file, i))
            ternary += (double)(t.shape[0] * t.shape[1]);
        else
            rest += (double)t.bytes;
    }
    /* A context beyond the model's is cut to it. */
    const tern_session_options o = {.context = (int64_t)1 << 40};
    CHECK_OK(tern_model_plan_memory(file, &o, &memory));
    CHECK_NEAR((double)memory.weights, ternary * device.ternary_bits / 8 + rest, 1);
    CHECK(ternary > 0 && memory.context > 0 && memory.context < o.context);
    tern_model_file_close(file);
}
