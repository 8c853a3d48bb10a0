/* rowops_sse42.c - the instructions of row programs for SSE4.2. */
#include "kernels/x86/vectors_sse42.h"

#define TERN__ROWOPS_TABLE tern__rowops_sse42
#define TERN__ROWOPS_ISA TERN__ISA_SSE42
#include "kernels/row/rowops_impl.h"
