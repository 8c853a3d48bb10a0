/* linear_i8_neon.c - i8 products on NEON: products of 16 bits, the largest 16384, are added in pairs to 32 bits. A vector of
 * sums has two halves of each of two outputs. */
#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef int32x4_t ivec;
typedef int8x8_t quads;
#define WIDTH 2
#define VECTORS 16
#define MOST_ROWS 1
#define EACH_ROWS(M) M(1)

static inline __attribute__((always_inline)) quads quads_of(const int8_t *x)
{
    int32_t quad;
    memcpy(&quad, x, 4);
    return vreinterpret_s8_s32(vdup_n_s32(quad));
}

static inline __attribute__((always_inline)) ivec add_quads(ivec sums, const uint8_t *codes, quads quad)
{
    /* w + 128 with its upper bit turned is w */
    const int8x8_t w = vreinterpret_s8_u8(veor_u8(vld1_u8(codes), vdup_n_u8(128)));
    return vpadalq_s16(sums, vmull_s8(w, quad));
}

static inline __attribute__((always_inline)) void put(int32_t *y, ivec sums, bool add)
{
    const int32x2_t two = vpadd_s32(vget_low_s32(sums), vget_high_s32(sums));
    vst1_s32(y, add ? vadd_s32(vld1_s32(y), two) : two);
}

#define I_ZERO() vdupq_n_s32(0)
#define ADD_QUADS(s, p, q) add_quads(s, p, q)
#include "kernels/linear/bytes_impl.h"

TERN__LINEAR_I8_KERNEL(neon)
