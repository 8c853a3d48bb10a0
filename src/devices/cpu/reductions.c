/* reductions.c - reductions of columns on the CPU. Those of rows are row programs (regions.c). */
#include "devices/cpu/reductions.h"

#include "devices/cpu/cpu.h"
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

bool tern__cpu_reduction(const tern__target *target, const tern__call *call, tern__choice *out)
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
