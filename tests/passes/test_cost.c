/* test_cost.c - what the graph passes cost: next to nothing on the small graphs that lazy evaluation compiles all the time,
 * and time in proportion to the nodes on large ones. Times are the best of several rounds, in this process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tern/tern.h>

#include "base/strbuf.h"
#include "harness.h"
#include "passes/pass.h"
#include "runtime/context.h"

/* The passes that rewrite graphs, up to vertical fusion, without those that make the plan. */
static bool is_measured(const tern__pass *pass)
{
    return pass->kind == TERN__PASS_GRAPH && strcmp(pass->name, "fuse") != 0;
}

/* Of this thread, so that a busy machine changes little. */
static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nanoseconds that the passes take over a copy of the graph. */
static tern_status time_passes(tern_ctx *ctx, const tern_graph *graph, tern__arena *arena, uint64_t *ns,
                               uint32_t *changes)
{
    tern_graph copy, spare;
    tern__plan plan = {0};
    tern__graph_init(&copy);
    tern__graph_init(&spare);
    tern__arena_reset(arena);
    tern__compilation c = {.graph = &copy,
                           .spare = &spare,
                           .options = {.level = TERN_LEVEL_HIGH},
                           .target = ctx->device_ops->target(ctx->device),
                           .arena = arena,
                           .plan = &plan};
    tern_status status = tern__graph_clone(graph, &copy);
    *changes = 0;
    uint64_t start = cpu_ns();
    for (int i = 0; i < tern__n_passes && status == TERN_OK; i++)
        if (is_measured(&tern__passes[i])) {
            c.changes = 0;
            status = tern__passes[i].run(&c);
            *changes += c.changes;
        }
    *ns = cpu_ns() - start;
    tern__graph_clear(&copy);
    tern__graph_clear(&spare);
    return status;
}

static tern_status best_time(tern_ctx *ctx, const tern_graph *graph, int rounds, uint64_t *best,
                             uint32_t *changes)
{
    tern__arena arena;
    tern__arena_init(&arena, 1 << 20);
    tern_status status = TERN_OK;
    *best = UINT64_MAX;
    for (int i = 0; i < rounds && status == TERN_OK; i++) {
        uint64_t ns;
        status = time_passes(ctx, graph, &arena, &ns, changes);
        *best = ns < *best ? ns : *best;
    }
    tern__arena_free(&arena);
    return status;
}

static tern_status parse(tern_ctx *ctx, tern__strbuf *text, tern_graph **out)
{
    return text->failed ? TERN_OUT_OF_MEMORY : tern_graph_parse(ctx, text->text, text->length, out);
}

static bool times_mean_nothing(void)
{
    return HARNESS_ASAN || HARNESS_TSAN || getenv("TERN_EMULATOR");
}

/* Where only the changes count, two rounds show them. */
static int rounds(int usual)
{
    return times_mean_nothing() ? 2 : usual;
}

TEST(small_graphs_cost_little)
{
    tern_ctx *ctx;
    tern_graph *graph;
    tern__strbuf text = TERN__STRBUF_EMPTY;
    uint64_t ns;
    uint32_t changes;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern__strbuf_add(&text, "graph { %x = input \"x\" f32[8] %y0 = add(%x, %x)\n");
    for (int i = 1; i < 64; i++)
        tern__strbuf_addf(&text, "%%y%d = add(%%y%d, %%x)\n", i, i - 1);
    tern__strbuf_add(&text, "return %y63 }");
    CHECK_OK(parse(ctx, &text, &graph));
    CHECK_OK(best_time(ctx, graph, rounds(500), &ns, &changes));
    printf("64 additions: %.2f us for the graph passes\n", (double)ns / 1e3);
    CHECK_EQ(changes, 0);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
    tern__strbuf_free(&text);
    if (times_mean_nothing())
        SKIP("times mean nothing under a sanitizer or an emulator");
    CHECK(ns < 20000); /* it takes about 1 us on an idle machine */
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

TEST(time_grows_with_the_nodes)
{
    tern_ctx *ctx;
    tern_graph *small, *large;
    uint64_t small_ns, large_ns;
    uint32_t small_changes, large_changes;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(make_blocks(ctx, 50, &small));
    CHECK_OK(make_blocks(ctx, 500, &large));
    CHECK_OK(best_time(ctx, small, rounds(100), &small_ns, &small_changes));
    CHECK_OK(best_time(ctx, large, rounds(40), &large_ns, &large_changes));
    printf("%u nodes: %.0f us, %u changes; %u nodes: %.0f us, %u changes; growth %.1f\n", small->n_nodes,
           (double)small_ns / 1e3, small_changes, large->n_nodes, (double)large_ns / 1e3, large_changes,
           (double)large_ns / (double)small_ns);
    CHECK(large_changes >= 9 * small_changes && large_changes <= 11 * small_changes);
    tern_graph_free(small);
    tern_graph_free(large);
    tern_ctx_destroy(ctx);
    if (times_mean_nothing())
        SKIP("times mean nothing under a sanitizer or an emulator");
    CHECK(large_ns <
          30 * small_ns); /* about 10; a pass that looks at all nodes for every node would give 100 */
}
