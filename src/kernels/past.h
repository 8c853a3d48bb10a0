/* past.h - when results are stored past the caches: one rule for all kernels that can. */
#ifndef TERN_KERNELS_PAST_H
#define TERN_KERNELS_PAST_H

#include "base/cpu.h"

/* Results of more bytes gain from it: they leave even the outermost cache half full. */
static inline int64_t tern__past_bytes(const tern__cpu_info *cpu)
{
    const int64_t l2 = cpu->l2_bytes * 8, l3 = cpu->l3_bytes / 2, least = 16 << 20;
    return l3 > l2 ? l3 : l2 > least ? l2 : least;
}

#endif
