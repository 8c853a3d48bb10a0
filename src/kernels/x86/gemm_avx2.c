/* gemm_avx2.c - f32 products on AVX2 with FMA: 6 x 16 sums in 12 of the 16 registers. */
#include <immintrin.h>
#include <stdint.h>

typedef __m256 vec;
#define WIDTH 8
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, x) _mm256_storeu_ps(p, x)
#define V_SET1(p) _mm256_broadcast_ss(p)
#define V_ZERO() _mm256_setzero_ps()
#define FUSED 1
#define V_MULTIPLY_ADD(a, b, c) multiply_add(a, b, c)
#define V_LOAD_F16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define ROWS 6
#define VECTORS 2
#define EACH_ROWS(M, v) ROWS_6(M, v)
#define EACH_LOW_TILE(M) EACH_ROWS(M, 1) EACH_ROWS(M, 2)
#define EACH_TILE(M) ROWS_12(M, 1) ROWS_6(M, 2)
#define TALLEST \
    {           \
        12, 6   \
    }
#define WIDE_ROWS 2
#define EACH_WIDE(M) M(1) M(2)

/* Always the form that writes over the sum: of the three there are gcc 12 takes also those that write over a factor, and then
 * copies and spills to get it back. */
static inline __attribute__((always_inline)) __m256 multiply_add(__m256 a, __m256 b, __m256 sum)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    return sum;
}

/* Eight lanes of eight elements each, across: pairs, fours, then halves of vectors change places. */
#define V_TRANSPOSE(from, lane, to) transpose(from, lane, to)
static inline __attribute__((always_inline)) void transpose(const float *from, int64_t lane, __m256 *to)
{
    __m256 r[8], t[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        r[i] = _mm256_loadu_ps(from + i * lane);
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        to[j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x20);
        to[4 + j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x31);
    }
}

#include "kernels/gemm/tile_impl.h"

TERN__GEMM_KERNEL(avx2)
