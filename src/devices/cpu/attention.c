/* attention.c - attention on the CPU: which kernel, and how rows and chunks are shared. */
#include "devices/cpu/attention.h"

#include "devices/cpu/candidates.h"
#include "devices/cpu/cpu.h"

static const tern__kernel by_rows = {.run = tern_attention__chunks};
static const tern__kernel by_chunks = {.run = tern_attention__chunks, .finish = tern_attention__merge};

bool tern__cpu_attention_plan(const tern__target *target, const tern__call *call,
                              tern__attention_variant variant, const tern__kernel_row **row,
                              tern__attention_program *out)
{
    *row = tern__kernel_select(TERN__FAMILY_attention, target->isa_mask);
    return tern__op_code(call->op) == TERN__OP_attention && *row &&
           tern__attention_plan((*row)->kernel, call->n_in, call->in, target->workers, variant, out);
}

tern_status tern__cpu_attention(const tern__target *target, const tern__call *call,
                                const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                                bool *found)
{
    const tern__kernel_row *row;
    tern__attention_program p;
    if (!tern__cpu_attention_plan(target, call, tern__cpu_attention_variant(candidate), &row, &p))
        return TERN_OK;
    *out = (tern__choice){.scratch_bytes = p.scratch_bytes, .shared_bytes = p.shared_bytes, .work = p.work};
    return tern__cpu_chosen(p.split ? &by_chunks : &by_rows, row, &p, sizeof p, arena, out, found);
}
