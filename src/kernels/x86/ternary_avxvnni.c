/* ternary_avxvnni.c - ternary x int8 on AVX-VNNI: dot products of 32 bytes without AVX-512. */
#define WIDTH 32
#define DOTS 1
#include "kernels/x86/ternary_madd.h"

TERN__TERNARY_MADD_KERNEL(ternary_t2__avxvnni, 4)
TERN__TERNARY_MADD_KERNEL(ternary_t5__avxvnni, 5)
