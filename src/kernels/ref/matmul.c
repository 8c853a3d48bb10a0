/* matmul.c - the matrix product of the last two axes, batched and broadcast.
 *
 * Every output is one chain of multiply-adds in ascending k, starting from 0: fused ones in f32 (f16 and
 * bf16 too) and f64, wrapping ones for integers. Blocks of rows and columns share a converted panel of b,
 * and keep their sums across panels, so blocking changes no chain. */
#include "kernels/ref/number.h"
#include "base/sizes.h"
#include "kernels/ref/walk.h"
#include "tensor/convert.h"

enum { BLOCK_ROWS = 16, BLOCK_COLUMNS = 64, BLOCK_DEPTH = 32 };

/* One operand as matrices: vectors have got their axis of size 1. */
typedef struct matrices {
    const tern__buffer *buffer;
    tern_dtype dtype;
    size_t bytes; /* of an element */
    int batch_rank;
    int64_t row_stride, column_stride;
} matrices;

typedef struct product {
    matrices a, b, y; /* (.., m, k) (.., k, n) (.., m, n) */
    int64_t m, n, k;
} product;

/* Computes a block of at most BLOCK_ROWS x BLOCK_COLUMNS outputs. */
typedef void (*block_fn)(const product *p, const char *a, const char *b, char *y, int64_t rows,
                         int64_t columns);

static matrices matrices_of(const tern__buffer *buffer)
{
    matrices x = {.buffer = buffer, .dtype = buffer->type->dtype};
    x.bytes = tern__dtype_unit_bytes(x.dtype);
    return x;
}

static product product_of(const tern__kernel_args *args)
{
    const tern__buffer *a = &args->in[0], *b = &args->in[1], *y = &args->out[0];
    const int a_rank = a->type->rank, b_rank = b->type->rank, y_rank = y->type->rank;
    const bool a_is_matrix = a_rank > 1, b_is_matrix = b_rank > 1;
    product p = {.a = matrices_of(a), .b = matrices_of(b), .y = matrices_of(y), .m = 1, .n = 1};

    p.a.column_stride = a->strides[a_rank - 1];
    p.k = a->type->shape[a_rank - 1];
    if (a_is_matrix) {
        int rows = args->attrs[0].i ? a_rank - 1 : a_rank - 2, columns = 2 * a_rank - 3 - rows;
        p.a.batch_rank = a_rank - 2;
        p.a.row_stride = a->strides[rows];
        p.a.column_stride = a->strides[columns];
        p.m = a->type->shape[rows];
        p.k = a->type->shape[columns];
    }
    p.b.row_stride = b->strides[b_rank - 1];
    if (b_is_matrix) {
        int columns = args->attrs[1].i ? b_rank - 2 : b_rank - 1, rows = 2 * b_rank - 3 - columns;
        p.b.batch_rank = b_rank - 2;
        p.b.row_stride = b->strides[rows];
        p.b.column_stride = b->strides[columns];
        p.n = b->type->shape[columns];
    }
    p.y.batch_rank = y_rank - a_is_matrix - b_is_matrix;
    p.y.row_stride = a_is_matrix ? y->strides[p.y.batch_rank] : 0;
    p.y.column_stride = b_is_matrix ? y->strides[y_rank - 1] : 0;
    return p;
}

/* First element of x's matrix for batch `batch` of the result. */
static char *matrix_at(const matrices *x, const matrices *y, int64_t batch)
{
    int64_t offset = 0;
    for (int d = y->batch_rank - 1; d >= 0; d--) {
        int64_t size = y->buffer->type->shape[d];
        int own = d - (y->batch_rank - x->batch_rank);
        if (own >= 0 && x->buffer->type->shape[own] != 1)
            offset += batch % size * x->buffer->strides[own];
        batch /= size;
    }
    return (char *)x->buffer->data + offset * (int64_t)x->bytes;
}

/* Converts rows x columns elements at `from` into to[row * pitch + column], along the axis that makes
 * longer runs. */
static void load_panel(const matrices *x, const char *from, int64_t rows, int64_t columns, tern_dtype dtype,
                       char *to, int64_t pitch)
{
    const int64_t bytes = (int64_t)x->bytes, to_bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    if (columns >= rows) {
        for (int64_t r = 0; r < rows; r++)
            tern__convert(x->dtype, from + r * x->row_stride * bytes, x->column_stride, dtype,
                          to + r * pitch * to_bytes, 1, columns);
        return;
    }
    for (int64_t c = 0; c < columns; c++)
        tern__convert(x->dtype, from + c * x->column_stride * bytes, x->row_stride, dtype, to + c * to_bytes,
                      pitch, rows);
}

/* A block in the arithmetic of type T, which tern calls DTYPE. */
#define BLOCK(name, T, DTYPE, multiply_add)                                                                  \
    static void name(const product *p, const char *a, const char *b, char *y, int64_t rows, int64_t columns) \
    {                                                                                                        \
        T sums[BLOCK_ROWS][BLOCK_COLUMNS] = {{0}};                                                           \
        T a_panel[BLOCK_ROWS][BLOCK_DEPTH], b_panel[BLOCK_DEPTH][BLOCK_COLUMNS];                             \
        for (int64_t k = 0; k < p->k; k += BLOCK_DEPTH) {                                                    \
            const int64_t depth = tern__smaller(BLOCK_DEPTH, p->k - k);                                      \
            load_panel(&p->a, a + k * p->a.column_stride * (int64_t)p->a.bytes, rows, depth, DTYPE,          \
                       (char *)a_panel, BLOCK_DEPTH);                                                        \
            load_panel(&p->b, b + k * p->b.row_stride * (int64_t)p->b.bytes, depth, columns, DTYPE,          \
                       (char *)b_panel, BLOCK_COLUMNS);                                                      \
            for (int64_t r = 0; r < rows; r++)                                                               \
                for (int64_t i = 0; i < depth; i++)                                                          \
                    for (int64_t c = 0; c < columns; c++)                                                    \
                        sums[r][c] = multiply_add(a_panel[r][i], b_panel[i][c], sums[r][c]);                 \
        }                                                                                                    \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            tern__convert(DTYPE, sums[r], 1, p->y.dtype, y + r * p->y.row_stride * (int64_t)p->y.bytes,      \
                          p->y.column_stride, columns);                                                      \
    }

/* Modulo 2^64, and so modulo the width of any narrower type. */
#define WRAPPING(a, b, c) ((int64_t)((uint64_t)(c) + (uint64_t)(a) * (uint64_t)(b)))

BLOCK(block_f32, float, TERN_F32, fmaf)
BLOCK(block_f64, double, TERN_F64, fma)
BLOCK(block_int, int64_t, TERN_I64, WRAPPING)

KERNEL(matmul)
{
    const product p = product_of(args);
    const tern_dtype dtype = p.y.dtype;
    const block_fn float_block = dtype == TERN_F64 ? block_f64 : block_f32;
    const block_fn block = tern__dtype_is_float(dtype) ? float_block : block_int;
    const int64_t a_row = p.a.row_stride * (int64_t)p.a.bytes;
    const int64_t y_row = p.y.row_stride * (int64_t)p.y.bytes;
    const int64_t b_column = p.b.column_stride * (int64_t)p.b.bytes;
    const int64_t y_column = p.y.column_stride * (int64_t)p.y.bytes;
    for (int64_t item = begin, rows; item < end; item += rows) {
        const int64_t batch = item / p.m, row = item % p.m;
        rows = tern__smaller(tern__smaller(BLOCK_ROWS, p.m - row), end - item);
        const char *a = matrix_at(&p.a, &p.y, batch) + row * a_row;
        const char *b = matrix_at(&p.b, &p.y, batch);
        char *y = matrix_at(&p.y, &p.y, batch) + row * y_row;
        for (int64_t column = 0; column < p.n; column += BLOCK_COLUMNS)
            block(&p, a, b + column * b_column, y + column * y_column, rows,
                  tern__smaller(BLOCK_COLUMNS, p.n - column));
    }
    return TERN_OK;
}
