/* topk_sse42.c - topk's look ahead on SSE. */
#include <nmmintrin.h>

#include "kernels/sort/sort.h"

#define FIND(name, better)                                                   \
    static int64_t name(const float *x, int64_t i, int64_t n, float bar)     \
    {                                                                        \
        const __m128 bars = _mm_set1_ps(bar);                                \
        for (; i + TERN__TOPK_BLOCK <= n; i += TERN__TOPK_BLOCK) {           \
            __m128 any = _mm_setzero_ps();                                   \
            for (int j = 0; j < TERN__TOPK_BLOCK; j += 4)                    \
                any = _mm_or_ps(any, better(_mm_loadu_ps(x + i + j), bars)); \
            if (_mm_movemask_ps(any))                                        \
                break;                                                       \
        }                                                                    \
        return i;                                                            \
    }
/* Also where either is NaN. */
FIND(find_above, _mm_cmpnle_ps)
FIND(find_below, _mm_cmpnge_ps)

static int64_t find(const float *x, int64_t i, int64_t n, float bar, bool below)
{
    return below ? find_below(x, i, n, bar) : find_above(x, i, n, bar);
}

const tern__topk_kernel tern__topk_f32__sse42 = {.find = find};
