/* order.c - the order in which nodes run. Recorded order is topological already; only a node that overwrites its
 * operand adds a demand: everything that reads the old value, through whatever leaf lies in that memory, runs before
 * it. Captured graphs keep that too; what passes and users made of them need not. */
#include "passes/order.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

tern_status tern__pass_order(tern__compilation *c);

/* ---- readers of what is overwritten ---- */

/* Entry e of a list says that node `reader[e]` reads the value. */
typedef struct readers {
    uint32_t *head;        /* (n_values) first entry, or TERN__NO_ID */
    uint32_t *next;        /* (entries) */
    tern__id *reader;      /* (entries) */
    uint32_t *next_alias;  /* (n_leaves) the next leaf that shares its memory, or TERN__NO_ID */
    uint32_t *first_alias; /* by alias number: the first leaf */
} readers;

static tern_status find_readers(tern__compilation *c, readers *out)
{
    const tern_graph *g = c->graph;
    size_t entries = 0;
    for (uint32_t n = 0; n < g->n_nodes; n++)
        entries += g->nodes[n].n_in;
    out->head = tern__arena_alloc(c->arena, g->n_values * sizeof *out->head);
    out->next = tern__arena_alloc(c->arena, entries * sizeof *out->next);
    out->reader = tern__arena_alloc(c->arena, entries * sizeof *out->reader);
    if (!out->head || !out->next || !out->reader)
        return tern__out_of_memory(entries * sizeof *out->next);
    memset(out->head, 0xff, g->n_values * sizeof *out->head);
    uint32_t e = 0;
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        for (uint32_t i = 0; i < node->n_in; i++, e++) {
            tern__id base = tern__graph_view_base(g, node->in[i]);
            out->reader[e] = n;
            out->next[e] = out->head[base];
            out->head[base] = e;
        }
    }
    return TERN_OK;
}

/* Lists of leaves by their alias numbers, which are numbers of leaves of the graph that was captured. */
static tern_status list_aliases(tern__compilation *c, readers *out)
{
    const tern_graph *g = c->graph;
    uint32_t most = g->n_leaves;
    for (uint32_t l = 0; l < g->n_leaves; l++)
        if (g->leaves[l].alias != TERN__NO_ID && g->leaves[l].alias >= most)
            most = g->leaves[l].alias + 1;
    out->next_alias = tern__arena_alloc(c->arena, g->n_leaves * sizeof *out->next_alias);
    out->first_alias = tern__arena_alloc(c->arena, most * sizeof *out->first_alias);
    if (!out->next_alias || !out->first_alias)
        return tern__out_of_memory(most * sizeof *out->first_alias);
    memset(out->first_alias, 0xff, most * sizeof *out->first_alias);
    for (uint32_t l = 0; l < g->n_leaves; l++) {
        if (g->leaves[l].alias == TERN__NO_ID)
            continue;
        out->next_alias[l] = out->first_alias[g->leaves[l].alias];
        out->first_alias[g->leaves[l].alias] = l;
    }
    return TERN_OK;
}

/* Adds the nodes that read `value`, except `writer`; `out` NULL: only counts them. */
static uint32_t add_readers(const readers *r, tern__id value, tern__id writer, tern__id *out)
{
    uint32_t n = 0;
    for (uint32_t e = r->head[value]; e != TERN__NO_ID; e = r->next[e])
        if (r->reader[e] != writer) {
            if (out)
                out[n] = r->reader[e];
            n++;
        }
    return n;
}

/* The same for everything that `id` overwrites. */
static uint32_t add_before(const tern_graph *g, const readers *r, tern__id id, tern__id *out)
{
    const tern__gnode *node = &g->nodes[id];
    if (!(tern__ops[node->op].flags & TERN__WRITES))
        return 0;
    tern__id base = tern__graph_view_base(g, node->in[0]);
    uint32_t n = add_readers(r, base, id, out);
    /* Other leaves may be views of the same storage. */
    uint32_t leaf = g->nodes[g->values[base].node].leaf;
    uint32_t alias = leaf == TERN__NO_ID ? TERN__NO_ID : g->leaves[leaf].alias;
    for (uint32_t l = alias == TERN__NO_ID ? alias : r->first_alias[alias]; l != TERN__NO_ID;
         l = r->next_alias[l])
        if (l != leaf)
            n += add_readers(r, g->nodes[g->leaves[l].node].out, id, out ? out + n : NULL);
    return n;
}

tern_status tern__find_before(tern__compilation *c, tern__before *out)
{
    const tern_graph *g = c->graph;
    readers r;
    *out = (tern__before){0};
    if (g->n_writes == 0)
        return TERN_OK;
    TERN_TRY(find_readers(c, &r));
    TERN_TRY(list_aliases(c, &r));
    uint32_t *first = tern__arena_alloc_zero(c->arena, (size_t)g->n_nodes + 1, sizeof *first);
    if (!first)
        return tern__out_of_memory(g->n_nodes * sizeof *first);
    for (uint32_t n = 0; n < g->n_nodes; n++)
        first[n + 1] = first[n] + add_before(g, &r, n, NULL);
    tern__id *node = tern__arena_alloc(c->arena, (first[g->n_nodes] + 1u) * sizeof *node);
    if (!node)
        return tern__out_of_memory(first[g->n_nodes] * sizeof *node);
    for (uint32_t n = 0; n < g->n_nodes; n++)
        add_before(g, &r, n, node + first[n]);
    *out = (tern__before){first, node};
    return TERN_OK;
}

/* ---- the order ---- */

enum { WAITING, OPEN, DONE };

typedef struct walk {
    tern__compilation *c;
    tern__before before;
    uint8_t *state; /* (n_nodes) */
    tern__id *stack;
    size_t n_stack, cap_stack;
    uint32_t n_order;
} walk;

static tern_status want(walk *w, tern__id node)
{
    if (w->state[node] == DONE)
        return TERN_OK;
    if (w->state[node] == OPEN)
        return tern__fail(
            TERN_UNSUPPORTED,
            "%s reads a value that something else which it needs has overwritten: read it before the write",
            tern__ops[w->c->graph->nodes[node].op].name);
    if (!tern__grow((void **)&w->stack, &w->cap_stack, w->n_stack + 1, sizeof *w->stack))
        return tern__out_of_memory(sizeof *w->stack);
    w->stack[w->n_stack++] = node;
    return TERN_OK;
}

/* Asks for everything that must run before `node`. */
static tern_status want_before(walk *w, tern__id id)
{
    const tern_graph *g = w->c->graph;
    const tern__gnode *node = &g->nodes[id];
    for (uint32_t i = node->n_in; i-- > 0;)
        TERN_TRY(want(w, g->values[node->in[i]].node));
    for (uint32_t e = w->before.first[id]; e < w->before.first[id + 1]; e++)
        TERN_TRY(want(w, w->before.node[e]));
    return TERN_OK;
}

static tern_status visit(walk *w, tern__id root)
{
    TERN_TRY(want(w, root));
    while (w->n_stack > 0) {
        tern__id id = w->stack[w->n_stack - 1];
        if (w->state[id] == WAITING) {
            w->state[id] = OPEN;
            size_t before = w->n_stack;
            TERN_TRY(want_before(w, id));
            if (w->n_stack > before)
                continue;
        }
        w->n_stack--;
        if (w->state[id] == OPEN) {
            w->state[id] = DONE;
            w->c->order[w->n_order++] = id;
        }
    }
    return TERN_OK;
}

tern_status tern__pass_order(tern__compilation *c)
{
    uint32_t n = c->graph->n_nodes;
    c->order = tern__arena_alloc(c->arena, n * sizeof *c->order);
    if (!c->order)
        return tern__out_of_memory(n * sizeof *c->order);
    if (c->graph->n_writes == 0) {
        for (uint32_t i = 0; i < n; i++)
            c->order[i] = i;
        return TERN_OK;
    }
    walk w = {.c = c, .state = tern__arena_alloc_zero(c->arena, n, 1)};
    if (!w.state)
        return tern__out_of_memory(n);
    TERN_TRY(tern__find_before(c, &w.before));
    tern_status status = TERN_OK;
    for (uint32_t i = 0; i < n && status == TERN_OK; i++)
        status = visit(&w, i);
    tern__free(w.stack);
    return status;
}
