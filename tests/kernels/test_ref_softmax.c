/* Softmax, log_softmax and cumsum against their definitions in long double, and the special values. */
#include "call.h"
#include "tensor/half.h"

TERN__KERNEL(softmax__ref);
TERN__KERNEL(log_softmax__ref);
TERN__KERNEL(cumsum__ref);

static const tern_dtype FLOAT_TYPES[] = {TERN_F16, TERN_BF16, TERN_F32, TERN_F64};
static const double PRECISION[] = {0x1p-11, 0x1p-8, 0x1p-24, 0x1p-53};

/* A random tensor of up to four axes cut along one of them. */
typedef struct lanes {
    int rank, axis;
    int64_t shape[4], n, inner, count;
} lanes;

static lanes random_lanes(void)
{
    lanes l = {.rank = 1 + (int)dice_below(call_dice(), 4), .inner = 1};
    l.axis = (int)dice_below(call_dice(), l.rank);
    random_shape(l.rank, l.shape);
    if (l.rank < 3)
        l.shape[l.axis] += dice_below(call_dice(), 40);
    l.n = l.shape[l.axis];
    l.count = 1;
    for (int i = 0; i < l.rank; i++) {
        l.count *= i == l.axis ? 1 : l.shape[i];
        l.inner *= i > l.axis ? l.shape[i] : 1;
    }
    return l;
}

/* Row-major place of element i of a lane. */
static int64_t place(const lanes *l, int64_t lane, int64_t i)
{
    return (lane / l->inner * l->n + i) * l->inner + lane % l->inner;
}

static call call_along(tern__kernel_fn kernel, const lanes *l, tern_dtype dtype, bool plain)
{
    call c = {.kernel = kernel, .items = l->count};
    if (plain)
        call_in_plain(&c, dtype, l->rank, l->shape, 8);
    else
        call_in(&c, dtype, l->rank, l->shape, NULL);
    call_out(&c, dtype, l->rank, l->shape);
    c.attrs[0].i = dice_below(call_dice(), 2) ? l->axis : l->axis - l->rank;
    return c;
}

static void check_softmax(bool logarithm)
{
    for (int round = 0; round < 60; round++) {
        int type = round % 4;
        lanes l = random_lanes();
        call c =
            call_along(logarithm ? tern_log_softmax__ref : tern_softmax__ref, &l, FLOAT_TYPES[type], true);
        CHECK_OK(call_run(&c));
        for (int64_t lane = 0; lane < l.count; lane++) {
            long double sum = 0;
            for (int64_t i = 0; i < l.n; i++)
                sum += expl((long double)operand_get(&c.in[0], place(&l, lane, i)));
            for (int64_t i = 0; i < l.n; i++) {
                long double x = operand_get(&c.in[0], place(&l, lane, i));
                double want = (double)(logarithm ? x - logl(sum) : expl(x) / sum);
                /* x - max rounds too, by up to half a unit of 16; the least f16 is 2^-24 */
                double tolerance = PRECISION[type] * 40 * (logarithm ? 1 : want) + 0x1p-25 * (type == 0);
                CHECK_NEAR(operand_get(&c.out[0], place(&l, lane, i)), want, tolerance);
            }
        }
        call_free(&c);
    }
}

TEST(softmax_is_its_definition)
{
    check_softmax(false);
}

TEST(log_softmax_is_its_definition)
{
    check_softmax(true);
}

/* Largest first, f32 terms, their sum in f64, one rounding of the quotient. */
TEST(softmax_rounds_as_documented)
{
    call c = {.kernel = tern_softmax__ref, .items = 1};
    call_in_plain(&c, TERN_F32, SHAPE(100), 10);
    call_out(&c, TERN_F32, SHAPE(100));
    c.attrs[0].i = -1;
    CHECK_OK(call_run(&c));
    const float *x = (const float *)(void *)c.in[0].data, *y = (const float *)(void *)c.out[0].data;
    float max = x[0], e[100];
    for (int i = 1; i < 100; i++)
        max = x[i] > max ? x[i] : max;
    double sum = 0;
    for (int i = 0; i < 100; i++) {
        e[i] = (float)exp((double)(x[i] - max));
        sum += (double)e[i];
    }
    for (int i = 0; i < 100; i++)
        CHECK(y[i] == (float)((double)e[i] / sum));
    call_free(&c);
}

TEST(softmax_special_values)
{
    call c = {.kernel = tern_softmax__ref, .items = 5};
    call_in(&c, TERN_F32, SHAPE(5, 3),
            VALUES(-INFINITY, -INFINITY, -INFINITY, 1, NAN, 2, -INFINITY, 5, -INFINITY, INFINITY, 0, 0, 1e38,
                   1e38, -1e38));
    call_out(&c, TERN_F32, SHAPE(5, 3));
    c.attrs[0].i = 1;
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(NAN, NAN, NAN, NAN, NAN, NAN, 0, 1, 0, NAN, NAN, NAN, 0.5, 0.5, 0)));
    call_free(&c);
}

/* x - logsumexp(x), where the logsumexp of a lane with +inf is +inf. */
TEST(log_softmax_special_values)
{
    call c = {.kernel = tern_log_softmax__ref, .items = 4};
    call_in(
        &c, TERN_F32, SHAPE(4, 3),
        VALUES(-INFINITY, -INFINITY, -INFINITY, 1, NAN, 2, -INFINITY, 5, -INFINITY, INFINITY, 0, -INFINITY));
    call_out(&c, TERN_F32, SHAPE(4, 3));
    c.attrs[0].i = 1;
    CHECK_OK(call_run(&c));
    CHECK(call_gives(
        &c, 0, VALUES(NAN, NAN, NAN, NAN, NAN, NAN, -INFINITY, 0, -INFINITY, NAN, -INFINITY, -INFINITY)));
    call_free(&c);
}

TEST(softmax_of_nothing)
{
    call c = {.kernel = tern_softmax__ref, .items = 3};
    call_in(&c, TERN_F32, SHAPE(3, 0), NULL);
    call_out(&c, TERN_F32, SHAPE(3, 0));
    c.attrs[0].i = -1;
    CHECK_OK(call_run(&c));
    call_free(&c);
}

TEST(cumsum_is_its_definition)
{
    for (int round = 0; round < 60; round++) {
        int type = round % 5;
        tern_dtype dtype = type == 4 ? TERN_I64 : FLOAT_TYPES[type];
        lanes l = random_lanes();
        call c = call_along(tern_cumsum__ref, &l, dtype, true);
        CHECK_OK(call_run(&c));
        for (int64_t lane = 0; lane < l.count; lane++) {
            double sum = 0;
            for (int64_t i = 0; i < l.n; i++) {
                double rounded;
                sum += operand_get(&c.in[0], place(&l, lane, i));
                if (dtype == TERN_F16 || dtype == TERN_BF16) {
                    float narrow = (float)sum; /* 16-bit results are those of f32, rounded */
                    uint16_t half = dtype == TERN_F16 ? tern__f32_to_f16(narrow) : tern__f32_to_bf16(narrow);
                    rounded = (double)(dtype == TERN_F16 ? tern__f16_to_f32(half) : tern__bf16_to_f32(half));
                } else {
                    rounded = dtype == TERN_F32 ? (double)(float)sum : sum;
                }
                CHECK(operand_get(&c.out[0], place(&l, lane, i)) == rounded);
            }
        }
        call_free(&c);
    }
}

TEST(cumsum_of_integers_wraps)
{
    call c = {.kernel = tern_cumsum__ref, .items = 1};
    operand *x = call_in(&c, TERN_I64, SHAPE(3), VALUES(0, 1, 1));
    *(int64_t *)(void *)operand_at(x, 0) = INT64_MAX;
    operand *y = call_out(&c, TERN_I64, SHAPE(3));
    c.attrs[0].i = 0;
    CHECK_OK(call_run(&c));
    const int64_t *sums = (const int64_t *)(void *)y->data;
    CHECK_EQ(sums[0], INT64_MAX);
    CHECK_EQ(sums[1], INT64_MIN);
    CHECK_EQ(sums[2], INT64_MIN + 1);
    call_free(&c);
}

TEST(cumsum_special_values)
{
    call c = {.kernel = tern_cumsum__ref, .items = 2};
    call_in(&c, TERN_F32, SHAPE(4, 2), VALUES(1, INFINITY, NAN, 1, 1, -INFINITY, 2, 3));
    call_out(&c, TERN_F32, SHAPE(4, 2));
    c.attrs[0].i = 0;
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(1, INFINITY, NAN, INFINITY, NAN, NAN, NAN, NAN)));
    call_free(&c);
}
