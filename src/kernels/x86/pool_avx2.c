/* pool_avx2.c - the inner loops of pools on AVX2. */
#include "kernels/pool/pool_impl.h"

TERN__POOL_KERNEL(avx2)
