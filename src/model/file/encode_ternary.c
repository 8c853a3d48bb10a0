/* encode_ternary.c - canonical t2 to the ternary types of files. */
#include <string.h>

#include "model/file/decode.h"

static void unpack(const uint8_t *t2, int64_t columns, uint8_t *codes)
{
    for (int64_t i = 0; i < columns / 4; i++) {
        for (int k = 0; k < 4; k++)
            codes[4 * i + k] = t2[i] >> 2 * k & 3;
    }
}

/* 128 codes in 32 bytes: code 32g + l goes to byte l, bits `first` + g * step. */
static void encode_half(const uint8_t *codes, int first, int step, uint8_t *out)
{
    for (int l = 0; l < 32; l++)
        out[l] = (uint8_t)(codes[l] << first | codes[32 + l] << (first + step) |
                           codes[64 + l] << (first + 2 * step) | codes[96 + l] << (first + 3 * step));
}

/* Up to five codes, `step` apart, the first the most significant digit; ceil(q * 256 / 243). */
static uint8_t encode_digits(const uint8_t *codes, int step, int count)
{
    unsigned q = 0;
    for (int n = 0; n < 5; n++)
        q = q * 3 + (n < count ? codes[n * step] : 0u);
    return (uint8_t)((q * 256 + 242) / 243);
}

static void encode_tq1_0(const uint8_t *codes, uint8_t *out)
{
    for (int m = 0; m < 32; m++)
        out[m] = encode_digits(codes + m, 32, 5);
    for (int m = 0; m < 16; m++)
        out[32 + m] = encode_digits(codes + 160 + m, 16, 5);
    for (int m = 0; m < 4; m++)
        out[48 + m] = encode_digits(codes + 240 + m, 4, 4);
}

void tern__ternary_encode_row(tern_stored stored, const uint8_t *t2, int64_t columns, const uint16_t *scales,
                              uint8_t *codes, uint8_t *row)
{
    unpack(t2, columns, codes);
    if (stored == TERN_STORED_I2_S) {
        for (int64_t b = 0; b < columns / TERN__I2_S_BLOCK; b++)
            encode_half(codes + TERN__I2_S_BLOCK * b, 6, -2, row + 32 * b);
        return;
    }
    size_t bytes = (size_t)tern_stored_get(stored)->block_bytes;
    for (int64_t b = 0; b < columns / TERN__TQ_BLOCK; b++) {
        const uint8_t *from = codes + TERN__TQ_BLOCK * b;
        uint8_t *to = row + bytes * (size_t)b;
        if (stored == TERN_STORED_TQ1_0) {
            encode_tq1_0(from, to);
        } else {
            encode_half(from, 0, 2, to);
            encode_half(from + 128, 0, 2, to + 32);
        }
        memcpy(to + bytes - 2, &scales[b], 2);
    }
}
