/* test_grad.c - gradients of every operation against finite differences in f64, and in 16 bits against f64. Graphs of several are in
 * test_grad_graphs.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/grad.h>
#include <tern/ops.h>

#include "grad_util.h"
#include "graph/op.h"
#include "graph/rules.h"

/* ---- every op ------------------------------------------------------------------------------------------------------- */

enum { MOST_IN = 5, MOST_ELEMENTS = 256 };

/* An operand: floats from [low, high), or the integers that are written. */
typedef struct operand {
    int rank;
    int64_t shape[4];
    double low, high;
    const char *integers; /* "0 2 1"; NULL: floats, and their gradient is checked */
} operand;

#define F(...)                                                                                         \
    {                                                                                                  \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .shape = {__VA_ARGS__}, .low = -2, \
        .high = 2                                                                                      \
    }
#define IN_(lo, hi, ...)                                                                               \
    {                                                                                                  \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .shape = {__VA_ARGS__}, .low = lo, \
        .high = hi                                                                                     \
    }
#define I(text, ...)                                                                                         \
    {                                                                                                        \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .shape = {__VA_ARGS__}, .integers = text \
    }

typedef struct grad_case {
    int line;
    const char *op, *attrs;
    int n_in, n_out;
    operand in[MOST_IN];
} grad_case;

#define ROW(op, attrs, n_in, n_out, ...)  \
    {                                     \
        __LINE__, op, attrs, n_in, n_out, \
        {                                 \
            __VA_ARGS__                   \
        }                                 \
    }
#define UNARY(op, lo, hi) ROW(op, "", 1, 1, IN_(lo, hi, 2, 3))
#define BINARY(op, lo, hi)                                \
    ROW(op, "", 2, 1, IN_(lo, hi, 2, 3), IN_(lo, hi, 3)), \
        ROW(op, "", 2, 1, IN_(lo, hi, 2, 1), IN_(lo, hi, 4, 1, 3))
#define REDUCTION(op, lo, hi)                                                              \
    ROW(op, "", 1, 1, IN_(lo, hi, 2, 3)), ROW(op, "axes=[1]", 1, 1, IN_(lo, hi, 2, 3, 2)), \
        ROW(op, "axes=[-1,0] keepdims=true", 1, 1, IN_(lo, hi, 2, 3, 2))

/* clang-format off */
static const grad_case CASES[] = {
    ROW("reshape", "shape=[3,-1]", 1, 1, F(2, 3)),
    ROW("permute", "axes=[2,0,-2]", 1, 1, F(2, 3, 2)),
    ROW("slice", "start=[1,0] stop=[3,9] step=[1,2]", 1, 1, F(4, 5)),
    ROW("slice", "start=[-1,3] stop=[0,-9] step=[-2,-1]", 1, 1, F(6, 4)),
    ROW("slice", "start=[0,1] stop=[7,2] step=[3,1]", 1, 1, F(7, 3)),
    ROW("slice", "start=[2,0] stop=[2,3] step=[1,1]", 1, 1, F(4, 3)),
    ROW("broadcast", "shape=[2,3,4]", 1, 1, F(3, 1)),
    ROW("to_device", "device=\"cpu\"", 1, 1, F(3)),
    ROW("again", "", 1, 1, F(2, 3)),
    ROW("contiguous", "", 1, 1, F(2, 3)),
    ROW("cast", "dtype=f64", 1, 1, F(2, 3)),
    UNARY("neg", -2, 2), UNARY("abs", 0.1, 2), UNARY("abs", -2, -0.1), UNARY("square", -2, 2), UNARY("relu", 0.1, 2), UNARY("relu", -2, -0.1),
    ROW("clamp", "low=-1 high=0.5", 1, 1, F(3, 5)),
    UNARY("reciprocal", 0.3, 2), UNARY("sqrt", 0.3, 2), UNARY("rsqrt", 0.3, 2), UNARY("cbrt", 0.3, 2), UNARY("cbrt", -2, -0.3),
    UNARY("exp", -2, 2), UNARY("exp2", -2, 2), UNARY("expm1", -2, 2), UNARY("log", 0.3, 2), UNARY("log2", 0.3, 2), UNARY("log1p", -0.6, 2),
    UNARY("sin", -4, 4), UNARY("cos", -4, 4), UNARY("tan", -1, 1), UNARY("asin", -0.8, 0.8), UNARY("acos", -0.8, 0.8), UNARY("atan", -2, 2),
    UNARY("sinh", -2, 2), UNARY("cosh", -2, 2), UNARY("tanh", -2, 2), UNARY("erf", -2, 2),
    UNARY("relu2", 0.1, 2), UNARY("relu2", -2, -0.1), ROW("leaky_relu", "slope=0.2", 1, 1, F(3, 4)), ROW("elu", "alpha=0.7", 1, 1, F(3, 4)),
    UNARY("gelu", -3, 3), UNARY("gelu_tanh", -3, 3), UNARY("silu", -3, 3), UNARY("sigmoid", -3, 3), UNARY("softplus", -3, 3),
    BINARY("add", -2, 2), BINARY("sub", -2, 2), BINARY("mul", -2, 2), BINARY("div", 0.4, 2), BINARY("pow", 0.4, 2), BINARY("atan2", 0.2, 2),
    BINARY("maximum", -2, 2), BINARY("minimum", -2, 2),
    ROW("mod", "", 2, 1, IN_(3.1, 3.9, 2, 3), IN_(1.1, 1.4, 3)),
    ROW("where", "", 3, 1, I("1 0 1", 3), F(2, 3), F(2, 1)),
    REDUCTION("sum", -2, 2), REDUCTION("mean", -2, 2), REDUCTION("prod", 0.4, 2), REDUCTION("max", -2, 2), REDUCTION("min", -2, 2),
    REDUCTION("var", -2, 2), ROW("var", "axes=[0] ddof=1", 1, 1, F(3, 2)), REDUCTION("logsumexp", -2, 2),
    ROW("cumsum", "axis=0", 1, 1, F(3, 2)), ROW("softmax", "", 1, 1, F(2, 4)), ROW("softmax", "axis=0", 1, 1, F(3, 2)),
    ROW("log_softmax", "axis=-1", 1, 1, F(2, 4)), ROW("log_softmax", "axis=1", 1, 1, F(2, 3, 2)),
    ROW("rmsnorm", "eps=0.01", 1, 1, F(2, 5)), ROW("rmsnorm", "eps=0.01", 2, 1, F(2, 2, 5), F(5)),
    ROW("layernorm", "eps=0.01", 1, 1, F(2, 5)), ROW("layernorm", "eps=0.01", 3, 1, F(2, 2, 5), F(5), F(5)),
    ROW("sort", "axis=-1", 1, 2, F(2, 5)), ROW("sort", "axis=0 descending=true", 1, 2, F(4, 2, 2)), ROW("topk", "k=2", 1, 2, F(2, 5)), ROW("topk", "k=3 axis=0 largest=false", 1, 2, F(5, 2)),
    ROW("matmul", "", 2, 1, F(3, 4), F(4, 2)), ROW("matmul", "transpose_a=true", 2, 1, F(4, 3), F(4, 2)), ROW("matmul", "transpose_b=true", 2, 1, F(3, 4), F(2, 4)),
    ROW("matmul", "transpose_a=true transpose_b=true", 2, 1, F(4, 3), F(2, 4)), ROW("matmul", "", 2, 1, F(2, 3, 4), F(4, 2)),
    ROW("matmul", "", 2, 1, F(2, 1, 2, 3), F(3, 3, 2)), ROW("matmul", "", 2, 1, F(4), F(4, 2)), ROW("matmul", "", 2, 1, F(3, 4), F(4)), ROW("matmul", "", 2, 1, F(4), F(4)),
    ROW("matmul", "", 2, 1, F(2, 3, 4), F(4)),
    ROW("concat", "axis=1", 2, 1, F(2, 1), F(2, 3)), ROW("stack", "axis=1", 3, 1, F(2, 2), F(2, 2), F(2, 2)), ROW("split", "sizes=[1,3] axis=-1", 1, 2, F(2, 4)),
    ROW("pad", "before=[1,0] after=[0,2] value=3", 1, 1, F(2, 2)),
    ROW("gather", "", 2, 1, F(4, 2), I("3 0 3 -1 1 0", 2, 3)), ROW("gather", "axis=1", 2, 1, F(2, 3, 2), I("2 0 2 1", 4)), ROW("gather", "axis=2", 2, 1, F(2, 2, 3), I("2 0 2 1", 2, 2)),
    ROW("take_along", "", 2, 1, F(2, 4), I("3 3 -1 0 1 0", 2, 3)), ROW("take_along", "axis=0", 2, 1, F(3, 2), I("2 0 2 1", 2, 2)),
    ROW("scatter_add", "", 3, 1, F(3, 2), I("2 0 2 1", 4), F(4, 2)),
    ROW("tril", "diagonal=1", 1, 1, F(3, 4)), ROW("triu", "", 1, 1, F(3, 3)), ROW("flip", "axes=[1]", 1, 1, F(2, 3)),
    ROW("rope", "theta=100", 2, 1, F(3, 2, 4), I("0 5 17", 3)), ROW("rope", "theta=100 interleaved=true dims=2", 2, 1, F(2, 1, 4), I("1 3", 2)),
    ROW("attention", "", 5, 1, F(3, 2, 2), F(2, 4, 2, 2), F(2, 4, 2, 2), I("1 0 1", 3), I("3 1 2", 3)),
    ROW("attention", "scale=0.7", 5, 1, F(4, 4, 2), F(2, 3, 2, 2), F(2, 3, 2, 2), I("0 7 1 1", 4), I("0 -1 2 1", 4)),
    ROW("conv2d", "", 2, 1, F(1, 2, 4, 5), F(3, 2, 2, 3)), ROW("conv2d", "pad_h=1 pad_w=2", 3, 1, F(2, 1, 3, 3), F(2, 1, 3, 2), F(2)),
    ROW("conv2d", "stride_h=2 stride_w=3 pad_w=1", 2, 1, F(1, 1, 6, 7), F(2, 1, 3, 2)), ROW("conv2d", "dilation_h=2 stride_w=2 pad_h=1", 2, 1, F(1, 1, 5, 6), F(1, 1, 2, 3)),
    ROW("conv2d", "groups=2 stride_h=2", 3, 1, F(2, 4, 4, 3), F(6, 2, 2, 2), F(6)), ROW("conv2d", "nhwc=true pad_h=1 stride_w=2", 2, 1, F(1, 3, 4, 2), F(2, 2, 3, 2)),
    ROW("conv2d", "pad_h=3 pad_w=3", 2, 1, F(1, 1, 2, 3), F(1, 1, 1, 2)),
    ROW("max_pool2d", "", 1, 1, F(1, 2, 4, 6)), ROW("max_pool2d", "kernel_h=3 stride_h=1 stride_w=1 pad_h=1 pad_w=1", 1, 1, F(1, 1, 4, 5)), ROW("max_pool2d", "stride_w=3 nhwc=true", 1, 1, F(2, 4, 5, 2)),
    ROW("avg_pool2d", "", 1, 1, F(1, 2, 4, 6)), ROW("avg_pool2d", "kernel_h=3 stride_h=1 pad_h=1 pad_w=1", 1, 1, F(1, 1, 4, 5)),
    ROW("avg_pool2d", "kernel_w=3 stride_h=3 pad_w=1 count_padding=true nhwc=true", 1, 1, F(1, 5, 4, 2)),
};
/* clang-format on */

/* The data of a case, and tensors of them. */
typedef struct trial {
    const grad_case *c;
    tern_dtype dtype;   /* in which it is computed */
    tern_dtype rounded; /* and to which its numbers were rounded before */
    double values[MOST_IN][MOST_ELEMENTS];
    tern_tensor *in[MOST_IN];
} trial;

static int64_t elements(const operand *o)
{
    int64_t n = 1;
    for (int i = 0; i < o->rank; i++)
        n *= o->shape[i];
    return n;
}

static void draw(trial *t)
{
    for (int k = 0; k < t->c->n_in; k++) {
        const operand *o = &t->c->in[k];
        const char *at = o->integers;
        for (int64_t i = 0; i < elements(o); i++) {
            int used = 0;
            t->values[k][i] = o->integers ? 0 : uniform(o->low, o->high);
            if (at && sscanf(at, "%lf%n", &t->values[k][i], &used) == 1)
                at += used;
        }
    }
}

static bool is_float(const tern_tensor *t)
{
    const tern_dtype dtype = tern_dtype_of(t);
    return dtype == TERN_F64 || dtype == TERN_F32 || dtype == TERN_F16 || dtype == TERN_BF16;
}

/* The loss: every float result times fixed numbers, summed in f64. */
static tern_tensor *loss_of(trial *t)
{
    tern_tensor *out[4] = {0}, *loss = tern_full(ctx, TERN_F64, 0, NULL, 0);
    for (int k = 0; k < t->c->n_in; k++) {
        const operand *o = &t->c->in[k];
        t->in[k] = tern_from_data(ctx, TERN_F64, o->rank, o->shape, t->values[k]);
        t->in[k] = o->integers ? tern_cast(t->in[k], TERN_I64)
                               : tern_cast(tern_cast(t->in[k], t->rounded), t->dtype);
        harness_check_ok(tern_eval(t->in[k]), __FILE__, t->c->line, t->c->op);
        harness_check_ok(tern_watch(t->in[k]), __FILE__, t->c->line, t->c->op);
    }
    tern_apply(ctx, t->c->op, t->c->attrs, t->c->n_in, t->in, t->c->n_out, out);
    for (int i = 0; i < t->c->n_out; i++) {
        harness_check_ok(tern_status_of(out[i]), __FILE__, t->c->line, t->c->op);
        if (!is_float(out[i]))
            continue;
        tern_tensor *weights = tern_rand(ctx, TERN_F64, tern_rank(out[i]), tern_shape(out[i]), 7 + i);
        weights = tern_cast(tern_cast(weights, t->rounded), TERN_F64);
        loss = tern_add(loss, tern_sum(tern_mul(tern_cast(out[i], TERN_F64), weights), 0, NULL, false));
    }
    return loss;
}

static double value_of(trial *t)
{
    double value = NAN;
    TERN_SCOPE(ctx) {
        tern_tensor *loss = loss_of(t);
        const double *data = tern_data_f64(loss);
        value = data ? *data : NAN;
    }
    return value;
}

static double difference(trial *t, int k, int64_t i)
{
    const double x = t->values[k][i], h = 1e-5;
    t->values[k][i] = x + h;
    const double up = value_of(t);
    t->values[k][i] = x - h;
    const double down = value_of(t);
    t->values[k][i] = x;
    return (up - down) / (2 * h);
}

/* Gradients of the float operands, whose numbers are in `which`; 0: it failed, and was said. */
static int gradients_of(trial *t, tern_tensor **grads, int *which)
{
    const grad_case *c = t->c;
    tern_tensor *loss = loss_of(t), *params[MOST_IN];
    int n = 0;
    for (int k = 0; k < c->n_in; k++) {
        if (c->in[k].integers)
            continue;
        which[n] = k;
        params[n++] = t->in[k];
    }
    return harness_check_ok(tern_grad(loss, n, params, grads), __FILE__, c->line, c->op) ? n : 0;
}

static void check_case(const grad_case *c)
{
    trial t = {.c = c, .dtype = TERN_F64, .rounded = TERN_F64};
    draw(&t);
    TERN_SCOPE(ctx) {
        tern_tensor *grads[MOST_IN];
        int which[MOST_IN];
        const int n = gradients_of(&t, grads, which);
        for (int p = 0; p < n; p++) {
            CHECK_EQ(tern_numel(grads[p]), elements(&c->in[which[p]]));
            CHECK_EQ(tern_rank(grads[p]), c->in[which[p]].rank);
            const double *got = tern_data_f64(grads[p]);
            for (int64_t i = 0; got && i < tern_numel(grads[p]); i++) {
                const double want = difference(&t, which[p], i), error = fabs(got[i] - want);
                if (!(error <= 1e-6 * (1 + fabs(want)))) {
                    harness_fail(__FILE__, c->line,
                                 "%s(%s): operand %d, element %lld: %.9g, by differences %.9g", c->op,
                                 c->attrs, which[p], (long long)i, got[i], want);
                    return;
                }
            }
        }
    }
}

TEST(every_op_against_differences)
{
    set_up();
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check_case(&CASES[i]);
    tear_down();
}

/* Where squares and cubes leave f16, and where results near a limit or large ones have few digits left in 16 bits. */
/* clang-format off */
static const grad_case LARGE[] = {
    ROW("rmsnorm", "", 1, 1, IN_(300, 500, 2, 5)), ROW("rmsnorm", "", 2, 1, IN_(-6e4, 6e4, 2, 5), F(5)),
    ROW("layernorm", "", 1, 1, IN_(-500, 500, 2, 5)), ROW("layernorm", "", 3, 1, IN_(-6e4, 6e4, 2, 5), F(5), F(5)),
    UNARY("gelu_tanh", 300, 500), UNARY("gelu_tanh", -500, -300), UNARY("gelu", 300, 500), UNARY("silu", -500, 500),
    UNARY("tanh", 2, 4), UNARY("sigmoid", 2, 7), UNARY("elu", -7, -2), UNARY("expm1", -7, -2), UNARY("tan", 1.5, 1.55),
    UNARY("atan", 300, 500), UNARY("cbrt", 3e4, 6e4), UNARY("rsqrt", 0.001, 0.01), UNARY("erf", 300, 500), UNARY("log1p", 3e4, 6e4),
    BINARY("atan2", 300, 500), BINARY("div", 300, 500), ROW("div", "", 2, 1, IN_(3e4, 6e4, 4), IN_(0.1, 0.4, 4)),
    ROW("mul", "", 2, 1, IN_(3e4, 6e4, 4), IN_(-6e4, -3e4, 4)), ROW("pow", "", 2, 1, IN_(200, 250, 4), IN_(2.1, 2.5, 4)),
    ROW("mod", "", 2, 1, IN_(3e4, 6e4, 3), IN_(1.1, 9.4, 3)),
    REDUCTION("var", -6e4, 6e4), REDUCTION("logsumexp", 290, 300), REDUCTION("mean", 300, 500), ROW("prod", "", 1, 1, IN_(40, 50, 3)),
    ROW("softmax", "", 1, 1, IN_(290, 300, 2, 4)), ROW("log_softmax", "", 1, 1, IN_(280, 300, 2, 4)),
    ROW("attention", "scale=0.005", 5, 1, IN_(-300, 300, 3, 2, 2), F(2, 4, 2, 2), F(2, 4, 2, 2), I("1 0 1", 3), I("3 1 2", 3)),
    ROW("attention", "scale=0.00001", 5, 1, IN_(-300, 300, 3, 2, 2), IN_(-300, 300, 2, 4, 2, 2), F(2, 4, 2, 2), I("1 0 1", 3), I("3 1 2", 3)),
};
/* clang-format on */

/* The same operands in 16 bits and in f64. A rule rounds once, at its end: that is half a unit in the last place, and 1.5 times that are
 * allowed; below the normal numbers, one unit of them; and where large numbers cancelled, what f32 leaves of the largest. */
static void check_narrow(const grad_case *c, tern_dtype dtype)
{
    trial narrow = {.c = c, .dtype = dtype, .rounded = dtype}, wide;
    const double half = dtype == TERN_F16 ? 0x1p-11 : 0x1p-8, most = dtype == TERN_F16 ? 65504 : 0x1p127;
    const double least = dtype == TERN_F16 ? 0x1p-24 : 0x1p-133;
    draw(&narrow);
    wide = narrow;
    wide.dtype = TERN_F64;
    TERN_SCOPE(ctx) {
        tern_tensor *got_grads[MOST_IN], *want_grads[MOST_IN];
        int which[MOST_IN];
        const int n = gradients_of(&narrow, got_grads, which);
        if (n == 0 || gradients_of(&wide, want_grads, which) != n)
            return;
        for (int p = 0; p < n; p++) {
            CHECK_EQ(tern_dtype_of(got_grads[p]), dtype);
            const double *got = tern_data_f64(tern_cast(got_grads[p], TERN_F64));
            const double *want = tern_data_f64(want_grads[p]);
            CHECK(got && want);
            double largest = 0;
            for (int64_t i = 0; want && i < tern_numel(want_grads[p]); i++)
                largest = fmax(largest, fabs(want[i]));
            for (int64_t i = 0; got && want && i < tern_numel(want_grads[p]); i++) {
                const double error = fabs(got[i] - want[i]);
                const double bound = 1.5 * half * fabs(want[i]) + least + 0x1p-20 * largest;
                if (error <= bound || (fabs(want[i]) > most && isinf(got[i])))
                    continue;
                harness_fail(__FILE__, c->line, "%s(%s) in %s: operand %d, element %lld: %.9g, in f64 %.9g",
                             c->op, c->attrs, tern_dtype_name(dtype), which[p], (long long)i, got[i],
                             want[i]);
                return;
            }
        }
    }
}

TEST(every_op_in_16_bits)
{
    static const tern_dtype narrow[] = {TERN_F16, TERN_BF16};
    set_up();
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
            check_narrow(&CASES[i], narrow[k]);
        for (size_t i = 0; i < sizeof LARGE / sizeof LARGE[0]; i++)
            check_narrow(&LARGE[i], narrow[k]);
    }
    tear_down();
}

/* These compute in f32 and integers alone, and most go straight through rounding, which has differences at codes only: test_grad_codes.c
 * takes them there. What has none is compared with products in test_grad_graphs.c, by the names that stand behind them. */
static const char *const APART[] = {
    "quantise_rows",      /* bitlinear: between codes, with a scale that the data make */
    "quantise_tensor",    /* there_and_back: the same */
    "quantise",           /* there_and_back: between codes */
    "dequantise",         /* bitlinear: by a scale that the data make */
    "ternary_quantise",   /* bitlinear: between codes, beyond them, with a scale that the data make */
    "ternary_dequantise", /* there_and_back: by a scale that the data make */
    "ternary_matmul",     /* bitlinear, scales_of_blocks: the same */
    "linear",             /* linear_is_a_product, linear_of_codes */
};

TEST(no_op_is_left_out)
{
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        bool tested = false;
        for (size_t i = 0; i < sizeof APART / sizeof *APART; i++)
            tested |= strcmp(APART[i], tern__ops[op].name) == 0;
        for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
            tested |= strcmp(CASES[i].op, tern__ops[op].name) == 0;
        const bool has =
            tern__ops[op].grad != tern__rule_grad_none && tern__ops[op].grad != tern__rule_grad_zero;
        if (tested != has)
            harness_fail(__FILE__, __LINE__, "%s: %s", tern__ops[op].name,
                         has ? "not tested" : "has no gradient");
    }
}
