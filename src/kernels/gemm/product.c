/* product.c - f32 products on operands with strides, axes and batches: finds the matrices, and shares the tiles. */
#include "kernels/gemm/product.h"

#include <math.h>

#include "base/cpu.h"
#include "kernels/gemm/matrices.h"
#include "kernels/row/epilogue.h"
#include "tensor/convert.h"

/* ---- planning ---- */

/* Items of work by tiles of columns, in as few blocks of rows as let workers end together: each block packs its own b. No
 * smaller blocks than fill tiles several times. */
static int64_t row_blocks(const tern__gemm_program *p, int workers)
{
    const int64_t fewest = 8 * p->kernel->rows[p->kernel->columns / p->kernel->vector - 1];
    const int64_t have = p->batches * p->tiles, most = p->m / fewest;
    int64_t best = 1;
    double least = INFINITY;
    for (int64_t n = 1; have > 0 && n <= most && n <= 4 * workers; n++) {
        const double items = (double)(n * have), longest = ceil(items / workers) * workers / items;
        if (longest < least * 0.95) {
            least = longest;
            best = n;
        }
    }
    return best;
}

static void share(tern__gemm_program *p, bool packed, tern_dtype y, int workers)
{
    const tern__cpu_info *cpu = tern__cpu();
    p->tiles = tern__gemm_tiles(p->kernel, p->n);
    p->row_blocks = row_blocks(p, workers);
    p->work = p->batches * p->row_blocks * p->tiles;
    p->blocking = tern__gemm_blocking_for(p->kernel, cpu->l1d_bytes, cpu->l2_bytes, p->m, p->n, p->k);
    p->scratch_bytes = tern__gemm_scratch_bytes(p->kernel, &p->blocking, packed);
    p->elements = tern__epilogue_elements(cpu);
    if (y != TERN_F32) {
        p->room_at = p->scratch_bytes;
        p->scratch_bytes += TERN__EPILOGUE_ROOM * sizeof(float);
    }
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
    if (!tern__gemm_reads(kernel, a->dtype) || !tern__gemm_reads(kernel, b->dtype) ||
        !tern__gemm_reads(kernel, y->dtype))
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
    share(&p, false, y->dtype, workers);
    enum { SMALL_ROWS = 128 };
    p.small = a->rank == 2 && b->rank == 2 && a->dtype == TERN_F32 && b->dtype == TERN_F32 &&
              y->dtype == TERN_F32 && !p.turned && p.m <= SMALL_ROWS && p.k <= p.blocking.depth &&
              (kernel->ragged || p.n % kernel->vector == 0);
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
    share(&p, weight->dtype == TERN_F32, y->dtype, workers);
    *out = p;
}

/* ---- operands ---- */

/* Do the rows of all matrices lie a row's stride apart, as if they were one? */
static bool is_one_matrix(const tern__matrices *x, const tern__matrices *y)
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
    tern__matrices a, b, y;
    const tern__buffer *packed;     /* instead of b, or NULL */
    int64_t rows;                   /* of y that lie in one matrix: those of all batches if they are one */
    int64_t y_row, y_column;        /* strides of y as multiplied */
    const tern__epilogue *epilogue; /* NULL: y is memory */
    float *room;                    /* for rectangles that become y by and by, or NULL */
    void *scratch;
} product;

/* A rectangle in the room: row `row` (of all batches) and column `column` onwards. */
typedef struct part {
    int64_t row, column, stride;
} part;

/* Rows [begin, end) of one matrix. */
static void multiply(const product *o, const part *to, int64_t batch, int64_t begin, int64_t end,
                     int64_t tile_begin, int64_t tile_end)
{
    const tern__gemm_program *p = o->p;
    const tern__matrices *a = p->turned ? &o->b : &o->a, *b = p->turned ? &o->a : &o->b;
    tern__gemm g = {.blocking = p->blocking,
                    .m = p->m,
                    .n = p->n,
                    .k = p->k,
                    .a = tern__matrix_at(a, &o->y, batch),
                    .a_type = a->buffer->type->dtype,
                    .a_row = p->turned ? a->column_stride : a->row_stride,
                    .a_k = p->turned ? a->row_stride : a->column_stride,
                    .y_row = to ? to->stride : o->y_row,
                    .y_column = to ? 1 : o->y_column};
    if (o->packed) {
        g.packed = o->packed->data;
        g.b_type = o->packed->type->dtype;
    } else {
        g.b = tern__matrix_at(b, &o->y, batch);
        g.b_type = b->buffer->type->dtype;
        g.b_k = p->turned ? b->column_stride : b->row_stride;
        g.b_column = p->turned ? b->row_stride : b->column_stride;
    }
    if (to) {
        /* Tiles and rows are counted from the matrix' first, which lies before the room. */
        const int64_t before = (to->row - batch * o->rows) * to->stride + to->column;
        g.y = (float *)((uintptr_t)o->room - (uintptr_t)before * sizeof(float));
    } else {
        g.y = tern__matrix_at(&o->y, &o->y, batch);
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

/* Rows [begin, end) of the rectangle as results of y's type. */
static void convert(const product *o, const part *from, int64_t begin, int64_t end, int64_t columns)
{
    const tern_dtype dtype = o->y.buffer->type->dtype;
    const int64_t bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    for (int64_t row = begin; row < end; row++) {
        char *y = tern__matrix_at(&o->y, &o->y, row / o->rows);
        tern__convert(TERN_F32, o->room + (row - begin) * from->stride, 1, dtype,
                      y + (row % o->rows * o->y_row + from->column * o->y_column) * bytes, o->y_column,
                      columns);
    }
}

/* Rectangle by rectangle, each handed on while it is hot. Blocking changes no chain. */
static void multiply_apart(const product *o, int64_t batch, int64_t begin, int64_t end, int64_t tile_begin,
                           int64_t tile_end)
{
    const tern__gemm_program *p = o->p;
    const int64_t width = p->kernel->columns;
    int64_t rows, tiles;
    tern__epilogue_shape(p->elements, end - begin, width, &rows, &tiles);
    for (int64_t row = begin; row < end; row += rows)
        for (int64_t tile = tile_begin; tile < tile_end; tile += tiles) {
            const int64_t last = end - row < rows ? end : row + rows;
            const int64_t next = tile_end - tile < tiles ? tile_end : tile + tiles;
            const int64_t stop = next * width < p->n ? next * width : p->n;
            const part to = {
                .row = batch * p->m + row, .column = tile * width, .stride = (next - tile) * width};
            multiply_part(o, &to, batch, row, last, tile, next);
            if (o->epilogue)
                tern__epilogue_apply(o->epilogue, to.row, to.row + last - row, to.column, stop, to.stride);
            else
                convert(o, &to, to.row, to.row + last - row, stop - to.column);
        }
}

/* Blocks of rows are whole tiles high. */
static int64_t first_row(const tern__gemm_program *p, int64_t block)
{
    const int64_t height = p->kernel->rows[p->kernel->columns / p->kernel->vector - 1];
    const int64_t first = (p->m + height - 1) / height * block / p->row_blocks * height;
    return first < p->m ? first : p->m;
}

static void run(const product *o, int64_t begin, int64_t end)
{
    const tern__gemm_program *p = o->p;
    const int64_t each = p->row_blocks * p->tiles;
    if (p->work == 1 && !o->room) { /* small ones are over before all the divisions below */
        multiply_part(o, NULL, 0, 0, p->m, 0, 1);
        return;
    }
    for (int64_t item = begin, n; item < end; item += n) {
        const int64_t batch = item / each, block = item % each / p->tiles, tile = item % p->tiles;
        n = end - item < p->tiles - tile ? end - item : p->tiles - tile;
        const int64_t first = first_row(p, block), last = first_row(p, block + 1);
        if (o->room)
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
    o->room = o->epilogue     ? o->epilogue->room
              : o->p->room_at ? (float *)((char *)o->scratch + o->p->room_at)
                              : NULL;
    o->y_row = o->p->turned ? o->y.column_stride : o->y.row_stride;
    o->y_column = o->p->turned ? o->y.row_stride : o->y.column_stride;
    o->rows = o->p->turned                                                 ? o->p->m
              : is_one_matrix(&o->a, &o->y) && is_one_matrix(&o->y, &o->y) ? o->p->m
                                                                           : o->y.rows;
    run(o, begin, end);
    return TERN_OK;
}

/* false: rows of b or y are not what the inner kernels take as they lie. */
static bool multiply_small(const tern__gemm_program *p, const tern__kernel_args *args)
{
    const tern__buffer *a = &args->in[0], *b = &args->in[1], *y = &args->out[0];
    const int a_k = args->attrs[0].i == 0, b_column = args->attrs[1].i == 0;
    if (!p->small || p->work != 1 || args->epilogue || b->strides[b_column] != 1 || y->strides[1] != 1)
        return false;
    const tern__gemm g = {.m = p->m,
                          .n = p->n,
                          .k = p->k,
                          .a = a->data,
                          .a_row = a->strides[!a_k],
                          .a_k = a->strides[a_k],
                          .b = b->data,
                          .b_k = b->strides[!b_column],
                          .y = y->data,
                          .y_row = y->strides[0]};
    tern__gemm_multiply_small(p->kernel, &g);
    return true;
}

TERN__KERNEL(matmul__gemm)
{
    const tern__buffer *a = &args->in[0], *b = &args->in[1];
    if (multiply_small(args->program, args))
        return TERN_OK;
    const bool a_is_matrix = a->type->rank > 1, b_is_matrix = b->type->rank > 1;
    product o = {.a = tern__matrices_of(a, a_is_matrix, args->attrs[0].i != 0, true),
                 .b = tern__matrices_of(b, b_is_matrix, args->attrs[1].i != 0, false),
                 .y = tern__matrices_of_result(&args->out[0], a_is_matrix, b_is_matrix)};
    return run_product(args, &o, begin, end);
}

TERN__KERNEL(packed_matmul__gemm)
{
    const tern__buffer *a = &args->in[0];
    const bool a_is_matrix = a->type->rank > 1;
    product o = {.a = tern__matrices_of(a, a_is_matrix, args->attrs[1].i != 0, true),
                 .y = tern__matrices_of_result(&args->out[0], a_is_matrix, true),
                 .packed = &args->in[1]};
    return run_product(args, &o, begin, end);
}
