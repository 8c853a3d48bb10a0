/* gemm_avx2.c - f32 products on AVX2 with FMA: 6 x 16 sums in 12 of the 16 registers. */
#include <immintrin.h>

typedef __m256 vec;
#define WIDTH 8
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, x) _mm256_storeu_ps(p, x)
#define V_SET1(p) _mm256_broadcast_ss(p)
#define V_ZERO() _mm256_setzero_ps()
#define V_MULTIPLY_ADD(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ROWS 6
#define VECTORS 2
#define DEPTH 384
#define BLOCK_BYTES (192 << 10)
#define WIDE_ROWS 2
#define EACH_WIDE(M) M(1) M(2)
#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#define EACH_VECTORS(M, n) M(n, 1) M(n, 2)
#include "kernels/gemm/tile_impl.h"

TERN__GEMM_KERNEL(avx2)
