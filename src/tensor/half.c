/* half.c - f64 to the 16-bit floats with a single rounding.
 *
 * Both go through f32 rounded to odd: of the two f32 neighbours of an inexact value the one with an odd last
 * bit is taken. f32 has more than two bits to spare over either 16-bit format, so that bit remembers "not
 * exact" and the second rounding decides as if it had seen the f64. */
#include "tensor/half.h"

static float round_to_odd(double d)
{
    float nearest = (float)d;
    uint32_t bits = tern__f32_bits(nearest);
    double back = (double)nearest;
    if (back == d || d != d || (bits & 1u))
        return nearest;
    /* an even neighbour: the odd one is one step nearer to zero or further from it, in bits of either sign.
     * An overflow to infinity steps back to the largest finite number, which is odd. */
    double distance = (back < 0 || d < 0) ? d - back : back - d;
    return tern__f32_from_bits(distance > 0 ? bits - 1 : bits + 1);
}

uint16_t tern__f64_to_f16(double f)
{
    return tern__f32_to_f16(round_to_odd(f));
}

uint16_t tern__f64_to_bf16(double f)
{
    return tern__f32_to_bf16(round_to_odd(f));
}
