/* sorting.c - sort and topk on the CPU: sort by radix, topk of floats by blocks; other topk are left to the reference heap. */
#include "devices/cpu/cpu.h"

#include "devices/cpu/kernels.h"
#include "kernels/row/floats.h"
#include "kernels/sort/sort.h"

static const tern__kernel topk = {.run = tern_topk__blocks};

static int axis_of(const tern__attr *attr, int rank)
{
    return (int)(attr->i < 0 ? attr->i + rank : attr->i);
}

static tern_status take_sort(const tern__call *call, bool wide, tern__choice *out, bool *found)
{
    const tern__type *x = call->in[0];
    *found = x->rank > 0 && tern__sort_is_wide(x->dtype) == wide &&
             tern__sort_scratch(x, axis_of(&call->attrs[0], x->rank), &out->scratch_bytes);
    return TERN_OK;
}

/* Elements of 64 bits, and shorter ones. */
tern_status tern__cpu_takes_wide_sort(const tern__target *target, const void *loops, const tern__call *call,
                                      tern__arena *arena, tern__choice *out, bool *found)
{
    (void)target, (void)loops, (void)arena;
    return take_sort(call, true, out, found);
}

tern_status tern__cpu_takes_narrow_sort(const tern__target *target, const void *loops, const tern__call *call,
                                        tern__arena *arena, tern__choice *out, bool *found)
{
    (void)target, (void)loops, (void)arena;
    return take_sort(call, false, out, found);
}

tern_status tern__cpu_topk(const tern__target *target, const tern__call *call,
                           const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                           bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_topk_f32, target->isa_mask);
    const tern__type *x = call->in[0];
    (void)candidate;
    if (!row || !tern__floats_reads(x->dtype) || x->rank == 0 ||
        x->shape[axis_of(&call->attrs[1], x->rank)] >= INT32_MAX)
        return TERN_OK;
    const tern__topk_program p = {.kernel = row->kernel, .rows = tern__rowop_tables(target->isa_mask)};
    *out = (tern__choice){.scratch_bytes = (size_t)call->attrs[0].i * sizeof(uint64_t), .work = -1};
    return tern__cpu_chosen(&topk, row, &p, sizeof p, arena, out, found);
}
