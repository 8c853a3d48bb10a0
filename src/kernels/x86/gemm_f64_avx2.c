/* gemm_f64_avx2.c - products in f64 on AVX2 with FMA: a tile of 4 rows and 8 columns is 8 registers. */
#include <immintrin.h>

#define TERN__LANES 8
#include "kernels/row/lanes.h"

#define v_leave v_leave
static inline void v_leave(void)
{
    _mm256_zeroupper();
}

#define V_FUSED 1
#define v_fma v_fma
static inline vf v_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline vd d_fma(vd a, vd b, vd c)
{
    return _mm256_fmadd_pd(a, b, c);
}

#define VECTORS 2
#include "kernels/gemm/gemm_f64_impl.h"

TERN__GEMM_F64_KERNEL(avx2)
