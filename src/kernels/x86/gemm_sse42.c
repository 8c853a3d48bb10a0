/* gemm_sse42.c - f32 products without fused multiply-adds: products and sums are rounded one after the other. */
#include <immintrin.h>

typedef __m128 vec;
#define WIDTH 4
#define V_LOAD(p) _mm_loadu_ps(p)
#define V_STORE(p, x) _mm_storeu_ps(p, x)
#define V_SET1(p) _mm_set1_ps(*(p))
#define V_ZERO() _mm_setzero_ps()
#define V_MULTIPLY_ADD(a, b, c) _mm_add_ps(c, _mm_mul_ps(a, b))
#define ROWS 5
#define VECTORS 2
#define DEPTH 384
#define BLOCK_BYTES (128 << 10)
#define WIDE_ROWS 2
#define EACH_WIDE(M) M(1) M(2)
#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5)
#define EACH_VECTORS(M, n) M(n, 1) M(n, 2)
#include "kernels/gemm/tile_impl.h"

TERN__GEMM_KERNEL(sse42)
