/* unary.c - reference kernels of one operand that are plain arithmetic: signs, rounding, roots, tests of a
 * value. Functions of libm are in unary_math.c. */
#include <math.h>

#include "kernels/ref/loops.h"

/* The tables below read best as they are. */
/* clang-format off */

/* libm's function for the type at hand: exact ones need no f64. */
#define NATIVE(function, x) _Generic((x), float: function##f, double: function)(x)

#define UNARY(op, TYPES, kind, ...)             \
    TYPES(UNARY_SAME, op, kind, , __VA_ARGS__)  \
    LOOP_KERNEL(op, TYPES)

/* One expression for integers, one for floats. */
#define UNARY_NUMBER(op, on_int, on_float)  \
    INTS(UNARY_SAME, op, val, , on_int)     \
    FLOATS(UNARY_SAME, op, val, , on_float) \
    LOOP_KERNEL(op, NUMBERS)

UNARY(neg, NUMBERS, wrap, -x)
UNARY(square, NUMBERS, wrap, x * x)
UNARY_NUMBER(abs, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, NATIVE(fabs, x))
UNARY_NUMBER(sign, (x > 0) - (x < 0), x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x)
UNARY_NUMBER(relu, x > 0 ? x : 0, x <= 0 ? 0 : x)   /* -0 gives 0 */

UNARY(floor, FLOATS, val, NATIVE(floor, x))
UNARY(ceil, FLOATS, val, NATIVE(ceil, x))
UNARY(trunc, FLOATS, val, NATIVE(trunc, x))
UNARY(round, FLOATS, val, NATIVE(rint, x))          /* halves to even: the rounding mode is never changed */
UNARY(reciprocal, FLOATS, val, 1 / x)
UNARY(sqrt, FLOATS, val, NATIVE(sqrt, x))
UNARY(rsqrt, FLOATS, wide, 1 / sqrt(x))
UNARY(relu2, FLOATS, val, x <= 0 ? 0 : x * x)

/* ---- with attributes ----------------------------------------------------------------------------------- */

#define SLOPE const double slope = run->args->attrs[0].f;
FLOATS(UNARY_SAME, leaky_relu, wide, SLOPE, x < 0 ? slope * x : x)
LOOP_KERNEL(leaky_relu, FLOATS)

/* The bounds of an integer clamp: the whole numbers inside [low, high], saturated to the type. NaN is no
 * bound. */
static int64_t whole_low(double low, int64_t min, int64_t max)
{
    double bound = ceil(low);
    return !(bound > (double)min) ? min : bound >= (double)max ? max : (int64_t)bound;
}

static int64_t whole_high(double high, int64_t min, int64_t max)
{
    double bound = floor(high);
    return !(bound < (double)max) ? max : bound <= (double)min ? min : (int64_t)bound;
}

#define LOWER(x) ((x) < low ? low : (x))
#define CLAMPED(x) (LOWER(x) > high ? high : LOWER(x))
#define WHOLE_BOUNDS(min, max)                                          \
    const int64_t low = whole_low(run->args->attrs[0].f, min, max);     \
    const int64_t high = whole_high(run->args->attrs[1].f, min, max);
#define BOUNDS const double low = run->args->attrs[0].f; const double high = run->args->attrs[1].f;
UNARY_SAME(U8, clamp, val, WHOLE_BOUNDS(0, UINT8_MAX), CLAMPED(x))
UNARY_SAME(I8, clamp, val, WHOLE_BOUNDS(INT8_MIN, INT8_MAX), CLAMPED(x))
UNARY_SAME(I32, clamp, val, WHOLE_BOUNDS(INT32_MIN, INT32_MAX), CLAMPED(x))
UNARY_SAME(I64, clamp, val, WHOLE_BOUNDS(INT64_MIN, INT64_MAX), CLAMPED(x))
FLOATS(UNARY_SAME, clamp, wide, BOUNDS, CLAMPED(x))
LOOP_KERNEL(clamp, NUMBERS)

/* ---- tests and bits ------------------------------------------------------------------------------------ */

/* Integers and bools are always finite: the constant is an expression of x, which the loop declares. */
#define FLOAT_TEST(op, on_int, on_float)             \
    BOOL_AND_INTS(UNARY_TEST, op, val, , on_int)     \
    FLOATS(UNARY_TEST, op, val, , on_float)          \
    LOOP_KERNEL(op, UNPACKED)
FLOAT_TEST(isnan, x & 0, __builtin_isnan(x))
FLOAT_TEST(isinf, x & 0, __builtin_isinf(x))
FLOAT_TEST(isfinite, x | 1, __builtin_isfinite(x))

UNARY(logical_not, BOOLS, val, !x)

BOOLS(UNARY_SAME, bit_not, val, , !x)
INTS(UNARY_SAME, bit_not, val, , ~x)
LOOP_KERNEL(bit_not, BOOL_AND_INTS)
