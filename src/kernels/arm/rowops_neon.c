/* rowops_neon.c - the instructions of row programs for Advanced SIMD of 64-bit ARM. */
#include <arm_neon.h>

#define TERN__LANES 4
#include "kernels/row/lanes.h"

#define v_select v_select
static inline vf v_select(vu m, vf a, vf b)
{
    return vbslq_f32(m, a, b);
}

#define m_all m_all
static inline int m_all(vu m)
{
    return vminvq_u32(m) != 0;
}

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

#define v_sqrt v_sqrt
static inline vf v_sqrt(vf a)
{
    return vsqrtq_f32(a);
}

#define v_round v_round
static inline vf v_round(vf a)
{
    return vrndnq_f32(a);
}

static inline vf v_floor(vf a)
{
    return vrndmq_f32(a);
}

static inline vf v_ceil(vf a)
{
    return vrndpq_f32(a);
}

static inline vf v_trunc(vf a)
{
    return vrndq_f32(a);
}

#define v_to_i32 v_to_i32
static inline vi v_to_i32(vf a)
{
    return vcvtq_s32_f32(a);
}

#define v_whole v_whole
static inline vi v_whole(vf a)
{
    return vcvtq_s32_f32(a);
}

#define v_widen v_widen
static inline vd2 v_widen(vf a)
{
    return (vd2){vcvt_f64_f32(vget_low_f32(a)), vcvt_high_f64_f32(a)};
}

static inline vf v_narrow(vd2 a)
{
    return vcvt_high_f32_f64(vcvt_f32_f64(a.lo), a.hi);
}

#define v_load_u16 v_load_u16
static inline vu v_load_u16(const uint16_t *p)
{
    return vmovl_u16(vld1_u16(p));
}

static inline void v_store_u16(uint16_t *p, vu a)
{
    vst1_u16(p, vmovn_u32(a));
}

#define v_load_f16 v_load_f16
#define v_f16_bits
static inline vf v_load_f16(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

static inline void v_store_f16(uint16_t *p, vf a)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a)));
}

static inline void v_stream_f16(uint16_t *p, vf a)
{
    v_store_f16(p, a);
}

static inline vf v_round_f16(vf a)
{
    return vcvt_f32_f16(vcvt_f16_f32(a));
}

/* The table as 64 bytes: those of entry k are 4 k, 4 k + 1, 4 k + 2, 4 k + 3. */
#define v_lookup v_lookup
static inline vf v_lookup(const float table[16], vu index)
{
    uint8x16x4_t bytes = vld1q_u8_x4((const uint8_t *)(const void *)table);
    vu where = (index & 15u) * 0x04040404u + 0x03020100u;
    return vreinterpretq_f32_u8(vqtbl4q_u8(bytes, vreinterpretq_u8_u32(where)));
}

#define TERN__ROWOPS_TABLE tern__rowops_neon
#define TERN__ROWOPS_ISA TERN__ISA_NEON
#include "kernels/row/rowops_impl.h"
