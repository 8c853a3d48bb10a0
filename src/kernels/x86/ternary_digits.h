/* ternary_digits.h - the digits of form 5 by tables of 16: v = 84*c4 + 28*c3 + 9*c2 + 3*c1 + c0. */
#ifndef TERN_KERNELS_X86_TERNARY_DIGITS_H
#define TERN_KERNELS_X86_TERNARY_DIGITS_H

#include <stdint.h>

/* v / 28 is v * BY_28 >> 16 for every v that occurs (v % 28 < 27), and for the upper byte of a word the
 * upper byte of (word * BY_28 >> 16), whatever its lower byte. */
enum { BY_28 = 2341 };

/* clang-format off */
#define THREE(d) (d), (d) + 1, (d) + 2
#define NINE(c2) THREE((c2) << 4), THREE((c2) << 4 | 1 << 2), THREE((c2) << 4 | 2 << 2)
/* Of v / 28: */
static const uint8_t upper_of[16] __attribute__((aligned(16))) = {0, 28, 56, 84, 112, 140, 168, 196, 224};
static const uint8_t c4_of[16] __attribute__((aligned(16))) = {0, 0, 0, 1, 1, 1, 2, 2, 2};
/* Of v % 28, two tables: c0 | c1 << 2 | c2 << 4 */
static const uint8_t digits_of[32] __attribute__((aligned(16))) = {NINE(0), NINE(1), NINE(2)};
/* c2 | c1 << 2 */
#define THREE_OF(d) (d), (d), (d)
#define NINE_OF(c2) THREE_OF(c2), THREE_OF((c2) | 1 << 2), THREE_OF((c2) | 2 << 2)
static const uint8_t two_digits_of[32] __attribute__((aligned(16))) = {NINE_OF(0), NINE_OF(1), NINE_OF(2)};
/* clang-format on */

#endif
