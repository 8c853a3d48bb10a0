/* product.c - ternary products on operands with strides. Every worker prepares the activations itself, a block at a time that
 * stays in its second-level cache: that costs less than to wait for another. */
#include "kernels/ternary/product.h"

enum {
    X_BYTES = 400 * 1024,
    FEWEST = 48,
    MOST = 512, /* rows of a block */
};

void tern__ternary_plan(const tern__ternary_kernel *kernel, const tern__type *x, int64_t rows,
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
    const uint8_t *weights;
    const int8_t *x;    /* prepared */
    int64_t begin, end; /* rows of the batch */
    int32_t *room;      /* (block, tile) */
    void *scratch;
} block;

/* Tile by tile into a place where it fits, then to where y wants it. */
static void multiply_apart(const block *b, const tern__buffer *y, int64_t tile_begin, int64_t tile_end)
{
    const int64_t tile_rows = tern__ternary_tile_rows(b->p->kernel->form);
    const int64_t step = y->strides[y->type->rank - 1];
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        const int64_t first = tile * tile_rows;
        const int64_t n = b->p->rows - first < tile_rows ? b->p->rows - first : tile_rows;
        tern__ternary_multiply(b->p->kernel, b->weights, b->p->rows, b->p->columns, tile, tile + 1, b->x,
                               b->end - b->begin, b->room, TERN__TERNARY_MAX_TILE, b->scratch);
        for (int64_t row = b->begin; row < b->end; row++) {
            int32_t *to = (int32_t *)y->data + row_offset(y, row) + first * step;
            for (int64_t i = 0; i < n; i++)
                to[i * step] = b->room[(row - b->begin) * TERN__TERNARY_MAX_TILE + i];
        }
    }
}

TERN__KERNEL(packed_ternary_matmul__packed)
{
    const tern__ternary_program *p = args->program;
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int64_t stride = tern__ternary_x_stride(p->columns), step = x->strides[x->type->rank - 1];
    int8_t *prepared = (int8_t *)args->scratch + tern__ternary_scratch_bytes();
    block b = {.p = p, .weights = args->in[1].data, .x = prepared, .scratch = args->scratch};
    b.room = (int32_t *)(void *)(prepared + p->block * stride);
    for (b.begin = 0; b.begin < p->batch; b.begin = b.end) {
        b.end = p->batch - b.begin < p->block ? p->batch : b.begin + p->block;
        for (int64_t row = b.begin; row < b.end; row++)
            prepare_row((const int8_t *)x->data + row_offset(x, row), step, p->columns,
                        prepared + (row - b.begin) * stride);
        int64_t y_stride;
        if (!is_matrix(y, b.begin, b.end, &y_stride)) {
            multiply_apart(&b, y, begin, end);
            continue;
        }
        int32_t *to =
            (int32_t *)y->data + row_offset(y, b.begin) + begin * tern__ternary_tile_rows(p->kernel->form);
        tern__ternary_multiply(p->kernel, b.weights, p->rows, p->columns, begin, end, prepared,
                               b.end - b.begin, to, y_stride, args->scratch);
    }
    return TERN_OK;
}
