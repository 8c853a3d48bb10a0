/* products.c - matrix products as OpenCL C, and what reads them element by element (epilogues), which then is part of the same
 * kernel: what is multiplied, and in which of the forms of product.h. */
#include "devices/opencl/products.h"

#include "devices/opencl/product.h"
#include "kernels/row/program.h"

enum { FEW_ROWS = 4 }; /* that are no panel's worth */

/* ---- what is multiplied ---- */

/* Axes in front of the rows become rows where they lie like ones. */
static void join_rows(tern__ocl_product *p)
{
    bool joins = true;
    int64_t step = p->a_row * p->m;
    for (int a = p->batch_axes - 1; a >= 0; a--) {
        joins = joins && p->of_b[a] == 0 && (p->batch_shape[a] == 1 || p->of_a[a] == step);
        step *= p->batch_shape[a];
    }
    if (!joins)
        return;
    p->m *= p->batches;
    p->batches = 1;
    p->batch_axes = 0;
}

static void describe_matmul(tern__ocl_product *p, const tern__attr *attrs, const tern__type *y)
{
    const tern__type *a = p->a->type, *b = p->b->type;
    const bool ta = attrs[TERN__ATTR_matmul_transpose_a].i != 0,
               tb = attrs[TERN__ATTR_matmul_transpose_b].i != 0;
    const int ra = a->rank, rb = b->rank, ry = y->rank;
    p->m = y->shape[ry - 2];
    p->n = y->shape[ry - 1];
    p->k = a->shape[ra - (ta ? 2 : 1)];
    p->a_row = p->a->strides[ra - (ta ? 1 : 2)];
    p->a_k = p->a->strides[ra - (ta ? 2 : 1)];
    p->b_k = p->b->strides[rb - (tb ? 1 : 2)];
    p->b_column = p->b->strides[rb - (tb ? 2 : 1)];
    p->batch_axes = ry - 2;
    for (int x = 0; x < ry - 2; x++) {
        const int at_a = x - (ry - ra), at_b = x - (ry - rb);
        p->batch_shape[x] = y->shape[x];
        p->batches *= y->shape[x];
        p->of_a[x] = at_a < 0 || a->shape[at_a] == 1 ? 0 : p->a->strides[at_a];
        p->of_b[x] = at_b < 0 || b->shape[at_b] == 1 ? 0 : p->b->strides[at_b];
    }
}

/* x[..., k] by weight[n, k]: ternary, linear. */
static void describe_linear(tern__ocl_product *p)
{
    const tern__type *x = p->a->type;
    const int last = x->rank - 1;
    p->k = x->shape[last];
    p->n = p->b->type->shape[0];
    p->m = last > 0 ? x->shape[last - 1] : 1;
    p->a_k = p->a->strides[last];
    p->a_row = last > 0 ? p->a->strides[last - 1] : 0;
    p->b_k = p->b->type->rank > 1 ? p->b->strides[1] : 1;
    p->b_column = p->b->strides[0];
    if (tern__dtype_is_block(p->b->type->dtype)) /* counted in elements: a row is whole blocks */
        p->b_column *= tern_dtype_get(p->b->type->dtype)->unit_elements;
    p->batch_axes = last > 0 ? last - 1 : 0;
    for (int a = 0; a < p->batch_axes; a++) {
        p->batch_shape[a] = x->shape[a];
        p->batches *= x->shape[a];
        p->of_a[a] = p->a->strides[a];
    }
}

static void note_sizes(tern__ocl_product *p)
{
    p->nm = tern__ocl_number(p->d, p->m);
    p->nn = tern__ocl_number(p->d, p->n);
    p->nk = tern__ocl_number(p->d, p->k);
    p->na_row = tern__ocl_number(p->d, p->a_row);
    p->na_k = tern__ocl_number(p->d, p->a_k);
    p->nb_k = tern__ocl_number(p->d, p->b_k);
    p->nb_column = tern__ocl_number(p->d, p->b_column);
}

/* ---- which form ---- */

static void write_floats(tern__ocl_product *p)
{
    const bool dots = p->a_k == 1 && p->b_k == 1 && p->m <= FEW_ROWS;
    if (p->whole || dots)
        tern__ocl_write_dot(p);
    else if (!p->d->cpu)
        tern__ocl_write_squares(p);
    else if (p->m <= FEW_ROWS)
        tern__ocl_write_strips(p);
    else
        tern__ocl_write_panels(p);
}

static void write_any(tern__ocl_product *p, tern__opcode op, const tern__attr *attrs, const tern__type *y)
{
    p->batches = 1;
    p->whole = y->dtype == TERN_I32;
    if (op == TERN__OP_matmul)
        describe_matmul(p, attrs, y);
    else
        describe_linear(p);
    join_rows(p);
    note_sizes(p);
    p->tile.row0 = "row0";
    p->tile.rows = "rows";
    if (op == TERN__OP_ternary_matmul)
        tern__ocl_write_ternary(p);
    else
        write_floats(p);
}

void tern__ocl_write_product(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o)
{
    tern__ocl_product p = {.d = d, .a = &o[0], .b = &o[1], .pa = 0, .pb = 1, .ps = 2};
    p.scales = step->n_in > 2 ? &o[2] : NULL;
    p.tile = (tern__ocl_tile){.operands = o, .n_in = (int)step->n_in, .y = o[step->n_in].type};
    write_any(&p, step->op, step->attrs, o[step->n_in].type);
}

void tern__ocl_write_epilogue(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o)
{
    const tern__ocl_rows *program = step->program;
    const tern__region *region = step->attrs[TERN__ATTR_fused_body].region;
    const tern__region_op *first = &region->ops[0];
    tern__ocl_product p = {.d = d, .pa = first->in[0], .pb = first->in[1]};
    p.a = &o[p.pa];
    p.b = &o[p.pb];
    if (first->n_in > 2) {
        p.ps = first->in[2];
        p.scales = &o[p.ps];
    }
    p.tile = (tern__ocl_tile){.operands = o,
                              .n_in = (int)step->n_in,
                              .y = &region->types[first->out],
                              .rows_program = program->program};
    int n = 0;
    for (int i = 0; i < region->n_in; i++)
        if (tern__region_reads_rows(region, i))
            p.tile.pointers[n++] = i;
    write_any(&p, first->op, first->attrs, p.tile.y);
}

/* ---- what is refused ---- */

const char *tern__ocl_refuse_ternary(const tern__call *call)
{
    return tern__dtype_is_ternary(call->in[1]->dtype) ? NULL : "it multiplies by t2 and t5 only";
}

const char *tern__ocl_refuse_linear(const tern__call *call)
{
    const tern_dtype w = call->in[1]->dtype;
    if (call->in[0]->dtype == TERN_I8)
        return w == TERN_I8 ? NULL : "it multiplies i8 by i8 only";
    return call->in[0]->dtype == TERN_F32 && (tern__ocl_is_small_float(w) || tern__dtype_is_block(w)) &&
                   call->out[0].dtype == TERN_F32
               ? NULL
               : "it multiplies by f32, f16, bf16, i8 and weights in blocks only";
}

const char *tern__ocl_refuse_matmul(const tern__call *call)
{
    if (!tern__ocl_is_small_float(call->out[0].dtype) || call->in[0]->dtype != call->out[0].dtype ||
        call->in[1]->dtype != call->out[0].dtype)
        return "it multiplies f32, f16 and bf16 only";
    return call->in[0]->rank >= 2 && call->in[1]->rank >= 2 ? NULL : "it multiplies matrices, not vectors";
}
