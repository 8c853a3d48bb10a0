/* probes_avx2.c - AVX2 with FMA; products of int8 are added up in 16 bits, as long as ternary weights allow it. */
#include "measure/x86/probes_peak.h"

X86_PEAK(fma_peak, "vxorps %%ymm\\n, %%ymm\\n, %%ymm\\n", "vfmadd231ps %%ymm15, %%ymm14, %%ymm\\n")
X86_PEAK(dot_peak, "vpxor %%ymm\\n, %%ymm\\n, %%ymm\\n",
         "vpmaddubsw %%ymm15, %%ymm14, %%ymm13\n\tvpaddw %%ymm13, %%ymm\\n, %%ymm\\n")

const tern__probes tern__probes__avx2 = {.read = read_by,
                                         .copy = copy_by,
                                         .fma = fma_peak,
                                         .dot = dot_peak,
                                         .fma_operations = 12 * 8 * 2,
                                         .dot_operations = 12 * 32 * 2};
