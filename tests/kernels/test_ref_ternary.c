/* Ternary quantisation and product: packed rows with gaps, both packed types, and the vectors of another
 * implementation. */
#include "call.h"
#include "shared_data.h"
#include "tensor/ternary.h"

TERN__KERNEL(ternary_matmul__ref);
TERN__KERNEL(ternary_quantise__ref);
TERN__KERNEL(ternary_dequantise__ref);

enum { GAP = 3 };

/* A packed matrix whose rows lie GAP guard bytes apart, the last row first. */
typedef struct packed {
    tern__type type;
    int64_t strides[2];
    uint8_t memory[1 << 14];
    tern__buffer buffer;
} packed;

static void packed_make(packed *p, tern_dtype dtype, int64_t rows, int64_t columns)
{
    int64_t bytes = tern__row_units(dtype, columns);
    p->type = (tern__type){.dtype = dtype, .rank = 2, .shape = {rows, columns}};
    p->strides[0] = -(bytes + GAP);
    p->strides[1] = 1;
    memset(p->memory, OPERAND_GUARD, sizeof p->memory);
    p->buffer =
        (tern__buffer){p->memory + GAP + (rows > 0 ? rows - 1 : 0) * (bytes + GAP), &p->type, p->strides};
}

static uint8_t *packed_row(const packed *p, int64_t row)
{
    return (uint8_t *)p->buffer.data + row * p->strides[0];
}

static void packed_fill(packed *p, const int8_t *values)
{
    for (int64_t r = 0; r < p->type.shape[0]; r++)
        tern__ternary_pack_row(p->type.dtype, values + r * p->type.shape[1], p->type.shape[1],
                               packed_row(p, r));
}

static bool packed_holds(const packed *p, const int8_t *values)
{
    uint8_t row[1024];
    for (int64_t r = 0; r < p->type.shape[0]; r++) {
        int64_t bytes = tern__row_units(p->type.dtype, p->type.shape[1]);
        tern__ternary_pack_row(p->type.dtype, values + r * p->type.shape[1], p->type.shape[1], row);
        if (memcmp(row, packed_row(p, r), (size_t)bytes) != 0)
            return false;
        for (int g = 1; g <= GAP; g++) {
            if (packed_row(p, r)[-g] != OPERAND_GUARD || packed_row(p, r)[bytes + g - 1] != OPERAND_GUARD)
                return false;
        }
    }
    return true;
}

static void random_ternary(int8_t *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = (int8_t)(dice_below(call_dice(), 3) - 1);
}

/* ---- product ------------------------------------------------------------------------------------------- */

static void check_product(tern_dtype dtype, int64_t rows, int64_t outputs, int64_t columns)
{
    static packed weight;
    static int8_t w[8192];
    random_ternary(w, outputs * columns);
    packed_make(&weight, dtype, outputs, columns);
    packed_fill(&weight, w);
    operand x = operand_make(TERN_I8, SHAPE(rows, columns), call_dice());
    operand y = operand_make(TERN_I32, SHAPE(rows, outputs), call_dice());
    for (int64_t i = 0; i < rows * columns; i++)
        operand_set(&x, i, (double)(dice_below(call_dice(), 256) - 128));
    tern__buffer in[] = {operand_buffer(&x), weight.buffer}, out[] = {operand_buffer(&y)};
    tern__kernel_args args = {.n_in = 2, .n_out = 1, .in = in, .out = out};
    int64_t middle = dice_below(call_dice(), rows + 1);
    CHECK_OK(tern_ternary_matmul__ref(&args, 0, middle));
    CHECK_OK(tern_ternary_matmul__ref(&args, middle, rows));
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t o = 0; o < outputs; o++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < columns; k++)
                sum += (int64_t)operand_get(&x, r * columns + k) * w[o * columns + k];
            CHECK_EQ((int64_t)operand_get(&y, r * outputs + o), sum);
        }
    }
    CHECK(operand_is_intact(&y));
    operand_free(&x);
    operand_free(&y);
}

TEST(ternary_matmul_is_exact)
{
    static const int64_t columns[] = {0, 1, 3, 4, 5, 7, 19, 20, 21, 319, 320, 321, 700};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        check_product(TERN_T2, 1 + dice_below(call_dice(), 4), dice_below(call_dice(), 6), columns[i]);
        check_product(TERN_T5, 1 + dice_below(call_dice(), 4), dice_below(call_dice(), 6), columns[i]);
    }
}

TEST(ternary_matmul_matches_foreign_vectors)
{
    static int8_t w[16 * 512], q[5 * 512];
    static int32_t want[5 * 16], got[5 * 16];
    if (!shared_exists("acc_i32_5x16.npy"))
        SKIP(SHARED_DATA_ABSENT);
    CHECK(shared_read("w_ternary_i8_16x512.npy", "|i1", w, sizeof w));
    CHECK(shared_read("x_i8.npy", "|i1", q, sizeof q));
    CHECK(shared_read("acc_i32_5x16.npy", "<i4", want, sizeof want));
    tern__type x_type = {.dtype = TERN_I8, .rank = 2, .shape = {5, 512}};
    tern__type y_type = {.dtype = TERN_I32, .rank = 2, .shape = {5, 16}};
    for (int i = 0; i < 2; i++) {
        static packed weight;
        packed_make(&weight, i == 0 ? TERN_T2 : TERN_T5, 16, 512);
        packed_fill(&weight, w);
        tern__buffer in[] = {{q, &x_type, (int64_t[]){512, 1}}, weight.buffer};
        tern__buffer out[] = {{got, &y_type, (int64_t[]){16, 1}}};
        tern__kernel_args args = {.n_in = 2, .n_out = 1, .in = in, .out = out};
        CHECK_OK(tern_ternary_matmul__ref(&args, 0, 5));
        CHECK(memcmp(got, want, sizeof want) == 0);
    }
}

/* ---- f32 <-> ternary ----------------------------------------------------------------------------------- */

/* Quantises x[rows, columns] into `t`; gives the scale used. */
static float quantise(const operand *x, const float *scale, packed *t)
{
    float used = 0, given = scale != NULL ? *scale : 0;
    tern__type scalar = {.dtype = TERN_F32, .rank = 0};
    tern__buffer in[] = {operand_buffer(x), {&given, &scalar, NULL}},
                 out[] = {t->buffer, {&used, &scalar, NULL}};
    tern__kernel_args args = {.n_in = scale != NULL ? 2 : 1, .n_out = 2, .in = in, .out = out};
    if (tern_ternary_quantise__ref(&args, 0, 1) != TERN_OK)
        harness_fail(__FILE__, __LINE__, "ternary_quantise failed");
    return used;
}

TEST(ternary_quantise_by_hand)
{
    static packed t;
    /* mean|x| = 1: halves go to even, so 0.5 becomes 0 */
    const double x[] = {0.5, -0.5, 0.75, -1.5, 2.5, 0.25};
    operand o = operand_make(TERN_F32, SHAPE(2, 3), call_dice());
    for (int i = 0; i < 6; i++)
        operand_set(&o, i, x[i]);
    packed_make(&t, TERN_T2, 2, 3);
    CHECK(quantise(&o, NULL, &t) == 1);
    CHECK(packed_holds(&t, (const int8_t[]){0, 0, 1, -1, 1, 0}));
    packed_make(&t, TERN_T5, 2, 3);
    CHECK(quantise(&o, &(float){0.5f}, &t) == 0.5f);
    CHECK(packed_holds(&t, (const int8_t[]){1, -1, 1, -1, 1, 0}));
    operand_free(&o);
}

TEST(ternary_quantise_special_values)
{
    static packed t;
    operand o = operand_make(TERN_F32, SHAPE(1, 4), NULL);
    packed_make(&t, TERN_T2, 1, 4);
    memset(o.data, 0, 16);
    CHECK(quantise(&o, NULL, &t) == 1e-5f);
    CHECK(packed_holds(&t, (const int8_t[]){0, 0, 0, 0}));
    operand_set(&o, 1, NAN);
    operand_set(&o, 2, 5);
    CHECK(isnan(quantise(&o, NULL, &t)));
    CHECK(packed_holds(&t, (const int8_t[]){0, 0, 0, 0}));
    CHECK(quantise(&o, &(float){1}, &t) == 1);
    CHECK(packed_holds(&t, (const int8_t[]){0, 0, 1, 0}));
    operand_set(&o, 1, INFINITY);
    operand_set(&o, 3, -INFINITY);
    CHECK(isinf(quantise(&o, NULL, &t)));
    CHECK(packed_holds(&t, (const int8_t[]){0, 0, 0, 0}));
    CHECK(quantise(&o, &(float){2}, &t) == 2);
    CHECK(packed_holds(&t, (const int8_t[]){0, 1, 1, -1}));
    operand_free(&o);

    operand nothing = operand_make(TERN_F32, SHAPE(3, 0), NULL);
    packed_make(&t, TERN_T2, 3, 0);
    CHECK(quantise(&nothing, NULL, &t) == 1e-5f);
    operand_free(&nothing);
}

TEST(ternary_quantise_matches_foreign_vectors)
{
    static packed t;
    static float latent[16 * 512];
    static int8_t want[16 * 512];
    float absmean;
    if (!shared_exists("latent_w_f32_16x512.npy"))
        SKIP(SHARED_DATA_ABSENT);
    CHECK(shared_read("latent_w_f32_16x512.npy", "<f4", latent, sizeof latent));
    CHECK(shared_read("latent_w_ternary_i8.npy", "|i1", want, sizeof want));
    CHECK(shared_read("latent_w_absmean.npy", "<f4", &absmean, sizeof absmean));
    for (int i = 0; i < 2; i++) {
        operand x = operand_make(TERN_F32, SHAPE(16, 512), call_dice());
        for (int64_t k = 0; k < 16 * 512; k++)
            operand_set(&x, k, (double)latent[k]);
        packed_make(&t, i == 0 ? TERN_T2 : TERN_T5, 16, 512);
        CHECK_NEAR(quantise(&x, NULL, &t), absmean, 0x1p-23 * absmean); /* they summed in f32 */
        CHECK(packed_holds(&t, want));
        operand_free(&x);
    }
}

TEST(ternary_dequantise_scales)
{
    static packed t;
    static int8_t values[3 * 330];
    for (int i = 0; i < 2; i++) {
        random_ternary(values, 3 * 330);
        packed_make(&t, i == 0 ? TERN_T2 : TERN_T5, 3, 330);
        packed_fill(&t, values);
        operand y = operand_make(TERN_F32, SHAPE(3, 330), call_dice());
        float scale = 0.375f;
        tern__type scalar = {.dtype = TERN_F32, .rank = 0};
        tern__buffer in[] = {t.buffer, {&scale, &scalar, NULL}}, out[] = {operand_buffer(&y)};
        tern__kernel_args args = {.n_in = 2, .n_out = 1, .in = in, .out = out};
        CHECK_OK(tern_ternary_dequantise__ref(&args, 1, 3));
        CHECK_OK(tern_ternary_dequantise__ref(&args, 0, 1));
        for (int64_t k = 0; k < 3 * 330; k++)
            CHECK(operand_get(&y, k) == values[k] * 0.375);
        CHECK(operand_is_intact(&y));
        operand_free(&y);
    }
}
