/* pool_avx512.c - the inner loops of pools on AVX-512. Rows of results are short, so that what is left after whole vectors counts
 * as much as they do: masks, no loop for the rest. */
#include <immintrin.h>

#include "kernels/pool/pool_impl.h"

static inline __mmask16 first_lanes(int64_t n)
{
    return (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1);
}

/* n elements, at most 16, two apart; nothing behind the last is read. */
static inline __m512 load_pairs(const float *x, int64_t n)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const uint32_t all = n >= 16 ? 0x7fffffffu : (1u << (2 * n - 1)) - 1;
    const __m512 low = _mm512_maskz_loadu_ps((__mmask16)all, x);
    const __m512 high = _mm512_maskz_loadu_ps((__mmask16)(all >> 16), x + 16);
    return _mm512_permutex2var_ps(low, even, high);
}

static inline __m512 load_lanes(const float *x, int64_t step, int64_t n)
{
    return step == 1 ? _mm512_maskz_loadu_ps(first_lanes(n), x) : load_pairs(x, n);
}

static void take_largest_masked(float *restrict to, const float *restrict x, int64_t step, int64_t n)
{
    if (step != 1 && step != 2) {
        take_largest(to, x, step, n);
        return;
    }
    for (int64_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = first_lanes(n - i);
        const __m512 was = _mm512_maskz_loadu_ps(lanes, to + i), now = load_lanes(x + i * step, step, n - i);
        const __mmask16 keep = (__mmask16)(_mm512_cmp_ps_mask(now, was, _CMP_LE_OQ) |
                                           _mm512_cmp_ps_mask(was, was, _CMP_UNORD_Q));
        _mm512_mask_storeu_ps(to + i, lanes, _mm512_mask_blend_ps(keep, now, was));
    }
}

static void take_sum_masked(double *restrict to, const float *restrict x, int64_t step, int64_t n)
{
    if (step != 1 && step != 2) {
        take_sum(to, x, step, n);
        return;
    }
    for (int64_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = first_lanes(n - i);
        const __mmask8 low = (__mmask8)lanes, high = (__mmask8)(lanes >> 8);
        const __m512 now = load_lanes(x + i * step, step, n - i);
        const __m512d a = _mm512_cvtps_pd(_mm512_castps512_ps256(now));
        const __m512d b = _mm512_cvtps_pd(_mm512_extractf32x8_ps(now, 1));
        _mm512_mask_storeu_pd(to + i, low, _mm512_add_pd(_mm512_maskz_loadu_pd(low, to + i), a));
        _mm512_mask_storeu_pd(to + i + 8, high, _mm512_add_pd(_mm512_maskz_loadu_pd(high, to + i + 8), b));
    }
}

const tern__pool_kernel tern__pool__avx512 = {.take_largest = take_largest_masked,
                                              .take_sum = take_sum_masked};
