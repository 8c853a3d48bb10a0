/* rebatch.h - a graph for another size of the batch. Shapes are static per graph; this makes the graph
 * that would have been recorded with inputs of another first axis. */
#ifndef TERN_GRAPH_REBATCH_H
#define TERN_GRAPH_REBATCH_H

#include "graph/graph.h"

/* `to` (freshly initialised) becomes `g` with the first axis of every leaf i that has batched[i] (n_leaves) set to `size`.
 * Every other type follows by the rules of the ops. Where an attribute counts elements along the batch:
 *   reshape, broadcast  the size in which the batch lies, in row-major order, follows it; -1 does so by itself
 *   slice               a range that ends at the end of the axis still does; bounds that are counted from the start stay and
 *                       must lie inside, negative ones count from the end as ever
 *   split               only into one part
 * Fails with TERN_SHAPE and the node's text where the graph has no meaning for that size. */
tern_status tern__graph_rebatch(const tern_graph *g, const bool *batched, int64_t size, tern_graph *to);

/* A size of which no size of the graph is a multiple, beyond `least`: a graph that can be made with it has
 * nothing that depends on how large the batch was when it was recorded. */
int64_t tern__graph_probe_size(const tern_graph *g, int64_t least);

#endif
