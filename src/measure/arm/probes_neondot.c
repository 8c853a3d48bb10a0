/* probes_neondot.c - Advanced SIMD with dot products. */
#include "measure/arm/probes_peak.h"

ARM_PEAK(fma_peak, "fmla v\\n\\().4s, v14.4s, v15.4s")
ARM_PEAK(dot_peak, "sdot v\\n\\().4s, v14.16b, v15.16b")

const tern__probes tern__probes__neondot = {.read = read_by,
                                            .copy = copy_by,
                                            .fma = fma_peak,
                                            .dot = dot_peak,
                                            .fma_operations = 24 * 4 * 2,
                                            .dot_operations = 24 * 16 * 2};
