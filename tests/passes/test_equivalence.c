/* test_equivalence.c - differential test of the compiler: random graphs give the same bits at every level and with any
 * passes switched off as they give at level none, the same outputs share memory, states carry the same values into the
 * next run and hold the same at the end, every plan stands up to check_plan, and 99 of 100 arenas are within 1.10 of the lower
 * bound. One graph of twenty has shapes that threads share. (Of a NaN only that it is one counts, as everywhere in Tern.)
 *
 * 2,000 graphs in the normal run. TERN_TEST_GRAPHS=n asks for more, TERN_TEST_SEED for others. A graph that fails is
 * shrunk and saved in the build's test-logs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "check_plan.h"
#include "harness.h"
#include "passes/pass.h"
#include "random_graph.h"
#include "runtime/program.h"

enum { RUNS = 2, MESSAGE = 512 };

typedef struct variant {
    tern_level level;
    uint64_t disabled; /* bits of passes, as in tern__compile_options */
} variant;

/* What one variant gave: outputs of all runs, copied. */
typedef struct outcome {
    tern_status status;
    char message[MESSAGE];
    uint32_t n;
    void **data;   /* (RUNS * n) contiguous form */
    void **states; /* (n_leaves of the graph) what states hold at the end; NULL for other leaves */
    uint32_t n_leaves;
    uint32_t *home; /* (n) the first output that shares its block; n + leaf if it lies in a leaf */
} outcome;

static void outcome_free(outcome *o)
{
    for (uint32_t i = 0; o->data && i < RUNS * o->n; i++)
        free(o->data[i]);
    for (uint32_t i = 0; o->states && i < o->n_leaves; i++)
        free(o->states[i]);
    free(o->data);
    free(o->states);
    free(o->home);
    *o = (outcome){0};
}

static int disabled_names(uint64_t disabled, const char **names)
{
    int n = 0;
    for (int i = 0; i < tern__n_passes; i++)
        if (disabled >> i & 1)
            names[n++] = tern__passes[i].name;
    return n;
}

/* Outputs that share a block, or lie in a leaf that is not folded away (inputs, states). */
static void note_homes(const tern_program *p, outcome *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        const tern__operand *at = &p->compiled->plan.results[i].at;
        o->home[i] = i;
        for (uint32_t k = 0; k < i && at->space == TERN__SPACE_OUTPUT; k++)
            if (p->compiled->plan.results[k].at.space == TERN__SPACE_OUTPUT &&
                p->compiled->plan.results[k].at.index == at->index)
                o->home[i] = o->home[k];
        if (at->space != TERN__SPACE_LEAF)
            continue;
        const tern__gnode *leaf = &p->compiled->graph.nodes[p->compiled->graph.leaves[at->index].node];
        unsigned number = 0;
        sscanf(leaf->attrs[0].text, "%*[a-z]%u", &number);
        o->home[i] =
            leaf->op == TERN__OP_constant ? 100000 : 200000 + 2 * number + (leaf->op == TERN__OP_state);
    }
}

static tern_status run_once(tern_ctx *ctx, tern_exec *exec, const tern_program *p, uint64_t seed, int run,
                            outcome *o)
{
    tern_tensor *inputs[64], *outputs[256];
    random_state r = {seed + (uint64_t)run};
    if (p->n_inputs > 64 || o->n > 256)
        return TERN_LIMIT;
    for (int i = 0; i < p->n_inputs; i++) {
        const tern_graph *source = &p->compiled->source;
        const tern__type *type = &source->values[source->nodes[source->leaves[p->inputs[i]].node].out].type;
        void *data = malloc(tern__type_bytes(type) + 1);
        if (!data)
            return TERN_OUT_OF_MEMORY;
        random_fill(&r, type, true, data);
        inputs[i] = tern_from_data(ctx, type->dtype, type->rank, type->shape, data);
        free(data);
    }
    TERN_TRY(tern_exec_run(exec, p->n_inputs, inputs, (int)o->n, outputs));
    for (uint32_t i = 0; i < o->n; i++) {
        size_t bytes = tern_nbytes(outputs[i]);
        void *copy = o->data[(uint32_t)run * o->n + i] = malloc(bytes ? bytes : 1);
        if (!copy)
            return TERN_OUT_OF_MEMORY;
        TERN_TRY(tern_read(outputs[i], copy, bytes));
    }
    return TERN_OK;
}

static tern_status run_program(tern_ctx *ctx, const tern_program *p, uint64_t seed, outcome *o)
{
    if (!check_plan(&p->compiled->graph, &p->compiled->plan, o->message, sizeof o->message))
        return TERN_INTERNAL;
    o->n = p->compiled->plan.n_results;
    o->data = calloc((size_t)RUNS * o->n + 1, sizeof *o->data);
    o->home = calloc(o->n + 1, sizeof *o->home);
    if (!o->data || !o->home)
        return TERN_OUT_OF_MEMORY;
    note_homes(p, o);
    tern_exec *exec;
    TERN_TRY(tern_exec_create_in_place(ctx, p, &exec));
    tern_status status = TERN_OK;
    for (int run = 0; run < RUNS && status == TERN_OK; run++) {
        tern_scope_open(ctx);
        status = run_once(ctx, exec, p, seed, run, o);
        tern_scope_close(ctx);
    }
    tern_exec_free(exec);
    return status;
}

/* Runs work on the graph's own states: copies of them are kept (`from` the states) or put back. */
static bool copy_states(const tern_graph *g, void **copies, bool from)
{
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        tern__storage *storage = g->leaves[i].storage;
        if (g->nodes[g->leaves[i].node].op != TERN__OP_state || !storage)
            continue;
        if (from && !copies[i])
            copies[i] = malloc(storage->bytes + 1);
        if (!copies[i])
            return false;
        if (storage->bytes > 0)
            memcpy(from ? copies[i] : storage->host, from ? storage->host : copies[i], storage->bytes);
    }
    return true;
}

static int epilogues; /* products with one, in all programs */

static void count_epilogues(const tern_program *p)
{
    tern_fusion_info fusion;
    for (int i = 0; tern_program_fusion(p, i, &fusion) == TERN_OK; i++)
        epilogues += strcmp(fusion.kind, "epilogue") == 0;
}

static int arenas,
    large_arenas; /* of full plans: all that need one, and those far above what must be live at once */

static void count_arena(const tern_program *p)
{
    tern_program_info info;
    tern_program_get_info(p, &info);
    arenas += info.live_bytes > 0;
    large_arenas += (double)info.arena_bytes > 1.10 * (double)info.live_bytes;
}

static void run_variant(tern_ctx *ctx, const tern_graph *g, variant v, uint64_t seed, outcome *o)
{
    const char *names[64];
    tern_compile_options options = tern_compile_options_default();
    options.level = v.level;
    options.disabled = names;
    options.n_disabled = disabled_names(v.disabled, names);
    tern_program *p = NULL;
    *o = (outcome){.n_leaves = g->n_leaves, .states = calloc(g->n_leaves + 1u, sizeof *o->states)};
    void **before = calloc(g->n_leaves + 1u, sizeof *before);
    o->status = o->states && before && copy_states(g, before, true) ? tern_graph_compile(ctx, g, &options, &p)
                                                                    : TERN_OUT_OF_MEMORY;
    if (o->status == TERN_OK)
        o->status = tern_graph_verify(&p->compiled->graph);
    if (o->status == TERN_OK)
        o->status = run_program(ctx, p, seed, o);
    if (o->status == TERN_OK && !(copy_states(g, o->states, true)))
        o->status = TERN_OUT_OF_MEMORY;
    if (before)
        copy_states(g, before, false);
    for (uint32_t i = 0; before && i < g->n_leaves; i++)
        free(before[i]);
    free(before);
    if (o->status == TERN_OK)
        count_epilogues(p);
    if (o->status == TERN_OK && v.level == TERN_LEVEL_HIGH && v.disabled == 0)
        count_arena(p);
    if (o->status != TERN_OK && !o->message[0])
        snprintf(o->message, sizeof o->message, "%s", tern_last_error());
    tern_program_free(p);
}

/* ---- comparing ---- */

static bool both_nan(tern_dtype dtype, const void *a, const void *b)
{
    if (dtype == TERN_F64) {
        double x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x != x && y != y;
    }
    if (dtype == TERN_F32) {
        float x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x != x && y != y;
    }
    uint16_t x, y, limit = dtype == TERN_F16 ? 0x7c00 : 0x7f80;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x & 0x7fff) > limit && (y & 0x7fff) > limit;
}

static bool same_data(const tern__type *type, const char *a, const char *b, int64_t *where)
{
    size_t bytes = tern__type_bytes(type), unit = tern__dtype_unit_bytes(type->dtype);
    *where = 0;
    if (memcmp(a, b, bytes) == 0)
        return true;
    for (size_t i = 0; i < bytes; i += unit)
        if (memcmp(a + i, b + i, unit) != 0 &&
            !(tern__dtype_is_float(type->dtype) && both_nan(type->dtype, a + i, b + i))) {
            *where = (int64_t)(i / unit);
            return false;
        }
    return true;
}

static bool same_outcome(const tern_graph *g, const outcome *want, const outcome *got, char *why)
{
    int64_t at;
    /* Of code that nobody needs also the errors go. */
    if (want->status == TERN_OUT_OF_RANGE && got->status == TERN_OK)
        return true;
    if (want->status != got->status) {
        snprintf(why, MESSAGE, "status %s instead of %s: %.300s", tern_status_name(got->status),
                 tern_status_name(want->status), got->message);
        return false;
    }
    for (uint32_t i = 0; want->status == TERN_OK && i < RUNS * want->n; i++) {
        const tern__output *output = &g->outputs[i % want->n];
        if (same_data(&g->values[output->value].type, want->data[i], got->data[i], &at))
            continue;
        snprintf(why, MESSAGE, "output \"%s\" differs at element %" PRId64 " in run %u", output->name, at,
                 i / want->n);
        return false;
    }
    for (uint32_t i = 0; want->status == TERN_OK && i < g->n_leaves; i++) {
        const tern__gnode *leaf = &g->nodes[g->leaves[i].node];
        if (!want->states[i] || same_data(&g->values[leaf->out].type, want->states[i], got->states[i], &at))
            continue;
        snprintf(why, MESSAGE, "state \"%s\" holds something else at the end, at element %" PRId64,
                 leaf->attrs[0].text, at);
        return false;
    }
    for (uint32_t i = 0; want->status == TERN_OK && i < want->n; i++)
        if (want->home[i] != got->home[i]) {
            snprintf(why, MESSAGE, "output %u shares memory with %u instead of %u", i, got->home[i],
                     want->home[i]);
            return false;
        }
    return true;
}

/* Does the graph give under `v` what it gives at level none? */
static bool agrees(tern_ctx *ctx, const tern_graph *g, variant v, uint64_t seed, char *why)
{
    outcome want, got;
    run_variant(ctx, g, (variant){TERN_LEVEL_NONE, 0}, seed, &want);
    run_variant(ctx, g, v, seed, &got);
    bool same = want.status == TERN_INTERNAL
                    ? (snprintf(why, MESSAGE, "at level none: %.400s", want.message), false)
                    : same_outcome(g, &want, &got, why);
    outcome_free(&want);
    outcome_free(&got);
    return same;
}

/* ---- shrinking ---- */

/* Which outputs stay when a graph is made smaller. */
typedef struct selection {
    enum { ALL, ONLY, BUT } kind;
    uint32_t output;
} selection;

static bool stays(selection s, uint32_t output)
{
    return s.kind == ALL || (s.kind == ONLY) == (s.output == output);
}

/* The graph without what its outputs and writes do not need, with node `cut` (or NO_ID) an input. NULL if that is no
 * graph. */
static tern_graph *reduced(const tern_graph *g, tern__id cut, selection outputs)
{
    tern_graph *to;
    bool *need = calloc(g->n_nodes + 1, 1);
    tern__id *map = calloc(g->n_values + 1, sizeof *map);
    if (!need || !map || tern__graph_new(&to) != TERN_OK)
        return NULL;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (stays(outputs, i))
            need[g->values[g->outputs[i].value].node] = true;
    for (tern__id n = g->n_nodes; n-- > 0;) {
        need[n] |= outputs.kind != ONLY && (tern__ops[g->nodes[n].op].flags & TERN__WRITES);
        for (uint32_t i = 0; need[n] && n != cut && i < g->nodes[n].n_in; i++)
            need[g->values[g->nodes[n].in[i]].node] = true;
    }
    tern_status status = TERN_OK;
    for (tern__id n = 0; n < g->n_nodes && status == TERN_OK; n++) {
        const tern__gnode *node = &g->nodes[n];
        tern__id in[16], first = 0;
        tern__type types[16];
        char name[32];
        if (!need[n])
            continue;
        for (uint32_t i = 0; i < node->n_in && i < 16; i++)
            in[i] = map[node->in[i]];
        for (uint32_t i = 0; i < node->n_out && i < 16; i++)
            types[i] = g->values[node->out + i].type;
        snprintf(name, sizeof name, "y%u", n);
        if (n == cut)
            status = node->n_out != 1
                         ? TERN_UNSUPPORTED
                         : tern__graph_add_leaf(to, TERN__OP_input, name, types, NULL, NULL, &first);
        else if (node->leaf != TERN__NO_ID)
            status =
                tern__graph_add_leaf(to, node->op, node->attrs[0].text, types, g->leaves[node->leaf].storage,
                                     &g->leaves[node->leaf].layout, &first);
        else
            status = tern__graph_add(to, node->op, node->n_in, in, node->attrs, node->n_out, types, &first);
        for (uint32_t i = 0; i < node->n_out; i++)
            map[node->out + i] = first + i;
    }
    for (uint32_t i = 0; i < g->n_outputs && status == TERN_OK; i++)
        if (stays(outputs, i))
            status = tern__graph_add_output(to, map[g->outputs[i].value], NULL);
    free(need);
    free(map);
    if (status == TERN_OK && tern_graph_verify(to) == TERN_OK)
        return to;
    tern_graph_free(to);
    return NULL;
}

static bool still_fails(tern_ctx *ctx, tern_graph **g, tern_graph *smaller, variant v, uint64_t seed,
                        char *why)
{
    char now[MESSAGE] = "";
    if (!smaller)
        return false;
    if (smaller->n_nodes > (*g)->n_nodes ||
        (smaller->n_nodes == (*g)->n_nodes && smaller->n_outputs >= (*g)->n_outputs) ||
        agrees(ctx, smaller, v, seed, now)) {
        tern_graph_free(smaller);
        return false;
    }
    tern_graph_free(*g);
    *g = smaller;
    memcpy(why, now, MESSAGE);
    return true;
}

static void shrink(tern_ctx *ctx, tern_graph **g, variant v, uint64_t seed, char *why)
{
    bool progress = true;
    while (progress) {
        progress = false;
        for (uint32_t i = 0; i < (*g)->n_outputs && (*g)->n_outputs > 1 && !progress; i++)
            progress = still_fails(ctx, g, reduced(*g, TERN__NO_ID, (selection){ONLY, i}), v, seed, why);
        for (uint32_t i = 0; i < (*g)->n_outputs && (*g)->n_outputs > 1 && !progress; i++)
            progress = still_fails(ctx, g, reduced(*g, TERN__NO_ID, (selection){BUT, i}), v, seed, why);
        progress =
            progress || still_fails(ctx, g, reduced(*g, TERN__NO_ID, (selection){ALL, 0}), v, seed, why);
        for (tern__id n = (*g)->n_nodes; n-- > 0 && !progress;)
            if ((*g)->nodes[n].leaf == TERN__NO_ID)
                progress = still_fails(ctx, g, reduced(*g, n, (selection){ALL, 0}), v, seed, why);
    }
}

static void report(const tern_graph *g, variant v, uint64_t seed, const char *why)
{
    const char *dir = getenv("TERN_BUILD_DIR"), *names[64];
    char path[1024], *text = NULL;
    int n = disabled_names(v.disabled, names);
    printf("graph of seed %" PRIu64 " at level %s without", seed, tern_level_name(v.level));
    for (int i = 0; i < n; i++)
        printf(" %s", names[i]);
    printf("%s: %s\n", n ? "" : " nothing", why);
    if (tern_graph_print(g, &text) != TERN_OK)
        return;
    printf("%s", text);
    snprintf(path, sizeof path, "%s/test-logs/equivalence-%" PRIu64 ".tern", dir ? dir : ".", seed);
    FILE *file = dir ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "# seed %" PRIu64 ", level %s: %s\n%s", seed, tern_level_name(v.level), why, text);
        fclose(file);
        printf("saved as %s\n", path);
    }
    tern_string_free(text);
}

/* ---- the test ---- */

static bool check_graph(tern_ctx *ctx, uint64_t seed, int *refused)
{
    tern_graph *g;
    char why[MESSAGE] = "";
    random_graph_options shape = random_graph_options_default();
    shape.large = seed % 20 == 0;
    if (random_graph_make(seed, &shape, &g) != TERN_OK) {
        printf("seed %" PRIu64 ": %s\n", seed, tern_last_error());
        return false;
    }
    random_state r = {seed ^ 0x5eed};
    variant variants[6] = {{TERN_LEVEL_LOW, 0}, {TERN_LEVEL_MEDIUM, 0}, {TERN_LEVEL_HIGH, 0}};
    static const tern_level levels[] = {TERN_LEVEL_LOW, TERN_LEVEL_MEDIUM, TERN_LEVEL_HIGH};
    for (int i = 3; i < 6; i++) {
        variants[i].level = i < 5 ? TERN_LEVEL_HIGH : levels[random_below(&r, 3)];
        for (int p = 0; p < tern__n_passes; p++)
            if (tern__passes[p].kind != TERN__PASS_PLAN && random_chance(&r, i == 3 ? 80 : 50))
                variants[i].disabled |= (uint64_t)1 << p;
    }
    outcome want, got;
    run_variant(ctx, g, (variant){TERN_LEVEL_NONE, 0}, seed, &want);
    *refused += want.status != TERN_OK;
    bool same = want.status != TERN_INTERNAL;
    variant bad = {TERN_LEVEL_NONE, 0};
    if (!same)
        snprintf(why, sizeof why, "%s", want.message);
    for (int i = 0; i < 6 && same; i++) {
        run_variant(ctx, g, variants[i], seed, &got);
        same = same_outcome(g, &want, &got, why);
        bad = variants[i];
        outcome_free(&got);
    }
    outcome_free(&want);
    if (!same) {
        shrink(ctx, &g, bad, seed, why);
        report(g, bad, seed, why);
    }
    tern_graph_free(g);
    return same;
}

/* Every op but the leaves that random graphs leave out would go untested here. */
TEST(random_graphs_use_every_op)
{
    tern_ctx *ctx;
    bool seen[TERN__OP_COUNT] = {false};
    uint64_t nodes = 0;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (uint64_t i = 0; i < 4000; i++) { /* the rarest op is missing from 1,000 now and then */
        tern_graph *g;
        CHECK_OK(random_graph_make(harness_seed() + i, NULL, &g));
        nodes += g->n_nodes;
        for (uint32_t n = 0; n < g->n_nodes; n++)
            seen[g->nodes[n].op] = true;
        tern_graph_free(g);
    }
    tern_ctx_destroy(ctx);
    CHECK(nodes > 60000);
    for (int op = 0; op < TERN__OP_COUNT; op++)
        if (!seen[op] && !(tern__ops[op].flags & TERN__INTERNAL))
            harness_fail(__FILE__, __LINE__, "no graph has %s", tern__ops[op].name);
}

TEST(random_graphs_agree_at_every_level)
{
    const char *asked = getenv("TERN_TEST_GRAPHS");
    int n = asked ? atoi(asked) : harness_cases(2000), refused = 0, failed = 0;
    uint64_t seed = harness_seed();
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 2;
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    for (int i = 0; i < n && failed < 3; i++)
        failed += !check_graph(ctx, seed + (uint64_t)i, &refused);
    tern_ctx_destroy(ctx);
    printf("%d graphs, %d of them refused at every level, %d products with epilogues\n", n, refused,
           epilogues);
    printf("%d of %d arenas above 1.10 of the most bytes live at once\n", large_arenas, arenas);
    CHECK_EQ(failed, 0);
    CHECK(arenas > n / 2);
    CHECK(large_arenas <= arenas / 100);
    CHECK(epilogues > n / 10);
    CHECK(refused <= n / 20);
}
