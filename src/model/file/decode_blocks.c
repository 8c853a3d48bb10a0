/* decode_blocks.c - quantised blocks of GGUF to f32.
 *
 *   Q8_0  f16 d, 32 x i8 q                                   d * q
 *   Q4_0  f16 d, 16 bytes: q[j] low half of byte j, q[j+16] high half       d * (q - 8)
 *   Q4_K  f16 d, f16 m, 12 bytes of eight 6-bit scales and minima, 128 bytes: 64 elements in 32 bytes, the first 32 in
 *         the low halves                                      d * scale * q - m * minimum
 *   Q6_K  128 bytes of low halves, 64 bytes of upper pairs of bits, 16 x i8 scales, f16 d        d * scale * (q - 32) */
#include <string.h>

#include "model/file/decode.h"
#include "tensor/half.h"

static float half_at(const uint8_t *bytes)
{
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    return tern__f16_to_f32(half);
}

static void decode_q8_0(const uint8_t *block, float *out)
{
    float d = half_at(block);
    for (int i = 0; i < 32; i++)
        out[i] = d * (float)(int8_t)block[2 + i];
}

static void decode_q4_0(const uint8_t *block, float *out)
{
    float d = half_at(block);
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)((block[2 + i] & 15) - 8);
        out[i + 16] = d * (float)((block[2 + i] >> 4) - 8);
    }
}

/* Scale and minimum j of eight: the first four have their six bits together, the others their low four in bytes 8..11 and
 * their upper two above those of the first. */
static void scale_and_minimum(const uint8_t *packed, int j, int *scale, int *minimum)
{
    if (j < 4) {
        *scale = packed[j] & 63;
        *minimum = packed[j + 4] & 63;
    } else {
        *scale = (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4;
        *minimum = packed[j + 4] >> 4 | (packed[j] >> 6) << 4;
    }
}

static void decode_q4_k(const uint8_t *block, float *out)
{
    float d = half_at(block), m = half_at(block + 2);
    for (int j = 0; j < 8; j++) {
        int scale, minimum;
        scale_and_minimum(block + 4, j, &scale, &minimum);
        float factor = d * (float)scale, less = m * (float)minimum;
        const uint8_t *q = block + 16 + 32 * (j / 2);
        for (int i = 0; i < 32; i++)
            out[32 * j + i] = factor * (float)(q[i] >> 4 * (j % 2) & 15) - less;
    }
}

static void decode_q6_k(const uint8_t *block, float *out)
{
    float d = half_at(block + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, g = i % 128 / 32, l = i % 32;
        int low = block[64 * half + 32 * (g % 2) + l] >> 4 * (g / 2) & 15;
        int high = block[128 + 32 * half + l] >> 2 * g & 3;
        int scale = (int8_t)block[192 + i / 16];
        out[i] = d * (float)scale * (float)((low | high << 4) - 32);
    }
}

void tern__blocks_decode(tern_stored stored, const uint8_t *blocks, int64_t elements, float *out)
{
    static void (*const decoders[TERN_STORED_COUNT])(const uint8_t *, float *) = {
        [TERN_STORED_Q8_0] = decode_q8_0,
        [TERN_STORED_Q4_0] = decode_q4_0,
        [TERN_STORED_Q4_K] = decode_q4_k,
        [TERN_STORED_Q6_K] = decode_q6_k,
    };
    const tern_stored_info *info = tern_stored_get(stored);
    for (int64_t i = 0; i < elements; i += info->block_elements) {
        decoders[stored](blocks, out + i);
        blocks += info->block_bytes;
    }
}
