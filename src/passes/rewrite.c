/* rewrite.c - building the next graph beside the old one. */
#include "passes/rewrite.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "graph/node.h"
#include "tensor/buffer.h"
#include "tensor/convert.h"
#include "tensor/deferred.h"

tern_status tern__rewrite_begin(tern__compilation *c, tern__rewrite *w)
{
    *w = (tern__rewrite){.c = c, .from = c->graph, .to = c->spare};
    tern__graph_reset(w->to);
    w->to->name = w->from->name;
    /* Most of a graph survives a pass: what it points at stays where it is and changes hands. */
    tern__arena_free(&w->to->arena);
    w->to->arena = c->graph->arena;
    tern__arena_init(&c->graph->arena, 0);
    w->map = tern__arena_alloc(c->arena, w->from->n_values * sizeof *w->map);
    if (!w->map)
        return tern__out_of_memory(w->from->n_values * sizeof *w->map);
    memset(w->map, 0xff, w->from->n_values * sizeof *w->map);
    return tern__graph_reserve(w->to, w->from->n_nodes, w->from->n_values);
}

/* Names and origins are kept, so that people recognise what a pass left alone. They lie in the arena that both share. */
static void keep_names(tern__rewrite *w, const tern__gnode *node, tern__id first)
{
    for (uint32_t i = 0; i < node->n_out; i++)
        w->to->values[first + i].name = w->from->values[node->out + i].name;
    w->to->nodes[w->to->values[first].node].origin = node->origin;
}

/* Room for the holds of all new values; those that were just added start without. */
static tern_status make_held(tern__rewrite *w)
{
    if (w->to->n_values <= w->cap_held)
        return TERN_OK;
    uint32_t capacity = w->to->n_values * 2 > w->from->n_values ? w->to->n_values * 2 : w->from->n_values;
    uint8_t *held = tern__arena_alloc_zero(w->c->arena, capacity, 1);
    if (!held)
        return tern__out_of_memory(capacity);
    if (w->cap_held)
        memcpy(held, w->held, w->cap_held);
    w->held = held;
    w->cap_held = capacity;
    return TERN_OK;
}

/* Operands of a copy: those of the original where nothing moved. */
static tern_status map_operands(tern__rewrite *w, const tern__gnode *node, const tern__id **out)
{
    uint32_t same = 0;
    while (same < node->n_in && w->map[node->in[same]] == node->in[same])
        same++;
    *out = node->in;
    if (same == node->n_in)
        return TERN_OK;
    tern__id *in = tern__arena_alloc(&w->to->arena, node->n_in * sizeof *in);
    if (!in)
        return tern__out_of_memory(node->n_in * sizeof *in);
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = w->map[node->in[i]];
    *out = in;
    return TERN_OK;
}

tern_status tern__rewrite_copy(tern__rewrite *w, tern__id n)
{
    const tern__gnode *node = &w->from->nodes[n];
    const tern__id *in;
    tern__id first;
    TERN_TRY(map_operands(w, node, &in));
    TERN_TRY(tern__graph_adopt(w->to, w->from, n, in, &first));
    for (uint32_t i = 0; i < node->n_out; i++)
        w->map[node->out + i] = first + i;
    if (w->holds) {
        TERN_TRY(make_held(w));
        memcpy(w->held + first, w->holds + node->out, node->n_out);
    }
    return TERN_OK;
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
    TERN__FAIL_IF(n_in > MOST || n_out > MOST, TERN_INTERNAL, "rewrite: %s with %u operands", row->name,
                  n_in);
    for (uint32_t i = 0; i < n_in; i++) {
        types[i] = &w->to->values[in[i]].type;
        dtypes[i] = types[i]->dtype;
    }
    tern__call call = {.op = row, .n_in = (int)n_in, .n_out = n_out, .in = types, .attrs = attrs, .out = out};
    TERN_TRY(tern__op_infer(&call, dtypes));
    for (uint32_t i = 0; i < n_in; i++)
        TERN__FAIL_IF(dtypes[i] != types[i]->dtype, TERN_INTERNAL, "rewrite: %s needs a cast of operand %u",
                      row->name, i);
    TERN_TRY(tern__graph_add(w->to, op, n_in, in, attrs, (uint32_t)n_out, out, first));
    w->to->nodes[w->to->n_nodes - 1].origin = w->origin;
    if (w->holds) {
        TERN_TRY(make_held(w));
        if (row->flags & TERN__VIEW)
            w->held[*first] = w->held[in[0]] & TERN__HELD_WRITTEN;
    }
    return TERN_OK;
}

tern_status tern__rewrite_become(tern__rewrite *w, tern__id n, tern__opcode op, uint32_t n_in,
                                 const tern__id *in, const tern__attr *attrs)
{
    const tern__gnode *node = &w->from->nodes[n];
    tern__id value;
    TERN_TRY(tern__rewrite_emit(w, op, n_in, in, attrs, &value));
    TERN__FAIL_IF(!tern__type_equal(&w->to->values[value].type, &w->from->values[node->out].type),
                  TERN_INTERNAL, "rewrite: %s in the place of %s has another type", tern__ops[op].name,
                  tern__ops[node->op].name);
    w->map[node->out] = value;
    if (w->holds)
        w->held[value] |= w->holds[node->out];
    keep_names(w, node, value);
    return TERN_OK;
}

tern_status tern__rewrite_emit_constant(tern__rewrite *w, const char *name, const tern__type *type,
                                        tern__storage *storage, const tern__layout *layout, tern__id *result)
{
    TERN_TRY(tern__graph_add_leaf(w->to, TERN__OP_constant, name, type, storage, layout, result));
    tern__leaf *leaf = &w->to->leaves[w->to->n_leaves - 1];
    leaf->source = leaf->alias = TERN__NO_ID;
    return w->holds ? make_held(w) : TERN_OK;
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

/* ---- holds ---- */

/* Marks buffers that are overwritten: the bases of targets, and leaves that share memory with one of them. */
static tern_status find_written(tern__compilation *c, const tern_graph *g, uint8_t *holds)
{
    uint32_t most = 0;
    for (uint32_t l = 0; l < g->n_leaves; l++)
        if (g->leaves[l].alias != TERN__NO_ID && g->leaves[l].alias >= most)
            most = g->leaves[l].alias + 1;
    bool *written = tern__arena_alloc_zero(c->arena, (size_t)most + 1, sizeof *written);
    if (!written)
        return tern__out_of_memory(most);
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        if (!(tern__ops[g->nodes[n].op].flags & TERN__WRITES))
            continue;
        tern__id base = g->nodes[n].in[0];
        holds[base] |= TERN__HELD_TARGET;
        while (tern__ops[g->nodes[g->values[base].node].op].flags & TERN__VIEW)
            base = g->nodes[g->values[base].node].in[0];
        holds[base] |= TERN__HELD_WRITTEN;
        uint32_t leaf = g->nodes[g->values[base].node].leaf;
        if (leaf != TERN__NO_ID && g->leaves[leaf].alias != TERN__NO_ID)
            written[g->leaves[leaf].alias] = true;
    }
    for (uint32_t l = 0; l < g->n_leaves; l++)
        if (g->leaves[l].alias != TERN__NO_ID && written[g->leaves[l].alias])
            holds[g->nodes[g->leaves[l].node].out] |= TERN__HELD_WRITTEN;
    for (uint32_t n = 0; n < g->n_nodes; n++)
        if (tern__ops[g->nodes[n].op].flags & TERN__VIEW)
            holds[g->nodes[n].out] |= holds[g->nodes[n].in[0]] & TERN__HELD_WRITTEN;
    return TERN_OK;
}

tern_status tern__find_holds(tern__compilation *c, const tern_graph *g, uint8_t **out)
{
    uint8_t *holds = tern__arena_alloc_zero(c->arena, (size_t)g->n_values + 1, 1);
    if (!holds)
        return tern__out_of_memory(g->n_values);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        tern__id value = g->outputs[i].value;
        while (!(holds[value] & TERN__HELD_OUTPUT)) {
            const tern__gnode *node = &g->nodes[g->values[value].node];
            holds[value] |= TERN__HELD_OUTPUT;
            if (tern__ops[node->op].flags & TERN__VIEW)
                value = node->in[0];
        }
    }
    if (g->n_writes > 0)
        TERN_TRY(find_written(c, g, holds));
    *out = holds;
    return TERN_OK;
}

tern_status tern__rewrite_begin_held(tern__compilation *c, tern__rewrite *w)
{
    uint8_t *holds;
    TERN_TRY(tern__find_holds(c, c->graph, &holds));
    TERN_TRY(tern__rewrite_begin(c, w));
    w->holds = holds;
    return TERN_OK;
}

bool tern__rewrite_may_share(tern__rewrite *w, tern__id old, tern__id new_value)
{
    if ((w->holds[old] | w->held[new_value]) & TERN__HELD_WRITTEN)
        return false;
    if (!(w->holds[old] & TERN__HELD_OUTPUT))
        return true;
    const tern__op *op = &tern__ops[w->to->nodes[w->to->values[new_value].node].op];
    if ((w->held[new_value] & TERN__HELD_OUTPUT) || (op->flags & (TERN__VIEW | TERN__LEAF | TERN__WRITES)))
        return false;
    w->held[new_value] |= TERN__HELD_OUTPUT;
    return true;
}

/* ---- facts ---- */

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

static bool uniform_leaf(const tern__leaf *leaf, const tern__type *type, double *out)
{
    size_t unit = tern__dtype_unit_bytes(type->dtype);
    int64_t count = tern__type_numel(type);
    if (leaf->storage->deferred || tern__dtype_is_packed(type->dtype) || count < 1 ||
        count > TERN__UNIFORM_AT_MOST || (count > 1 && !tern__layout_is_contiguous(type, &leaf->layout)))
        return false;
    const char *data = (const char *)leaf->storage->host + leaf->layout.offset * (int64_t)unit;
    for (int64_t i = 1; i < count; i++)
        if (memcmp(data, data + (size_t)i * unit, unit) != 0)
            return false;
    tern__convert(type->dtype, data, 1, TERN_F64, out, 1, 1);
    return true;
}

bool tern__is_uniform(const tern_graph *g, tern__id value, double *out)
{
    while (tern__ops[g->nodes[g->values[value].node].op].flags & TERN__VIEW)
        value = g->nodes[g->values[value].node].in[0];
    const tern__gnode *node = &g->nodes[g->values[value].node];
    const tern__type *type = &g->values[value].type;
    if (node->op == TERN__OP_full) {
        uint64_t element = 0; /* as the dtype holds it: 1.4 is 1 as an integer */
        tern__convert(TERN_F64, &node->attrs[TERN__ATTR_full_value].f, 1, type->dtype, &element, 1, 1);
        tern__convert(type->dtype, &element, 1, TERN_F64, out, 1, 1);
        return true;
    }
    const tern__leaf *leaf = tern__constant_of(g, value);
    return leaf && uniform_leaf(leaf, type, out);
}

bool tern__lies_dense(const tern_graph *g, tern__id value)
{
    const tern__gnode *node = &g->nodes[g->values[value].node];
    while (node->op == TERN__OP_reshape) /* of what is dense, or a dense copy */
        node = &g->nodes[g->values[value = node->in[0]].node];
    if (node->leaf != TERN__NO_ID)
        return tern__layout_is_contiguous(&g->values[value].type, &g->leaves[node->leaf].layout);
    return !(tern__ops[node->op].flags & (TERN__VIEW | TERN__WRITES));
}

void tern__ops_present(const tern_graph *g, tern__op_set *out)
{
    *out = (tern__op_set){{0}};
    for (uint32_t n = 0; n < g->n_nodes; n++)
        out->bits[g->nodes[n].op / 64] |= (uint64_t)1 << (g->nodes[n].op % 64);
}

bool tern__op_flag_in(const tern__op_set *set, unsigned flag)
{
    for (int op = 0; op < TERN__OP_COUNT; op++)
        if (tern__ops[op].flags & flag && tern__op_in(set, (tern__opcode)op))
            return true;
    return false;
}

const char *tern__value_text(const tern__compilation *c, const tern_graph *g, tern__id value,
                             char buffer[TERN__VALUE_TEXT])
{
    if (!c->log)
        return "";
    if (g->values[value].name)
        snprintf(buffer, TERN__VALUE_TEXT, "%%%s", g->values[value].name);
    else
        snprintf(buffer, TERN__VALUE_TEXT, "a new %s", tern__ops[g->nodes[g->values[value].node].op].name);
    return buffer;
}

/* ---- evaluating at compile time ---- */

tern_status tern__evaluate(tern__compilation *c, const tern__call *call, const tern__leaf *const *leaves,
                           tern__storage **storages)
{
    enum { MOST = 16 };
    tern__buffer in[MOST], out[MOST];
    tern__layout dense[MOST];
    tern_pool *pool = c->target->pool;
    if (!c->target->evaluate || call->n_in > MOST || call->n_out > MOST)
        return TERN_UNSUPPORTED;
    int pinned = 0;
    tern_status status = TERN_OK;
    for (; pinned < call->n_in && status == TERN_OK; pinned += status == TERN_OK)
        status = tern__storage_pin(leaves[pinned]->storage);
    for (int i = 0; i < call->n_in; i++) {
        const tern__leaf *leaf = leaves[i];
        int64_t offset = leaf->layout.offset * (int64_t)tern__dtype_unit_bytes(call->in[i]->dtype);
        in[i] = (tern__buffer){(char *)leaf->storage->host + offset, call->in[i], leaf->layout.strides};
    }
    int made = 0;
    for (; made < call->n_out && status == TERN_OK; made++) {
        status = tern__storage_create(pool, tern__type_bytes(&call->out[made]), 0, &storages[made]);
        if (status != TERN_OK)
            break;
        tern__layout_contiguous(&call->out[made], &dense[made]);
        out[made] = (tern__buffer){storages[made]->host, &call->out[made], dense[made].strides};
    }
    if (status == TERN_OK)
        status = c->target->evaluate(c->target, call, in, out);
    while (pinned > 0)
        tern__storage_unpin(leaves[--pinned]->storage);
    if (status == TERN_OK)
        return TERN_OK;
    while (made > 0)
        tern__storage_release(storages[--made]);
    return status == TERN_OUT_OF_MEMORY ? status : TERN_UNSUPPORTED;
}
