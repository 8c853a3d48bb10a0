/* one_pass.h - running a single pass over a graph, for golden tests. */
#ifndef TERN_TESTS_PASSES_ONE_PASS_H
#define TERN_TESTS_PASSES_ONE_PASS_H

#include <tern/program.h>

#include "passes/pass.h"

/* What came of it. Texts end with free. */
typedef struct one_result {
    uint32_t changes;
    char *notes; /* what the pass said, a line each */
    /* what there is of a plan, as comments of the text form; "" after passes that rewrite the graph */
    char *plan;
} one_result;

/* Runs pass `name` alone, with these options, over `graph`, which it rewrites; verifies the result. Passes that work on the plan
 * find what those before them that always run have made, and leave the nodes in running order. */
tern_status one_pass(tern_ctx *ctx, const char *name, const tern_compile_options *options, tern_graph *graph,
                     one_result *out);
void one_result_free(one_result *result);

#endif
