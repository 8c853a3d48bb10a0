/* test_ref_elementwise.c - the elementwise reference kernels: every one over every layout and split
 * against itself on dense operands, and the values of each against numbers known by hand or from long
 * double. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "harness.h"
#include "kernels/operand.h"
#include "tensor/half.h"

/* ---- every kernel -------------------------------------------------------------------------------------- */

/* X(name, operands, types): n numbers, f floats, i integers and bool, b bool, u everything; capital: gives
 * bool. */
/* clang-format off */
#define KERNELS(X)                                                                                          \
    X(neg, 1, n) X(abs, 1, n) X(sign, 1, n) X(square, 1, n) X(relu, 1, n) X(clamp, 1, n)                    \
    X(floor, 1, f) X(ceil, 1, f) X(trunc, 1, f) X(round, 1, f) X(reciprocal, 1, f) X(sqrt, 1, f)            \
    X(rsqrt, 1, f) X(cbrt, 1, f) X(exp, 1, f) X(exp2, 1, f) X(expm1, 1, f) X(log, 1, f)                     \
    X(log2, 1, f) X(log1p, 1, f) X(sin, 1, f) X(cos, 1, f) X(tan, 1, f) X(asin, 1, f)                       \
    X(acos, 1, f) X(atan, 1, f) X(sinh, 1, f) X(cosh, 1, f) X(tanh, 1, f) X(erf, 1, f)                      \
    X(relu2, 1, f) X(leaky_relu, 1, f) X(elu, 1, f) X(gelu, 1, f) X(gelu_tanh, 1, f) X(silu, 1, f)          \
    X(sigmoid, 1, f) X(softplus, 1, f) X(isnan, 1, U) X(isinf, 1, U) X(isfinite, 1, U) X(logical_not, 1, b) \
    X(bit_not, 1, i) X(add, 2, u) X(sub, 2, n) X(mul, 2, u) X(div, 2, f) X(floor_div, 2, n)                 \
    X(mod, 2, n) X(pow, 2, f) X(atan2, 2, f) X(maximum, 2, u) X(minimum, 2, u) X(eq, 2, U)                  \
    X(ne, 2, U) X(lt, 2, U) X(le, 2, U) X(gt, 2, U) X(ge, 2, U) X(logical_and, 2, b)                        \
    X(logical_or, 2, b) X(logical_xor, 2, b) X(bit_and, 2, i) X(bit_or, 2, i) X(bit_xor, 2, i)
/* clang-format on */

#define DECLARE(name, operands, types) TERN__KERNEL(name##__ref);
KERNELS(DECLARE)

typedef struct entry {
    const char *name;
    tern__kernel_fn run;
    int operands;
    char types;
} entry;

static const entry ENTRIES[] = {
#define ENTRY(name, operands, types) {#name, tern_##name##__ref, operands, #types[0]},
    KERNELS(ENTRY)};
enum { ENTRY_COUNT = sizeof ENTRIES / sizeof ENTRIES[0], UNPACKED = TERN_F64 + 1 };

static const tern__attr ATTRS[2] = {{.f = -1.25}, {.f = 2.75}}; /* clamp, leaky_relu, elu */

static bool takes(const entry *e, tern_dtype dtype)
{
    bool is_float = tern__dtype_is_float(dtype), is_bool = dtype == TERN_BOOL;
    switch (e->types) {
    case 'n':
        return !is_bool;
    case 'f':
        return is_float;
    case 'i':
        return !is_float;
    case 'b':
        return is_bool;
    default:
        return true;
    }
}

static tern_dtype gives(const entry *e, tern_dtype dtype)
{
    return e->types == 'U' ? TERN_BOOL : dtype;
}

static void check_layouts(const entry *e, tern_dtype dtype, dice *d)
{
    tern__type type = dice_type(dtype, d);
    int64_t n = tern__type_numel(&type);
    operand in[2], dense[2];
    for (int k = 0; k < e->operands; k++) {
        in[k] = operand_random_part(dtype, &type, d);
        dense[k] = operand_spread(&in[k], &type);
    }
    operand want = operand_make(gives(e, dtype), type.rank, type.shape, NULL);
    operand got = operand_make(gives(e, dtype), type.rank, type.shape, d);
    tern_status first = operand_run(e->run, e->operands, dense, &want, ATTRS, n, NULL);
    tern_status second = operand_run(e->run, e->operands, in, &got, ATTRS, n, d);
    if (first != TERN_OK || second != TERN_OK || !operand_same(&want, &got) || !operand_is_intact(&got) ||
        !operand_is_intact(&want))
        harness_fail(__FILE__, __LINE__, "%s of %s: strided operands give another result than dense ones",
                     e->name, tern_dtype_name(dtype));
    operand_free(&want);
    operand_free(&got);
    for (int k = 0; k < e->operands; k++) {
        operand_free(&in[k]);
        operand_free(&dense[k]);
    }
}

TEST(any_strides_broadcasts_and_splits_give_the_bits_of_dense_operands)
{
    dice d = {harness_seed(), 0};
    for (int e = 0; e < ENTRY_COUNT; e++) {
        for (int dtype = 0; dtype < UNPACKED; dtype++) {
            for (int round = 0; round < 12 && takes(&ENTRIES[e], (tern_dtype)dtype); round++)
                check_layouts(&ENTRIES[e], (tern_dtype)dtype, &d);
            if (harness_failed())
                return;
        }
    }
}

TEST(types_that_a_kernel_does_not_know_are_refused)
{
    for (int e = 0; e < ENTRY_COUNT; e++) {
        for (int dtype = 0; dtype < TERN_DTYPE_COUNT; dtype++) {
            if (dtype < UNPACKED && takes(&ENTRIES[e], (tern_dtype)dtype))
                continue;
            operand in[2], out = operand_make((tern_dtype)dtype, 1, (int64_t[]){4}, NULL);
            for (int k = 0; k < 2; k++)
                in[k] = operand_make((tern_dtype)dtype, 1, (int64_t[]){4}, NULL);
            CHECK_STATUS(operand_run(ENTRIES[e].run, ENTRIES[e].operands, in, &out, ATTRS, 4, NULL),
                         TERN_INTERNAL);
            operand_free(&out);
            operand_free(&in[0]);
            operand_free(&in[1]);
        }
    }
}

TEST(a_result_may_be_one_of_the_operands)
{
    dice d = {harness_seed(), 1000000};
    for (int e = 0; e < ENTRY_COUNT; e++) {
        if (!takes(&ENTRIES[e], TERN_F32) || ENTRIES[e].types == 'U')
            continue;
        operand in[2], out = operand_make(TERN_F32, 2, (int64_t[]){5, 7}, NULL);
        for (int k = 0; k < 2; k++) {
            in[k] = operand_make(TERN_F32, 2, (int64_t[]){5, 7}, NULL);
            operand_randomise(&in[k], &d);
        }
        CHECK_OK(operand_run(ENTRIES[e].run, ENTRIES[e].operands, in, &out, ATTRS, 35, NULL));
        int k = ENTRIES[e].operands - 1;
        CHECK_OK(operand_run(ENTRIES[e].run, ENTRIES[e].operands, in, &in[k], ATTRS, 35, NULL));
        CHECK(operand_same(&out, &in[k]));
        operand_free(&out);
        operand_free(&in[0]);
        operand_free(&in[1]);
    }
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* The kernel on scalars of `dtype`, as a double. */
static double call(tern__kernel_fn run, tern_dtype dtype, tern_dtype result, int n, const double *x,
                   const tern__attr *attrs)
{
    operand in[3], out = operand_make(result, 0, NULL, NULL);
    for (int k = 0; k < n; k++) {
        in[k] = operand_make(dtype, 0, NULL, NULL);
        operand_set(&in[k], 0, x[k]);
    }
    double y = operand_run(run, n, in, &out, attrs, 1, NULL) == TERN_OK ? operand_get(&out, 0) : -12345;
    operand_free(&out);
    for (int k = 0; k < n; k++)
        operand_free(&in[k]);
    return y;
}

/* Equal, the sign of zero and NaN included. */
static bool same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

#define UNARY(name, dtype, x) call(tern_##name##__ref, dtype, dtype, 1, (double[]){x}, ATTRS)
#define BINARY(name, dtype, a, b) call(tern_##name##__ref, dtype, dtype, 2, (double[]){a, b}, NULL)
#define CHECK_UNARY(name, dtype, x, want) CHECK(same_number(UNARY(name, dtype, x), want))
#define CHECK_BINARY(name, dtype, a, b, want) CHECK(same_number(BINARY(name, dtype, a, b), want))

static const tern_dtype FLOAT_TYPES[] = {TERN_F16, TERN_BF16, TERN_F32, TERN_F64};
static const double INF = INFINITY;

TEST(unary_arithmetic_of_floats)
{
    for (int t = 0; t < 4; t++) {
        tern_dtype dtype = FLOAT_TYPES[t];
        CHECK_UNARY(neg, dtype, 0.0, -0.0);
        CHECK_UNARY(neg, dtype, 1.5, -1.5);
        CHECK_UNARY(abs, dtype, -0.0, 0.0);
        CHECK_UNARY(abs, dtype, -INF, INF);
        CHECK_UNARY(sign, dtype, -0.0, 0.0);
        CHECK_UNARY(sign, dtype, -INF, -1.0);
        CHECK_UNARY(sign, dtype, 0x1p-24, 1.0);
        CHECK_UNARY(sign, dtype, NAN, NAN);
        CHECK_UNARY(square, dtype, -1.5, 2.25);
        CHECK_UNARY(relu, dtype, -3.0, 0.0);
        CHECK_UNARY(relu, dtype, -0.0, 0.0);
        CHECK_UNARY(relu, dtype, 3.0, 3.0);
        CHECK_UNARY(relu, dtype, NAN, NAN);
        CHECK_UNARY(relu2, dtype, -3.0, 0.0);
        CHECK_UNARY(relu2, dtype, 3.0, 9.0);
        CHECK_UNARY(relu2, dtype, NAN, NAN);
        CHECK_UNARY(floor, dtype, -0.5, -1.0);
        CHECK_UNARY(ceil, dtype, -0.5, -0.0);
        CHECK_UNARY(trunc, dtype, -1.5, -1.0);
        CHECK_UNARY(round, dtype, 0.5, 0.0);
        CHECK_UNARY(round, dtype, 1.5, 2.0);
        CHECK_UNARY(round, dtype, 2.5, 2.0);
        CHECK_UNARY(round, dtype, -2.5, -2.0);
        CHECK_UNARY(round, dtype, -0.25, -0.0);
        CHECK_UNARY(reciprocal, dtype, -0.0, -INF);
        CHECK_UNARY(reciprocal, dtype, -INF, -0.0);
        CHECK_UNARY(sqrt, dtype, 2.25, 1.5);
        CHECK_UNARY(sqrt, dtype, -0.0, -0.0);
        CHECK_UNARY(sqrt, dtype, -1.0, NAN);
        CHECK_UNARY(rsqrt, dtype, 0.25, 2.0);
        CHECK_UNARY(rsqrt, dtype, 0.0, INF);
        CHECK_UNARY(rsqrt, dtype, INF, 0.0);
        CHECK_UNARY(leaky_relu, dtype, 2.0, 2.0);
        CHECK_UNARY(leaky_relu, dtype, -2.0, 2.5);
        CHECK_UNARY(leaky_relu, dtype, NAN, NAN);
        CHECK_UNARY(clamp, dtype, -7.0, -1.25);
        CHECK_UNARY(clamp, dtype, INF, 2.75);
        CHECK_UNARY(clamp, dtype, 0.5, 0.5);
        CHECK_UNARY(clamp, dtype, NAN, NAN);
    }
}

TEST(integers_wrap_and_clamp_inside_their_bounds)
{
    CHECK_UNARY(neg, TERN_I8, -128, -128.0);
    CHECK_UNARY(neg, TERN_U8, 1, 255.0);
    CHECK_UNARY(neg, TERN_I32, -0x1p31, -0x1p31);
    CHECK_UNARY(neg, TERN_I64, -0x1p63, -0x1p63);
    CHECK_UNARY(abs, TERN_I8, -128, -128.0);
    CHECK_UNARY(abs, TERN_I64, -0x1p63, -0x1p63);
    CHECK_UNARY(abs, TERN_I32, -7, 7.0);
    CHECK_UNARY(abs, TERN_U8, 200, 200.0);
    CHECK_UNARY(sign, TERN_I64, -0x1p63, -1.0);
    CHECK_UNARY(sign, TERN_U8, 255, 1.0);
    CHECK_UNARY(square, TERN_U8, 16, 0.0);
    CHECK_UNARY(square, TERN_I32, 65536, 0.0);
    CHECK_UNARY(square, TERN_I64, 0x1p31, 0x1p62);
    CHECK_UNARY(relu, TERN_I8, -128, 0.0);
    CHECK_UNARY(clamp, TERN_I32, -9, -1.0); /* [-1.25, 2.75] holds -1 .. 2 */
    CHECK_UNARY(clamp, TERN_I32, 9, 2.0);
    CHECK_UNARY(clamp, TERN_U8, 0, 0.0);
    const tern__attr wide[2] = {{.f = -INFINITY}, {.f = 300}}, high[2] = {{.f = 300}, {.f = INFINITY}};
    CHECK(call(tern_clamp__ref, TERN_U8, TERN_U8, 1, (double[]){255}, wide) == 255);
    CHECK(call(tern_clamp__ref, TERN_U8, TERN_U8, 1, (double[]){7}, high) == 255);
    CHECK(call(tern_clamp__ref, TERN_I64, TERN_I64, 1, (double[]){-0x1p63}, wide) == -0x1p63);
    CHECK_UNARY(bit_not, TERN_U8, 0x0f, 240.0);
    CHECK_UNARY(bit_not, TERN_I64, 0, -1.0);
    CHECK_UNARY(bit_not, TERN_BOOL, 0, 1.0);
    CHECK_UNARY(logical_not, TERN_BOOL, 1, 0.0);

    CHECK_BINARY(add, TERN_I8, 127, 1, -128.0);
    CHECK_BINARY(add, TERN_I32, 2147483647, 1, -0x1p31);
    CHECK_BINARY(add, TERN_BOOL, 1, 1, 1.0);
    CHECK_BINARY(mul, TERN_BOOL, 1, 0, 0.0);
    CHECK_BINARY(sub, TERN_U8, 0, 1, 255.0);
    CHECK_BINARY(mul, TERN_I64, 0x1p62, 4, 0.0);
    CHECK_BINARY(mul, TERN_U8, 255, 255, 1.0);
    CHECK_BINARY(bit_and, TERN_I32, -1, 12, 12.0);
    CHECK_BINARY(bit_xor, TERN_U8, 255, 15, 240.0);
    CHECK_BINARY(bit_or, TERN_BOOL, 0, 1, 1.0);
    CHECK_BINARY(logical_xor, TERN_BOOL, 1, 1, 0.0);
}

TEST(floor_division_of_integers)
{
    static const double cases[][4] = {
        /* a, b, a // b, a % b */
        {7, 2, 3, 1},       {-7, 2, -4, 1},    {7, -2, -4, -1},    {-7, -2, 3, -1},
        {6, -2, -3, 0},     {5, 0, 0, 0},      {0, -3, 0, 0},      {-5, 0, 0, 0},
        {-128, -1, 128, 0}, {-1, 100, -1, 99}, {1, -100, -1, -99},
    };
    static const tern_dtype types[] = {TERN_I8, TERN_I32, TERN_I64};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int t = 0; t < 3; t++) {
            double quotient = types[t] == TERN_I8 && cases[c][2] == 128 ? -128 : cases[c][2];
            CHECK(BINARY(floor_div, types[t], cases[c][0], cases[c][1]) == quotient);
            CHECK(BINARY(mod, types[t], cases[c][0], cases[c][1]) == cases[c][3]);
        }
    }
    CHECK_BINARY(floor_div, TERN_I32, -0x1p31, -1, -0x1p31);
    CHECK_BINARY(floor_div, TERN_I64, -0x1p63, -1, -0x1p63);
    CHECK_BINARY(mod, TERN_I64, -0x1p63, -1, 0.0);
    CHECK_BINARY(floor_div, TERN_U8, 250, 7, 35.0);
    CHECK_BINARY(mod, TERN_U8, 250, 7, 5.0);
}

TEST(floor_division_of_floats_is_that_of_numpy)
{
    static const double cases[][4] = {
        {7, 2, 3, 1},
        {-7, 2, -4, 1},
        {7, -2, -4, -1},
        {-7, -2, 3, -1},
        {6, -2, -3, -0.0},
        {-6, 2, -3, 0.0},
        {0.0, 2, 0.0, 0.0},
        {-0.0, 2, -0.0, 0.0},
        {0.0, -2, -0.0, -0.0},
        {1, 0.0, INFINITY, NAN},
        {1, -0.0, -INFINITY, NAN},
        {-1, 0.0, -INFINITY, NAN},
        {0.0, 0.0, NAN, NAN},
        {1, INFINITY, 0.0, 1},
        {-1, INFINITY, -1, INFINITY},
        {1, -INFINITY, -1, -INFINITY},
        {INFINITY, 2, NAN, NAN},
        {INFINITY, INFINITY, NAN, NAN},
        {NAN, 1, NAN, NAN},
        {1, NAN, NAN, NAN},
        {0.5, 0.25, 2, 0.0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int t = 0; t < 4; t++) {
            CHECK(same_number(BINARY(floor_div, FLOAT_TYPES[t], cases[c][0], cases[c][1]), cases[c][2]));
            CHECK(same_number(BINARY(mod, FLOAT_TYPES[t], cases[c][0], cases[c][1]), cases[c][3]));
        }
    }
    CHECK_BINARY(floor_div, TERN_F64, 1, 0.1, 9.0);
    CHECK_BINARY(mod, TERN_F64, 1, 0.1, 0.09999999999999995);
}

TEST(order_and_comparison_with_nan_and_zeros)
{
    for (int t = 0; t < 4; t++) {
        tern_dtype dtype = FLOAT_TYPES[t];
        CHECK_BINARY(maximum, dtype, NAN, 1, NAN);
        CHECK_BINARY(maximum, dtype, 1, NAN, NAN);
        CHECK_BINARY(minimum, dtype, NAN, 1, NAN);
        CHECK_BINARY(minimum, dtype, 1, NAN, NAN);
        CHECK_BINARY(maximum, dtype, -INF, 1, 1.0);
        CHECK_BINARY(minimum, dtype, -INF, 1, -INF);
        CHECK_BINARY(maximum, dtype, -0.0, 0.0, -0.0); /* equal: the first */
        CHECK_BINARY(minimum, dtype, 0.0, -0.0, 0.0);
#define TRUTH(name, a, b) call(tern_##name##__ref, dtype, TERN_BOOL, 2, (double[]){a, b}, NULL)
        CHECK(TRUTH(eq, NAN, NAN) == 0 && TRUTH(ne, NAN, NAN) == 1 && TRUTH(le, NAN, 1) == 0);
        CHECK(TRUTH(gt, 1, NAN) == 0 && TRUTH(eq, 0.0, -0.0) == 1 && TRUTH(lt, -0.0, 0.0) == 0);
        CHECK(TRUTH(ge, INF, INF) == 1 && TRUTH(lt, -INF, INF) == 1 && TRUTH(gt, 2, 1) == 1);
#undef TRUTH
#define TRUTH(name, x) call(tern_##name##__ref, dtype, TERN_BOOL, 1, (double[]){x}, NULL)
        CHECK(TRUTH(isnan, NAN) == 1 && TRUTH(isnan, INF) == 0 && TRUTH(isnan, 1) == 0);
        CHECK(TRUTH(isinf, -INF) == 1 && TRUTH(isinf, NAN) == 0 && TRUTH(isinf, 1) == 0);
        CHECK(TRUTH(isfinite, -INF) == 0 && TRUTH(isfinite, NAN) == 0 && TRUTH(isfinite, -0.0) == 1);
#undef TRUTH
    }
    CHECK(call(tern_isfinite__ref, TERN_I32, TERN_BOOL, 1, (double[]){0}, NULL) == 1);
    CHECK(call(tern_isnan__ref, TERN_I64, TERN_BOOL, 1, (double[]){-1}, NULL) == 0);
    CHECK(call(tern_lt__ref, TERN_U8, TERN_BOOL, 2, (double[]){1, 255}, NULL) == 1);
    CHECK(call(tern_lt__ref, TERN_I8, TERN_BOOL, 2, (double[]){1, -1}, NULL) == 0);
    CHECK_BINARY(maximum, TERN_I64, -0x1p63, 0, 0.0);
    CHECK_BINARY(minimum, TERN_BOOL, 1, 0, 0.0);
}

TEST(activations_at_the_ends)
{
    for (int t = 0; t < 4; t++) {
        tern_dtype dtype = FLOAT_TYPES[t];
        CHECK_UNARY(sigmoid, dtype, -INF, 0.0);
        CHECK_UNARY(sigmoid, dtype, INF, 1.0);
        CHECK_UNARY(sigmoid, dtype, 0, 0.5);
        CHECK_UNARY(silu, dtype, INF, INF);
        CHECK_UNARY(silu, dtype, -INF, NAN);
        CHECK_UNARY(gelu, dtype, INF, INF);
        CHECK_UNARY(gelu, dtype, -INF, NAN);
        CHECK_UNARY(gelu, dtype, -0.0, -0.0);
        CHECK_UNARY(gelu_tanh, dtype, INF, INF);
        CHECK_UNARY(gelu_tanh, dtype, -INF, NAN);
        CHECK_UNARY(softplus, dtype, INF, INF);
        CHECK_UNARY(softplus, dtype, -INF, 0.0);
        CHECK_UNARY(softplus, dtype, 30000.0 / 1024 * 1024, UNARY(relu, dtype, 30000));
        CHECK_UNARY(elu, dtype, -INF, 1.25); /* alpha is -1.25 */
        CHECK_UNARY(elu, dtype, 2, 2.0);
        CHECK_UNARY(tanh, dtype, -INF, -1.0);
        CHECK_UNARY(erf, dtype, INF, 1.0);
        CHECK_UNARY(log, dtype, 0.0, -INF);
        CHECK_UNARY(log, dtype, -1.0, NAN);
        CHECK_UNARY(exp, dtype, -INF, 0.0);
        CHECK_UNARY(cbrt, dtype, -8, -2.0);
        CHECK_BINARY(pow, dtype, 0, 0, 1.0);
        CHECK_BINARY(pow, dtype, NAN, 0, 1.0);
        CHECK_BINARY(pow, dtype, -2, 3, -8.0);
        CHECK_BINARY(pow, dtype, -2, 0.5, NAN);
        CHECK_BINARY(pow, dtype, 0, -1, INF);
        CHECK_BINARY(atan2, dtype, -0.0, 1, -0.0);
        CHECK_BINARY(div, dtype, 1, -0.0, -INF);
        CHECK_BINARY(div, dtype, 0, 0, NAN);
    }
}

/* ---- accuracy of functions, against long double -------------------------------------------------------- */

#if LDBL_MANT_DIG > DBL_MANT_DIG
static long double exact_sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}
static long double exact_silu(long double x)
{
    return x / (1 + expl(-x));
}
static long double exact_gelu(long double x)
{
    return x / 2 * erfcl(-x / sqrtl(2));
}
static long double exact_softplus(long double x)
{
    return x > 50 ? x : log1pl(expl(x));
}
static long double exact_rsqrt(long double x)
{
    return 1 / sqrtl(x);
}
static long double exact_gelu_tanh(long double x)
{
    long double u = sqrtl(2 / 3.14159265358979323846264338327950288L) * (x + 0.044715L * x * x * x);
    return x / (1 + expl(-2 * u));
}

/* Distance in units of the last place of the exact result's neighbourhood in a type of `digits` bits. */
static double ulps(double got, long double exact, int digits, int least_exponent)
{
    if (got == (double)exact || (isnan(got) && isnan((double)exact)))
        return 0;
    int exponent;
    frexpl(exact, &exponent);
    int last = exponent - digits > least_exponent ? exponent - digits : least_exponent;
    return (double)fabsl(ldexpl((long double)got - exact, -last));
}

typedef struct function {
    const char *name;
    tern__kernel_fn run;
    long double (*exact)(long double);
    double low, high, f64_ulps;
} function;

TEST(functions_are_within_their_bounds)
{
    static const function list[] = {
        {"cbrt", tern_cbrt__ref, cbrtl, -100, 100, 4.1},
        {"exp", tern_exp__ref, expl, -100, 88, 1.1},
        {"exp2", tern_exp2__ref, exp2l, -140, 127, 1.1},
        {"expm1", tern_expm1__ref, expm1l, -20, 80, 1.1},
        {"log", tern_log__ref, logl, 0, 100, 1.1},
        {"log2", tern_log2__ref, log2l, 0, 100, 1.1},
        {"log1p", tern_log1p__ref, log1pl, -1, 10, 1.1},
        {"sin", tern_sin__ref, sinl, -100, 100, 1.1},
        {"cos", tern_cos__ref, cosl, -100, 100, 1.1},
        {"tan", tern_tan__ref, tanl, -100, 100, 1.1},
        {"asin", tern_asin__ref, asinl, -1, 1, 1.1},
        {"acos", tern_acos__ref, acosl, -1, 1, 1.1},
        {"atan", tern_atan__ref, atanl, -10, 10, 1.1},
        {"sinh", tern_sinh__ref, sinhl, -20, 20, 2.5},
        {"cosh", tern_cosh__ref, coshl, -20, 20, 2.5},
        {"tanh", tern_tanh__ref, tanhl, -5, 5, 2.5},
        {"erf", tern_erf__ref, erfl, -4, 4, 1.6},
        {"rsqrt", tern_rsqrt__ref, exact_rsqrt, 0, 100, 1.6},
        {"sigmoid", tern_sigmoid__ref, exact_sigmoid, -80, 40, 3},
        {"silu", tern_silu__ref, exact_silu, -80, 40, 4},
        {"gelu", tern_gelu__ref, exact_gelu, -12, 6, 400},
        {"gelu_tanh", tern_gelu_tanh__ref, exact_gelu_tanh, -12, 6, 400},
        {"softplus", tern_softplus__ref, exact_softplus, -80, 60, 3},
    };
    for (size_t f = 0; f < sizeof list / sizeof list[0]; f++) {
        double worst32 = 0, worst64 = 0;
        for (uint64_t i = 0; i < 1500; i++) {
            double x = list[f].low + (list[f].high - list[f].low) * tern__random_uniform(harness_seed(), i);
            if (i % 3 == 0) /* and small ones */
                x = x > 0 || list[f].low < 0 ? ldexp(x, -(int)(i % 20)) : x;
            float narrow = (float)x;
            double got32 = call(list[f].run, TERN_F32, TERN_F32, 1, (double[]){(double)narrow}, NULL);
            worst32 = fmax(worst32, ulps(got32, list[f].exact((long double)narrow), 24, -149));
            double got64 = call(list[f].run, TERN_F64, TERN_F64, 1, (double[]){x}, NULL);
            worst64 = fmax(worst64, ulps(got64, list[f].exact((long double)x), 53, -1074));
        }
        if (!(worst32 <= 0.51) || !(worst64 <= list[f].f64_ulps))
            harness_fail(__FILE__, __LINE__,
                         "%s: off by %g ULP in f32 (0.51 allowed), %g in f64 (%g allowed)", list[f].name,
                         worst32, worst64, list[f].f64_ulps);
    }
}
#else
TEST(functions_are_within_their_bounds)
{
    SKIP("long double is not wider than double on this machine: there is nothing to compare with");
}
#endif

TEST(sixteen_bit_results_are_f32_results_rounded)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t in = (uint16_t)bits, out;
        tern__type type[2] = {{.dtype = TERN_F16}, {.dtype = TERN_BF16}};
        for (int t = 0; t < 2; t++) {
            tern__buffer from = {&in, &type[t], NULL}, to = {&out, &type[t], NULL};
            tern__kernel_args args = {.n_in = 1, .n_out = 1, .in = &from, .out = &to};
            float x = t == 0 ? tern__f16_to_f32(in) : tern__bf16_to_f32(in), y = (float)exp((double)x);
            CHECK_OK(tern_exp__ref(&args, 0, 1));
            CHECK_EQ(out, t == 0 ? tern__f32_to_f16(y) : tern__f32_to_bf16(y));
        }
    }
}
