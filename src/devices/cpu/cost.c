/* cost.c - what calls cost on a CPU: rates of ops that have two layouts, measured once with `tern graph run` on
 * one worker and rounded. Only their ratios matter. Other ops cost the same in every form, so nothing is moved for them. */
#include "devices/cpu/cost.h"

#include <string.h>

#include "graph/op.h"

/* ns of one operation (the op's cost rule), channels first and channels last: of what the op's chooser finds, and of its reference
 * kernel, which runs what the chooser leaves. */
typedef struct rates {
    double chosen[2], reference[2];
} rates;

static const rates rates_of[TERN__OP_COUNT] = {
    [TERN__OP_conv2d] = {{0.010, 0.016}, {4.6, 3.3}},
    [TERN__OP_max_pool2d] = {{0.5, 0.4}, {7.5, 15}},
    [TERN__OP_avg_pool2d] = {{0.5, 0.4}, {7.0, 7.5}},
};

static const double ns_per_byte = 0.5; /* of a copy that changes the order of axes */
static const double ns_per_flop = 0.1; /* of ops without a row */

/* The place of the attribute that says how the op's operands lie; -1: it has none. */
static int layout_attr(const tern__op *op)
{
    for (int i = 0; i < op->n_attrs; i++)
        if (strcmp(op->attrs[i].name, "nhwc") == 0)
            return i;
    return -1;
}

double tern__cpu_layout_ns(tern__opcode op, bool reference, bool nhwc)
{
    const rates *r = &rates_of[op];
    return (reference ? r->reference : r->chosen)[nhwc];
}

double tern__cpu_cost(const tern__target *target, const tern__call *call)
{
    tern__choice choice;
    tern__arena arena;
    const double flops = call->op->cost(call, call->op->cost_factor);
    const int layout = layout_attr(call->op);
    double ns = 0;
    tern__arena_init(&arena, 0);
    if (layout >= 0 && target->choose(target, call, NULL, &arena, &choice) == TERN_OK)
        ns = tern__cpu_layout_ns(tern__op_code(call->op), choice.reference, call->attrs[layout].i != 0);
    tern__arena_free(&arena);
    return ns > 0 ? flops * ns : flops * ns_per_flop + tern__op_bytes(call) * ns_per_byte;
}
