/* topk_avx512.c - topk's look ahead on AVX-512. */
#include <immintrin.h>

#include "kernels/sort/sort.h"

#if defined(__GNUC__) && !defined(__OPTIMIZE__)
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

#define FIND(name, predicate)                                                                     \
    static int64_t name(const float *x, int64_t i, int64_t n, float bar)                          \
    {                                                                                             \
        const __m512 bars = _mm512_set1_ps(bar);                                                  \
        for (; i + TERN__TOPK_BLOCK <= n; i += TERN__TOPK_BLOCK) {                                \
            const __mmask16 a = _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), bars, predicate);      \
            const __mmask16 b = _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i + 16), bars, predicate); \
            const __mmask16 c = _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i + 32), bars, predicate); \
            const __mmask16 d = _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i + 48), bars, predicate); \
            if (a | b | c | d)                                                                    \
                break;                                                                            \
        }                                                                                         \
        return i;                                                                                 \
    }
FIND(find_above, _CMP_NLE_UQ)
FIND(find_below, _CMP_NGE_UQ)

static int64_t find(const float *x, int64_t i, int64_t n, float bar, bool below)
{
    return below ? find_below(x, i, n, bar) : find_above(x, i, n, bar);
}

const tern__topk_kernel tern__topk_f32__avx512 = {.find = find};
