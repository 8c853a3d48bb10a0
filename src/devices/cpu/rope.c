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
    tern__rope_program *p = tern__arena_alloc(arena, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    *found = tern__rope_plan(call->in[0], call->attrs, p);
    *out = (tern__choice){.kernel = turns,
                          .name = turns->name,
                          .isa = tern__isa_name(TERN__ISA_BASELINE),
                          .program = p,
                          .work = -1};
    return TERN_OK;
}
