/* test_machine.c - the model that estimates are made with, and its rates. */
#include <tern/tern.h>

#include "harness.h"

TEST(estimates_follow_the_stated_model)
{
    const tern_machine m = {.memory_bytes_per_s = 1e9,
                            .cache_bytes_per_s = 1e10,
                            .flops_per_s = 2e9,
                            .step_ns = 50,
                            .cache_bytes = 1000};
    CHECK_NEAR(tern_machine_estimate_ns(&m, 0, 0), 50, 1e-9);
    CHECK_NEAR(tern_machine_estimate_ns(&m, 0, 1000), 150, 1e-9);  /* in the cache */
    CHECK_NEAR(tern_machine_estimate_ns(&m, 0, 1001), 1051, 1e-9); /* beyond */
    CHECK_NEAR(tern_machine_estimate_ns(&m, 4000, 1000), 2050, 1e-9);
    CHECK_NEAR(tern_machine_estimate_ns(&(tern_machine){0}, 4000, 1000), 0, 0);
    CHECK_NEAR(tern_machine_estimate_ns(NULL, 1, 1), 0, 0);
}

TEST(the_machine_is_measured)
{
    tern_machine m = {0};
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_machine_measure(ctx, &m));
    /* No machine that this runs on is outside of these by far. */
    CHECK(m.memory_bytes_per_s > 1e7 && m.memory_bytes_per_s < 1e13);
    CHECK(m.cache_bytes_per_s > 1e7 && m.cache_bytes_per_s < 1e14);
    CHECK(m.flops_per_s > 1e6 && m.flops_per_s < 1e14);
    CHECK(m.step_ns > 0 && m.step_ns < 1e7);
    CHECK_STATUS(tern_machine_measure(NULL, &m), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_machine_measure(ctx, NULL), TERN_INVALID_ARGUMENT);
    tern_ctx_destroy(ctx);
}
