/* ternary_t5_avx512vnni.c - form 5 on AVX-512 VNNI without VBMI (Cascade Lake, Cooper Lake): 14
 * instructions unpack 320 weights.
 *
 * As ternary_t5_avx512vbmi.c, but what is looked up must fit 16 entries: v / 28, a number below 9, comes
 * from multiplications of even and odd bytes, and c2 and c1 of the rest below 27 from two tables. */
#define PLANES 5
#include "kernels/x86/ternary_dot512.h"
#include "kernels/x86/ternary_digits.h"

INLINE __m512i lookup(const uint8_t *table, __m512i index)
{
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_load_si128((const void *)table)), index);
}

INLINE planes decode(__m512i packed)
{
    const __m512i upper_bytes = _mm512_set1_epi16((short)0xff00), times = _mm512_set1_epi16(BY_28);
    const __m512i even = _mm512_mulhi_epu16(_mm512_andnot_si512(upper_bytes, packed), times);
    const __m512i odd = _mm512_mulhi_epu16(packed, times);
    /* (odd & upper_bytes) | even in one instruction */
    const __m512i by_28 = _mm512_ternarylogic_epi32(odd, upper_bytes, even, 0xea);
    const __m512i upper = lookup(upper_of, by_28), lower = _mm512_sub_epi8(packed, upper);
    /* An index with its highest bit set looks up 0: of the two tables one is always silent. */
    const __m512i low = lookup(digits_of, _mm512_adds_epu8(lower, _mm512_set1_epi8(0x70)));
    const __m512i high = lookup(digits_of + 16, _mm512_sub_epi8(lower, _mm512_set1_epi8(16)));
    const __m512i digits = _mm512_or_si512(low, high);
    return (planes){packed, upper, lookup(c4_of, by_28), _mm512_and_si512(digits, _mm512_set1_epi8(0x30)),
                    _mm512_and_si512(digits, _mm512_set1_epi8(0x0c))};
}

INLINE planes settle(planes sums)
{
    const __m512i v = sums.a, upper = sums.b, s4 = sums.c;
    const __m512i s2 = _mm512_srai_epi32(sums.d, 4), s1 = _mm512_srai_epi32(sums.e, 2);
    const __m512i s3_times_28 = _mm512_sub_epi32(upper, _mm512_mullo_epi32(s4, _mm512_set1_epi32(84)));
    /* Exact division by 28: shift out the 4, multiply by the inverse of 7 modulo 2^32. */
    const __m512i s3 =
        _mm512_mullo_epi32(_mm512_srai_epi32(s3_times_28, 2), _mm512_set1_epi32((int)0xb6db6db7u));
    const __m512i rest = _mm512_add_epi32(_mm512_mullo_epi32(s2, _mm512_set1_epi32(9)),
                                          _mm512_mullo_epi32(s1, _mm512_set1_epi32(3)));
    return (planes){_mm512_sub_epi32(_mm512_sub_epi32(v, upper), rest), s1, s2, s3, s4};
}

#include "kernels/x86/ternary_dot512_loops.h"

const tern__ternary_kernel tern__ternary_t5__avx512vnni = {
    .form = TERN__TERNARY_5,
    .direct_limit = PAIRED,
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
