/* call.h - the call that a node of a graph is: its op with the types that the op's rules, kernels and targets ask for. */
#ifndef TERN_GRAPH_CALL_H
#define TERN_GRAPH_CALL_H

#include "base/arena.h"
#include "graph/graph.h"

/* Room for the types of a call, which points into it. */
typedef struct tern__call_room {
    const tern__type *in[TERN__MAX_INPUTS_FIXED];
    tern__type out[TERN__MAX_RESULTS_FIXED];
} tern__call_room;

/* Does it suffice? For every op but those with any number of operands or results. */
static inline bool tern__call_fits(const tern__gnode *node)
{
    return node->n_in <= TERN__MAX_INPUTS_FIXED && node->n_out <= TERN__MAX_RESULTS_FIXED;
}

/* Of a node that fits. */
tern__call tern__small_call(const tern_graph *g, const tern__gnode *node, tern__call_room *room);

/* Of any node: what does not fit into `room` is in `arena`. */
tern_status tern__call_of(const tern_graph *g, tern__id node, tern__call_room *room, tern__arena *arena,
                          tern__call *out);

#endif
