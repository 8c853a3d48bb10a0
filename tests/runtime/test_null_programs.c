/* test_null_programs.c - graphs, edits, programs, execs and caches with NULL for each pointer in turn. */
#include <pthread.h>

#include "null_arguments.h"

static const int64_t shape[] = {2};
static const char text[] = "graph { %x = input \"x\" f32[2]\n %y = clamp(%x) {low=0, high=1}\n return %y }";
static tern_ctx *ctx;
static tern_graph *graph;

static void set_up(void)
{
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_scope_open(ctx);
    CHECK_OK(tern_graph_parse(ctx, text, sizeof text - 1, &graph));
}

static void tear_down(void)
{
    tern_graph_free(graph);
    tern_scope_close(ctx);
    tern_ctx_destroy(ctx);
    ctx = NULL;
    graph = NULL;
}

static tern_status fill_nothing(void *user, int64_t batch, int n_inputs, void *const *inputs)
{
    (void)user, (void)batch, (void)n_inputs, (void)inputs;
    return TERN_OK;
}

TEST(graphs)
{
    set_up();
    tern_tensor *x = tern_ones(ctx, TERN_F32, 1, shape), *none = NULL;
    const char *no_name = NULL;
    tern_graph *made;
    REFUSED(tern_graph_capture(NULL, 1, &x, NULL, &o.graph));
    REFUSED(tern_graph_capture(ctx, 1, NULL, NULL, &o.graph));
    REFUSED(tern_graph_capture(ctx, 1, &none, NULL, &o.graph));
    REFUSED(tern_graph_capture(ctx, 1, &x, NULL, NULL));
    CHECK_OK(tern_graph_capture(ctx, 1, &x, &no_name, &made));
    tern_graph_free(made);
    CHECK_OK(tern_graph_parse(NULL, text, sizeof text - 1, &made)); /* without a pool of a context */
    tern_graph_free(made);
    REFUSED(tern_graph_parse(ctx, NULL, 1, &o.graph));
    REFUSED(tern_graph_parse(ctx, text, sizeof text - 1, NULL));
    tern_graph_free(NULL);
    REFUSED(tern_graph_print(NULL, &o.text));
    REFUSED(tern_graph_print(graph, NULL));
    REFUSED(tern_graph_dot(NULL, &o.text));
    REFUSED(tern_graph_dot(graph, NULL));
    tern_string_free(NULL);
    REFUSED(tern_graph_verify(NULL));
    QUIET(tern_graph_get_info(NULL, &o.graph_info));
    QUIET(tern_graph_get_info(graph, NULL));
    REFUSED(tern_graph_input(NULL, 0, &o.port));
    REFUSED(tern_graph_input(graph, 0, NULL));
    REFUSED(tern_graph_bind(NULL, "x", x));
    REFUSED(tern_graph_bind(graph, NULL, x));
    REFUSED(tern_graph_bind(graph, "x", NULL));
    REFUSED(tern_graph_output(NULL, 0, &o.port));
    REFUSED(tern_graph_output(graph, 0, NULL));
    tear_down();
}

TEST(insides_of_graphs)
{
    set_up();
    REFUSED(tern_graph_node(NULL, 0, &o.node_info));
    REFUSED(tern_graph_node(graph, 0, NULL));
    REFUSED(tern_graph_value(NULL, 0, &o.value_info));
    REFUSED(tern_graph_value(graph, 0, NULL));
    REFUSED(tern_graph_output_value(NULL, 0, &o.value));
    REFUSED(tern_graph_output_value(graph, 0, NULL));
    REFUSED(tern_graph_attr(NULL, 1, 0, &o.attr_info));
    REFUSED(tern_graph_attr(graph, 1, 0, NULL));
    REFUSED(tern_graph_attr_named(NULL, 1, "low", &o.attr_info));
    REFUSED(tern_graph_attr_named(graph, 1, NULL, &o.attr_info));
    REFUSED(tern_graph_attr_named(graph, 1, "low", NULL));
    REFUSED(tern_graph_label(NULL, 0, &o.label));
    REFUSED(tern_graph_label(graph, 0, NULL));
    REFUSED(tern_graph_call_text(NULL, 1, &o.text));
    REFUSED(tern_graph_call_text(graph, 1, NULL));
    tear_down();
}

TEST(edits)
{
    set_up();
    tern_edit *edit;
    tern_value value = 0;
    tern_node node = 1;
    CHECK_OK(tern_edit_begin(graph, &edit));
    REFUSED(tern_edit_begin(NULL, &o.edit));
    REFUSED(tern_edit_begin(graph, NULL));
    NEUTRAL(tern_edit_graph(NULL), NULL);
    REFUSED(tern_edit_insert(NULL, "neg", NULL, 1, &value, &o.value));
    REFUSED(tern_edit_insert(edit, NULL, NULL, 1, &value, &o.value));
    REFUSED(tern_edit_insert(edit, "neg", NULL, 1, NULL, &o.value));
    REFUSED(tern_edit_insert(edit, "neg", NULL, 1, &value, NULL));
    REFUSED(tern_edit_insert_constant(NULL, "c", TERN_F32, 1, shape, "01234567", &o.value));
    REFUSED(tern_edit_insert_constant(edit, "c", TERN_F32, 1, NULL, "01234567", &o.value));
    REFUSED(tern_edit_insert_constant(edit, "c", TERN_F32, 1, shape, NULL, &o.value));
    REFUSED(tern_edit_insert_constant(edit, "c", TERN_F32, 1, shape, "01234567", NULL));
    REFUSED(tern_edit_replace(NULL, 0, 1));
    REFUSED(tern_edit_set_operand(NULL, 1, 0, 0));
    REFUSED(tern_edit_remove(NULL, 1));
    NEUTRAL(tern_edit_uses(NULL, 0), 0);
    REFUSED(tern_edit_fuse(NULL, 1, &node, &o.node));
    REFUSED(tern_edit_fuse(edit, 1, NULL, &o.node));
    REFUSED(tern_edit_fuse(edit, 1, &node, NULL));
    QUIET(tern_edit_note(NULL, "%s", "x"));
    CHECK_STATUS(tern_edit_fail(NULL, "%s", "a sentence"), TERN_INVALID_ARGUMENT);
    REFUSED(tern_edit_finish(NULL, &o.graph));
    REFUSED(tern_edit_finish(edit, NULL));
    tern_edit_free(edit);
    tern_edit_free(NULL);
    tear_down();
}

TEST(programs)
{
    set_up();
    tern_tensor *x = tern_ones(ctx, TERN_F32, 1, shape), *none = NULL;
    tern_program *program;
    tern_exec *exec;
    CHECK_OK(tern_graph_compile(ctx, graph, NULL, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    tern_compile_options options = tern_compile_options_default();
    options.n_disabled = 1;
    REFUSED(tern_graph_compile(ctx, graph, &options, &o.program));
    REFUSED(tern_graph_compile(NULL, graph, NULL, &o.program));
    REFUSED(tern_graph_compile(ctx, NULL, NULL, &o.program));
    REFUSED(tern_graph_compile(ctx, graph, NULL, NULL));
    REFUSED(tern_compile(NULL, 1, &x, NULL, NULL, &o.program));
    REFUSED(tern_compile(ctx, 1, NULL, NULL, NULL, &o.program));
    REFUSED(tern_compile(ctx, 1, &none, NULL, NULL, &o.program));
    REFUSED(tern_compile(ctx, 1, &x, NULL, NULL, NULL));
    REFUSED(tern_level_parse(NULL, &o.level));
    REFUSED(tern_level_parse("none", NULL));
    CHECK_STR(tern_level_name((tern_level)99), "invalid");
    REFUSED(tern_program_input(NULL, 0, &o.port));
    REFUSED(tern_program_input(program, 0, NULL));
    REFUSED(tern_program_find_input(NULL, "x", &o.number));
    REFUSED(tern_program_find_input(program, NULL, &o.number));
    REFUSED(tern_program_find_input(program, "x", NULL));
    REFUSED(tern_program_output(NULL, 0, &o.port));
    REFUSED(tern_program_output(program, 0, NULL));
    REFUSED(tern_program_pass(NULL, 0, &o.pass_report));
    REFUSED(tern_program_pass(program, 0, NULL));
    QUIET(tern_program_get_info(NULL, &o.program_info));
    QUIET(tern_program_get_info(program, NULL));
    REFUSED(tern_program_for_batch(NULL, program, 1, &o.program));
    REFUSED(tern_program_for_batch(ctx, NULL, 1, &o.program));
    REFUSED(tern_program_for_batch(ctx, program, 1, NULL));
    REFUSED(tern_program_step(NULL, 0, &o.step_info));
    REFUSED(tern_program_step(program, 0, NULL));
    tern_partition_info partition;
    REFUSED(tern_program_partition(NULL, 0, &partition));
    REFUSED(tern_program_partition(program, 0, NULL));
    REFUSED(tern_program_operand(NULL, 0, 0, &o.operand_info));
    REFUSED(tern_program_operand(program, 0, 0, NULL));
    REFUSED(tern_exec_create(NULL, program, &o.exec));
    REFUSED(tern_exec_create(ctx, NULL, &o.exec));
    REFUSED(tern_exec_create(ctx, program, NULL));
    REFUSED(tern_exec_create_in_place(NULL, program, &o.exec));
    REFUSED(tern_exec_create_in_place(ctx, NULL, &o.exec));
    REFUSED(tern_exec_create_in_place(ctx, program, NULL));
    REFUSED(tern_exec_run(NULL, 1, &x, 1, o.tensors));
    REFUSED(tern_exec_run(exec, 1, NULL, 1, o.tensors));
    REFUSED(tern_exec_run(exec, 1, &none, 1, o.tensors));
    REFUSED(tern_exec_run(exec, 1, &x, 1, NULL));
    REFUSED(tern_pipeline_run(NULL, 1, &(tern_pipeline){.fill = fill_nothing}));
    REFUSED(tern_pipeline_run(exec, 1, NULL));
    REFUSED(tern_pipeline_run(exec, 1, &(tern_pipeline){0}));
    tern_exec_free(exec);
    tern_exec_free(NULL);
    tern_program_free(program);
    tern_program_free(NULL);
    tear_down();
}

static tern_status work_nothing(void *user)
{
    (void)user;
    return TERN_OK;
}

TEST(streams)
{
    set_up();
    tern_tensor *x = tern_ones(ctx, TERN_F32, 1, shape);
    tern_stream *stream = NULL;
    tern_event *event = NULL;
    float numbers[64] = {0};
    NEUTRAL(tern_ctx_device_error(NULL, &o.device_error), false);
    NEUTRAL(tern_ctx_device_error(ctx, NULL), false);
    REFUSED(tern_stream_create(NULL, &o.stream));
    REFUSED(tern_stream_create(ctx, NULL));
    CHECK_OK(tern_stream_create(ctx, &stream));
    REFUSED(tern_event_create(NULL));
    CHECK_OK(tern_event_create(&event));
    REFUSED(tern_stream_write(NULL, x, numbers));
    REFUSED(tern_stream_write(stream, NULL, numbers));
    REFUSED(tern_stream_write(stream, x, NULL));
    REFUSED(tern_stream_read(NULL, x, numbers));
    REFUSED(tern_stream_read(stream, NULL, numbers));
    REFUSED(tern_stream_read(stream, x, NULL));
    REFUSED(tern_stream_call(NULL, "work", work_nothing, NULL));
    REFUSED(tern_stream_call(stream, NULL, work_nothing, NULL));
    REFUSED(tern_stream_call(stream, "work", NULL, NULL));
    REFUSED(tern_stream_wait(NULL, event));
    REFUSED(tern_stream_wait(stream, NULL));
    REFUSED(tern_stream_record(NULL, &o.event));
    REFUSED(tern_stream_record(stream, NULL));
    REFUSED(tern_stream_synchronise(NULL));
    REFUSED(tern_event_signal(NULL));
    REFUSED(tern_event_wait(NULL));
    NEUTRAL(tern_event_is_done(NULL), false);
    tern_event_free(event);
    tern_event_free(NULL);
    tern_stream_free(stream);
    tern_stream_free(NULL);
    tear_down();
}

TEST(conditions)
{
    set_up();
    tern_governor *governor = NULL;
    static const tern_conditions calm;
    QUIET(tern_ctx_limit_threads(NULL, 1));
    QUIET(tern_session_limit_batch(NULL, 1));
    REFUSED(tern_session_set_before_batch(NULL, NULL, NULL));
    CHECK_STR(tern_strain_name((tern_strain)99), "unknown");
    CHECK_STR(tern_sensor_name((tern_sensor)99), "unknown");
    REFUSED(tern_conditions_read("/", NULL, NULL));
    ALLOWED(CHECK_OK(tern_conditions_read(NULL, NULL, &o.conditions)));
    QUIET(tern_policy_usual(NULL, NULL, &o.allowance));
    QUIET(tern_policy_usual(NULL, &calm, NULL));
    REFUSED(tern_governor_create(NULL, NULL, NULL, &o.governor));
    REFUSED(tern_governor_create(ctx, NULL, NULL, NULL));
    CHECK_OK(tern_governor_create(ctx, NULL, NULL, &governor));
    REFUSED(tern_governor_look(NULL, 1));
    QUIET(tern_governor_get(NULL, &o.conditions, &o.allowance));
    QUIET(tern_governor_get(governor, NULL, NULL));
    tern_governor_free(governor);
    tern_governor_free(NULL);
    tear_down();
}

/* Its own thread: it would keep the priority of this one low. */
static void *make_way(void *unused)
{
    (void)unused;
    static tern_status status;
    status = tern_thread_background();
    return &status;
}

TEST(background)
{
    pthread_t thread;
    void *status;
    CHECK(pthread_create(&thread, NULL, make_way, NULL) == 0);
    CHECK(pthread_join(thread, &status) == 0);
    CHECK(*(tern_status *)status == TERN_OK || *(tern_status *)status == TERN_UNSUPPORTED ||
          *(tern_status *)status == TERN_UNAVAILABLE);
}

static tern_status make(void *user, tern_ctx *of, tern_tensor **out)
{
    (void)user;
    *out = tern_ones(of, TERN_F32, 1, shape);
    return TERN_OK;
}

TEST(caches)
{
    set_up();
    tern_tensor *x = tern_ones(ctx, TERN_F32, 1, shape);
    tern_cache *cache;
    CHECK(tern_cache_options_default().max_bytes > 0);
    REFUSED(tern_cache_create(NULL, NULL));
    CHECK_OK(tern_cache_create(NULL, &cache));
    REFUSED(tern_cache_put(NULL, "k", x));
    REFUSED(tern_cache_put(cache, NULL, x));
    REFUSED(tern_cache_put(cache, "k", NULL));
    CHECK_OK(tern_cache_put(cache, "k", x));
    REFUSED(tern_cache_get(NULL, ctx, "k", &o.tensors[0]));
    REFUSED(tern_cache_get(cache, NULL, "k", &o.tensors[0]));
    REFUSED(tern_cache_get(cache, ctx, NULL, &o.tensors[0]));
    REFUSED(tern_cache_get(cache, ctx, "k", NULL));
    REFUSED(tern_cache_get_or_make(NULL, ctx, "k", make, NULL, &o.tensors[0]));
    REFUSED(tern_cache_get_or_make(cache, NULL, "k", make, NULL, &o.tensors[0]));
    REFUSED(tern_cache_get_or_make(cache, ctx, NULL, make, NULL, &o.tensors[0]));
    REFUSED(tern_cache_get_or_make(cache, ctx, "other", NULL, NULL, &o.tensors[0]));
    REFUSED(tern_cache_get_or_make(cache, ctx, "k", make, NULL, NULL));
    NEUTRAL(tern_cache_remove(NULL, "k"), false);
    NEUTRAL(tern_cache_remove(cache, NULL), false);
    tern_cache_clear(NULL);
    NEUTRAL(tern_cache_sweep(NULL), 0);
    QUIET(tern_cache_get_stats(NULL, &o.cache_stats));
    QUIET(tern_cache_get_stats(cache, NULL));
    tern_cache_free(cache);
    tern_cache_free(NULL);
    tear_down();
}
