/* one_stream.h - all ways to walk through memory, on every processor: what was detected of this one is no constant. */
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

/* For one that likes one stream and runs operations of 512 bits whole. */
static inline void pretend_whole_512(void)
{
    tern__cpu_info *cpu = (tern__cpu_info *)(uintptr_t)tern__cpu();
    cpu->features |= 1u << TERN__FEATURE_ONE_STREAM | 1u << TERN__FEATURE_WHOLE_512;
}

/* From now on kernels cut their work for caches of these sizes; 0: unknown. */
static inline void pretend_caches(int64_t l1d_bytes, int64_t l2_bytes, int64_t l3_bytes)
{
    tern__cpu_info *cpu = (tern__cpu_info *)(uintptr_t)tern__cpu();
    cpu->l1d_bytes = l1d_bytes;
    cpu->l2_bytes = l2_bytes;
    cpu->l3_bytes = l3_bytes;
}

#endif
