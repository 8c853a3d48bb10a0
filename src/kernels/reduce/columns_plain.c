/* columns_plain.c - reductions of columns with the instructions that every processor has. */
#include "kernels/reduce/columns_impl.h"

TERN__COLUMNS_KERNEL(plain)
