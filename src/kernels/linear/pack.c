/* pack.c - weights into tiles of 32 rows (linear.h). */
#include <string.h>

#include "kernels/linear/linear.h"
#include "tensor/blocks.h"

enum { TILE = TERN__LINEAR_TILE };

bool tern__linear_form_of(tern_dtype dtype, tern__linear_form *out)
{
    switch (dtype) {
#define CASE(id, name)            \
    case TERN_##id:               \
        *out = TERN__LINEAR_##id; \
        return true;
        TERN__LINEAR_FORMS(CASE)
#undef CASE
    default:
        return false;
    }
}

int64_t tern__linear_tile_bytes(tern_dtype dtype, int64_t k)
{
    const int64_t units = dtype == TERN_I8 ? (k / 4 + (k % 4 != 0)) * 4 : tern__row_units(dtype, k);
    return TILE * units * (int64_t)tern__dtype_unit_bytes(dtype);
}

/* ---- one block of one row, into its place r in the tile ---- */

static uint16_t load_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

/* The scale of row r. One that is not finite becomes NaN: the kernels may multiply before they subtract. */
static void put_scale(uint8_t *to, int r, const uint8_t *from)
{
    uint16_t bits = load_u16(from);
    if ((bits & 0x7c00) == 0x7c00)
        bits = 0x7e00;
    memcpy(to + 2 * r, &bits, 2);
}

static void put_word(uint8_t *to, int r, uint32_t word)
{
    memcpy(to + 4 * r, &word, 4);
}

static void put_q8_0(const uint8_t *block, int r, uint8_t *to)
{
    put_scale(to, r, block);
    for (int e = 0; e < 32; e++)
        to[2 * TILE + e / 4 * 4 * TILE + 4 * r + e % 4] = block[2 + e];
}

/* 4-bit codes of some columns, eight to a word. */
static void put_nibbles(const uint8_t *codes, int columns, int r, uint8_t *to)
{
    for (int e = 0; e < columns; e += 8) {
        uint32_t word = 0;
        for (int i = 0; i < 8; i++)
            word |= (uint32_t)codes[e + i] << 4 * i;
        put_word(to + e / 8 * 4 * TILE, r, word);
    }
}

static void put_q4_0(const uint8_t *block, int r, uint8_t *to)
{
    uint8_t codes[32];
    for (int e = 0; e < 32; e++)
        codes[e] = block[2 + e % 16] >> (e < 16 ? 0 : 4) & 15;
    put_scale(to, r, block);
    put_nibbles(codes, 32, r, to + 2 * TILE);
}

/* Sixteen codes of 6 bits in three words. */
static void put_sixes(const uint8_t codes[16], int r, uint8_t *to)
{
    for (int w = 0; w < 3; w++) {
        const uint32_t last = codes[15] >> 2 * w & 3u;
        uint32_t word = last << 31 | last >> 1;
        for (int i = 0; i < 5; i++)
            word |= (uint32_t)codes[5 * w + i] << (1 + 6 * i);
        put_word(to + w * 4 * TILE, r, word);
    }
}

static void put_q4_k(const uint8_t *block, int r, uint8_t *to)
{
    uint8_t codes[256], scales[16];
    for (int e = 0; e < 256; e++)
        codes[e] = block[16 + e / 64 * 32 + e % 32] >> (e % 64 < 32 ? 0 : 4) & 15;
    for (int j = 0; j < 8; j++) {
        int scale, offset;
        tern__q4_k_scale(block + 4, j, &scale, &offset);
        scales[j] = (uint8_t)scale;
        scales[8 + j] = (uint8_t)offset;
    }
    put_scale(to, r, block);
    put_scale(to + 2 * TILE, r, block + 2);
    put_nibbles(codes, 256, r, to + 4 * TILE);
    put_sixes(scales, r, to + 132 * TILE);
}

static void q6_codes(const uint8_t *block, uint8_t codes[256])
{
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < 32; l++) {
            const uint8_t a = block[64 * h + l], b = block[64 * h + 32 + l], high = block[128 + 32 * h + l];
            uint8_t *to = codes + 128 * h + l;
            to[0] = (uint8_t)((a & 15) | (high & 3) << 4);
            to[32] = (uint8_t)((b & 15) | (high >> 2 & 3) << 4);
            to[64] = (uint8_t)(a >> 4 | (high >> 4 & 3) << 4);
            to[96] = (uint8_t)(b >> 4 | (high >> 6) << 4);
        }
}

static void put_q6_k(const uint8_t *block, int r, uint8_t *to)
{
    uint8_t codes[256];
    q6_codes(block, codes);
    put_scale(to, r, block + 208);
    for (int g = 0; g < 16; g++) {
        put_sixes(codes + 16 * g, r, to + 2 * TILE + g * 12 * TILE);
        to[194 * TILE + g * TILE + r] = block[192 + g];
    }
}

typedef void put_fn(const uint8_t *block, int r, uint8_t *to);

static put_fn *const put_block[TERN_DTYPE_COUNT] = {
    [TERN_Q8_0] = put_q8_0, [TERN_Q6_K] = put_q6_k, [TERN_Q4_0] = put_q4_0, [TERN_Q4_K] = put_q4_k};

/* ---- rows ---- */

static void put_halves(const uint16_t *row, int64_t step, int64_t k, int r, uint8_t *to)
{
    for (int64_t c = 0; c < k; c++)
        memcpy(to + 2 * (c * TILE + r), row + c * step, 2);
}

static void put_bytes(const int8_t *row, int64_t step, int64_t k, int r, uint8_t *to)
{
    for (int64_t c = 0; c < k; c++)
        to[c / 4 * 4 * TILE + 4 * r + c % 4] = (uint8_t)(row[c * step] + 128);
}

static void put_row(tern_dtype dtype, const char *row, int64_t step, int64_t k, int r, uint8_t *to)
{
    const int64_t bytes = (int64_t)tern__dtype_unit_bytes(dtype), blocks = tern__row_units(dtype, k);
    if (dtype == TERN_I8) {
        put_bytes((const int8_t *)row, step, k, r, to);
    } else if (tern__dtype_is_block(dtype)) {
        for (int64_t b = 0; b < blocks; b++)
            put_block[dtype]((const uint8_t *)row + b * bytes, r, to + b * bytes * TILE);
    } else {
        put_halves((const uint16_t *)(const void *)row, step, k, r, to);
    }
}

void tern__linear_pack(tern_dtype dtype, const void *weights, int64_t row_stride, int64_t step, int64_t n,
                       int64_t k, int64_t begin, int64_t end, uint8_t *packed)
{
    const int64_t tile_bytes = tern__linear_tile_bytes(dtype, k),
                  bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    for (int64_t tile = begin; tile < end; tile++) {
        const int64_t first = tile * TILE, rows = n - first < TILE ? n - first : TILE;
        uint8_t *to = packed + tile * tile_bytes;
        if (rows < TILE || dtype == TERN_I8) /* what no row fills */
            memset(to, dtype == TERN_I8 ? 128 : 0, (size_t)tile_bytes);
        for (int64_t r = 0; r < rows; r++)
            put_row(dtype, (const char *)weights + (first + r) * row_stride * bytes, step, k, (int)r, to);
    }
}
