/* test_schedule.c - the scheduler against all orders: never worse than recorded order, within 2 % of the best one. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

enum { MADE = 4, MOST = 2 * MADE + 1, GRAPHS = 30, MOST_PASSES = 64 };

typedef enum when { ANY, BEFORE, AFTER, UPDATE } when; /* with regard to the state's update */

typedef struct line {
    char text[160];
    int needs[2]; /* nodes it reads, or -1 */
    when when;
} line;

/* Random nodes, and a sum of each that nobody reads. */
typedef struct sample {
    line lines[MOST];
    int n, sums; /* the first of them */
} sample;

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Node i: a source of random size, two earlier ones joined, a sum to a scalar, or a view of an earlier one; with states also what
 * reads one before its update, and what reads it behind. */
static void make_line(uint64_t *state, bool states, int i, line *out)
{
    int a = i ? (int)(next(state) % (uint32_t)i) : -1, b = i ? (int)(next(state) % (uint32_t)i) : -1;
    uint32_t kind = i < 2 ? 0 : next(state) % 5;
    *out = (line){.needs = {-1, -1}};
    if (states && next(state) % 2) {
        const bool old = next(state) % 2;
        snprintf(out->text, sizeof out->text, "%%n%d = %s(%%%s)", i, next(state) % 2 ? "cumsum" : "neg",
                 old ? "old" : "new");
        out->when = old ? BEFORE : AFTER;
    } else if (kind == 0) {
        snprintf(out->text, sizeof out->text, "%%n%d = full() {shape=[%u]}", i, 16 * (1 + next(state) % 40));
    } else if (kind == 1) {
        snprintf(out->text, sizeof out->text, "%%n%d = sum(%%n%d) {keepdims=true}", i, a);
        out->needs[0] = a;
    } else if (kind == 2) {
        snprintf(out->text, sizeof out->text, "%%n%d = slice(%%n%d) {start=[0], stop=[1], step=[1]}", i, a);
        out->needs[0] = a;
    } else {
        snprintf(out->text, sizeof out->text, "%%n%d = concat(%%n%d, %%n%d)", i, a, b);
        out->needs[0] = a;
        out->needs[1] = b;
    }
}

/* The update stands where no reader of the old state comes after it. */
static void add_update(sample *s)
{
    s->lines[s->n++] = (line){.text = "%new = overwrite(%old, %x)", .needs = {-1, -1}, .when = UPDATE};
}

static void make_sample(uint64_t *state, bool states, sample *s)
{
    unsigned read = 0;
    for (s->n = 0; s->n < MADE; s->n++) {
        make_line(state, states, s->n, &s->lines[s->n]);
        for (int k = 0; k < 2; k++)
            if (s->lines[s->n].needs[k] >= 0)
                read |= 1u << s->lines[s->n].needs[k];
    }
    s->sums = s->n;
    for (int i = 0; i < MADE; i++) {
        if (read & 1u << i)
            continue;
        line *sum = &s->lines[s->n];
        *sum = (line){.needs = {i, -1}};
        snprintf(sum->text, sizeof sum->text, "%%n%d = sum(%%n%d) {keepdims=true}", s->n++, i);
    }
    if (states)
        add_update(s);
}

/* Peak bytes live of the graph written in `order`, with only the scheduler on, or nothing. */
static size_t live_bytes(tern_ctx *ctx, const sample *s, const int *order, bool schedule)
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

    const char *off[MOST_PASSES];
    tern_compile_options options = {.level = TERN_LEVEL_HIGH, .disabled = off};
    tern_pass_info pass;
    for (int i = 0; tern_catalog_pass(i, &pass) == TERN_OK; i++)
        if (pass.optional && !(schedule && strcmp(pass.name, "schedule") == 0))
            off[options.n_disabled++] = pass.name;
    tern_graph *graph;
    tern_program *program;
    tern_program_info info = {.live_bytes = SIZE_MAX};
    if (tern_graph_parse(ctx, text, used, &graph) != TERN_OK)
        return SIZE_MAX;
    if (tern_graph_compile(ctx, graph, &options, &program) == TERN_OK) {
        tern_program_get_info(program, &info);
        tern_program_free(program);
    }
    tern_graph_free(graph);
    return info.live_bytes;
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

/* The lowest peak over every order that respects operands and the update. */
static void all_orders(tern_ctx *ctx, const sample *s, int *order, int n, unsigned done, size_t *best)
{
    if (n == s->n) {
        size_t live = live_bytes(ctx, s, order, false);
        if (live < *best)
            *best = live;
        return;
    }
    for (int i = 0; i < s->n; i++) {
        bool ready = !(done & 1u << i);
        for (int k = 0; k < 2 && ready; k++)
            ready = s->lines[i].needs[k] < 0 || (done & 1u << s->lines[i].needs[k]);
        if (!ready || !in_time(s, i, done))
            continue;
        order[n] = i;
        all_orders(ctx, s, order, n + 1, done | 1u << i, best);
    }
}

static void check_samples(bool states)
{
    uint64_t state = harness_seed();
    int improved = 0;
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (int round = 0; round < GRAPHS; round++) {
        sample s;
        int recorded[MOST], order[MOST];
        make_sample(&state, states, &s);
        recorded_order(&s, recorded);
        size_t best = SIZE_MAX;
        all_orders(ctx, &s, order, 0, 0, &best);
        size_t before = live_bytes(ctx, &s, recorded, false);
        size_t after = live_bytes(ctx, &s, recorded, true);
        CHECK(best != SIZE_MAX && before != SIZE_MAX);
        CHECK(after <= before);
        CHECK((double)after <= 1.02 * (double)best);
        improved += after < before;
    }
    printf("%d of %d graphs were improved\n", improved, GRAPHS);
    CHECK(improved > 0);
    tern_ctx_destroy(ctx);
}

TEST(scheduled_orders_are_near_the_best_and_never_worse_than_recorded)
{
    check_samples(false);
}

TEST(the_same_around_the_update_of_a_state)
{
    check_samples(true);
}
