/* pool_plain.c - the inner loops of pools with the instructions that every processor has. */
#include "kernels/pool/pool_impl.h"

TERN__POOL_KERNEL(plain)
