/* ternary_neon.c - ternary x int8 on NEON without the dot product instructions. */
#define DOTPROD 0
#include "kernels/arm/ternary_vectors.h"

TERN__TERNARY_NEON_KERNEL(ternary_t2__neon, 4)
TERN__TERNARY_NEON_KERNEL(ternary_t5__neon, 5)
