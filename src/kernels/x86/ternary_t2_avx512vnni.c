/* ternary_t2_avx512vnni.c - form 4 on AVX-512 VNNI: three ANDs unpack 256 weights.
 *
 * The planes keep the places of their bits, scaled by 1, 4, 16 and 64, and the first one is the packed
 * byte itself: its sum minus the three others is the sum of code 0, modulo 2^32. The scaled sums
 * themselves must fit: 128 * 128 for each column, so up to 131,071 columns in one call; the loops outside
 * stop at 65,536. */
#define PLANES 4
#include "kernels/x86/ternary_dot512.h"

INLINE planes decode(__m512i packed)
{
    return (planes){packed, _mm512_and_si512(packed, _mm512_set1_epi8(0x0c)),
                    _mm512_and_si512(packed, _mm512_set1_epi8(0x30)),
                    _mm512_and_si512(packed, _mm512_set1_epi8((char)0xc0)), packed};
}

INLINE planes settle(planes sums)
{
    const __m512i others = _mm512_add_epi32(_mm512_add_epi32(sums.b, sums.c), sums.d);
    return (planes){_mm512_sub_epi32(sums.a, others), _mm512_srai_epi32(sums.b, 2),
                    _mm512_srai_epi32(sums.c, 4), _mm512_srai_epi32(sums.d, 6), others};
}

#include "kernels/x86/ternary_dot512_loops.h"

const tern__ternary_kernel tern__ternary_t2__avx512vnni = {
    .form = TERN__TERNARY_4,
    .direct_limit = 24,
    .direct_batch = PAIRED,
    .multiply_batch = GROUP,
    .direct_quads = DIRECT_QUADS,
    .panel_quads = 128,
    .raw_quads = DIRECT_QUADS,
    .direct = direct,
    .unpack = unpack,
    .multiply = multiply,
    .add_scaled = add_scaled,
};
