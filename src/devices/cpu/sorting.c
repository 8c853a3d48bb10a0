/* sorting.c - sort and topk on the CPU: sort by radix, topk of floats by blocks; other topk are left to the reference heap. */
#include "devices/cpu/cpu.h"

#include "base/status.h"
#include "devices/cpu/kernels.h"
#include "kernels/row/floats.h"
#include "kernels/sort/sort.h"

static const tern__kernel topk = {.name = "topk", .run = tern_topk__blocks};

static int axis_of(const tern__attr *attr, int rank)
{
    return (int)(attr->i < 0 ? attr->i + rank : attr->i);
}

static bool choose_sort(const tern__call *call, tern__choice *out)
{
    const tern__type *x = call->in[0];
    const tern__kernel *radix = &tern__cpu_fast_of(TERN__OP_sort, tern__sort_is_wide(x->dtype))->kernel;
    size_t bytes;
    if (x->rank == 0 || !tern__sort_scratch(x, axis_of(&call->attrs[0], x->rank), &bytes))
        return false;
    *out = (tern__choice){.kernel = radix,
                          .name = radix->name,
                          .isa = tern__isa_name(TERN__ISA_BASELINE),
                          .scratch_bytes = bytes,
                          .work = -1};
    return true;
}

static tern_status choose_topk(const tern__target *target, const tern__call *call, tern__arena *arena,
                               tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_topk_f32, target->isa_mask);
    const tern__type *x = call->in[0];
    if (!row || !tern__floats_reads(x->dtype) || x->rank == 0 ||
        x->shape[axis_of(&call->attrs[1], x->rank)] >= INT32_MAX)
        return TERN_OK;
    const tern__topk_program p = {.kernel = row->kernel, .rows = tern__rowop_tables(target->isa_mask)};
    *out = (tern__choice){.scratch_bytes = (size_t)call->attrs[0].i * sizeof(uint64_t), .work = -1};
    return tern__cpu_chosen(&topk, row, &p, sizeof p, arena, out, found);
}

tern_status tern__cpu_sorting(const tern__target *target, const tern__call *call,
                              const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                              bool *found)
{
    (void)candidate;
    if (tern__op_code(call->op) == TERN__OP_topk)
        return choose_topk(target, call, arena, out, found);
    *found = choose_sort(call, out);
    return TERN_OK;
}
