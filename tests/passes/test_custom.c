/* test_custom.c - passes and fusion patterns of the caller's, well-behaved and not, through the public interface. */
#include <string.h>

#include <tern/tern.h>

#include "gate.h"
#include "harness.h"

static tern_ctx *ctx;
static tern_graph *graph;
static tern_program *program;
static tern_compile_options options;

static void open_text(const char *text)
{
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_graph_parse(ctx, text, strlen(text), &graph));
    options = tern_compile_options_default();
}

static void close_all(void)
{
    tern_program_free(program);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
    program = NULL;
    graph = NULL;
    ctx = NULL;
}

static const char chain[] = "graph {\n"
                            "  %x = input \"x\" f32[4,8]\n"
                            "  %a = neg(%x)\n"
                            "  %b = relu(%a)\n"
                            "  %c = exp(%b)\n"
                            "  return %c as \"c\"\n"
                            "}\n";

static bool find_report(const char *name, tern_pass_report *out)
{
    for (int i = 0; tern_program_pass(program, i, out) == TERN_OK; i++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

/* Node that makes the value called `name`; UINT32_MAX if there is none. */
static tern_node maker(const tern_graph *g, const char *name)
{
    tern_graph_info info;
    tern_value_info value;
    tern_graph_get_info(g, &info);
    for (tern_value v = 0; v < (tern_value)info.values; v++)
        if (tern_graph_value(g, v, &value) == TERN_OK && value.name && strcmp(value.name, name) == 0)
            return value.node;
    return UINT32_MAX;
}

static tern_value result(const tern_graph *g, const char *name)
{
    tern_node_info info;
    return tern_graph_node(g, maker(g, name), &info) == TERN_OK ? info.result : UINT32_MAX;
}

/* What the program gives for x = -2: one number for all elements. */
static float run_program(void)
{
    tern_exec *exec = NULL;
    float y = -1e30f;
    if (tern_exec_create(ctx, program, &exec) != TERN_OK)
        return y;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_full(ctx, TERN_F32, 2, (int64_t[]){4, 8}, -2), *out;
        if (tern_exec_run(exec, 1, &x, 1, &out) == TERN_OK)
            y = tern_data_f32(out)[5];
    }
    tern_exec_free(exec);
    return y;
}

/* ---- passes ---- */

/* exp -> square, and counts how often it ran. */
static tern_status exp_to_square(void *user, tern_edit *edit)
{
    const tern_graph *g = tern_edit_graph(edit);
    tern_value b = result(g, "b"), made;
    ++*(int *)user;
    TERN_TRY(tern_edit_insert(edit, "square", NULL, 1, &b, &made));
    TERN_TRY(tern_edit_replace(edit, result(g, "c"), made));
    tern_edit_note(edit, "exp is %s", "square");
    return TERN_OK;
}

TEST(a_pass_edits_the_graph_and_reports)
{
    int runs = 0;
    const tern_custom_pass pass = {.name = "to-square", .after = "dce", .run = exp_to_square, .user = &runs};
    open_text(chain);
    options.n_passes = 1;
    options.passes = &pass;
    CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
    CHECK_EQ(runs, 1);
    tern_pass_report report;
    CHECK(find_report("to-square", &report));
    CHECK(report.ran && report.custom);
    CHECK_EQ(report.changes, 2);
    CHECK_EQ(report.nodes_before, 4);
    CHECK_EQ(report.nodes_after, 4); /* exp is gone by itself: nobody reads it */
    CHECK_EQ(report.n_notes, 1);
    CHECK_STR(report.notes[0], "exp is square");
    CHECK_EQ(run_program(), 4);
    /* It runs where it was put. */
    int at = -1, dce = -1, specialise = -1;
    for (int i = 0; tern_program_pass(program, i, &report) == TERN_OK; i++) {
        at = strcmp(report.name, "to-square") == 0 ? i : at;
        dce = strcmp(report.name, "dce") == 0 ? i : dce;
        specialise = strcmp(report.name, "specialise") == 0 ? i : specialise;
    }
    CHECK_EQ(at, dce + 1);
    CHECK_EQ(specialise, at + 1);
    close_all();
}

TEST(a_program_with_passes_is_cached_by_them)
{
    int runs = 0, others = 0;
    tern_custom_pass pass = {.name = "to-square", .after = "cse", .run = exp_to_square, .user = &runs};
    open_text(chain);
    options.n_passes = 1;
    options.passes = &pass;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
        tern_program_free(program);
    }
    CHECK_EQ(runs, 1);
    pass.user = &others;
    CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
    CHECK_EQ(others, 1);
    tern_program_free(program);
    CHECK_OK(tern_graph_compile(ctx, graph, NULL, &program));
    CHECK(run_program() > 7); /* exp(2), without the pass */
    close_all();
}

/* Level none runs every op as recorded: also a pass that does not say at which level it runs keeps out of it. */
TEST(a_pass_without_a_level_leaves_level_none_alone)
{
    int runs = 0;
    const tern_custom_pass pass = {.name = "mine", .before = "fold", .run = exp_to_square, .user = &runs};
    open_text(chain);
    options.n_passes = 1;
    options.passes = &pass;
    options.level = TERN_LEVEL_NONE;
    CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
    CHECK_EQ(runs, 0);
    tern_program_free(program);
    options.level = TERN_LEVEL_MEDIUM;
    CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
    CHECK_EQ(runs, 1);
    close_all();
}

TEST(levels_and_names_switch_a_pass_off)
{
    int runs = 0;
    const tern_custom_pass pass = {
        .name = "mine", .before = "fold", .level = TERN_LEVEL_HIGH, .run = exp_to_square, .user = &runs};
    const char *off[] = {"mine"};
    open_text(chain);
    options.n_passes = 1;
    options.passes = &pass;
    CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
    tern_pass_report report;
    CHECK(find_report("mine", &report) && !report.ran);
    tern_program_free(program);
    options.level = TERN_LEVEL_HIGH;
    options.n_disabled = 1;
    options.disabled = off;
    CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
    CHECK(find_report("mine", &report) && !report.ran);
    CHECK_EQ(runs, 0);
    close_all();
}

/* ---- passes that misbehave ---- */

static tern_status fails_with_reason(void *user, tern_edit *edit)
{
    (void)user;
    return tern_edit_fail(edit, "the moon is wrong");
}

static tern_status fails_silently(void *user, tern_edit *edit)
{
    (void)edit;
    (void)user;
    return TERN_UNSUPPORTED;
}

static tern_status fails_oddly(void *user, tern_edit *edit)
{
    (void)edit;
    (void)user;
    return (tern_status)12345;
}

static tern_status makes_a_cycle(void *user, tern_edit *edit)
{
    (void)user;
    const tern_graph *g = tern_edit_graph(edit);
    return tern_edit_set_operand(edit, maker(g, "a"), 0, result(g, "c"));
}

static tern_status shares_an_input(void *user, tern_edit *edit)
{
    (void)user;
    const tern_graph *g = tern_edit_graph(edit);
    return tern_edit_replace(edit, result(g, "c"), result(g, "x"));
}

static tern_status ignores_refusals(void *user, tern_edit *edit)
{
    (void)user;
    const tern_graph *g = tern_edit_graph(edit);
    tern_edit_remove(edit, maker(g, "x"));
    tern_edit_remove(edit, maker(g, "a"));
    tern_edit_replace(edit, 1000, 2000);
    tern_edit_finish(edit, &(tern_graph *){NULL});
    tern_edit_free(edit);
    return TERN_OK;
}

/* *message lives until the next failure. */
static tern_status compile_with(tern_status (*run)(void *user, tern_edit *edit), const char **message)
{
    const tern_custom_pass pass = {.name = "mine", .before = "fold", .run = run};
    options.n_passes = 1;
    options.passes = &pass;
    tern_status status = tern_graph_compile(ctx, graph, &options, &program);
    *message = tern_last_error();
    return status;
}

TEST(passes_that_misbehave_are_named_and_the_graph_stays)
{
    const char *message = "";
    char *before = NULL, *after = NULL;
    open_text(chain);
    CHECK_OK(tern_graph_print(graph, &before));
    CHECK_STATUS(compile_with(fails_with_reason, &message), TERN_INVALID_ARGUMENT);
    CHECK_STR(message, "compile: pass 'mine' failed: the moon is wrong");
    CHECK_STATUS(compile_with(fails_silently, &message), TERN_UNSUPPORTED);
    CHECK_STR(message, "compile: pass 'mine' failed: it gave no reason");
    CHECK_STATUS(compile_with(fails_oddly, &message), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(compile_with(makes_a_cycle, &message), TERN_INVALID_ARGUMENT);
    CHECK_STR(message, "compile: pass 'mine' broke the graph: edit: values need each other in a circle: "
                       "%a -> %b -> %c -> %a");
    CHECK_STATUS(compile_with(shares_an_input, &message), TERN_INVALID_ARGUMENT);
    CHECK_STR(message, "compile: pass 'mine' broke the graph: output 'c' would share memory with a leaf: "
                       "callers may write into either; insert contiguous");
    CHECK(program == NULL);
    CHECK_OK(compile_with(ignores_refusals, &message));
    CHECK(run_program() > 7);
    tern_program_free(program);
    CHECK_OK(tern_graph_print(graph, &after));
    CHECK_STR(after, before);
    CHECK_OK(tern_graph_compile(ctx, graph, NULL, &program));
    CHECK(run_program() > 7);
    tern_string_free(before);
    tern_string_free(after);
    close_all();
}

TEST(descriptions_of_passes_are_checked)
{
    int n = 0;
    const tern_custom_pass bad[] = {
        {.name = NULL, .before = "fold", .run = exp_to_square, .user = &n},
        {.name = "two words", .before = "fold", .run = exp_to_square, .user = &n},
        {.name = "", .before = "fold", .run = exp_to_square, .user = &n},
        {.name = "fuse", .before = "fold", .run = exp_to_square, .user = &n},
        {.name = "mine", .run = exp_to_square, .user = &n},
        {.name = "mine", .before = "fold", .after = "fold", .run = exp_to_square, .user = &n},
        {.name = "mine", .before = "memory", .run = exp_to_square, .user = &n},
        {.name = "mine", .after = "order", .run = exp_to_square, .user = &n},
        {.name = "mine", .before = "fold"},
        {.name = "mine", .before = "fold", .level = (tern_level)9, .run = exp_to_square, .user = &n},
    };
    open_text(chain);
    options.n_passes = 1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        options.passes = &bad[i];
        CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    }
    const tern_custom_pass misspelt = {.name = "mine", .after = "fsue", .run = exp_to_square, .user = &n};
    options.passes = &misspelt;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "mine: compile: there is no pass 'fsue'; did you mean 'fuse'?");
    const tern_custom_pass twice[] = {{.name = "mine", .before = "fold", .run = exp_to_square, .user = &n},
                                      {.name = "mine", .before = "fold", .run = exp_to_square, .user = &n}};
    options.n_passes = 2;
    options.passes = twice;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(), "compile: there is a pass 'mine' already");
    options.passes = NULL;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    options.n_passes = -1;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    CHECK_EQ(n, 0);
    close_all();
}

/* ---- patterns ---- */

/* Fuses relu with what it reads. */
static tern_match with_operand(void *user, tern_edit *edit, tern_node node)
{
    (void)user;
    tern_node_info info;
    tern_value_info operand;
    tern_node made;
    if (tern_graph_node(tern_edit_graph(edit), node, &info) != TERN_OK ||
        tern_graph_value(tern_edit_graph(edit), info.operands[0], &operand) != TERN_OK)
        return TERN_MATCH_FAILED;
    return tern_edit_fuse(edit, 2, (tern_node[]){operand.node, node}, &made) == TERN_OK ? TERN_MATCH_FUSED
                                                                                        : TERN_MATCH_FAILED;
}

static void compile_pattern(const tern_fusion_pattern *pattern)
{
    static const char *const off[] = {"fuse"};
    options.n_patterns = 1;
    options.patterns = pattern;
    options.n_disabled = 1;
    options.disabled = off;
    tern_program_free(program);
    program = NULL;
    CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
}

TEST(a_pattern_fuses)
{
    const tern_fusion_pattern pattern = {.name = "neg-relu", .op = "relu", .fuse = with_operand};
    open_text(chain);
    compile_pattern(&pattern);
    tern_pass_report report;
    tern_fusion_info fusion;
    CHECK(program && find_report("patterns", &report));
    CHECK_EQ(report.changes, 1);
    CHECK_EQ(report.failures, 0);
    CHECK_EQ(report.nodes_after, 3);
    CHECK_OK(tern_program_fusion(program, 0, &fusion));
    CHECK_STR(fusion.kind, "neg-relu");
    CHECK_EQ(fusion.n_nodes, 2);
    CHECK_STR(fusion.ops[0][0] == 'n' ? fusion.ops[0] : fusion.ops[1], "neg");
    CHECK(fusion.estimated_speedup > 1.9 && fusion.estimated_speedup < 2.1);
    CHECK(run_program() > 7);
    close_all();
}

static tern_match never(void *user, tern_edit *edit, tern_node node)
{
    (void)node;
    tern_value x = result(tern_edit_graph(edit), "x"), made;
    ++*(int *)user;
    tern_edit_insert(edit, "neg", NULL, 1, &x, &made); /* taken back */
    return TERN_MATCH_NONE;
}

static tern_match says_why_not(void *user, tern_edit *edit, tern_node node)
{
    tern_value x = result(tern_edit_graph(edit), "x"), made;
    ++*(int *)user;
    tern_edit_insert(edit, "abs", NULL, 1, &x, &made);
    tern_edit_replace(edit, result(tern_edit_graph(edit), "b"), made);
    tern_edit_remove(edit, node);
    tern_edit_fail(edit, "no %s here", "luck");
    return TERN_MATCH_FAILED;
}

static tern_match lies(void *user, tern_edit *edit, tern_node node)
{
    (void)edit;
    (void)node;
    ++*(int *)user;
    return TERN_MATCH_FUSED;
}

static tern_match talks_nonsense(void *user, tern_edit *edit, tern_node node)
{
    (void)edit;
    (void)node;
    ++*(int *)user;
    return (tern_match)77;
}

static tern_match closes_a_circle(void *user, tern_edit *edit, tern_node node)
{
    ++*(int *)user;
    return tern_edit_set_operand(edit, maker(tern_edit_graph(edit), "a"), 0,
                                 result(tern_edit_graph(edit), "b")) == TERN_OK
               ? TERN_MATCH_FUSED
               : ((void)node, TERN_MATCH_FAILED);
}

/* Puts an equal node in the place of the one it was called with. */
static tern_match replaces(void *user, tern_edit *edit, tern_node node)
{
    (void)user;
    tern_node_info info;
    tern_value made;
    if (tern_graph_node(tern_edit_graph(edit), node, &info) != TERN_OK ||
        tern_edit_insert(edit, "relu", NULL, 1, info.operands, &made) != TERN_OK)
        return TERN_MATCH_FAILED;
    return tern_edit_replace(edit, info.result, made) == TERN_OK ? TERN_MATCH_FUSED : TERN_MATCH_FAILED;
}

TEST(a_pattern_that_fuses_nothing_is_not_a_fusion)
{
    tern_fusion_pattern pattern = {.name = "p", .op = "relu", .fuse = replaces};
    tern_pass_report report;
    tern_fusion_info fusion;
    open_text(chain);
    compile_pattern(&pattern);
    CHECK(program && find_report("patterns", &report));
    CHECK_EQ(report.changes, 1);
    CHECK_EQ(report.n_notes, 1);
    CHECK_STR(report.notes[0], "pattern 'p' put something else in the place of %b");
    CHECK_STATUS(tern_program_fusion(program, 0, &fusion), TERN_OUT_OF_RANGE);
    close_all();
}

TEST(no_match_and_failure_are_different_answers)
{
    int calls = 0;
    tern_fusion_pattern pattern = {.name = "p", .op = "relu", .fuse = never, .user = &calls};
    tern_pass_report report;
    open_text(chain);
    compile_pattern(&pattern);
    CHECK(program && find_report("patterns", &report));
    CHECK_EQ(calls, 1);
    CHECK_EQ(report.changes, 0);
    CHECK_EQ(report.failures, 0);
    CHECK_EQ(report.n_notes, 0);
    CHECK_EQ(report.nodes_after, 4);

    pattern.fuse = says_why_not;
    compile_pattern(&pattern);
    CHECK(program && find_report("patterns", &report));
    CHECK_EQ(report.failures, 1);
    CHECK_EQ(report.changes, 0);
    CHECK_EQ(report.nodes_after, 4);
    CHECK_EQ(report.n_notes, 1);
    CHECK_STR(report.notes[0], "pattern 'p' failed at %b, the compiler goes on without it: no luck here");
    CHECK(run_program() > 7); /* exp(relu(2)), as if it had never tried */
    close_all();
}

TEST(patterns_that_misbehave_are_taken_back)
{
    int calls = 0;
    tern_pass_report report;
    open_text(chain);
    const struct {
        tern_match (*fuse)(void *user, tern_edit *edit, tern_node node);
        const char *note;
    } cases[] = {
        {lies, "pattern 'p' failed at %b, the compiler goes on without it: it says that it fused, but "
               "changed nothing"},
        {talks_nonsense, "pattern 'p' failed at %b, the compiler goes on without it: it gave no reason"},
        {closes_a_circle,
         "pattern 'p' failed at %b, the compiler goes on without it: edit: values need each other in a "
         "circle: %a -> %b -> %a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tern_fusion_pattern pattern = {.name = "p", .op = "relu", .fuse = cases[i].fuse, .user = &calls};
        compile_pattern(&pattern);
        CHECK(program && find_report("patterns", &report));
        CHECK_EQ(report.n_notes, 1);
        CHECK_STR(report.notes[0], cases[i].note);
        CHECK_EQ(report.failures, 1);
        CHECK(run_program() > 7);
    }
    close_all();
}

TEST(what_the_target_cannot_fuse_is_left_alone)
{
    /* Integers have no row instructions. */
    open_text("graph {\n  %x = input \"x\" i32[4,8]\n  %a = add(%x, %x)\n  %b = abs(%a)\n  return %b\n}\n");
    const tern_fusion_pattern pattern = {.name = "p", .op = "abs", .fuse = with_operand};
    compile_pattern(&pattern);
    tern_pass_report report;
    CHECK(program && find_report("patterns", &report));
    CHECK_EQ(report.failures + report.changes, 1);
    tern_program_info info;
    tern_program_get_info(program, &info);
    CHECK_EQ(info.steps, report.changes ? 1 : 2);
    close_all();
}

TEST(descriptions_of_patterns_are_checked)
{
    const tern_fusion_pattern bad[] = {
        {.name = NULL, .fuse = with_operand},
        {.name = "p"},
        {.name = "p q", .fuse = with_operand},
    };
    open_text(chain);
    options.n_patterns = 1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        options.patterns = &bad[i];
        CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    }
    const tern_fusion_pattern unknown = {.name = "p", .op = "rleu", .fuse = with_operand};
    options.patterns = &unknown;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_NOT_FOUND);
    const tern_fusion_pattern twice[] = {{.name = "p", .fuse = with_operand},
                                         {.name = "p", .fuse = with_operand}};
    options.n_patterns = 2;
    options.patterns = twice;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    close_all();
}

/* ---- without memory ---- */

static void ignore(void *user, const char *pass, int changes, const tern_graph *g)
{
    (void)user;
    (void)pass;
    (void)changes;
    (void)g;
}

TEST(no_memory_is_an_error_and_nothing_else)
{
    int runs = 0;
    const tern_custom_pass pass = {.name = "to-square", .after = "dce", .run = exp_to_square, .user = &runs};
    const tern_fusion_pattern pattern = {.name = "neg-relu", .op = "relu", .fuse = with_operand};
    tern_alloc_stats before, after;
    char *text = NULL, *same = NULL;
    tern_alloc_get_stats(&before);
    open_text(chain);
    options.n_passes = options.n_patterns = 1;
    options.passes = &pass;
    options.patterns = &pattern;
    options.observe = ignore; /* compiled anew each time */
    CHECK_OK(tern_graph_print(graph, &text));
    gate g = {.fired = true};
    int failures = 0;
    for (long n = 1; g.fired; n++) {
        g = (gate){.countdown = n};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = tern_graph_compile(ctx, graph, &options, &program);
        tern_alloc_set_gate(NULL, NULL);
        failures += status != TERN_OK;
        if (status != TERN_OK)
            CHECK_EQ(status, TERN_OUT_OF_MEMORY);
        tern_program_free(program);
        program = NULL;
    }
    CHECK(failures > 20);
    CHECK_OK(tern_graph_print(graph, &same));
    CHECK_STR(same, text);
    tern_string_free(text);
    tern_string_free(same);
    close_all();
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.allocations - after.frees, before.allocations - before.frees);
}

/* ---- watching ---- */

typedef struct watch {
    char names[256];
    int nodes;
} watch;

static void see(void *user, const char *pass, int changes, const tern_graph *g)
{
    (void)changes;
    watch *w = user;
    tern_graph_info info;
    tern_graph_get_info(g, &info);
    strncat(w->names, pass, sizeof w->names - strlen(w->names) - 1);
    strncat(w->names, " ", sizeof w->names - strlen(w->names) - 1);
    w->nodes = info.nodes;
}

TEST(an_observer_sees_every_pass_each_time)
{
    watch w = {0};
    open_text(chain);
    options.level = TERN_LEVEL_NONE;
    options.observe = see;
    options.observe_user = &w;
    for (int i = 0; i < 2; i++) {
        w.names[0] = '\0';
        CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
        CHECK_STR(w.names, "order place select memory ");
        CHECK_EQ(w.nodes, 4);
        tern_program_free(program);
        program = NULL;
    }
    close_all();
}
