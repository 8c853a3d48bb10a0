/* copies.c - what moves elements as they are on the CPU: copies in another order or shape, what is joined and cut. */
#include "devices/cpu/cpu.h"

#include "devices/cpu/kernels.h"
#include "kernels/move/move.h"

static const tern__kernel contiguous = {.name = "contiguous", .run = tern_reshape__move};

/* Bytes that go out. */
static int64_t bytes_of(const tern__call *call)
{
    int64_t bytes = 0;
    for (int i = 0; i < call->n_out; i++)
        bytes += (int64_t)tern__type_bytes(&call->out[i]);
    return bytes;
}

tern_status tern__cpu_copy(const tern__target *target, const tern__call *call,
                           const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                           bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_move, target->isa_mask);
    const tern__cpu_fast *fast = tern__cpu_fast_of(tern__op_code(call->op), 0);
    tern__move_program p;
    (void)candidate;
    if (!row || call->n_out == 0 || tern__dtype_is_packed(call->out[0].dtype))
        return TERN_OK;
    tern__move_plan(row->kernel, tern__cpu(), bytes_of(call), &p);
    *out = (tern__choice){.work = p.work};
    TERN_TRY(tern__cpu_chosen(fast ? &fast->kernel : &contiguous, row, &p, sizeof p, arena, out, found));
    if (fast)
        out->name = fast->kernel.name;
    return TERN_OK;
}
