/* ternary_neondot.c - ternary x int8 on NEON with the dot product instructions. */
#define DOTPROD 1
#include "kernels/arm/ternary_vectors.h"

TERN__TERNARY_NEON_KERNEL(ternary_t2__neondot, 4)
TERN__TERNARY_NEON_KERNEL(ternary_t5__neondot, 5)
