/* test_large.c - the graph passes on small and on large graphs: they do to each part of a large one what they do to it
 * alone. What that costs, and how the cost grows, bench/bench_compile.c measures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/strbuf.h"
#include "harness.h"
#include "passes/pass.h"
#include "runtime/context.h"

/* What the passes that rewrite graphs, up to vertical fusion, change in a copy of the graph. */
static tern_status count_changes(tern_ctx *ctx, const tern_graph *graph, uint32_t *changes)
{
    tern_graph copy, spare;
    tern__arena arena;
    tern__plan plan = {0};
    tern__graph_init(&copy);
    tern__graph_init(&spare);
    tern__arena_init(&arena, 1 << 20);
    tern__compilation c = {.graph = &copy,
                           .spare = &spare,
                           .options = {.level = TERN_LEVEL_HIGH},
                           .target = ctx->device_ops->target(ctx->device),
                           .arena = &arena,
                           .plan = &plan};
    tern_status status = tern__graph_clone(graph, &copy);
    *changes = 0;
    for (int i = 0; i < tern__n_passes && status == TERN_OK; i++)
        if (tern__passes[i].kind == TERN__PASS_GRAPH && strcmp(tern__passes[i].name, "fuse") != 0) {
            c.changes = 0;
            status = tern__passes[i].run(&c);
            *changes += c.changes;
        }
    tern__graph_clear(&copy);
    tern__graph_clear(&spare);
    tern__arena_free(&arena);
    return status;
}

static tern_status parse(tern_ctx *ctx, tern__strbuf *text, tern_graph **out)
{
    return text->failed ? TERN_OUT_OF_MEMORY : tern_graph_parse(ctx, text->text, text->length, out);
}

TEST(a_chain_with_nothing_to_do_is_left_alone)
{
    tern_ctx *ctx;
    tern_graph *graph;
    tern__strbuf text = TERN__STRBUF_EMPTY;
    uint32_t changes;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern__strbuf_add(&text, "graph { %x = input \"x\" f32[8] %y0 = add(%x, %x)\n");
    for (int i = 1; i < 64; i++)
        tern__strbuf_addf(&text, "%%y%d = add(%%y%d, %%x)\n", i, i - 1);
    tern__strbuf_add(&text, "return %y63 }");
    CHECK_OK(parse(ctx, &text, &graph));
    CHECK_OK(count_changes(ctx, graph, &changes));
    CHECK_EQ(changes, 0);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
    tern__strbuf_free(&text);
}

/* Gives every pass something to do; @ is the number of the block, ^ that of the next. */
static const char block[] = "%a@ = constant f32[4,4] {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}\n"
                            "%b@ = constant f32[4,4] {2,2,3,4,5,6,7,8,9,10,11,12,13,14,15,@}\n"
                            "%c@ = constant f32[4] {1,2,3,4} %one@ = full() {value=1}\n"
                            "%d@ = permute(%a@) {axes=[1,0]} %e@ = add(%b@, %c@)\n"
                            "%p@ = matmul(%h@, %d@) %q@ = matmul(%h@, %e@)\n"
                            "%r@ = mul(%p@, %one@) %s@ = neg(%q@) %t@ = neg(%s@)\n"
                            "%u@ = add(%r@, %t@) %v@ = add(%t@, %r@) %w@ = broadcast(%c@) {shape=[2,4]}\n"
                            "%y@ = mul(%u@, %w@) %z@ = mul(%v@, %w@) %dead@ = exp(%z@)\n"
                            "%k@ = sub(%y@, %z@) %h^ = tanh(%k@)\n";

static tern_status make_blocks(tern_ctx *ctx, int blocks, tern_graph **out)
{
    tern__strbuf text = TERN__STRBUF_EMPTY;
    tern__strbuf_add(&text, "graph { %x = input \"x\" f32[2,4] %h0 = exp(%x)\n");
    for (int i = 0; i < blocks; i++)
        for (const char *c = block; *c; c++) {
            if (*c == '@' || *c == '^')
                tern__strbuf_addf(&text, "%d", *c == '@' ? i : i + 1);
            else
                tern__strbuf_add_n(&text, c, 1);
        }
    tern__strbuf_addf(&text, "return %%h%d }", blocks);
    tern_status status = parse(ctx, &text, out);
    tern__strbuf_free(&text);
    return status;
}

TEST(changes_grow_with_the_nodes)
{
    tern_ctx *ctx;
    tern_graph *small, *large;
    uint32_t small_changes, large_changes;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(make_blocks(ctx, 50, &small));
    CHECK_OK(make_blocks(ctx, 500, &large));
    CHECK_OK(count_changes(ctx, small, &small_changes));
    CHECK_OK(count_changes(ctx, large, &large_changes));
    CHECK(small_changes > 0);
    CHECK(large_changes >= 9 * small_changes && large_changes <= 11 * small_changes);
    tern_graph_free(small);
    tern_graph_free(large);
    tern_ctx_destroy(ctx);
}
