/* probes_avx512.c - AVX-512 without VNNI. */
#include "measure/x86/probes_peak.h"

X86_PEAK_24(fma_peak, "vpxord %%zmm\\n, %%zmm\\n, %%zmm\\n", "vfmadd231ps %%zmm15, %%zmm14, %%zmm\\n")
X86_PEAK_24(dot_peak, "vpxord %%zmm\\n, %%zmm\\n, %%zmm\\n",
            "vpmaddubsw %%zmm15, %%zmm14, %%zmm13\n\tvpaddw %%zmm13, %%zmm\\n, %%zmm\\n")

const tern__probes tern__probes__avx512 = {.read = read_by,
                                           .copy = copy_by,
                                           .fma = fma_peak,
                                           .dot = dot_peak,
                                           .fma_operations = 24 * 16 * 2,
                                           .dot_operations = 24 * 64 * 2};
