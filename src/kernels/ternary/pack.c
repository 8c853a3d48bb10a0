/* pack.c - canonical t2 and t5 into the packed form, and rows of activations into the prepared one. */
#include <string.h>

#include "base/checked.h"
#include "kernels/ternary/ternary.h"
#include "tensor/ternary.h"

/* Columns that are unpacked at once: whole bytes of t2 and t5, whole quads. */
enum { CHUNK = 320 };
_Static_assert(CHUNK % TERN_T2_PER_BYTE == 0 && CHUNK % TERN_T5_PER_BYTE == 0 && CHUNK % 4 == 0,
               "a chunk is ragged");

/* What the code of plane p counts in a packed byte. */
static const uint32_t weight_of[TERN__TERNARY_MAX_PLANES + 1][TERN__TERNARY_MAX_PLANES] = {
    [TERN__TERNARY_4] = {1, 4, 16, 64, 0},
    [TERN__TERNARY_5] = {1, 3, 9, 28, 84},
};
_Static_assert(2 * (1 + 4 + 16 + 64) < 256 && 2 * (1 + 3 + 9 + 28 + 84) < 256, "a byte holds all codes");

bool tern__ternary_packed_bytes(tern__ternary_form form, int64_t rows, int64_t columns, size_t *bytes)
{
    size_t tiles, quads, size;
    if (rows < 0 || columns < 0 || columns > INT64_MAX - TERN__TERNARY_ALIGN * 4)
        return false;
    if (!tern__size_from_i64(tern__ternary_tiles(form, rows), &tiles) ||
        !tern__size_from_i64(tern__ternary_quads(columns), &quads) ||
        !tern__size_mul(quads, TERN__TERNARY_QUAD_BYTES, &size) || !tern__size_mul(tiles, size, &size))
        return false;
    *bytes = size;
    return true;
}

/* The four codes of each byte of t2 become four bytes. */
static void spread_t2(const uint8_t *from, int64_t bytes, uint8_t *codes)
{
    for (int64_t i = 0; i < bytes; i++) {
        uint32_t word = from[i];
        word = (word | word << 12) & 0x000f000fu;
        word = (word | word << 6) & 0x03030303u;
        memcpy(codes + 4 * i, &word, sizeof word);
    }
}

/* Codes of up to CHUNK columns of one row; what is missing stays 0. */
static void codes_of(tern_dtype dtype, const uint8_t *from, int64_t columns, uint8_t *codes)
{
    int8_t values[CHUNK];
    if (dtype == TERN_T2 && columns == CHUNK) {
        spread_t2(from, CHUNK / TERN_T2_PER_BYTE, codes);
        return;
    }
    tern__ternary_unpack_row(dtype, from, columns, values);
    for (int64_t c = 0; c < columns; c++)
        codes[c] = (uint8_t)(values[c] + 1);
}

/* Packed bytes add up without carries, so they are computed two at a time, row by row: compilers make vectors of that. */
static void pack_chunk(tern__ternary_form form, uint8_t (*codes)[CHUNK], int64_t quads, uint8_t *to)
{
    for (int r = 0; r < TERN__TERNARY_BLOCK; r++) {
        uint16_t sums[CHUNK / 2] = {0}, pairs[CHUNK / 2];
        for (int p = 0; p < (int)form; p++) {
            const uint16_t weight = (uint16_t)weight_of[form][p];
            memcpy(pairs, codes[p * TERN__TERNARY_BLOCK + r], sizeof pairs);
            for (int i = 0; i < CHUNK / 2; i++)
                sums[i] = (uint16_t)(sums[i] + pairs[i] * weight);
        }
        for (int64_t q = 0; q < quads; q++)
            memcpy(to + q * TERN__TERNARY_QUAD_BYTES + 4 * r, (const uint8_t *)sums + 4 * q, 4);
    }
}

void tern__ternary_pack(tern__ternary_form form, tern_dtype dtype, const uint8_t *canonical,
                        int64_t row_stride, int64_t rows, int64_t columns, int64_t tile_begin,
                        int64_t tile_end, uint8_t *packed)
{
    const int64_t tile_rows = tern__ternary_tile_rows(form), tile_bytes = tern__ternary_tile_bytes(columns);
    const int64_t per_byte = dtype == TERN_T2 ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE;
    uint8_t codes[TERN__TERNARY_MAX_TILE][CHUNK];
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        const int64_t first = tile * tile_rows, present = rows - first < tile_rows ? rows - first : tile_rows;
        uint8_t *to = packed + tile * tile_bytes;
        for (int64_t c = 0; c < columns; c += CHUNK) {
            const int64_t n = columns - c < CHUNK ? columns - c : CHUNK;
            if (present < tile_rows || n < CHUNK)
                memset(codes, 0, sizeof codes);
            for (int64_t r = 0; r < present; r++)
                codes_of(dtype, canonical + (first + r) * row_stride + c / per_byte, n, codes[r]);
            pack_chunk(form, codes, tern__ternary_quads(n), to + c / 4 * TERN__TERNARY_QUAD_BYTES);
        }
    }
}

void tern__ternary_prepare(const int8_t *x, int64_t columns, int8_t *to)
{
    const int64_t stride = tern__ternary_x_stride(columns);
    enum { PART = 1 << 16 }; /* columns whose sum stays within 32 bits; the total is taken modulo 2^32 */
    uint32_t sum = 0;
    for (int64_t from = 0; from < columns; from += PART) {
        const int64_t end = columns - from < PART ? columns : from + PART;
        int32_t part = 0;
        for (int64_t c = from; c < end; c++)
            part += x[c];
        sum += (uint32_t)part;
    }
    if (columns > 0 && to != x)
        memcpy(to, x, (size_t)columns);
    memset(to + columns, 0, (size_t)(stride - 4 - columns));
    memcpy(to + stride - 4, &sum, 4);
}
