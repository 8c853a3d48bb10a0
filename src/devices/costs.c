/* costs.c - the curves, and which of them a call is on. */
#include "devices/costs.h"

#include <string.h>

#include "graph/region.h"

const tern__cost_kind tern__costs[TERN__COST_COUNT] = {
#define TERN_COST(name, unit, description) {#name, TERN__COST_UNIT_##unit, description},
#include "devices/costs.def"
#undef TERN_COST
};

/* ---- curves ---- */

bool tern__cost_add(tern__device_costs *costs, tern__cost kind, double work, double ns)
{
    tern__cost_curve *c = &costs->curves[kind];
    int at = 0;
    while (at < c->n && c->points[at].work < work)
        at++;
    const bool same = at < c->n && !(c->points[at].work > work);
    if (!same && c->n == TERN__COST_POINTS)
        return false;
    if (!same) {
        memmove(&c->points[at + 1], &c->points[at], (size_t)(c->n - at) * sizeof *c->points);
        c->n++;
    }
    c->points[at] = (tern__cost_point){work, ns};
    return true;
}

double tern__cost_ns(const tern__device_costs *costs, tern__cost kind, double work)
{
    const tern__cost_curve *c = &costs->curves[kind];
    if (c->n == 0)
        return -1;
    tern__cost_point low = c->points[0];
    if (work <= low.work || c->n == 1)
        return low.ns;
    double slope = 0; /* ns for each unit of work */
    for (int i = 1; i < c->n; i++) {
        tern__cost_point high = c->points[i];
        if (high.ns < low.ns) /* noise */
            high.ns = low.ns;
        slope = (high.ns - low.ns) / (high.work - low.work);
        if (work <= high.work)
            return low.ns + slope * (work - low.work);
        low = high;
    }
    return low.ns + slope * (work - low.work);
}

bool tern__costs_known(const tern__device_costs *costs)
{
    return costs->curves[TERN__COST_partition].n > 0 && costs->curves[TERN__COST_rows].n > 0;
}

/* ---- calls ---- */

enum {
    TERN__COST_none = TERN__COST_COUNT
}; /* of what is no step, and of regions, which are what their ops are */

/* The column `kind` of ops.def. */
static const tern__cost kinds[TERN__OP_COUNT] = {
#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, bound, kind, grad, kernel, text) \
    [TERN__OP_##id] = (tern__cost)TERN__COST_##kind,
#include "graph/ops.def"
#undef TERN_OP
};

static tern__cost kind_of_op(tern__opcode op)
{
    return kinds[op] < TERN__COST_COUNT ? kinds[op] : TERN__COST_other;
}

bool tern__cost_is_stated(tern__opcode op)
{
    return kinds[op] < TERN__COST_COUNT;
}

/* What a product's weights are: a packed form whose type does not tell has an attribute that does. */
static tern_dtype weight_of(tern__opcode op, const tern__attr *attrs, const tern__type *weight)
{
    const tern__op *row = &tern__ops[op];
    for (int i = 0; tern__op_is_packed(op) && i < row->n_attrs; i++)
        if (row->attrs[i].kind == TERN__ATTR_DTYPE)
            return (tern_dtype)attrs[i].i;
    return weight->dtype;
}

static tern__cost kind_of_product(tern__opcode op, const tern__attr *attrs, const tern__type *weight)
{
    const tern_dtype dtype = weight_of(op, attrs, weight);
    const bool floats = dtype == TERN_F32 || dtype == TERN_F16 || dtype == TERN_BF16 || dtype == TERN_F64;
    return floats ? TERN__COST_float_matrix : TERN__COST_low_matrix;
}

/* Of a region: its product, if there is one, else whether rows are reduced. */
static tern__cost kind_of(const tern__call *call)
{
    const tern__opcode op = tern__op_code(call->op);
    if (op != TERN__OP_fused) {
        const tern__cost kind = kind_of_op(op);
        return kind == TERN__COST_float_matrix ? kind_of_product(op, call->attrs, call->in[1]) : kind;
    }
    const tern__region *region = call->attrs[TERN__ATTR_fused_body].region;
    const tern__region_op *first = &region->ops[0];
    if (tern__region_has_product(region))
        return kind_of_product(first->op, first->attrs, &region->types[first->in[1]]);
    for (int i = 0; i < region->n_ops; i++)
        if (kind_of_op(region->ops[i].op) == TERN__COST_norms)
            return TERN__COST_norms;
    return TERN__COST_rows;
}

double tern__cost_of_call(const tern__device_costs *costs, const tern__call *call)
{
    const double flops = call->op->cost(call, call->op->cost_factor), bytes = tern__step_bytes(call);
    const tern__cost kind = kind_of(call);
    if (kind != TERN__COST_float_matrix && kind != TERN__COST_low_matrix)
        return tern__cost_ns(costs, kind, tern__costs[kind].unit == TERN__COST_UNIT_FLOPS ? flops : bytes);
    const double by_flops = tern__cost_ns(costs, kind, flops);
    const double by_bytes = tern__cost_ns(
        costs, kind == TERN__COST_low_matrix ? TERN__COST_low_vector : TERN__COST_float_vector, bytes);
    return by_flops < 0 || by_bytes < 0 ? -1 : by_flops > by_bytes ? by_flops : by_bytes;
}
