/* topk_avx2.c - topk's look ahead on AVX2. */
#include <immintrin.h>

#include "kernels/sort/sort.h"

#define FIND(name, predicate)                                                                        \
    static int64_t name(const float *x, int64_t i, int64_t n, float bar)                             \
    {                                                                                                \
        const __m256 bars = _mm256_set1_ps(bar);                                                     \
        for (; i + TERN__TOPK_BLOCK <= n; i += TERN__TOPK_BLOCK) {                                   \
            __m256 any = _mm256_setzero_ps();                                                        \
            for (int j = 0; j < TERN__TOPK_BLOCK; j += 8)                                            \
                any = _mm256_or_ps(any, _mm256_cmp_ps(_mm256_loadu_ps(x + i + j), bars, predicate)); \
            if (_mm256_movemask_ps(any))                                                             \
                break;                                                                               \
        }                                                                                            \
        return i;                                                                                    \
    }
FIND(find_above, _CMP_NLE_UQ)
FIND(find_below, _CMP_NGE_UQ)

static int64_t find(const float *x, int64_t i, int64_t n, float bar, bool below)
{
    return below ? find_below(x, i, n, bar) : find_above(x, i, n, bar);
}

const tern__topk_kernel tern__topk_f32__avx2 = {.find = find};
