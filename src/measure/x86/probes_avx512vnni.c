/* probes_avx512vnni.c - AVX-512 with vpdpbusd. */
#include "measure/x86/probes_peak.h"

X86_PEAK_24(fma_peak, "vpxord %%zmm\\n, %%zmm\\n, %%zmm\\n", "vfmadd231ps %%zmm15, %%zmm14, %%zmm\\n")
X86_PEAK_24(dot_peak, "vpxord %%zmm\\n, %%zmm\\n, %%zmm\\n", "vpdpbusd %%zmm15, %%zmm14, %%zmm\\n")

const tern__probes tern__probes__avx512vnni = {.read = read_by,
                                               .copy = copy_by,
                                               .fma = fma_peak,
                                               .dot = dot_peak,
                                               .fma_operations = 24 * 16 * 2,
                                               .dot_operations = 24 * 64 * 2};
