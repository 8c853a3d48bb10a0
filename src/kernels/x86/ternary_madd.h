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

#include "kernels/ternary/ternary.h"
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

/* Of i16, or of the i32 that dot products are added to. */
#if DOTS
#define ADD_SUMS V(add_epi32)
#define SUBTRACT_SUMS V(sub_epi32)
#define SHIFT_SUMS V(srai_epi32)
#else
#define ADD_SUMS V(add_epi16)
#define SUBTRACT_SUMS V(sub_epi16)
#define SHIFT_SUMS V(srai_epi16)
#endif

enum {
    QUADS = 64, /* of one run of i16 sums of codes */
    DIRECT_QUADS = DOTS ? 16384 : QUADS,
    RUN = DOTS ? DIRECT_QUADS : 16, /* quads of one run of sums that settle() takes apart */
    GROUP = 6,                      /* rows of x in one call */
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

INLINE vec plane_4(vec v, int plane)
{
    return plane == 0 ? VB(and)(v, V(set1_epi8)(3)) : field(v, 2 * plane);
}

INLINE planes decode_4(vec v)
{
    return (planes){plane_4(v, 0), plane_4(v, 1), plane_4(v, 2), plane_4(v, 3), v};
}

/* v / 28 of each byte. */
INLINE vec by_28(vec v)
{
    const vec upper_bytes = V(set1_epi16)((short)0xff00), times = V(set1_epi16)(BY_28);
    const vec even = V(mulhi_epu16)(VB(andnot)(upper_bytes, v), times);
#if WIDTH == 64
    return VB(or)(even, VB(and)(V(mulhi_epu16)(v, times), upper_bytes));
#else
    return V(blendv_epi8)(even, V(mulhi_epu16)(v, times), upper_bytes);
#endif
}

/* Looks up numbers below 27 in two tables of 16. An index with its highest bit set looks up 0, so one of the two is always silent. */
INLINE vec look_up(const uint8_t *tables, vec number)
{
    const vec low = V(shuffle_epi8)(TABLE(tables), V(adds_epu8)(number, V(set1_epi8)(0x70)));
    const vec high = V(shuffle_epi8)(TABLE(tables + 16), V(sub_epi8)(number, V(set1_epi8)(16)));
    return VB(or)(low, high);
}

INLINE planes decode_5(vec v)
{
    const vec upper = by_28(v), lower = V(sub_epi8)(v, V(shuffle_epi8)(TABLE(upper_of), upper));
    const vec digits = look_up(digits_of, lower);
    const vec c4 = V(shuffle_epi8)(TABLE(c4_of), upper);
    const vec c3 = V(sub_epi8)(upper, V(add_epi8)(c4, V(add_epi8)(c4, c4)));
    return (planes){VB(and)(digits, V(set1_epi8)(3)), field(digits, 2), field(digits, 4), c3, c4};
}

/* ---- planes that cost less to decode than codes, for one row of x ----
 *
 * Each is a sum of codes, and settle() finds the sums of codes from theirs, run by run. A pair of products with 4*c is at most 2048
 * in size, so RUN of them fit an i16. Larger planes may overflow: they are right modulo 2^16, and so is what settle() subtracts. */

/* c0, 4*c1, c2, 4*c3: one shift instead of three. */
INLINE planes decode_raw_4(vec v)
{
    const vec lowest = V(set1_epi8)(0x03), next = V(set1_epi8)(0x0c), upper = V(srli_epi16)(v, 4);
    return (planes){VB(and)(v, lowest), VB(and)(v, next), VB(and)(upper, lowest), VB(and)(upper, next), v};
}

INLINE planes settle_4(planes sums)
{
    sums.b = SHIFT_SUMS(sums.b, 2);
    sums.d = SHIFT_SUMS(sums.d, 2);
    return sums;
}

/* 9*c2 + 3*c1 + c0, 4*c1 + c2, c2, 3*c4 + c3, c4: none is above 26, so that products do not saturate. */
INLINE planes decode_raw_5(vec v)
{
    const vec upper = by_28(v), lower = V(sub_epi8)(v, V(shuffle_epi8)(TABLE(upper_of), upper));
    const vec two = look_up(two_digits_of, lower);
    return (planes){lower, two, VB(and)(two, V(set1_epi8)(3)), upper, V(shuffle_epi8)(TABLE(c4_of), upper)};
}

INLINE vec thrice(vec sums)
{
    return ADD_SUMS(sums, ADD_SUMS(sums, sums));
}

INLINE planes settle_5(planes sums)
{
    sums.b = SHIFT_SUMS(SUBTRACT_SUMS(sums.b, sums.c), 2);
    sums.a = SUBTRACT_SUMS(sums.a, thrice(ADD_SUMS(sums.b, thrice(sums.c))));
    sums.d = SUBTRACT_SUMS(sums.d, thrice(sums.e));
    return sums;
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
#if WIDTH != 32
    return V(add_epi16)(sums, V(maddubs_epi16)(w, quad));
#else
    /* Not intrinsics: gcc 12 would copy sums between registers. */
    vec products;
    __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+v"(sums), "=v"(products) : "v"(w), "v"(quad));
    return sums;
#endif
}

INLINE vec in_i32(vec sums)
{
    return V(madd_epi16)(sums, V(set1_epi16)(1));
}
#endif

/* LANES results of row i of y: = sums - sum(x), or += sums, in i32. Vectors of a tile are counted plane by plane. */
INLINE void put_i32(const tern__ternary_call *call, int i, int vector, vec sums)
{
    int32_t *y = call->y + i * call->y_stride + vector * LANES;
    const vec start = V(sub_epi32)(VB(setzero)(), broadcast_quad(call->sums + i * call->x_stride));
    store(y, V(add_epi32)(call->add ? load(y) : start, sums));
}

INLINE void put(const tern__ternary_call *call, int i, int vector, vec sums)
{
    put_i32(call, i, vector, in_i32(sums));
}

/* ---- straight from the packed weights, one row of x -------------------------------------------------- */

/* Two vectors of a quad at a time, where a quad has more than one and their sums fit the registers beside the constants. */
enum { PARTS_4 = WIDTH == 32 ? 2 : 1, PARTS_5 = 1 };

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

/* Adds sums of a run to i32. */
INLINE planes add_run(planes totals, planes sums, int planes_count)
{
    totals.a = V(add_epi32)(totals.a, in_i32(sums.a));
    totals.b = V(add_epi32)(totals.b, in_i32(sums.b));
    totals.c = V(add_epi32)(totals.c, in_i32(sums.c));
    totals.d = V(add_epi32)(totals.d, in_i32(sums.d));
    if (planes_count == 5)
        totals.e = V(add_epi32)(totals.e, in_i32(sums.e));
    return totals;
}

INLINE void put_planes(const tern__ternary_call *call, int part, planes totals, int planes_count)
{
    put_i32(call, 0, part, totals.a);
    put_i32(call, 0, part + PER_QUAD, totals.b);
    put_i32(call, 0, part + PER_QUAD * 2, totals.c);
    put_i32(call, 0, part + PER_QUAD * 3, totals.d);
    if (planes_count == 5)
        put_i32(call, 0, part + PER_QUAD * 4, totals.e);
}

INLINE void direct(const tern__ternary_call *call, int planes_count, planes (*decode)(vec),
                   planes (*settle)(planes), int parts)
{
    for (int part = 0; part < PER_QUAD; part += parts) {
        const uint8_t *at = call->weights + part * WIDTH;
        const uint8_t *ahead = call->ahead + part * call->quads * WIDTH;
        const int8_t *x = call->x, *const end = x + 4 * call->quads;
        planes first_totals = {0}, second_totals = {0};
        while (x < end) {
            planes first = {0}, second = {0};
            const int8_t *const stop = end - x < 4 * RUN ? end : x + 4 * RUN;
            for (; x < stop; x += 4, at += TERN__TERNARY_QUAD_BYTES, ahead += parts * WIDTH) {
                _mm_prefetch((const char *)ahead, _MM_HINT_T0);
                const vec quad = broadcast_quad(x);
                first = add_planes(first, decode(load(at)), quad, planes_count);
                if (parts == 2)
                    second = add_planes(second, decode(load(at + WIDTH)), quad, planes_count);
            }
            first_totals = add_run(first_totals, settle(first), planes_count);
            if (parts == 2)
                second_totals = add_run(second_totals, settle(second), planes_count);
        }
        put_planes(call, part, first_totals, planes_count);
        if (parts == 2)
            put_planes(call, part + 1, second_totals, planes_count);
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

#include "kernels/x86/ternary_madd_rows.h"

/* ---- one kernel per form ----------------------------------------------------------------------------- */

static void direct_of_4(const tern__ternary_call *call)
{
    if (call->batch == 1)
        direct(call, 4, decode_raw_4, settle_4, PARTS_4);
    else
        direct_rows(call);
}

/* The digits of form 5 cost too much to find them again for each pass. */
static void direct_of_5(const tern__ternary_call *call)
{
    direct(call, 5, decode_raw_5, settle_5, PARTS_5);
}

/* From more rows on an unpacked panel is faster: three groups of rows unpack what they need three times. */
enum { LIMIT_4 = 18, LIMIT_5 = 1 };

#define TERN__TERNARY_MADD_KERNEL(NAME, F)                                       \
    static void unpack_##F(const uint8_t *packed, int64_t quads, uint8_t *panel) \
    {                                                                            \
        unpack(packed, quads, panel, F, decode_##F);                             \
    }                                                                            \
    static void multiply_of_##F(const tern__ternary_call *call)                  \
    {                                                                            \
        multiply_rows(call, F);                                                  \
    }                                                                            \
    const tern__ternary_kernel tern__##NAME = {                                  \
        .form = TERN__TERNARY_##F,                                               \
        .direct_limit = LIMIT_##F,                                               \
        .direct_batch = F == 4 ? GROUP : 1,                                      \
        .multiply_batch = GROUP,                                                 \
        .direct_quads = DIRECT_QUADS,                                            \
        .panel_quads = QUADS,                                                    \
        .direct = direct_of_##F,                                                 \
        .unpack = unpack_##F,                                                    \
        .multiply = multiply_of_##F,                                             \
        .add_scaled = add_scaled,                                                \
    };

#endif
