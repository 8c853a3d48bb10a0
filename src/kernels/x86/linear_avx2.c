/* linear_avx2.c - products with widened weights on AVX2 with FMA and F16C: a tile is four vectors. */
#include <immintrin.h>
#include <stdint.h>

typedef __m256 vec;
typedef __m256i ivec;

/* s * m + *c, from memory: there are more of them than registers, and gcc 12 would rather put sums there, which every product waits
 * for. */
static inline __attribute__((always_inline)) __m256 scale_from(__m256 s, __m256 m, const __m256 *c)
{
    __asm__("vfmadd213ps %2, %1, %0" : "+x"(m) : "x"(s), "m"(*c));
    return m;
}

#define WIDTH 8
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, x) _mm256_storeu_ps(p, x)
#define V_SET1(p) _mm256_broadcast_ss(p)
#define V_ZERO() _mm256_setzero_ps()
#define V_NUMBER(c) _mm256_set1_ps(c)
#define I_NUMBER(c) _mm256_set1_epi32(c)
#define FUSED 1
#define V_MULTIPLY_ADD(a, b, c) _mm256_fmadd_ps(a, b, c)
#define V_SCALE(s, c, m, n) ((void)(n), _mm256_fmadd_ps(s, m, c))
#define V_SCALE_FROM(s, c, m, n) ((void)(n), scale_from(s, m, &(c)))
#define LOAD_8(p) _mm_loadl_epi64((const __m128i *)(const void *)(p))
#define LOAD_16(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define V_HALVES(p) _mm256_cvtph_ps(LOAD_16(p))
#define V_BRAINS(p) V_OF(_mm256_slli_epi32(_mm256_cvtepu16_epi32(LOAD_16(p)), 16))
#define V_SIGNED(p) V_FROM(_mm256_cvtepi8_epi32(LOAD_8(p)))
#define I_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define V_FROM(x) _mm256_cvtepi32_ps(x)
#define V_OF(x) _mm256_castsi256_ps(x)
#define V_OF_SIGNED(x) V_FROM(x)
#define I_AND(a, b) _mm256_and_si256(a, b)
#define I_OR(a, b) _mm256_or_si256(a, b)
#define I_LEFT(x, n) _mm256_slli_epi32(x, n)
#define I_RIGHT(x, n) _mm256_srli_epi32(x, n)
#define I_ENDS(x, n) I_LEFT(_mm256_shuffle_epi8(x, HALVES_SWAPPED), (n)-15)
#define HALVES_SWAPPED \
    _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13))
#define I_PUT(x, mask, to) I_OR(I_AND(x, mask), to)
#define V_NIBBLE(x) V_FROM(I_AND(x, I_NUMBER(15)))
#define VECTORS 4
#define MOST_ROWS 2
#define MANY(columns) ((columns) > 1 ? 6 : 16)
#define MOST_TILES 1
#define TOGETHER(columns) MOST_TILES
#define EACH_ROWS(M, name) M(name, 1) M(name, 2)
#include "kernels/linear/widen_impl.h"

TERN__LINEAR_KERNEL(avx2)
