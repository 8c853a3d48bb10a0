/* half.h - one f16 or bf16 value to and from f32: round to nearest, ties to even, subnormals kept, NaN stays
 * NaN (quiet, sign and top payload bits kept). Every other conversion path must agree with these bit for
 * bit. */
#ifndef TERN_TENSOR_HALF_H
#define TERN_TENSOR_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t tern__f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float tern__f32_from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline float tern__bf16_to_f32(uint16_t h)
{
    return tern__f32_from_bits((uint32_t)h << 16);
}

static inline uint16_t tern__f32_to_bf16(float f)
{
    uint32_t u = tern__f32_bits(f);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t nan = (u >> 16) | 0x40u; /* quiet, or truncation could make an infinity of it */
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/* x if the condition holds, else y, in plain arithmetic: given a choice, compilers make it a branch, and a
 * branch around a float operation keeps loops over the two functions below from being vectorised. Signed,
 * because SSE2 compares only signed integers. */
static inline int32_t tern__choose(int condition, int32_t x, int32_t y)
{
    return y ^ ((x ^ y) & -condition);
}

static inline float tern__f16_to_f32(uint16_t h)
{
    int32_t magnitude = h & 0x7fff, shifted = magnitude << 13;
    int32_t normal = shifted + (112 << 23); /* the exponent's bias goes from 15 to 127 */
    int32_t special = shifted | 0x7f800000 | (magnitude > 0x7c00) << 22;
    float small = (float)magnitude * 0x1p-24f; /* zero and subnormals: exact */
    int32_t finite = tern__choose(magnitude < 0x0400, (int32_t)tern__f32_bits(small), normal);
    int32_t bits = tern__choose(magnitude >= 0x7c00, special, finite);
    return tern__f32_from_bits((uint32_t)bits | (uint32_t)(h & 0x8000u) << 16);
}

static inline uint16_t tern__f32_to_f16(float f)
{
    uint32_t u = tern__f32_bits(f);
    int32_t magnitude = (int32_t)(u & 0x7fffffffu);
    /* below the smallest normal, 2^-14: 0.5 has its last bit at 2^-24, so the adder rounds there */
    int is_tiny = magnitude < 0x38800000;
    float tiny = tern__f32_from_bits((uint32_t)(magnitude & -is_tiny));
    int32_t subnormal = (int32_t)tern__f32_bits(tiny + 0.5f) - 0x3f000000;
    int32_t normal = ((magnitude - (112 << 23)) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    int32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    int32_t special = tern__choose(magnitude > 0x7f800000, nan, 0x7c00);
    int32_t finite = tern__choose(is_tiny, subnormal, normal);
    /* from 65520 on a number rounds to 65536 or more: infinity */
    int32_t bits = tern__choose(magnitude >= 0x477ff000, special, finite);
    return (uint16_t)((uint32_t)bits | (u >> 16 & 0x8000u));
}

/* f64 -> f16/bf16 must round once: going through f32 would round twice. Implemented in half.c. */
uint16_t tern__f64_to_f16(double f);
uint16_t tern__f64_to_bf16(double f);

#endif
