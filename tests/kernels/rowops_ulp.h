/* rowops_ulp.h - a transcendental instruction of row programs against an f64 function, rounded, on every
 * instruction set this machine has: a sample of all floats, evenly spread over their bits; with
 * TERN_TEST_LONG=1 every float, on the best instruction set (a minute or two each, which is why the
 * functions are spread over several programs), or with TERN_TEST_LONG=3/16 the third of sixteen parts of them. The largest error
 * is printed. */
#ifndef TERN_TESTS_KERNELS_ROWOPS_ULP_H
#define TERN_TESTS_KERNELS_ROWOPS_ULP_H

#include <math.h>

#include "harness.h"
#include "kernels/row/rowops.h"

/* Fails the test if a result is more than `bound` ULP from the reference. */
void rowops_check_ulp(tern__rowop op, const char *name, double (*reference)(double), int64_t bound);

/* x times it is silu. */
double rowops_sigmoid(double x);

#define FUNCTION(op, reference, bound)                             \
    TEST(op)                                                       \
    {                                                              \
        rowops_check_ulp(TERN__ROWOP_##op, #op, reference, bound); \
    }

#endif
