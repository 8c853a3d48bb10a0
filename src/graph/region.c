/* region.c - fused regions: what may be part of one, building, copying, checking. */
#include "graph/region.h"

#include <string.h>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/rules.h"

/* ---- roles ---- */

static bool reduces_last_axis(const tern__call *call)
{
    const tern__attr *axes = &call->attrs[0];
    int rank = call->in[0]->rank, axis = 0;
    if (rank == 0)
        return false;
    if (axes->count == 0)
        return rank == 1;
    return axes->count == 1 && tern__axis_normalise(axes->ints[0], rank, &axis) && axis == rank - 1;
}

/* [n] as [n, 1]: one element per row again. */
static bool restores_last_axis(const tern__call *call)
{
    const tern__type *from = call->in[0], *to = &call->out[0];
    if (to->rank != from->rank + 1 || to->shape[to->rank - 1] != 1)
        return false;
    for (int i = 0; i < from->rank; i++)
        if (from->shape[i] != to->shape[i])
            return false;
    return true;
}

tern__row_role tern__row_role_of(const tern__call *call)
{
    int axis = 0, rank = call->n_in ? call->in[0]->rank : 0;
    if (call->op->flags & TERN__ELEMENTWISE)
        return TERN__ROW_ROLE_MAP;
    switch (tern__op_code(call->op)) {
    case TERN__OP_full:
        return call->out[0].dtype == TERN_F32 && tern__type_numel(&call->out[0]) == 1
                   ? TERN__ROW_ROLE_CONSTANT
                   : TERN__ROW_ROLE_NONE;
    case TERN__OP_reshape:
        return restores_last_axis(call) ? TERN__ROW_ROLE_MAP : TERN__ROW_ROLE_NONE;
    case TERN__OP_sum:
    case TERN__OP_mean:
    case TERN__OP_max:
    case TERN__OP_min:
    case TERN__OP_var:
    case TERN__OP_logsumexp:
        return reduces_last_axis(call) ? TERN__ROW_ROLE_REDUCE : TERN__ROW_ROLE_NONE;
    case TERN__OP_softmax:
    case TERN__OP_log_softmax:
        return rank > 0 && tern__axis_normalise(call->attrs[0].i, rank, &axis) && axis == rank - 1
                   ? TERN__ROW_ROLE_NORMALISE
                   : TERN__ROW_ROLE_NONE;
    case TERN__OP_rmsnorm:
    case TERN__OP_layernorm:
    case TERN__OP_quantise_rows:
        return rank > 0 ? TERN__ROW_ROLE_NORMALISE : TERN__ROW_ROLE_NONE;
    default:
        return TERN__ROW_ROLE_NONE;
    }
}

void tern__row_domain_of(const tern__call *call, tern__row_role role, tern__type *domain)
{
    *domain = role == TERN__ROW_ROLE_MAP ? call->out[0] : *call->in[0];
}

/* Size of the axis `from_end` axes before the last; 1 where there is none. */
static int64_t size_at(const tern__type *type, int from_end)
{
    return from_end < type->rank ? type->shape[type->rank - 1 - from_end] : 1;
}

static bool same_sizes(const tern__type *a, const tern__type *b, int from)
{
    int rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = from; i < rank; i++)
        if (size_at(a, i) != size_at(b, i))
            return false;
    return true;
}

bool tern__row_is_full(const tern__type *domain, const tern__type *type)
{
    return same_sizes(domain, type, 0);
}

bool tern__row_is_each(const tern__type *domain, const tern__type *type)
{
    return size_at(type, 0) == 1 && same_sizes(domain, type, 1);
}

static bool broadcasts_to(const tern__type *domain, const tern__type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (size_at(type, i) != 1 && size_at(type, i) != size_at(domain, i))
            return false;
    return type->rank <= domain->rank;
}

/* ---- building ---- */

void tern__region_begin(tern__region_draft *d, const tern__type *domain)
{
    d->region = (tern__region){.domain = *domain, .types = d->types, .ops = d->ops, .out = d->out};
    d->n_operands = 0;
}

bool tern__region_add_input(tern__region_draft *d, const tern__type *type, uint16_t *value)
{
    if (d->region.n_in == TERN__REGION_MAX_INPUTS)
        return false;
    d->types[d->region.n_in] = *type;
    *value = d->region.n_in++;
    d->region.n_values = d->region.n_in;
    return true;
}

bool tern__region_add_op(tern__region_draft *d, tern__opcode op, int n_in, const uint16_t *in,
                         tern__attr *attrs, int n_out, const tern__type *types, uint16_t *first)
{
    tern__region *r = &d->region;
    if (r->n_ops == TERN__REGION_MAX_OPS || n_in > TERN__MAX_INPUTS_FIXED || n_out > TERN__MAX_RESULTS_FIXED)
        return false;
    uint16_t *own = &d->operands[d->n_operands];
    memcpy(own, in, (size_t)n_in * sizeof *in);
    d->n_operands = (uint16_t)(d->n_operands + n_in);
    d->ops[r->n_ops++] = (tern__region_op){.op = op,
                                           .n_in = (uint16_t)n_in,
                                           .n_out = (uint16_t)n_out,
                                           .in = own,
                                           .out = r->n_values,
                                           .attrs = attrs};
    memcpy(&d->types[r->n_values], types, (size_t)n_out * sizeof *types);
    *first = r->n_values;
    r->n_values = (uint16_t)(r->n_values + n_out);
    return true;
}

bool tern__region_add_output(tern__region_draft *d, uint16_t value)
{
    if (d->region.n_out == TERN__REGION_MAX_OUTPUTS)
        return false;
    d->out[d->region.n_out++] = value;
    return true;
}

static const void *copy_array(tern__arena *arena, const void *from, size_t count, size_t bytes_each)
{
    void *to = tern__arena_alloc_zero(arena, count ? count : 1, bytes_each);
    if (to && count)
        memcpy(to, from, count * bytes_each);
    return to;
}

const tern__region *tern__region_copy(tern__arena *arena, const tern__region *from)
{
    tern__region *to = tern__arena_alloc(arena, sizeof *to);
    if (!to)
        return NULL;
    *to = *from;
    to->types = copy_array(arena, from->types, from->n_values, sizeof *from->types);
    to->out = copy_array(arena, from->out, from->n_out, sizeof *from->out);
    tern__region_op *ops = tern__arena_alloc_zero(arena, from->n_ops ? from->n_ops : 1, sizeof *ops);
    to->ops = ops;
    if (!to->types || !to->out || !ops)
        return NULL;
    for (int i = 0; i < from->n_ops; i++) {
        ops[i] = from->ops[i];
        ops[i].in = copy_array(arena, from->ops[i].in, from->ops[i].n_in, sizeof *ops[i].in);
        if (!ops[i].in ||
            tern__attrs_copy(arena, &tern__ops[ops[i].op], from->ops[i].attrs, &ops[i].attrs) != TERN_OK)
            return NULL;
    }
    return to;
}

bool tern__region_equal(const tern__region *a, const tern__region *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->n_in != b->n_in || a->n_ops != b->n_ops || a->n_values != b->n_values ||
        a->n_out != b->n_out || !tern__shape_equal(&a->domain, &b->domain) ||
        memcmp(a->out, b->out, a->n_out * sizeof *a->out) != 0)
        return false;
    for (int i = 0; i < a->n_values; i++)
        if (!tern__type_equal(&a->types[i], &b->types[i]))
            return false;
    for (int i = 0; i < a->n_ops; i++) {
        const tern__region_op *x = &a->ops[i], *y = &b->ops[i];
        if (x->op != y->op || x->n_in != y->n_in || x->n_out != y->n_out ||
            memcmp(x->in, y->in, x->n_in * sizeof *x->in) != 0 ||
            !tern__attrs_equal(&tern__ops[x->op], x->attrs, y->attrs))
            return false;
    }
    return true;
}

tern__call tern__region_call(const tern__region *r, int i, const tern__type *in[TERN__MAX_INPUTS_FIXED])
{
    const tern__region_op *op = &r->ops[i];
    for (int k = 0; k < op->n_in; k++)
        in[k] = &r->types[op->in[k]];
    return (tern__call){.op = &tern__ops[op->op],
                        .n_in = op->n_in,
                        .n_out = op->n_out,
                        .in = in,
                        .attrs = op->attrs,
                        .out = (tern__type *)&r->types[op->out]};
}

bool tern__region_has_product(const tern__region *r)
{
    return r->n_ops > 0 && tern__op_is_product(r->ops[0].op);
}

bool tern__region_reads_rows(const tern__region *r, int operand)
{
    for (int i = tern__region_has_product(r) ? 1 : 0; i < r->n_ops; i++)
        for (int k = 0; k < r->ops[i].n_in; k++)
            if (r->ops[i].in[k] == operand)
                return true;
    return false;
}

/* Values that may still lie where the operand does: a cast can be no more than another name. */
static void find_names(const tern__region *r, int operand, bool *names)
{
    names[operand] = true;
    for (int i = 0; i < r->n_ops; i++)
        names[r->ops[i].out] = r->ops[i].op == TERN__OP_cast && names[r->ops[i].in[0]];
}

bool tern__region_may_overwrite(const tern__region *r, int operand, int result)
{
    bool needed[TERN__REGION_MAX_VALUES] = {false}, names[TERN__REGION_MAX_VALUES] = {false};
    find_names(r, operand, names);
    for (int i = 0; i < r->n_out; i++) /* results are stored one after the other */
        if (i != result && names[r->out[i]])
            return false;
    needed[r->out[result]] = true;
    for (int i = r->n_ops; i-- > 0;) {
        const tern__region_op *op = &r->ops[i];
        bool wanted = false, reads = false;
        for (int k = 0; k < op->n_out; k++)
            wanted = wanted || needed[op->out + k];
        for (int k = 0; k < op->n_in; k++) {
            reads = reads || names[op->in[k]];
            needed[op->in[k]] = needed[op->in[k]] || wanted;
        }
        if (reads && (!wanted || tern__op_is_product(op->op)))
            return false;
        for (int k = 1; k < op->n_out; k++) /* only the first result of an op comes after all that it reads */
            if (op->out + k == r->out[result])
                return false;
    }
    return true;
}

/* ---- checking ---- */

#define FAIL_IF(condition, status, ...) TERN__FAIL_IF(condition, status, "fused: " __VA_ARGS__)

/* Is the value a reduction that dropped the last axis? */
static bool is_squeezed(const tern__region *r, const tern__region_op *op, tern__row_role role)
{
    return role == TERN__ROW_ROLE_REDUCE && r->types[op->out].rank < r->types[op->in[0]].rank;
}

static tern_status check_op(const tern__region *r, int i, uint16_t first, bool *squeezed)
{
    const tern__region_op *op = &r->ops[i];
    FAIL_IF((unsigned)op->op >= TERN__OP_COUNT, TERN_INTERNAL, "op %d does not exist", (int)op->op);
    const tern__op *row = &tern__ops[op->op];
    FAIL_IF(op->n_in > TERN__MAX_INPUTS_FIXED || op->n_out > TERN__MAX_RESULTS_FIXED || op->out != first,
            TERN_INTERNAL, "%s has %u operands and result %u", row->name, op->n_in, op->out);
    for (int k = 0; k < op->n_in; k++)
        FAIL_IF(op->in[k] >= first || squeezed[op->in[k]] != (op->op == TERN__OP_reshape),
                TERN_INVALID_ARGUMENT, "operand %d of %s is not known there", k, row->name);
    const tern__type *in[TERN__MAX_INPUTS_FIXED];
    tern__type out[TERN__MAX_RESULTS_FIXED];
    tern_dtype operands[TERN__MAX_INPUTS_FIXED];
    tern__call call = tern__region_call(r, i, in);
    call.out = out;
    TERN_TRY(tern__op_infer(&call, operands));
    for (int k = 0; k < op->n_in; k++)
        FAIL_IF(operands[k] != in[k]->dtype, TERN_DTYPE, "operand %d of %s is %s but %s is needed", k,
                row->name, tern_dtype_name(in[k]->dtype), tern_dtype_name(operands[k]));
    for (int k = 0; k < op->n_out; k++)
        FAIL_IF(!tern__type_equal(&out[k], &r->types[op->out + k]), TERN_SHAPE,
                "result %d of %s has another type", k, row->name);
    if (i == 0 && tern__op_is_product(op->op)) {
        FAIL_IF(!tern__shape_equal(&out[0], &r->domain), TERN_SHAPE, "the result of %s is not the domain",
                row->name);
        return TERN_OK;
    }
    tern__row_role role = tern__row_role_of(&call);
    FAIL_IF(role == TERN__ROW_ROLE_NONE, TERN_INVALID_ARGUMENT, "%s does not work on rows", row->name);
    FAIL_IF(role > TERN__ROW_ROLE_MAP && tern__region_has_product(r), TERN_INVALID_ARGUMENT,
            "%s reduces rows, of which an epilogue sees parts only", row->name);
    if (role == TERN__ROW_ROLE_CONSTANT)
        return TERN_OK;
    squeezed[op->out] = is_squeezed(r, op, role);
    tern__type domain;
    tern__row_domain_of(&call, role, &domain);
    FAIL_IF(role != TERN__ROW_ROLE_MAP && !tern__row_is_full(&r->domain, &domain), TERN_SHAPE,
            "%s reduces rows of another shape", row->name);
    FAIL_IF(role == TERN__ROW_ROLE_MAP && !tern__row_is_full(&r->domain, &domain) &&
                !tern__row_is_each(&r->domain, &domain),
            TERN_SHAPE, "%s is neither full nor one number per row", row->name);
    return TERN_OK;
}

static tern_status check_outputs(const tern__region *r)
{
    FAIL_IF(r->n_out == 0, TERN_INVALID_ARGUMENT, "nothing leaves the region");
    for (int i = 0; i < r->n_out; i++) {
        FAIL_IF(r->out[i] < r->n_in || r->out[i] >= r->n_values, TERN_INVALID_ARGUMENT,
                "result %d is not computed in the region", i);
        for (int k = 0; k < r->n_ops; k++)
            FAIL_IF(r->ops[k].out == r->out[i] && r->ops[k].op == TERN__OP_full, TERN_INVALID_ARGUMENT,
                    "result %d is a constant", i);
        FAIL_IF(tern__region_has_product(r) &&
                    (r->out[i] == r->ops[0].out || !tern__row_is_full(&r->domain, &r->types[r->out[i]])),
                TERN_INVALID_ARGUMENT, "result %d is not one of the whole epilogue", i);
        for (int k = 0; k < i; k++)
            FAIL_IF(r->out[k] == r->out[i], TERN_INVALID_ARGUMENT, "results %d and %d are the same", k, i);
    }
    return TERN_OK;
}

tern_status tern__region_check(const tern__region *r, int n_in, const tern__type *const *in)
{
    bool squeezed[TERN__REGION_MAX_VALUES] = {false};
    FAIL_IF(!r, TERN_INVALID_ARGUMENT, "has no body");
    FAIL_IF(r->n_in > TERN__REGION_MAX_INPUTS || r->n_ops > TERN__REGION_MAX_OPS ||
                r->n_out > TERN__REGION_MAX_OUTPUTS,
            TERN_LIMIT, "a region has at most %d operands, %d ops and %d results", TERN__REGION_MAX_INPUTS,
            TERN__REGION_MAX_OPS, TERN__REGION_MAX_OUTPUTS);
    FAIL_IF(n_in != r->n_in, TERN_INVALID_ARGUMENT, "has %d operands, its body takes %u", n_in, r->n_in);
    for (int i = 0; i < n_in; i++) {
        char text[TERN__TYPE_TEXT];
        FAIL_IF(!tern__type_equal(in[i], &r->types[i]), TERN_SHAPE,
                "operand %d is %s, its body takes another type", i, tern__type_text(in[i], text));
        FAIL_IF(!broadcasts_to(&r->domain, in[i]) &&
                    (!tern__region_has_product(r) || tern__region_reads_rows(r, i)),
                TERN_SHAPE, "operand %d does not broadcast to the domain", i);
    }
    uint16_t first = r->n_in;
    for (int i = 0; i < r->n_ops; i++) {
        TERN_TRY(check_op(r, i, first, squeezed));
        first = (uint16_t)(first + r->ops[i].n_out);
    }
    FAIL_IF(first != r->n_values, TERN_INTERNAL, "has %u values, its ops give %u", r->n_values, first);
    return check_outputs(r);
}

/* ---- the rules of op `fused` ---- */

static const tern__region *body_of(const tern__call *call)
{
    return call->attrs[0].region;
}

/* Everything is checked here, before shapes: an op without a body never gets further. */
tern_status tern__rule_dtype_region(const tern__call *call, tern_dtype *operands)
{
    (void)operands;
    const tern__region *r = body_of(call);
    TERN_TRY(tern__region_check(r, call->n_in, call->in));
    for (int i = 0; i < call->n_out; i++)
        call->out[i].dtype = r->types[r->out[i]].dtype;
    return TERN_OK;
}

tern_status tern__rule_shape_region(const tern__call *call)
{
    const tern__region *r = body_of(call);
    for (int i = 0; i < call->n_out; i++)
        tern__rule_copy_shape(call, i, &r->types[r->out[i]]);
    return TERN_OK;
}

int64_t tern__rule_work_region(const tern__call *call)
{
    const tern__type *domain = &body_of(call)->domain;
    int64_t rows = 1;
    for (int i = 0; i < domain->rank - 1; i++)
        rows *= domain->shape[i];
    return rows;
}

double tern__rule_cost_region(const tern__call *call, double per_item)
{
    const tern__region *r = body_of(call);
    double flops = 0;
    for (int i = 0; i < r->n_ops; i++) {
        const tern__type *in[TERN__MAX_INPUTS_FIXED];
        tern__call inner = tern__region_call(r, i, in);
        flops += per_item * inner.op->cost(&inner, inner.op->cost_factor);
    }
    return flops;
}
