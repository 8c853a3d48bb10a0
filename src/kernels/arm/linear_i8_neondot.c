/* linear_i8_neondot.c - i8 products on NEON with dot products of four signed bytes. */
#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef int32x4_t ivec;
typedef int8x16_t quads;
#define WIDTH 4
#define VECTORS 8
#define MOST_ROWS 2
#define EACH_ROWS(M) M(1) M(2)

static inline __attribute__((always_inline)) quads quads_of(const int8_t *x)
{
    int32_t quad;
    memcpy(&quad, x, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(quad));
}

static inline __attribute__((always_inline)) ivec add_quads(ivec sums, const uint8_t *codes, quads quad)
{
    /* w + 128 with its upper bit turned is w */
    return vdotq_s32(sums, vreinterpretq_s8_u8(veorq_u8(vld1q_u8(codes), vdupq_n_u8(128))), quad);
}

static inline __attribute__((always_inline)) void put(int32_t *y, ivec sums, bool add)
{
    vst1q_s32(y, add ? vaddq_s32(vld1q_s32(y), sums) : sums);
}

#define I_ZERO() vdupq_n_s32(0)
#define ADD_QUADS(s, p, q) add_quads(s, p, q)
#include "kernels/linear/bytes_impl.h"

TERN__LINEAR_I8_KERNEL(neondot)
