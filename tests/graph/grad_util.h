/* grad_util.h - a context, and numbers from the test's seed, for the tests of gradients. */
#ifndef TERN_TESTS_GRAPH_GRAD_UTIL_H
#define TERN_TESTS_GRAPH_GRAD_UTIL_H

#include <tern/context.h>

#include "base/random.h"
#include "harness.h"

static tern_ctx *ctx;
static uint64_t seed, counter;

static inline void set_up(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    options.threads = 1;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    seed = harness_seed();
    counter = 0;
}

static inline void tear_down(void)
{
    tern_ctx_destroy(ctx);
}

static inline double uniform(double low, double high)
{
    return low + (high - low) * tern__random_uniform(seed, counter++);
}

#endif
