/* one_stream.h - both ways to walk through memory, on every processor: what was detected of this one is no constant. */
#ifndef TERN_TESTS_ONE_STREAM_H
#define TERN_TESTS_ONE_STREAM_H

#include <stdint.h>

#include "base/cpu.h"

/* From now on kernels take this for a processor that likes one stream of memory best, and has nothing that makes exceptions of it,
 * or for one that does not. */
static inline void pretend_one_stream(bool likes)
{
    tern__cpu_info *cpu = (tern__cpu_info *)(uintptr_t)tern__cpu();
    const uint32_t bit = 1u << TERN__FEATURE_ONE_STREAM;
    cpu->features &= ~(1u << TERN__FEATURE_WHOLE_512);
    cpu->features = likes ? cpu->features | bit : cpu->features & ~bit;
}

#endif
