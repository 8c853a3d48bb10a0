/* gemm.h - f32 matrix products, of f32, f16 and bf16 operands.
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
 * read where it is if too few rows would use a panel. Elements that are not f32 become f32 while they are packed. A b in a form
 * of somebody else's is a source: its panels are asked for when they are needed. */
#ifndef TERN_KERNELS_GEMM_H
#define TERN_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/dtype.h>

/* Rows of a tile's width that a later call will touch: they are fetched meanwhile, one every few k. */
typedef struct tern__gemm_ahead {
    const float *next;
    int64_t step, rows;
} tern__gemm_ahead;

/* One call of an inner kernel. Strides count floats. */
typedef struct tern__gemm_tile {
    const float *a; /* (rows, k): element (i, p) at a[i * a_row + p * a_k] */
    int64_t a_row, a_k;
    const float *b; /* (k, columns): row p at b + p * b_k, its elements side by side, any alignment of 4 */
    int64_t b_k;
    int64_t b_tile;   /* of `wide`: from the first column of a tile to that of the next */
    int64_t b_ahead;  /* of `wide`: from what is read to what is fetched meanwhile */
    int64_t b_column; /* of `across`: from a column to the next; its elements lie side by side, b_k is 1 */
    float *y;         /* (rows, columns), its elements side by side */
    int64_t y_row;
    int64_t k;
    int rows;                  /* 1 .. the kernel's limit */
    int columns;               /* that matter */
    bool add;                  /* continue the chains that y holds, otherwise begin */
    tern__gemm_ahead ahead[3]; /* of `multiply` on packed operands */
    uintptr_t line; /* likewise: then a line every TERN__GEMM_LINE_EVERY k, to wherever that leads; 0: none */
} tern__gemm_tile;

enum {
    TERN__GEMM_WIDE = 2,
    TERN__GEMM_MAX_COLUMNS = 64,
    TERN__GEMM_MAX_ROWS = 16,
    TERN__GEMM_MAX_VECTORS = 4,
    TERN__GEMM_LINE = 64, /* bytes that are fetched at a time */
    TERN__GEMM_LINE_EVERY = 4,
    TERN__GEMM_ALIGN = 64, /* of packed matrices and scratch */
};

/* n elements side by side as f32. */
typedef void (*tern__gemm_unpack_fn)(const void *from, int64_t n, float *to);

typedef struct tern__gemm_kernel {
    bool fused;  /* multiply-adds are; else products are rounded before they are added */
    int columns; /* of a tile: at most TERN__GEMM_MAX_COLUMNS, TERN__GEMM_MAX_VECTORS vectors */
    int vector;  /* columns that are computed together */
    int rows[TERN__GEMM_MAX_VECTORS]; /* most rows of a tile of 1, 2 .. vectors, if a_k is 1 */
    int wide_rows;                    /* most rows of `wide` */
    int across_rows;                  /* of `across` */
    bool ragged;                      /* `multiply` takes any number of columns, otherwise whole vectors */
    /* A tile. If a_k is not 1 it has no more rows than one of all its vectors may have. */
    void (*multiply)(const tern__gemm_tile *tile);
    /* TERN__GEMM_WIDE tiles side by side: few rows need more columns to keep the multipliers busy. */
    void (*wide)(const tern__gemm_tile *tile);
    /* A tile of whole vectors from a b whose columns lie in one piece: transposed in registers, used once. */
    void (*across)(const tern__gemm_tile *tile);
    /* to[p * width + i] = from[i * lane + p * step] for i < lanes. */
    void (*pack)(const float *from, int64_t lane, int64_t step, int64_t lanes, int64_t width, int64_t k,
                 float *to);
    /* Slivers of as many rows as a tile of all vectors has, one after the other, each (k, those rows): of an a whose columns lie
     * in one piece, element (i, p) at from[i + p * step]. What the last one has not is left as it is. */
    void (*pack_slivers)(const float *from, int64_t step, int64_t rows, int64_t k, float *to);
    tern__gemm_unpack_fn unpack[TERN_DTYPE_COUNT]; /* NULL: no operand of this type */
} tern__gemm_kernel;

/* How a product is cut to fit the caches (tern__gemm_blocking_for). */
typedef struct tern__gemm_blocking {
    int64_t depth;    /* k of a panel */
    int64_t rows;     /* of a that are packed at a time */
    int64_t tiles;    /* of b that are packed at a time */
    int64_t streamed; /* rows of a large b that are read side by side where it lies */
} tern__gemm_blocking;

/* A b that its owner widens, `columns` columns at a time, a multiple of the kernel's. */
typedef struct tern__gemm_source tern__gemm_source;
struct tern__gemm_source {
    int columns;
    /* to[p * columns + i] = element (first + p, column + i) for p < depth; `column` is a multiple of `columns`, `first` one of
     * the depth of blocks. What is beyond the last column may be left as it is. */
    void (*widen)(const tern__gemm_source *s, int64_t column, int64_t first, int64_t depth, float *to);
    /* Where that is read from, so that it can be fetched before: `runs` of as many bytes each. Returns how many. */
    int (*find)(const tern__gemm_source *s, int64_t column, int64_t first, int64_t depth,
                const uint8_t *runs[2], int64_t *bytes);
};

/* A product. Strides count elements, and may be anything for a and b; y does not overlap itself. */
typedef struct tern__gemm {
    tern__gemm_blocking blocking;
    int64_t m, n, k;
    const void *a; /* element (i, p) at a[i * a_row + p * a_k] */
    tern_dtype a_type;
    int64_t a_row, a_k;
    const void *b; /* element (p, j) at b[p * b_k + j * b_column]; unless packed */
    tern_dtype b_type;
    int64_t b_k, b_column;
    const void *packed; /* what tern__gemm_pack made of it, or NULL */
    /* or what makes panels of it, one at a time, for blocks of rows; or NULL */
    const tern__gemm_source *source;
    float *y;
    int64_t y_row, y_column;
} tern__gemm;

static inline int64_t tern__gemm_tiles(const tern__gemm_kernel *kernel, int64_t n)
{
    return n / kernel->columns + (n % kernel->columns != 0);
}

/* Most rows of a tile of all its columns. */
static inline int64_t tern__gemm_low_rows(const tern__gemm_kernel *kernel)
{
    return kernel->rows[kernel->columns / kernel->vector - 1];
}

/* Can the kernel read operands of this type? */
static inline bool tern__gemm_reads(const tern__gemm_kernel *kernel, tern_dtype dtype)
{
    return kernel->unpack[dtype] != NULL;
}

/* Bytes of a packed b of f32; false if they cannot be counted. */
bool tern__gemm_packed_bytes(const tern__gemm_kernel *kernel, int64_t k, int64_t n, size_t *bytes);

/* Packs the tiles [begin, end) of b (k, n): element (p, j) at b[p * b_k + j * b_column]. `packed` is where the whole begins, of
 * the same type: what takes 16 bits is widened panel by panel when it is used. */
void tern__gemm_pack(const tern__gemm_kernel *kernel, tern_dtype type, const void *b, int64_t b_k,
                     int64_t b_column, int64_t k, int64_t n, int64_t begin, int64_t end, void *packed);

/* Blocks for caches of these sizes (0: unknown). */
tern__gemm_blocking tern__gemm_blocking_for(const tern__gemm_kernel *kernel, int64_t l1_bytes,
                                            int64_t l2_bytes, int64_t m, int64_t n, int64_t k);

/* Bytes of scratch that one thread needs for products cut like that, aligned. `packed`: b is packed, and f32. */
size_t tern__gemm_scratch_bytes(const tern__gemm_kernel *kernel, const tern__gemm_blocking *blocking,
                                bool packed);

/* All of a product of f32 with one tile of columns, ragged only if the kernel takes them so, and k that is one panel; the
 * elements of b's and y's rows lie side by side. The rest of `g` is not read. */
void tern__gemm_multiply_small(const tern__gemm_kernel *kernel, const tern__gemm *g);

/* Rows [row_begin, row_end) of the tiles [tile_begin, tile_end) of y. */
void tern__gemm_multiply(const tern__gemm_kernel *kernel, const tern__gemm *g, int64_t row_begin,
                         int64_t row_end, int64_t tile_begin, int64_t tile_end, void *scratch);

#endif
