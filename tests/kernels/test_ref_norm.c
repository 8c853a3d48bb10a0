/* rmsnorm and layernorm: rmsnorm bit for bit in its stated order, layernorm against long double. */
#include "call.h"

TERN__KERNEL(rmsnorm__ref);
TERN__KERNEL(layernorm__ref);

/* Squares in double, mean narrowed to float, 1 / sqrtf, x times that, then the weight. */
TEST(rmsnorm_order_of_operations)
{
    enum { ROWS = 64, N = 29 };
    call c = {.kernel = tern_rmsnorm__ref, .items = ROWS};
    call_in_plain(&c, TERN_F32, SHAPE(2, 32, N), 0.01); /* squares of about eps: each rounding shows */
    call_in_plain(&c, TERN_F32, SHAPE(N), 3);
    call_out(&c, TERN_F32, SHAPE(2, 32, N));
    c.attrs[0].f = 1e-5;
    CHECK_OK(call_run(&c));
    const float *x = (const float *)(void *)c.in[0].data, *w = (const float *)(void *)c.in[1].data;
    const float *y = (const float *)(void *)c.out[0].data;
    for (int r = 0; r < ROWS; r++, x += N, y += N) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += (double)x[i] * (double)x[i];
        float mean = (float)(sum / N), scale = 1.0f / sqrtf(mean + 1e-5f);
        for (int i = 0; i < N; i++)
            CHECK(y[i] == (x[i] * scale) * w[i]);
    }
    call_free(&c);
}

static void check_norm(bool layer, tern_dtype dtype, double precision, int operands)
{
    enum { N = 33 };
    call c = {.kernel = layer ? tern_layernorm__ref : tern_rmsnorm__ref, .items = 6};
    call_in_plain(&c, dtype, SHAPE(2, 3, N), 5);
    for (int i = 1; i < operands; i++)
        call_in_plain(&c, dtype, SHAPE(N), 2);
    call_out(&c, dtype, SHAPE(2, 3, N));
    c.attrs[0].f = 1e-3;
    CHECK_OK(call_run(&c));
    for (int64_t row = 0; row < 6; row++) {
        long double mean = 0, square = 0;
        for (int64_t i = 0; i < N; i++)
            mean += operand_get(&c.in[0], row * N + i) / (long double)N;
        mean = layer ? mean : 0;
        for (int64_t i = 0; i < N; i++)
            square += powl(operand_get(&c.in[0], row * N + i) - mean, 2) / N;
        for (int64_t i = 0; i < N; i++) {
            long double want = (operand_get(&c.in[0], row * N + i) - mean) / sqrtl(square + 1e-3L);
            want *= operands > 1 ? operand_get(&c.in[1], i) : 1;
            want += operands > 2 ? operand_get(&c.in[2], i) : 0;
            CHECK_NEAR(operand_get(&c.out[0], row * N + i), (double)want,
                       8 * precision * (1 + fabs((double)want)));
        }
    }
    call_free(&c);
}

TEST(norms_are_their_definitions)
{
    static const tern_dtype types[] = {TERN_F16, TERN_BF16, TERN_F32, TERN_F64};
    static const double precision[] = {0x1p-11, 0x1p-8, 0x1p-24, 0x1p-53};
    for (int type = 0; type < 4; type++) {
        for (int operands = 1; operands <= 3; operands++) {
            check_norm(true, types[type], precision[type], operands);
            if (operands < 3)
                check_norm(false, types[type], precision[type], operands);
        }
    }
}

/* A mean far from 0: with the statistics in f32 the deviations would be lost. */
TEST(layernorm_survives_a_large_mean)
{
    call c = {.kernel = tern_layernorm__ref, .items = 1};
    call_in(&c, TERN_F32, SHAPE(4), VALUES(1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3));
    call_out(&c, TERN_F32, SHAPE(4));
    CHECK_OK(call_run(&c));
    double unit = 1 / sqrt(1.25);
    CHECK(call_gives(
        &c, 0, VALUES((float)(-1.5 * unit), (float)(-0.5 * unit), (float)(0.5 * unit), (float)(1.5 * unit))));
    call_free(&c);
}

TEST(norm_special_values)
{
    call c = {.kernel = tern_rmsnorm__ref, .items = 4};
    call_in(&c, TERN_F32, SHAPE(4, 2), VALUES(0, 0, NAN, 1, INFINITY, 1, 3e38, -3e38));
    call_out(&c, TERN_F32, SHAPE(4, 2));
    c.attrs[0].f = 1e-5;
    CHECK_OK(call_run(&c));
    /* the last mean of squares overflows f32, as it does where it is computed in f32 */
    CHECK(call_gives(&c, 0, VALUES(0, 0, NAN, NAN, NAN, 0, 0, -0.0)));
    call_free(&c);

    call e = {.kernel = tern_rmsnorm__ref, .items = 3};
    call_in(&e, TERN_F32, SHAPE(3, 0), NULL);
    call_out(&e, TERN_F32, SHAPE(3, 0));
    CHECK_OK(call_run(&e));
    call_free(&e);
}
