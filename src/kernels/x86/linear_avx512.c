/* linear_avx512.c - products with widened weights on AVX-512: a tile is two vectors. */
#include <immintrin.h>
#include <stdint.h>

typedef __m512 vec;
typedef __m512i ivec;
#define WIDTH 16
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, x) _mm512_storeu_ps(p, x)
#define V_SET1(p) _mm512_set1_ps(*(p))
#define V_ZERO() _mm512_setzero_ps()
#define V_NUMBER(c) _mm512_set1_ps(c)
#define I_NUMBER(c) _mm512_set1_epi32(c)
#define FUSED 1
#define V_MULTIPLY_ADD(a, b, c) _mm512_fmadd_ps(a, b, c)
#define V_MULTIPLY_ADD_AT(p, b, c) multiply_add_at(p, b, c)
#define V_SCALE(s, c, m, n) ((void)(n), _mm512_fmadd_ps(s, m, c))
#define LOAD_16(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define LOAD_32(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define V_HALVES(p) _mm512_cvtph_ps(LOAD_32(p))
#define V_BRAINS(p) V_OF(_mm512_slli_epi32(_mm512_cvtepu16_epi32(LOAD_32(p)), 16))
#define V_SIGNED(p) _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(LOAD_16(p)))
#define I_LOAD(p) _mm512_loadu_si512(p)
#define V_OF(x) _mm512_castsi512_ps(x)
#define V_OF_SIGNED(x) _mm512_cvtepi32_ps(x)
#define I_AND(a, b) _mm512_and_si512(a, b)
#define I_ADD(a, b) _mm512_add_epi32(a, b)
#if defined(TERN_DEBUG) /* nothing is unrolled: amounts are no constants */
#define I_LEFT(x, n) _mm512_sllv_epi32(x, I_NUMBER(n))
#define I_RIGHT(x, n) _mm512_srlv_epi32(x, I_NUMBER(n))
#else
#define I_LEFT(x, n) _mm512_slli_epi32(x, (unsigned)(n))
#define I_RIGHT(x, n) _mm512_srli_epi32(x, (unsigned)(n))
#endif
#define I_ENDS(x, n) _mm512_rol_epi32(x, (n) + 1)
#define I_PUT(x, mask, to) _mm512_ternarylogic_epi32(x, mask, to, 0xea)
/* A permute looks at the low four bits of an index only: the sixteen numbers are its table. */
#define V_NIBBLE(x) \
    _mm512_permutexvar_ps(x, _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))

/* A compiler would spread *p once for all that use it, which takes a pipe; as an operand of each it takes none. */
static inline __attribute__((always_inline)) vec multiply_add_at(const float *p, vec b, vec c)
{
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(b), "m"(*p));
    return c;
}

#define VECTORS 2
#define MOST_ROWS 8
#define MANY(columns) 16
#define MOST_TILES 2
/* Two tiles keep more sums apart. 16 bits are bound by memory with one as well, and half as much waits in the caches. */
#define TOGETHER(columns) ((columns) == 1 ? 1 : MOST_TILES)
#define EACH_ROWS(M, name) \
    M(name, 1) M(name, 2) M(name, 3) M(name, 4) M(name, 5) M(name, 6) M(name, 7) M(name, 8)
#include "kernels/linear/widen_impl.h"

TERN__LINEAR_KERNEL(avx512)
