/* Errors of sine and cosine of row programs (rowops_ulp.h). */
#include "rowops_ulp.h"

/* clang-format off */
FUNCTION(sin, sin, 2) FUNCTION(cos, cos, 2)
