/* gemm_avx512.c - f32 products on AVX-512: 6 x 64 sums in 24 of the 32 registers. */
#include <immintrin.h>
#include <stdint.h>

typedef __m512 vec;
#define WIDTH 16
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, x) _mm512_storeu_ps(p, x)
#define V_SET1(p) _mm512_set1_ps(*(p))
#define V_ZERO() _mm512_setzero_ps()
#define FUSED 1
#define V_MULTIPLY_ADD(a, b, c) multiply_add(a, b, c)
#define ROWS 6
#define VECTORS 4
#define EACH_ROWS(M, v) ROWS_6(M, v)
#define EACH_LOW_TILE(M) EACH_ROWS(M, 1) EACH_ROWS(M, 2) EACH_ROWS(M, 3) EACH_ROWS(M, 4)
#define EACH_TILE(M) ROWS_16(M, 1) ROWS_12(M, 2) ROWS_8(M, 3) ROWS_6(M, 4)
#define TALLEST      \
    {                \
        16, 12, 8, 6 \
    }
#define WIDE_ROWS 3
#define EACH_WIDE(M) M(1) M(2) M(3)

/* Always the form that writes over the sum: of the three there are gcc 12 takes also those that write over a factor, and then
 * copies and spills to get it back. Factors in the same order as below, so that of two NaN it is the same one that goes on. */
static inline __attribute__((always_inline)) __m512 multiply_add(__m512 a, __m512 b, __m512 sum)
{
    __asm__("vfmadd231ps %1, %2, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}

/* With a number from memory. Zen 4 spreads one over a register on the pipes that multiply-adds need, unless the multiply-add does it: 16 x 16 x 16
 * takes 71 ns instead of 93. */
#define V_MULTIPLY_ADD_AT(p, b, c) multiply_add_at(p, b, c)
static inline __attribute__((always_inline)) __m512 multiply_add_at(const float *a, __m512 b, __m512 sum)
{
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(b), "m"(*a));
    return sum;
}

typedef __mmask16 part;
#define PART(n) (__mmask16)((1u << (n)) - 1)
#define V_LOAD_PART(p, part) _mm512_maskz_loadu_ps(part, p)
#define V_STORE_PART(p, x, part) _mm512_mask_storeu_ps(p, part, x)
#define V_LOAD_F16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))

/* Sixteen lanes of sixteen elements each, across: pairs, fours, then quarters of vectors change places. */
#define V_TRANSPOSE(from, lane, to) transpose(from, lane, to)
#define PD(x) _mm512_castps_pd(x)
#define PS(x) _mm512_castpd_ps(x)
static inline __attribute__((always_inline)) void transpose(const float *from, int64_t lane, __m512 *to)
{
    __m512 r[16], t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = _mm512_loadu_ps(from + i * lane);
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        r[i] = PS(_mm512_unpacklo_pd(PD(t[i]), PD(t[i + 2])));
        r[i + 1] = PS(_mm512_unpackhi_pd(PD(t[i]), PD(t[i + 2])));
        r[i + 2] = PS(_mm512_unpacklo_pd(PD(t[i + 1]), PD(t[i + 3])));
        r[i + 3] = PS(_mm512_unpackhi_pd(PD(t[i + 1]), PD(t[i + 3])));
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        const __m512 a = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88),
                     b = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd);
        const __m512 c = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88);
        const __m512 d = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
        to[j] = _mm512_shuffle_f32x4(a, c, 0x88);
        to[4 + j] = _mm512_shuffle_f32x4(b, d, 0x88);
        to[8 + j] = _mm512_shuffle_f32x4(a, c, 0xdd);
        to[12 + j] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}

#include "kernels/gemm/tile_impl.h"

TERN__GEMM_KERNEL(avx512)
