/* probes_avxvnni.c - AVX2 with vpdpbusd, as processors without AVX-512 have it. */
#include "measure/x86/probes_peak.h"

X86_PEAK(fma_peak, "vxorps %%ymm\\n, %%ymm\\n, %%ymm\\n", "vfmadd231ps %%ymm15, %%ymm14, %%ymm\\n")
X86_PEAK(dot_peak, "vpxor %%ymm\\n, %%ymm\\n, %%ymm\\n", "%{vex%} vpdpbusd %%ymm15, %%ymm14, %%ymm\\n")

const tern__probes tern__probes__avxvnni = {.read = read_by,
                                            .copy = copy_by,
                                            .fma = fma_peak,
                                            .dot = dot_peak,
                                            .fma_operations = 12 * 8 * 2,
                                            .dot_operations = 12 * 32 * 2};
