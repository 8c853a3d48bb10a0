/* attention.h - attention on the CPU. */
#ifndef TERN_DEVICES_CPU_ATTENTION_H
#define TERN_DEVICES_CPU_ATTENTION_H

#include "graph/target.h"

/* The kernel for a call of op `attention`. *found stays false where the reference kernel has to do. */
tern_status tern__cpu_attention(const tern__target *target, const tern__call *call, tern__arena *arena,
                                tern__choice *out, bool *found);

#endif
