/* product.c - f32 products on operands with strides, axes and batches: finds the matrices, and shares the tiles. */
#include "kernels/gemm/product.h"

#include "kernels/row/epilogue.h"

/* ---- planning ---- */

/* Enough items that workers end together, but no smaller blocks of rows than fill tiles several times. */
static void share(tern__gemm_program *p, int workers)
{
    const int64_t wanted = workers > 1 ? 8 * (int64_t)workers : 1, fewest = 8 * p->kernel->rows;
    p->tiles = tern__gemm_tiles(p->kernel, p->n);
    const int64_t have = p->batches * p->tiles, most = p->m / fewest;
    p->row_blocks = have == 0 || have >= wanted ? 1 : (wanted + have - 1) / have;
    if (p->row_blocks > most)
        p->row_blocks = most > 1 ? most : 1;
    p->work = p->batches * p->row_blocks * p->tiles;
    p->scratch_bytes = tern__gemm_scratch_bytes(p->kernel, p->m, p->n, p->k);
}

static int64_t batches_of(const tern__type *y, int matrix_axes)
{
    int64_t batches = 1;
    for (int i = 0; i < y->rank - matrix_axes; i++)
        batches *= y->shape[i];
    return batches;
}

bool tern__gemm_plan(const tern__gemm_kernel *kernel, const tern__type *a, const tern__type *b,
                     const tern__type *y, const tern__attr *attrs, int workers, tern__gemm_program *out)
{
    if (a->dtype != TERN_F32 || b->dtype != TERN_F32 || y->dtype != TERN_F32)
        return false;
    const bool a_is_matrix = a->rank > 1, b_is_matrix = b->rank > 1;
    tern__gemm_program p = {.kernel = kernel, .m = 1, .n = 1, .k = a->shape[a->rank - 1]};
    if (a_is_matrix) {
        p.m = a->shape[attrs[0].i ? a->rank - 1 : a->rank - 2];
        p.k = a->shape[attrs[0].i ? a->rank - 2 : a->rank - 1];
    }
    if (b_is_matrix)
        p.n = b->shape[attrs[1].i ? b->rank - 2 : b->rank - 1];
    p.batches = batches_of(y, a_is_matrix + b_is_matrix);
    p.turned = p.n < kernel->vector && p.m > p.n;
    p.flat = a_is_matrix && b->rank <= 2 && !p.turned;
    if (p.flat) {
        p.m *= p.batches;
        p.batches = 1;
    }
    if (p.turned) {
        const int64_t m = p.m;
        p.m = p.n;
        p.n = m;
    }
    share(&p, workers);
    *out = p;
    return true;
}

void tern__gemm_plan_packed(const tern__gemm_kernel *kernel, const tern__type *weight, const tern__type *y,
                            int workers, tern__gemm_program *out)
{
    tern__gemm_program p = {.kernel = kernel,
                            .flat = true,
                            .m = batches_of(y, 1),
                            .n = y->shape[y->rank - 1],
                            .k = weight->shape[1],
                            .batches = 1};
    share(&p, workers);
    *out = p;
}

/* ---- operands ---- */

/* One operand as matrices: vectors have got their axis of size 1. */
typedef struct matrices {
    const tern__buffer *buffer;
    int batch_rank;
    int64_t rows; /* of one matrix */
    int64_t row_stride, column_stride;
} matrices;

static matrices matrices_of(const tern__buffer *x, bool is_matrix, bool transposed, bool is_row)
{
    const int rank = x->type->rank;
    matrices o = {.buffer = x, .rows = 1};
    if (!is_matrix) {
        o.row_stride = is_row ? 0 : x->strides[rank - 1];
        o.column_stride = is_row ? x->strides[rank - 1] : 0;
        o.rows = is_row ? 1 : x->type->shape[rank - 1];
        return o;
    }
    const int rows = transposed ? rank - 1 : rank - 2, columns = 2 * rank - 3 - rows;
    o.batch_rank = rank - 2;
    o.rows = x->type->shape[rows];
    o.row_stride = x->strides[rows];
    o.column_stride = x->strides[columns];
    return o;
}

/* y has lost the axes that vectors do not have. */
static matrices result_of(const tern__buffer *y, bool a_is_matrix, bool b_is_matrix)
{
    matrices o = {.buffer = y, .rows = 1, .batch_rank = y->type->rank - a_is_matrix - b_is_matrix};
    if (a_is_matrix) {
        o.rows = y->type->shape[o.batch_rank];
        o.row_stride = y->strides[o.batch_rank];
    }
    if (b_is_matrix)
        o.column_stride = y->strides[y->type->rank - 1];
    return o;
}

/* First element of x's matrix for batch `batch` of y. */
static float *matrix_at(const matrices *x, const matrices *y, int64_t batch)
{
    int64_t offset = 0;
    for (int d = y->batch_rank - 1; d >= 0; d--) {
        const int64_t size = y->buffer->type->shape[d];
        const int own = d - (y->batch_rank - x->batch_rank);
        if (own >= 0 && x->buffer->type->shape[own] != 1)
            offset += batch % size * x->buffer->strides[own];
        batch /= size;
    }
    return (float *)x->buffer->data + offset;
}

/* Do the rows of all matrices lie a row's stride apart, as if they were one? */
static bool is_one_matrix(const matrices *x, const matrices *y)
{
    int64_t apart = x->rows * x->row_stride;
    if (x->batch_rank < y->batch_rank)
        return false;
    for (int d = x->batch_rank - 1; d >= 0; d--) {
        if (x->buffer->type->shape[d] != y->buffer->type->shape[d])
            return false;
        if (x->buffer->type->shape[d] != 1 && x->buffer->strides[d] != apart)
            return false;
        apart *= x->buffer->type->shape[d];
    }
    return true;
}

/* ---- running ---- */

typedef struct product {
    const tern__gemm_program *p;
    matrices a, b, y;
    const float *packed;
    int64_t rows;                   /* of y that lie in one matrix: those of all batches if they are one */
    const tern__epilogue *epilogue; /* NULL: y is memory */
    void *scratch;
} product;

/* A rectangle on its way to the epilogue: y is row `row` (of all batches) and column `column` onwards. */
typedef struct part {
    int64_t row, column, stride;
} part;

/* Rows [begin, end) of one matrix. */
static void multiply(const product *o, const part *to, int64_t batch, int64_t begin, int64_t end,
                     int64_t tile_begin, int64_t tile_end)
{
    const tern__gemm_program *p = o->p;
    tern__gemm g = {.m = p->m, .n = p->n, .k = p->k, .packed = o->packed};
    const float *a = matrix_at(&o->a, &o->y, batch), *b = o->packed ? NULL : matrix_at(&o->b, &o->y, batch);
    if (to) {
        /* Tiles and rows are counted from the matrix' first, which lies before the room. */
        const int64_t before = (to->row - batch * o->rows) * to->stride + to->column;
        g.y = (float *)((uintptr_t)o->epilogue->room - (uintptr_t)before * sizeof(float));
    } else {
        g.y = matrix_at(&o->y, &o->y, batch);
    }
    if (p->turned) {
        g.a = b;
        g.a_row = o->b.column_stride;
        g.a_k = o->b.row_stride;
        g.b = a;
        g.b_k = o->a.column_stride;
        g.b_column = o->a.row_stride;
        g.y_row = o->y.column_stride;
        g.y_column = o->y.row_stride;
    } else {
        g.a = a;
        g.a_row = o->a.row_stride;
        g.a_k = o->a.column_stride;
        g.b = b;
        g.b_k = o->b.row_stride;
        g.b_column = o->b.column_stride;
        g.y_row = to ? to->stride : o->y.row_stride;
        g.y_column = to ? 1 : o->y.column_stride;
    }
    tern__gemm_multiply(p->kernel, &g, begin, end, tile_begin, tile_end, o->scratch);
}

/* Rows of several matrices, each by itself unless they are one. */
static void multiply_flat(const product *o, const part *to, int64_t begin, int64_t end, int64_t tile_begin,
                          int64_t tile_end)
{
    while (begin < end) {
        const int64_t matrix = begin / o->rows, first = begin % o->rows;
        const int64_t n = end - begin < o->rows - first ? end - begin : o->rows - first;
        multiply(o, to, matrix, first, first + n, tile_begin, tile_end);
        begin += n;
    }
}

static void multiply_part(const product *o, const part *to, int64_t batch, int64_t begin, int64_t end,
                          int64_t tile_begin, int64_t tile_end)
{
    if (o->p->flat)
        multiply_flat(o, to, begin, end, tile_begin, tile_end);
    else
        multiply(o, to, batch, begin, end, tile_begin, tile_end);
}

/* Rectangle by rectangle, each handed on while it is hot. Blocking changes no chain. */
static void multiply_apart(const product *o, int64_t batch, int64_t begin, int64_t end, int64_t tile_begin,
                           int64_t tile_end)
{
    const tern__gemm_program *p = o->p;
    const int64_t width = p->kernel->columns;
    int64_t rows, tiles;
    tern__epilogue_shape(end - begin, width, &rows, &tiles);
    for (int64_t row = begin; row < end; row += rows)
        for (int64_t tile = tile_begin; tile < tile_end; tile += tiles) {
            const int64_t last = end - row < rows ? end : row + rows;
            const int64_t next = tile_end - tile < tiles ? tile_end : tile + tiles;
            const int64_t stop = next * width < p->n ? next * width : p->n;
            const part to = {
                .row = batch * p->m + row, .column = tile * width, .stride = (next - tile) * width};
            multiply_part(o, &to, batch, row, last, tile, next);
            tern__epilogue_apply(o->epilogue, to.row, to.row + last - row, to.column, stop, to.stride);
        }
}

static void run(const product *o, int64_t begin, int64_t end)
{
    const tern__gemm_program *p = o->p;
    const int64_t each = p->row_blocks * p->tiles;
    for (int64_t item = begin, n; item < end; item += n) {
        const int64_t batch = item / each, block = item % each / p->tiles, tile = item % p->tiles;
        n = end - item < p->tiles - tile ? end - item : p->tiles - tile;
        const int64_t first = p->m * block / p->row_blocks, last = p->m * (block + 1) / p->row_blocks;
        if (o->epilogue)
            multiply_apart(o, batch, first, last, tile, tile + n);
        else
            multiply_part(o, NULL, batch, first, last, tile, tile + n);
    }
}

static tern_status run_product(tern__kernel_args *args, product *o, int64_t begin, int64_t end)
{
    o->p = args->program;
    o->scratch = args->scratch;
    o->epilogue = args->epilogue;
    o->rows = is_one_matrix(&o->a, &o->y) && is_one_matrix(&o->y, &o->y) ? o->p->m : o->y.rows;
    run(o, begin, end);
    return TERN_OK;
}

TERN__KERNEL(matmul__gemm)
{
    const tern__buffer *a = &args->in[0], *b = &args->in[1];
    const bool a_is_matrix = a->type->rank > 1, b_is_matrix = b->type->rank > 1;
    product o = {.a = matrices_of(a, a_is_matrix, args->attrs[0].i != 0, true),
                 .b = matrices_of(b, b_is_matrix, args->attrs[1].i != 0, false),
                 .y = result_of(&args->out[0], a_is_matrix, b_is_matrix)};
    return run_product(args, &o, begin, end);
}

TERN__KERNEL(packed_matmul__gemm)
{
    const tern__buffer *a = &args->in[0];
    const bool a_is_matrix = a->type->rank > 1;
    product o = {.a = matrices_of(a, a_is_matrix, args->attrs[1].i != 0, true),
                 .y = result_of(&args->out[0], a_is_matrix, true),
                 .packed = args->in[1].data};
    return run_product(args, &o, begin, end);
}
