/* product.c - ternary products on operands with strides. Every worker prepares the activations itself, a block at a time that
 * stays in its second-level cache: that costs less than to wait for another. Kernels that can take activations as they are get
 * those that lie well, with their sums apart. Weights that are no constants are packed
 * on the way, a tile at a time, by the worker that multiplies it. Where pieces of the columns have scales of their own, a piece
 * of a tile is multiplied as if it were a tile of fewer columns, with activations that are prepared piece by piece. */
#include "kernels/ternary/product.h"

#include <string.h>

#include "kernels/row/epilogue.h"

enum {
    FEWEST = 48,
    MOST = 512, /* rows of a block */
    /* Rows that are multiplied with all pieces before the next ones: their sums stay in the first-level cache. */
    SCALED_ROWS = 64,
};

/* Scratch of products with scales; lies behind the rest. */
typedef struct scaled_room {
    int32_t sums[SCALED_ROWS * TERN__TERNARY_MAX_TILE]; /* of one piece */
    float totals[SCALED_ROWS * TERN__TERNARY_MAX_TILE];
    float scales[]; /* (pieces, TERN__TERNARY_MAX_TILE) of one tile */
} scaled_room;

static int64_t piece_columns(const tern__ternary_program *p)
{
    return p->pieces > 0 ? p->columns / p->pieces : p->columns;
}

/* Bytes of one prepared row. */
static int64_t x_bytes(const tern__ternary_program *p)
{
    return p->stride * (p->pieces > 0 ? p->pieces : 1);
}

static size_t scaled_bytes(const tern__ternary_program *p)
{
    return p->pieces == 0 ? 0
                          : sizeof(scaled_room) + (size_t)p->pieces * TERN__TERNARY_MAX_TILE * sizeof(float);
}

void tern__ternary_plan(const tern__ternary_kernel *kernel, const tern__type *x, int64_t rows, bool packed,
                        int64_t pieces, tern__ternary_program *out)
{
    tern__ternary_program p = {.kernel = kernel,
                               .batch = 1,
                               .rows = rows,
                               .columns = x->shape[x->rank - 1],
                               .pieces = pieces,
                               .ahead_in_order = tern__ternary_ahead_in_order(kernel)};
    for (int i = 0; i < x->rank - 1; i++)
        p.batch *= x->shape[i];
    p.stride = tern__ternary_x_stride(piece_columns(&p));
    int64_t block = tern__ternary_x_bytes(kernel) / x_bytes(&p);
    block = block < FEWEST ? FEWEST : block > MOST ? MOST : block;
    /* Blocks of about equal size. */
    const int64_t blocks = (p.batch + block - 1) / block;
    p.block = blocks > 1 ? (p.batch + blocks - 1) / blocks : p.batch;
    if (blocks > 1 && kernel->whole)
        p.block =
            (p.block + TERN__TERNARY_WHOLE_ROWS - 1) / TERN__TERNARY_WHOLE_ROWS * TERN__TERNARY_WHOLE_ROWS;
    p.work = tern__ternary_tiles(kernel->form, rows);
    p.scratch_bytes = tern__ternary_scratch_bytes() + (size_t)(p.block * x_bytes(&p)) +
                      (packed ? 0 : (size_t)tern__ternary_tile_bytes(p.columns)) +
                      (size_t)p.block * TERN__TERNARY_MAX_TILE * sizeof(int32_t) + scaled_bytes(&p);
    *out = p;
}

static void prepare_row(const int8_t *x, int64_t step, int64_t columns, int8_t *to)
{
    if (step == 1) {
        tern__ternary_prepare(x, columns, to);
        return;
    }
    for (int64_t c = 0; c < columns; c++)
        to[c] = x[c * step];
    tern__ternary_prepare(to, columns, to);
}

typedef struct block {
    const tern__ternary_program *p;
    const tern__buffer *weights;
    uint8_t *tile;   /* room for a packed one; NULL: the weights are packed already */
    const int8_t *x; /* prepared: (block), or (pieces, block); or `plain`, as it is */
    int64_t x_stride;
    int32_t *sums; /* (block) of plain rows */
    bool plain;
    int64_t begin, end;         /* rows of the batch */
    int64_t tile_end;           /* of all tiles that are to be multiplied */
    const uint8_t *next;        /* what is read after the last of them, or NULL */
    int32_t *room;              /* (block, tile) */
    const tern__buffer *scales; /* of pieces, or NULL */
    scaled_room *scaled;
    void *scratch;
} block;

/* The scales of rows [first, first + n) of the weights, piece by piece; rows that are missing in the tile have 0. */
static void turn_scales(const block *b, int64_t first, int64_t n)
{
    const int64_t *strides = b->scales->strides;
    const float *from = (const float *)b->scales->data + first * strides[0];
    for (int64_t i = 0; i < b->p->pieces; i++)
        for (int64_t r = 0; r < TERN__TERNARY_MAX_TILE; r++)
            b->scaled->scales[i * TERN__TERNARY_MAX_TILE + r] =
                r < n ? from[r * strides[0] + i * strides[1]] : 0;
}

/* Rows [begin, end) of x times the packed tile of rows [first, first + n), with scales. */
static void multiply_scaled(const block *b, int64_t begin, int64_t end, const uint8_t *tile, int64_t first,
                            int64_t n, int32_t *to, int64_t stride)
{
    const tern__ternary_program *p = b->p;
    const int64_t columns = piece_columns(p), tile_rows = tern__ternary_tile_rows(p->kernel->form);
    scaled_room *room = b->scaled;
    turn_scales(b, first, n);
    for (int64_t row = begin, next; row < end; row = next) {
        next = end - row < SCALED_ROWS ? end : row + SCALED_ROWS;
        memset(room->totals, 0, sizeof room->totals);
        for (int64_t i = 0; i < p->pieces; i++) {
            /* Rows that are missing are multiplied too: the tile has zeros there. */
            tern__ternary_multiply(p->kernel, p->ahead_in_order, tile + i * tern__ternary_tile_bytes(columns),
                                   tile_rows, columns, 0, 1,
                                   b->x + (i * p->block + row - b->begin) * p->stride, next - row, room->sums,
                                   TERN__TERNARY_MAX_TILE, NULL, b->scratch);
            p->kernel->add_scaled(&(tern__ternary_scaled){.batch = next - row,
                                                          .rows = tile_rows,
                                                          .sums = room->sums,
                                                          .scales = room->scales + i * TERN__TERNARY_MAX_TILE,
                                                          .y = room->totals});
        }
        for (int64_t i = row; i < next; i++)
            memcpy(to + (i - begin) * stride, room->totals + (i - row) * TERN__TERNARY_MAX_TILE,
                   (size_t)n * sizeof(float));
    }
}

/* Rows [begin, end) of x times tiles of packed weights without scales. */
static void multiply_packed(const block *b, const uint8_t *packed, int64_t rows, int64_t begin, int64_t end,
                            int64_t tile_begin, int64_t tile_end, int32_t *to, int64_t stride)
{
    const tern__ternary_program *p = b->p;
    const int8_t *x = b->x + (begin - b->begin) * b->x_stride;
    const uint8_t *next = end == p->batch && tile_end == b->tile_end ? b->next : NULL;
    if (b->plain)
        tern__ternary_multiply_plain(p->kernel, packed, rows, p->columns, tile_begin, tile_end, x,
                                     b->x_stride, (const int8_t *)(b->sums + begin - b->begin),
                                     sizeof *b->sums, end - begin, to, stride, next, b->scratch);
    else
        tern__ternary_multiply(p->kernel, p->ahead_in_order, packed, rows, p->columns, tile_begin, tile_end,
                               x, end - begin, to, stride, next, b->scratch);
}

/* Rows [begin, end) of x times one tile of weights. */
static void multiply_tile(const block *b, int64_t begin, int64_t end, int64_t tile, int32_t *to,
                          int64_t stride)
{
    const tern__ternary_program *p = b->p;
    const int64_t tile_rows = tern__ternary_tile_rows(p->kernel->form), first = tile * tile_rows;
    const int64_t n = p->rows - first < tile_rows ? p->rows - first : tile_rows;
    const int64_t row_bytes = b->weights->strides[0];
    const uint8_t *packed = b->tile;
    if (packed)
        tern__ternary_pack(p->kernel->form, b->weights->type->dtype,
                           (const uint8_t *)b->weights->data + first * row_bytes, row_bytes, n, p->columns, 0,
                           1, b->tile);
    else
        packed = (const uint8_t *)b->weights->data + tile * tern__ternary_tile_bytes(p->columns);
    if (b->scales)
        multiply_scaled(b, begin, end, packed, first, n, to, stride);
    else
        multiply_packed(b, packed, n, begin, end, 0, 1, to, stride);
}

/* Tile by tile: straight to where y wants it, or into a place where it fits and then there. */
static void multiply_tiles(const block *b, const tern__buffer *y, int64_t tile_begin, int64_t tile_end)
{
    const int64_t tile_rows = tern__ternary_tile_rows(b->p->kernel->form);
    const int64_t step = y->strides[y->type->rank - 1];
    int64_t y_stride;
    const bool direct = tern__buffer_is_matrix(y, b->begin, b->end, &y_stride);
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        const int64_t first = tile * tile_rows;
        const int64_t n = b->p->rows - first < tile_rows ? b->p->rows - first : tile_rows;
        if (direct) {
            multiply_tile(b, b->begin, b->end, tile,
                          (int32_t *)y->data + tern__buffer_row_offset(y, b->begin) + first, y_stride);
            continue;
        }
        multiply_tile(b, b->begin, b->end, tile, b->room, TERN__TERNARY_MAX_TILE);
        for (int64_t row = b->begin; row < b->end; row++) {
            int32_t *to = (int32_t *)y->data + tern__buffer_row_offset(y, row) + first * step;
            for (int64_t i = 0; i < n; i++) /* i32 or f32 */
                memcpy(to + i * step, b->room + (row - b->begin) * TERN__TERNARY_MAX_TILE + i, sizeof *to);
        }
    }
}

/* Packed weights: rectangle by rectangle, each handed on while it is hot. */
static void multiply_on(const block *b, const tern__epilogue *e, int64_t tile_begin, int64_t tile_end)
{
    const int64_t width = tern__ternary_tile_rows(b->p->kernel->form);
    int64_t rows, tiles;
    tern__epilogue_shape(e->program->elements, b->end - b->begin, width, &rows, &tiles);
    for (int64_t row = b->begin; row < b->end; row += rows)
        for (int64_t tile = tile_begin; tile < tile_end; tile += tiles) {
            const int64_t last = b->end - row < rows ? b->end : row + rows;
            const int64_t next = tile_end - tile < tiles ? tile_end : tile + tiles;
            const int64_t stop = next * width < b->p->rows ? next * width : b->p->rows;
            if (!b->tile && !b->scales)
                multiply_packed(b, b->weights->data, b->p->rows, row, last, tile, next, e->room,
                                (next - tile) * width);
            for (int64_t t = tile; t < next && (b->tile || b->scales); t++)
                multiply_tile(b, row, last, t, (int32_t *)e->room + (t - tile) * width,
                              (next - tile) * width);
            tern__epilogue_apply(e, row, last, tile * width, stop, (next - tile) * width);
        }
}

static void prepare(const block *b, const tern__buffer *x, int8_t *to)
{
    const tern__ternary_program *p = b->p;
    const int64_t step = x->strides[x->type->rank - 1], columns = piece_columns(p);
    for (int64_t row = b->begin; row < b->end; row++)
        for (int64_t i = 0; i == 0 || i < p->pieces; i++)
            prepare_row((const int8_t *)x->data + tern__buffer_row_offset(x, row) + i * columns * step, step,
                        columns, to + (i * p->block + row - b->begin) * p->stride);
}

/* Can the kernel read x as it is, and is it not for few rows? */
static bool is_plain(const block *b, const tern__buffer *x, const int8_t **at, int64_t *stride)
{
    const tern__ternary_program *p = b->p;
    if (p->pieces > 0 || p->batch <= p->kernel->direct_limit ||
        !tern__buffer_is_matrix(x, b->begin, b->end, stride))
        return false;
    *at = (const int8_t *)x->data + tern__buffer_row_offset(x, b->begin);
    return tern__ternary_reads_plain(p->kernel, *at, *stride, p->columns);
}

static tern_status multiply(tern__kernel_args *args, bool packed, int64_t begin, int64_t end)
{
    const tern__ternary_program *p = args->program;
    const tern__buffer *y = &args->out[0];
    int8_t *prepared = (int8_t *)args->scratch + tern__ternary_scratch_bytes();
    uint8_t *tile = (uint8_t *)prepared + p->block * x_bytes(p);
    block b = {.p = p,
               .weights = &args->in[1],
               .tile = packed ? NULL : tile,
               .tile_end = end,
               .next = args->next,
               .scratch = args->scratch};
    b.room = (int32_t *)(void *)(tile + (packed ? 0 : tern__ternary_tile_bytes(p->columns)));
    if (p->pieces > 0) {
        b.scales = &args->in[2];
        b.scaled = (scaled_room *)(void *)(b.room + p->block * TERN__TERNARY_MAX_TILE);
    }
    for (b.begin = 0; b.begin < p->batch; b.begin = b.end) {
        b.end = p->batch - b.begin < p->block ? p->batch : b.begin + p->block;
        b.plain = is_plain(&b, &args->in[0], &b.x, &b.x_stride);
        if (b.plain) {
            b.sums = (int32_t *)(void *)prepared;
            p->kernel->sum_rows(b.x, b.x_stride, b.end - b.begin, p->columns, b.sums);
        } else {
            prepare(&b, &args->in[0], prepared);
            b.x = prepared;
            b.x_stride = p->stride;
        }
        int64_t y_stride;
        if (args->epilogue) {
            multiply_on(&b, args->epilogue, begin, end);
            continue;
        }
        if (packed && !b.scales && tern__buffer_is_matrix(y, b.begin, b.end, &y_stride)) {
            int32_t *to = (int32_t *)y->data + tern__buffer_row_offset(y, b.begin) +
                          begin * tern__ternary_tile_rows(p->kernel->form);
            multiply_packed(&b, args->in[1].data, p->rows, b.begin, b.end, begin, end, to, y_stride);
        } else {
            multiply_tiles(&b, y, begin, end);
        }
    }
    return TERN_OK;
}

TERN__KERNEL(packed_ternary_matmul__packed)
{
    return multiply(args, true, begin, end);
}

TERN__KERNEL(ternary_matmul__packing)
{
    return multiply(args, false, begin, end);
}
