/* reductions.c - what is reduced on the CPU otherwise than row by row (devices/rows): columns, few results of many elements, whole
 * numbers, the places of extremes, softmax of columns, and running sums. */
#include "devices/cpu/cpu.h"

#include "devices/cpu/kernels.h"
#include "graph/region.h"
#include "kernels/past.h"
#include "kernels/reduce/arg.h"
#include "kernels/reduce/blocks.h"
#include "kernels/reduce/running.h"
#include "kernels/reduce/softmax.h"
#include "tensor/op_attrs.h"

static const tern__kernel several_blocks = {.run = tern_blocks__reduce, .finish = tern_blocks__finish};

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

static tern__columns_program columns_of(const tern__target *target, const void *loops, const tern__call *call)
{
    return (tern__columns_program){.kernel = loops,
                                   .rows = tern__rowop_tables(target->isa_mask),
                                   .streams = (int64_t)tern__type_bytes(&call->out[0]) >
                                              tern__past_bytes(tern__cpu()),
                                   .in_order = tern__cpu_has(tern__cpu(), TERN__FEATURE_ONE_STREAM)};
}

/* Few results of many elements. */
tern_status tern__cpu_takes_blocks(const tern__target *target, const void *loops, const tern__call *call,
                                   tern__arena *arena, tern__choice *out, bool *found)
{
    tern__blocks_program plan = {.columns = columns_of(target, loops, call)};
    if (!has_blocks(call, &plan) || !tern__blocks_plan(call->in[0], &call->attrs[0], &plan))
        return TERN_OK;
    if (plan.blocks > 1)
        out->kernel = &several_blocks;
    out->shared_bytes = plan.shared_bytes;
    out->work = plan.groups * plan.blocks;
    *found = true;
    return tern__cpu_keep(arena, &plan, sizeof plan, &out->program);
}

/* With no more than the columns' program. */
static tern_status take(const tern__target *target, const void *loops, const tern__call *call,
                        tern__arena *arena, tern__choice *out, bool *found)
{
    const tern__columns_program columns = columns_of(target, loops, call);
    *found = true;
    return tern__cpu_keep(arena, &columns, sizeof columns, &out->program);
}

/* Whole numbers have no mean. */
tern_status tern__cpu_takes_columns(const tern__target *target, const void *loops, const tern__call *call,
                                    tern__arena *arena, tern__choice *out, bool *found)
{
    const tern__opcode op = tern__op_code(call->op);
    const tern__type *x = call->in[0];
    const bool whole = tern__is_whole(x->dtype) && op != TERN__OP_mean && op != TERN__OP_var;
    if (!tern__columns_fit(x, &call->attrs[0], whole))
        return TERN_OK;
    out->work = tern__columns_work(x, &call->out[0]);
    return take(target, loops, call, arena, out, found);
}

tern_status tern__cpu_takes_softmax_columns(const tern__target *target, const void *loops,
                                            const tern__call *call, tern__arena *arena, tern__choice *out,
                                            bool *found)
{
    const tern__type *x = call->in[0];
    if (!tern__softmax_columns_fit(x, &call->attrs[0]))
        return TERN_OK;
    out->work = tern__softmax_columns_work(x, &call->attrs[0]);
    out->scratch_bytes = tern__softmax_columns_scratch();
    return take(target, loops, call, arena, out, found);
}

tern_status tern__cpu_takes_arg(const tern__target *target, const void *loops, const tern__call *call,
                                tern__arena *arena, tern__choice *out, bool *found)
{
    return tern__arg_fit(call->in[0], &call->attrs[0], &out->work)
               ? take(target, loops, call, arena, out, found)
               : TERN_OK;
}

tern_status tern__cpu_takes_running(const tern__target *target, const void *loops, const tern__call *call,
                                    tern__arena *arena, tern__choice *out, bool *found)
{
    return tern__running_fit(call->in[0], &call->attrs[0], &out->work)
               ? take(target, loops, call, arena, out, found)
               : TERN_OK;
}
