/* orders.h - sort and topk on the CPU. */
#ifndef TERN_DEVICES_CPU_ORDERS_H
#define TERN_DEVICES_CPU_ORDERS_H

#include "graph/target.h"

/* The kernel for a call of op `sort` or `topk`. *found stays false where the reference kernel has to do. */
tern_status tern__cpu_order(const tern__target *target, const tern__call *call, tern__arena *arena,
                            tern__choice *out, bool *found);

#endif
