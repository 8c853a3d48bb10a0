/* gemm_avx512.c - f32 products on AVX-512: 6 x 64 sums in 24 of the 32 registers. */
#include <immintrin.h>

typedef __m512 vec;
#define WIDTH 16
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, x) _mm512_storeu_ps(p, x)
#define V_SET1(p) _mm512_set1_ps(*(p))
#define V_ZERO() _mm512_setzero_ps()
#define V_MULTIPLY_ADD(a, b, c) _mm512_fmadd_ps(a, b, c)
#define ROWS 6
#define VECTORS 4
#define DEPTH 512
#define BLOCK_BYTES (640 << 10)
#define WIDE_ROWS 3
#define EACH_WIDE(M) M(1) M(2) M(3)
#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#define EACH_VECTORS(M, n) M(n, 1) M(n, 2) M(n, 3) M(n, 4)
#include "kernels/gemm/tile_impl.h"

TERN__GEMM_KERNEL(avx512)
