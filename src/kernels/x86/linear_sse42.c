/* linear_sse42.c - products with widened weights without fused multiply-adds: products and sums are rounded one after the
 * other, as in gemm_sse42.c. Widening is exact all the same: products of scales and codes fit f32. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef __m128 vec;
typedef __m128i ivec;

/* Four f16. The exponent is moved by a multiplication, so that subnormals come out right. */
static inline __attribute__((always_inline)) __m128 halves(const void *p)
{
    const __m128i h = _mm_cvtepu16_epi32(_mm_loadl_epi64(p));
    const __m128i magnitude = _mm_and_si128(h, _mm_set1_epi32(0x7fff));
    const __m128i sign = _mm_slli_epi32(_mm_andnot_si128(_mm_set1_epi32(0x7fff), h), 16);
    const __m128 finite = _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(magnitude, 13)),
                                     _mm_castsi128_ps(_mm_set1_epi32(239 << 23)));
    const __m128i special =
        _mm_and_si128(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff)), _mm_set1_epi32(0x7f800000));
    return _mm_or_ps(_mm_or_ps(finite, _mm_castsi128_ps(special)), _mm_castsi128_ps(sign));
}

static inline __attribute__((always_inline)) __m128i four_bytes(const void *p)
{
    int32_t bytes;
    memcpy(&bytes, p, 4);
    return _mm_cvtsi32_si128(bytes);
}

#define WIDTH 4
#define V_LOAD(p) _mm_loadu_ps(p)
#define V_STORE(p, x) _mm_storeu_ps(p, x)
#define V_SET1(p) _mm_set1_ps(*(p))
#define V_ZERO() _mm_setzero_ps()
#define V_NUMBER(c) _mm_set1_ps(c)
#define I_NUMBER(c) _mm_set1_epi32(c)
#define FUSED 0
#define V_MULTIPLY_ADD(a, b, c) _mm_add_ps(c, _mm_mul_ps(a, b))
#define V_SCALE(s, c, m, n) ((void)(c), V_MULTIPLY_ADD(s, _mm_sub_ps(m, V_NUMBER(n)), V_ZERO()))
#define V_HALVES(p) halves(p)
#define V_BRAINS(p) \
    V_OF(_mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p))), 16))
#define V_SIGNED(p) V_FROM(_mm_cvtepi8_epi32(four_bytes(p)))
#define I_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define V_FROM(x) _mm_cvtepi32_ps(x)
#define V_OF(x) _mm_castsi128_ps(x)
#define V_OF_SIGNED(x) V_FROM(x)
#define I_AND(a, b) _mm_and_si128(a, b)
#define I_OR(a, b) _mm_or_si128(a, b)
#define I_LEFT(x, n) _mm_slli_epi32(x, n)
#define I_RIGHT(x, n) _mm_srli_epi32(x, n)
#define I_ENDS(x, n) I_LEFT(_mm_shuffle_epi8(x, HALVES_SWAPPED), (n)-15)
#define HALVES_SWAPPED _mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define I_PUT(x, mask, to) I_OR(I_AND(x, mask), to)
#define V_NIBBLE(x) V_FROM(I_AND(x, I_NUMBER(15)))
#define VECTORS 4
#define MOST_ROWS 2
#define MANY(columns) 16
#define MOST_TILES 1
#define TOGETHER(columns) MOST_TILES
#define EACH_ROWS(M, name) M(name, 1) M(name, 2)
#include "kernels/linear/widen_impl.h"

TERN__LINEAR_KERNEL(sse42)
