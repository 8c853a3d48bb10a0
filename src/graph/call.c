/* call.c - nodes as calls. */
#include "graph/call.h"

#include "base/status.h"

static tern__call fill(const tern_graph *g, const tern__gnode *node, const tern__type **in, tern__type *out)
{
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = &g->values[node->in[i]].type;
    for (uint32_t i = 0; i < node->n_out; i++)
        out[i] = g->values[node->out + i].type;
    return (tern__call){.op = &tern__ops[node->op],
                        .n_in = (int)node->n_in,
                        .n_out = (int)node->n_out,
                        .in = in,
                        .attrs = node->attrs,
                        .out = out};
}

tern__call tern__small_call(const tern_graph *g, const tern__gnode *node, tern__call_room *room)
{
    return fill(g, node, room->in, room->out);
}

tern_status tern__call_of(const tern_graph *g, tern__id id, tern__call_room *room, tern__arena *arena,
                          tern__call *out)
{
    const tern__gnode *node = &g->nodes[id];
    const tern__type **in = room->in;
    tern__type *results = room->out;
    if (node->n_in > TERN__COUNT(room->in))
        in = tern__arena_alloc(arena, node->n_in * sizeof *in);
    if (node->n_out > TERN__COUNT(room->out))
        results = tern__arena_alloc(arena, node->n_out * sizeof *results);
    if (!in || !results)
        return tern__out_of_memory(node->n_in * sizeof *in + node->n_out * sizeof *results);
    *out = fill(g, node, in, results);
    return TERN_OK;
}
