/* gemm.h - f32 matrix products.
 *
 *     y[i][j] = sum over k of a[i][k] * b[k][j]
 *
 * Every output is one chain of multiply-adds in ascending k that starts from 0, whatever the shape, the split, the batch and
 * the blocking: sums that are put down between blocks of k are f32 like those in registers. Where the processor has fused
 * multiply-adds (AVX2 and up, NEON, and in ref/, which computes them in software) all kernels agree bit for bit; SSE has none
 * and rounds the product as well, so that its bits differ from the others', but not among each other.
 *
 * b is cut into tiles of `columns` columns. A constant b is packed once (tern__gemm_pack): tile after tile, each (k, columns),
 * the last one padded with zeros; one pack serves every batch size. Any other b is packed panel by panel into the scratch, or
 * read where it is if too few rows would use a panel. */
#ifndef TERN_KERNELS_GEMM_H
#define TERN_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One call of an inner kernel. Strides count floats. */
typedef struct tern__gemm_tile {
    const float *a; /* (rows, k): element (i, p) at a[i * a_row + p * a_k] */
    int64_t a_row, a_k;
    const float *b; /* (k, columns): row p at b + p * b_k, its elements side by side, any alignment of 4 */
    int64_t b_k;
    int64_t b_tile; /* of `wide`: from the first column of a tile to that of the next */
    float *y;       /* (rows, columns), its elements side by side */
    int64_t y_row;
    int64_t k;
    int rows;    /* 1 .. the kernel's limit */
    int columns; /* that matter to `multiply`: it reads and writes whole vectors */
    bool add;    /* continue the chains that y holds, otherwise begin */
} tern__gemm_tile;

typedef struct tern__gemm_kernel {
    const char *name; /* "gemm_f32__avx512" */
    int rows;         /* most rows of a tile */
    int columns;      /* of a tile; at most TERN__GEMM_MAX_COLUMNS */
    int vector;       /* columns that are computed together */
    int wide_rows;    /* most rows of `wide` */
    int depth;        /* k of a panel: as many rows of b as stay in the first-level cache, or nearly */
    int block_bytes;  /* of a that are packed at a time: well below a second-level cache */
    /* A tile. */
    void (*multiply)(const tern__gemm_tile *tile);
    /* TERN__GEMM_WIDE tiles side by side: few rows need more columns to keep the multipliers busy. */
    void (*wide)(const tern__gemm_tile *tile);
    /* to[p * width + i] = from[i * lane + p * step] for i < lanes; zeros for lanes <= i < width. */
    void (*pack)(const float *from, int64_t lane, int64_t step, int64_t lanes, int64_t width, int64_t k,
                 float *to);
} tern__gemm_kernel;

enum {
    TERN__GEMM_WIDE = 2,
    TERN__GEMM_MAX_COLUMNS = 64,
    TERN__GEMM_MAX_ROWS = 6,
    TERN__GEMM_ALIGN = 64, /* of packed matrices and scratch */
};

/* A product. Strides count floats, and may be anything for a and b; y does not overlap itself. */
typedef struct tern__gemm {
    int64_t m, n, k;
    const float *a; /* element (i, p) at a[i * a_row + p * a_k] */
    int64_t a_row, a_k;
    const float *b; /* element (p, j) at b[p * b_k + j * b_column]; unless packed */
    int64_t b_k, b_column;
    const float *packed; /* what tern__gemm_pack made of it, or NULL */
    float *y;
    int64_t y_row, y_column;
} tern__gemm;

static inline int64_t tern__gemm_tiles(const tern__gemm_kernel *kernel, int64_t n)
{
    return n / kernel->columns + (n % kernel->columns != 0);
}

/* Bytes of a packed b; false if they cannot be counted. */
bool tern__gemm_packed_bytes(const tern__gemm_kernel *kernel, int64_t k, int64_t n, size_t *bytes);

/* Packs the tiles [begin, end) of b (k, n): element (p, j) at b[p * b_k + j * b_column]. `packed` is where the whole begins. */
void tern__gemm_pack(const tern__gemm_kernel *kernel, const float *b, int64_t b_k, int64_t b_column,
                     int64_t k, int64_t n, int64_t begin, int64_t end, float *packed);

/* Bytes of scratch that one thread needs for products of this shape, aligned. */
size_t tern__gemm_scratch_bytes(const tern__gemm_kernel *kernel, int64_t m, int64_t n, int64_t k);

/* Rows [row_begin, row_end) of the tiles [tile_begin, tile_end) of y. */
void tern__gemm_multiply(const tern__gemm_kernel *kernel, const tern__gemm *g, int64_t row_begin,
                         int64_t row_end, int64_t tile_begin, int64_t tile_end, void *scratch);

#endif
