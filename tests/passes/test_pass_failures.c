/* test_pass_failures.c - passes under adverse conditions: memory that runs out at every point of a compilation, and
 * constants that cannot be folded. The graph that was given stays as it was. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "gate.h"
#include "harness.h"
#include "random_graph.h"
#include "runtime/compiled.h"
#include "runtime/context.h"

/* Compiles with the n-th allocation failing, n = 1, 2, ..., until none does. */
static void check_graph(tern_ctx *ctx, tern_graph *graph)
{
    tern__compile_options options = {.level = TERN_LEVEL_HIGH};
    char *before, *after;
    CHECK_OK(tern_graph_print(graph, &before));
    CHECK_OK(tern__graph_find_aliases(graph));
    gate g = {.fired = true};
    for (long n = 1; g.fired; n++) {
        tern__compiled *compiled = NULL;
        g = (gate){.countdown = n};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status =
            tern__compiled_make(graph, ctx->device_ops->target(ctx->device), &options, true, &compiled);
        tern_alloc_set_gate(NULL, NULL);
        if (status != TERN_OK)
            CHECK_EQ(status, TERN_OUT_OF_MEMORY);
        tern__compiled_release(compiled);
    }
    CHECK_OK(tern_graph_print(graph, &after));
    CHECK_STR(after, before);
    tern_string_free(before);
    tern_string_free(after);
}

TEST(no_memory_is_an_error_and_nothing_else)
{
    tern_alloc_stats before, after;
    tern_alloc_get_stats(&before);
    for (uint64_t i = 0; i < 60; i++) {
        tern_ctx *ctx;
        tern_graph *graph;
        CHECK_OK(tern_ctx_create(NULL, &ctx));
        CHECK_OK(random_graph_make(harness_seed() + i, NULL, &graph));
        check_graph(ctx, graph);
        tern_graph_free(graph);
        tern_ctx_destroy(ctx);
    }
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.allocations - after.frees, before.allocations - before.frees);
}

/* An index outside its axis: folding leaves the call alone, and the run says what is wrong, as at level none. */
TEST(what_cannot_be_folded_fails_when_it_runs)
{
    static const char text[] = "graph { %a = constant f32[2] {1, 2} %i = constant i64[1] {5}\n"
                               "%b = gather(%a, %i) %c = exp(%b) return %c }";
    tern_ctx *ctx;
    tern_graph *graph;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_graph_parse(ctx, text, strlen(text), &graph));
    for (int level = TERN_LEVEL_NONE; level <= TERN_LEVEL_HIGH; level++) {
        tern_compile_options options = tern_compile_options_default();
        tern_program *program;
        tern_exec *exec;
        tern_tensor *out;
        options.level = (tern_level)level;
        CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        CHECK_STATUS(tern_exec_run(exec, 0, NULL, 1, &out), TERN_OUT_OF_RANGE);
        CHECK_STR(tern_last_error(), "gather: index 5 is outside [0, 2)");
        tern_exec_free(exec);
        tern_program_free(program);
    }
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
}
