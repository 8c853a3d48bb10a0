/* capture.c - from pending nodes to a graph: an iterative depth-first walk, operands before readers. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/node.h"

/* A tensor that another pending node overwrites is captured as a state, so that the plan updates it in place. */
static tern__opcode leaf_kind(const tern_tensor *t)
{
    if (t->node->op == TERN__OP_state || t->consumed)
        return TERN__OP_state;
    return t->constant ? TERN__OP_constant : TERN__OP_input;
}

static tern_status capture_leaf(tern_tensor *t, tern_graph *g, uint32_t capture)
{
    tern__node *node = t->node;
    const char *name = (tern__ops[node->op].flags & TERN__LEAF) && node->attrs ? node->attrs[0].text : NULL;
    tern__id value;
    TERN_TRY(tern__graph_add_leaf(g, leaf_kind(t), name, &t->type, t->storage, t->storage ? &t->layout : NULL,
                                  &value));
    t->mark = capture;
    t->value = value;
    return TERN_OK;
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
    for (uint32_t i = 0; i < node->n_out; i++) {
        if (node->out[i].storage)
            continue; /* evaluated earlier: readers see that leaf, this result is unused */
        node->out[i].mark = capture;
        node->out[i].value = value + i;
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

static tern_status note_write(tern__recorder *r, tern_tensor *t)
{
    if (!tern__grow((void **)&r->writes, &r->cap_writes, r->n_writes + 1, sizeof *r->writes))
        return tern__out_of_memory(sizeof *r->writes);
    r->writes[r->n_writes++] = t;
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
        if (t->storage || (tern__ops[node->op].flags & TERN__LEAF)) {
            TERN_TRY(capture_leaf(t, g, capture));
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
        if (tern__ops[node->op].flags & TERN__WRITES)
            TERN_TRY(note_write(r, &node->out[0]));
        n--;
    }
    return TERN_OK;
}

tern_status tern__capture(tern_ctx *ctx, int n, tern_tensor *const *outputs, const char *const *names,
                          tern_graph *g)
{
    tern__recorder *r = tern__recorder_of(ctx);
    uint32_t capture = ++r->capture;
    r->n_writes = 0;
    g->ctx = ctx;
    for (int i = 0; i < n; i++) {
        TERN_TRY(tern__tensor_check(outputs[i]));
        TERN_TRY(walk(r, outputs[i], g, capture));
        TERN_TRY(tern__graph_add_output(g, outputs[i]->value, names ? names[i] : NULL));
    }
    return tern__graph_find_aliases(g);
}

tern_status tern_graph_capture(tern_ctx *ctx, int n, tern_tensor *const *outputs, const char *const *names,
                               tern_graph **out)
{
    TERN__FAIL_IF(!ctx || n <= 0 || !outputs, TERN_INVALID_ARGUMENT,
                  "graph_capture: needs a context and outputs");
    tern_graph *g;
    TERN_TRY(tern__graph_new(ctx, &g));
    tern_status status = tern__capture(ctx, n, outputs, names, g);
    if (status != TERN_OK) {
        tern_graph_free(g);
        return status;
    }
    *out = g;
    return TERN_OK;
}
