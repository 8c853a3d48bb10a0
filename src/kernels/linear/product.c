/* product.c - linear products on operands with strides. Rows of x are taken a block at a time; those that do not lie in one
 * piece are copied first, and results that cannot be written where they belong go there by way of a room. Weights that are no
 * constants are packed on the way, so that they are multiplied by the same kernels, with the same bits. */
#include "kernels/linear/product.h"

#include <string.h>

#include "kernels/gemm/product.h"
#include "kernels/row/epilogue.h"
#include "kernels/ternary/ternary.h"

enum { TILE = TERN__LINEAR_TILE };

const tern__attr tern__linear_as_matmul[2] = {{.i = 0}, {.i = 1}};

/* Rows [begin, end) of x, ready to be multiplied. */
typedef struct block {
    const tern__linear_program *p;
    const uint8_t *packed;
    const tern__buffer *weights; /* if they are to be packed, into `tile` */
    uint8_t *tile;
    int64_t begin, end;
    const void *x; /* f32, or prepared i8 */
    int64_t x_row;
    void *scratch;
    int32_t *room; /* (block, tile), or f32 */
} block;

static void load_f32(const tern__kernel_args *args, block *b)
{
    const tern__buffer *x = &args->in[0];
    const int64_t k = b->p->k, step = x->strides[x->type->rank - 1];
    const float *from = x->data;
    if (tern__buffer_is_matrix(x, b->begin, b->end, &b->x_row)) {
        b->x = from + tern__buffer_row_offset(x, b->begin);
        return;
    }
    float *copy = (float *)(void *)((char *)args->scratch + b->p->panels_bytes);
    if (b->end - b->begin > b->p->copied)
        b->end = b->begin + b->p->copied;
    for (int64_t row = b->begin; row < b->end; row++)
        for (int64_t c = 0; c < k; c++)
            copy[(row - b->begin) * k + c] = from[tern__buffer_row_offset(x, row) + c * step];
    b->x = copy;
    b->x_row = k;
}

static void load_i8(const tern__kernel_args *args, block *b)
{
    const tern__buffer *x = &args->in[0];
    const int64_t k = b->p->k, step = x->strides[x->type->rank - 1], stride = tern__ternary_x_stride(k);
    for (int64_t row = b->begin; row < b->end; row++) {
        const int8_t *from = (const int8_t *)x->data + tern__buffer_row_offset(x, row);
        int8_t *to = (int8_t *)args->scratch + (row - b->begin) * stride;
        for (int64_t c = 0; c < k && step != 1; c++)
            to[c] = from[c * step];
        tern__ternary_prepare(step == 1 ? from : to, k, to);
    }
    b->x = args->scratch;
    b->x_row = stride;
}

/* Rows [begin, end) times tiles into `to`: elements of 4 bytes, rows `stride` apart. */
static void multiply_packed(const block *b, const tern__linear_program *p, const uint8_t *packed,
                            int64_t begin, int64_t end, int64_t tile, int64_t stop, void *to, int64_t stride)
{
    const int64_t skipped = (begin - b->begin) * b->x_row;
    if (p->bytes)
        tern__linear_multiply_i8(p, packed, tile, stop, (const int8_t *)b->x + skipped, end - begin, to,
                                 stride);
    else
        tern__linear_multiply(p, packed, tile, stop, (const float *)b->x + skipped, b->x_row, end - begin, to,
                              stride, b->scratch);
}

static void multiply(const block *b, int64_t begin, int64_t end, int64_t tile, int64_t stop, void *to,
                     int64_t stride)
{
    if (!b->weights) {
        multiply_packed(b, b->p, b->packed, begin, end, tile, stop, to, stride);
        return;
    }
    const tern__type *type = b->weights->type;
    const int64_t row = b->weights->strides[0], unit = (int64_t)tern__dtype_unit_bytes(type->dtype);
    tern__linear_program one = *b->p; /* a matrix of one tile */
    one.work = 1;
    for (int64_t t = tile; t < stop; t++) {
        const int64_t first = t * TILE;
        one.n = b->p->n - first < TILE ? b->p->n - first : TILE;
        tern__linear_pack(type->dtype, (const char *)b->weights->data + first * row * unit, row,
                          b->weights->strides[1], one.n, one.k, 0, 1, b->tile);
        multiply_packed(b, &one, b->tile, begin, end, 0, 1, (int32_t *)to + (t - tile) * TILE, stride);
    }
}

/* Rectangle by rectangle, each handed on while it is hot. */
static void multiply_on(const block *b, const tern__epilogue *e, int64_t tile_begin, int64_t tile_end)
{
    int64_t rows, tiles;
    tern__epilogue_shape(e->program->elements, b->end - b->begin, TILE, &rows, &tiles);
    for (int64_t row = b->begin; row < b->end; row += rows)
        for (int64_t tile = tile_begin; tile < tile_end; tile += tiles) {
            const int64_t last = b->end - row < rows ? b->end : row + rows;
            const int64_t next = tile_end - tile < tiles ? tile_end : tile + tiles;
            const int64_t stop = next * TILE < b->p->n ? next * TILE : b->p->n;
            multiply(b, row, last, tile, next, e->room, (next - tile) * TILE);
            tern__epilogue_apply(e, row, last, tile * TILE, stop, (next - tile) * TILE);
        }
}

/* Tile by tile through the room. */
static void multiply_apart(const block *b, const tern__buffer *y, int64_t begin, int64_t end)
{
    const int64_t step = y->strides[y->type->rank - 1];
    for (int64_t tile = begin; tile < end; tile++) {
        const int64_t first = tile * TILE, n = b->p->n - first < TILE ? b->p->n - first : TILE;
        multiply(b, b->begin, b->end, tile, tile + 1, b->room, TILE);
        for (int64_t row = b->begin; row < b->end; row++) {
            int32_t *to = (int32_t *)y->data + tern__buffer_row_offset(y, row) + first * step;
            for (int64_t i = 0; i < n; i++)
                to[i * step] = b->room[(row - b->begin) * TILE + i];
        }
    }
}

TERN__KERNEL(linear__tiles)
{
    const tern__linear_program *p = args->program;
    const tern__buffer *y = &args->out[0];
    block b = {.p = p, .packed = args->in[1].data, .scratch = args->scratch};
    char *room = (char *)args->scratch + p->scratch_bytes - (size_t)p->block * TILE * sizeof(int32_t);
    b.room = (int32_t *)(void *)room;
    if (p->packs) {
        b.weights = &args->in[1];
        b.tile = (uint8_t *)room -
                 (p->tile_bytes + TERN__LINEAR_ALIGN - 1) / TERN__LINEAR_ALIGN * TERN__LINEAR_ALIGN;
    }
    for (b.begin = 0; b.begin < p->batch; b.begin = b.end) {
        int64_t y_row;
        b.end = p->batch - b.begin < p->block ? p->batch : b.begin + p->block;
        (p->bytes ? load_i8 : load_f32)(args, &b);
        if (args->epilogue)
            multiply_on(&b, args->epilogue, begin, end);
        else if (tern__buffer_is_matrix(y, b.begin, b.end, &y_row))
            multiply(&b, b.begin, b.end, begin, end,
                     (int32_t *)y->data + tern__buffer_row_offset(y, b.begin) + begin * TILE, y_row);
        else
            multiply_apart(&b, y, begin, end);
    }
    return TERN_OK;
}

TERN__KERNEL(linear__gemm)
{
    tern__kernel_args as_matmul = *args;
    as_matmul.attrs = tern__linear_as_matmul;
    return tern_matmul__gemm(&as_matmul, begin, end);
}
