/* matmul against a plain triple loop, bit for bit: shapes, broadcasts, transposes, vectors, every dtype. */
#include "call.h"

TERN__KERNEL(matmul__ref);

/* A random product: which operands are vectors, transposed, broadcast. */
typedef struct product {
    int a_rank, b_rank, y_rank, batch_rank;
    int64_t a[5], b[5], y[5], batch[3];
    int64_t m, n, k;
    bool a_turned, b_turned;
} product;

static void matrix_shape(int rank, const int64_t *batch, int batch_rank, int64_t rows, int64_t columns,
                         bool turned, int64_t *shape)
{
    for (int d = 0; d < rank - 2; d++) {
        int64_t size = batch[batch_rank - (rank - 2) + d];
        shape[d] = dice_below(call_dice(), 3) == 0 ? 1 : size;
    }
    shape[rank - 2] = turned ? columns : rows;
    shape[rank - 1] = turned ? rows : columns;
}

static product random_product(int64_t most)
{
    product p = {.a_rank = 1 + (int)dice_below(call_dice(), 4),
                 .b_rank = 1 + (int)dice_below(call_dice(), 4)};
    p.m = p.a_rank == 1 ? 1 : dice_below(call_dice(), most);
    p.n = p.b_rank == 1 ? 1 : dice_below(call_dice(), 2 * most);
    p.k = dice_below(call_dice(), 2 * most);
    p.a_turned = p.a_rank > 1 && dice_below(call_dice(), 2);
    p.b_turned = p.b_rank > 1 && dice_below(call_dice(), 2);
    p.batch_rank = (p.a_rank > p.b_rank ? p.a_rank : p.b_rank) - 2;
    p.batch_rank = p.batch_rank < 0 ? 0 : p.batch_rank;
    for (int d = 0; d < p.batch_rank; d++)
        p.batch[d] = 1 + dice_below(call_dice(), 3);
    if (p.a_rank == 1)
        p.a[0] = p.k;
    else
        matrix_shape(p.a_rank, p.batch, p.batch_rank, p.m, p.k, p.a_turned, p.a);
    if (p.b_rank == 1)
        p.b[0] = p.k;
    else
        matrix_shape(p.b_rank, p.batch, p.batch_rank, p.k, p.n, p.b_turned, p.b);
    /* what the operands really broadcast to */
    for (int d = 0; d < p.batch_rank; d++) {
        int in_a = d - (p.batch_rank - (p.a_rank - 2)), in_b = d - (p.batch_rank - (p.b_rank - 2));
        int64_t size_a = p.a_rank > 2 && in_a >= 0 ? p.a[in_a] : 1,
                size_b = p.b_rank > 2 && in_b >= 0 ? p.b[in_b] : 1;
        p.batch[d] = size_a > size_b ? size_a : size_b;
        p.y[p.y_rank++] = p.batch[d];
    }
    if (p.a_rank > 1)
        p.y[p.y_rank++] = p.m;
    if (p.b_rank > 1)
        p.y[p.y_rank++] = p.n;
    return p;
}

static call product_call(const product *p, tern_dtype dtype, bool plain)
{
    call c = {.kernel = tern_matmul__ref, .items = p->m};
    if (plain) {
        call_in_plain(&c, dtype, p->a_rank, p->a, 10);
        call_in_plain(&c, dtype, p->b_rank, p->b, 10);
    } else {
        call_in(&c, dtype, p->a_rank, p->a, NULL);
        call_in(&c, dtype, p->b_rank, p->b, NULL);
    }
    call_out(&c, dtype, p->y_rank, p->y);
    c.attrs[0].i = p->a_turned;
    c.attrs[1].i = p->b_turned;
    for (int d = 0; d < p->batch_rank; d++)
        c.items *= p->batch[d];
    return c;
}

/* Row-major place of (row, column) of matrix `batch` of an operand. */
static int64_t place(int rank, const int64_t *shape, const product *p, int64_t batch, int64_t row,
                     int64_t column, bool turned)
{
    int64_t matrix = 0, size = 1;
    for (int d = p->batch_rank - 1; d >= 0; d--) {
        int own = d - (p->batch_rank - (rank - 2));
        if (own >= 0) {
            matrix += (shape[own] == 1 ? 0 : batch % p->batch[d]) * size;
            size *= shape[own];
        }
        batch /= p->batch[d];
    }
    return matrix * shape[rank - 2] * shape[rank - 1] + (turned ? column : row) * shape[rank - 1] +
           (turned ? row : column);
}

static int64_t a_place(const product *p, int64_t batch, int64_t row, int64_t k)
{
    return p->a_rank == 1 ? k : place(p->a_rank, p->a, p, batch, row, k, p->a_turned);
}

static int64_t b_place(const product *p, int64_t batch, int64_t k, int64_t column)
{
    return p->b_rank == 1 ? k : place(p->b_rank, p->b, p, batch, k, column, p->b_turned);
}

static void check_floats(tern_dtype dtype, bool plain, int64_t most)
{
    product p = random_product(most);
    call c = product_call(&p, dtype, plain);
    CHECK_OK(call_run(&c));
    operand want = operand_make(dtype, p.y_rank, p.y, NULL);
    for (int64_t item = 0; item < c.items; item++) {
        for (int64_t column = 0; column < p.n; column++) {
            float narrow = 0;
            double wide = 0;
            for (int64_t k = 0; k < p.k; k++) {
                double a = operand_get(&c.in[0], a_place(&p, item / p.m, item % p.m, k));
                double b = operand_get(&c.in[1], b_place(&p, item / p.m, k, column));
                narrow = fmaf((float)a, (float)b, narrow);
                wide = fma(a, b, wide);
            }
            operand_set(&want, item * p.n + column, dtype == TERN_F64 ? wide : (double)narrow);
        }
    }
    CHECK(operand_same(&want, &c.out[0]));
    operand_free(&want);
    call_free(&c);
}

TEST(matmul_of_floats_is_one_fused_chain)
{
    static const tern_dtype types[] = {TERN_F32, TERN_F64, TERN_F16, TERN_BF16};
    for (int round = 0; round < 80 && !harness_failed(); round++)
        check_floats(types[round % 4], round % 3 != 0, 9);
    /* larger than a block in every direction */
    for (int round = 0; round < 6 && !harness_failed(); round++)
        check_floats(types[round % 4], true, 50);
}

static int64_t get_int(const operand *o, int64_t index)
{
    int64_t value;
    tern__convert(o->type.dtype, operand_at(o, index), 1, TERN_I64, &value, 1, 1);
    return value;
}

TEST(matmul_of_integers_wraps)
{
    static const tern_dtype types[] = {TERN_U8, TERN_I8, TERN_I32, TERN_I64};
    for (int round = 0; round < 60; round++) {
        tern_dtype dtype = types[round % 4];
        product p = random_product(9);
        call c = product_call(&p, dtype, false);
        CHECK_OK(call_run(&c));
        for (int64_t item = 0; item < c.items; item++) {
            for (int64_t column = 0; column < p.n; column++) {
                uint64_t sum = 0;
                for (int64_t k = 0; k < p.k; k++)
                    sum += (uint64_t)get_int(&c.in[0], a_place(&p, item / p.m, item % p.m, k)) *
                           (uint64_t)get_int(&c.in[1], b_place(&p, item / p.m, k, column));
                int64_t want = dtype == TERN_U8    ? (int64_t)(uint8_t)sum
                               : dtype == TERN_I8  ? (int64_t)(int8_t)(uint8_t)sum
                               : dtype == TERN_I32 ? (int64_t)(int32_t)(uint32_t)sum
                                                   : (int64_t)sum;
                CHECK_EQ(get_int(&c.out[0], item * p.n + column), want);
            }
        }
        call_free(&c);
    }
}

TEST(matmul_by_hand)
{
    call c = {.kernel = tern_matmul__ref, .items = 2};
    call_in(&c, TERN_F32, SHAPE(2, 3), VALUES(1, 2, 3, 4, 5, 6));
    call_in(&c, TERN_F32, SHAPE(3, 2), VALUES(7, 8, 9, 10, 11, 12));
    call_out(&c, TERN_F32, SHAPE(2, 2));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(58, 64, 139, 154)));
    call_free(&c);

    call v = {.kernel = tern_matmul__ref, .items = 1};
    call_in(&v, TERN_I8, SHAPE(2), VALUES(100, 3));
    call_in(&v, TERN_I8, SHAPE(2), VALUES(2, 1));
    call_out(&v, TERN_I8, SCALAR);
    CHECK_OK(call_run(&v));
    CHECK(call_gives(&v, 0, VALUES(203 - 256)));
    call_free(&v);
}

/* The product alone would round to 1: only a fused chain keeps what is left of it. */
TEST(matmul_rounds_once_per_term)
{
    call c = {.kernel = tern_matmul__ref, .items = 1};
    call_in(&c, TERN_F32, SHAPE(1, 2), VALUES(1, 1 + 0x1p-12));
    call_in(&c, TERN_F32, SHAPE(2, 1), VALUES(-1, 1 - 0x1p-12));
    call_out(&c, TERN_F32, SHAPE(1, 1));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(-0x1p-24)));
    call_free(&c);
}
