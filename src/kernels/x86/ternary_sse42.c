/* ternary_sse42.c - ternary x int8 on SSE4.2 (SSSE3 would do). */
#define WIDTH 16
#include "kernels/x86/ternary_madd.h"

TERN__TERNARY_MADD_KERNEL(ternary_t2__sse42, 4)
TERN__TERNARY_MADD_KERNEL(ternary_t5__sse42, 5)
