/* sorting.h - sort and topk on the CPU. */
#ifndef TERN_DEVICES_CPU_SORTING_H
#define TERN_DEVICES_CPU_SORTING_H

#include "graph/target.h"

/* The kernel for a call of op `sort` or `topk`. *found stays false where the reference kernel has to do. */
tern_status tern__cpu_sorting(const tern__target *target, const tern__call *call, tern__arena *arena,
                              tern__choice *out, bool *found);

#endif
