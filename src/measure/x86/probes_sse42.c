/* probes_sse42.c - SSE4.2: no fused multiply-add, so a multiplication and an addition; products of int8 are added up in pairs. */
#include "measure/x86/probes_peak.h"

X86_PEAK(fma_peak, "xorps %%xmm\\n, %%xmm\\n",
         "movaps %%xmm15, %%xmm13\n\tmulps %%xmm14, %%xmm13\n\taddps %%xmm13, %%xmm\\n")
X86_PEAK(dot_peak, "pxor %%xmm\\n, %%xmm\\n",
         "movdqa %%xmm15, %%xmm13\n\tpmaddubsw %%xmm14, %%xmm13\n\tpaddw %%xmm13, %%xmm\\n")

const tern__probes tern__probes__sse42 = {.read = read_by,
                                          .copy = copy_by,
                                          .fma = fma_peak,
                                          .dot = dot_peak,
                                          .fma_operations = 12 * 4 * 2,
                                          .dot_operations = 12 * 16 * 2};
