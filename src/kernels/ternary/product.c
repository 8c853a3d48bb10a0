/* product.c - ternary products on operands with strides. Every worker prepares the activations itself, a block at a time that
 * stays in its second-level cache: that costs less than to wait for another. Weights that are no constants are packed
 * on the way, a tile at a time, by the worker that multiplies it. */
#include "kernels/ternary/product.h"

#include "kernels/row/epilogue.h"

enum {
    X_BYTES = 400 * 1024,
    FEWEST = 48,
    MOST = 512, /* rows of a block */
};

void tern__ternary_plan(const tern__ternary_kernel *kernel, const tern__type *x, int64_t rows, bool packed,
                        tern__ternary_program *out)
{
    tern__ternary_program p = {.kernel = kernel, .batch = 1, .rows = rows, .columns = x->shape[x->rank - 1]};
    for (int i = 0; i < x->rank - 1; i++)
        p.batch *= x->shape[i];
    const int64_t stride = tern__ternary_x_stride(p.columns);
    int64_t block = X_BYTES / stride;
    block = block < FEWEST ? FEWEST : block > MOST ? MOST : block;
    /* Blocks of about equal size. */
    const int64_t blocks = (p.batch + block - 1) / block;
    p.block = blocks > 1 ? (p.batch + blocks - 1) / blocks : p.batch;
    p.work = tern__ternary_tiles(kernel->form, rows);
    p.scratch_bytes = tern__ternary_scratch_bytes() + (size_t)(p.block * stride) +
                      (packed ? 0 : (size_t)tern__ternary_tile_bytes(p.columns)) +
                      (size_t)p.block * TERN__TERNARY_MAX_TILE * sizeof(int32_t);
    *out = p;
}

/* Offset, in elements, of row `row` of all axes but the last. */
static int64_t row_offset(const tern__buffer *x, int64_t row)
{
    int64_t offset = 0;
    for (int d = x->type->rank - 2; d >= 0; d--) {
        offset += row % x->type->shape[d] * x->strides[d];
        row /= x->type->shape[d];
    }
    return offset;
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

/* Do rows [begin, end) of y lie the same distance apart, each in one piece? Then that distance. */
static bool is_matrix(const tern__buffer *y, int64_t begin, int64_t end, int64_t *stride)
{
    if (y->strides[y->type->rank - 1] != 1)
        return false;
    *stride = end - begin > 1 ? row_offset(y, begin + 1) - row_offset(y, begin) : 0;
    for (int64_t row = begin + 1; row < end; row++)
        if (row_offset(y, row) != row_offset(y, begin) + (row - begin) * *stride)
            return false;
    return true;
}

typedef struct block {
    const tern__ternary_program *p;
    const tern__buffer *weights;
    uint8_t *tile;      /* room for a packed one; NULL: the weights are packed already */
    const int8_t *x;    /* prepared */
    int64_t begin, end; /* rows of the batch */
    int32_t *room;      /* (block, tile) */
    void *scratch;
} block;

/* Multiplies one tile of weights: rows [first, first + n) of them. */
static void multiply_tile(const block *b, int64_t tile, int64_t first, int64_t n, int32_t *to, int64_t stride)
{
    const tern__ternary_program *p = b->p;
    const int64_t batch = b->end - b->begin;
    if (!b->tile) {
        tern__ternary_multiply(p->kernel, b->weights->data, p->rows, p->columns, tile, tile + 1, b->x, batch,
                               to, stride, b->scratch);
        return;
    }
    const int64_t row_bytes = b->weights->strides[0];
    tern__ternary_pack(p->kernel->form, b->weights->type->dtype,
                       (const uint8_t *)b->weights->data + first * row_bytes, row_bytes, n, p->columns, 0, 1,
                       b->tile);
    tern__ternary_multiply(p->kernel, b->tile, n, p->columns, 0, 1, b->x, batch, to, stride, b->scratch);
}

/* Tile by tile: straight to where y wants it, or into a place where it fits and then there. */
static void multiply_tiles(const block *b, const tern__buffer *y, int64_t tile_begin, int64_t tile_end)
{
    const int64_t tile_rows = tern__ternary_tile_rows(b->p->kernel->form);
    const int64_t step = y->strides[y->type->rank - 1];
    int64_t y_stride;
    const bool direct = is_matrix(y, b->begin, b->end, &y_stride);
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        const int64_t first = tile * tile_rows;
        const int64_t n = b->p->rows - first < tile_rows ? b->p->rows - first : tile_rows;
        if (direct) {
            multiply_tile(b, tile, first, n, (int32_t *)y->data + row_offset(y, b->begin) + first, y_stride);
            continue;
        }
        multiply_tile(b, tile, first, n, b->room, TERN__TERNARY_MAX_TILE);
        for (int64_t row = b->begin; row < b->end; row++) {
            int32_t *to = (int32_t *)y->data + row_offset(y, row) + first * step;
            for (int64_t i = 0; i < n; i++)
                to[i * step] = b->room[(row - b->begin) * TERN__TERNARY_MAX_TILE + i];
        }
    }
}

/* Packed weights: rectangle by rectangle, each handed on while it is hot. */
static void multiply_on(const block *b, const tern__epilogue *e, int64_t tile_begin, int64_t tile_end)
{
    const int64_t width = tern__ternary_tile_rows(b->p->kernel->form);
    const int64_t stride = tern__ternary_x_stride(b->p->columns);
    int64_t rows, tiles;
    tern__epilogue_shape(b->end - b->begin, width, &rows, &tiles);
    for (int64_t row = b->begin; row < b->end; row += rows)
        for (int64_t tile = tile_begin; tile < tile_end; tile += tiles) {
            const int64_t last = b->end - row < rows ? b->end : row + rows;
            const int64_t next = tile_end - tile < tiles ? tile_end : tile + tiles;
            const int64_t stop = next * width < b->p->rows ? next * width : b->p->rows;
            tern__ternary_multiply(b->p->kernel, b->weights->data, b->p->rows, b->p->columns, tile, next,
                                   b->x + (row - b->begin) * stride, last - row, e->room,
                                   (next - tile) * width, b->scratch);
            tern__epilogue_apply(e, row, last, tile * width, stop, (next - tile) * width);
        }
}

static tern_status multiply(tern__kernel_args *args, bool packed, int64_t begin, int64_t end)
{
    const tern__ternary_program *p = args->program;
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int64_t stride = tern__ternary_x_stride(p->columns), step = x->strides[x->type->rank - 1];
    int8_t *prepared = (int8_t *)args->scratch + tern__ternary_scratch_bytes();
    uint8_t *tile = (uint8_t *)prepared + p->block * stride;
    block b = {.p = p,
               .weights = &args->in[1],
               .tile = packed ? NULL : tile,
               .x = prepared,
               .scratch = args->scratch};
    b.room = (int32_t *)(void *)(tile + (packed ? 0 : tern__ternary_tile_bytes(p->columns)));
    for (b.begin = 0; b.begin < p->batch; b.begin = b.end) {
        b.end = p->batch - b.begin < p->block ? p->batch : b.begin + p->block;
        for (int64_t row = b.begin; row < b.end; row++)
            prepare_row((const int8_t *)x->data + row_offset(x, row), step, p->columns,
                        prepared + (row - b.begin) * stride);
        int64_t y_stride;
        if (args->epilogue) {
            multiply_on(&b, args->epilogue, begin, end);
            continue;
        }
        if (packed && is_matrix(y, b.begin, b.end, &y_stride)) {
            int32_t *to = (int32_t *)y->data + row_offset(y, b.begin) +
                          begin * tern__ternary_tile_rows(p->kernel->form);
            tern__ternary_multiply(p->kernel, args->in[1].data, p->rows, p->columns, begin, end, prepared,
                                   b.end - b.begin, to, y_stride, args->scratch);
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
