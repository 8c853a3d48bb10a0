/* unary_math.c - reference kernels of one operand that need libm: elementary functions and activations.
 *
 * All compute in f64, whatever the type, and round once to f32 (16-bit floats: then to 16 bits), so f32
 * results are within 0.51 ULP. The formulas of the activations are chosen to keep their relative accuracy
 * in f64 too. At -inf the products x * sigmoid(x) and x * Phi(x) are -inf * 0 = NaN, as IEEE arithmetic
 * has it. */
#include <math.h>

#include "kernels/ref/loops.h"

/* The tables below read best as they are. */
/* clang-format off */

#define MATH(op, ...)                               \
    FLOATS(UNARY_SAME, op, wide, , __VA_ARGS__)     \
    LOOP_KERNEL(op, FLOATS)

MATH(cbrt, cbrt(x))
MATH(exp, exp(x))
MATH(exp2, exp2(x))
MATH(expm1, expm1(x))
MATH(log, log(x))
MATH(log2, log2(x))
MATH(log1p, log1p(x))
MATH(sin, sin(x))
MATH(cos, cos(x))
MATH(tan, tan(x))
MATH(asin, asin(x))
MATH(acos, acos(x))
MATH(atan, atan(x))
MATH(sinh, sinh(x))
MATH(cosh, cosh(x))
MATH(tanh, tanh(x))
MATH(erf, erf(x))

/* No overflow, and no cancellation on the negative side. */
static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

/* The normal distribution function. 0.5 (1 + erf(x / sqrt 2)) would cancel for negative x, erfc does not. */
static double phi(double x)
{
    return 0.5 * erfc(x * -0.70710678118654752440);
}

/* 0.5 (1 + tanh(u)) is sigmoid(2 u); 2 sqrt(2 / pi) = 1.5957... */
static double phi_tanh(double x)
{
    return sigmoid(1.59576912160573071176 * (x + 0.044715 * x * x * x));
}

static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

MATH(sigmoid, sigmoid(x))
MATH(silu, x * sigmoid(x))
MATH(gelu, x * phi(x))
MATH(gelu_tanh, x * phi_tanh(x))
MATH(softplus, softplus(x))

#define ALPHA const double alpha = run->args->attrs[0].f;
FLOATS(UNARY_SAME, elu, wide, ALPHA, x < 0 ? alpha * expm1(x) : x)
LOOP_KERNEL(elu, FLOATS)
