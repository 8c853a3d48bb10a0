/* linear.h - rows of x times a packed matrix of weights: y[i][o] = sum over k of x[i][k] * w[o][k].
 *
 * Weights of 16 bits or in blocks (f16, bf16, q8_0, q6_k, q4_0, q4_k) count as the f32 that <tern/dtype.h> says they stand
 * for. Every output is one chain of multiply-adds in ascending k that starts from 0, whatever the shape, the split and the
 * batch: the chain of gemm.h on converted weights, with its rules about fused ones. So a product is the same, bit for bit, as
 * that of the converted matrix, and the weights are widened in registers on the way. i8 weights times i8 rows are exact.
 *
 * ---- Packed weights: the same bytes for every ISA and batch size --------------------
 *
 * A tile is 32 rows side by side, padded with zeros, and as large as they were. r is the row in the tile:
 *
 *   f16, bf16   for each column: u16 w[32]
 *   q8_0        for each block: f16 d[32], i8 codes[8][32][4]: a word has 4 columns, the first in its low bits
 *   q4_0        for each block: f16 d[32], u32 codes[4][32]: a word has 8 columns, the first in its low bits
 *   q4_k        for each block: f16 d[32], f16 dmin[32], u32 codes[32][32] as q4_0, u32 sixes[3][32]: 8 scales, 8 offsets
 *   q6_k        for each block: f16 d[32], u32 sixes[16][3][32]: 16 columns each, i8 scale[16][32]
 *               Three words have sixteen codes of 6 bits: word w has codes 5 * w + i from bit 1 + 6 * i on (i < 5), and
 *               bits 2 * w and 2 * w + 1 of the last code in its bits 31 and 0
 *   i8          for each quad of columns: u8 code[32][4], code = w + 128
 *
 * Kernels may load words from up to 3 bytes after their place, or 2 before it: what they get from there they do not use, but
 * it is part of the block. Scales that are not finite are packed as NaN. */
#ifndef TERN_KERNELS_LINEAR_H
#define TERN_KERNELS_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/linear/stream.h"
#include "tensor/type.h"

/* X(id): the types whose weights are widened to f32. */
#define TERN__LINEAR_FORMS(X) \
    X(F16, f16) X(BF16, bf16) X(Q8_0, q8_0) X(Q6_K, q6_k) X(Q4_0, q4_0) X(Q4_K, q4_k)

typedef enum tern__linear_form {
#define ENTRY(id, name) TERN__LINEAR_##id,
    TERN__LINEAR_FORMS(ENTRY)
#undef ENTRY
        TERN__LINEAR_FORM_COUNT,
} tern__linear_form;

enum {
    TERN__LINEAR_TILE = 32, /* rows */
    TERN__LINEAR_ALIGN = 64,
    TERN__LINEAR_BLOCK = 256,  /* columns: a multiple of every block */
    TERN__LINEAR_MAX_ROWS = 8, /* of x in one call of any kernel */
};

/* One call of an inner kernel: some tiles times some rows of x. */
typedef struct tern__linear_call {
    const uint8_t *tiles;
    int64_t tile_step; /* bytes from one tile to the next */
    const float *x;    /* (rows, k), elements side by side */
    int64_t x_row;
    float *y; /* (rows, 32), elements side by side: of the first tile */
    int64_t y_row;
    int64_t y_step; /* from one tile's to the next one's */
    int64_t k;
    int rows, n_tiles; /* at least one, at most as many as the kernel says */
    bool apart; /* unpack by operations on pipes of their own (TERN__FEATURE_FOUR_PIPES): the same bits */
    tern__stream ahead; /* what comes next, fetched meanwhile */
} tern__linear_call;

typedef struct tern__linear_kernel {
    bool fused;    /* multiply-adds are; else products are rounded before they are added */
    int most_rows; /* of x in one call */
    int most_tiles[TERN__LINEAR_FORM_COUNT]; /* in one call, if there is one row */
    /* Rows of x from which on it pays to widen panels of weights and multiply those. */
    int many[TERN__LINEAR_FORM_COUNT];
    void (*multiply[TERN__LINEAR_FORM_COUNT])(const tern__linear_call *call);
    /* Columns [first, first + k) of a tile as f32, element (column, r) at to[column * stride + r]; `first` is a multiple of
     * TERN__LINEAR_BLOCK. Up to the end of the last block touched may be written. */
    void (*unpack[TERN__LINEAR_FORM_COUNT])(const uint8_t *tile, int64_t first, int64_t k, float *to,
                                            int64_t stride);
} tern__linear_kernel;

/* i8: one call multiplies some tiles with some prepared rows (tern__ternary_prepare). */
typedef struct tern__linear_i8_call {
    const uint8_t *tiles;
    int64_t tile_step; /* as above */
    const int8_t *x;   /* (rows, columns), x_row bytes apart, the sum of a row in the last 4 of them */
    int64_t x_row;
    int32_t *y; /* (rows, 32) */
    int64_t y_row, y_step;
    int64_t quad_begin; /* this call's quads [quad_begin, quad_end); later ones add to y */
    int64_t quad_end;
    int rows, n_tiles;
    tern__stream ahead; /* what comes next, fetched meanwhile; all zero: these tiles, some way ahead */
} tern__linear_i8_call;

typedef struct tern__linear_i8_kernel {
    int most_rows, most_tiles;
    void (*multiply)(const tern__linear_i8_call *call);
} tern__linear_i8_kernel;

/* The form of a type; false if it has none (i8 and f32 have not). */
bool tern__linear_form_of(tern_dtype dtype, tern__linear_form *out);

static inline int64_t tern__linear_tiles(int64_t n)
{
    return n / TERN__LINEAR_TILE + (n % TERN__LINEAR_TILE != 0);
}

/* Bytes of a tile of k columns. */
int64_t tern__linear_tile_bytes(tern_dtype dtype, int64_t k);

/* Packs the tiles [begin, end) of weights (n, k): element (o, c) of an unpacked type is unit o * row_stride + c * step of
 * `weights`, a row of blocks begins at unit o * row_stride. `packed` is where the whole begins. */
void tern__linear_pack(tern_dtype dtype, const void *weights, int64_t row_stride, int64_t step, int64_t n,
                       int64_t k, int64_t begin, int64_t end, uint8_t *packed);

#endif
