/* own_memory.h - for tests of the OpenCL device: as if it had memory of its own. */
#ifndef TERN_TESTS_OWN_MEMORY_H
#define TERN_TESTS_OWN_MEMORY_H

#include <tern/context.h>

#include "devices/opencl/opencl.h"
#include "runtime/context.h"

#if TERN_HAVE_OPENCL

/* A context whose device has memory of its own, whatever it really has. */
static inline tern_ctx *with_own_memory(size_t most)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = "opencl";
    options.device_memory = most;
    if (tern_ctx_create(&options, &ctx) != TERN_OK)
        return NULL;
    ctx->device->in_place = false;
    return ctx;
}

#endif
#endif
