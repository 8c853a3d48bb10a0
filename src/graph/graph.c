/* graph.c - building graphs: arrays that grow, attributes and names in the arena, storages held by the leaves. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/status.h"
#include "graph/region.h"

void tern__graph_init(tern_graph *g)
{
    memset(g, 0, sizeof *g);
    tern__arena_init(&g->arena, 0);
    g->name = "graph";
}

static void drop_leaves(tern_graph *g)
{
    for (uint32_t i = 0; i < g->n_leaves; i++)
        tern__storage_release(g->leaves[i].storage);
}

void tern__graph_forget_labels(tern_graph *g)
{
    tern__free(atomic_load_explicit(&g->labels, memory_order_relaxed));
    atomic_store_explicit(&g->labels, NULL, memory_order_relaxed);
}

void tern__graph_clear(tern_graph *g)
{
    drop_leaves(g);
    tern__graph_forget_labels(g);
    tern__free(g->nodes);
    tern__free(g->values);
    tern__free(g->leaves);
    tern__free(g->outputs);
    tern__arena_free(&g->arena);
    tern__graph_init(g);
}

void tern__graph_reset(tern_graph *g)
{
    drop_leaves(g);
    tern__graph_forget_labels(g);
    tern__arena_reset(&g->arena);
    g->name = "graph";
    g->n_nodes = g->n_values = g->n_leaves = g->n_outputs = g->n_writes = 0;
}

static bool room(void **items, uint32_t *capacity, size_t need, size_t bytes_each)
{
    if (TERN__LIKELY(need <= *capacity))
        return true;
    size_t cap = *capacity;
    if (need >= TERN__NO_ID || !tern__grow(items, &cap, need, bytes_each))
        return false;
    *capacity = cap < TERN__NO_ID ? (uint32_t)cap : TERN__NO_ID;
    return true;
}

tern_status tern__graph_reserve(tern_graph *g, uint32_t nodes, uint32_t values)
{
    if (!room((void **)&g->nodes, &g->cap_nodes, (size_t)g->n_nodes + nodes, sizeof *g->nodes) ||
        !room((void **)&g->values, &g->cap_values, (size_t)g->n_values + values, sizeof *g->values))
        return tern__out_of_memory((size_t)nodes * sizeof *g->nodes);
    return TERN_OK;
}

tern_status tern__attrs_copy(tern__arena *arena, const tern__op *op, const tern__attr *from, tern__attr **out)
{
    if (op->n_attrs == 0) {
        *out = NULL;
        return TERN_OK;
    }
    size_t bytes = (size_t)op->n_attrs * sizeof(tern__attr);
    tern__attr *copy = tern__arena_alloc(arena, bytes);
    if (!copy)
        return tern__out_of_memory(bytes);
    memcpy(copy, from, bytes);
    for (int i = 0; i < op->n_attrs; i++) {
        tern__attr_kind kind = op->attrs[i].kind;
        if (kind == TERN__ATTR_INTS) {
            copy[i].ints = tern__arena_alloc(arena, copy[i].count * sizeof(int64_t));
            if (!copy[i].ints)
                return tern__out_of_memory(copy[i].count * sizeof(int64_t));
            if (copy[i].count)
                memcpy(copy[i].ints, from[i].ints, copy[i].count * sizeof(int64_t));
        } else if (kind == TERN__ATTR_BODY && from[i].region) {
            copy[i].region = tern__region_copy(arena, from[i].region);
            if (!copy[i].region)
                return tern__out_of_memory(sizeof(tern__region));
        } else if (kind == TERN__ATTR_TEXT) {
            copy[i].text = tern__arena_strndup(arena, from[i].text ? from[i].text : "", copy[i].count);
            if (!copy[i].text)
                return tern__out_of_memory(copy[i].count);
        }
    }
    *out = copy;
    return TERN_OK;
}

tern_status tern__graph_add(tern_graph *g, tern__opcode op, uint32_t n_in, const tern__id *in,
                            const tern__attr *attrs, uint32_t n_out, const tern__type *types,
                            tern__id *first_result)
{
    TERN_TRY(tern__graph_reserve(g, 1, n_out));
    tern__attr *own_attrs;
    TERN_TRY(tern__attrs_copy(&g->arena, &tern__ops[op], attrs, &own_attrs));
    tern__id *own_in = NULL;
    if (n_in) {
        own_in = tern__arena_alloc(&g->arena, n_in * sizeof *own_in);
        if (!own_in)
            return tern__out_of_memory(n_in * sizeof *own_in);
        memcpy(own_in, in, n_in * sizeof *own_in);
    }
    tern__id node = g->n_nodes++, out = g->n_values;
    g->nodes[node] = (tern__gnode){.op = op,
                                   .n_in = n_in,
                                   .n_out = n_out,
                                   .in = own_in,
                                   .out = out,
                                   .attrs = own_attrs,
                                   .leaf = TERN__NO_ID,
                                   .origin = NULL};
    for (uint32_t i = 0; i < n_out; i++)
        g->values[out + i] = (tern__value){.type = types[i], .node = node, .result = i, .name = NULL};
    g->n_values += n_out;
    g->n_writes += (tern__ops[op].flags & TERN__WRITES) != 0;
    *first_result = out;
    return TERN_OK;
}

tern_status tern__graph_add_leaf(tern_graph *g, tern__opcode op, const char *name, const tern__type *type,
                                 tern__storage *storage, const tern__layout *layout, tern__id *result)
{
    if (!room((void **)&g->leaves, &g->cap_leaves, (size_t)g->n_leaves + 1, sizeof *g->leaves))
        return tern__out_of_memory(sizeof *g->leaves);
    int64_t shape[TERN__MAX_RANK];
    memcpy(shape, type->shape, sizeof shape);
    size_t length = name ? strlen(name) : 0;
    tern__attr attrs[3] = {{.text = name ? name : "", .count = (uint32_t)length},
                           {.i = type->dtype},
                           {.ints = shape, .count = (uint32_t)type->rank}};
    TERN_TRY(tern__graph_add(g, op, 0, NULL, attrs, 1, type, result));
    tern__gnode *node = &g->nodes[g->n_nodes - 1];
    node->leaf = g->n_leaves++;
    tern__leaf *leaf = &g->leaves[node->leaf];
    leaf->node = g->n_nodes - 1;
    leaf->source = leaf->alias = node->leaf;
    leaf->bound = storage != NULL;
    leaf->storage = storage;
    if (storage)
        tern__storage_retain(storage);
    if (layout)
        leaf->layout = *layout;
    else
        tern__layout_contiguous(type, &leaf->layout);
    return TERN_OK;
}

tern_status tern__graph_adopt(tern_graph *g, const tern_graph *from, tern__id n, const tern__id *in,
                              tern__id *first_result)
{
    const tern__gnode *node = &from->nodes[n];
    TERN_TRY(tern__graph_reserve(g, 1, node->n_out));
    if (!room((void **)&g->leaves, &g->cap_leaves, (size_t)g->n_leaves + 1, sizeof *g->leaves))
        return tern__out_of_memory(sizeof *g->leaves);
    tern__id id = g->n_nodes++, out = g->n_values;
    g->nodes[id] = *node;
    g->nodes[id].in = in;
    g->nodes[id].out = out;
    for (uint32_t i = 0; i < node->n_out; i++) {
        g->values[out + i] = from->values[node->out + i];
        g->values[out + i].node = id;
    }
    g->n_values += node->n_out;
    g->n_writes += (tern__ops[node->op].flags & TERN__WRITES) != 0;
    if (node->leaf != TERN__NO_ID) {
        tern__leaf *leaf = &g->leaves[g->n_leaves];
        *leaf = from->leaves[node->leaf];
        leaf->node = id;
        if (leaf->storage)
            tern__storage_retain(leaf->storage);
        g->nodes[id].leaf = g->n_leaves++;
    }
    *first_result = out;
    return TERN_OK;
}

tern_status tern__graph_add_output(tern_graph *g, tern__id value, const char *name)
{
    if (!room((void **)&g->outputs, &g->cap_outputs, (size_t)g->n_outputs + 1, sizeof *g->outputs))
        return tern__out_of_memory(sizeof *g->outputs);
    /* Lazy evaluation names nothing and has few outputs: no formatting, no copy. */
    static const char *const small[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    const char *own = !name && g->n_outputs < TERN__COUNT(small) ? small[g->n_outputs] : NULL;
    if (!own) {
        char number[16];
        if (!name) {
            snprintf(number, sizeof number, "%u", g->n_outputs);
            name = number;
        }
        own = tern__arena_strndup(&g->arena, name, strlen(name));
        if (!own)
            return tern__out_of_memory(strlen(name));
    }
    g->outputs[g->n_outputs++] = (tern__output){.value = value, .name = own};
    return TERN_OK;
}

static bool nodes_equal(const tern__gnode *a, const tern__gnode *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || a->out != b->out)
        return false;
    for (uint32_t i = 0; i < a->n_in; i++)
        if (a->in[i] != b->in[i])
            return false;
    const tern__op *op = &tern__ops[a->op];
    return op->n_attrs == 0 || tern__attrs_equal(op, a->attrs, b->attrs);
}

/* Must the place of the leaf's data inside its storage be the same for a plan to fit? */
static bool place_matters(const tern_graph *g, const tern__leaf *leaf)
{
    return g->n_writes > 0 || g->nodes[leaf->node].op == TERN__OP_constant;
}

static bool leaves_equal(const tern_graph *g, const tern__leaf *x, const tern__leaf *y,
                         const tern__type *type)
{
    if (x->bound != y->bound || x->alias != y->alias)
        return false;
    if (!x->bound)
        return true; /* contiguous, and without data */
    tern__layout there = y->layout;
    if (!place_matters(g, x))
        there.offset = x->layout.offset;
    if (!tern__layout_same(type, &x->layout, type, &there))
        return false;
    return g->nodes[x->node].op != TERN__OP_constant || x->storage == y->storage;
}

/* Leaves are entered in a table by storage, in order: the first of a storage stays. */
tern_status tern__graph_find_aliases(tern_graph *g)
{
    if (g->n_writes == 0)
        return TERN_OK;
    size_t slots = 16;
    while (slots < (size_t)g->n_leaves * 2)
        slots *= 2;
    uint32_t *table = tern__arena_alloc(&g->arena, slots * sizeof *table);
    if (!table)
        return tern__out_of_memory(slots * sizeof *table);
    memset(table, 0xff, slots * sizeof *table);
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        g->leaves[i].alias = i;
        if (!g->leaves[i].storage)
            continue;
        size_t at = tern__hash_mix(0, (uint64_t)(uintptr_t)g->leaves[i].storage) & (slots - 1);
        while (table[at] != UINT32_MAX && g->leaves[table[at]].storage != g->leaves[i].storage)
            at = (at + 1) & (slots - 1);
        if (table[at] == UINT32_MAX)
            table[at] = i;
        g->leaves[i].alias = table[at];
    }
    return TERN_OK;
}

bool tern__graph_equal(const tern_graph *a, const tern_graph *b, bool by_structure)
{
    if (a->n_nodes != b->n_nodes || a->n_values != b->n_values || a->n_leaves != b->n_leaves ||
        a->n_outputs != b->n_outputs)
        return false;
    for (uint32_t i = 0; i < a->n_nodes; i++)
        if (!nodes_equal(&a->nodes[i], &b->nodes[i]))
            return false;
    /* Types follow from the leaves' by the ops' rules. */
    for (uint32_t i = 0; i < a->n_leaves; i++) {
        const tern__leaf *x = &a->leaves[i], *y = &b->leaves[i];
        const tern__type *type = &a->values[a->nodes[x->node].out].type;
        if (x->node != y->node || !tern__type_equal(type, &b->values[b->nodes[y->node].out].type))
            return false;
        if (!by_structure && !leaves_equal(a, x, y, type))
            return false;
    }
    for (uint32_t i = 0; i < a->n_outputs; i++)
        if (a->outputs[i].value != b->outputs[i].value || strcmp(a->outputs[i].name, b->outputs[i].name) != 0)
            return false;
    return true;
}

/* One word of a node. Cheaper than tern__hash_mix, which follows once for each node. */
static inline uint64_t fold(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9fb21c651e98df25u;
    return h << 29 | h >> 35;
}

static uint64_t hash_attrs(uint64_t h, const tern__op *op, const tern__attr *attrs)
{
    for (int i = 0; i < op->n_attrs; i++) {
        if (op->attrs[i].kind == TERN__ATTR_INTS) {
            h = fold(h, attrs[i].count);
            for (uint32_t k = 0; k < attrs[i].count; k++)
                h = fold(h, (uint64_t)attrs[i].ints[k]);
        } else if (op->attrs[i].kind == TERN__ATTR_TEXT)
            h = tern__hash(attrs[i].text, attrs[i].count, h);
        else if (op->attrs[i].kind == TERN__ATTR_BODY)
            for (int k = 0; attrs[i].region && k < attrs[i].region->n_ops; k++)
                h = fold(h, (uint64_t)attrs[i].region->ops[k].op);
        else
            h = fold(h, (uint64_t)attrs[i].i);
    }
    return h;
}

static uint64_t hash_type(uint64_t h, const tern__type *type)
{
    h = fold(h, (uint64_t)type->dtype << 8 | (uint64_t)type->rank);
    for (int i = 0; i < type->rank; i++)
        h = fold(h, (uint64_t)type->shape[i]);
    return h;
}

static uint64_t hash_leaf(uint64_t h, const tern_graph *g, const tern__leaf *leaf)
{
    const tern__gnode *node = &g->nodes[leaf->node];
    const tern__type *type = &g->values[node->out].type;
    h = fold(h, (uint64_t)leaf->alias << 1 | leaf->bound);
    if (!leaf->bound)
        return h;
    h = fold(h, place_matters(g, leaf) ? (uint64_t)leaf->layout.offset : 0);
    for (int i = 0; i < type->rank; i++)
        h = fold(h, type->shape[i] > 1 ? (uint64_t)leaf->layout.strides[i] : 0);
    return node->op == TERN__OP_constant ? fold(h, (uint64_t)(uintptr_t)leaf->storage) : h;
}

uint64_t tern__graph_hash(const tern_graph *g)
{
    uint64_t h = tern__hash_mix(g->n_nodes, g->n_outputs);
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        /* Each node by itself, so that the processor can work on several at a time. */
        const tern__gnode *node = &g->nodes[n];
        uint64_t own = (uint64_t)node->op << 32 | node->n_in << 8 | node->n_out;
        for (uint32_t i = 0; i < node->n_in; i++)
            own = fold(own, node->in[i]);
        own = hash_attrs(own, &tern__ops[node->op], node->attrs);
        if (node->leaf != TERN__NO_ID)
            own = hash_leaf(hash_type(own, &g->values[node->out].type), g, &g->leaves[node->leaf]);
        h = tern__hash_mix(h, own);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        h = tern__hash_mix(h, g->outputs[i].value);
    return h;
}

tern_status tern__graph_clone_node(const tern_graph *from, tern__id n, const tern__attr *attrs,
                                   const tern__type *types, tern_graph *to)
{
    const tern__gnode *node = &from->nodes[n];
    tern__id value;
    if (node->leaf != TERN__NO_ID) {
        const tern__leaf *leaf = &from->leaves[node->leaf];
        const bool same = tern__type_equal(types, &from->values[node->out].type);
        TERN_TRY(tern__graph_add_leaf(to, node->op, attrs[0].text, types, same ? leaf->storage : NULL,
                                      same ? &leaf->layout : NULL, &value));
        tern__leaf *copy = &to->leaves[to->n_leaves - 1];
        copy->source = leaf->source;
        copy->alias = leaf->alias;
        copy->bound = leaf->bound;
    } else {
        TERN_TRY(tern__graph_add(to, node->op, node->n_in, node->in, attrs, node->n_out, types, &value));
    }
    if (node->origin) {
        char *origin = tern__arena_strndup(&to->arena, node->origin, strlen(node->origin));
        if (!origin)
            return tern__out_of_memory(strlen(node->origin));
        to->nodes[to->n_nodes - 1].origin = origin;
    }
    for (uint32_t i = 0; i < node->n_out; i++) {
        const char *name = from->values[node->out + i].name;
        if (!name)
            continue;
        to->values[value + i].name = tern__arena_strndup(&to->arena, name, strlen(name));
        if (!to->values[value + i].name)
            return tern__out_of_memory(strlen(name));
    }
    return TERN_OK;
}

static tern_status clone_as_is(const tern_graph *from, tern__id n, tern_graph *to)
{
    enum { SMALL = 8 };
    const tern__gnode *node = &from->nodes[n];
    tern__type small[SMALL];
    tern__type *types =
        node->n_out <= SMALL ? small : tern__arena_alloc(&to->arena, node->n_out * sizeof *types);
    if (!types)
        return tern__out_of_memory(node->n_out * sizeof *types);
    for (uint32_t i = 0; i < node->n_out; i++)
        types[i] = from->values[node->out + i].type;
    return tern__graph_clone_node(from, n, node->attrs, types, to);
}

tern_status tern__graph_clone(const tern_graph *from, tern_graph *to)
{
    to->name = tern__arena_strndup(&to->arena, from->name, strlen(from->name));
    if (!to->name)
        return tern__out_of_memory(strlen(from->name));
    TERN_TRY(tern__graph_reserve(to, from->n_nodes, from->n_values));
    for (uint32_t i = 0; i < from->n_nodes; i++)
        TERN_TRY(clone_as_is(from, i, to));
    for (uint32_t i = 0; i < from->n_outputs; i++)
        TERN_TRY(tern__graph_add_output(to, from->outputs[i].value, from->outputs[i].name));
    return TERN_OK;
}

tern_status tern__graph_reorder(tern_graph *g, const tern__id *order, const tern__id **moved)
{
    tern__gnode *nodes = tern__arena_alloc(&g->arena, g->n_nodes * sizeof *nodes);
    tern__value *values = tern__arena_alloc(&g->arena, g->n_values * sizeof *values);
    tern__id *to = tern__arena_alloc(&g->arena, g->n_values * sizeof *to);
    size_t n_in = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n_in += g->nodes[i].n_in;
    tern__id *in = tern__arena_alloc(&g->arena, n_in * sizeof *in);
    if (!nodes || !values || !to || !in)
        return tern__out_of_memory(g->n_nodes * sizeof *nodes + g->n_values * sizeof *values);
    memcpy(nodes, g->nodes, g->n_nodes * sizeof *nodes);
    memcpy(values, g->values, g->n_values * sizeof *values);
    tern__id next = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        tern__gnode *node = &g->nodes[i];
        *node = nodes[order[i]];
        for (uint32_t k = 0; k < node->n_in; k++)
            in[k] = to[node->in[k]];
        node->in = in;
        in += node->n_in;
        for (uint32_t k = 0; k < node->n_out; k++) {
            to[node->out + k] = next + k;
            g->values[next + k] = values[node->out + k];
            g->values[next + k].node = i;
        }
        node->out = next;
        next += node->n_out;
        if (node->leaf != TERN__NO_ID)
            g->leaves[node->leaf].node = i;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        g->outputs[i].value = to[g->outputs[i].value];
    *moved = to;
    return TERN_OK;
}

tern__id tern__graph_view_base(const tern_graph *g, tern__id value)
{
    while (tern__ops[g->nodes[g->values[value].node].op].flags & TERN__VIEW)
        value = g->nodes[g->values[value].node].in[0];
    return value;
}

uint32_t tern__graph_written_leaf(const tern_graph *g, const tern__gnode *node)
{
    while (tern__ops[node->op].flags & (TERN__WRITES | TERN__VIEW))
        node = &g->nodes[g->values[node->in[0]].node];
    return node->leaf;
}

tern_status tern__graph_new(tern_graph **out)
{
    tern_graph *g = tern__alloc(sizeof *g);
    if (!g)
        return tern__out_of_memory(sizeof *g);
    tern__graph_init(g);
    *out = g;
    return TERN_OK;
}

void tern_graph_free(tern_graph *graph)
{
    if (!graph)
        return;
    tern__graph_clear(graph);
    tern__free(graph);
}

void tern_graph_get_info(const tern_graph *graph, tern_graph_info *out)
{
    if (!graph || !out)
        return;
    tern_graph_info info = {
        .nodes = (int)graph->n_nodes, .outputs = (int)graph->n_outputs, .values = (int)graph->n_values};
    for (uint32_t i = 0; i < graph->n_leaves; i++) {
        tern__opcode op = graph->nodes[graph->leaves[i].node].op;
        info.inputs += op == TERN__OP_input;
        info.constants += op == TERN__OP_constant;
        info.states += op == TERN__OP_state;
    }
    *out = info;
}

static tern_status port_of(const tern_graph *g, tern__id value, const char *name, tern_port *out)
{
    const tern__type *type = &g->values[value].type;
    *out = (tern_port){.name = name, .dtype = type->dtype, .rank = type->rank, .shape = type->shape};
    return TERN_OK;
}

tern_status tern_graph_input(const tern_graph *graph, int i, tern_port *out)
{
    TERN__FAIL_IF(!graph || !out, TERN_INVALID_ARGUMENT, "graph_input: an argument is NULL");
    int seen = 0;
    for (uint32_t l = 0; l < graph->n_leaves; l++) {
        const tern__gnode *node = &graph->nodes[graph->leaves[l].node];
        if (node->op == TERN__OP_input && seen++ == i)
            return port_of(graph, node->out, node->attrs[0].text, out);
    }
    return tern__fail(TERN_OUT_OF_RANGE, "graph input %d: the graph has %d inputs", i, seen);
}

tern_status tern_graph_output(const tern_graph *graph, int i, tern_port *out)
{
    TERN__FAIL_IF(!graph || !out, TERN_INVALID_ARGUMENT, "graph_output: an argument is NULL");
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= graph->n_outputs, TERN_OUT_OF_RANGE,
                  "graph output %d: the graph has %u outputs", i, graph->n_outputs);
    return port_of(graph, graph->outputs[i].value, graph->outputs[i].name, out);
}
