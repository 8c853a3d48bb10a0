/* cost.h - what calls cost, where forms of a graph are compared by it. */
#ifndef TERN_DEVICES_CPU_COST_H
#define TERN_DEVICES_CPU_COST_H

#include "graph/target.h"

/* tern__target.cost of the CPU. */
double tern__cpu_cost(const tern__target *target, const tern__call *call);

/* ns of one operation of an op that has two layouts, channels last (`nhwc`) or not; 0: nobody has said. */
double tern__cpu_layout_ns(tern__opcode op, bool reference, bool nhwc);

#endif
