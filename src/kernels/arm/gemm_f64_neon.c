/* gemm_f64_neon.c - products in f64 on Advanced SIMD: a tile of 4 rows and 8 columns is 16 registers. */
#include <arm_neon.h>

#define TERN__LANES 4
#include "kernels/row/lanes.h"

#define V_FUSED 1
#define v_fma v_fma
static inline vf v_fma(vf a, vf b, vf c)
{
    return vfmaq_f32(c, a, b);
}

static inline vd d_fma(vd a, vd b, vd c)
{
    return vfmaq_f64(c, a, b);
}

#define VECTORS 4
#include "kernels/gemm/gemm_f64_impl.h"

TERN__GEMM_F64_KERNEL(neon)
