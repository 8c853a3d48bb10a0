/* test_trims.c - devices give back what they keep when memory is short, and go on. */
#include <string.h>

#include <tern/tern.h>

#include "devices.h"
#include "faulty.h"
#include "harness.h"
#include "runtime/context.h"

/* Devices are asked on the thread of their context, when it runs something next. */
TEST(devices_give_back_what_they_keep)
{
    faulty_reset();
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = "faulty";
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK_OK(tern_eval(tern_sqrt(tern_ones(ctx, TERN_F32, 1, (int64_t[]){4}))));
    CHECK_EQ(faulty.trims[1] + faulty.trims[2], 0);
    tern_pressure_relieve(TERN_PRESSURE_MODERATE, NULL);
    CHECK_EQ(faulty.trims[1], 0);
    CHECK_OK(tern_eval(tern_sqrt(tern_ones(ctx, TERN_F32, 1, (int64_t[]){4}))));
    CHECK(faulty.trims[1] == 1 && faulty.trims[2] == 0);
    tern_pressure_relieve(TERN_PRESSURE_CRITICAL, NULL);
    tern_pressure_relieve(TERN_PRESSURE_MODERATE, NULL); /* the worst counts */
    CHECK_OK(tern_eval(tern_sqrt(tern_ones(ctx, TERN_F32, 1, (int64_t[]){4}))));
    CHECK_OK(tern_eval(tern_sqrt(tern_ones(ctx, TERN_F32, 1, (int64_t[]){4}))));
    CHECK(faulty.trims[1] == 1 && faulty.trims[2] == 1);
    tern_ctx_trim(ctx);
    CHECK_EQ(faulty.trims[2], 2);
    faulty_fail(FAULTY_ALLOCATE, 0, 1, TERN_OUT_OF_MEMORY); /* so does a device without memory */
    CHECK_OK(tern_eval(tern_sqrt(tern_ones(ctx, TERN_F32, 1, (int64_t[]){4}))));
    CHECK_EQ(faulty.trims[2], 3);
    tern_ctx_destroy(ctx);
    tern_pressure_relieve(TERN_PRESSURE_CRITICAL, NULL); /* nobody is left to be asked */
    CHECK_EQ(faulty.trims[2], 3);
}

static const tern__device_ops *really;
static int trims[3]; /* how often the device was asked, by level */

static size_t count_trim(tern__device *device, int level)
{
    trims[level]++;
    return really->trim(device, level);
}

/* What they gave back they make again. The CPU keeps nothing of its own beside the pool. */
static void trim_and_go_on(const char *name)
{
    NEEDS_DEVICE(name);
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = name;
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    const bool has_device = ctx->device != ctx->host;
    really = ctx->device_ops;
    tern__device_ops counted = *really;
    counted.trim = count_trim;
    if (has_device)
        ctx->device_ops = &counted;
    for (int level = 0; level < 3; level++) {
        TERN_SCOPE(ctx)
            CHECK_OK(tern_eval(tern_ones(ctx, TERN_F32, 1, (int64_t[]){1 << 22})));
        memset(trims, 0, sizeof trims);
        CHECK((tern_pressure_relieve((tern_pressure)level, NULL) > 0) == (level > 0)); /* of the pool */
        tern_tensor *x = tern_ones(ctx, TERN_F32, 2, (int64_t[]){8, 8}),
                    *y = tern_exp(tern_matmul(x, x, false, false));
        CHECK_OK(tern_eval(y));
        CHECK_NEAR((double)tern_data_f32(y)[0], 2980.958, 0.01);
        CHECK(trims[1] == (has_device && level == 1) && trims[2] == (has_device && level == 2));
    }
    tern_ctx_trim(ctx);
    CHECK_EQ(trims[2], has_device ? 2 : 0);
    ctx->device_ops = really;
    tern_ctx_destroy(ctx);
}

#define TERN_DEVICE(name)      \
    TEST(trims_##name)         \
    {                          \
        trim_and_go_on(#name); \
    }
#define TERN_PLUGIN TERN_DEVICE
#include "devices/devices.def"
