/* gemm_neon.c - f32 products on NEON: 6 x 16 sums in 24 of the 32 registers. */
#include <arm_neon.h>

typedef float32x4_t vec;
#define WIDTH 4
#define V_LOAD(p) vld1q_f32(p)
#define V_STORE(p, x) vst1q_f32(p, x)
#define V_SET1(p) vld1q_dup_f32(p)
#define V_ZERO() vdupq_n_f32(0)
#define FUSED 1
#define V_MULTIPLY_ADD(a, b, c) vfmaq_f32(c, a, b)
#define V_LOAD_F16(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
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
#include "kernels/gemm/tile_impl.h"

TERN__GEMM_KERNEL(neon)
