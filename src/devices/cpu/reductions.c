/* reductions.c - what is reduced on the CPU otherwise than row by row (regions.c): columns, few results of many elements, the
 * places of extremes, and softmax of columns. */
#include "devices/cpu/reductions.h"

#include "base/status.h"
#include "devices/cpu/cpu.h"
#include "kernels/past.h"
#include "kernels/reduce/arg.h"
#include "kernels/reduce/blocks.h"
#include "kernels/reduce/softmax.h"
#include "kernels/select.h"

typedef enum kind { COLUMNS, SOFTMAX, ARG } kind;

static const struct {
    tern__opcode op;
    kind kind;
    tern__kernel kernel;
} reductions[] = {
    {TERN__OP_sum, COLUMNS, {.name = "sum__columns", .run = tern_sum__columns}},
    {TERN__OP_mean, COLUMNS, {.name = "mean__columns", .run = tern_mean__columns}},
    {TERN__OP_var, COLUMNS, {.name = "var__columns", .run = tern_var__columns}},
    {TERN__OP_max, COLUMNS, {.name = "max__columns", .run = tern_max__columns}},
    {TERN__OP_min, COLUMNS, {.name = "min__columns", .run = tern_min__columns}},
    {TERN__OP_softmax, SOFTMAX, {.name = "softmax__columns", .run = tern_softmax__columns}},
    {TERN__OP_log_softmax, SOFTMAX, {.name = "log_softmax__columns", .run = tern_log_softmax__columns}},
    {TERN__OP_argmax, ARG, {.name = "argmax__blocks", .run = tern_argmax__blocks}},
    {TERN__OP_argmin, ARG, {.name = "argmin__blocks", .run = tern_argmin__blocks}},
};

static const tern__kernel one_block = {.name = "blocks", .run = tern_blocks__reduce},
                          blocks = {
                              .name = "blocks", .run = tern_blocks__reduce, .finish = tern_blocks__finish};

static bool has_blocks(tern__opcode op, tern__blocks_op *out)
{
    *out = op == TERN__OP_sum    ? TERN__BLOCKS_SUM
           : op == TERN__OP_mean ? TERN__BLOCKS_MEAN
           : op == TERN__OP_max  ? TERN__BLOCKS_MAX
                                 : TERN__BLOCKS_MIN;
    return op == TERN__OP_sum || op == TERN__OP_mean || op == TERN__OP_max || op == TERN__OP_min;
}

/* Few results of many elements. */
static tern_status choose_blocks(const tern__call *call, const tern__columns_program *columns,
                                 tern__arena *arena, tern__choice *out, bool *found)
{
    tern__blocks_program plan = {.columns = *columns};
    if (!has_blocks(tern__op_code(call->op), &plan.op) ||
        !tern__blocks_plan(call->in[0], &call->attrs[0], &plan))
        return TERN_OK;
    tern__blocks_program *p = tern__arena_alloc(arena, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    *p = plan;
    out->kernel = plan.blocks > 1 ? &blocks : &one_block;
    out->program = p;
    out->shared_bytes = plan.shared_bytes;
    out->work = plan.groups * plan.blocks;
    *found = true;
    return TERN_OK;
}

/* Whether the kernel of a row is for the call; the rest of the choice. */
static bool fits(kind of, const tern__call *call, tern__choice *out)
{
    const tern__type *x = call->in[0];
    const tern__attr *axes = &call->attrs[0];
    switch (of) {
    case COLUMNS:
        if (!tern__columns_fit(x, axes))
            return false;
        out->work = tern__columns_work(x, &call->out[0]);
        return true;
    case SOFTMAX:
        if (!tern__softmax_columns_fit(x, axes))
            return false;
        out->work = tern__softmax_columns_work(x, axes);
        out->scratch_bytes = tern__softmax_columns_scratch();
        if (out->scratch_bytes <= TERN__CPU_SCRATCH_BYTES)
            out->scratch_bytes = 0;
        return true;
    case ARG:
        return tern__arg_fit(x, axes, &out->work);
    }
    return false;
}

static tern_status choose_row(const tern__call *call, int row, const tern__columns_program *columns,
                              tern__arena *arena, tern__choice *out, bool *found)
{
    if (!fits(reductions[row].kind, call, out))
        return TERN_OK;
    tern__columns_program *p = tern__arena_alloc(arena, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    *p = *columns;
    out->kernel = &reductions[row].kernel;
    out->program = p;
    *found = true;
    return TERN_OK;
}

tern_status tern__cpu_reduction(const tern__target *target, const tern__call *call, tern__arena *arena,
                                tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_columns, target->isa_mask);
    *found = false;
    for (int i = 0; i < (int)(sizeof reductions / sizeof *reductions); i++) {
        if (reductions[i].op != tern__op_code(call->op))
            continue;
        const tern__columns_program columns = {.kernel = row->kernel,
                                               .rows = tern__rowop_tables(target->isa_mask),
                                               .streams = (int64_t)tern__type_bytes(&call->out[0]) >
                                                          tern__past_bytes(tern__cpu())};
        tern__choice choice = {.name = row->name, .isa = tern__isa_name(row->isa)};
        TERN_TRY(choose_blocks(call, &columns, arena, &choice, found));
        if (!*found)
            TERN_TRY(choose_row(call, i, &columns, arena, &choice, found));
        if (*found)
            *out = choice;
        return TERN_OK;
    }
    return TERN_OK;
}
