/* test_batch_range.c - programs for a range of batches: results are those of a program for the size alone, states and memory
 * are one, and what has no meaning for another size is refused when it is compiled. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

static tern_ctx *ctx;

static void open_context(void)
{
    CHECK_OK(tern_ctx_create(NULL, &ctx));
}

static void close_context(void)
{
    tern_ctx_destroy(ctx);
    ctx = NULL;
}

/* The text of a graph in which every '@' is the batch. */
static tern_graph *graph_of(const char *text, int batch)
{
    char out[4096];
    size_t n = 0;
    for (const char *p = text; *p && n < sizeof out - 16; p++) {
        if (*p == '@')
            n += (size_t)snprintf(out + n, 16, "%d", batch);
        else
            out[n++] = *p;
    }
    out[n] = '\0';
    tern_graph *graph = NULL;
    return tern_graph_parse(ctx, out, n, &graph) == TERN_OK ? graph : NULL;
}

static tern_status compile_named(const char *text, int recorded, int64_t least, int64_t most, int n,
                                 const char *const *inputs, tern_program **out)
{
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_HIGH;
    options.batch = (tern_batch_range){least, most, n, inputs};
    tern_graph *graph = graph_of(text, recorded);
    tern_status status = tern_graph_compile(ctx, graph, &options, out);
    tern_graph_free(graph);
    return status;
}

static tern_status compile(const char *text, int recorded, int64_t least, int64_t most, tern_program **out)
{
    return compile_named(text, recorded, least, most, 0, NULL, out);
}

static tern_tensor *input_for(const tern_port *port, int64_t batch, int64_t seed)
{
    int64_t shape[TERN_MAX_RANK];
    memcpy(shape, port->shape, (size_t)port->rank * sizeof *shape);
    shape[0] = batch;
    return tern_randn(ctx, TERN_F32, port->rank, shape, seed);
}

enum { MOST_PORTS = 4 };

/* Runs both with the same inputs and compares bits. */
static void check_size(tern_exec *exec, const char *text, const tern_program *program, int batch)
{
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_HIGH;
    tern_graph *graph = graph_of(text, batch);
    tern_program *alone = NULL;
    tern_exec *other = NULL;
    CHECK_OK(tern_graph_compile(ctx, graph, &options, &alone));
    CHECK_OK(tern_exec_create(ctx, alone, &other));
    tern_tensor *in[MOST_PORTS], *got[MOST_PORTS], *want[MOST_PORTS];
    tern_program_info info;
    tern_program_get_info(program, &info);
    int n_in = info.n_inputs, n_out = info.n_outputs;
    TERN_SCOPE(ctx) {
        for (int i = 0; i < n_in; i++) {
            tern_port port;
            CHECK_OK(tern_program_input(program, i, &port));
            in[i] = input_for(&port, batch, (int64_t)(harness_seed() >> 1) + i);
        }
        CHECK_OK(tern_exec_run(exec, n_in, in, n_out, got));
        CHECK_OK(tern_exec_run(other, n_in, in, n_out, want));
        for (int i = 0; i < n_out; i++) {
            CHECK_EQ(tern_rank(got[i]), tern_rank(want[i]));
            CHECK_EQ(tern_nbytes(got[i]), tern_nbytes(want[i]));
            for (int d = 0; d < tern_rank(got[i]); d++)
                CHECK_EQ(tern_shape(got[i])[d], tern_shape(want[i])[d]);
            CHECK(memcmp(tern_data(got[i]), tern_data(want[i]), tern_nbytes(got[i])) == 0);
        }
    }
    tern_exec_free(other);
    tern_program_free(alone);
    tern_graph_free(graph);
}

static void check_all_sizes(const char *text, int recorded, int most)
{
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    CHECK_OK(compile(text, recorded, 1, most, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    for (int round = 0; round < 2; round++) /* compiled, and then found */
        for (int batch = 1; batch <= most; batch += batch < 8 ? 1 : 7)
            check_size(exec, text, program, batch);
    tern_exec_free(exec);
    tern_program_free(program);
}

static const char mlp[] = "graph {\n"
                          "  %x = input \"x\" f32[@,64]\n"
                          "  %w = full() {dtype=f32, shape=[64,96], value=0.125}\n"
                          "  %u = randn() {dtype=f32, shape=[96,64], seed=3}\n"
                          "  %a = matmul(%x, %w)\n"
                          "  %b = gelu(%a)\n"
                          "  %c = matmul(%b, %u)\n"
                          "  %d = add(%c, %x)\n"
                          "  %e = softmax(%d)\n"
                          "  return %e\n"
                          "}\n";

TEST(results_are_those_of_the_size_alone)
{
    open_context();
    check_all_sizes(mlp, 4, 40);
    check_all_sizes(mlp, 1, 40);
    close_context();
}

/* Over the batch too: nothing is padded. Heads are split and merged with sizes that count the batch. */
static const char mixed[] = "graph {\n"
                            "  %x = input \"x\" f32[@,6,8]\n"
                            "  %y = input \"y\" f32[@,8]\n"
                            "  %a = mean(%x) {axes=[0], keepdims=true}\n"
                            "  %b = sub(%x, %a)\n"
                            "  %h = reshape(%b) {shape=[@,6,2,4]}\n"
                            "  %p = permute(%h) {axes=[0,2,1,3]}\n"
                            "  %f = reshape(%p) {shape=[-1,4]}\n"
                            "  %s = softmax(%f) {axis=0}\n"
                            "  %g = reshape(%s) {shape=[@,48]}\n"
                            "  %t = slice(%y) {start=[0,2], stop=[@,6], step=[1,1]}\n"
                            "  %k = broadcast(%t) {shape=[3,@,4]}\n"
                            "  %l = slice(%y) {start=[-1,0], stop=[@,8], step=[1,1]}\n"
                            "  return %g, %k, %l\n"
                            "}\n";

TEST(what_counts_the_batch_follows_it)
{
    open_context();
    check_all_sizes(mixed, 3, 20);
    close_context();
}

TEST(the_program_tells_its_range)
{
    tern_program *program = NULL, *large = NULL;
    tern_program_info info;
    tern_port port;
    open_context();
    CHECK_OK(compile(mlp, 4, 2, 64, &program));
    tern_program_get_info(program, &info);
    CHECK_EQ(info.batch, 4);
    CHECK_EQ(info.batch_least, 2);
    CHECK_EQ(info.batch_most, 64);
    CHECK_OK(tern_program_for_batch(ctx, program, 64, &large));
    CHECK_OK(tern_program_output(large, 0, &port));
    CHECK_EQ(port.shape[0], 64);
    tern_program_get_info(large, &info);
    CHECK_EQ(info.batch, 0);
    tern_program *none = NULL;
    CHECK_STATUS(tern_program_for_batch(ctx, program, 65, &none), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_program_for_batch(ctx, large, 64, &none), TERN_INVALID_ARGUMENT);
    CHECK(none == NULL);
    tern_program_free(large);
    tern_program_free(program);
    close_context();
}

static size_t in_use(void)
{
    tern_pool_stats stats;
    tern_pool_get_stats(tern_ctx_pool(ctx), &stats);
    return stats.current_bytes;
}

static void run_once(tern_exec *exec, int64_t batch)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 2, (int64_t[]){batch, 64}), *y = NULL;
        CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
    }
}

/* Two intermediates of [b, 4096] at once. */
static const char wide[] = "graph {\n"
                           "  %x = input \"x\" f32[@,64]\n"
                           "  %w = randn() {dtype=f32, shape=[64,4096], seed=1}\n"
                           "  %a = matmul(%x, %w)\n"
                           "  %b = cumsum(%a) {axis=0}\n"
                           "  %c = cumsum(%b) {axis=1}\n"
                           "  %y = sum(%c) {axes=[1]}\n"
                           "  return %y\n"
                           "}\n";

TEST(all_sizes_share_one_arena)
{
    tern_program *program = NULL, *large = NULL;
    tern_exec *exec = NULL;
    tern_program_info largest;
    open_context();
    CHECK_OK(compile(wide, 8, 1, 64, &program));
    CHECK_OK(tern_program_for_batch(ctx, program, 64, &large));
    tern_program_get_info(large, &largest);
    CHECK(largest.arena_bytes >= 2 * 64 * 4096 * sizeof(float));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    const size_t before = in_use();
    run_once(exec, 64);
    const size_t with_largest = in_use();
    CHECK(with_largest >= before + largest.arena_bytes);
    CHECK(with_largest < before + largest.arena_bytes + largest.arena_bytes / 4);
    for (int64_t batch = 1; batch < 64; batch += 3)
        run_once(exec, batch);
    CHECK_EQ(in_use(), with_largest);
    tern_exec_free(exec);
    CHECK_EQ(in_use(), before);
    /* Upwards it is the same: the smaller arena goes when the larger comes. */
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    for (int64_t batch = 1; batch <= 64; batch++)
        run_once(exec, batch);
    CHECK_EQ(in_use(), with_largest);
    tern_exec_free(exec);
    tern_program_free(large);
    tern_program_free(program);
    close_context();
}

/* More sizes than an exec keeps, there and back. */
TEST(sizes_come_and_go)
{
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    open_context();
    CHECK_OK(compile(mlp, 4, 1, 100, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    for (int batch = 1; batch <= 80; batch += 2)
        check_size(exec, mlp, program, batch);
    for (int batch = 79; batch > 0; batch -= 6)
        check_size(exec, mlp, program, batch);
    tern_exec_free(exec);
    tern_program_free(program);
    close_context();
}

/* sum of all rows that were given, whatever the batches they came in. */
static const char counting[] = "graph {\n"
                               "  %x = input \"x\" f32[@,3]\n"
                               "  %s = state \"s\" f32[3]\n"
                               "  %a = sum(%x) {axes=[0]}\n"
                               "  %b = add(%s, %a)\n"
                               "  %t = overwrite(%s, %b)\n"
                               "  return %t\n"
                               "}\n";

TEST(all_sizes_share_states)
{
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    open_context();
    CHECK_OK(compile(counting, 2, 1, 9, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    float rows = 0;
    for (int64_t batch = 1; batch <= 9; batch++) {
        TERN_SCOPE(ctx) {
            tern_tensor *x = tern_ones(ctx, TERN_F32, 2, (int64_t[]){batch, 3}), *y = NULL;
            CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
            rows += (float)batch;
            CHECK(tern_data_f32(y)[0] == rows);
        }
    }
    tern_exec_free(exec);
    tern_program_free(program);
    close_context();
}

TEST(runs_outside_the_range_are_refused)
{
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    open_context();
    CHECK_OK(compile(mlp, 4, 2, 8, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    TERN_SCOPE(ctx) {
        tern_tensor *y = NULL, *x = tern_ones(ctx, TERN_F32, 2, (int64_t[]){9, 64});
        CHECK_STATUS(tern_exec_run(exec, 1, &x, 1, &y), TERN_OUT_OF_RANGE);
        CHECK_STR(tern_last_error(), "exec_run: a batch of 9, the program is for 2 to 8");
        x = tern_ones(ctx, TERN_F32, 2, (int64_t[]){5, 63});
        CHECK_STATUS(tern_exec_run(exec, 1, &x, 1, &y), TERN_SHAPE);
        CHECK_STR(tern_last_error(), "exec_run: input 'x' is f32[5,64], got f32[5,63]");
        CHECK(y == NULL);
    }
    tern_exec_free(exec);
    tern_program_free(program);
    close_context();
}

static void check_refused(const char *text, int recorded, int64_t least, int64_t most, tern_status status,
                          const char *message)
{
    tern_program *program = NULL;
    CHECK_STATUS(compile(text, recorded, least, most, &program), status);
    CHECK_STR(tern_last_error(), message);
    CHECK(program == NULL);
}

TEST(impossible_ranges_are_refused)
{
    open_context();
    check_refused(mlp, 4, 8, 2, TERN_INVALID_ARGUMENT,
                  "compile: a batch of 8 to 2 is no range: it starts at 1 or more and ends there or higher");
    check_refused(mlp, 4, 0, 2, TERN_INVALID_ARGUMENT,
                  "compile: a batch of 0 to 2 is no range: it starts at 1 or more and ends there or higher");
    check_refused(
        mlp, 4, 8, 16, TERN_INVALID_ARGUMENT,
        "compile: the graph was recorded with a batch of 4, which is not from 8 to 16: let the range "
        "contain 4 (others are derived from it)");
    check_refused("graph {\n  %c = full() {dtype=f32, shape=[2], value=1}\n  return %c\n}\n", 1, 1, 2,
                  TERN_INVALID_ARGUMENT, "compile: batch: the graph has no inputs");
    check_refused("graph {\n  %x = input \"x\" f32[]\n  %y = exp(%x)\n  return %y\n}\n", 1, 1, 2, TERN_SHAPE,
                  "compile: batch: input 'x' has no axes: name the inputs that have it");
    check_refused("graph {\n  %x = input \"x\" f32[2]\n  %z = input \"z\" f32[3]\n  %y = exp(%x)\n"
                  "  %w = exp(%z)\n  return %y, %w\n}\n",
                  1, 1, 2, TERN_SHAPE,
                  "compile: batch: the first axis of input 'z' is 3, that of 'x' 2: name the inputs that "
                  "have it");
    close_context();
}

TEST(inputs_are_named)
{
    static const char text[] = "graph {\n  %x = input \"x\" f32[@,2]\n  %z = input \"z\" f32[2]\n"
                               "  %y = add(%x, %z)\n  return %y\n}\n";
    const char *names[] = {"x"}, *wrong[] = {"v"}, *none[] = {NULL};
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    open_context();
    CHECK_OK(compile_named(text, 3, 1, 8, 1, names, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    TERN_SCOPE(ctx) {
        tern_tensor *in[] = {tern_ones(ctx, TERN_F32, 2, (int64_t[]){7, 2}),
                             tern_ones(ctx, TERN_F32, 1, (int64_t[]){2})};
        tern_tensor *y = NULL;
        CHECK_OK(tern_exec_run(exec, 2, in, 1, &y));
        CHECK_EQ(tern_dim(y, 0), 7);
        CHECK(tern_data_f32(y)[13] == 2);
    }
    tern_exec_free(exec);
    tern_program_free(program);
    program = NULL;
    CHECK_STATUS(compile_named(text, 3, 1, 8, 1, wrong, &program), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "compile: batch: no input is called 'v'");
    CHECK_STATUS(compile_named(text, 3, 1, 8, 1, none, &program), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(compile_named(text, 3, 1, 8, 1, NULL, &program), TERN_INVALID_ARGUMENT);
    close_context();
}

/* One that happens to fit some sizes is refused before it runs with any. */
TEST(graphs_for_one_size_are_refused)
{
    const char *texts[] = {
        "graph {\n  %x = input \"x\" f32[@,2]\n  %c = full() {dtype=f32, shape=[4,2], value=1}\n"
        "  %y = add(%x, %c)\n  return %y\n}\n",
        "graph {\n  %x = input \"x\" f32[@,2]\n  %y = reshape(%x) {shape=[2,4]}\n  return %y\n}\n",
        "graph {\n  %x = input \"x\" f32[@,2]\n  %s = state \"s\" f32[4,2]\n  %y = overwrite(%s, %x)\n"
        "  return %y\n}\n",
        "graph {\n  %x = input \"x\" f32[@,2]\n  %y, %z = split(%x) {sizes=[2,2], axis=0}\n"
        "  return %y, %z\n}\n",
    };
    tern_program *program = NULL;
    open_context();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK_STATUS(compile(texts[i], 4, 1, 8, &program), TERN_SHAPE);
        CHECK(strstr(tern_last_error(), "the batch it was recorded with only, 4: %"));
        CHECK(program == NULL);
    }
    static const char third[] = "graph {\n  %x = input \"x\" f32[@,2]\n"
                                "  %y = slice(%x) {start=[2,0], stop=[3,2], step=[1,1]}\n  return %y\n}\n";
    CHECK_STATUS(compile(third, 4, 2, 8, &program), TERN_SHAPE);
    CHECK(strstr(tern_last_error(), "compile: for a batch of 2: ") == tern_last_error());
    CHECK(strstr(tern_last_error(), "it takes [2:3] of a batch of 2"));
    CHECK_OK(compile(third, 4, 3, 8, &program));
    tern_program_free(program);
    close_context();
}

TEST(the_memory_limit_is_that_of_the_largest)
{
    tern_compile_options options = tern_compile_options_default();
    tern_program *program = NULL;
    open_context();
    tern_graph *graph = graph_of(wide, 8);
    options.batch = (tern_batch_range){.least = 1, .most = 64};
    options.memory_limit = 3 << 19;
    CHECK_STATUS(tern_graph_compile(ctx, graph, &options, &program), TERN_LIMIT);
    options.batch.most = 16;
    CHECK_OK(tern_graph_compile(ctx, graph, &options, &program));
    tern_program_free(program);
    tern_graph_free(graph);
    close_context();
}

TEST(lazy_evaluation_has_no_range)
{
    tern_compile_options compile_options = tern_compile_options_default();
    tern_ctx_options options = tern_ctx_options_default();
    compile_options.batch = (tern_batch_range){.least = 1, .most = 2};
    options.compile = &compile_options;
    tern_ctx *none = NULL;
    CHECK_STATUS(tern_ctx_create(&options, &none), TERN_INVALID_ARGUMENT);
    CHECK(none == NULL);
}

/* Seven ones in batches of four: each item, and the sum of its batch with one added to every row. */
static void check_tail(int least, int size, float want)
{
    enum { N = 7 };
    tern_program *program = NULL, *fitting = NULL;
    tern_exec *exec = NULL;
    tern_ctx_stats before, after;
    open_context();
    CHECK_OK(compile("graph {\n  %x = input \"x\" f32[@,3]\n  %c = full() {value=1} : f32[]\n"
                     "  %o = add(%x, %c)\n  %s = sum(%o) {axes=[0], keepdims=true}\n"
                     "  %y = add(%x, %s)\n  return %y\n}\n",
                     4, least, 8, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    TERN_SCOPE(ctx) {
        tern_tensor *items[N], *results[N];
        for (int i = 0; i < N; i++)
            items[i] = tern_ones(ctx, TERN_F32, 1, (int64_t[]){3});
        CHECK_OK(tern_batch_run(exec, N, items, results, NULL));
        CHECK_EQ(tern_data_f32(results[0])[0], 9);
        CHECK_EQ(tern_data_f32(results[N - 1])[0], want);
    }
    tern_ctx_get_stats(ctx, &before);
    CHECK_OK(tern_program_for_batch(ctx, program, size, &fitting)); /* it ran, so it is there */
    tern_ctx_get_stats(ctx, &after);
    CHECK_EQ(after.cache_misses, before.cache_misses);
    tern_program_free(fitting);
    tern_exec_free(exec);
    tern_program_free(program);
    close_context();
}

TEST(the_tail_of_a_list_runs_at_its_own_size)
{
    check_tail(1, 3, 7);
    check_tail(4, 4, 8); /* as the least that can run: a row of zeros is added */
}
