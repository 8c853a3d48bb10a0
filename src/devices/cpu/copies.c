/* copies.c - what moves elements as they are on the CPU: copies in another order or shape, what is joined and cut. */
#include "devices/cpu/cpu.h"

#include "devices/cpu/kernels.h"
#include "kernels/move/move.h"

static const tern__kernel in_order = {.run = tern_reshape__move};

/* Elements of whole bytes: false for others. */
static bool plan(const tern__move_kernel *squares, const tern__call *call, tern__move_program *out)
{
    int64_t bytes = 0;
    for (int i = 0; i < call->n_out; i++)
        bytes += (int64_t)tern__type_bytes(&call->out[i]);
    if (call->n_out == 0 || tern__dtype_is_packed(call->out[0].dtype))
        return false;
    tern__move_plan(squares, tern__cpu(), bytes, out);
    return true;
}

tern_status tern__cpu_takes_copy(const tern__target *target, const void *loops, const tern__call *call,
                                 tern__arena *arena, tern__choice *out, bool *found)
{
    tern__move_program p;
    (void)target;
    if (!plan(loops, call, &p))
        return TERN_OK;
    out->work = p.work;
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

tern_status tern__cpu_contiguous(const tern__target *target, const tern__call *call,
                                 const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                                 bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_move, target->isa_mask);
    tern__move_program p;
    (void)candidate;
    if (!row || !plan(row->kernel, call, &p))
        return TERN_OK;
    *out = (tern__choice){.work = p.work};
    return tern__cpu_chosen(&in_order, row, &p, sizeof p, arena, out, found);
}
