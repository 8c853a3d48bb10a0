/* faulty_contexts.h - contexts on the faulty device, and a tensor that is computed on it. */
#ifndef TERN_TESTS_DEVICES_FAULTY_CONTEXTS_H
#define TERN_TESTS_DEVICES_FAULTY_CONTEXTS_H

#include <tern/tern.h>

#include "faulty.h"
#include "harness.h"

static inline tern_ctx *open_with(tern_ctx_options options)
{
    tern_ctx *ctx = NULL;
    options.device = "faulty";
    options.tuning = "off";
    options.threads =
        options.threads ? options.threads : 1; /* nothing here is worth sharing, unless it says so */
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

static inline tern_ctx *open_context(bool fallback)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.fallback = fallback;
    return open_with(options);
}

static inline tern_ctx *open_checked(bool fallback)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.fallback = fallback;
    options.check = true;
    return open_with(options);
}

static const float numbers[4] = {1, 4, 9, 16};

static inline tern_tensor *roots(tern_ctx *ctx)
{
    return tern_sqrt(tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, numbers));
}

static inline void check_roots(tern_tensor *t)
{
    CHECK_OK(tern_eval(t));
    const float *data = tern_data_f32(t);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR((double)data[i], i + 1, 0);
}

#endif
