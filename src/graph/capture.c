/* capture.c - from pending nodes to a graph: an iterative depth-first walk, operands before readers. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/node.h"
#include "graph/text.h"

/* A tensor that another pending node overwrites is captured as a state, so that the plan updates it in place. */
static tern__opcode leaf_kind(const tern_tensor *t)
{
    if (t->node->op == TERN__OP_state || (t->consumed && t->storage))
        return TERN__OP_state;
    return t->constant ? TERN__OP_constant : TERN__OP_input;
}

static tern_status capture_name(const tern_tensor *t, tern_graph *g, tern__id value)
{
    if (!t->name)
        return TERN_OK;
    g->values[value].name = tern__arena_strndup(&g->arena, t->name, strlen(t->name));
    return g->values[value].name ? TERN_OK : tern__out_of_memory(strlen(t->name));
}

static tern_status note(tern__node ***list, size_t *n, size_t *capacity, tern__node *node)
{
    if (!tern__grow((void **)list, capacity, *n + 1, sizeof **list))
        return tern__out_of_memory(sizeof **list);
    (*list)[(*n)++] = node;
    return TERN_OK;
}

static tern_status capture_leaf(tern__recorder *r, tern_tensor *t, tern_graph *g, uint32_t capture)
{
    tern__node *node = t->node;
    if (node->op == TERN__OP_input && !t->storage)
        TERN_TRY(note(&r->inputs, &r->n_inputs, &r->cap_inputs, node));
    const char *name = (tern__ops[node->op].flags & TERN__LEAF) && node->attrs ? node->attrs[0].text : NULL;
    tern__id value;
    TERN_TRY(tern__graph_add_leaf(g, leaf_kind(t), name, &t->type, t->storage, t->storage ? &t->layout : NULL,
                                  &value));
    t->mark = capture;
    t->value = value;
    return capture_name(t, g, value);
}

/* Appends the node, whose operands have been captured. */
static tern_status capture_node(tern__node *node, tern_graph *g, uint32_t capture)
{
    enum { SMALL = 8 };
    tern__id small_in[SMALL];
    tern__type small_out[SMALL];
    tern__id *in = node->n_in <= SMALL ? small_in : tern__arena_alloc(&g->arena, node->n_in * sizeof *in);
    tern__type *out =
        node->n_out <= SMALL ? small_out : tern__arena_alloc(&g->arena, node->n_out * sizeof *out);
    if (!in || !out)
        return tern__out_of_memory(node->n_in * sizeof *in + node->n_out * sizeof *out);
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = node->in[i].source->value;
    for (uint32_t i = 0; i < node->n_out; i++)
        out[i] = node->out[i].type;
    tern__id value;
    TERN_TRY(tern__graph_add(g, node->op, node->n_in, in, node->attrs, node->n_out, out, &value));
    node->captured = capture;
    g->nodes[g->n_nodes - 1].origin = node->origin;
    for (uint32_t i = 0; i < node->n_out; i++) {
        if (node->out[i].storage)
            continue; /* evaluated earlier: readers see that leaf, this result is unused */
        node->out[i].mark = capture;
        node->out[i].value = value + i;
        TERN_TRY(capture_name(&node->out[i], g, value + i));
    }
    return TERN_OK;
}

static tern_status push(tern__recorder *r, size_t *n, tern_tensor *t)
{
    if (!tern__grow((void **)&r->stack, &r->cap_stack, *n + 1, sizeof *r->stack))
        return tern__out_of_memory(sizeof *r->stack);
    r->stack[(*n)++] = t;
    return TERN_OK;
}

/* One tensor and everything behind it. A tensor stays on the stack until its operands are done; the walk meets each
 * pending node at most once per reader. */
static tern_status walk(tern__recorder *r, tern_tensor *root, tern_graph *g, uint32_t capture)
{
    size_t n = 0;
    TERN_TRY(push(r, &n, root));
    while (n > 0) {
        tern_tensor *t = r->stack[n - 1];
        tern__node *node = t->node;
        if (t->mark == capture) {
            n--;
            continue;
        }
        TERN_TRY(tern__tensor_check(t));
        if (t->storage || (tern__ops[node->op].flags & TERN__LEAF)) {
            TERN_TRY(capture_leaf(r, t, g, capture));
            n--;
            continue;
        }
        size_t before = n;
        for (uint32_t i = node->n_in; i-- > 0;)
            if (node->in[i].source->mark != capture)
                TERN_TRY(push(r, &n, node->in[i].source));
        if (n > before)
            continue;
        TERN_TRY(capture_node(node, g, capture));
        TERN_TRY(note(&r->captured, &r->n_captured, &r->cap_captured, node));
        if (tern__ops[node->op].flags & TERN__WRITES)
            TERN_TRY(note(&r->writes, &r->n_writes, &r->cap_writes, node));
        n--;
    }
    return TERN_OK;
}

void tern__capture_begin(tern_ctx *ctx)
{
    tern__recorder *r = tern__recorder_of(ctx);
    r->capture++;
    r->n_captured = r->n_writes = r->n_inputs = 0;
}

tern_status tern__capture_add(tern_ctx *ctx, tern_tensor *t, const char *name, tern_graph *g)
{
    tern__recorder *r = tern__recorder_of(ctx);
    TERN_TRY(tern__tensor_check(t));
    TERN_TRY(walk(r, t, g, r->capture));
    t->output = r->capture;
    return tern__graph_add_output(g, t->value, name);
}

/* One of the values that a captured node became. A result that was evaluated earlier is a leaf instead. */
static tern__id value_of(const tern__node *node, uint32_t capture)
{
    uint32_t k = 0;
    while (node->out[k].storage || node->out[k].mark != capture)
        k++;
    return node->out[k].value;
}

static int by_serial(const void *a, const void *b)
{
    const tern__node *x = *(tern__node *const *)a, *y = *(tern__node *const *)b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

/* Of two tensors that were given the same name the second goes by a number. */
static tern_status keep_names_apart(tern_graph *g)
{
    tern__names taken = {0};
    tern_status status = TERN_OK;
    for (tern__id v = 0; v < g->n_values && status == TERN_OK; v++) {
        uint32_t before = TERN__NO_ID;
        const char *name = g->values[v].name;
        if (name)
            status = tern__names_add(&taken, name, strlen(name), v, &before);
        if (before != TERN__NO_ID)
            g->values[v].name = NULL;
    }
    tern__names_free(&taken);
    return status;
}

tern_status tern__capture_end(tern_ctx *ctx, tern_graph *g)
{
    tern__recorder *r = tern__recorder_of(ctx);
    TERN_TRY(keep_names_apart(g));
    if (g->n_writes == 0)
        return TERN_OK;
    qsort(r->captured, r->n_captured, sizeof(tern__node *), by_serial);
    tern__id *order = tern__arena_alloc(&g->arena, g->n_nodes * sizeof *order);
    if (!order)
        return tern__out_of_memory(g->n_nodes * sizeof *order);
    for (uint32_t i = 0; i < g->n_leaves; i++)
        order[i] = g->leaves[i].node;
    for (size_t i = 0; i < r->n_captured; i++)
        order[g->n_leaves + i] = g->values[value_of(r->captured[i], r->capture)].node;
    const tern__id *moved;
    TERN_TRY(tern__graph_reorder(g, order, &moved));
    for (size_t i = 0; i < r->n_captured; i++)
        for (uint32_t k = 0; k < r->captured[i]->n_out; k++)
            if (r->captured[i]->out[k].mark == r->capture)
                r->captured[i]->out[k].value = moved[r->captured[i]->out[k].value];
    return tern__graph_find_aliases(g);
}

tern_status tern__capture(tern_ctx *ctx, int n, tern_tensor *const *outputs, const char *const *names,
                          tern_graph *g)
{
    tern__capture_begin(ctx);
    for (int i = 0; i < n; i++)
        TERN_TRY(tern__capture_add(ctx, outputs[i], names ? names[i] : NULL, g));
    return tern__capture_end(ctx, g);
}

static bool in_order(tern__node *const *nodes, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (nodes[i - 1]->serial > nodes[i]->serial)
            return false;
    return true;
}

/* The same with inputs in the order in which they were made, whichever the outputs meet first: callers bind them by number. */
static tern_status capture_in_order(tern_ctx *ctx, int n, tern_tensor *const *outputs,
                                    const char *const *names, tern_graph *g)
{
    tern__recorder *r = tern__recorder_of(ctx);
    TERN_TRY(tern__capture(ctx, n, outputs, names, g));
    if (in_order(r->inputs, r->n_inputs))
        return TERN_OK;
    tern__graph_clear(g);
    const size_t n_inputs = r->n_inputs;
    qsort(r->inputs, n_inputs, sizeof(tern__node *), by_serial);
    tern__capture_begin(ctx);
    for (size_t i = 0; i < n_inputs; i++)
        TERN_TRY(capture_leaf(r, &r->inputs[i]->out[0], g, r->capture));
    for (int i = 0; i < n; i++)
        TERN_TRY(tern__capture_add(ctx, outputs[i], names ? names[i] : NULL, g));
    return tern__capture_end(ctx, g);
}

tern_status tern_graph_capture(tern_ctx *ctx, int n, tern_tensor *const *outputs, const char *const *names,
                               tern_graph **out)
{
    TERN__FAIL_IF(!ctx || n <= 0 || !outputs || !out, TERN_INVALID_ARGUMENT,
                  "graph_capture: needs a context, outputs and room for a graph");
    for (int i = 0; i < n; i++) {
        TERN_TRY(tern__tensor_check(outputs[i]));
        TERN__FAIL_IF(outputs[i]->node->ctx != ctx, TERN_INVALID_ARGUMENT,
                      "graph_capture: output %d belongs to another context", i);
    }
    tern_graph *g;
    TERN_TRY(tern__graph_new(&g));
    tern_status status = capture_in_order(ctx, n, outputs, names, g);
    if (status == TERN_OK)
        status = tern__capture_finish(g, names);
    if (status != TERN_OK) {
        tern_graph_free(g);
        return tern__fail_in(status, "graph_capture");
    }
    *out = g;
    return TERN_OK;
}
