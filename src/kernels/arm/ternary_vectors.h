/* ternary_vectors.h - ternary kernels on 128-bit NEON, with the dot product instruction (DOTPROD 1) or
 * without.
 *
 * A file defines DOTPROD, includes this header and writes TERN__TERNARY_NEON_KERNEL for each form. Planes
 * are clean codes 0..2.
 *
 * With sdot a vector of i32 sums takes 4 products each. Without, products are added as i16, one lane per
 * column of the quad: a product lies in [-256, 254], so 128 of them fit, [-32768, 32512]. */
#ifndef TERN_KERNELS_ARM_TERNARY_VECTORS_H
#define TERN_KERNELS_ARM_TERNARY_VECTORS_H

#include <arm_neon.h>
#include <string.h>

#include "kernels/ternary/ternary.h"
#include "kernels/select.h"
#include "kernels/ternary/scaled.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    WIDTH = 16,
    LANES = 4,
    PER_QUAD = TERN__TERNARY_QUAD_BYTES / WIDTH,
    GROUP = 4, /* rows of x in one call of multiply */
    DIRECT_QUADS = DOTPROD ? 16384 : 128,
    PANEL_QUADS = 128,
};
_Static_assert((int)GROUP <= (int)TERN__TERNARY_MAX_BATCH, "callers have room for so many");

/* One vector per plane; e is unused if there are four. */
typedef struct planes {
    int8x16_t a, b, c, d, e;
} planes;

INLINE int32x4_t broadcast_i32(const int8_t *from)
{
    int32_t value;
    memcpy(&value, from, 4);
    return vdupq_n_s32(value);
}

INLINE int8x16_t broadcast_quad(const int8_t *x)
{
    return vreinterpretq_s8_s32(broadcast_i32(x));
}

/* ---- sums of four rows ------------------------------------------------------------------------------- */

#if DOTPROD
typedef int32x4_t sums_t;

INLINE sums_t sums_zero(void)
{
    return vdupq_n_s32(0);
}

INLINE sums_t add_products(sums_t sums, int8x16_t w, int8x16_t quad)
{
    return vdotq_s32(sums, w, quad);
}

INLINE int32x4_t sums_total(sums_t sums)
{
    return sums;
}
#else
typedef struct sums_t {
    int16x8_t low, high; /* rows 0 and 1, rows 2 and 3: four columns each */
} sums_t;

INLINE sums_t sums_zero(void)
{
    return (sums_t){vdupq_n_s16(0), vdupq_n_s16(0)};
}

INLINE sums_t add_products(sums_t sums, int8x16_t w, int8x16_t quad)
{
    return (sums_t){vmlal_s8(sums.low, vget_low_s8(w), vget_low_s8(quad)), vmlal_high_s8(sums.high, w, quad)};
}

INLINE int32x4_t sums_total(sums_t sums)
{
    return vpaddq_s32(vpaddlq_s16(sums.low), vpaddlq_s16(sums.high));
}
#endif

/* Four results of row i of y, from `row` on: = sums - sum(x), or += sums. */
INLINE void put(const tern__ternary_call *call, int i, int row, sums_t sums)
{
    int32_t *y = call->y + i * call->y_stride + row;
    const int32x4_t start = vnegq_s32(broadcast_i32(call->sums + i * call->x_stride));
    vst1q_s32(y, vaddq_s32(call->add ? vld1q_s32(y) : start, sums_total(sums)));
}

/* ---- codes ------------------------------------------------------------------------------------------- */

INLINE planes decode_4(uint8x16_t v)
{
    const uint8x16_t three = vdupq_n_u8(3);
    return (planes){vreinterpretq_s8_u8(vandq_u8(v, three)),
                    vreinterpretq_s8_u8(vandq_u8(vshrq_n_u8(v, 2), three)),
                    vreinterpretq_s8_u8(vandq_u8(vshrq_n_u8(v, 4), three)),
                    vreinterpretq_s8_u8(vshrq_n_u8(v, 6)), vreinterpretq_s8_u8(v)};
}

/* v = 84*c4 + 28*c3 + 9*c2 + 3*c1 + c0. v / 28 is v * 147 >> 12 for every v that occurs (v % 28 < 27),
 * and a number below 9 divided by 3 is itself * 11 >> 5. The rest, below 27, is looked up: c0 | c1 << 2 |
 * c2 << 4. */
INLINE planes decode_5(uint8x16_t v)
{
#define THREE(d) (d), (d) + 1, (d) + 2
#define NINE(c2) THREE((c2) << 4), THREE((c2) << 4 | 1 << 2), THREE((c2) << 4 | 2 << 2)
    static const uint8_t digits_of[32] = {NINE(0), NINE(1), NINE(2)};
#undef NINE
#undef THREE
    const uint8x16_t three = vdupq_n_u8(3);
    const uint16x8_t low = vmull_u8(vget_low_u8(v), vdup_n_u8(147)), high = vmull_high_u8(v, vdupq_n_u8(147));
    const uint8x16_t by_28 = vshrq_n_u8(vshrn_high_n_u16(vshrn_n_u16(low, 8), high, 8), 4);
    const uint8x16_t c4 = vshrq_n_u8(vmulq_u8(by_28, vdupq_n_u8(11)), 5), c3 = vmlsq_u8(by_28, c4, three);
    const uint8x16_t lower = vmlsq_u8(v, by_28, vdupq_n_u8(28));
    const uint8x16x2_t table = {{vld1q_u8(digits_of), vld1q_u8(digits_of + 16)}};
    const uint8x16_t digits = vqtbl2q_u8(table, lower);
    return (planes){vreinterpretq_s8_u8(vandq_u8(digits, three)),
                    vreinterpretq_s8_u8(vandq_u8(vshrq_n_u8(digits, 2), three)),
                    vreinterpretq_s8_u8(vshrq_n_u8(digits, 4)), vreinterpretq_s8_u8(c3),
                    vreinterpretq_s8_u8(c4)};
}

/* ---- straight from the packed weights, one row of x -------------------------------------------------- */

/* The tile in parts of 4 rows of each plane: the i16 sums of all would not fit the registers. */
INLINE void direct(const tern__ternary_call *call, int planes_count, planes (*decode)(uint8x16_t), int parts)
{
    for (int part = 0; part < PER_QUAD; part += parts) {
        const uint8_t *at = call->weights + part * WIDTH;
        sums_t a[2], b[2], c[2], d[2], e[2];
        for (int p = 0; p < parts; p++)
            a[p] = b[p] = c[p] = d[p] = e[p] = sums_zero();
        for (int64_t q = 0; q < call->quads; q++, at += TERN__TERNARY_QUAD_BYTES) {
            if (part == 0)
                __builtin_prefetch(call->ahead + q * TERN__TERNARY_QUAD_BYTES);
            const int8x16_t quad = broadcast_quad(call->x + 4 * q);
#pragma GCC unroll 2
            for (int p = 0; p < parts; p++) {
                const planes w = decode(vld1q_u8(at + p * WIDTH));
                a[p] = add_products(a[p], w.a, quad);
                b[p] = add_products(b[p], w.b, quad);
                c[p] = add_products(c[p], w.c, quad);
                d[p] = add_products(d[p], w.d, quad);
                if (planes_count == 5)
                    e[p] = add_products(e[p], w.e, quad);
            }
        }
        for (int p = 0; p < parts; p++) {
            const int row = (part + p) * LANES;
            put(call, 0, row, a[p]);
            put(call, 0, row + TERN__TERNARY_BLOCK, b[p]);
            put(call, 0, row + TERN__TERNARY_BLOCK * 2, c[p]);
            put(call, 0, row + TERN__TERNARY_BLOCK * 3, d[p]);
            if (planes_count == 5)
                put(call, 0, row + TERN__TERNARY_BLOCK * 4, e[p]);
        }
    }
}

/* ---- panels: (quads, planes, 64) clean codes --------------------------------------------------------- */

INLINE void unpack(const uint8_t *packed, int64_t quads, uint8_t *panel, int planes_count,
                   planes (*decode)(uint8x16_t))
{
    for (int64_t q = 0; q < quads; q++, panel += planes_count * 64) {
        for (int part = 0; part < PER_QUAD; part++, packed += WIDTH) {
            const planes w = decode(vld1q_u8(packed));
            int8_t *to = (int8_t *)panel + part * WIDTH;
            vst1q_s8(to, w.a);
            vst1q_s8(to + 64, w.b);
            vst1q_s8(to + 128, w.c);
            vst1q_s8(to + 192, w.d);
            if (planes_count == 5)
                vst1q_s8(to + 256, w.e);
        }
    }
}

/* Two vectors of 4 rows times 1..4 rows of x; i16 sums take 16 registers. */
INLINE void multiply_rows(const tern__ternary_call *call, int vector, int planes_count, int batch)
{
    const int8_t *at = (const int8_t *)call->weights + vector * WIDTH, *x = call->x;
    sums_t first[GROUP], second[GROUP];
    for (int i = 0; i < batch; i++)
        first[i] = second[i] = sums_zero();
    for (int64_t q = 0; q < call->quads; q++, x += 4, at += planes_count * 64) {
        const int8x16_t w0 = vld1q_s8(at), w1 = vld1q_s8(at + WIDTH);
#pragma GCC unroll 4
        for (int i = 0; i < batch; i++) {
            const int8x16_t quad = broadcast_quad(x + i * call->x_stride);
            first[i] = add_products(first[i], w0, quad);
            second[i] = add_products(second[i], w1, quad);
        }
    }
    for (int i = 0; i < batch; i++) {
        put(call, i, vector * LANES, first[i]);
        put(call, i, (vector + 1) * LANES, second[i]);
    }
}

INLINE void multiply(const tern__ternary_call *call, int planes_count)
{
    for (int64_t q = 0; q < call->quads; q++)
        __builtin_prefetch(call->ahead + q * call->ahead_step);
    for (int vector = 0; vector < planes_count * PER_QUAD; vector += 2) {
        switch (call->batch) {
        case 1:
            multiply_rows(call, vector, planes_count, 1);
            break;
        case 2:
            multiply_rows(call, vector, planes_count, 2);
            break;
        case 3:
            multiply_rows(call, vector, planes_count, 3);
            break;
        default:
            multiply_rows(call, vector, planes_count, 4);
            break;
        }
    }
}

/* ---- one kernel per form ----------------------------------------------------------------------------- */

#define TERN__TERNARY_NEON_KERNEL(NAME, F)                                       \
    static void direct_##F(const tern__ternary_call *call)                       \
    {                                                                            \
        direct(call, F, decode_##F, DOTPROD ? 2 : 1);                            \
    }                                                                            \
    static void unpack_##F(const uint8_t *packed, int64_t quads, uint8_t *panel) \
    {                                                                            \
        unpack(packed, quads, panel, F, decode_##F);                             \
    }                                                                            \
    static void multiply_##F(const tern__ternary_call *call)                     \
    {                                                                            \
        multiply(call, F);                                                       \
    }                                                                            \
    const tern__ternary_kernel tern__##NAME = {                                  \
        .form = TERN__TERNARY_##F,                                               \
        .direct_limit = 1,                                                       \
        .direct_batch = 1,                                                       \
        .multiply_batch = GROUP,                                                 \
        .direct_quads = DIRECT_QUADS,                                            \
        .panel_quads = PANEL_QUADS,                                              \
        .direct = direct_##F,                                                    \
        .unpack = unpack_##F,                                                    \
        .multiply = multiply_##F,                                                \
        .add_scaled = add_scaled,                                                \
    };

#endif
