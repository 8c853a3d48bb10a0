/* int8 quantisation: the rules by hand, and the vectors of another implementation. */
#include "call.h"
#include "shared_data.h"

TERN__KERNEL(quantise_rows__ref);
TERN__KERNEL(quantise_tensor__ref);
TERN__KERNEL(quantise__ref);
TERN__KERNEL(dequantise__ref);

static call quantise_call(tern__kernel_fn kernel, int64_t rows, int64_t columns, const double *values)
{
    call c = {.kernel = kernel, .items = kernel == tern_quantise_tensor__ref ? 1 : rows};
    call_in(&c, TERN_F32, SHAPE(rows, columns), values);
    call_out(&c, TERN_I8, SHAPE(rows, columns));
    if (kernel == tern_quantise_tensor__ref)
        call_out(&c, TERN_F32, SCALAR);
    else
        call_out(&c, TERN_F32, SHAPE(rows, 1));
    return c;
}

/* s = 2 and s = 1: products that end in .5 go to the even neighbour. */
TEST(quantise_rows_rounds_halves_to_even)
{
    call c = quantise_call(tern_quantise_rows__ref, 2, 6,
                           VALUES(63.5, 0.25, 0.75, -0.25, -0.75, 1.25, -127, 0.5, 1.5, 2.5, -0.5, -2.5));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(127, 0, 2, 0, -2, 2, -127, 0, 2, 2, 0, -2)));
    CHECK(call_gives(&c, 1, VALUES(2, 1)));
    call_free(&c);
}

TEST(quantise_rows_special_values)
{
    call c = quantise_call(tern_quantise_rows__ref, 4, 3,
                           VALUES(0, -0.0, 0, 1, NAN, 2, 1, -INFINITY, 3, 1e-6, 0, -4e-6));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(0, 0, 0, 0, 0, 0, 0, 0, 0, 13, 0, -51)));
    CHECK(call_gives(&c, 1, VALUES(12700000, NAN, 0, 12700000)));
    call_free(&c);

    call e = quantise_call(tern_quantise_rows__ref, 2, 0, NULL);
    CHECK_OK(call_run(&e));
    CHECK(call_gives(&e, 1, VALUES(12700000, 12700000)));
    call_free(&e);
}

TEST(quantise_tensor_has_one_scale)
{
    call c = quantise_call(tern_quantise_tensor__ref, 2, 3, VALUES(1, 2, -254, 4, 127, 6));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(0, 1, -127, 2, 64, 3))); /* 0.5 and 63.5 to even */
    CHECK(call_gives(&c, 1, VALUES(0.5)));
    call_free(&c);

    call s = {.kernel = tern_quantise_tensor__ref, .items = 1};
    call_in(&s, TERN_F32, SCALAR, VALUES(-3));
    call_out(&s, TERN_I8, SCALAR);
    call_out(&s, TERN_F32, SCALAR);
    CHECK_OK(call_run(&s));
    CHECK(call_gives(&s, 0, VALUES(-127)));
    call_free(&s);
}

TEST(quantise_with_a_given_scale)
{
    call c = {.kernel = tern_quantise__ref, .items = 8};
    call_in(&c, TERN_F32, SHAPE(2, 4), VALUES(1, 300, -300, NAN, 0.25, INFINITY, -INFINITY, 0.75));
    call_in(&c, TERN_F32, SHAPE(2, 1), VALUES(1, 2));
    call_out(&c, TERN_I8, SHAPE(2, 4));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(1, 127, -128, 0, 0, 127, -128, 2)));
    call_free(&c);
}

TEST(dequantise_divides_by_the_scale)
{
    call c = {.kernel = tern_dequantise__ref, .items = 4};
    call_in(&c, TERN_I8, SHAPE(2, 2), VALUES(-128, 127, 0, 3));
    call_in(&c, TERN_F32, SHAPE(2, 1), VALUES(2, 3));
    call_out(&c, TERN_F32, SHAPE(2, 2));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(-64, 63.5, 0, 1)));
    call_free(&c);

    call w = {.kernel = tern_dequantise__ref, .items = 2};
    call_in(&w, TERN_I32, SHAPE(2), VALUES(16777217, -10));
    call_in(&w, TERN_F32, SCALAR, VALUES(4));
    call_out(&w, TERN_F32, SHAPE(2));
    CHECK_OK(call_run(&w));
    CHECK(call_gives(&w, 0, VALUES(4194304, -2.5)));
    call_free(&w);
}

TEST(quantise_rows_matches_foreign_vectors)
{
    static float x[5 * 512], scale[5];
    static int8_t q[5 * 512];
    if (!shared_exists("x_f32_5x512.npy"))
        SKIP(SHARED_DATA_ABSENT);
    CHECK(shared_read("x_f32_5x512.npy", "<f4", x, sizeof x));
    CHECK(shared_read("x_i8.npy", "|i1", q, sizeof q));
    CHECK(shared_read("x_scale_127_over_absmax.npy", "<f4", scale, sizeof scale));
    call c = quantise_call(tern_quantise_rows__ref, 5, 512, NULL);
    memcpy(c.in[0].data, x, sizeof x);
    CHECK_OK(call_run(&c));
    CHECK(memcmp(c.out[0].data, q, sizeof q) == 0);
    /* They computed 127 * (1 / m), which may round twice; a true quotient is at most one unit away. */
    for (int64_t r = 0; r < 5; r++)
        CHECK_NEAR(operand_get(&c.out[1], r), (double)scale[r], 0x1p-23 * (double)scale[r]);
    call_free(&c);
}
