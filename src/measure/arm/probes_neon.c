/* probes_neon.c - Advanced SIMD; products of int8 are added up in 16 bits, as long as ternary weights allow it. */
#include "measure/arm/probes_peak.h"

ARM_PEAK(fma_peak, "fmla v\\n\\().4s, v14.4s, v15.4s")
ARM_PEAK(dot_peak, "smlal v\\n\\().8h, v14.8b, v15.8b")

const tern__probes tern__probes__neon = {.read = read_by,
                                         .copy = copy_by,
                                         .fma = fma_peak,
                                         .dot = dot_peak,
                                         .fma_operations = 24 * 4 * 2,
                                         .dot_operations = 24 * 8 * 2};
