/* ports.h - what goes into and comes out of a graph, for those commands that read graphs without running them. */
#ifndef TERN_CLI_PORTS_H
#define TERN_CLI_PORTS_H

#include <stdbool.h>

#include <tern/graph.h>

#include "json.h"

/* A context that computes nothing; false: that was said. */
bool open_reader(tern_ctx **out);

/* Members nodes, constants, states, inputs and outputs. */
void ports_json(json *j, const tern_graph *graph);

/* "12 nodes, 1 input, 2 constants, 1 output": kinds that it has none of are left out. */
void ports_add_counts(text *t, const tern_graph_info *info);

/* A table of inputs and outputs. */
void ports_print(const tern_graph *graph);

#endif
