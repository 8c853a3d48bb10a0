/* regions.c - calls and fused regions become row programs. A single op is a region of one, so that it computes the same bits
 * whether it is fused or not. */
#include "devices/rows/regions.h"

#include "base/cpu.h"
#include "base/status.h"
#include "kernels/past.h"

static bool should_stream(const tern__call *call)
{
    double bytes = 0;
    for (int i = 0; i < call->n_out; i++)
        bytes += (double)tern__type_bytes(&call->out[i]);
    return bytes > (double)tern__past_bytes(tern__cpu());
}

static bool is_i32(const tern__type *type)
{
    return type->dtype == TERN_I32;
}

static bool is_squeezed(const tern__call *call)
{
    return tern__row_role_of(call) == TERN__ROW_ROLE_REDUCE && call->attrs[1].i == 0;
}

/* ---- one op ---- */

static bool build_op(tern__row_builder *b, const tern__rowop_table *table, const tern__call *call,
                     tern__row_role role)
{
    tern__type domain;
    tern__row_domain_of(call, role, &domain);
    tern__row_begin(b, &domain, call->n_in, call->n_out);
    tern__row_context c = {.b = b, .table = table, .row = domain.rank ? domain.shape[domain.rank - 1] : 1};
    tern__row_id in[TERN__MAX_INPUTS_FIXED], out[TERN__MAX_RESULTS_FIXED];
    for (int i = 0; i < call->n_in; i++)
        in[i] = tern__row_load(b, i, tern__row_extent_of(&domain, call->in[i]), is_i32(call->in[i]));
    if (!tern__row_expand(&c, call, in, out))
        return false;
    for (int i = 0; i < call->n_out; i++)
        tern__row_store(b, out[i], i, is_squeezed(call));
    return !b->full;
}

bool tern__rows_has(const tern__call *call, const tern__rowop_table *table)
{
    tern__row_builder b;
    tern__row_role role = tern__row_role_of(call);
    return role >= TERN__ROW_ROLE_MAP && build_op(&b, table, call, role);
}

bool tern__rows_round(const tern__call *call, const tern__rowop_table *table)
{
    tern__row_builder b;
    tern__row_role role = tern__row_role_of(call);
    bool any = false;
    if (role < TERN__ROW_ROLE_MAP || !build_op(&b, table, call, role))
        return false;
    for (int i = 0; i < b.n_instrs; i++)
        any |= b.instrs[i].kind == TERN__ROW_MAP && tern__row_rounds((tern__rowop)b.instrs[i].op);
    return any;
}

/* ---- a region ---- */

static tern__row_id load(tern__row_builder *b, int operand, const tern__region *r, int value)
{
    const tern__type *type = &r->types[value];
    return tern__row_load(b, operand, tern__row_extent_of(&r->domain, type), is_i32(type));
}

static bool build_region(tern__row_builder *b, const tern__rowop_table *table, const tern__region *r)
{
    tern__row_id values[TERN__REGION_MAX_VALUES];
    bool squeezed[TERN__REGION_MAX_VALUES] = {false};
    const bool product = tern__region_has_product(r);
    int n_in = 0;
    for (int i = 0; i < r->n_in; i++)
        n_in += !product || tern__region_reads_rows(r, i);
    tern__row_begin(b, &r->domain, n_in + product, r->n_out);
    tern__row_context c = {
        .b = b, .table = table, .row = r->domain.rank ? r->domain.shape[r->domain.rank - 1] : 1};
    for (int i = 0, n = 0; i < r->n_in; i++)
        if (!product || tern__region_reads_rows(r, i))
            values[i] = load(b, n++, r, i);
    if (product)
        values[r->ops[0].out] = load(b, n_in, r, r->ops[0].out);
    for (int i = product; i < r->n_ops; i++) {
        const tern__region_op *op = &r->ops[i];
        const tern__type *types[TERN__MAX_INPUTS_FIXED];
        tern__row_id in[TERN__MAX_INPUTS_FIXED];
        tern__call call = tern__region_call(r, i, types);
        for (int k = 0; k < op->n_in; k++)
            in[k] = values[op->in[k]];
        if (op->op == TERN__OP_full) {
            values[op->out] = tern__row_constant(b, op->attrs[2].f);
            continue;
        }
        if (op->op == TERN__OP_reshape) {
            values[op->out] = in[0];
            continue;
        }
        if (!tern__row_expand(&c, &call, in, &values[op->out]))
            return false;
        squeezed[op->out] = is_squeezed(&call);
    }
    for (int i = 0; i < r->n_out; i++)
        tern__row_store(b, values[r->out[i]], i, squeezed[r->out[i]]);
    return !b->full;
}

tern_status tern__rows_program(const tern__call *call, const tern__rowop_table *table,
                               const tern__row_variant *variant, tern__arena *arena,
                               const tern__row_program **out)
{
    tern__row_builder b;
    *out = NULL;
    if (tern__op_code(call->op) == TERN__OP_fused) {
        const tern__region *region = call->attrs[0].region;
        if (tern__region_has_product(region) || !build_region(&b, table, region))
            return TERN_OK;
    } else {
        tern__row_role role = tern__row_role_of(call);
        if (role < TERN__ROW_ROLE_MAP || !build_op(&b, table, call, role))
            return TERN_OK;
    }
    tern__row_program *program = NULL;
    b.tile = variant ? variant->tile : 0;
    bool streams = variant ? variant->streams : should_stream(call);
    tern_status status = tern__row_finish(&b, table, streams, arena, &program);
    *out = program;
    return status == TERN_UNSUPPORTED ? TERN_OK : status;
}

tern_status tern__rows_epilogue(const tern__region *region, const tern__rowop_table *table,
                                tern__arena *arena, const tern__row_program **out)
{
    tern__row_builder b;
    tern__row_program *program = NULL;
    *out = NULL;
    if (!build_region(&b, table, region))
        return TERN_OK;
    b.tile = 0;
    b.upright = true; /* what it is handed is; and scratch is the product's */
    tern_status status = tern__row_finish(&b, table, false, arena, &program);
    if (program && !program->reduces)
        *out = program;
    return status == TERN_UNSUPPORTED ? TERN_OK : status;
}
