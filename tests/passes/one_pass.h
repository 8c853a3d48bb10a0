/* one_pass.h - running a single pass over a graph, for golden tests. */
#ifndef TERN_TESTS_PASSES_ONE_PASS_H
#define TERN_TESTS_PASSES_ONE_PASS_H

#include <tern/graph.h>

#include "passes/pass.h"

/* Runs pass `name` alone, at level high, over `graph`, which it rewrites; verifies the result. *notes (or NULL) receives
 * what it said, to be freed with free. */
tern_status one_pass(tern_ctx *ctx, const char *name, tern_graph *graph, uint32_t *changes, char **notes);

#endif
