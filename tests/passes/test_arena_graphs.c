/* test_arena_graphs.c - arenas of 1,000 random graphs of 10 to 60 nodes whose buffers have all sizes and lifetimes: no node can
 * be fused with another, so that every value lies in the arena. The 99th percentile of planned bytes over the lower bound is
 * printed and stays below 1.10, with room to spare. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

enum { GRAPHS = 1000, MOST = 60, TEXT = 16384, LONGEST = 16384 };

typedef struct sample {
    char text[TEXT];
    size_t used;
    int64_t size[MOST]; /* of value i, %vi */
    bool read[MOST];
    int n;
} sample;

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static int pick(uint64_t *state, const sample *s, int window)
{
    const int among = s->n < window ? s->n : window;
    return s->n - 1 - (int)(next(state) % (uint32_t)among);
}

static void add_source(uint64_t *state, sample *s)
{
    const int64_t size = next(state) % 2 ? 64 * (1 + next(state) % 64) : 1000 + next(state) % 3000;
    s->used +=
        (size_t)snprintf(s->text + s->used, TEXT - s->used,
                         "%%s%d = slice(%%x) {start=[0], stop=[%lld], step=[1]}\n%%v%d = cumsum(%%s%d)\n",
                         s->n, (long long)size, s->n, s->n);
    s->size[s->n++] = size;
}

static void add_reader(sample *s, const char *op, int a, int b, const char *attrs, int64_t size)
{
    s->used += (size_t)snprintf(s->text + s->used, TEXT - s->used, "%%v%d = %s(%%v%d", s->n, op, a);
    s->read[a] = true;
    if (b >= 0) {
        s->used += (size_t)snprintf(s->text + s->used, TEXT - s->used, ", %%v%d", b);
        s->read[b] = true;
    }
    s->used += (size_t)snprintf(s->text + s->used, TEXT - s->used, ")%s\n", attrs);
    s->size[s->n++] = size;
}

/* A slice of the input, an earlier value summed up or along, or two of them joined; in the end a sum of what nobody read. */
static void make_sample(uint64_t *state, sample *s)
{
    const int nodes = 10 + (int)(next(state) % 51);
    *s = (sample){0};
    s->used = (size_t)snprintf(s->text, TEXT, "graph g {\n%%x = input \"x\" f32[8192]\n");
    while (s->n < nodes) {
        const uint32_t kind = next(state) % 100;
        if (kind < 30 || s->n < 2) {
            add_source(state, s);
        } else if (kind < 60) {
            const int a = pick(state, s, 6);
            add_reader(s, "cumsum", a, -1, "", s->size[a]);
        } else if (kind < 85) {
            const int a = pick(state, s, 8), b = pick(state, s, MOST);
            if (s->size[a] + s->size[b] <= LONGEST)
                add_reader(s, "concat", a, b, "", s->size[a] + s->size[b]);
        } else {
            add_reader(s, "sum", pick(state, s, MOST), -1, " {keepdims=true}", 1);
        }
    }
    for (int i = 0; i < s->n; i++)
        if (!s->read[i])
            s->used += (size_t)snprintf(s->text + s->used, TEXT - s->used,
                                        "%%z%d = sum(%%v%d) {keepdims=true}\n", i, i);
    s->used += (size_t)snprintf(s->text + s->used, TEXT - s->used, "%%end = concat(");
    for (int i = 0, first = 1; i < s->n; i++)
        if (!s->read[i]) {
            s->used += (size_t)snprintf(s->text + s->used, TEXT - s->used, "%s%%z%d", first ? "" : ", ", i);
            first = 0;
        }
    s->used += (size_t)snprintf(s->text + s->used, TEXT - s->used, ")\nreturn %%end\n}\n");
}

static double ratio_of(tern_ctx *ctx, const sample *s)
{
    const tern_compile_options options = {.level = TERN_LEVEL_HIGH};
    tern_graph *graph;
    tern_program *program;
    tern_program_info info = {.arena_bytes = 0};
    if (tern_graph_parse(ctx, s->text, s->used, &graph) != TERN_OK)
        return 1e9;
    if (tern_graph_compile(ctx, graph, &options, &program) == TERN_OK) {
        tern_program_get_info(program, &info);
        tern_program_free(program);
    }
    tern_graph_free(graph);
    return info.live_bytes > 0 && info.scratch_bytes == 0 ? (double)info.arena_bytes / (double)info.live_bytes
                                                          : 1e9;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

TEST(arenas_of_random_graphs_are_near_the_lower_bound)
{
    static sample s;
    static double ratios[GRAPHS];
    uint64_t state = harness_seed();
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    int over = 0;
    for (int i = 0; i < GRAPHS; i++) {
        make_sample(&state, &s);
        ratios[i] = ratio_of(ctx, &s);
        CHECK(ratios[i] >= 1 && ratios[i] < 1e9);
        over += ratios[i] > 1.10;
    }
    qsort(ratios, GRAPHS, sizeof *ratios, ascending);
    printf("planned bytes over the lower bound, %d graphs: median %.3f, 99th percentile %.3f, worst %.3f, %d "
           "above 1.10\n",
           GRAPHS, ratios[GRAPHS / 2], ratios[GRAPHS * 99 / 100], ratios[GRAPHS - 1], over);
    CHECK(ratios[GRAPHS * 99 / 100] <= 1.10);
    tern_ctx_destroy(ctx);
}
