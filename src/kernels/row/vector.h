/* vector.h - operations on the vectors of lanes.h, in plain C. A file for one instruction set that knows
 * better defines the function itself, and a macro of the same name, before it includes this.
 *
 * All are exact, or round once as IEEE 754 says, so every instruction set has the same bits; v_fma and d_fma
 * alone are fused where V_FUSED is 1, and products and sums, each rounded, where it is 0. */
#ifndef TERN_KERNELS_ROW_VECTOR_H
#define TERN_KERNELS_ROW_VECTOR_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/row/lanes.h"

/* Behind code that leaves vectors in registers, where that slows down what comes next. */
#if !defined(v_leave)
static inline void v_leave(void)
{
}
#endif

/* ---- bits, splats ---- */

static inline vf v_splat(float x)
{
    return x - (vf){0};
}

static inline vu v_splat_bits(uint32_t x)
{
    return x - (vu){0};
}

static inline vf v_float(vu bits)
{
    return (vf)bits;
}

static inline vu v_bits(vf x)
{
    return (vu)x;
}

static inline vf v_abs(vf x)
{
    return v_float(v_bits(x) & 0x7fffffffu);
}

static inline vf v_neg(vf x)
{
    return v_float(v_bits(x) ^ 0x80000000u);
}

static inline vf v_copysign(vf magnitude, vf sign)
{
    return v_float((v_bits(magnitude) & 0x7fffffffu) | (v_bits(sign) & 0x80000000u));
}

/* ---- masks: what comparisons give ---- */

#if !defined(vm)
typedef vu vm;

#define V_COMPARE(name, op)           \
    static inline vm name(vf a, vf b) \
    {                                 \
        return (vm)(a op b);          \
    }
/* clang-format off */
V_COMPARE(v_lt, <) V_COMPARE(v_le, <=) V_COMPARE(v_gt, >) V_COMPARE(v_ge, >=) V_COMPARE(v_eq, ==)
V_COMPARE(v_ne, !=)
    /* clang-format on */

    static inline vm v_isnan(vf a)
{
    return (vm)(a != a);
}

/* Lowest bit set? */
static inline vm v_odd(vu a)
{
    return (vm)((a & 1u) != 0);
}

static inline vm m_or(vm a, vm b)
{
    return a | b;
}

static inline vm m_and(vm a, vm b)
{
    return a & b;
}

#if !defined(m_all)
static inline bool m_all(vm m)
{
    uint32_t all = ~0u;
    for (int j = 0; j < LANES; j++)
        all &= m[j];
    return all != 0;
}
#endif

#if !defined(m_any)
static inline bool m_any(vm m)
{
    uint32_t any = 0;
    for (int j = 0; j < LANES; j++)
        any |= m[j];
    return any != 0;
}
#endif

/* Is either NaN? */
static inline vm v_unordered(vf a, vf b)
{
    return (vm)(a != a) | (vm)(b != b);
}

/* a where m, else b. */
#if !defined(v_select)
static inline vf v_select(vm m, vf a, vf b)
{
    return v_float((v_bits(a) & m) | (v_bits(b) & ~m));
}
#endif

/* a where m, else 0. */
static inline vf v_where(vm m, vf a)
{
    return v_float(v_bits(a) & m);
}
#endif

/* a > b ? a : b and a < b ? a : b: b if they are equal or one is NaN. */
#if !defined(v_max)
static inline vf v_max(vf a, vf b)
{
    return v_select(v_gt(a, b), a, b);
}

static inline vf v_min(vf a, vf b)
{
    return v_select(v_lt(a, b), a, b);
}
#endif

/* ---- arithmetic ---- */

#if !defined(v_fma)
#define V_FUSED 0
static inline vf v_fma(vf a, vf b, vf c)
{
    return a * b + c;
}

static inline vd d_fma(vd a, vd b, vd c)
{
    return a * b + c;
}
#endif

static inline vd d_splat(double x)
{
    return x - (vd){0};
}

#if !defined(v_sqrt)
static inline vf v_sqrt(vf a)
{
    for (int j = 0; j < LANES; j++)
        a[j] = __builtin_sqrtf(a[j]);
    return a;
}
#endif

/* From 2^23 on a float is whole; below, the adder rounds at the last whole digit. */
#if !defined(v_round)
static inline vf v_round(vf x)
{
    vf a = v_abs(x), whole = (a + 0x1p23f) - 0x1p23f;
    return v_select(v_lt(a, v_splat(0x1p23f)), v_copysign(whole, x), x);
}

static inline vf v_floor(vf x)
{
    vf r = v_round(x);
    return v_copysign(r - v_where(v_gt(r, x), v_splat(1)), r);
}

static inline vf v_ceil(vf x)
{
    vf r = v_round(x);
    return v_copysign(r + v_where(v_lt(r, x), v_splat(1)), r);
}

static inline vf v_trunc(vf x)
{
    return v_copysign(v_floor(v_abs(x)), x);
}
#endif

/* ---- conversions ---- */

#if !defined(v_from_i32)
static inline vf v_from_i32(vi x)
{
    return __builtin_convertvector(x, vf);
}
#endif

/* Truncates and saturates; NaN gives 0. */
#if !defined(v_to_i32)
static inline vi v_to_i32(vf x)
{
    vf inside = v_max(v_splat(-0x1p31f), v_min(v_splat(0x1.fffffep30f), v_where(v_eq(x, x), x)));
    vu whole = (vu) __builtin_convertvector(inside, vi);
    return (vi)v_bits(v_select(v_ge(x, v_splat(0x1p31f)), v_float(v_splat_bits(INT32_MAX)), v_float(whole)));
}
#endif

/* For whole numbers that an i32 holds. */
#if !defined(v_whole)
static inline vi v_whole(vf x)
{
    return __builtin_convertvector(x, vi);
}
#endif

#if !defined(v_widen)
typedef float v_half __attribute__((vector_size(LANES * 2)));

static inline vd2 v_widen(vf x)
{
    v_half halves[2];
    memcpy(halves, &x, sizeof x);
    return (vd2){__builtin_convertvector(halves[0], vd), __builtin_convertvector(halves[1], vd)};
}

static inline vf v_narrow(vd2 x)
{
    v_half halves[2] = {__builtin_convertvector(x.lo, v_half), __builtin_convertvector(x.hi, v_half)};
    vf result;
    memcpy(&result, halves, sizeof result);
    return result;
}
#endif

/* a * b + c fused, or very nearly: for the few steps where two roundings would be too many. */
static inline vf v_fma_once(vf a, vf b, vf c)
{
#if V_FUSED
    return v_fma(a, b, c);
#else
    const vd2 x = v_widen(a), y = v_widen(b), z = v_widen(c);
    return v_narrow((vd2){x.lo * y.lo + z.lo, x.hi * y.hi + z.hi});
#endif
}

/* f16 and bf16 in the low halves of lanes: the same arithmetic as tensor/half.h. */
#if !defined(v_f16_bits)
static inline vf v_from_f16_bits(vu h)
{
    vu magnitude = h & 0x7fffu, shifted = magnitude << 13;
    vf small = v_from_i32((vi)magnitude) * 0x1p-24f;
    vu is_nan = (vu)((vi)magnitude > 0x7c00) & 0x00400000u;
    vf bits = v_select((vm)((vi)magnitude < 0x0400), small, v_float(shifted + (112u << 23)));
    bits = v_select((vm)((vi)magnitude >= 0x7c00), v_float(shifted | 0x7f800000u | is_nan), bits);
    return v_float(v_bits(bits) | (h & 0x8000u) << 16);
}

static inline vu v_f16_bits(vf f)
{
    vu u = v_bits(f), magnitude = u & 0x7fffffffu;
    vm tiny = (vm)((vi)magnitude < 0x38800000);
    vu subnormal = v_bits(v_where(tiny, v_float(magnitude)) + 0.5f) - 0x3f000000u;
    vu normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    vf nan = v_float(0x7e00u | ((magnitude >> 13) & 0x3ffu));
    vf special = v_select((vm)((vi)magnitude > 0x7f800000), nan, v_float(v_splat_bits(0x7c00)));
    vf finite = v_select(tiny, v_float(subnormal), v_float(normal));
    vf bits = v_select((vm)((vi)magnitude >= 0x477ff000), special, finite);
    return v_bits(bits) | (u >> 16 & 0x8000u);
}
#endif

static inline vu v_bf16_bits(vf f)
{
    vu u = v_bits(f);
    vu rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return v_bits(v_select(v_isnan(f), v_float(u >> 16 | 0x40u), v_float(rounded)));
}

/* ---- memory ---- */

typedef int8_t v_i8 __attribute__((vector_size(LANES)));
typedef uint8_t v_u8 __attribute__((vector_size(LANES)));
typedef uint16_t v_u16 __attribute__((vector_size(LANES * 2)));

static inline vf v_load(const float *p)
{
    vf x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline void v_store(float *p, vf x)
{
    memcpy(p, &x, sizeof x);
}

static inline vd d_load(const double *p)
{
    vd x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline void d_store(double *p, vd x)
{
    memcpy(p, &x, sizeof x);
}

#if !defined(v_widen_load)
static inline vd2 v_widen_load(const float *p)
{
    return v_widen(v_load(p));
}
#endif

/* 0 < n < LANES elements; the other lanes are 0. */
#if !defined(v_load_part)
static inline vf v_load_part(const float *p, int64_t n)
{
    vf x = {0};
    for (int j = 0; j < LANES - 1; j++)
        if (j < n)
            x[j] = p[j];
    return x;
}

static inline void v_store_part(float *p, vf x, int64_t n)
{
    for (int j = 0; j < LANES - 1; j++)
        if (j < n)
            p[j] = x[j];
}
#endif

/* Past the caches; p is aligned to the vector. */
#if !defined(v_stream)
static inline void v_stream(float *p, vf x)
{
    memcpy(p, &x, sizeof x);
}
#endif

/* LANES elements of a smaller type to 4 bytes each, and back by dropping the upper bits. */
#if !defined(v_load_u16)
static inline vu v_load_u16(const uint16_t *p)
{
    v_u16 x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, vu);
}

static inline void v_store_u16(uint16_t *p, vu bits)
{
    v_u16 x = __builtin_convertvector(bits, v_u16);
    memcpy(p, &x, sizeof x);
}
#endif

#if !defined(v_load_i8)
static inline vi v_load_i8(const int8_t *p)
{
    v_i8 x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, vi);
}

static inline vi v_load_u8(const uint8_t *p)
{
    v_u8 x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, vi);
}

static inline void v_store_u8(uint8_t *p, vi bits)
{
    v_u8 x = __builtin_convertvector(bits, v_u8);
    memcpy(p, &x, sizeof x);
}
#endif

/* Past the caches, where there is a way; p is aligned to as much as is stored. */
#if !defined(v_stream_u8)
static inline void v_stream_u16(uint16_t *p, vu bits)
{
    v_store_u16(p, bits);
}

static inline void v_stream_u8(uint8_t *p, vi bits)
{
    v_store_u8(p, bits);
}
#endif

#if !defined(v_load_f16)
static inline vf v_load_f16(const uint16_t *p)
{
    return v_from_f16_bits(v_load_u16(p));
}

static inline void v_store_f16(uint16_t *p, vf x)
{
    v_store_u16(p, v_f16_bits(x));
}

static inline void v_stream_f16(uint16_t *p, vf x)
{
    v_stream_u16(p, v_f16_bits(x));
}

static inline vf v_round_f16(vf x)
{
    return v_from_f16_bits(v_f16_bits(x));
}
#endif

/* table[index % 16]. */
#if !defined(v_lookup)
static inline vf v_lookup(const float table[16], vu index)
{
    vf x = {0};
    for (int j = 0; j < LANES; j++)
        x[j] = table[index[j] & 15];
    return x;
}
#endif

#endif
