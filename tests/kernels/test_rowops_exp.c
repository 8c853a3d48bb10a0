/* Errors of the exponential instructions of row programs (rowops_ulp.h). */
#include "rowops_ulp.h"

/* clang-format off */
FUNCTION(exp, exp, 2) FUNCTION(exp2, exp2, 2) FUNCTION(tanh, tanh, 2) FUNCTION(sigmoid, rowops_sigmoid, 2)
