/* ternary_t5_avx512vbmi.c - form 5 on AVX-512 VNNI and VBMI: six instructions unpack 320 weights.
 *
 * A packed byte is v = 84*c4 + 28*c3 + 9*c2 + 3*c1 + c0. 84 and 28 are multiples of 4 and the rest is
 * below 28, so v / 4, a 6-bit index for vpermb, tells upper = 84*c4 + 28*c3, and v - upper, below 27, is
 * an index for c2 and c1. The planes are v, upper, c4, c2 and c1; the other sums follow from
 *
 *     upper - 84*c4 = 28*c3          v - upper - 9*c2 - 3*c1 = c0
 *
 * The sum of upper must fit 32 bits, 224 * 128 for each column: up to 74,898 columns in one call; the
 * loops outside stop at 65,536. The sum of v may wrap. */
#define PLANES 5
#include "kernels/x86/ternary_dot512.h"

/* Lookups of v / 4 (upper, c4) and of v - upper (c2, c1). */
/* clang-format off */
#define SAME7(x) x, x, x, x, x, x, x
#define SAME9(x) x, x, x, x, x, x, x, x, x
#define UPPER(c4) SAME7(84 * c4), SAME7(84 * c4 + 28), SAME7(84 * c4 + 56)
static const uint8_t upper_of[64] __attribute__((aligned(64))) = {UPPER(0), UPPER(1), UPPER(2)};
static const uint8_t c4_of[64] __attribute__((aligned(64))) = {
    SAME7(0), SAME7(0), SAME7(0), SAME7(1), SAME7(1), SAME7(1), SAME7(2), SAME7(2), SAME7(2)};
static const uint8_t c2_of[64] __attribute__((aligned(64))) = {SAME9(0), SAME9(1), SAME9(2)};
#define DIGIT1 0, 0, 0, 1, 1, 1, 2, 2, 2
static const uint8_t c1_of[64] __attribute__((aligned(64))) = {DIGIT1, DIGIT1, DIGIT1};
/* clang-format on */

INLINE planes decode(__m512i packed)
{
    /* The permutes look at 6 bits only, so what the shift drags in from the next byte does not matter. */
    const __m512i quarter = _mm512_srli_epi16(packed, 2);
    const __m512i upper = _mm512_permutexvar_epi8(quarter, _mm512_load_si512(upper_of));
    const __m512i lower = _mm512_sub_epi8(packed, upper);
    return (planes){packed, upper, _mm512_permutexvar_epi8(quarter, _mm512_load_si512(c4_of)),
                    _mm512_permutexvar_epi8(lower, _mm512_load_si512(c2_of)),
                    _mm512_permutexvar_epi8(lower, _mm512_load_si512(c1_of))};
}

INLINE planes settle(planes sums)
{
    const __m512i v = sums.a, upper = sums.b, s4 = sums.c, s2 = sums.d, s1 = sums.e;
    const __m512i s3_times_28 = _mm512_sub_epi32(upper, _mm512_mullo_epi32(s4, _mm512_set1_epi32(84)));
    /* Exact division by 28: shift out the 4, multiply by the inverse of 7 modulo 2^32. */
    const __m512i s3 =
        _mm512_mullo_epi32(_mm512_srai_epi32(s3_times_28, 2), _mm512_set1_epi32((int)0xb6db6db7u));
    const __m512i rest = _mm512_add_epi32(_mm512_mullo_epi32(s2, _mm512_set1_epi32(9)),
                                          _mm512_mullo_epi32(s1, _mm512_set1_epi32(3)));
    return (planes){_mm512_sub_epi32(_mm512_sub_epi32(v, upper), rest), s1, s2, s3, s4};
}

#include "kernels/x86/ternary_dot512_loops.h"

const tern__ternary_kernel tern__ternary_t5__avx512vbmi = {
    .form = TERN__TERNARY_5,
    .preferred = true,
    .direct_limit = 2 * PAIRED,
    .direct_batch = PAIRED,
    .multiply_batch = GROUP,
    .direct_quads = DIRECT_QUADS,
    .panel_quads = 100,
    .raw_quads = DIRECT_QUADS,
    .direct = direct,
    .unpack = unpack,
    .multiply = multiply,
    .add_scaled = add_scaled,
};
