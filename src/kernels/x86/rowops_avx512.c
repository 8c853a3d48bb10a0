/* rowops_avx512.c - the instructions of row programs for AVX-512 (F, BW, DQ, VL). */
#include "kernels/x86/vectors_avx512.h"

#define TERN__ROWOPS_TABLE tern__rowops_avx512
#define TERN__ROWOPS_ISA TERN__ISA_AVX512
#include "kernels/row/rowops_impl.h"
