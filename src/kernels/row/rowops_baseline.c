/* rowops_baseline.c - the instructions of row programs in plain C, which every compiler turns into what the
 * processor surely has: SSE2, Advanced SIMD, or one lane after the other. */
#define TERN__LANES 4
#include "kernels/row/lanes.h"

#define TERN__ROWOPS_TABLE tern__rowops_baseline
#define TERN__ROWOPS_ISA TERN__ISA_BASELINE
#include "kernels/row/rowops_impl.h"
