/* ternary_madd.h - ternary kernels where there is no dot product: vpmaddubsw, for vectors of 16, 32 or 64
 * bytes; and, with the same loops, on AVX-VNNI, whose dot products have 32 bytes (the 64 bytes of AVX-512 have loops of their own).
 *
 * A file defines WIDTH, and DOTS if vpdpbusd is to be used, includes this header and writes TERN__TERNARY_MADD_KERNEL for each form.
 *
 * vpmaddubsw adds two products u8 * i8 into an i16 and saturates, so planes are clean codes here: a pair
 * of products lies in [2*2*-128, 2*2*127] = [-512, 508], and 64 of them in [-32768, 32512], which an i16
 * holds. So sums of 64 quads are kept as i16, then pairs are added (vpmaddwd with ones) and go to y as
 * i32. A dot product adds four products to an i32, and no run of quads is too long for it. */
#ifndef TERN_KERNELS_X86_TERNARY_MADD_H
#define TERN_KERNELS_X86_TERNARY_MADD_H

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/select.h"
#include "kernels/ternary/scaled.h"
#include "kernels/x86/ternary_digits.h"

#define INLINE static inline __attribute__((always_inline))

#if WIDTH == 64
typedef __m512i vec;
#define V(op) _mm512_##op
#define VB(op) _mm512_##op##_si512
#define TABLE(t) _mm512_broadcast_i32x4(_mm_load_si128((const void *)(t)))
#elif WIDTH == 32
typedef __m256i vec;
#define V(op) _mm256_##op
#define VB(op) _mm256_##op##_si256
#define TABLE(t) _mm256_broadcastsi128_si256(_mm_load_si128((const void *)(t)))
#else
typedef __m128i vec;
#define V(op) _mm_##op
#define VB(op) _mm_##op##_si128
#define TABLE(t) _mm_load_si128((const void *)(t))
#endif

#if !defined(DOTS)
#define DOTS 0
#endif

enum {
    QUADS = 64, /* of one run of i16 sums */
    DIRECT_QUADS = DOTS ? 16384 : QUADS,
    GROUP = 4, /* rows of x in one call of multiply */
    LANES = WIDTH / 4,
    PER_QUAD = TERN__TERNARY_QUAD_BYTES / WIDTH, /* vectors of a packed quad */
};
_Static_assert((int)GROUP <= (int)TERN__TERNARY_MAX_BATCH, "callers have room for so many");

/* One vector per plane; e is unused if there are four. */
typedef struct planes {
    vec a, b, c, d, e;
} planes;

INLINE vec load(const void *from)
{
    return VB(loadu)(from);
}

INLINE void store(void *to, vec v)
{
    VB(storeu)(to, v);
}

INLINE vec broadcast_quad(const int8_t *x)
{
    int32_t quad;
    memcpy(&quad, x, 4);
    return V(set1_epi32)(quad);
}

INLINE vec field(vec v, int shift)
{
    return VB(and)(V(srli_epi16)(v, (unsigned char)shift), V(set1_epi8)(3));
}

INLINE planes decode_2(vec v)
{
    return (planes){VB(and)(v, V(set1_epi8)(3)), field(v, 2), field(v, 4), field(v, 6), v};
}

INLINE planes decode_5(vec v)
{
    const vec upper_bytes = V(set1_epi16)((short)0xff00), times = V(set1_epi16)(BY_28);
    const vec even = V(mulhi_epu16)(VB(andnot)(upper_bytes, v), times);
    const vec odd = VB(and)(V(mulhi_epu16)(v, times), upper_bytes);
    const vec by_28 = VB(or)(even, odd);
    const vec lower = V(sub_epi8)(v, V(shuffle_epi8)(TABLE(upper_of), by_28));
    const vec c4 = V(shuffle_epi8)(TABLE(c4_of), by_28);
    const vec c3 = V(sub_epi8)(by_28, V(add_epi8)(c4, V(add_epi8)(c4, c4)));
    /* An index with its highest bit set looks up 0: of the two tables one is always silent. */
    const vec low = V(shuffle_epi8)(TABLE(digits_of), V(adds_epu8)(lower, V(set1_epi8)(0x70)));
    const vec high = V(shuffle_epi8)(TABLE(digits_of + 16), V(sub_epi8)(lower, V(set1_epi8)(16)));
    const vec digits = VB(or)(low, high);
    return (planes){VB(and)(digits, V(set1_epi8)(3)), field(digits, 2), field(digits, 4), c3, c4};
}

#if DOTS
INLINE vec add_products(vec sums, vec w, vec quad)
{
    return V(dpbusd_avx_epi32)(sums, w, quad);
}

INLINE vec in_i32(vec sums)
{
    return sums;
}
#else
INLINE vec add_products(vec sums, vec w, vec quad)
{
    return V(add_epi16)(sums, V(maddubs_epi16)(w, quad));
}

INLINE vec in_i32(vec sums)
{
    return V(madd_epi16)(sums, V(set1_epi16)(1));
}
#endif

/* LANES results of row i of y, from `row` on: = sums - sum(x), or += sums. */
INLINE void put(const tern__ternary_call *call, int i, int row, vec sums)
{
    int32_t *y = call->y + i * call->y_stride + row;
    const vec added = in_i32(sums);
    const vec start = V(sub_epi32)(VB(setzero)(), broadcast_quad(call->sums + i * call->x_stride));
    store(y, V(add_epi32)(call->add ? load(y) : start, added));
}

/* ---- straight from the packed weights, one row of x -------------------------------------------------- */

/* Two vectors of a quad at a time, where a quad has more than one: what is prefetched must not wait for a
 * second pass over the same quads. */
enum { PARTS = WIDTH == 64 ? 1 : 2 };

INLINE planes add_planes(planes sums, planes w, vec quad, int planes_count)
{
    sums.a = add_products(sums.a, w.a, quad);
    sums.b = add_products(sums.b, w.b, quad);
    sums.c = add_products(sums.c, w.c, quad);
    sums.d = add_products(sums.d, w.d, quad);
    if (planes_count == 5)
        sums.e = add_products(sums.e, w.e, quad);
    return sums;
}

INLINE void put_planes(const tern__ternary_call *call, int row, planes sums, int planes_count)
{
    put(call, 0, row, sums.a);
    put(call, 0, row + TERN__TERNARY_BLOCK, sums.b);
    put(call, 0, row + TERN__TERNARY_BLOCK * 2, sums.c);
    put(call, 0, row + TERN__TERNARY_BLOCK * 3, sums.d);
    if (planes_count == 5)
        put(call, 0, row + TERN__TERNARY_BLOCK * 4, sums.e);
}

INLINE void direct(const tern__ternary_call *call, int planes_count, planes (*decode)(vec))
{
    for (int part = 0; part < PER_QUAD; part += PARTS) {
        const uint8_t *at = call->weights + part * WIDTH;
        const uint8_t *ahead = call->ahead + part * call->quads * WIDTH;
        planes first = {0}, second = {0};
        for (int64_t q = 0; q < call->quads; q++, at += TERN__TERNARY_QUAD_BYTES, ahead += PARTS * WIDTH) {
            _mm_prefetch((const char *)ahead, _MM_HINT_T0);
            const vec quad = broadcast_quad(call->x + 4 * q);
            first = add_planes(first, decode(load(at)), quad, planes_count);
            if (PARTS == 2)
                second = add_planes(second, decode(load(at + WIDTH)), quad, planes_count);
        }
        put_planes(call, part * LANES, first, planes_count);
        if (PARTS == 2)
            put_planes(call, (part + 1) * LANES, second, planes_count);
    }
}

/* ---- panels: (quads, planes, 64) clean codes --------------------------------------------------------- */

INLINE void unpack(const uint8_t *packed, int64_t quads, uint8_t *panel, int planes_count,
                   planes (*decode)(vec))
{
    for (int64_t q = 0; q < quads; q++, panel += planes_count * 64) {
        for (int part = 0; part < PER_QUAD; part++, packed += WIDTH) {
            const planes w = decode(load(packed));
            uint8_t *to = panel + part * WIDTH;
            store(to, w.a);
            store(to + 64, w.b);
            store(to + 128, w.c);
            store(to + 192, w.d);
            if (planes_count == 5)
                store(to + 256, w.e);
        }
    }
}

/* Two vectors of rows (or one, if `second` is false) times 1..4 rows of x. */
INLINE void multiply_rows(const tern__ternary_call *call, int vector, int planes_count, bool second,
                          int batch)
{
    const uint8_t *at = call->weights + vector * WIDTH;
    const int8_t *x = call->x;
    vec s00 = VB(setzero)(), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
    for (int64_t q = 0; q < call->quads; q++, x += 4, at += planes_count * 64) {
        const vec w0 = load(at), w1 = second ? load(at + WIDTH) : w0;
        vec quad = broadcast_quad(x);
        s00 = add_products(s00, w0, quad);
        s01 = second ? add_products(s01, w1, quad) : s01;
        if (batch > 1) {
            quad = broadcast_quad(x + call->x_stride);
            s10 = add_products(s10, w0, quad);
            s11 = second ? add_products(s11, w1, quad) : s11;
        }
        if (batch > 2) {
            quad = broadcast_quad(x + 2 * call->x_stride);
            s20 = add_products(s20, w0, quad);
            s21 = second ? add_products(s21, w1, quad) : s21;
        }
        if (batch > 3) {
            quad = broadcast_quad(x + 3 * call->x_stride);
            s30 = add_products(s30, w0, quad);
            s31 = second ? add_products(s31, w1, quad) : s31;
        }
    }
    const vec sums[GROUP][2] = {{s00, s01}, {s10, s11}, {s20, s21}, {s30, s31}};
#pragma GCC unroll 4
    for (int i = 0; i < batch; i++) {
        put(call, i, vector * LANES, sums[i][0]);
        if (second)
            put(call, i, (vector + 1) * LANES, sums[i][1]);
    }
}

INLINE void multiply_batch(const tern__ternary_call *call, int planes_count, int batch)
{
    const int vectors = planes_count * PER_QUAD;
    for (int v = 0; v + 2 <= vectors; v += 2)
        multiply_rows(call, v, planes_count, true, batch);
    if (vectors % 2 != 0)
        multiply_rows(call, vectors - 1, planes_count, false, batch);
}

INLINE void multiply(const tern__ternary_call *call, int planes_count)
{
    for (int64_t q = 0; q < call->quads; q++)
        _mm_prefetch((const char *)call->ahead + q * call->ahead_step, _MM_HINT_T1);
    switch (call->batch) {
    case 1:
        multiply_batch(call, planes_count, 1);
        break;
    case 2:
        multiply_batch(call, planes_count, 2);
        break;
    case 3:
        multiply_batch(call, planes_count, 3);
        break;
    default:
        multiply_batch(call, planes_count, 4);
        break;
    }
}

/* ---- one kernel per form ----------------------------------------------------------------------------- */

#define TERN__TERNARY_MADD_KERNEL(NAME, F, P)                                    \
    static void direct_##F(const tern__ternary_call *call)                       \
    {                                                                            \
        direct(call, P, decode_##F);                                             \
    }                                                                            \
    static void unpack_##F(const uint8_t *packed, int64_t quads, uint8_t *panel) \
    {                                                                            \
        unpack(packed, quads, panel, P, decode_##F);                             \
    }                                                                            \
    static void multiply_##F(const tern__ternary_call *call)                     \
    {                                                                            \
        multiply(call, P);                                                       \
    }                                                                            \
    const tern__ternary_kernel tern__##NAME = {                                  \
        .name = #NAME,                                                           \
        .form = TERN__TERNARY_##F,                                               \
        .direct_limit = 1,                                                       \
        .direct_batch = 1,                                                       \
        .multiply_batch = GROUP,                                                 \
        .direct_quads = DIRECT_QUADS,                                            \
        .panel_quads = QUADS,                                                    \
        .direct = direct_##F,                                                    \
        .unpack = unpack_##F,                                                    \
        .multiply = multiply_##F,                                                \
        .add_scaled = add_scaled,                                                \
    };

#endif
