/* codec.c - the ternary types of files: decoding, encoding and where scales are, a row for each. All of them have
 * code = value + 1, as t2 has; what differs is the order. */
#include "model/file/codec.h"

#include <string.h>

/* ---- codes of two bits ------------------------------------------------------------------------------------------- */

/* Four bytes at a time, eight where there are: the pairs of bits at `shift` of bytes 4j .. 4j+3 become the byte out[j]. */
static void gather_pairs(const uint8_t *bytes, int shift, int64_t n, uint8_t *out)
{
    int64_t j = 0;
    for (; j + 2 <= n; j += 2) {
        uint64_t words;
        memcpy(&words, bytes + 4 * j, sizeof words);
        words = words >> shift & 0x0303030303030303u;
        words |= words >> 6;
        words |= words >> 12;
        out[j] = (uint8_t)words;
        out[j + 1] = (uint8_t)(words >> 32);
    }
    if (j < n) {
        uint32_t word;
        memcpy(&word, bytes + 4 * j, sizeof word);
        word = word >> shift & 0x03030303u;
        word |= word >> 6;
        out[j] = (uint8_t)(word | word >> 12);
    }
}

/* Is one of the four codes of any byte 3? */
static bool has_code_3(const uint8_t *bytes, int64_t n)
{
    uint8_t both = 0;
    for (int64_t i = 0; i < n; i++)
        both |= (uint8_t)(bytes[i] & bytes[i] >> 1 & 0x55);
    return both != 0;
}

/* 128 elements in 32 bytes: element 32g + l is in byte l, bits `first` + g * step. */
static void decode_half(const uint8_t *bytes, int first, int step, uint8_t *t2)
{
    for (int g = 0; g < 4; g++)
        gather_pairs(bytes, first + g * step, 8, t2 + 8 * g);
}

/* 128 codes in 32 bytes: code 32g + l goes to byte l, bits `first` + g * step. */
static void encode_half(const uint8_t *codes, int first, int step, uint8_t *out)
{
    for (int l = 0; l < 32; l++)
        out[l] = (uint8_t)(codes[l] << first | codes[32 + l] << (first + step) |
                           codes[64 + l] << (first + 2 * step) | codes[96 + l] << (first + 3 * step));
}

/* Four codes of 0, 1 or 2. */
static uint8_t any_pairs(int byte)
{
    int digits = byte * 81 / 256;
    return (uint8_t)(digits % 3 | digits / 3 % 3 << 2 | digits / 9 % 3 << 4 | digits / 27 << 6);
}

/* ---- I2_S: 128 elements in 32 bytes ------------------------------------------------------------------------------ */

static bool decode_i2_s(const uint8_t *row, int plane, int64_t columns, uint8_t *t2)
{
    (void)plane;
    for (int64_t b = 0; b < columns / TERN__I2_S_BLOCK; b++)
        decode_half(row + 32 * b, 6, -2, t2 + 32 * b);
    return !has_code_3(row, columns / 4);
}

static void encode_i2_s(const uint8_t *codes, int64_t columns, uint8_t *row)
{
    for (int64_t b = 0; b < columns / TERN__I2_S_BLOCK; b++)
        encode_half(codes + TERN__I2_S_BLOCK * b, 6, -2, row + 32 * b);
}

/* ---- TQ2_0: 256 elements in two halves of 32 bytes, and a scale --------------------------------------------------- */

static bool decode_tq2_0(const uint8_t *row, int plane, int64_t columns, uint8_t *t2)
{
    bool bad = false;
    (void)plane;
    for (int64_t b = 0; b < columns / TERN__TQ_BLOCK; b++) {
        const uint8_t *block = row + TERN__BYTES_TQ2_0 * b;
        bad |= has_code_3(block, 64);
        decode_half(block, 0, 2, t2 + 64 * b);
        decode_half(block + 32, 0, 2, t2 + 64 * b + 32);
    }
    return !bad;
}

static void encode_tq2_0(const uint8_t *codes, int64_t columns, uint8_t *row)
{
    for (int64_t b = 0; b < columns / TERN__TQ_BLOCK; b++) {
        encode_half(codes + TERN__TQ_BLOCK * b, 0, 2, row + TERN__BYTES_TQ2_0 * b);
        encode_half(codes + TERN__TQ_BLOCK * b + 128, 0, 2, row + TERN__BYTES_TQ2_0 * b + 32);
    }
}

/* ---- TQ1_0: 256 elements in 52 bytes of five digits or four, and a scale ------------------------------------------- */

/* Digit n of `count` bytes. A byte is ceil(q * 256 / 243) of five base-3 digits q: multiplying by 3 moves the next digit
 * into the bits above 8. */
static void decode_digits(const uint8_t *bytes, int count, int n, uint8_t *codes)
{
    static const uint8_t powers[] = {1, 3, 9, 27, 81};
    for (int m = 0; m < count; m++)
        codes[m] = (uint8_t)((unsigned)(uint8_t)(bytes[m] * powers[n]) * 3 >> 8);
}

static bool decode_tq1_0(const uint8_t *row, int plane, int64_t columns, uint8_t *t2)
{
    (void)plane;
    for (int64_t b = 0; b < columns / TERN__TQ_BLOCK; b++) {
        const uint8_t *block = row + TERN__BYTES_TQ1_0 * b;
        uint8_t codes[TERN__TQ_BLOCK];
        for (int n = 0; n < 5; n++) {
            decode_digits(block, 32, n, codes + 32 * n);
            decode_digits(block + 32, 16, n, codes + 160 + 16 * n);
            if (n < 4)
                decode_digits(block + 48, 4, n, codes + 240 + 4 * n);
        }
        gather_pairs(codes, 0, 64, t2 + 64 * b);
    }
    return true;
}

/* Up to five codes, `step` apart, the first the most significant digit; ceil(q * 256 / 243). */
static uint8_t encode_digits(const uint8_t *codes, int step, int count)
{
    unsigned q = 0;
    for (int n = 0; n < 5; n++)
        q = q * 3 + (n < count ? codes[n * step] : 0u);
    return (uint8_t)((q * 256 + 242) / 243);
}

static void encode_tq1_0(const uint8_t *codes, int64_t columns, uint8_t *row)
{
    for (int64_t b = 0; b < columns / TERN__TQ_BLOCK; b++) {
        const uint8_t *from = codes + TERN__TQ_BLOCK * b;
        uint8_t *out = row + TERN__BYTES_TQ1_0 * b;
        for (int m = 0; m < 32; m++)
            out[m] = encode_digits(from + m, 32, 5);
        for (int m = 0; m < 16; m++)
            out[32 + m] = encode_digits(from + 160 + m, 16, 5);
        for (int m = 0; m < 4; m++)
            out[48 + m] = encode_digits(from + 240 + m, 4, 4);
    }
}

static uint8_t any_digits(int byte)
{
    return (uint8_t)((byte * 243 / 256 * 256 + 242) / 243);
}

/* ---- HF_T2: four rows in the bytes of one -------------------------------------------------------------------------- */

static bool decode_hf_t2(const uint8_t *bytes, int plane, int64_t columns, uint8_t *t2)
{
    int64_t whole = columns / 4, rest = columns % 4;
    gather_pairs(bytes, 2 * plane, whole, t2);
    if (rest) {
        uint8_t codes[4] = {1, 1, 1, 1}; /* padding has the value zero */
        for (int64_t i = 0; i < rest; i++)
            codes[i] = (uint8_t)(bytes[4 * whole + i] >> 2 * plane & 3);
        gather_pairs(codes, 0, 1, t2 + whole);
    }
    return !has_code_3(t2, whole + (rest != 0));
}

static void encode_hf_t2(const uint8_t *codes, int64_t columns, uint8_t *bytes)
{
    for (int64_t k = 0; k < columns; k++)
        bytes[k] = (uint8_t)(codes[k] | codes[columns + k] << 2 | codes[2 * columns + k] << 4 |
                             codes[3 * columns + k] << 6);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

const tern__codec *tern__codec_get(tern_stored stored)
{
    static const tern__codec codecs[TERN_STORED_COUNT] = {
        [TERN_STORED_I2_S] = {TERN__SCALES_BEHIND, 1, decode_i2_s, encode_i2_s, any_pairs},
        [TERN_STORED_TQ1_0] = {TERN__SCALES_BLOCKS, 1, decode_tq1_0, encode_tq1_0, any_digits},
        [TERN_STORED_TQ2_0] = {TERN__SCALES_BLOCKS, 1, decode_tq2_0, encode_tq2_0, any_pairs},
        [TERN_STORED_HF_T2] = {TERN__SCALES_BESIDE, 4, decode_hf_t2, encode_hf_t2, any_pairs},
    };
    return (unsigned)stored < TERN_STORED_COUNT && codecs[stored].decode ? &codecs[stored] : NULL;
}

/* ---- t2 ------------------------------------------------------------------------------------------------------------ */

void tern__t2_row_f32(const uint8_t *t2, int64_t columns, const float *scales, int64_t n_scales, float *out)
{
    for (int64_t k = 0; k < columns; k++)
        out[k] = (float)((int)tern__t2_code(t2, k) - 1) * scales[n_scales == 1 ? 0 : k / TERN__TQ_BLOCK];
}

void tern__t5_from_t2(const uint8_t *t2, int64_t columns, uint8_t *t5)
{
    int64_t whole = columns / TERN_T5_PER_BYTE;
    for (int64_t j = 0; j * TERN_T5_PER_BYTE < columns; j++) {
        static const unsigned powers[] = {1, 3, 9, 27, 81};
        int64_t first = j * TERN_T5_PER_BYTE;
        unsigned byte = 0;
        for (int64_t i = 0; i < TERN_T5_PER_BYTE; i++) {
            int64_t c = first + i;
            byte += (j < whole || c < columns ? tern__t2_code(t2, c) : 1u) * powers[i];
        }
        t5[j] = (uint8_t)byte;
    }
}

bool tern__t2_is_zero(const uint8_t *t2, int64_t bytes)
{
    uint8_t different = 0;
    for (int64_t i = 0; i < bytes; i++)
        different |= t2[i] ^ TERN_T2_ZERO_BYTE;
    return different == 0;
}
