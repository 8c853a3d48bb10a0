/* test_ref_source.c - the reference kernels without operands: full, arange, eye, rand, randn. */
#include <math.h>

#include "harness.h"
#include "kernels/operand.h"

TERN__KERNEL(full__ref);
TERN__KERNEL(arange__ref);
TERN__KERNEL(eye__ref);
TERN__KERNEL(rand__ref);
TERN__KERNEL(randn__ref);

enum { UNPACKED = TERN_F64 + 1 };
static const tern_dtype FLOAT_TYPES[] = {TERN_F16, TERN_BF16, TERN_F32, TERN_F64};

static operand source(tern__kernel_fn run, tern_dtype dtype, int rank, const int64_t *shape,
                      const tern__attr *attrs, dice *d)
{
    operand out = operand_make(dtype, rank, shape, d);
    if (operand_run(run, 0, NULL, &out, attrs, operand_numel(&out), d) != TERN_OK || !operand_is_intact(&out))
        harness_fail(__FILE__, __LINE__, "a source of %s failed", tern_dtype_name(dtype));
    return out;
}

TEST(full_fills_every_type)
{
    dice d = {harness_seed(), 6000000};
    for (int dtype = 0; dtype < UNPACKED; dtype++) {
        static const double values[] = {0, 1, -2.5, 300, NAN, INFINITY};
        for (int v = 0; v < 6; v++) {
            const tern__attr attrs[3] = {{.i = dtype}, {.count = 0}, {.f = values[v]}};
            operand dense = source(tern_full__ref, (tern_dtype)dtype, 2, (int64_t[]){71, 83}, attrs, NULL);
            operand strided = source(tern_full__ref, (tern_dtype)dtype, 2, (int64_t[]){71, 83}, attrs, &d);
            char want[8];
            tern__convert(TERN_F64, &values[v], 1, (tern_dtype)dtype, want, 1, 1);
            for (int64_t i = 0; i < operand_numel(&dense); i++)
                CHECK(memcmp(want, operand_at(&dense, i), tern__dtype_unit_bytes((tern_dtype)dtype)) == 0);
            CHECK(operand_same(&dense, &strided));
            operand_free(&dense);
            operand_free(&strided);
        }
    }
}

TEST(arange_and_eye)
{
    dice d = {harness_seed(), 7000000};
    tern__attr range[4] = {{.i = 0}, {.f = -0x1p62}, {.f = 0}, {.f = 3}};
    operand whole = source(tern_arange__ref, TERN_I64, 1, (int64_t[]){200}, range, &d);
    for (int64_t i = 0; i < 200; i++)
        CHECK_EQ(*(int64_t *)(void *)operand_at(&whole, i), -((int64_t)1 << 62) + 3 * i); /* exact */
    operand_free(&whole);
    range[1].f = 0.1;
    range[3].f = 0.3;
    operand real = source(tern_arange__ref, TERN_F32, 1, (int64_t[]){200}, range, &d);
    operand cut = source(tern_arange__ref, TERN_I32, 1, (int64_t[]){200}, range, &d);
    for (int64_t i = 0; i < 200; i++) {
        CHECK(operand_get(&real, i) == (double)(float)(0.1 + (double)i * 0.3));
        CHECK(operand_get(&cut, i) == trunc(0.1 + (double)i * 0.3));
    }
    operand_free(&real);
    operand_free(&cut);
    range[1].f = -5;
    range[3].f = 30;
    operand narrow = source(tern_arange__ref, TERN_U8, 1, (int64_t[]){12}, range, &d);
    for (int64_t i = 0; i < 12; i++) /* saturates, as casts do */
        CHECK_EQ((int64_t)operand_get(&narrow, i), i == 0 ? 0 : i >= 9 ? 255 : -5 + 30 * i);
    operand_free(&narrow);

    for (int64_t diagonal = -6; diagonal <= 8; diagonal++) {
        for (int dtype = 0; dtype < UNPACKED; dtype++) {
            const tern__attr attrs[4] = {{.i = dtype}, {.i = 5}, {.i = 7}, {.i = diagonal}};
            operand eye = source(tern_eye__ref, (tern_dtype)dtype, 2, (int64_t[]){5, 7}, attrs, &d);
            for (int64_t i = 0; i < 35; i++)
                CHECK(operand_get(&eye, i) == (i % 7 - i / 7 == diagonal));
            operand_free(&eye);
        }
    }
}

TEST(random_tensors_are_functions_of_seed_and_index)
{
    static const double grid[] = {0x1p-11, 0x1p-8, 0x1p-24, 0x1p-53}; /* of FLOAT_TYPES */
    dice d = {harness_seed(), 8000000};
    for (int t = 0; t < 4; t++) {
        tern_dtype dtype = FLOAT_TYPES[t];
        const tern__attr attrs[3] = {{.i = dtype}, {.count = 0}, {.i = -42}};
        const int64_t shape[] = {60, 70};
        operand uniform = source(tern_rand__ref, dtype, 2, shape, attrs, NULL);
        operand pieces = source(tern_rand__ref, dtype, 2, shape, attrs, &d);
        CHECK(operand_same(&uniform, &pieces));
        double sum = 0;
        for (int64_t i = 0; i < 4200; i++) {
            double x = operand_get(&uniform, i), sample = tern__random_uniform((uint64_t)-42, (uint64_t)i);
            CHECK(x >= 0 && x < 1 && x <= sample && sample - x < grid[t]);
            sum += x;
        }
        CHECK_NEAR(sum / 4200, 0.5, 0.02);
        operand_free(&uniform);
        operand_free(&pieces);

        operand normal = source(tern_randn__ref, dtype, 2, shape, attrs, NULL);
        operand parts = source(tern_randn__ref, dtype, 2, shape, attrs, &d);
        CHECK(operand_same(&normal, &parts));
        double mean = 0, square = 0;
        for (int64_t i = 0; i < 4200; i++) {
            double x = operand_get(&normal, i);
            mean += x / 4200;
            square += x * x / 4200;
        }
        CHECK_NEAR(mean, 0, 0.06);
        CHECK_NEAR(square, 1, 0.1);
        operand_free(&normal);
        operand_free(&parts);
    }
    operand ints = operand_make(TERN_I32, 1, (int64_t[]){4}, NULL);
    const tern__attr attrs[3] = {{.i = TERN_I32}, {.count = 0}, {.i = 1}};
    CHECK_STATUS(operand_run(tern_rand__ref, 0, NULL, &ints, attrs, 4, NULL), TERN_INTERNAL);
    CHECK_STATUS(operand_run(tern_randn__ref, 0, NULL, &ints, attrs, 4, NULL), TERN_INTERNAL);
    operand_free(&ints);
}
