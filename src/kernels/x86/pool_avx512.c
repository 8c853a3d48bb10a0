/* pool_avx512.c - the inner loops of pools on AVX-512. Rows of results are short, so that what is left after whole vectors counts
 * as much as they do: masks, no loop for the rest. */
#include <immintrin.h>
#include <math.h>

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

/* ---- whole windows ---- */

/* Elements of one column of the windows, and of the next one: 16 windows, two apart. */
typedef struct two {
    __m512 even, odd;
} two;

/* The first n of 32 elements, which may be as few as one. */
static inline __mmask32 first_elements(int64_t n)
{
    return n >= 32 ? 0xffffffffu : (1u << n) - 1;
}

static inline __m512 widen(__m256i x, tern_dtype dtype)
{
    return dtype == TERN_F16 ? _mm512_cvtph_ps(x)
                             : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

/* n elements, at most 16, that follow each other. */
static inline __m512 load_run(const char *x, tern_dtype dtype, int64_t n)
{
    return dtype == TERN_F32 ? _mm512_maskz_loadu_ps(first_lanes(n), x)
                             : widen(_mm256_maskz_loadu_epi16(first_lanes(n), x), dtype);
}

/* n elements, at most 32: those with even and those with odd numbers. */
static inline two load_two(const char *x, tern_dtype dtype, int64_t n)
{
    const __mmask32 there = first_elements(n);
    if (dtype == TERN_F32) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        const __m512 low = _mm512_maskz_loadu_ps((__mmask16)there, x),
                     high = _mm512_maskz_loadu_ps((__mmask16)(there >> 16), x + 64);
        return (two){_mm512_permutex2var_ps(low, even, high), _mm512_permutex2var_ps(low, odd, high)};
    }
    const __m512i pairs = _mm512_maskz_loadu_epi16(there, x);
    if (dtype == TERN_F16)
        return (two){_mm512_cvtph_ps(_mm512_cvtepi32_epi16(pairs)),
                     _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pairs, 16)))};
    return (two){_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)),
                 _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int32_t)0xffff0000)))};
}

/* What was there stays unless the other is greater, or the first NaN. */
static inline __m512 keep_larger(__m512 was, __m512 now)
{
    const __mmask16 keep =
        (__mmask16)(_mm512_cmp_ps_mask(now, was, _CMP_LE_OQ) | _mm512_cmp_ps_mask(was, was, _CMP_UNORD_Q));
    return _mm512_mask_blend_ps(keep, now, was);
}

/* What was a bf16: nothing is rounded, but a NaN becomes quiet, as it does wherever one is stored. */
static inline __m256i narrow_bf16(__m512 x)
{
    const __m512i bits = _mm512_castps_si512(x);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(
        _mm512_srli_epi32(_mm512_mask_or_epi32(bits, nan, bits, _mm512_set1_epi32(0x00400000)), 16));
}

static inline void store_run(char *y, tern_dtype dtype, __m512 x, int64_t n)
{
    const __mmask16 lanes = first_lanes(n);
    if (dtype == TERN_F32)
        _mm512_mask_storeu_ps(y, lanes, x);
    else if (dtype == TERN_F16)
        _mm256_mask_storeu_epi16(y, lanes, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    else
        _mm256_mask_storeu_epi16(y, lanes, narrow_bf16(x));
}

static inline __attribute__((always_inline)) void largest_of_type(char *restrict y, const char *restrict x,
                                                                  tern_dtype dtype, int64_t row, int64_t rows,
                                                                  int64_t columns, int64_t stride, int64_t n)
{
    const int64_t bytes = dtype == TERN_F32 ? 4 : 2;
    for (int64_t i = 0; i < n; i += 16) {
        const int64_t count = n - i < 16 ? n - i : 16;
        __m512 best = _mm512_set1_ps(-INFINITY);
        for (int64_t r = 0; r < rows; r++) {
            const char *from = x + (r * row + i * stride) * bytes;
            for (int64_t c = 0; c < columns; c += stride, from += stride * bytes) {
                if (stride == 1) {
                    best = keep_larger(best, load_run(from, dtype, count));
                    continue;
                }
                const bool both = c + 1 < columns;
                const two t = load_two(from, dtype, 2 * count - !both);
                best = keep_larger(best, t.even);
                if (both)
                    best = keep_larger(best, t.odd);
            }
        }
        store_run(y + i * bytes, dtype, best, count);
    }
}

static void largest(void *restrict y, const void *restrict x, tern_dtype dtype, int64_t row, int64_t rows,
                    int64_t columns, int64_t stride, int64_t n)
{
    if (dtype == TERN_F32)
        largest_of_type(y, x, TERN_F32, row, rows, columns, stride, n);
    else if (dtype == TERN_F16)
        largest_of_type(y, x, TERN_F16, row, rows, columns, stride, n);
    else
        largest_of_type(y, x, TERN_BF16, row, rows, columns, stride, n);
}

const tern__pool_kernel tern__pool__avx512 = {
    .take_largest = take_largest_masked, .take_sum = take_sum_masked, .largest = largest};
