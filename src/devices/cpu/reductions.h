/* reductions.h - what works along columns on the CPU: reductions and softmax that are no row programs. */
#ifndef TERN_DEVICES_CPU_REDUCTIONS_H
#define TERN_DEVICES_CPU_REDUCTIONS_H

#include "graph/target.h"

/* The kernel for a call that leaves the last axis. *found stays false where the reference kernel has to do. */
tern_status tern__cpu_reduction(const tern__target *target, const tern__call *call, tern__arena *arena,
                                tern__choice *out, bool *found);

#endif
