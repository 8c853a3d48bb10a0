/* Errors of the activations of row programs and of erf (rowops_ulp.h). */
#include "rowops_ulp.h"

static double silu_ref(double x)
{
    return x * rowops_sigmoid(x);
}

static double gelu_ref(double x)
{
    return x * 0.5 * erfc(x * -0.70710678118654752440);
}

static double gelu_tanh_ref(double x)
{
    return x * rowops_sigmoid(1.59576912160573071176 * (x + 0.044715 * x * x * x));
}

/* clang-format off */
FUNCTION(erf, erf, 2) FUNCTION(gelu, gelu_ref, 2) FUNCTION(gelu_tanh, gelu_tanh_ref, 2)
FUNCTION(silu, silu_ref, 2)
