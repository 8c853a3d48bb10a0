/* reductions.c - what works along columns on the CPU: reductions, softmax. Along rows they are row programs (regions.c). */
#include "devices/cpu/reductions.h"

#include "base/status.h"
#include "devices/cpu/cpu.h"
#include "kernels/past.h"
#include "kernels/reduce/softmax.h"
#include "kernels/select.h"

static const struct {
    tern__opcode op;
    tern__kernel kernel;
} reductions[] = {
    {TERN__OP_sum, {.name = "sum__columns", .run = tern_sum__columns}},
    {TERN__OP_mean, {.name = "mean__columns", .run = tern_mean__columns}},
    {TERN__OP_var, {.name = "var__columns", .run = tern_var__columns}},
    {TERN__OP_max, {.name = "max__columns", .run = tern_max__columns}},
    {TERN__OP_min, {.name = "min__columns", .run = tern_min__columns}},
};

static const tern__kernel softmax = {.name = "softmax__columns", .run = tern_softmax__columns},
                          log_softmax = {.name = "log_softmax__columns", .run = tern_log_softmax__columns};

static tern_status choose_softmax(const tern__target *target, const tern__call *call, tern__arena *arena,
                                  tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_columns, target->isa_mask);
    if (!tern__softmax_columns_fit(call->in[0], &call->attrs[0]))
        return TERN_OK;
    tern__softmax_program *p = tern__arena_alloc(arena, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    *p = (tern__softmax_program){.columns = row->kernel,
                                 .rows = tern__rowop_tables(target->isa_mask),
                                 .streams = (int64_t)tern__type_bytes(&call->out[0]) >
                                            tern__past_bytes(tern__cpu())};
    const size_t scratch = tern__softmax_columns_scratch();
    *out = (tern__choice){.kernel = tern__op_code(call->op) == TERN__OP_softmax ? &softmax : &log_softmax,
                          .name = row->name,
                          .isa = tern__isa_name(row->isa),
                          .scratch_bytes = scratch <= TERN__CPU_SCRATCH_BYTES ? 0 : scratch,
                          .program = p,
                          .work = tern__softmax_columns_work(call->in[0], &call->attrs[0])};
    *found = true;
    return TERN_OK;
}

static bool choose_reduction(const tern__target *target, const tern__call *call, tern__choice *out)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_columns, target->isa_mask);
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        if (reductions[i].op != tern__op_code(call->op) || !tern__columns_fit(call->in[0], &call->attrs[0]))
            continue;
        *out = (tern__choice){.kernel = &reductions[i].kernel,
                              .name = row->name,
                              .isa = tern__isa_name(row->isa),
                              .program = row->kernel,
                              .work = tern__columns_work(call->in[0], &call->out[0])};
        return true;
    }
    return false;
}

tern_status tern__cpu_reduction(const tern__target *target, const tern__call *call, tern__arena *arena,
                                tern__choice *out, bool *found)
{
    *found = false;
    switch (tern__op_code(call->op)) {
    case TERN__OP_softmax:
    case TERN__OP_log_softmax:
        return choose_softmax(target, call, arena, out, found);
    default:
        *found = choose_reduction(target, call, out);
        return TERN_OK;
    }
}
