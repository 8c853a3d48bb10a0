/* cost_rules.c - the cost column of ops.def: arithmetic operations of one run, and the bytes that it moves.
 * Estimates for the compiler and for reports; doubles, because they must not overflow. */
#include "graph/rules.h"

static double elements(const tern__type *type)
{
    return (double)tern__type_numel(type);
}

double tern__rule_cost_out(const tern__call *call, double per_item)
{
    return per_item * elements(&call->out[0]);
}

double tern__rule_cost_in(const tern__call *call, double per_item)
{
    return per_item * elements(call->in[0]);
}

/* Multiply and add, per result element and inner index. */
double tern__rule_cost_matmul(const tern__call *call, double per_item)
{
    const tern__type *a = call->in[0];
    bool swap = a->rank > 1 && call->attrs[0].i;
    return per_item * elements(&call->out[0]) * (double)a->shape[a->rank - (swap ? 2 : 1)];
}

double tern__rule_cost_ternary_matmul(const tern__call *call, double per_item)
{
    return per_item * elements(&call->out[0]) * (double)call->in[1]->shape[1];
}

double tern__rule_cost_linear(const tern__call *call, double per_item)
{
    return tern__rule_cost_ternary_matmul(call, per_item);
}

/* The most it can be: every row sees all keys. Positions are known only when it runs. */
double tern__rule_cost_attention(const tern__call *call, double per_item)
{
    return per_item * elements(call->in[0]) * (double)call->in[1]->shape[1];
}

double tern__rule_cost_conv2d(const tern__call *call, double per_item)
{
    const tern__type *weight = call->in[1];
    return per_item * elements(&call->out[0]) * (double)weight->shape[1] * (double)weight->shape[2] *
           (double)weight->shape[3];
}

double tern__rule_cost_pool2d(const tern__call *call, double per_item)
{
    return per_item * elements(&call->out[0]) * (double)call->attrs[0].i * (double)call->attrs[1].i;
}

static double bytes(const tern__type *type)
{
    return (double)tern__type_bytes(type);
}

double tern__op_bytes(const tern__call *call)
{
    return call->op->flags & (TERN__VIEW | TERN__LEAF) ? 0 : tern__step_bytes(call);
}

double tern__step_bytes(const tern__call *call)
{
    double total = 0;
    for (int i = 0; i < call->n_in; i++)
        total += bytes(call->in[i]);
    for (int i = 0; i < call->n_out; i++)
        total += bytes(&call->out[i]);
    /* What is picked or overwritten by index is touched in part: as much as goes out, or comes in. */
    switch (tern__op_code(call->op)) {
    case TERN__OP_gather:
    case TERN__OP_packed_gather:
    case TERN__OP_take_along:
        return total - bytes(call->in[0]) + bytes(&call->out[0]);
    case TERN__OP_overwrite:
        return total - bytes(call->in[0]);
    case TERN__OP_write_slice:
    case TERN__OP_write_rows:
        return total - bytes(call->in[0]) - bytes(&call->out[0]) + bytes(call->in[1]);
    default:
        return total;
    }
}
