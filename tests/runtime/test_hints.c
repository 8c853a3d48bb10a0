/* test_hints.c - what a caller may ask of the compiler, for programs and for lazy evaluation, and what programs tell about
 * themselves. */
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

static tern_ctx *ctx;
static tern_graph *graph;
static tern_program *program;

static void open_text(const char *text, int threads)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = threads;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK_OK(tern_graph_parse(ctx, text, strlen(text), &graph));
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

static const char large[] = "graph {\n"
                            "  %x = input \"x\" f32[512,512]\n"
                            "  %a = exp(%x)\n"
                            "  %b = matmul(%a, %x)\n"
                            "  %c = matmul(%b, %x)\n"
                            "  return %c\n"
                            "}\n";

static int most_threads(void)
{
    tern_step_info step;
    int most = 0;
    for (int i = 0; tern_program_step(program, i, &step) == TERN_OK; i++)
        most = step.threads > most ? step.threads : most;
    return most;
}

static void compile(const tern_compile_options *options)
{
    tern_program_free(program);
    program = NULL;
    CHECK_OK(tern_graph_compile(ctx, graph, options, &program));
}

TEST(threads_and_goal_bound_the_plan)
{
    tern_compile_options options = tern_compile_options_default();
    open_text(large, 4);
    compile(&options);
    CHECK_EQ(most_threads(), 4);
    options.threads = 2;
    compile(&options);
    CHECK_EQ(most_threads(), 2);
    options.threads = 0;
    options.goal = TERN_GOAL_THROUGHPUT;
    compile(&options);
    CHECK_EQ(most_threads(), 1);
    options.threads = 5;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(), "compile: 5 threads were asked for, the context has 4");
    options.threads = -1;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    close_all();
}

TEST(zeroed_options_are_the_defaults)
{
    tern_compile_options zeroed = {0};
    tern_program_info info, standard;
    open_text("graph {\n  %x = input \"x\" f32[8]\n  %a = neg(%x)\n  %b = exp(%a)\n  return %b\n}\n", 1);
    compile(NULL);
    tern_program_get_info(program, &standard);
    CHECK_EQ(standard.steps, 1);
    compile(&zeroed);
    tern_program_get_info(program, &info);
    CHECK_EQ(info.steps, standard.steps);
    close_all();
}

/* Threads and memory are those of the context that the exec was made with. */
TEST(a_program_runs_in_another_context)
{
    tern_ctx *other;
    tern_exec *exec;
    tern_tensor *x, *y;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 1;
    open_text("graph {\n  %x = input \"x\" f32[4]\n  %a = neg(%x)\n  return %a\n}\n", 4);
    compile(NULL);
    CHECK_OK(tern_ctx_create(&options, &other));
    CHECK_OK(tern_exec_create(other, program, &exec));
    x = tern_from_data(other, TERN_F32, 1, (int64_t[]){4}, (float[]){1, 2, 3, 4});
    CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
    CHECK(tern_data(y) && ((const float *)tern_data(y))[3] == -4);
    tern_exec_free(exec);
    tern_ctx_destroy(other);
    close_all();
}

TEST(a_cap_bounds_the_instruction_set)
{
    tern_compile_options options = tern_compile_options_default();
    open_text(large, 1);
    options.cpu = "baseline";
    compile(&options);
    tern_step_info step;
    for (int i = 0; tern_program_step(program, i, &step) == TERN_OK; i++)
        CHECK_STR(step.isa, "baseline");
    options.cpu = "8086";
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_NOT_FOUND);
    close_all();
}

TEST(impossible_hints_are_refused)
{
    tern_compile_options options = tern_compile_options_default();
    open_text(large, 1);
    options.device = "gpu";
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "compile: device 'gpu' was asked for, the context computes on 'cpu'");
    options.device = "cpu";
    options.memory_limit = 4096;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_LIMIT);
    options.memory_limit = (size_t)64 << 20;
    compile(&options);
    options.goal = (tern_goal)7;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    options.goal = TERN_GOAL_LATENCY;
    options.precision = (tern_precision)7;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    options.precision = TERN_PRECISION_BF16;
    options.level = TERN_LEVEL_NONE;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    options.level = TERN_LEVEL_MEDIUM;
    options.precision = TERN_PRECISION_EXACT;
    options.n_disabled = 1;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    options.disabled = (const char *[]){"simplfy"};
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "compile: there is no pass 'simplfy'; did you mean 'simplify'?");
    options.disabled = (const char *[]){"place"};
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    options.disabled = (const char *[]){NULL};
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_INVALID_ARGUMENT);
    close_all();
}

TEST(names_of_choices_are_read)
{
    tern_goal goal;
    tern_precision precision;
    CHECK_OK(tern_goal_parse("throughput", &goal));
    CHECK_EQ(goal, TERN_GOAL_THROUGHPUT);
    CHECK_STATUS(tern_goal_parse("speed", &goal), TERN_NOT_FOUND);
    CHECK_STATUS(tern_goal_parse(NULL, &goal), TERN_INVALID_ARGUMENT);
    CHECK_OK(tern_precision_parse("f16", &precision));
    CHECK_EQ(precision, TERN_PRECISION_F16);
    CHECK_STATUS(tern_precision_parse("f8", &precision), TERN_NOT_FOUND);
    CHECK_STATUS(tern_precision_parse("f16", NULL), TERN_INVALID_ARGUMENT);
}

/* ---- lazy evaluation ---- */

static tern_status relu_to_abs(void *user, tern_edit *edit)
{
    const tern_graph *g = tern_edit_graph(edit);
    tern_graph_info info;
    tern_graph_get_info(g, &info);
    ++*(int *)user;
    for (tern_node n = 0; n < (tern_node)info.nodes; n++) {
        tern_node_info node;
        tern_value made;
        TERN_TRY(tern_graph_node(g, n, &node));
        if (strcmp(node.op, "relu") != 0)
            continue;
        TERN_TRY(tern_edit_insert(edit, "abs", NULL, 1, node.operands, &made));
        TERN_TRY(tern_edit_replace(edit, node.result, made));
    }
    return TERN_OK;
}

TEST(lazy_evaluation_compiles_as_the_context_says)
{
    int runs = 0;
    const tern_custom_pass pass = {
        .name = "relu-to-abs", .before = "fold", .run = relu_to_abs, .user = &runs};
    tern_compile_options compile_options = tern_compile_options_default();
    tern_ctx_options options = tern_ctx_options_default();
    compile_options.n_passes = 1;
    compile_options.passes = &pass;
    options.compile = &compile_options;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    compile_options.n_passes = 0; /* they were copied */
    for (int i = 0; i < 3; i++)
        TERN_SCOPE(ctx) {
            tern_tensor *x = tern_full(ctx, TERN_F32, 1, (int64_t[]){4}, -3);
            CHECK_OK(tern_eval(x));
            tern_tensor *y = tern_relu(x);
            CHECK_OK(tern_eval(y));
            CHECK_EQ(tern_data_f32(y)[0], 3);
        }
    CHECK_EQ(runs, 2); /* one for `full`, one for `relu`: the rest came from the cache */
    close_all();
}

TEST(lazy_evaluation_keeps_to_level_and_limit)
{
    tern_compile_options compile_options = tern_compile_options_default();
    tern_ctx_options options = tern_ctx_options_default();
    options.compile = &compile_options;
    uint64_t steps[2] = {0};
    for (int level = 0; level < 2; level++) {
        compile_options.level = level ? TERN_LEVEL_MEDIUM : TERN_LEVEL_NONE;
        CHECK_OK(tern_ctx_create(&options, &ctx));
        TERN_SCOPE(ctx) {
            tern_tensor *x = tern_ones(ctx, TERN_F32, 2, (int64_t[]){8, 8});
            CHECK_OK(tern_eval(x));
            CHECK_OK(tern_eval(tern_relu(tern_neg(tern_exp(x)))));
        }
        tern_ctx_stats stats;
        tern_ctx_get_stats(ctx, &stats);
        steps[level] = stats.steps;
        close_all();
    }
    CHECK(steps[1] < steps[0]);
    compile_options.memory_limit = 64;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 2, (int64_t[]){64, 64});
        CHECK_OK(tern_eval(x));
        CHECK_STATUS(tern_eval(tern_matmul(tern_matmul(x, x, false, false), x, false, false)), TERN_LIMIT);
    }
    close_all();
}

TEST(a_context_refuses_options_that_it_cannot_keep)
{
    tern_compile_options compile_options = tern_compile_options_default();
    tern_ctx_options options = tern_ctx_options_default();
    options.compile = &compile_options;
    options.threads = 2;
    compile_options.threads = 3;
    CHECK_STATUS(tern_ctx_create(&options, &ctx), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(), "context: compile options ask for 3 threads, it has 2");
    compile_options.threads = 0;
    compile_options.device = "abacus";
    CHECK_STATUS(tern_ctx_create(&options, &ctx), TERN_NOT_FOUND);
    compile_options.device = NULL;
    compile_options.level = (tern_level)9;
    CHECK_STATUS(tern_ctx_create(&options, &ctx), TERN_INVALID_ARGUMENT);
    CHECK(ctx == NULL);
}

/* ---- what programs tell ---- */

TEST(buffers_have_lifetimes_and_groups)
{
    open_text("graph {\n  %x = input \"x\" f32[64]\n  %w = input \"w\" f32[64,64]\n  %v = reshape(%x) "
              "{shape=[1,64]}\n"
              "  %a = matmul(%v, %w)\n  %b = matmul(%a, %w)\n  %c = matmul(%b, %w)\n  %d = matmul(%c, %w)\n"
              "  return %d\n}\n",
              1);
    compile(NULL);
    tern_buffer_info buffer[4];
    tern_program_info info;
    int n = 0;
    while (n < 4 && tern_program_buffer(program, n, &buffer[n]) == TERN_OK)
        n++;
    tern_program_get_info(program, &info);
    CHECK_EQ(n, 3);
    CHECK_STR(buffer[0].name, "a");
    CHECK_EQ(buffer[0].first, 0);
    CHECK_EQ(buffer[0].last, 1);
    CHECK_EQ(buffer[1].first, 1);
    CHECK_EQ(buffer[2].offset, buffer[0].offset); /* a is dead when c is made */
    CHECK_EQ(buffer[2].group, buffer[0].group);
    CHECK(buffer[1].group != buffer[0].group);
    for (int i = 0; i < n; i++)
        CHECK(buffer[i].offset + buffer[i].bytes <= info.arena_bytes);
    CHECK_STATUS(tern_program_buffer(program, n, &buffer[0]), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_program_buffer(NULL, 0, &buffer[0]), TERN_INVALID_ARGUMENT);
    close_all();
}

TEST(a_program_shows_its_graph)
{
    open_text(large, 1);
    compile(NULL);
    const tern_graph *g = tern_program_graph(program);
    tern_step_info step;
    tern_node_info node;
    CHECK_OK(tern_program_step(program, 1, &step));
    CHECK_OK(tern_graph_node(g, step.node, &node));
    CHECK_STR(node.op, step.op);
    char *drawing = NULL;
    CHECK_OK(tern_program_dot(program, &drawing));
    CHECK(strstr(drawing, "cluster_recorded") && strstr(drawing, "cluster_compiled"));
    tern_string_free(drawing);
    CHECK(tern_program_graph(NULL) == NULL);
    CHECK_STATUS(tern_program_dot(NULL, &drawing), TERN_INVALID_ARGUMENT);
    close_all();
}

static void check_timed(int threads)
{
    open_text(large, threads);
    compile(NULL);
    tern_exec *exec = NULL;
    tern_step_time time;
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    CHECK_OK(tern_exec_step_time(exec, 0, &time));
    CHECK_EQ(time.runs, 0);
    tern_program_info info;
    tern_program_get_info(program, &info);
    tern_scope_open(ctx);
    tern_tensor *x = tern_zeros(ctx, TERN_F32, 2, (int64_t[]){512, 512}), *y;
    CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
    CHECK_OK(tern_exec_time_steps(exec, true));
    for (int i = 0; i < 3; i++)
        CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
    CHECK_OK(tern_exec_time_steps(exec, false));
    CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
    tern_scope_close(ctx);
    for (int i = 0; i < info.steps; i++) {
        CHECK_OK(tern_exec_step_time(exec, i, &time));
        CHECK_EQ(time.runs, 3);
        CHECK(time.min_ns > 0 && time.min_ns <= time.last_ns && 3 * time.min_ns <= time.total_ns);
    }
    CHECK_STATUS(tern_exec_step_time(exec, info.steps, &time), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_exec_step_time(NULL, 0, &time), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_exec_time_steps(NULL, true), TERN_INVALID_ARGUMENT);
    tern_exec_free(exec);
    close_all();
}

TEST(an_exec_times_its_steps_when_asked)
{
    check_timed(1);
    check_timed(2);
}
