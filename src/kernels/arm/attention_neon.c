/* attention_neon.c - attention on Advanced SIMD: a tile of 2 queries and 2 keys, four registers for each dot, or of 4 mixes of
 * 16 elements, is 16 registers. */
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

#define v_load_f16 v_load_f16
static inline vf v_load_f16(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

#define SCORE_QUERIES 2
#define SCORE_KEYS 2
#define MIX_VECTORS 4

static inline __attribute__((always_inline)) void reduce_tile(vf sums[4][4], float *to, int64_t row)
{
    float32x2_t x[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const vf four = (sums[i][0] + sums[i][2]) + (sums[i][1] + sums[i][3]);
        x[i] = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    }
    vst1_f32(to, vpadd_f32(x[0], x[1]));
    vst1_f32(to + row, vpadd_f32(x[2], x[3]));
}

#include "kernels/attention/attention_impl.h"

TERN__ATTENTION_KERNEL(neon)
