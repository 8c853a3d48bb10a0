/* reference.h - slow, obvious versions of what src/tensor computes, for comparison. They share no code with
 * it. */
#ifndef TERN_TESTS_TENSOR_REFERENCE_H
#define TERN_TESTS_TENSOR_REFERENCE_H

#include <stdint.h>

#include <tern/dtype.h>

/* The value of a 16-bit float with `mantissa` bits below the exponent: 10 for f16, 7 for bf16. */
double reference_value(uint16_t bits, int mantissa);

/* The nearest such float, ties to even; x is not NaN. */
uint16_t reference_round(long double x, int mantissa);

/* One element of an unpacked type -> one of another, by the rules of convert.h. */
void reference_convert(tern_dtype from, const void *source, tern_dtype to, void *target);

/* The ternary value that an element becomes. */
int8_t reference_ternary(tern_dtype from, const void *source);

#endif
