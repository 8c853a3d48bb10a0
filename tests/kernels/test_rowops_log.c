/* Errors of the logarithms and of the reciprocal root of row programs (rowops_ulp.h). */
#include "rowops_ulp.h"

static double rsqrt_ref(double x)
{
    return 1 / sqrt(x);
}

/* clang-format off */
FUNCTION(log, log, 2) FUNCTION(log2, log2, 2) FUNCTION(rsqrt, rsqrt_ref, 2)
