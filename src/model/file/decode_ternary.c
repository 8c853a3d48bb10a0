/* decode_ternary.c - ternary codes of files to canonical t2 and t5. All of them have code = value + 1, as t2 has; what
 * differs is the order. */
#include <string.h>

#include "model/file/decode.h"

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

static bool decode_i2_s(const uint8_t *row, int64_t columns, uint8_t *t2)
{
    for (int64_t b = 0; b < columns / TERN__I2_S_BLOCK; b++)
        decode_half(row + 32 * b, 6, -2, t2 + 32 * b);
    return !has_code_3(row, columns / 4);
}

static bool decode_tq2_0(const uint8_t *row, int64_t columns, uint8_t *t2, uint16_t *scales)
{
    bool bad = false;
    for (int64_t b = 0; b < columns / TERN__TQ_BLOCK; b++) {
        const uint8_t *block = row + 66 * b;
        bad |= has_code_3(block, 64);
        decode_half(block, 0, 2, t2 + 64 * b);
        decode_half(block + 32, 0, 2, t2 + 64 * b + 32);
        memcpy(&scales[b], block + 64, sizeof scales[b]);
    }
    return !bad;
}

/* Digit n of `count` bytes. A byte is ceil(q * 256 / 243) of five base-3 digits q: multiplying by 3 moves the next digit
 * into the bits above 8. */
static void decode_digits(const uint8_t *bytes, int count, int n, uint8_t *codes)
{
    static const uint8_t powers[] = {1, 3, 9, 27, 81};
    for (int m = 0; m < count; m++)
        codes[m] = (uint8_t)((unsigned)(uint8_t)(bytes[m] * powers[n]) * 3 >> 8);
}

static void decode_tq1_0(const uint8_t *row, int64_t columns, uint8_t *t2, uint16_t *scales)
{
    for (int64_t b = 0; b < columns / TERN__TQ_BLOCK; b++) {
        const uint8_t *block = row + 54 * b;
        uint8_t codes[TERN__TQ_BLOCK];
        for (int n = 0; n < 5; n++) {
            decode_digits(block, 32, n, codes + 32 * n);
            decode_digits(block + 32, 16, n, codes + 160 + 16 * n);
            if (n < 4)
                decode_digits(block + 48, 4, n, codes + 240 + 4 * n);
        }
        gather_pairs(codes, 0, 64, t2 + 64 * b);
        memcpy(&scales[b], block + 52, sizeof scales[b]);
    }
}

bool tern__ternary_decode_row(tern_stored stored, const uint8_t *row, int64_t columns, uint8_t *t2,
                              uint16_t *scales)
{
    switch (stored) {
    case TERN_STORED_I2_S:
        return decode_i2_s(row, columns, t2);
    case TERN_STORED_TQ2_0:
        return decode_tq2_0(row, columns, t2, scales);
    case TERN_STORED_TQ1_0:
        decode_tq1_0(row, columns, t2, scales);
        return true;
    default:
        return false;
    }
}

bool tern__hf_decode_row(const uint8_t *bytes, int plane, int64_t columns, uint8_t *t2)
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

void tern__t5_from_t2(const uint8_t *t2, int64_t columns, uint8_t *t5)
{
    int64_t whole = columns / TERN_T5_PER_BYTE;
    for (int64_t j = 0; j * TERN_T5_PER_BYTE < columns; j++) {
        static const unsigned powers[] = {1, 3, 9, 27, 81};
        int64_t first = j * TERN_T5_PER_BYTE;
        unsigned byte = 0;
        for (int64_t i = 0; i < TERN_T5_PER_BYTE; i++) {
            int64_t c = first + i;
            unsigned code = j < whole || c < columns ? (unsigned)t2[c / 4] >> 2 * (c % 4) & 3u : 1u;
            byte += code * powers[i];
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
