/* pool_avx512.c - the inner loops of pools on AVX-512. */
#include "kernels/pool/pool_impl.h"

TERN__POOL_KERNEL(avx512)
