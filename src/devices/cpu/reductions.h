/* reductions.h - reductions on the CPU that are no row programs. */
#ifndef TERN_DEVICES_CPU_REDUCTIONS_H
#define TERN_DEVICES_CPU_REDUCTIONS_H

#include "graph/target.h"

/* The kernel for a reduction that leaves the last axis; false: there is none, the reference kernel has to do. */
bool tern__cpu_reduction(const tern__target *target, const tern__call *call, tern__choice *out);

#endif
