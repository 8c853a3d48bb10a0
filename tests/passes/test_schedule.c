/* test_schedule.c - the scheduler against all orders: never worse than recorded order, within 2 % of the best one. Orders are judged by the
 * plans that are made of them. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

enum {
    MADE = 4,
    MADE_INPLACE = 6,
    MOST = 2 * MADE_INPLACE + 1,
    GRAPHS = 30,
    MOST_ORDERS = 2000,
    MOST_PASSES = 64
};

typedef enum sample_kind { PLAIN, STATES, INPLACE } sample_kind; /* of samples */

typedef enum when { ANY, BEFORE, AFTER, UPDATE } when; /* with regard to the state's update */

typedef struct line {
    char text[160];
    int needs[2]; /* nodes it reads, or -1 */
    uint32_t size;
    when when;
} line;

/* Random nodes, and a sum of each that nobody reads. */
typedef struct sample {
    line lines[MOST];
    int n, sums; /* the first of them */
    sample_kind kind;
} sample;

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Node i: a source of random size, two earlier ones joined, a sum to a scalar, or a view of an earlier one; with states also what
 * reads one before its update, and what reads it behind; with work in place also elementwise work on one or two. */
static void make_line(uint64_t *state, const sample *s, int i, line *out)
{
    int a = i ? (int)(next(state) % (uint32_t)i) : -1, b = i ? (int)(next(state) % (uint32_t)i) : -1;
    uint32_t what = i < 2 ? 0 : next(state) % (s->kind == INPLACE ? 10 : 5);
    *out = (line){.needs = {-1, -1}};
    if (what >= 5) {
        const bool two = what >= 8 && a != b && s->lines[a].size == s->lines[b].size;
        *out = (line){.needs = {a, two ? b : -1}, .size = s->lines[a].size};
        if (two)
            snprintf(out->text, sizeof out->text, "%%n%d = add(%%n%d, %%n%d)", i, a, b);
        else
            snprintf(out->text, sizeof out->text, "%%n%d = exp(%%n%d)", i, a);
    } else if (s->kind == STATES && next(state) % 2) {
        const bool old = next(state) % 2;
        snprintf(out->text, sizeof out->text, "%%n%d = %s(%%%s)", i, next(state) % 2 ? "cumsum" : "neg",
                 old ? "old" : "new");
        out->when = old ? BEFORE : AFTER;
    } else if (what == 0) {
        out->size = 16 * (1 + next(state) % 40);
        snprintf(out->text, sizeof out->text, "%%n%d = full() {shape=[%u]}", i, out->size);
    } else if (what == 1) {
        snprintf(out->text, sizeof out->text, "%%n%d = sum(%%n%d) {keepdims=true}", i, a);
        out->needs[0] = a;
        out->size = 1;
    } else if (what == 2) {
        snprintf(out->text, sizeof out->text, "%%n%d = slice(%%n%d) {start=[0], stop=[1], step=[1]}", i, a);
        out->needs[0] = a;
        out->size = 1;
    } else {
        snprintf(out->text, sizeof out->text, "%%n%d = concat(%%n%d, %%n%d)", i, a, b);
        out->needs[0] = a;
        out->needs[1] = b;
        out->size = s->lines[a].size + s->lines[b].size;
    }
}

/* The update stands where no reader of the old state comes after it. */
static void add_update(sample *s)
{
    s->lines[s->n++] = (line){.text = "%new = overwrite(%old, %x)", .needs = {-1, -1}, .when = UPDATE};
}

static void make_sample(uint64_t *state, sample_kind kind, sample *s)
{
    unsigned read = 0;
    const int made = kind == INPLACE ? MADE_INPLACE : MADE;
    *s = (sample){.kind = kind};
    for (; s->n < made; s->n++) {
        make_line(state, s, s->n, &s->lines[s->n]);
        for (int k = 0; k < 2; k++)
            if (s->lines[s->n].needs[k] >= 0)
                read |= 1u << s->lines[s->n].needs[k];
    }
    s->sums = s->n;
    for (int i = 0; i < made; i++) {
        if (read & 1u << i)
            continue;
        line *sum = &s->lines[s->n];
        *sum = (line){.needs = {i, -1}};
        snprintf(sum->text, sizeof sum->text, "%%n%d = sum(%%n%d) {keepdims=true}", s->n++, i);
    }
    if (kind == STATES)
        add_update(s);
}

/* Peak bytes of the graph's plan, with only the scheduler and work in place on, or one of them, or nothing. */
static size_t plan_bytes(tern_ctx *ctx, const char *text, size_t length, bool schedule, bool inplace)
{
    const char *off[MOST_PASSES];
    tern_compile_options options = {.level = TERN_LEVEL_HIGH, .disabled = off};
    tern_pass_info pass;
    for (int i = 0; tern_catalog_pass(i, &pass) == TERN_OK; i++)
        if (pass.optional && !(schedule && strcmp(pass.name, "schedule") == 0) &&
            !(inplace && strcmp(pass.name, "inplace") == 0))
            off[options.n_disabled++] = pass.name;
    tern_graph *graph;
    tern_program *program;
    tern_program_info info = {.arena_bytes = SIZE_MAX};
    if (tern_graph_parse(ctx, text, length, &graph) != TERN_OK)
        return SIZE_MAX;
    if (tern_graph_compile(ctx, graph, &options, &program) == TERN_OK) {
        tern_program_get_info(program, &info);
        tern_program_free(program);
    }
    tern_graph_free(graph);
    return info.arena_bytes;
}

/* The same of the sample written in `order`. */
static size_t sample_bytes(tern_ctx *ctx, const sample *s, const int *order, bool schedule)
{
    char text[2048];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "graph g {\n%%x = input \"x\" f32[300]\n%%old = state \"s\" f32[300]\n");
    for (int i = 0; i < s->n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", s->lines[order[i]].text);
    used += (size_t)snprintf(text + used, sizeof text - used, "%%end = concat(");
    for (int i = s->sums; i < s->n; i++)
        if (s->lines[i].when != UPDATE)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%%n%d", i > s->sums ? ", " : "", i);
    used += (size_t)snprintf(text + used, sizeof text - used, ")\nreturn %%end\n}\n");
    return plan_bytes(ctx, text, used, schedule, s->kind == INPLACE);
}

/* Readers of the old state before its update, readers of the new one after it. */
static bool in_time(const sample *s, int i, unsigned done)
{
    for (int k = 0; k < s->n; k++) {
        const when mine = s->lines[i].when, other = s->lines[k].when;
        if (((mine == AFTER && other == UPDATE) || (mine == UPDATE && other == BEFORE)) && !(done & 1u << k))
            return false;
    }
    return true;
}

/* The first order, with the state's update as early as it may be. */
static void recorded_order(const sample *s, int *order)
{
    unsigned done = 0;
    for (int n = 0; n < s->n; n++) {
        int i = s->n - 1;
        bool ready = s->lines[i].when == UPDATE && !(done & 1u << i) && in_time(s, i, done);
        for (i = ready ? i : 0; !ready; i += !ready) {
            ready = !(done & 1u << i) && in_time(s, i, done);
            for (int k = 0; k < 2 && ready; k++)
                ready = s->lines[i].needs[k] < 0 || (done & 1u << s->lines[i].needs[k]);
        }
        order[n] = i;
        done |= 1u << i;
    }
}

typedef struct tried {
    size_t best;
    int orders;
} tried;

/* The lowest peak over every order that respects operands and the update; gives up after so many. */
static void all_orders(tern_ctx *ctx, const sample *s, int *order, int n, unsigned done, tried *out)
{
    if (out->orders > MOST_ORDERS)
        return;
    if (n == s->n) {
        size_t bytes = sample_bytes(ctx, s, order, false);
        if (bytes < out->best)
            out->best = bytes;
        out->orders++;
        return;
    }
    for (int i = 0; i < s->n; i++) {
        bool ready = !(done & 1u << i);
        for (int k = 0; k < 2 && ready; k++)
            ready = s->lines[i].needs[k] < 0 || (done & 1u << s->lines[i].needs[k]);
        if (!ready || !in_time(s, i, done))
            continue;
        order[n] = i;
        all_orders(ctx, s, order, n + 1, done | 1u << i, out);
    }
}

static void check_samples(sample_kind kind)
{
    uint64_t state = harness_seed();
    int improved = 0, checked = 0;
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (int round = 0; checked < harness_cases(GRAPHS); round++) {
        sample s;
        int recorded[MOST], order[MOST];
        make_sample(&state, kind, &s);
        recorded_order(&s, recorded);
        tried all = {.best = SIZE_MAX};
        all_orders(ctx, &s, order, 0, 0, &all);
        CHECK(round < 10 * GRAPHS);
        if (all.orders > MOST_ORDERS)
            continue;
        size_t before = sample_bytes(ctx, &s, recorded, false);
        size_t after = sample_bytes(ctx, &s, recorded, true);
        CHECK(all.best != SIZE_MAX && before != SIZE_MAX);
        CHECK(after <= before);
        CHECK((double)after <= 1.02 * (double)all.best);
        improved += after < before;
        checked++;
    }
    printf("%d of %d graphs were improved\n", improved, checked);
    CHECK(improved > 0);
    tern_ctx_destroy(ctx);
}

TEST(scheduled_orders_are_near_the_best_and_never_worse_than_recorded)
{
    check_samples(PLAIN);
}

TEST(the_same_around_the_update_of_a_state)
{
    check_samples(STATES);
}

TEST(the_same_where_results_are_written_over_operands)
{
    check_samples(INPLACE);
}

/* Sixteen nodes: five times a value, elementwise work on it in place and its sum, then the sums joined. All values first is how they
 * are recorded; best is one after the other, the largest first. */
TEST(sixteen_nodes_are_ordered_as_well_as_can_be)
{
    enum { BRANCHES = 5, LEAST = 1024 };
    char text[2048];
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (int rotation = 0; rotation < BRANCHES; rotation++) {
        size_t used = (size_t)snprintf(text, sizeof text, "graph g {\n");
        for (int i = 0; i < BRANCHES; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%%a%d = full() {shape=[%d]}\n", i,
                                     LEAST * (1 + (i + rotation) % BRANCHES));
        for (int i = 0; i < BRANCHES; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%%b%d = exp(%%a%d)\n", i, i);
        for (int i = 0; i < BRANCHES; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%%c%d = sum(%%b%d) {keepdims=true}\n",
                                     i, i);
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%%end = concat(%%c0, %%c1, %%c2, %%c3, %%c4)\nreturn %%end\n}\n");
        const size_t largest = BRANCHES * LEAST * sizeof(float);
        CHECK(plan_bytes(ctx, text, used, false, true) >= 3 * largest);
        CHECK_EQ(plan_bytes(ctx, text, used, true, true), largest + 64);
    }
    tern_ctx_destroy(ctx);
}

/* A graph too wide to look at everything that could run next: values, then sums of each, as gradients of weights are recorded behind the
 * whole way back. A sum runs where its value is made. */
TEST(what_frees_memory_runs_at_once_in_wide_graphs)
{
    enum { VALUES = 100, BYTES = 4096 };
    static char text[32768];
    tern_ctx *ctx;
    size_t used =
        (size_t)snprintf(text, sizeof text, "graph g {\n%%x = input \"x\" f32[%d]\n%%v0 = cumsum(%%x)\n",
                         BYTES / (int)sizeof(float));
    for (int i = 1; i < VALUES;
         i++) /* each begins with numbers of its own, so that all of these can run first */
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "%%n%d = full() {shape=[1], value=%d}\n%%m%d = mul(%%x, %%n%d)\n%%v%d = cumsum(%%m%d)\n", i, i, i,
            i, i, i);
    for (int i = 0; i < VALUES; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%%s%d = sum(%%v%d) {keepdims=true}\n", i, i);
    used += (size_t)snprintf(text + used, sizeof text - used, "%%t1 = add(%%s0, %%s1)\n");
    for (int i = 2; i < VALUES; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%%t%d = add(%%t%d, %%s%d)\n", i, i - 1, i);
    used += (size_t)snprintf(text + used, sizeof text - used, "return %%t%d\n}\n", VALUES - 1);
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK(plan_bytes(ctx, text, used, false, true) >= VALUES * BYTES);
    CHECK(plan_bytes(ctx, text, used, true, true) <= 3 * BYTES + 2 * VALUES * 64);
    tern_ctx_destroy(ctx);
}

/* One graph in two orders. Without work in place all of its orders look alike. */
TEST(recorded_orders_of_one_graph_end_alike)
{
    static const char head[] = "graph g {\n%x = input \"x\" f32[256]\n%a = cumsum(%x)\n%b = cumsum(%a)\n";
    static const char tail[] = "%r = argmax(%e) {keepdims=true}\n%end = concat(%p, %q, %r)\nreturn %end\n}\n";
    static const char *const middles[] = {
        "%c = flip(%a) {axes=[0]}\n%p = argmax(%c) {keepdims=true}\n%d = exp(%b)\n"
        "%e = cumsum(%c)\n%q = argmax(%d) {keepdims=true}\n",
        "%d = exp(%b)\n%q = argmax(%d) {keepdims=true}\n%c = flip(%a) {axes=[0]}\n"
        "%p = argmax(%c) {keepdims=true}\n%e = cumsum(%c)\n"};
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (int i = 0; i < 2; i++) {
        char text[1024];
        const int length = snprintf(text, sizeof text, "%s%s%s", head, middles[i], tail);
        CHECK_EQ(plan_bytes(ctx, text, (size_t)length, true, true), 2 * 1024 + 2 * 64);
    }
    tern_ctx_destroy(ctx);
}
