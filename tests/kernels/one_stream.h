/* one_stream.h - both ways to walk through memory and to unpack, on every processor: what was detected of this one is no constant. */
#ifndef TERN_TESTS_ONE_STREAM_H
#define TERN_TESTS_ONE_STREAM_H

#include <stdint.h>

#include "base/cpu.h"

/* From now on kernels take this for a processor with the feature, or for one without it. */
static inline void pretend(tern__feature feature, bool there)
{
    tern__cpu_info *cpu = (tern__cpu_info *)(uintptr_t)tern__cpu();
    const uint32_t bit = 1u << feature;
    cpu->features = there ? cpu->features | bit : cpu->features & ~bit;
}

static inline void pretend_one_stream(bool likes)
{
    pretend(TERN__FEATURE_ONE_STREAM, likes);
}

static inline void pretend_four_pipes(bool there)
{
    pretend(TERN__FEATURE_FOUR_PIPES, there);
}

#endif
