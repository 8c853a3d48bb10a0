/* rope.c - rotary position embedding on the CPU: frequencies are computed once, when the plan is made. */
#include "devices/cpu/cpu.h"

#include "devices/cpu/kernels.h"
#include "kernels/rope/rope.h"

tern_status tern__cpu_takes_rope(const tern__target *target, const void *loops, const tern__call *call,
                                 tern__arena *arena, tern__choice *out, bool *found)
{
    tern__rope_program p;
    (void)target, (void)loops;
    if (!tern__rope_plan(call->in[0], call->attrs, &p))
        return TERN_OK;
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}
