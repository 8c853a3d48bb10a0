/* rope.h - rotary position embedding on the CPU. */
#ifndef TERN_DEVICES_CPU_ROPE_H
#define TERN_DEVICES_CPU_ROPE_H

#include "graph/target.h"

/* The kernel for a call of op `rope`. *found stays false where the reference kernel has to do. */
tern_status tern__cpu_rope(const tern__call *call, tern__arena *arena, tern__choice *out, bool *found);

#endif
