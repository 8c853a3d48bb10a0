/* gemm_neon.c - f32 products on NEON: 6 x 16 sums in 24 of the 32 registers. */
#include <arm_neon.h>

typedef float32x4_t vec;
#define WIDTH 4
#define V_LOAD(p) vld1q_f32(p)
#define V_STORE(p, x) vst1q_f32(p, x)
#define V_SET1(p) vld1q_dup_f32(p)
#define V_ZERO() vdupq_n_f32(0)
#define V_MULTIPLY_ADD(a, b, c) vfmaq_f32(c, a, b)
#define ROWS 6
#define VECTORS 4
#define DEPTH 384
#define BLOCK_BYTES (192 << 10)
#define WIDE_ROWS 3
#define EACH_WIDE(M) M(1) M(2) M(3)
#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#define EACH_VECTORS(M, n) M(n, 1) M(n, 2) M(n, 3) M(n, 4)
#include "kernels/gemm/tile_impl.h"

TERN__GEMM_KERNEL(neon)
