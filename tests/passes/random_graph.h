/* random_graph.h - random graphs for tests of the compiler: every op that is cheap, shared subexpressions, views of
 * views, several results and outputs, states that are written, and plenty of what passes like to bite on (x * 1, a cast
 * there and back, the same product twice). A graph is a function of its seed. */
#ifndef TERN_TESTS_PASSES_RANDOM_GRAPH_H
#define TERN_TESTS_PASSES_RANDOM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

typedef struct random_state {
    uint64_t s;
} random_state;

uint64_t random_next(random_state *r);
int64_t random_below(random_state *r, int64_t n); /* in [0, n), n > 0 */
bool random_chance(random_state *r, int percent);

typedef struct random_graph_options {
    int min_nodes, max_nodes; /* operations, about */
    bool writes;              /* states and copies that are written in place */
    bool large;               /* shapes that threads share; slower by far */
    bool special;             /* NaN, infinities, denormals and both zeros among the data */
} random_graph_options;

random_graph_options random_graph_options_default(void);

/* Inputs are unbound and called "x0", "x1", ...; constants and states have data. The graph is verified. */
tern_status random_graph_make(uint64_t seed, const random_graph_options *options, tern_graph **out);

/* Fills the contiguous form of `type` (tern__type_bytes). */
void random_fill(random_state *r, const tern__type *type, bool special, void *data);

#endif
