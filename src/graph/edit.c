/* edit.c - changing a graph in place.
 *
 * New nodes are appended, removed ones are marked, operands change by pointing at another array: so every change is a word
 * in the journal, and taking back is walking it backwards. */
#include "graph/edit.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/node.h"
#include "graph/text.h"
#include "tensor/ternary.h"

enum { LABEL = 64 }; /* of a value, in messages */

/* ---- bookkeeping ---- */

static tern_status remember(tern_edit *e, tern__edit_change change)
{
    if (!tern__grow((void **)&e->changes, &e->cap_changes, e->n_changes + 1, sizeof *e->changes))
        return tern__out_of_memory(sizeof *e->changes);
    e->changes[e->n_changes++] = change;
    tern__graph_forget_labels(e->graph);
    return TERN_OK;
}

static bool is_use(const tern_edit *e, const tern__use *use, tern__id value)
{
    if (use->node >= e->graph->n_nodes)
        return false;
    const tern__gnode *node = &e->graph->nodes[use->node];
    return !node->removed && use->operand < node->n_in && node->in[use->operand] == value;
}

static tern_status add_use(tern_edit *e, tern__id value, tern__id node, uint32_t operand)
{
    if (!tern__grow((void **)&e->uses, &e->cap_uses, e->n_uses + 1, sizeof *e->uses))
        return tern__out_of_memory(sizeof *e->uses);
    for (uint32_t u = e->heads[value]; u != TERN__NO_ID; u = e->uses[u].next)
        if (e->uses[u].node == node && e->uses[u].operand == operand)
            return TERN_OK; /* it was this value before */
    e->uses[e->n_uses] = (tern__use){.node = node, .operand = operand, .next = e->heads[value]};
    e->heads[value] = (uint32_t)e->n_uses++;
    return TERN_OK;
}

/* Heads for values that are new, and their operands' uses. */
static tern_status list_node(tern_edit *e, tern__id n)
{
    const tern__gnode *node = &e->graph->nodes[n];
    tern__graph_forget_labels(e->graph);
    if (!tern__grow((void **)&e->heads, &e->cap_heads, (size_t)node->out + node->n_out, sizeof *e->heads) ||
        !tern__grow((void **)&e->uses, &e->cap_uses, e->n_uses + node->n_in, sizeof *e->uses))
        return tern__out_of_memory(sizeof *e->uses);
    for (uint32_t i = 0; i < node->n_out; i++)
        e->heads[node->out + i] = TERN__NO_ID;
    for (uint32_t i = 0; i < node->n_in; i++) {
        e->uses[e->n_uses] = (tern__use){.node = n, .operand = i, .next = e->heads[node->in[i]]};
        e->heads[node->in[i]] = (uint32_t)e->n_uses++;
    }
    return TERN_OK;
}

tern_status tern__edit_open(tern_edit *e, tern_graph *graph)
{
    *e = (tern_edit){.graph = graph};
    for (tern__id n = 0; n < graph->n_nodes; n++) {
        tern_status status = list_node(e, n);
        if (status != TERN_OK) {
            tern__edit_close(e);
            return status;
        }
    }
    return TERN_OK;
}

void tern__edit_close(tern_edit *e)
{
    tern__graph_forget_labels(e->graph);
    tern__free(e->heads);
    tern__free(e->uses);
    tern__free(e->changes);
    e->heads = NULL;
    e->uses = NULL;
    e->changes = NULL;
}

tern__edit_mark tern__edit_here(const tern_edit *e)
{
    return (tern__edit_mark){.changes = e->n_changes,
                             .uses = e->n_uses,
                             .edits = e->n_edits,
                             .nodes = e->graph->n_nodes,
                             .values = e->graph->n_values,
                             .leaves = e->graph->n_leaves};
}

void tern__edit_undo(tern_edit *e, tern__edit_mark mark)
{
    tern_graph *g = e->graph;
    tern__graph_forget_labels(g);
    while (e->n_changes > mark.changes) {
        const tern__edit_change *change = &e->changes[--e->n_changes];
        switch (change->kind) {
        case TERN__CHANGED_OPERANDS:
            g->nodes[change->index].in = change->in;
            break;
        case TERN__CHANGED_OUTPUT:
            g->outputs[change->index].value = change->value;
            break;
        case TERN__CHANGED_NAME:
            g->values[change->index].name = change->name;
            break;
        case TERN__CHANGED_REMOVED:
            g->nodes[change->index].removed = false;
            break;
        }
    }
    while (g->n_leaves > mark.leaves)
        tern__storage_release(g->leaves[--g->n_leaves].storage);
    while (g->n_nodes > mark.nodes)
        g->n_writes -= (tern__ops[g->nodes[--g->n_nodes].op].flags & TERN__WRITES) != 0;
    g->n_values = mark.values;
    e->n_edits = mark.edits;
    /* Uses by nodes that are gone must not be taken for those of nodes that get their numbers later. */
    for (uint32_t v = 0; e->n_uses > mark.uses && v < g->n_values; v++)
        while (e->heads[v] != TERN__NO_ID && e->heads[v] >= mark.uses)
            e->heads[v] = e->uses[e->heads[v]].next;
    e->n_uses = mark.uses;
}

/* ---- checking arguments ---- */

/* What a value is called when the graph is printed. */
static const char *label_of(const tern_edit *e, tern__id value, char out[LABEL])
{
    tern__label *labels = NULL;
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern__labels_make(e->graph, &labels); /* without it values go by their ids */
    tern__label_add(&s, e->graph, labels, value);
    snprintf(out, LABEL, "%s", s.text ? s.text : "a value");
    tern__free(labels);
    tern__strbuf_free(&s);
    return out;
}

static tern_status check_value(const tern_edit *e, tern_value value)
{
    TERN__FAIL_IF(value >= e->graph->n_values, TERN_OUT_OF_RANGE, "edit: value %u: there are %u", value,
                  e->graph->n_values);
    if (!e->graph->nodes[e->graph->values[value].node].removed)
        return TERN_OK;
    char label[LABEL];
    return tern__fail(TERN_INVALID_ARGUMENT, "edit: %s (value %u) is a result of a node that was removed",
                      label_of(e, value, label), value);
}

tern_status tern__edit_check_node(const tern_edit *e, tern_node node)
{
    TERN__FAIL_IF(node >= e->graph->n_nodes, TERN_OUT_OF_RANGE, "edit: node %u: there are %u", node,
                  e->graph->n_nodes);
    TERN__FAIL_IF(e->graph->nodes[node].removed, TERN_INVALID_ARGUMENT, "edit: node %u was removed already",
                  node);
    return TERN_OK;
}

static tern_status check_same_type(const tern_edit *e, tern__id was, tern__id is)
{
    const tern__type *a = &e->graph->values[was].type, *b = &e->graph->values[is].type;
    char one[TERN__TYPE_TEXT], other[TERN__TYPE_TEXT], old[LABEL], label[LABEL];
    if (tern__type_equal(a, b))
        return TERN_OK;
    return tern__fail(a->dtype == b->dtype ? TERN_SHAPE : TERN_DTYPE,
                      "edit: %s is %s and cannot take the place of %s, which is %s", label_of(e, is, label),
                      tern__type_text(b, other), label_of(e, was, old), tern__type_text(a, one));
}

/* ---- changes ---- */

tern_status tern__edit_add(tern_edit *e, tern__opcode op, uint32_t n_in, const tern__id *in,
                           const tern__attr *attrs, uint32_t n_out, const tern__type *types, tern__id *first)
{
    tern__edit_mark mark = tern__edit_here(e);
    tern__id result;
    TERN_TRY(tern__graph_add(e->graph, op, n_in, in, attrs, n_out, types, &result));
    tern_status status = list_node(e, e->graph->n_nodes - 1);
    if (status != TERN_OK) {
        tern__edit_undo(e, mark);
        return status;
    }
    e->n_edits++;
    *first = result;
    return TERN_OK;
}

static tern_status infer_and_add(tern_edit *e, const tern__op *op, const tern__attr *attrs, uint32_t n_in,
                                 const tern_value *in, tern__arena *scratch, tern__id *first)
{
    int n_out = tern__op_results(op, attrs), operand;
    TERN__FAIL_IF(n_out < 0, TERN_INVALID_ARGUMENT, "edit: %s: the number of results is not known", op->name);
    const tern__type **types = tern__arena_alloc(scratch, n_in * sizeof *types);
    tern_dtype *dtypes = tern__arena_alloc(scratch, n_in * sizeof *dtypes);
    tern__type *out = tern__arena_alloc(scratch, (size_t)n_out * sizeof *out);
    if (!types || !dtypes || !out)
        return tern__out_of_memory(n_in * sizeof *types + (size_t)n_out * sizeof *out);
    for (uint32_t i = 0; i < n_in; i++)
        types[i] = &e->graph->values[in[i]].type;
    tern__call call = {.op = op, .n_in = (int)n_in, .n_out = n_out, .in = types, .attrs = attrs, .out = out};
    TERN_TRY(tern__call_check(&call, dtypes, &operand));
    return tern__edit_add(e, tern__op_code(op), n_in, in, attrs, (uint32_t)n_out, out, first);
}

tern_status tern_edit_insert(tern_edit *edit, const char *op, const char *attributes, int n_operands,
                             const tern_value *operands, tern_value *first)
{
    TERN__FAIL_IF(!edit || !op || !first || n_operands < 0 || (n_operands > 0 && !operands),
                  TERN_INVALID_ARGUMENT,
                  "edit_insert: the edit, the op, its operands or the place for its result is NULL");
    const tern__op *row = tern__op_find(op, strlen(op));
    TERN__FAIL_IF(!row, TERN_NOT_FOUND, "edit_insert: there is no op '%s'", op);
    TERN__FAIL_IF(row->flags & (TERN__LEAF | TERN__INTERNAL), TERN_INVALID_ARGUMENT,
                  "edit_insert: '%s' is %s", op,
                  row->flags & TERN__LEAF ? "a leaf: tern_edit_insert_constant makes constants"
                                          : "made by tern_edit_fuse");
    for (int i = 0; i < n_operands; i++)
        TERN_TRY(check_value(edit, operands[i]));
    tern__arena scratch;
    tern__arena_init(&scratch, 1024);
    tern__attr attrs[TERN__MAX_ATTRS];
    tern_status status = tern__attrs_parse(&scratch, row, attributes ? attributes : "",
                                           attributes ? strlen(attributes) : 0, attrs);
    if (status == TERN_OK)
        status = infer_and_add(edit, row, attrs, (uint32_t)n_operands, operands, &scratch, first);
    tern__arena_free(&scratch);
    return status;
}

tern_status tern_edit_insert_constant(tern_edit *edit, const char *name, tern_dtype dtype, int rank,
                                      const int64_t *shape, const void *data, tern_value *out)
{
    TERN__FAIL_IF(!edit || !data || !out, TERN_INVALID_ARGUMENT,
                  "edit_insert_constant: the edit, the data or the place for the value is NULL");
    tern_graph *g = edit->graph;
    tern__type type;
    tern__storage *storage;
    tern__id value;
    TERN__FAIL_IF(name && strlen(name) > TERN__MAX_NAME, TERN_LIMIT,
                  "edit_insert_constant: the name has more than %d bytes", TERN__MAX_NAME);
    TERN_TRY(tern__type_make("edit_insert_constant", dtype, rank, shape, &type));
    TERN_TRY(tern__ternary_check("edit_insert_constant", &type, data));
    TERN_TRY(tern__storage_create(NULL, tern__type_bytes(&type), 0, &storage));
    memcpy(storage->host, data, tern__type_bytes(&type));
    storage->frozen = true;
    tern__edit_mark mark = tern__edit_here(edit);
    tern_status status = tern__graph_add_leaf(g, TERN__OP_constant, name, &type, storage, NULL, &value);
    tern__storage_release(storage);
    TERN_TRY(status);
    g->leaves[g->n_leaves - 1].source = g->leaves[g->n_leaves - 1].alias = TERN__NO_ID;
    status = list_node(edit, g->n_nodes - 1);
    if (status != TERN_OK) {
        tern__edit_undo(edit, mark);
        return status;
    }
    edit->n_edits++;
    *out = value;
    return TERN_OK;
}

static tern_status change_operand(tern_edit *e, tern__id n, uint32_t i, tern__id value)
{
    tern__gnode *node = &e->graph->nodes[n];
    tern__id *in = tern__arena_alloc(&e->graph->arena, node->n_in * sizeof *in);
    if (!in)
        return tern__out_of_memory(node->n_in * sizeof *in);
    TERN_TRY(add_use(e, value, n, i));
    TERN_TRY(remember(e, (tern__edit_change){.kind = TERN__CHANGED_OPERANDS, .index = n, .in = node->in}));
    memcpy(in, node->in, node->n_in * sizeof *in);
    in[i] = value;
    node->in = in;
    return TERN_OK;
}

/* A name that somebody gave is better than a number, and a number better than none. */
static bool is_better_name(const char *a, const char *b)
{
    return a && (!b || (tern__is_number_name(b) && !tern__is_number_name(a)));
}

static tern_status replace_all(tern_edit *e, tern__id old, tern__id by)
{
    tern_graph *g = e->graph;
    tern__id maker = g->values[by].node;
    for (uint32_t u = e->heads[old]; u != TERN__NO_ID; u = e->uses[u].next)
        if (is_use(e, &e->uses[u], old) && e->uses[u].node != maker)
            TERN_TRY(change_operand(e, e->uses[u].node, e->uses[u].operand, by));
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i].value != old)
            continue;
        TERN_TRY(remember(e, (tern__edit_change){.kind = TERN__CHANGED_OUTPUT, .index = i, .value = old}));
        g->outputs[i].value = by;
    }
    if (!is_better_name(g->values[old].name, g->values[by].name))
        return TERN_OK;
    TERN_TRY(remember(
        e, (tern__edit_change){.kind = TERN__CHANGED_NAME, .index = by, .name = g->values[by].name}));
    TERN_TRY(remember(
        e, (tern__edit_change){.kind = TERN__CHANGED_NAME, .index = old, .name = g->values[old].name}));
    g->values[by].name = g->values[old].name;
    g->values[old].name = NULL;
    return TERN_OK;
}

tern_status tern_edit_replace(tern_edit *edit, tern_value old, tern_value by)
{
    TERN__FAIL_IF(!edit, TERN_INVALID_ARGUMENT, "edit_replace: the edit is NULL");
    TERN_TRY(check_value(edit, old));
    TERN_TRY(check_value(edit, by));
    TERN_TRY(check_same_type(edit, old, by));
    if (old == by)
        return TERN_OK;
    tern__edit_mark mark = tern__edit_here(edit);
    tern_status status = replace_all(edit, old, by);
    if (status != TERN_OK)
        tern__edit_undo(edit, mark);
    else
        edit->n_edits++;
    return status;
}

tern_status tern_edit_set_operand(tern_edit *edit, tern_node node, int i, tern_value value)
{
    TERN__FAIL_IF(!edit, TERN_INVALID_ARGUMENT, "edit_set_operand: the edit is NULL");
    TERN_TRY(tern__edit_check_node(edit, node));
    TERN_TRY(check_value(edit, value));
    const tern__gnode *n = &edit->graph->nodes[node];
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= n->n_in, TERN_OUT_OF_RANGE,
                  "edit_set_operand: operand %d of node %u: %s has %u", i, node, tern__ops[n->op].name,
                  n->n_in);
    TERN_TRY(check_same_type(edit, n->in[i], value));
    TERN_TRY(change_operand(edit, node, (uint32_t)i, value));
    edit->n_edits++;
    return TERN_OK;
}

int tern_edit_uses(const tern_edit *edit, tern_value value)
{
    if (!edit || value >= edit->graph->n_values)
        return 0;
    int n = 0;
    for (uint32_t u = edit->heads[value]; u != TERN__NO_ID; u = edit->uses[u].next)
        n += is_use(edit, &edit->uses[u], value);
    for (uint32_t i = 0; i < edit->graph->n_outputs; i++)
        n += edit->graph->outputs[i].value == value;
    return n;
}

tern_status tern_edit_remove(tern_edit *edit, tern_node node)
{
    TERN__FAIL_IF(!edit, TERN_INVALID_ARGUMENT, "edit_remove: the edit is NULL");
    TERN_TRY(tern__edit_check_node(edit, node));
    tern__gnode *n = &edit->graph->nodes[node];
    const tern__op *op = &tern__ops[n->op];
    bool bound_later = n->leaf != TERN__NO_ID && !edit->graph->leaves[n->leaf].bound;
    TERN__FAIL_IF(n->op == TERN__OP_input || n->op == TERN__OP_state || bound_later ||
                      (op->flags & TERN__WRITES),
                  TERN_INVALID_ARGUMENT, "edit_remove: node %u is %s %s, which callers count on", node,
                  op->flags & TERN__WRITES ? "a write," : "a leaf that is bound when it runs,", op->name);
    for (uint32_t i = 0; i < n->n_out; i++)
        TERN__FAIL_IF(tern_edit_uses(edit, n->out + i) > 0, TERN_INVALID_ARGUMENT,
                      "edit_remove: result %u of node %u (%s) is still read: replace it first", i, node,
                      op->name);
    TERN_TRY(remember(edit, (tern__edit_change){.kind = TERN__CHANGED_REMOVED, .index = node}));
    n->removed = true;
    edit->n_edits++;
    return TERN_OK;
}

/* ---- words ---- */

void tern_edit_note(tern_edit *edit, const char *format, ...)
{
    if (!edit || !edit->note)
        return;
    tern__strbuf line = TERN__STRBUF_EMPTY;
    va_list args;
    va_start(args, format);
    tern__strbuf_add_v(&line, format, args);
    va_end(args);
    if (!line.failed)
        edit->note(edit->note_user, line.text);
    tern__strbuf_free(&line);
}

tern_status tern_edit_fail(tern_edit *edit, const char *format, ...)
{
    (void)edit;
    va_list args;
    va_start(args, format);
    tern_status status = tern__fail_v(TERN_INVALID_ARGUMENT, format, args);
    va_end(args);
    return status;
}
