/* gemm_f64_sse42.c - products in f64 without fused multiply-adds, as in gemm_sse42.c: a tile of 4 rows and 4 columns is 8 registers. */
#include "kernels/x86/vectors_sse42.h"

#define VECTORS 2
#include "kernels/gemm/gemm_f64_impl.h"

TERN__GEMM_F64_KERNEL(sse42)
