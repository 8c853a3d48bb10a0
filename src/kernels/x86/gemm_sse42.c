/* gemm_sse42.c - f32 products without fused multiply-adds: products and sums are rounded one after the other. */
#include <immintrin.h>

typedef __m128 vec;
#define WIDTH 4
#define V_LOAD(p) _mm_loadu_ps(p)
#define V_STORE(p, x) _mm_storeu_ps(p, x)
#define V_SET1(p) _mm_set1_ps(*(p))
#define V_ZERO() _mm_setzero_ps()
#define FUSED 0
#define V_MULTIPLY_ADD(a, b, c) _mm_add_ps(c, _mm_mul_ps(a, b))
#define ROWS 5
#define VECTORS 2
#define EACH_ROWS(M, v) ROWS_5(M, v)
#define EACH_LOW_TILE(M) EACH_ROWS(M, 1) EACH_ROWS(M, 2)
#define EACH_TILE(M) ROWS_10(M, 1) ROWS_5(M, 2)
#define TALLEST \
    {           \
        10, 5   \
    }
#define WIDE_ROWS 2
#define EACH_WIDE(M) M(1) M(2)
#include "kernels/gemm/tile_impl.h"

TERN__GEMM_KERNEL(sse42)
