/* ternary.h - ternary x int8 matrix products on private packed weights: forms, activations, kernels.
 *
 *     y[i][o] = sum over k of x[i][k] * w[o][k]
 *
 *     x: i8 (batch, columns)   w: -1, 0, +1 (rows, columns)   y: i32 (batch, rows)
 *
 * Three steps, all pure functions on memory of the caller:
 *
 *   1. tern__ternary_pack      canonical t2 or t5 -> packed weights, once. Tiles of rows are independent.
 *   2. tern__ternary_prepare   one row of activations -> the same row, padded, with its sum. Once per row.
 *   3. tern__ternary_multiply  any range of tiles x all prepared rows -> y. Threads split the tiles.
 *
 * Sums are exact, so y is the same for every kernel, split and batch. It is defined modulo 2^32, as in
 * ref/.
 *
 * ---- Packed weights: the same bytes for every ISA, architecture and batch size --------------------
 *
 * A form P has P planes; a tile is P blocks of 16 rows, and a quad is 4 columns. The tile is stored quad
 * after quad, 64 bytes each. Byte 4*r + j of a quad belongs to the rows 16*p + r (p < P) at the quad's
 * column j, and holds their P codes (w + 1, so 0..2) as one number:
 *
 *   form 4   P = 4, 64 rows   code0 + 4*code1 + 16*code2 + 64*code3                2 bits a weight
 *   form 5   P = 5, 80 rows   code0 + 3*code1 + 9*code2 + 28*code3 + 84*code4      1.6 bits a weight, <= 250
 *
 * so that one 64-byte load feeds P dot products of 16 rows with the same four activations. 28 and 84
 * instead of 27 and 81 make the two upper digits a function of the upper 6 bits, which one byte permute
 * looks up. Columns are padded to a quad and rows to a tile with code 0: what is added to sum(code * x)
 * is nothing. The kernels compute sum(code * x) and subtract sum(x), which step 2 provides.
 *
 * ---- Prepared activations --------------------
 *
 * Row i starts at i * stride: the columns, zeros up to stride - 4, then sum(x) as an i32 in the last 4
 * bytes. The stride is an odd number of cache lines, so that the rows of a batch do not compete for the
 * same cache sets. */
#ifndef TERN_KERNELS_TERNARY_H
#define TERN_KERNELS_TERNARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/dtype.h>

#include "base/cpu.h"

/* Weights in a byte, and so planes of a tile. The value is also that of packed_ternary_matmul's attribute `form`. */
typedef enum tern__ternary_form {
    TERN__TERNARY_4 = 4, /* 2 bits a weight */
    TERN__TERNARY_5 = 5, /* 1.6 bits a weight */
} tern__ternary_form;

enum {
    TERN__TERNARY_BLOCK = 16,      /* rows of a plane */
    TERN__TERNARY_QUAD_BYTES = 64, /* bytes of 4 columns of a tile */
    TERN__TERNARY_MAX_PLANES = 5,
    TERN__TERNARY_MAX_TILE = TERN__TERNARY_BLOCK * TERN__TERNARY_MAX_PLANES,
    TERN__TERNARY_MAX_BATCH = 8, /* rows of x in one call of any kernel */
    TERN__TERNARY_ALIGN = 64,    /* of packed weights, prepared activations and scratch */
};

static inline int64_t tern__ternary_tile_rows(tern__ternary_form form)
{
    return TERN__TERNARY_BLOCK * (int64_t)form;
}

static inline int64_t tern__ternary_tiles(tern__ternary_form form, int64_t rows)
{
    int64_t tile = tern__ternary_tile_rows(form);
    return rows / tile + (rows % tile != 0);
}

static inline int64_t tern__ternary_quads(int64_t columns)
{
    return columns / 4 + (columns % 4 != 0);
}

/* Bytes of one packed tile: a thread's part of the weights is contiguous. */
static inline int64_t tern__ternary_tile_bytes(int64_t columns)
{
    return TERN__TERNARY_QUAD_BYTES * tern__ternary_quads(columns);
}

/* Bytes of packed weights; false if rows, columns or the product are out of range. */
bool tern__ternary_packed_bytes(tern__ternary_form form, int64_t rows, int64_t columns, size_t *bytes);

/* Packs the tiles [tile_begin, tile_end) of a canonical matrix of type t2 or t5 (either packs into either
 * form) whose rows lie `row_stride` bytes apart. `packed` is the start of the whole packed matrix,
 * aligned. Invalid canonical bytes count as zeros, as everywhere. */
void tern__ternary_pack(tern__ternary_form form, tern_dtype dtype, const uint8_t *canonical,
                        int64_t row_stride, int64_t rows, int64_t columns, int64_t tile_begin,
                        int64_t tile_end, uint8_t *packed);

/* Bytes from one prepared row to the next. */
static inline int64_t tern__ternary_x_stride(int64_t columns)
{
    return (((columns + 4 + 63) / 64) | 1) * 64;
}

/* Prepares one row of activations: `to` takes tern__ternary_x_stride(columns) bytes, aligned. It may be x. */
void tern__ternary_prepare(const int8_t *x, int64_t columns, int8_t *to);

/* One call of an inner kernel: a piece of one tile times a few prepared rows. */
typedef struct tern__ternary_call {
    const uint8_t *weights; /* (quads, 64) packed for `direct`, what `unpack` wrote for `multiply` */
    /* packed bytes to prefetch while multiplying, `ahead_step` per quad; an address only */
    const uint8_t *ahead;
    const uint8_t *next; /* packed bytes that the next call reads, to be prefetched likewise */
    int64_t ahead_step;
    int64_t quads;
    const int8_t *x; /* (batch, 4 * quads), rows x_stride apart */
    int64_t x_stride;
    const int8_t *sums; /* sum of row i: the i32 at sums + i * x_stride */
    int32_t *y;         /* (batch, tile rows), rows y_stride apart, any alignment of 4 */
    int64_t y_stride;
    int batch; /* 1 .. the kernel's limit */
    /* `direct` reads the weights in order, and fetches so many bytes ahead of a single row; 0: as runs side by side */
    int64_t ahead_in_order;
    bool add; /* y += sum(code * x), otherwise y = sum(code * x) - sum(x) */
    /* Of `multiply`, where the kernel has raw_quads: the call goes on from the sums that an earlier one left in y, and leaves them
     * there for a later one, not as codes yet. The tile is whole. */
    bool resume, pause;
} tern__ternary_call;

/* A whole product: tiles of weights times all rows of x, at least one of each. */
typedef struct tern__ternary_whole {
    const uint8_t *weights; /* (tiles, quads, 64) packed */
    int64_t tiles, quads;
    int64_t rows; /* of weights in these tiles: the last one may lack some */
    /* (batch, columns), rows x_stride apart: 64 bytes for each 16 quads, or a part of them, can be read */
    const int8_t *x;
    int64_t x_stride, batch;
    const int8_t *sums; /* sum of row i: the i32 at sums + i * sums_stride */
    int64_t sums_stride;
    int32_t *y; /* (batch, rows), rows y_stride apart, any alignment of 4 */
    int64_t y_stride;
    /* packed bytes that are read behind these tiles, to be prefetched; NULL: those behind them */
    const uint8_t *next;
    uint8_t *scratch; /* tern__ternary_scratch_bytes() */
} tern__ternary_whole;

/* Sums of one block of columns times its scales, added to those of the blocks before: y += scales * sums in f32, the product
 * rounded first. */
typedef struct tern__ternary_scaled {
    int64_t batch, rows; /* rows of the tile */
    const int32_t *sums; /* (batch, TERN__TERNARY_MAX_TILE) */
    const float *scales; /* (rows) */
    float *y;            /* (batch, TERN__TERNARY_MAX_TILE) */
} tern__ternary_scaled;

/* The inner kernels of one form for one ISA. Small batches are multiplied straight from the packed
 * weights (`direct`); larger ones from a panel of weights that is unpacked once into cache (`unpack`,
 * `multiply`), or by a kernel with loops of its own (`whole`), which takes rows of x that are not prepared, too. */
typedef struct tern__ternary_kernel {
    tern__ternary_form form;
    /* where it runs, weights are packed into its form: the smaller one, decoded as fast as it is read */
    bool preferred;
    int direct_limit;   /* batches up to this are multiplied directly */
    int direct_batch;   /* most rows of x in one call of direct */
    int multiply_batch; /* and of multiply */
    int direct_quads;   /* most quads of one call of direct */
    int panel_quads;    /* and of one panel; panel_quads * 4 * tile rows bytes are unpacked */
    int raw_quads;      /* most quads whose sums `multiply` can resume; 0: it cannot */
    void (*direct)(const tern__ternary_call *call);
    void (*unpack)(const uint8_t *packed, int64_t quads, uint8_t *panel);
    void (*multiply)(const tern__ternary_call *call);
    void (*whole)(const tern__ternary_whole *call); /* or NULL: then there are unpack and multiply */
    /* Of `whole`: sums of rows of x as they are, modulo 2^32; columns are whole lines of 64. */
    void (*sum_rows)(const int8_t *x, int64_t x_stride, int64_t batch, int64_t columns, int32_t *sums);
    void (*add_scaled)(const tern__ternary_scaled *call);
} tern__ternary_kernel;

/* The best row of kernels.def of a form among the levels of `isa_mask` (tern__isa_mask_within) on this processor. Never NULL. */
const struct tern__kernel_row *tern__ternary_row(tern__ternary_form form, uint32_t isa_mask);

/* Bytes of scratch for one thread, aligned. The same for every kernel and shape. */
size_t tern__ternary_scratch_bytes(void);

/* Bytes of activations that are multiplied with all tiles before the next ones, and whole groups of rows that a kernel likes. */
static inline int64_t tern__ternary_x_bytes(const tern__ternary_kernel *kernel)
{
    /* Well below a second-level cache; processors that have kernels with loops of their own have 2 MiB. */
    return (kernel->whole ? 1200 : 400) * 1024;
}
enum { TERN__TERNARY_WHOLE_ROWS = 32 };

/* Can tern__ternary_multiply_plain multiply these activations? */
static inline bool tern__ternary_reads_plain(const tern__ternary_kernel *kernel, const int8_t *x,
                                             int64_t x_stride, int64_t columns)
{
    return kernel->whole && ((uint64_t)(uintptr_t)x | (uint64_t)x_stride | (uint64_t)columns) % 64 == 0;
}

/* `ahead_in_order` of calls, as this processor likes it. */
int64_t tern__ternary_ahead_in_order(const tern__ternary_kernel *kernel);

/* y = x * transposed weights for the tiles [tile_begin, tile_end): row i of x, weight row o of that range
 * (counted from the first row of tile_begin) -> y[i * y_stride + o]. Rows beyond `rows` are not written.
 * `x`: `batch` prepared rows. `weights`: start of the whole packed matrix. Packed weights may be read, as
 * a prefetch only, beyond their end; at `next` instead if it is not NULL: what the caller reads afterwards. `ahead_in_order`:
 * as calls of inner kernels have it; changes no bit. */
void tern__ternary_multiply(const tern__ternary_kernel *kernel, int64_t ahead_in_order,
                            const uint8_t *weights, int64_t rows, int64_t columns, int64_t tile_begin,
                            int64_t tile_end, const int8_t *x, int64_t batch, int32_t *y, int64_t y_stride,
                            const uint8_t *next, void *scratch);

/* The same with activations as they are, rows x_stride bytes apart, where tern__ternary_reads_plain. sums[i * sums_stride] bytes on is
 * the sum of row i, an i32 (kernel->sum_rows). */
void tern__ternary_multiply_plain(const tern__ternary_kernel *kernel, const uint8_t *weights, int64_t rows,
                                  int64_t columns, int64_t tile_begin, int64_t tile_end, const int8_t *x,
                                  int64_t x_stride, const int8_t *sums, int64_t sums_stride, int64_t batch,
                                  int32_t *y, int64_t y_stride, const uint8_t *next, void *scratch);

#endif
