/* dce.c - dead code: what neither an output nor a write needs is left out. */
#include "base/status.h"
#include "passes/rewrite.h"

tern_status tern__pass_dce(tern__compilation *c);

/* Writes are what a program does to the world besides its outputs. Leaves that a caller binds are its ports. */
static bool is_root(const tern_graph *g, const tern__gnode *node)
{
    if (node->leaf == TERN__NO_ID)
        return tern__ops[node->op].flags & TERN__WRITES;
    return node->op != TERN__OP_constant || !g->leaves[node->leaf].storage;
}

/* Operands stand before their readers, so one look from the end finds everything. */
static uint32_t mark(const tern_graph *g, bool *live)
{
    uint32_t dead = 0;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        live[g->values[g->outputs[i].value].node] = true;
    for (tern__id n = g->n_nodes; n-- > 0;) {
        const tern__gnode *node = &g->nodes[n];
        live[n] = live[n] || is_root(g, node);
        dead += !live[n];
        for (uint32_t i = 0; live[n] && i < node->n_in; i++)
            live[g->values[node->in[i]].node] = true;
    }
    return dead;
}

static void note_dead(tern__compilation *c, const tern_graph *g, const bool *live)
{
    uint32_t counts[TERN__OP_COUNT] = {0};
    for (tern__id n = 0; n < g->n_nodes; n++)
        counts[g->nodes[n].op] += !live[n];
    for (int op = 0; op < TERN__OP_COUNT; op++)
        if (counts[op])
            tern__note(c, "removed %u x %s: nothing reads the result", counts[op], tern__ops[op].name);
}

tern_status tern__remove_dead(tern__compilation *c, bool note, uint32_t *removed)
{
    bool *live = tern__arena_alloc_zero(c->arena, (size_t)c->graph->n_nodes + 1, sizeof *live);
    if (!live)
        return tern__out_of_memory(c->graph->n_nodes);
    *removed = mark(c->graph, live);
    if (*removed == 0)
        return TERN_OK;
    if (note && c->log)
        note_dead(c, c->graph, live);
    tern__rewrite w;
    TERN_TRY(tern__rewrite_begin(c, &w));
    for (tern__id n = 0; n < w.from->n_nodes; n++)
        if (live[n])
            TERN_TRY(tern__rewrite_copy(&w, n));
    return tern__rewrite_end(&w);
}

tern_status tern__pass_dce(tern__compilation *c)
{
    return tern__remove_dead(c, true, &c->changes);
}
