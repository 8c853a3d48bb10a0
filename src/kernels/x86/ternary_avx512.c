/* ternary_avx512.c - ternary x int8 on AVX-512 BW without VNNI. */
#define WIDTH 64
#include "kernels/x86/ternary_madd.h"

TERN__TERNARY_MADD_KERNEL(ternary_t2__avx512, 4)
TERN__TERNARY_MADD_KERNEL(ternary_t5__avx512, 5)
