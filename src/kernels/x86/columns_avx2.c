/* columns_avx2.c - reductions of columns on AVX2. */
#include "kernels/reduce/columns_impl.h"

TERN__COLUMNS_KERNEL(avx2)
