/* half.h - one f16 or bf16 value to and from f32: round to nearest, ties to even, subnormals kept, NaN stays
 * NaN (quiet, sign and top payload bits kept). Every other conversion path must agree with these bit for bit. */
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
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((u >> 16) | 0x40u); /* quiet it, or truncation could make an infinity */
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

/* All cases are computed and one is chosen, so that loops over these two vectorise. */
static inline float tern__f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
    uint32_t normal = (magnitude << 13) + (112u << 23);         /* the exponent's bias goes from 15 to 127 */
    uint32_t special = (magnitude << 13) | 0x7f800000u | (magnitude > 0x7c00u ? 0x400000u : 0);
    float small = (float)(int32_t)magnitude * 0x1p-24f;         /* zero and subnormals: exact */
    uint32_t bits = magnitude >= 0x7c00u ? special : magnitude < 0x0400u ? tern__f32_bits(small) : normal;
    return tern__f32_from_bits(sign | bits);
}

static inline uint16_t tern__f32_to_f16(float f)
{
    uint32_t u = tern__f32_bits(f), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    /* below the smallest normal, 2^-14: 0.5 has its last bit at 2^-24, so the adder rounds there */
    uint32_t tiny = magnitude < 0x38800000u ? magnitude : 0;
    uint32_t subnormal = tern__f32_bits(tern__f32_from_bits(tiny) + 0.5f) - 0x3f000000u;
    uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : 0x7c00u;
    /* from 65520 on a number rounds to 65536 or more: infinity */
    uint32_t bits = magnitude >= 0x477ff000u ? special : magnitude < 0x38800000u ? subnormal : normal;
    return (uint16_t)(sign | bits);
}

/* f64 -> f16/bf16 must round once: going through f32 would round twice. Implemented in half.c. */
uint16_t tern__f64_to_f16(double f);
uint16_t tern__f64_to_bf16(double f);

#endif
