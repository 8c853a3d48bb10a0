/* test_program_cache.c - compiled graphs are found again, least recently used ones go first, and memory is bounded. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"
#include "runtime/context.h"

static tern_ctx_stats stats_of(const tern_ctx *ctx)
{
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    return stats;
}

/* A graph that no other number gives. */
static void compile_number(tern_ctx *ctx, int number)
{
    char text[256];
    tern_graph *graph;
    tern_program *program;
    snprintf(text, sizeof text, "graph {\n  %%x = input \"x\" f32[%d]\n  %%y = exp(%%x)\n  return %%y\n}\n",
             number + 1);
    CHECK_OK(tern_graph_parse(ctx, text, strlen(text), &graph));
    CHECK_OK(tern_graph_compile(ctx, graph, NULL, &program));
    tern_program_free(program);
    tern_graph_free(graph);
}

TEST(what_was_compiled_is_found_again)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    compile_number(ctx, 1);
    compile_number(ctx, 2);
    CHECK_EQ(stats_of(ctx).cache_misses, 2);
    CHECK_EQ(stats_of(ctx).cache_hits, 0);
    CHECK_EQ(stats_of(ctx).cache_entries, 2);
    compile_number(ctx, 1);
    compile_number(ctx, 2);
    compile_number(ctx, 2);
    CHECK_EQ(stats_of(ctx).cache_misses, 2);
    CHECK_EQ(stats_of(ctx).cache_hits, 3);
    CHECK_EQ(stats_of(ctx).cache_evictions, 0);
    tern_ctx_trim(ctx);
    CHECK_EQ(stats_of(ctx).cache_entries, 0);
    tern_ctx_destroy(ctx);
}

TEST(the_least_recently_used_goes_first)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (int i = 0; i < TERN__PROGRAM_CACHE_ENTRIES; i++)
        compile_number(ctx, i);
    CHECK_EQ(stats_of(ctx).cache_entries, TERN__PROGRAM_CACHE_ENTRIES);
    CHECK_EQ(stats_of(ctx).cache_evictions, 0);
    compile_number(ctx, 0); /* used again: 1 is the oldest now */
    compile_number(ctx, TERN__PROGRAM_CACHE_ENTRIES);
    CHECK_EQ(stats_of(ctx).cache_entries, TERN__PROGRAM_CACHE_ENTRIES);
    CHECK_EQ(stats_of(ctx).cache_evictions, 1);
    const uint64_t misses = stats_of(ctx).cache_misses;
    compile_number(ctx, 0);
    compile_number(ctx, 2);
    CHECK_EQ(stats_of(ctx).cache_misses, misses);
    compile_number(ctx, 1);
    CHECK_EQ(stats_of(ctx).cache_misses, misses + 1);
    tern_ctx_destroy(ctx);
}

/* Each program keeps a constant of 4 MiB that was folded, and perhaps packed, for it alone. */
TEST(folded_constants_count)
{
    enum { PROGRAMS = 40, SIDE = 1024 };
    tern_ctx *ctx;
    tern_tensor *factors[PROGRAMS];
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_tensor *w = tern_ones(ctx, TERN_F32, 2, (int64_t[]){SIDE, SIDE});
    CHECK_OK(tern_freeze(w));
    for (int i = 0; i < PROGRAMS; i++)
        TERN_SCOPE(ctx) {
            tern_program *program;
            tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){4, SIDE});
            factors[i] = tern_keep(tern_scalar(ctx, TERN_F32, 1 + i));
            CHECK_OK(tern_freeze(factors[i]));
            tern_tensor *y = tern_matmul(x, tern_mul(w, factors[i]), false, false);
            CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
            tern_program_free(program);
        }
    /* What was compiled last stays, however large. */
    CHECK(ctx->cache.bytes > TERN__PROGRAM_CACHE_BYTES / 2);
    CHECK(ctx->cache.bytes <= TERN__PROGRAM_CACHE_BYTES + 2 * SIDE * SIDE * sizeof(float));
    CHECK(stats_of(ctx).cache_evictions > 0);
    tern_ctx_destroy(ctx);
}
