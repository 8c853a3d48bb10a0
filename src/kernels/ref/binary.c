/* binary.c - reference kernels of two operands of one dtype: arithmetic, comparisons, logic, bits. */
#include <math.h>

#include "kernels/ref/loops.h"

/* The tables below read best as they are. */
/* clang-format off */

#define BINARY(op, TYPES, kind, ...)            \
    TYPES(BINARY_SAME, op, kind, __VA_ARGS__)   \
    LOOP_KERNEL(op, TYPES)

/* Bools have an expression of their own. */
#define BINARY_WRAPPING(op, on_bool, ...)           \
    BOOLS(BINARY_SAME, op, val, on_bool)            \
    NUMBERS(BINARY_SAME, op, wrap, __VA_ARGS__)     \
    LOOP_KERNEL(op, UNPACKED)

#define BINARY_NUMBER(op, on_int, on_float)     \
    INTS(BINARY_SAME, op, val, on_int)          \
    FLOATS(BINARY_SAME, op, val, on_float)      \
    LOOP_KERNEL(op, NUMBERS)

BINARY_WRAPPING(add, a | b, a + b)
BINARY_WRAPPING(mul, a & b, a * b)
BINARY(sub, NUMBERS, wrap, a - b)
BINARY(div, FLOATS, val, a / b)
BINARY(pow, FLOATS, wide, pow(a, b))
BINARY(atan2, FLOATS, wide, atan2(a, b))

/* ---- floor division and its remainder ------------------------------------------------------------------ */

/* The result is cut to the operands' width by the store, so that MIN / -1 wraps. */
static uint64_t int_floor_div(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return 0 - (uint64_t)a;
    int64_t quotient = a / b, remainder = a % b;
    return (uint64_t)(quotient - (remainder != 0 && (remainder < 0) != (b < 0)));
}

static int64_t int_mod(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    int64_t remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

/* As NumPy defines them, in the type's own arithmetic. fmod is exact, so (a - r) / b is near a whole
 * number, and the quotient goes to that one; a zero quotient has the sign of a / b, a zero remainder that
 * of b. */
#define FLOAT_DIVISION(real, fmod, floor, copysign)                                         \
    static real real##_mod(real a, real b)                                                  \
    {                                                                                       \
        real r = fmod(a, b);                                                                \
        if (b == 0)                                                                         \
            return r;                                                                       \
        if (r == 0)                                                                         \
            return copysign(0, b);                                                          \
        return (b < 0) != (r < 0) ? r + b : r;                                              \
    }                                                                                       \
    static real real##_floor_div(real a, real b)                                            \
    {                                                                                       \
        if (b == 0)                                                                         \
            return a / b;                                                                   \
        real r = fmod(a, b), quotient = (a - r) / b;                                        \
        if (r != 0 && (b < 0) != (r < 0))                                                   \
            quotient -= 1;                                                                  \
        if (quotient == 0)                                                                  \
            return copysign(0, a / b);                                                      \
        real whole = floor(quotient);                                                       \
        return quotient - whole > (real)0.5 ? whole + 1 : whole;                            \
    }
FLOAT_DIVISION(float, fmodf, floorf, copysignf)
FLOAT_DIVISION(double, fmod, floor, copysign)

#define FLOAT_CALL(function, a, b) _Generic((a), float: float_##function, double: double_##function)(a, b)
BINARY_NUMBER(floor_div, int_floor_div(a, b), FLOAT_CALL(floor_div, a, b))
BINARY_NUMBER(mod, int_mod(a, b), FLOAT_CALL(mod, a, b))

/* ---- order --------------------------------------------------------------------------------------------- */

/* Equal operands give the first, a NaN wins. */
#define EXTREME(op, compare)                                                    \
    BOOL_AND_INTS(BINARY_SAME, op, val, a compare b ? a : b)                    \
    FLOATS(BINARY_SAME, op, val, a compare b || __builtin_isnan(a) ? a : b)     \
    LOOP_KERNEL(op, UNPACKED)
EXTREME(maximum, >=)
EXTREME(minimum, <=)

#define COMPARISON(op, ...)                         \
    UNPACKED(BINARY_TEST, op, val, __VA_ARGS__)     \
    LOOP_KERNEL(op, UNPACKED)
COMPARISON(eq, a == b)
COMPARISON(ne, a != b)
COMPARISON(lt, a < b)
COMPARISON(le, a <= b)
COMPARISON(gt, a > b)
COMPARISON(ge, a >= b)

/* ---- logic and bits ------------------------------------------------------------------------------------ */

BINARY(logical_and, BOOLS, val, a & b)
BINARY(logical_or, BOOLS, val, a | b)
BINARY(logical_xor, BOOLS, val, a ^ b)
BINARY(bit_and, BOOL_AND_INTS, val, a & b)
BINARY(bit_or, BOOL_AND_INTS, val, a | b)
BINARY(bit_xor, BOOL_AND_INTS, val, a ^ b)
