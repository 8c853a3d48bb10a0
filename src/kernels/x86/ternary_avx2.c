/* ternary_avx2.c - ternary x int8 on AVX2. */
#define WIDTH 32
#include "kernels/x86/ternary_madd.h"

TERN__TERNARY_MADD_KERNEL(ternary_t2__avx2, 4)
TERN__TERNARY_MADD_KERNEL(ternary_t5__avx2, 5)
