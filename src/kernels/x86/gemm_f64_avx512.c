/* gemm_f64_avx512.c - products in f64 on AVX-512: a tile of 4 rows and 32 columns is 16 registers. */
#include "kernels/x86/vectors_avx512.h"

#define VECTORS 4
#include "kernels/gemm/gemm_f64_impl.h"

TERN__GEMM_F64_KERNEL(avx512)
