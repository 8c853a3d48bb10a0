/* columns_avx512.c - reductions of columns on AVX-512. */
#include "kernels/reduce/columns_impl.h"

TERN__COLUMNS_KERNEL(avx512)
