/* images.c - convolutions on the CPU, on the kernels of f32 products, and pools. */
#include "devices/cpu/cpu.h"

#include "devices/cpu/kernels.h"
#include "kernels/conv/conv.h"
#include "kernels/pool/pool.h"

tern_status tern__cpu_takes_pool(const tern__target *target, const void *loops, const tern__call *call,
                                 tern__arena *arena, tern__choice *out, bool *found)
{
    const tern__pool_program p = {.kernel = loops, .rows = tern__rowop_tables(target->isa_mask)};
    if (!tern__pool_fits(call->in[0], call->attrs))
        return TERN_OK;
    out->work = tern__pool_work(&call->out[0], call->attrs);
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

tern_status tern__cpu_takes_conv(const tern__target *target, const void *loops, const tern__call *call,
                                 tern__arena *arena, tern__choice *out, bool *found)
{
    tern__conv_program p;
    if (!tern__conv_plan(loops, tern__rowop_tables(target->isa_mask), call->n_in, call->in, &call->out[0],
                         call->attrs, target->workers, &p))
        return TERN_OK;
    out->scratch_bytes = p.scratch_bytes;
    out->work = p.work;
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}
