/* rope.c - rotary position embedding on the CPU: frequencies are computed once, when the plan is made. */
#include "devices/cpu/cpu.h"

#include "base/status.h"
#include "devices/cpu/kernels.h"
#include "kernels/rope/rope.h"

tern_status tern__cpu_rope(const tern__target *target, const tern__call *call,
                           const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                           bool *found)
{
    (void)target;
    (void)candidate;
    const tern__kernel *turns = &tern__cpu_fast_of(TERN__OP_rope, 0)->kernel;
    tern__rope_program p;
    if (!tern__rope_plan(call->in[0], call->attrs, &p))
        return TERN_OK;
    *out = (tern__choice){
        .kernel = turns, .name = turns->name, .isa = tern__isa_name(TERN__ISA_BASELINE), .work = -1};
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}
