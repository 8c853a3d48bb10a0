/* probes_peak.h - registers and counters of aarch64 for PEAK. */
#ifndef TERN_MEASURE_ARM_PROBES_PEAK_H
#define TERN_MEASURE_ARM_PROBES_PEAK_H

#include "measure/probes_impl.h"

#define ARM_PEAK(name, step)                                                                               \
    PEAK(name, CHAINS_24, "movi v\\n\\().2d, #0", step, "subs %0, %0, #1", "b.ne 1b", "v0", "v1", "v2",    \
         "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v13", "v14", "v15", "v16", "v17", "v18", \
         "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27")

#endif
