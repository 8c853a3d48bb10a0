/* grad_rules.c - gradients of functions of single elements: one operand, two, or three. */
#include <math.h>

#include "base/status.h"
#include "graph/grad.h"
#include "graph/rules.h"

/* clang-format off */
#define NUMBER(v) tern__grad_number(X, v)
#define TIMES(x, v) tern__grad_times(x, v)
#define MUL(a, b) tern_mul(a, b)
#define ADD(a, b) tern_add(a, b)
#define SUB(a, b) tern_sub(a, b)
#define DIV(a, b) tern_div(a, b)

/* Of a function of x: the gradient of its result times `slope`. */
#define UNARY(name, slope) RULE(name) { tern__grad_widen(g); g->of_in[0] = MUL(GRAD, slope); return TERN_OK; }
/* clang-format on */

/* ---- what rules share -------------------------------------------------------------------------------------------- */

tern_dtype tern__grad_dtype(const tern_tensor *t)
{
    return tern__dtype_is_float(t->type.dtype) ? t->type.dtype : TERN_F32;
}

tern_tensor *tern__grad_number(const tern_tensor *x, double value)
{
    return tern_full(x->node->ctx, tern__grad_dtype(x), 0, NULL, value);
}

tern_tensor *tern__grad_zeros(const tern_tensor *x)
{
    return tern_full(x->node->ctx, tern__grad_dtype(x), x->type.rank, x->type.shape, 0);
}

tern_tensor *tern__grad_times(tern_tensor *x, double value)
{
    return tern__tensor_is_error(x) ? x : tern_mul(x, tern__grad_number(x, value));
}

tern_tensor *tern__grad_float(tern_tensor *x)
{
    return tern__tensor_is_error(x) || tern__dtype_is_float(x->type.dtype) ? x : tern_cast(x, TERN_F32);
}

static bool is_narrow(const tern_tensor *t)
{
    return t && !tern__tensor_is_error(t) && (t->type.dtype == TERN_F16 || t->type.dtype == TERN_BF16);
}

static bool widen_all(int n, tern_tensor **tensors)
{
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (is_narrow(tensors[i])) {
            tensors[i] = tern_cast(tensors[i], TERN_F32);
            any = true;
        }
    }
    return any;
}

void tern__grad_widen(struct tern__grad_call *g)
{
    const bool narrow = widen_all(g->n_in, g->in);
    widen_all(g->n_out, g->of_out);
    if (narrow)
        tern__record_n(g->ctx, g->node->op, g->n_in, g->in, g->attrs, g->n_out, g->out);
}

/* ---- every op, or none ------------------------------------------------------------------------------------------- */

RULE(none)
{
    return tern__fail(TERN_UNSUPPORTED,
                      "grad: %s has no gradient here, and the loss depends on a parameter by way of it",
                      tern__ops[g->node->op].name);
}

/* Such nodes are never asked: nothing behind them depends on a parameter. */
RULE(zero)
{
    (void)g;
    return TERN_OK;
}

RULE(same)
{
    g->of_in[0] = GRAD;
    return TERN_OK;
}

/* To integers it is a step. From integers: those of a quantisation. */
RULE(cast)
{
    if (tern__dtype_is_float(Y->type.dtype) || !tern__dtype_is_float(X->type.dtype))
        g->of_in[0] = GRAD;
    return TERN_OK;
}

/* ---- unary ------------------------------------------------------------------------------------------------------- */

RULE(neg)
{
    g->of_in[0] = tern_neg(GRAD);
    return TERN_OK;
}

static tern_tensor *above(const struct tern__grad_call *g, tern_tensor *x, double limit, tern_tensor *yes,
                          tern_tensor *no)
{
    return tern_where(tern_gt(x, NUMBER(limit)), yes, no);
}

static tern_tensor *sigmoid_slope(tern_tensor *y)
{
    return MUL(y, SUB(tern__grad_number(y, 1), y));
}

/* The density of the normal distribution. */
static tern_tensor *bell(tern_tensor *x)
{
    return TIMES(tern_exp(TIMES(tern_square(x), -0.5)), 0.39894228040143267794);
}

/* 0.5 (1 + t) + 0.5 x (1 - t^2) u', where t = tanh(u) and u = c (x + 0.044715 x^3). */
static tern_tensor *gelu_tanh_slope(tern_tensor *x)
{
    const double c = 0.79788456080286535588, d = 0.044715;
    tern_tensor *one = tern__grad_number(x, 1), *squares = tern_square(x);
    tern_tensor *t = tern_tanh(MUL(TIMES(x, c), ADD(one, TIMES(squares, d))));
    tern_tensor *slope = TIMES(ADD(one, TIMES(squares, 3 * d)), c);
    tern_tensor *rest = MUL(MUL(x, SUB(one, tern_square(t))), slope);
    return TIMES(ADD(ADD(one, t), rest), 0.5);
}

/* clang-format off */
UNARY(abs,        tern_sign(X))
UNARY(square,     TIMES(X, 2))
UNARY(relu,       above(g, X, 0, NUMBER(1), NUMBER(0)))
UNARY(reciprocal, tern_neg(tern_square(Y)))
UNARY(sqrt,       DIV(NUMBER(0.5), Y))
UNARY(rsqrt,      TIMES(MUL(Y, tern_square(Y)), -0.5))
UNARY(cbrt,       DIV(NUMBER(1.0 / 3), tern_square(Y)))
UNARY(exp,        Y)
UNARY(exp2,       TIMES(Y, 0.69314718055994530942))
UNARY(expm1,      ADD(Y, NUMBER(1)))
UNARY(log,        tern_reciprocal(X))
UNARY(log2,       DIV(NUMBER(1.44269504088896340736), X))
UNARY(log1p,      tern_reciprocal(ADD(X, NUMBER(1))))
UNARY(sin,        tern_cos(X))
UNARY(cos,        tern_neg(tern_sin(X)))
UNARY(tan,        ADD(tern_square(Y), NUMBER(1)))
UNARY(asin,       tern_rsqrt(SUB(NUMBER(1), tern_square(X))))
UNARY(acos,       tern_neg(tern_rsqrt(SUB(NUMBER(1), tern_square(X)))))
UNARY(atan,       tern_reciprocal(ADD(tern_square(X), NUMBER(1))))
UNARY(sinh,       tern_cosh(X))
UNARY(cosh,       tern_sinh(X))
UNARY(tanh,       SUB(NUMBER(1), tern_square(Y)))
UNARY(erf,        TIMES(tern_exp(tern_neg(tern_square(X))), 1.12837916709551257390))
UNARY(relu2,      TIMES(tern_relu(X), 2))
UNARY(leaky_relu, above(g, X, 0, NUMBER(1), NUMBER(g->attrs[TERN__ATTR_leaky_relu_slope].f)))
UNARY(elu,        above(g, X, 0, NUMBER(1), ADD(Y, NUMBER(g->attrs[TERN__ATTR_elu_alpha].f))))
UNARY(gelu,       ADD(TIMES(ADD(tern_erf(TIMES(X, 0.70710678118654752440)), NUMBER(1)), 0.5), MUL(X, bell(X))))
UNARY(gelu_tanh,  gelu_tanh_slope(X))
UNARY(silu,       ADD(tern_sigmoid(X), MUL(X, sigmoid_slope(tern_sigmoid(X)))))
UNARY(sigmoid,    sigmoid_slope(Y))
UNARY(softplus,   tern_sigmoid(X))
/* clang-format on */

RULE(clamp)
{
    tern__grad_widen(g);
    tern_tensor *inside = tern_logical_and(tern_ge(X, NUMBER(g->attrs[TERN__ATTR_clamp_low].f)),
                                           tern_le(X, NUMBER(g->attrs[TERN__ATTR_clamp_high].f)));
    g->of_in[0] = tern_where(inside, GRAD, NUMBER(0));
    return TERN_OK;
}

/* ---- binary ------------------------------------------------------------------------------------------------------ */

RULE(add)
{
    g->of_in[0] = g->of_in[1] = GRAD;
    return TERN_OK;
}

RULE(sub)
{
    g->of_in[0] = GRAD;
    if (g->wanted[1])
        g->of_in[1] = tern_neg(GRAD);
    return TERN_OK;
}

#define A (g->in[0])
#define B (g->in[1])

/* a^2 + b^2; 1 where both are 0, so that a quotient is 0 there. */
static tern_tensor *length2(const struct tern__grad_call *g)
{
    tern_tensor *zero = NUMBER(0), *none = tern_logical_and(tern_eq(A, zero), tern_eq(B, zero));
    return tern_where(none, NUMBER(1), ADD(tern_square(A), tern_square(B)));
}

/* clang-format off */
#define BINARY(name, of_a, of_b)            \
    RULE(name)                              \
    {                                       \
        tern__grad_widen(g);                \
        if (g->wanted[0])                   \
            g->of_in[0] = (of_a);           \
        if (g->wanted[1])                   \
            g->of_in[1] = (of_b);           \
        return TERN_OK;                     \
    }

BINARY(mul,   MUL(GRAD, B), MUL(GRAD, A))
BINARY(div,   DIV(GRAD, B), tern_neg(DIV(MUL(GRAD, Y), B)))
BINARY(mod,   GRAD, tern_neg(MUL(GRAD, tern_floor(DIV(A, B)))))
BINARY(atan2, DIV(MUL(GRAD, B), length2(g)), tern_neg(DIV(MUL(GRAD, A), length2(g))))
/* a^b: 0^b has no logarithm, but does not change with b either; and a^0 does not change with a, not even where a^-1 is infinite */
BINARY(pow,   MUL(MUL(GRAD, B), tern_pow(A, tern_where(tern_eq(B, NUMBER(0)), NUMBER(0), SUB(B, NUMBER(1))))),
              MUL(GRAD, tern_where(tern_gt(A, NUMBER(0)), MUL(Y, tern_log(A)), NUMBER(0))))
/* clang-format on */

/* All of it to the one that won, half to each of equals. */
RULE(extremum)
{
    tern_tensor *half = tern_where(tern_eq(A, B), NUMBER(0.5), NUMBER(1));
    for (int i = 0; i < 2; i++) {
        if (g->wanted[i])
            g->of_in[i] = tern_where(tern_eq(g->in[i], Y), MUL(GRAD, half), NUMBER(0));
    }
    return TERN_OK;
}

RULE(where)
{
    tern_tensor *zero = tern__grad_number(Y, 0);
    if (g->wanted[1])
        g->of_in[1] = tern_where(X, GRAD, zero);
    if (g->wanted[2])
        g->of_in[2] = tern_where(X, zero, GRAD);
    return TERN_OK;
}
