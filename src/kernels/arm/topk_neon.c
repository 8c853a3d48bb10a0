/* topk_neon.c - topk's look ahead on Advanced SIMD. */
#include <arm_neon.h>

#include "kernels/sort/sort.h"

#define FIND(name, not_better)                                                \
    static int64_t name(const float *x, int64_t i, int64_t n, float bar)      \
    {                                                                         \
        const float32x4_t bars = vdupq_n_f32(bar);                            \
        for (; i + TERN__TOPK_BLOCK <= n; i += TERN__TOPK_BLOCK) {            \
            uint32x4_t all = vdupq_n_u32(UINT32_MAX);                         \
            for (int j = 0; j < TERN__TOPK_BLOCK; j += 4)                     \
                all = vandq_u32(all, not_better(vld1q_f32(x + i + j), bars)); \
            if (vminvq_u32(all) == 0)                                         \
                break;                                                        \
        }                                                                     \
        return i;                                                             \
    }
FIND(find_above, vcleq_f32)
FIND(find_below, vcgeq_f32)

static int64_t find(const float *x, int64_t i, int64_t n, float bar, bool below)
{
    return below ? find_below(x, i, n, bar) : find_above(x, i, n, bar);
}

const tern__topk_kernel tern__topk_f32__neon = {.find = find};
