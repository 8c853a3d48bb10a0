/* rewrite.c - building the next graph beside the old one. */
#include "passes/rewrite.h"

#include <string.h>

#include "base/status.h"
#include "tensor/convert.h"

tern_status tern__rewrite_begin(tern__compilation *c, tern__rewrite *w)
{
    *w = (tern__rewrite){.c = c, .from = c->graph, .to = c->spare};
    tern__graph_reset(w->to);
    w->to->ctx = w->from->ctx;
    w->to->name = tern__arena_strndup(&w->to->arena, w->from->name, strlen(w->from->name));
    w->map = tern__arena_alloc(c->arena, w->from->n_values * sizeof *w->map);
    if (!w->map || !w->to->name)
        return tern__out_of_memory(w->from->n_values * sizeof *w->map);
    memset(w->map, 0xff, w->from->n_values * sizeof *w->map);
    return tern__graph_reserve(w->to, w->from->n_nodes, w->from->n_values);
}

/* Names and origins are kept, so that people recognise what a pass left alone. */
static tern_status keep_names(tern__rewrite *w, const tern__gnode *node, tern__id first)
{
    for (uint32_t i = 0; i < node->n_out; i++) {
        const char *name = w->from->values[node->out + i].name;
        if (!name)
            continue;
        w->to->values[first + i].name = tern__arena_strndup(&w->to->arena, name, strlen(name));
        if (!w->to->values[first + i].name)
            return tern__out_of_memory(strlen(name));
    }
    if (node->origin) {
        tern__gnode *copy = &w->to->nodes[w->to->values[first].node];
        copy->origin = tern__arena_strndup(&w->to->arena, node->origin, strlen(node->origin));
        if (!copy->origin)
            return tern__out_of_memory(strlen(node->origin));
    }
    return TERN_OK;
}

static tern_status copy_op(tern__rewrite *w, const tern__gnode *node, tern__id *first)
{
    enum { SMALL = 8 };
    tern__id small_in[SMALL];
    tern__type small_types[SMALL];
    tern__id *in = node->n_in <= SMALL ? small_in : tern__arena_alloc(w->c->arena, node->n_in * sizeof *in);
    tern__type *types = node->n_out <= SMALL ? small_types : tern__arena_alloc(w->c->arena, node->n_out * sizeof *types);
    if (!in || !types)
        return tern__out_of_memory(node->n_in * sizeof *in + node->n_out * sizeof *types);
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = w->map[node->in[i]];
    for (uint32_t i = 0; i < node->n_out; i++)
        types[i] = w->from->values[node->out + i].type;
    return tern__graph_add(w->to, node->op, node->n_in, in, node->attrs, node->n_out, types, first);
}

tern_status tern__rewrite_copy(tern__rewrite *w, tern__id n)
{
    const tern__gnode *node = &w->from->nodes[n];
    tern__id first;
    if (node->leaf != TERN__NO_ID) {
        const tern__leaf *leaf = &w->from->leaves[node->leaf];
        TERN_TRY(tern__graph_add_leaf(w->to, node->op, node->attrs[0].text, &w->from->values[node->out].type,
                                      leaf->storage, &leaf->layout, &first));
        tern__leaf *copy = &w->to->leaves[w->to->n_leaves - 1];
        copy->source = leaf->source;
        copy->alias = leaf->alias;
        copy->bound = leaf->bound;
    } else {
        TERN_TRY(copy_op(w, node, &first));
    }
    for (uint32_t i = 0; i < node->n_out; i++)
        w->map[node->out + i] = first + i;
    return keep_names(w, node, first);
}

void tern__rewrite_replace(tern__rewrite *w, tern__id old, tern__id new_value)
{
    w->map[old] = new_value;
}

tern_status tern__rewrite_emit(tern__rewrite *w, tern__opcode op, uint32_t n_in, const tern__id *in,
                               const tern__attr *attrs, tern__id *first)
{
    enum { MOST = 16 };
    const tern__op *row = &tern__ops[op];
    int n_out = tern__op_results(row, attrs);
    const tern__type *types[MOST];
    tern_dtype dtypes[MOST];
    tern__type out[MOST];
    TERN__FAIL_IF(n_in > MOST || n_out > MOST, TERN_INTERNAL, "rewrite: %s with %u operands", row->name, n_in);
    for (uint32_t i = 0; i < n_in; i++) {
        types[i] = &w->to->values[in[i]].type;
        dtypes[i] = types[i]->dtype;
    }
    tern__call call = {.op = row, .n_in = (int)n_in, .n_out = n_out, .in = types, .attrs = attrs, .out = out};
    TERN_TRY(tern__op_infer(&call, dtypes));
    for (uint32_t i = 0; i < n_in; i++)
        TERN__FAIL_IF(dtypes[i] != types[i]->dtype, TERN_INTERNAL, "rewrite: %s needs a cast of operand %u", row->name, i);
    return tern__graph_add(w->to, op, n_in, in, attrs, (uint32_t)n_out, out, first);
}

tern_status tern__rewrite_emit_constant(tern__rewrite *w, const char *name, const tern__type *type,
                                        tern__storage *storage, const tern__layout *layout, tern__id *result)
{
    TERN_TRY(tern__graph_add_leaf(w->to, TERN__OP_constant, name, type, storage, layout, result));
    tern__leaf *leaf = &w->to->leaves[w->to->n_leaves - 1];
    leaf->source = leaf->alias = TERN__NO_ID;
    return TERN_OK;
}

tern_status tern__rewrite_end(tern__rewrite *w)
{
    for (uint32_t i = 0; i < w->from->n_outputs; i++)
        TERN_TRY(tern__graph_add_output(w->to, w->map[w->from->outputs[i].value], w->from->outputs[i].name));
    /* The graphs change places by value: the caller's struct holds the new one, the spare the old. */
    tern_graph old = *w->c->graph;
    *w->c->graph = *w->to;
    *w->to = old;
    return TERN_OK;
}

tern_status tern__count_uses(tern__compilation *c, const tern_graph *g, uint32_t **out)
{
    uint32_t *uses = tern__arena_alloc_zero(c->arena, g->n_values, sizeof *uses);
    if (!uses)
        return tern__out_of_memory(g->n_values * sizeof *uses);
    for (uint32_t n = 0; n < g->n_nodes; n++)
        for (uint32_t i = 0; i < g->nodes[n].n_in; i++)
            uses[g->nodes[n].in[i]]++;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        uses[g->outputs[i].value]++;
    *out = uses;
    return TERN_OK;
}

const tern__leaf *tern__constant_of(const tern_graph *g, tern__id value)
{
    const tern__gnode *node = &g->nodes[g->values[value].node];
    if (node->op != TERN__OP_constant || !g->leaves[node->leaf].storage)
        return NULL;
    return &g->leaves[node->leaf];
}

bool tern__is_uniform(const tern_graph *g, tern__id value, double *out)
{
    const tern__gnode *node = &g->nodes[g->values[value].node];
    const tern__type *type = &g->values[value].type;
    if (node->op == TERN__OP_full) {
        *out = node->attrs[2].f;
        return true;
    }
    const tern__leaf *leaf = tern__constant_of(g, value);
    if (!leaf || tern__type_numel(type) != 1 || tern__dtype_is_packed(type->dtype))
        return false;
    const char *data = (const char *)leaf->storage->host + leaf->layout.offset * (int64_t)tern__dtype_unit_bytes(type->dtype);
    tern__convert(type->dtype, data, 1, TERN_F64, out, 1, 1);
    return true;
}
