/* reference.c - slow, obvious versions of conversions. */
#include "tensor/reference.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

double reference_value(uint16_t bits, int mantissa)
{
    int exponent_bits = 15 - mantissa, bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (bits & 0x7fff) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - mantissa);
    return sign * ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

/* Finds the neighbours by bisection over the ordered finite patterns and compares with their midpoint, which
 * has few bits and is exact. Infinity stands at the place where the next finite number would be. */
uint16_t reference_round(long double x, int mantissa)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)(0x7fff >> mantissa << mantissa);
    long double magnitude = fabsl(x);
    int low = 0, high = infinity; /* value(low) <= magnitude < value(high), infinity's place counted */
    double end = reference_value((uint16_t)(infinity - 1), mantissa) * 2 -
                 reference_value((uint16_t)(infinity - 2), mantissa);
    if (magnitude >= end)
        return sign | infinity;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (reference_value((uint16_t)middle, mantissa) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    double above = high == infinity ? end : reference_value((uint16_t)high, mantissa);
    double midpoint = (reference_value((uint16_t)low, mantissa) + above) / 2; /* exact */
    if (magnitude < midpoint)
        return (uint16_t)(sign | low);
    if (magnitude > midpoint)
        return (uint16_t)(sign | high);
    return (uint16_t)(sign | (low % 2 == 0 ? low : high));
}

/* An element as a number: long double holds every i64 and every float type exactly (x87 and binary128). */
static long double load(tern_dtype dtype, const void *source)
{
    uint8_t u8;
    int8_t i8;
    int32_t i32;
    int64_t i64;
    uint16_t u16;
    float f32;
    double f64;
    /* clang-format off */
    switch (dtype) {
    case TERN_BOOL: memcpy(&u8, source, 1); return u8 ? 1 : 0;
    case TERN_U8: memcpy(&u8, source, 1); return u8;
    case TERN_I8: memcpy(&i8, source, 1); return i8;
    case TERN_I32: memcpy(&i32, source, 4); return i32;
    case TERN_I64: memcpy(&i64, source, 8); return (long double)i64;
    case TERN_F16: memcpy(&u16, source, 2); return reference_value(u16, 10);
    case TERN_BF16: memcpy(&u16, source, 2); return reference_value(u16, 7);
    case TERN_F32: memcpy(&f32, source, 4); return f32;
    default: memcpy(&f64, source, 8); return f64;
    }
    /* clang-format on */
}

/* Floats saturate, integers wrap. */
static int64_t to_int(long double x, bool wraps, int bits, bool is_signed)
{
    long double low = is_signed ? -ldexpl(1, bits - 1) : 0, high = ldexpl(1, is_signed ? bits - 1 : bits) - 1;
    if (isnan(x))
        return 0;
    if (wraps) {
        long double range = ldexpl(1, bits), wrapped = fmodl(x, range);
        if (wrapped < low)
            wrapped += range;
        if (wrapped > high)
            wrapped -= range;
        return (int64_t)wrapped;
    }
    return (int64_t)(x < low ? low : x > high ? high : truncl(x));
}

void reference_convert(tern_dtype from, const void *source, tern_dtype to, void *target)
{
    long double x = load(from, source);
    bool wraps = from <= TERN_I64;
    uint8_t truth = x != 0;
    uint8_t u8 = (uint8_t)to_int(x, wraps, 8, false);
    int8_t i8 = (int8_t)to_int(x, wraps, 8, true);
    int32_t i32 = (int32_t)to_int(x, wraps, 32, true);
    int64_t i64 = to_int(x, wraps, 64, true);
    uint16_t f16 = isnan(x) ? 0x7e00 : reference_round(x, 10),
             bf16 = isnan(x) ? 0x7fc0 : reference_round(x, 7);
    float f32 = (float)x;
    double f64 = (double)x;
    /* clang-format off */
    switch (to) {
    case TERN_BOOL: memcpy(target, &truth, 1); break;
    case TERN_U8: memcpy(target, &u8, 1); break;
    case TERN_I8: memcpy(target, &i8, 1); break;
    case TERN_I32: memcpy(target, &i32, 4); break;
    case TERN_I64: memcpy(target, &i64, 8); break;
    case TERN_F16: memcpy(target, &f16, 2); break;
    case TERN_BF16: memcpy(target, &bf16, 2); break;
    case TERN_F32: memcpy(target, &f32, 4); break;
    default: memcpy(target, &f64, 8); break;
    }
    /* clang-format on */
}

int8_t reference_ternary(tern_dtype from, const void *source)
{
    long double x = load(from, source);
    if (isnan(x))
        return 0;
    long double rounded = rintl(x); /* the default mode: half to even */
    return (int8_t)(rounded > 1 ? 1 : rounded < -1 ? -1 : rounded);
}
