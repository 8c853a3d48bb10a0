/* rope.c - rotary position embedding on the CPU: frequencies are computed once, when the plan is made. */
#include "devices/cpu/rope.h"

#include "base/status.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/kernels.h"
#include "kernels/rope/rope.h"

tern_status tern__cpu_rope(const tern__call *call, tern__arena *arena, tern__choice *out, bool *found)
{
    *found = false;
    if (tern__op_code(call->op) != TERN__OP_rope)
        return TERN_OK;
    const tern__kernel *turns = &tern__cpu_fast_of(TERN__OP_rope)->kernel;
    tern__rope_program p;
    if (!tern__rope_plan(call->in[0], call->attrs, &p))
        return TERN_OK;
    *out = (tern__choice){
        .kernel = turns, .name = turns->name, .isa = tern__isa_name(TERN__ISA_BASELINE), .work = -1};
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}
