/* test_stop.c - tern_ctx_set_stop on every device: it is asked between steps, and whoever was stopped can go on. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "devices/device.h"
#include "devices.h"
#include "harness.h"

typedef struct asker {
    int asked, yes_at; /* below 0: never */
} asker;

/* Several threads may ask at once where steps are shared; here the context has one. */
static bool shall_stop(void *user)
{
    asker *a = user;
    return a->yes_at >= 0 && a->asked++ >= a->yes_at;
}

enum { LAYERS = 6 };

/* A chain of products: none is fused with the next. */
static tern_tensor *chain(tern_ctx *ctx)
{
    float numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = i % 9 == 0 ? 2 : 0; /* twice the identity */
    tern_tensor *w = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){8, 8}, numbers), *y = w;
    for (int i = 0; i < LAYERS; i++)
        y = tern_matmul(y, w, false, false);
    return y;
}

static void check_device(const char *name)
{
    NEEDS_DEVICE(name);
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = name;
    options.threads = 1;
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    int stopped = 0;
    tern_status status;
    do {
        asker a = {.yes_at = stopped};
        tern_tensor *y = chain(ctx);
        tern_ctx_set_stop(ctx, shall_stop, &a);
        status = tern_eval(y);
        tern_ctx_set_stop(ctx, NULL, NULL);
        if (status != TERN_OK) {
            CHECK_STATUS(status, TERN_CANCELLED);
            CHECK(strstr(tern_last_error(), "stopped at matmul") != NULL);
            stopped++;
        }
        CHECK_OK(tern_eval(y));
        CHECK_NEAR((double)tern_data_f32(y)[0], 2 << LAYERS, 0);
    } while (status != TERN_OK && stopped < 1000);
    CHECK(status == TERN_OK && stopped >= LAYERS);
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(stats.device_failures, 0); /* to be stopped is no failure */
    tern_ctx_destroy(ctx);
}

#define TERN_DEVICE(name)    \
    TEST(stops_on_##name)    \
    {                        \
        check_device(#name); \
    }
#define TERN_PLUGIN TERN_DEVICE
#include "devices/devices.def"
