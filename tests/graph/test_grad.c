/* test_grad.c - gradients of every operation against finite differences in f64; what has none says so; sums over several
 * readers, views, quantisation, and bad calls. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/context.h>
#include <tern/grad.h>
#include <tern/ops.h>
#include <tern/program.h>

#include "base/random.h"
#include "graph/op.h"
#include "graph/rules.h"
#include "harness.h"

static tern_ctx *ctx;
static uint64_t seed, counter;

static void set_up(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    options.threads = 1;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    seed = harness_seed();
    counter = 0;
}

static void tear_down(void)
{
    tern_ctx_destroy(ctx);
}

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

static double uniform(double low, double high)
{
    return low + (high - low) * tern__random_uniform(seed, counter++);
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

/* The loss: every float result times fixed numbers, summed. */
static tern_tensor *loss_of(trial *t)
{
    tern_tensor *out[4] = {0}, *loss = tern_full(ctx, TERN_F64, 0, NULL, 0);
    for (int k = 0; k < t->c->n_in; k++) {
        const operand *o = &t->c->in[k];
        t->in[k] = tern_from_data(ctx, TERN_F64, o->rank, o->shape, t->values[k]);
        if (o->integers)
            t->in[k] = tern_cast(t->in[k], TERN_I64);
        harness_check_ok(tern_eval(t->in[k]), __FILE__, t->c->line, t->c->op);
        harness_check_ok(tern_watch(t->in[k]), __FILE__, t->c->line, t->c->op);
    }
    tern_apply(ctx, t->c->op, t->c->attrs, t->c->n_in, t->in, t->c->n_out, out);
    for (int i = 0; i < t->c->n_out; i++) {
        harness_check_ok(tern_status_of(out[i]), __FILE__, t->c->line, t->c->op);
        if (tern_dtype_of(out[i]) != TERN_F64)
            continue;
        tern_tensor *weights = tern_rand(ctx, TERN_F64, tern_rank(out[i]), tern_shape(out[i]), 7 + i);
        loss = tern_add(loss, tern_sum(tern_mul(out[i], weights), 0, NULL, false));
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

static void check_case(const grad_case *c)
{
    trial t = {.c = c};
    draw(&t);
    TERN_SCOPE(ctx) {
        tern_tensor *loss = loss_of(&t), *params[MOST_IN], *grads[MOST_IN];
        int n = 0, which[MOST_IN];
        for (int k = 0; k < c->n_in; k++) {
            if (c->in[k].integers)
                continue;
            which[n] = k;
            params[n++] = t.in[k];
        }
        if (!harness_check_ok(tern_grad(loss, n, params, grads), __FILE__, c->line, c->op))
            return;
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

/* Straight-through has no differences to compare with, and these compute in f32 and integers alone: tests of them are below, by the
 * name that stands behind them. */
static const char *const APART[] = {
    "quantise_rows",      /* bitlinear */
    "quantise_tensor",    /* there_and_back */
    "quantise",           /* there_and_back */
    "dequantise",         /* bitlinear */
    "ternary_quantise",   /* bitlinear */
    "ternary_dequantise", /* there_and_back */
    "ternary_matmul",     /* bitlinear, scales_of_blocks */
    "linear",             /* linear_is_a_product */
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

/* ---- more than one operation ------------------------------------------------------------------------------------------ */

static tern_tensor *vector(int64_t n, const float *values)
{
    return tern_from_data(ctx, TERN_F32, 1, &n, values);
}

static void check_values(tern_tensor *t, int64_t n, const float *want)
{
    const float *got = tern_data_f32(t);
    CHECK(got && tern_numel(t) == n);
    for (int64_t i = 0; got && i < n; i++)
        CHECK(fabsf(got[i] - want[i]) <= 1e-6f * (1 + fabsf(want[i])));
}

/* x is read three times, once by way of a view, and through a chain of two: d/dx sum(x^2 * x + 3 x[::-1]) */
TEST(gradients_add_up)
{
    set_up();
    TERN_SCOPE(ctx) {
        const int64_t axis = 0;
        tern_tensor *x = vector(3, (float[]){1, 2, -3}), *grad;
        CHECK_OK(tern_watch(x));
        tern_tensor *cube = tern_mul(tern_square(x), x);
        tern_tensor *turned = tern_mul(tern_flip(tern_reshape(x, 1, (int64_t[]){3}), 1, &axis),
                                       tern_full(ctx, TERN_F32, 0, NULL, 3));
        tern_tensor *loss = tern_sum(tern_add(cube, turned), 0, NULL, false);
        CHECK_OK(tern_grad(loss, 1, &x, &grad));
        check_values(grad, 3, (float[]){6, 15, 30});
        CHECK(tern_data_f32(loss)[0] == 1 + 8 - 27); /* the loss itself can still be asked for */
    }
    tear_down();
}

/* Gradients are tensors like others: they have gradients. d2/dx2 sum(x^3) = 6 x. */
TEST(gradients_of_gradients)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = vector(2, (float[]){2, -5}), *first, *second;
        tern_tensor *loss = tern_sum(tern_mul(tern_square(x), x), 0, NULL, false);
        CHECK_OK(tern_grad(loss, 1, &x, &first));
        CHECK_OK(tern_grad(tern_sum(first, 0, NULL, false), 1, &x, &second));
        check_values(second, 2, (float[]){12, -30});
    }
    tear_down();
}

TEST(several_parameters_and_what_lies_between)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *a = vector(2, (float[]){2, 3}), *b = vector(2, (float[]){5, 7});
        tern_tensor *product = tern_mul(a, b), *loss = tern_sum(tern_square(product), 0, NULL, false);
        tern_tensor *grads[3];
        CHECK_OK(tern_grad(loss, 3, (tern_tensor *[]){b, product, a}, grads));
        check_values(grads[0], 2, (float[]){40, 126});
        check_values(grads[1], 2, (float[]){20, 42});
        check_values(grads[2], 2, (float[]){100, 294});
    }
    tear_down();
}

/* Half goes to each of equals; sums over max share. */
TEST(ties)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *a = vector(3, (float[]){1, 2, 2}), *b = vector(3, (float[]){1, 5, -1}), *grads[2];
        CHECK_OK(tern_grad(tern_sum(tern_maximum(a, b), 0, NULL, false), 2, (tern_tensor *[]){a, b}, grads));
        check_values(grads[0], 3, (float[]){0.5f, 0, 1});
        check_values(grads[1], 3, (float[]){0.5f, 1, 0});
        tern_tensor *most = tern_max(a, 0, NULL, false);
        CHECK_OK(tern_grad(most, 1, &a, grads));
        check_values(grads[0], 3, (float[]){0, 0.5f, 0.5f});
        tern_tensor *z = vector(3, (float[]){3, 0, 4}), *zz = vector(3, (float[]){3, 0, 0});
        CHECK_OK(tern_grad(tern_prod(z, 0, NULL, false), 1, &z, grads));
        check_values(grads[0], 3, (float[]){0, 12, 0});
        CHECK_OK(tern_grad(tern_prod(zz, 0, NULL, false), 1, &zz, grads));
        check_values(grads[0], 3, (float[]){0, 0, 0});
    }
    tear_down();
}

TEST(kept_without_a_scope)
{
    set_up();
    tern_tensor *x = vector(2, (float[]){1, 2}), *y = vector(2, (float[]){1, 2}), *sum = tern_add(x, y);
    tern_tensor *loss = tern_sum(sum, 0, NULL, false), *grads[2];
    CHECK_OK(tern_grad(loss, 2, (tern_tensor *[]){x, y}, grads)); /* one and the same tensor for both */
    check_values(grads[0], 2, (float[]){1, 1});
    tern_release(grads[0]);
    check_values(grads[1], 2, (float[]){1, 1});
    tern_release(grads[1]);
    tern_release(loss);
    tern_release(sum);
    tern_release(x);
    tern_release(y);
    tear_down();
}

/* ---- straight-through --------------------------------------------------------------------------------------------------- */

/* BitLinear by exact integers: gradients are those of a product of the numbers that codes stand for. */
TEST(bitlinear)
{
    enum { ROWS = 3, IN = 8, OUT = 4 };
    float xs[ROWS * IN], ws[OUT * IN], weights[ROWS * OUT], of_x[ROWS * IN] = {0}, of_w[OUT * IN] = {0};
    set_up();
    for (int i = 0; i < ROWS * IN; i++)
        xs[i] = (float)uniform(-1, 1);
    for (int i = 0; i < OUT * IN; i++)
        ws[i] = (float)uniform(-1, 1);
    for (int i = 0; i < ROWS * OUT; i++)
        weights[i] = (float)uniform(-1, 1);
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){ROWS, IN}, xs);
        tern_tensor *w = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){OUT, IN}, ws), *q, *s, *t, *ts,
                    *grads[2];
        tern_quantise_rows(x, &q, &s);
        tern_ternary_quantise(w, NULL, TERN_T2, &t, &ts);
        tern_tensor *y = tern_mul(tern_dequantise(tern_ternary_matmul(q, t, NULL), s), ts);
        tern_tensor *by = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){ROWS, OUT}, weights);
        CHECK_OK(tern_grad(tern_sum(tern_mul(y, by), 0, NULL, false), 2, (tern_tensor *[]){x, w}, grads));
        const float *xq = tern_data_f32(tern_dequantise(q, s));
        const float *wq = tern_data_f32(tern_ternary_dequantise(t, ts));
        CHECK(xq && wq);
        for (int r = 0; r < ROWS; r++)
            for (int o = 0; o < OUT; o++)
                for (int i = 0; i < IN; i++) {
                    of_x[r * IN + i] += weights[r * OUT + o] * wq[o * IN + i];
                    of_w[o * IN + i] += weights[r * OUT + o] * xq[r * IN + i];
                }
        const float *got_x = tern_data_f32(grads[0]), *got_w = tern_data_f32(grads[1]);
        for (int i = 0; i < ROWS * IN; i++)
            CHECK(got_x && fabsf(got_x[i] - of_x[i]) <= 1e-5f);
        for (int i = 0; i < OUT * IN; i++)
            CHECK(got_w && fabsf(got_w[i] - of_w[i]) <= 1e-5f);
    }
    tear_down();
}

/* What is quantised and dequantised passes gradients on as they are. */
TEST(there_and_back)
{
    set_up();
    TERN_SCOPE(ctx) {
        const float by[] = {0.5f, -1, 2, 3};
        tern_tensor *x = vector(4, (float[]){1, -0.3f, 0.02f, -2}), *seven = tern_scalar(ctx, TERN_F32, 7);
        tern_tensor *q, *s, *t, *ts, *grad;
        tern_quantise_tensor(x, &q, &s);
        tern_ternary_quantise(x, NULL, TERN_T5, &t, &ts);
        tern_tensor *ways[] = {tern_dequantise(q, s), tern_dequantise(tern_quantise(x, seven), seven),
                               tern_ternary_dequantise(t, ts)};
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            tern_tensor *loss = tern_sum(tern_mul(ways[i], vector(4, by)), 0, NULL, false);
            CHECK_OK(tern_grad(loss, 1, &x, &grad));
            check_values(grad, 4, by);
        }
    }
    tear_down();
}

/* x W^T by either op. */
TEST(linear_is_a_product)
{
    set_up();
    TERN_SCOPE(ctx) {
        const int64_t xs[] = {2, 3, 5}, ws[] = {4, 5};
        tern_tensor *x = tern_rand(ctx, TERN_F32, 3, xs, 1), *w = tern_rand(ctx, TERN_F32, 2, ws, 2);
        tern_tensor *both[] = {x, w}, *grads[2][2];
        CHECK_OK(tern_eval_all(2, both));
        for (int i = 0; i < 2; i++) {
            tern_tensor *y = i ? tern_linear(x, w) : tern_matmul(x, w, false, true);
            CHECK_OK(tern_grad(tern_sum(tern_square(y), 0, NULL, false), 2, both, grads[i]));
        }
        for (int k = 0; k < 2; k++)
            check_values(grads[1][k], tern_numel(both[k]), tern_data_f32(grads[0][k]));
    }
    tear_down();
}

/* With scales of blocks x has the gradient of the weights that they stand for; the weights themselves have none. */
TEST(scales_of_blocks)
{
    set_up();
    TERN_SCOPE(ctx) {
        const int64_t row[] = {1, 8}, blocks[] = {1, 2};
        tern_tensor *w = tern_from_data(ctx, TERN_F32, 2, row, (float[]){1, -1, 0, 1, -1, -1, 1, 0}), *grad;
        tern_tensor *scales = tern_from_data(ctx, TERN_F32, 2, blocks, (float[]){2, 8});
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, row, (float[]){1, 2, 3, 4, 5, 6, 7, 8}), *q, *s, *t;
        tern_quantise_rows(x, &q, &s);
        tern_ternary_quantise(w, tern_scalar(ctx, TERN_F32, 1), TERN_T2, &t, NULL);
        tern_tensor *y = tern_div(tern_ternary_matmul(q, t, scales), s);
        CHECK_OK(tern_grad(tern_sum(y, 0, NULL, false), 1, &x, &grad));
        check_values(grad, 8, (float[]){2, -2, 0, 2, -8, -8, 8, 0});
        CHECK_STATUS(tern_grad(tern_sum(y, 0, NULL, false), 1, &w, &grad), TERN_UNSUPPORTED);
        CHECK(strstr(tern_last_error(), "ternary_matmul"));
    }
    tear_down();
}

/* ---- computing again ----------------------------------------------------------------------------------------------------- */

/* A chain of two parts, each of which may be computed again; the gradient of its weights, and what a program of it is. */
static void chain(bool again, float *gradient, tern_program_info *info, int *tanhs)
{
    enum { N = 64 };
    TERN_SCOPE(ctx) {
        tern_tensor *w = tern_state(ctx, "w", TERN_F32, 2, (int64_t[]){N, N}), *grad;
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){N, N}), *y = x;
        CHECK_OK(tern_assign(w, tern_rand(ctx, TERN_F32, 2, (int64_t[]){N, N}, 3)));
        for (int part = 0; part < 2; part++) {
            if (again)
                tern_recompute_open(ctx);
            for (int i = 0; i < 4; i++)
                y = tern_tanh(tern_matmul(y, w, false, false));
            if (again)
                tern_recompute_close(ctx);
        }
        tern_tensor *loss = tern_sum(y, 0, NULL, false);
        CHECK_OK(tern_grad(loss, 1, &w, &grad));
        tern_program *program;
        tern_exec *exec;
        CHECK_OK(tern_compile(ctx, 2, (tern_tensor *[]){grad, loss}, NULL, NULL, &program));
        tern_program_get_info(program, info);
        *tanhs = 0;
        for (int i = 0; i < info->steps; i++) {
            tern_step_info step;
            CHECK_OK(tern_program_step(program, i, &step));
            for (int k = 0; k < step.n_ops; k++)
                *tanhs += strcmp(step.ops[k], "tanh") == 0;
        }
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        tern_tensor *data = tern_rand(ctx, TERN_F32, 2, (int64_t[]){N, N}, 4), *out[2];
        data = tern_mul(data, tern_scalar(ctx, TERN_F32, 0.01));
        CHECK_OK(tern_exec_run(exec, 1, &data, 2, out));
        CHECK_OK(tern_read(out[0], gradient, N * N * sizeof *gradient));
        tern_exec_free(exec);
        tern_program_free(program);
    }
}

TEST(what_is_computed_again_has_the_same_bits)
{
    static float kept[64 * 64], again[64 * 64];
    tern_program_info whole, less;
    int once, twice;
    set_up();
    chain(false, kept, &whole, &once);
    chain(true, again, &less, &twice);
    CHECK(memcmp(kept, again, sizeof kept) == 0);
    CHECK_EQ(once, 8);
    CHECK_EQ(twice, 16); /* the compiler has not found out that they are the same */
    CHECK(less.arena_bytes < whole.arena_bytes);
    tear_down();
}

/* One open includes the other, and what is closed too often was never open. */
TEST(segments_in_segments)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = vector(2, (float[]){1, 2}), *grad, *second;
        tern_recompute_close(ctx);
        tern_recompute_open(ctx);
        tern_tensor *y = tern_square(x);
        tern_recompute_open(ctx);
        y = tern_mul(y, x);
        tern_recompute_close(ctx);
        y = tern_square(y);
        tern_recompute_close(ctx);
        CHECK_OK(tern_grad(tern_sum(y, 0, NULL, false), 1, &x, &grad)); /* 6 x^5 */
        CHECK_OK(tern_grad(tern_sum(grad, 0, NULL, false), 1, &x, &second));
        check_values(grad, 2, (float[]){6, 192});
        check_values(second, 2, (float[]){30, 480});
    }
    tear_down();
}

/* ---- refusals ------------------------------------------------------------------------------------------------------------ */

TEST(what_has_no_gradient_is_named)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){1, 3}), *grad = NULL;
        tern_tensor *states[3], *at[2];
        for (int i = 0; i < 3; i++)
            states[i] = tern_state(ctx, "s", TERN_F32, 2, (int64_t[]){1, 3});
        for (int i = 0; i < 2; i++)
            at[i] = tern_zeros(ctx, TERN_I32, 1, (int64_t[]){i + 1});
        const struct {
            const char *name;
            tern_tensor *y;
        } writes[] = {
            {"overwrite", tern_overwrite(states[0], x)},
            {"write_slice", tern_write_slice(states[1], x, at[1])},
            {"write_rows", tern_write_rows(states[2], tern_max(x, 1, (int64_t[]){1}, false), at[0], at[0])},
        };
        for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
            CHECK_STATUS(tern_grad(tern_sum(writes[i].y, 0, NULL, false), 1, &x, &grad), TERN_UNSUPPORTED);
            CHECK(strstr(tern_last_error(), writes[i].name) && !grad);
        }
    }
    tear_down();
}

TEST(bad_calls)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = vector(2, (float[]){1, 2}), *other = vector(2, (float[]){1, 2}), *grad = NULL;
        CHECK_OK(tern_name(other, "other"));
        tern_tensor *loss = tern_sum(x, 0, NULL, false);
        CHECK_STATUS(tern_grad(tern_square(x), 1, &x, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "not one float"));
        CHECK_STATUS(tern_grad(loss, 1, &other, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "parameter 0 ('other')"));
        CHECK_STATUS(tern_grad(loss, 2, (tern_tensor *[]){x, x}, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "the same tensor"));
        /* steps have the gradient 0: nothing depends on x */
        CHECK_STATUS(tern_grad(tern_sum(tern_round(x), 0, NULL, false), 1, &x, &grad), TERN_INVALID_ARGUMENT);
        tern_tensor *whole = tern_cast(x, TERN_I32);
        CHECK_STATUS(tern_grad(loss, 1, &whole, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "only floats"));
        CHECK_OK(tern_eval(loss));
        CHECK_STATUS(tern_grad(loss, 1, &x, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "was evaluated"));
        CHECK_STATUS(tern_grad(tern_reshape(x, 1, (int64_t[]){9}), 1, &x, &grad), TERN_SHAPE);
        CHECK(!grad);
    }
    tear_down();
}
