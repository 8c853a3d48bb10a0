/* reductions.c - what is reduced on the CPU otherwise than row by row (devices/rows): columns, few results of many elements, whole
 * numbers, the places of extremes, softmax of columns, and running sums. */
#include "devices/cpu/cpu.h"

#include "base/status.h"
#include "devices/cpu/kernels.h"
#include "graph/region.h"
#include "kernels/past.h"
#include "kernels/reduce/arg.h"
#include "kernels/reduce/blocks.h"
#include "kernels/reduce/running.h"
#include "kernels/reduce/softmax.h"
#include "tensor/op_attrs.h"

static const tern__kernel several_blocks = {
    .name = "blocks__reduce", .run = tern_blocks__reduce, .finish = tern_blocks__finish};

static bool has_blocks(const tern__call *call, tern__blocks_program *out)
{
    switch (tern__op_code(call->op)) {
    case TERN__OP_sum:
        out->op = TERN__BLOCKS_SUM;
        return true;
    case TERN__OP_mean:
        out->op = TERN__BLOCKS_MEAN;
        return true;
    case TERN__OP_max:
    case TERN__OP_any:
        out->op = TERN__BLOCKS_MAX;
        return true;
    case TERN__OP_min:
    case TERN__OP_all:
        out->op = TERN__BLOCKS_MIN;
        return true;
    case TERN__OP_var:
        out->op = TERN__BLOCKS_VAR;
        out->ddof = call->attrs[TERN__ATTR_var_ddof].i;
        return true;
    default:
        return false;
    }
}

bool tern__cpu_shares_rows(const tern__call *call)
{
    tern__blocks_program plan = {0};
    if (!has_blocks(call, &plan)) /* others may have no operand */
        return false;
    const tern__type *x = call->in[0];
    return x->rank > 0 && x->shape[x->rank - 1] > TERN__LONGEST_ROW &&
           tern__blocks_plan(x, &call->attrs[0], &plan);
}

/* Few results of many elements. */
static tern_status choose_blocks(const tern__call *call, const tern__columns_program *columns,
                                 tern__arena *arena, tern__choice *out, bool *found)
{
    tern__blocks_program plan = {.columns = *columns};
    if (!has_blocks(call, &plan) || !tern__blocks_plan(call->in[0], &call->attrs[0], &plan))
        return TERN_OK;
    if (plan.blocks > 1)
        out->kernel = &several_blocks;
    out->shared_bytes = plan.shared_bytes;
    out->work = plan.groups * plan.blocks;
    *found = true;
    return tern__cpu_keep(arena, &plan, sizeof plan, &out->program);
}

/* Whether the op's own kernel is for the call; the rest of the choice. */
static bool fits(const tern__call *call, tern__choice *out)
{
    const tern__type *x = call->in[0];
    const tern__attr *axes = &call->attrs[0];
    bool whole = false;
    switch (tern__op_code(call->op)) {
    case TERN__OP_sum:
    case TERN__OP_max:
    case TERN__OP_min:
    case TERN__OP_any:
    case TERN__OP_all:
        whole = tern__is_whole(x->dtype);
        /* fall through */
    case TERN__OP_mean:
    case TERN__OP_var:
        if (!tern__columns_fit(x, axes, whole))
            return false;
        out->work = tern__columns_work(x, &call->out[0]);
        return true;
    case TERN__OP_softmax:
    case TERN__OP_log_softmax:
        if (!tern__softmax_columns_fit(x, axes))
            return false;
        out->work = tern__softmax_columns_work(x, axes);
        out->scratch_bytes = tern__softmax_columns_scratch();
        return true;
    case TERN__OP_argmax:
    case TERN__OP_argmin:
        return tern__arg_fit(x, axes, &out->work);
    case TERN__OP_cumsum:
        return tern__running_fit(x, axes, &out->work);
    default:
        return false;
    }
}

static tern_status choose_own(const tern__call *call, const tern__columns_program *columns,
                              tern__arena *arena, tern__choice *out, bool *found)
{
    if (!fits(call, out))
        return TERN_OK;
    *found = true;
    return tern__cpu_keep(arena, columns, sizeof *columns, &out->program);
}

tern_status tern__cpu_reduction(const tern__target *target, const tern__call *call,
                                const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                                bool *found)
{
    const tern__cpu_fast *fast;
    (void)candidate;
    for (int i = 0; !*found && (fast = tern__cpu_fast_of(tern__op_code(call->op), i)); i++) {
        const tern__kernel_row *row;
        if (!tern__cpu_fast_runs(fast, target->isa_mask, &row))
            continue;
        const tern__columns_program columns = {.kernel = row->kernel,
                                               .rows = tern__rowop_tables(target->isa_mask),
                                               .streams = (int64_t)tern__type_bytes(&call->out[0]) >
                                                          tern__past_bytes(tern__cpu())};
        tern__choice choice = {
            .kernel = &fast->kernel, .name = fast->kernel.name, .isa = tern__isa_name(row->isa)};
        if (fast->kernel.run == tern_blocks__reduce)
            TERN_TRY(choose_blocks(call, &columns, arena, &choice, found));
        else
            TERN_TRY(choose_own(call, &columns, arena, &choice, found));
        if (*found)
            *out = choice;
    }
    return TERN_OK;
}
