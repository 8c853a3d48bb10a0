/* images.c - convolutions on the CPU, on the kernels of f32 products, and pools. */
#include "devices/cpu/cpu.h"

#include "devices/cpu/kernels.h"
#include "kernels/conv/conv.h"
#include "kernels/pool/pool.h"

static tern_status choose_pool(const tern__target *target, const tern__cpu_fast *fast,
                               const tern__kernel_row *row, const tern__call *call, tern__arena *arena,
                               tern__choice *out, bool *found)
{
    const tern__pool_program p = {.kernel = row->kernel, .rows = tern__rowop_tables(target->isa_mask)};
    if (!tern__pool_fits(call->in[0], call->attrs))
        return TERN_OK;
    *out = (tern__choice){.kernel = &fast->kernel,
                          .name = fast->kernel.name,
                          .isa = tern__isa_name(row->isa),
                          .work = tern__pool_work(&call->out[0], call->attrs)};
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

static tern_status choose_conv(const tern__target *target, const tern__cpu_fast *fast,
                               const tern__kernel_row *row, const tern__call *call, tern__arena *arena,
                               tern__choice *out, bool *found)
{
    tern__conv_program p;
    if (!tern__conv_plan(row->kernel, tern__rowop_tables(target->isa_mask), call->n_in, call->in,
                         &call->out[0], call->attrs, target->workers, &p))
        return TERN_OK;
    *out = (tern__choice){.kernel = &fast->kernel,
                          .name = fast->kernel.name,
                          .isa = tern__isa_name(row->isa),
                          .scratch_bytes = p.scratch_bytes,
                          .work = p.work};
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

tern_status tern__cpu_image(const tern__target *target, const tern__call *call,
                            const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                            bool *found)
{
    const tern__cpu_fast *fast = tern__cpu_fast_of(tern__op_code(call->op), 0);
    const tern__kernel_row *row;
    (void)candidate;
    if (!tern__cpu_fast_runs(fast, target->isa_mask, &row))
        return TERN_OK;
    if (tern__op_code(call->op) == TERN__OP_conv2d)
        return choose_conv(target, fast, row, call, arena, out, found);
    return choose_pool(target, fast, row, call, arena, out, found);
}
