/* images.c - convolutions on the CPU, on the kernels of f32 products, and pools. Products of SSE round every product of two
 * numbers: the reference, which does not, stays in their place. */
#include "devices/cpu/images.h"

#include <string.h>

#include "base/status.h"
#include "devices/cpu/cpu.h"
#include "kernels/conv/conv.h"
#include "kernels/pool/pool.h"
#include "kernels/select.h"

static const tern__kernel conv = {.name = "conv2d__gemm", .run = tern_conv2d__gemm};
static const tern__kernel max_pool = {.name = "max_pool2d__rows", .run = tern_max_pool2d__rows};
static const tern__kernel avg_pool = {.name = "avg_pool2d__rows", .run = tern_avg_pool2d__rows};

static bool choose_pool(const tern__target *target, const tern__call *call, tern__choice *out)
{
    const bool largest = tern__op_code(call->op) == TERN__OP_max_pool2d;
    if ((!largest && tern__op_code(call->op) != TERN__OP_avg_pool2d) || call->in[0]->dtype != TERN_F32)
        return false;
    const tern__kernel *kernel = largest ? &max_pool : &avg_pool;
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_pool, target->isa_mask);
    *out = (tern__choice){.kernel = kernel,
                          .name = kernel->name,
                          .isa = tern__isa_name(row->isa),
                          .program = row->kernel,
                          .work = tern__pool_work(&call->out[0], call->attrs)};
    return true;
}

tern_status tern__cpu_image(const tern__target *target, const tern__call *call, tern__arena *arena,
                            tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, target->isa_mask);
    tern__conv_program p;
    *found = choose_pool(target, call, out);
    if (*found || tern__op_code(call->op) != TERN__OP_conv2d || !row || row->isa == TERN__ISA_SSE42 ||
        !tern__conv_plan(row->kernel, call->n_in, call->in, &call->out[0], call->attrs, target->workers, &p))
        return TERN_OK;
    void *kept = tern__arena_alloc(arena, sizeof p);
    if (!kept)
        return tern__out_of_memory(sizeof p);
    memcpy(kept, &p, sizeof p);
    *out = (tern__choice){.kernel = &conv,
                          .name = conv.name,
                          .isa = tern__isa_name(row->isa),
                          .scratch_bytes = p.scratch_bytes <= TERN__CPU_SCRATCH_BYTES ? 0 : p.scratch_bytes,
                          .program = kept,
                          .work = p.work};
    *found = true;
    return TERN_OK;
}
