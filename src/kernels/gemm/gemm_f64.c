/* gemm_f64.c - products in f64 on operands with strides, axes and batches: block by block, panel by panel. */
#include "kernels/gemm/gemm_f64.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/gemm/matrices.h"
#include "tensor/convert.h"

enum {
    ROWS = TERN__GEMM_F64_ROWS,
    COLUMNS = TERN__GEMM_F64_COLUMNS,
    DEPTH = TERN__GEMM_F64_DEPTH,
    TILE = TERN__GEMM_F64_TILE,
};

/* The scratch of a call. */
typedef struct panels {
    double a[ROWS * DEPTH], b[DEPTH * COLUMNS], sums[ROWS * COLUMNS];
} panels;

static int64_t blocks_of(int64_t n, int64_t each)
{
    return n / each + (n % each != 0);
}

bool tern__gemm_f64_plan(const tern__gemm_f64_kernel *kernel, const tern__type *a, const tern__type *b,
                         const tern__type *y, const tern__attr *attrs, tern__gemm_f64_program *out)
{
    if (y->dtype != TERN_F64)
        return false;
    const bool a_is_matrix = a->rank > 1, b_is_matrix = b->rank > 1;
    tern__gemm_f64_program p = {.kernel = kernel,
                                .m = a_is_matrix ? a->shape[a->rank - (attrs[0].i ? 1 : 2)] : 1,
                                .n = b_is_matrix ? b->shape[b->rank - (attrs[1].i ? 2 : 1)] : 1,
                                .k = a->shape[a->rank - (a_is_matrix && attrs[0].i ? 2 : 1)],
                                .scratch_bytes = sizeof(panels)};
    p.row_blocks = blocks_of(p.m, ROWS);
    p.column_blocks = blocks_of(p.n, COLUMNS);
    p.work = p.row_blocks * p.column_blocks;
    for (int d = 0; d < y->rank - a_is_matrix - b_is_matrix; d++)
        p.work *= y->shape[d];
    *out = p;
    return true;
}

/* Elements (rows, columns) from element (row, column) on, as f64 into to[row * width + column], along the axis that makes longer runs;
 * what is missing of `whole` rows and of the width is 0. */
static void load(const tern__matrices *x, const char *matrix, int64_t row, int64_t column, int64_t rows,
                 int64_t columns, int64_t whole, int64_t width, double *to)
{
    const tern_dtype dtype = x->buffer->type->dtype;
    const int64_t bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    const char *from = matrix + (row * x->row_stride + column * x->column_stride) * bytes;
    if (rows < whole || columns < width)
        memset(to, 0, (size_t)(whole * width) * sizeof *to);
    if (x->column_stride == 1 || columns >= rows) {
        for (int64_t r = 0; r < rows; r++)
            tern__convert(dtype, from + r * x->row_stride * bytes, x->column_stride, TERN_F64, to + r * width,
                          1, columns);
        return;
    }
    for (int64_t c = 0; c < columns; c++)
        tern__convert(dtype, from + c * x->column_stride * bytes, x->row_stride, TERN_F64, to + c, width,
                      rows);
}

typedef struct product {
    const tern__gemm_f64_program *p;
    tern__matrices a, b, y;
    panels *room;
} product;

static void multiply_block(const product *o, int64_t batch, int64_t row, int64_t column)
{
    const tern__gemm_f64_program *p = o->p;
    const int64_t rows = tern__smaller(ROWS, p->m - row), columns = tern__smaller(COLUMNS, p->n - column);
    const int64_t whole = (rows + TILE - 1) / TILE * TILE;
    const char *a = tern__matrix_at(&o->a, &o->y, batch), *b = tern__matrix_at(&o->b, &o->y, batch);
    memset(o->room->sums, 0, sizeof o->room->sums);
    for (int64_t k = 0; k < p->k; k += DEPTH) {
        const int64_t depth = tern__smaller(DEPTH, p->k - k);
        load(&o->a, a, row, k, rows, depth, whole, DEPTH, o->room->a);
        load(&o->b, b, k, column, depth, columns, depth, COLUMNS, o->room->b);
        p->kernel->multiply(o->room->a, o->room->b, whole, depth, o->room->sums);
    }
    double *y =
        (double *)tern__matrix_at(&o->y, &o->y, batch) + row * o->y.row_stride + column * o->y.column_stride;
    for (int64_t r = 0; r < rows; r++)
        tern__convert(TERN_F64, o->room->sums + r * COLUMNS, 1, TERN_F64, y + r * o->y.row_stride,
                      o->y.column_stride, columns);
}

TERN__KERNEL(matmul__f64)
{
    const tern__buffer *a = &args->in[0], *b = &args->in[1];
    const bool a_is_matrix = a->type->rank > 1, b_is_matrix = b->type->rank > 1;
    const product o = {.p = args->program,
                       .a = tern__matrices_of(a, a_is_matrix, args->attrs[0].i != 0, true),
                       .b = tern__matrices_of(b, b_is_matrix, args->attrs[1].i != 0, false),
                       .y = tern__matrices_of_result(&args->out[0], a_is_matrix, b_is_matrix),
                       .room = args->scratch};
    for (int64_t item = begin; item < end; item++) {
        const int64_t block = item / o.p->column_blocks;
        multiply_block(&o, block / o.p->row_blocks, block % o.p->row_blocks * ROWS,
                       item % o.p->column_blocks * COLUMNS);
    }
    return TERN_OK;
}
