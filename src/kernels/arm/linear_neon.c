/* linear_neon.c - products with widened weights on NEON: a tile is eight vectors. */
#include <arm_neon.h>
#include <string.h>

typedef float32x4_t vec;
typedef uint32x4_t ivec;

static inline __attribute__((always_inline)) uint8x8_t four_bytes(const uint8_t *p)
{
    uint32_t bytes;
    memcpy(&bytes, p, 4);
    return vreinterpret_u8_u32(vdup_n_u32(bytes));
}

static inline __attribute__((always_inline)) float32x4_t wide_signed(const uint8_t *p)
{
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(four_bytes(p))))));
}

static inline __attribute__((always_inline)) uint16x4_t four_halves(const uint8_t *p)
{
    uint16x4_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

#define WIDTH 4
#define V_LOAD(p) vld1q_f32(p)
#define V_STORE(p, x) vst1q_f32(p, x)
#define V_SET1(p) vld1q_dup_f32(p)
#define V_ZERO() vdupq_n_f32(0)
#define V_NUMBER(c) vdupq_n_f32(c)
#define I_NUMBER(c) vdupq_n_u32((uint32_t)(c))
#define FUSED 1
#define V_MULTIPLY_ADD(a, b, c) vfmaq_f32(c, a, b)
#define V_SCALE(s, c, m, n) ((void)(n), vfmaq_f32(c, s, m))
#define V_HALVES(p) vcvt_f32_f16(vreinterpret_f16_u16(four_halves(p)))
#define V_BRAINS(p) V_OF(vshll_n_u16(four_halves(p), 16))
#define V_SIGNED(p) wide_signed(p)
#define I_LOAD(p) vreinterpretq_u32_u8(vld1q_u8(p))
#define V_FROM(x) vcvtq_f32_u32(x)
#define V_OF(x) vreinterpretq_f32_u32(x)
#define V_OF_SIGNED(x) vcvtq_f32_s32(vreinterpretq_s32_u32(x))
#define I_AND(a, b) vandq_u32(a, b)
#define I_OR(a, b) vorrq_u32(a, b)
/* The amounts are constants, but not before inlining. */
#define I_LEFT(x, n) vshlq_u32(x, vdupq_n_s32(n))
#define I_RIGHT(x, n) vshlq_u32(x, vdupq_n_s32(-(n)))
#define I_ENDS(x, n) I_OR(I_LEFT(x, (n) + 1), I_RIGHT(x, 31 - (n)))
#define I_PUT(x, mask, to) vbslq_u32(mask, x, to)
#define V_NIBBLE(x) V_FROM(I_AND(x, I_NUMBER(15)))
#define VECTORS 4
#define MOST_ROWS 4
#define MANY(columns) 16
#define MOST_TILES 1
#define TOGETHER(columns) MOST_TILES
#define EACH_ROWS(M, name) M(name, 1) M(name, 2) M(name, 3) M(name, 4)
#include "kernels/linear/widen_impl.h"

TERN__LINEAR_KERNEL(neon)
