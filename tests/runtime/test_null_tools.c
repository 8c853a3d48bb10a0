/* test_null_tools.c - looking into programs, timing, tuning, batches and the machine's model with NULL for
 * each pointer in turn. */
#include <math.h>
#include <stdio.h>

#include "null_arguments.h"

static const int64_t shape[] = {2};
static const char text[] = "graph { %x = input \"x\" f32[2]\n %y = clamp(%x) {low=0, high=1}\n return %y }";
static tern_ctx *ctx;
static tern_graph *graph;
static tern_program *program;
static tern_exec *exec;

static void set_up(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    tern_scope_open(ctx);
    CHECK_OK(tern_graph_parse(ctx, text, sizeof text - 1, &graph));
    CHECK_OK(tern_graph_compile(ctx, graph, NULL, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
}

static void tear_down(void)
{
    tern_exec_free(exec);
    tern_program_free(program);
    tern_graph_free(graph);
    tern_scope_close(ctx);
    tern_ctx_destroy(ctx);
}

TEST(insides_of_programs)
{
    set_up();
    REFUSED(tern_goal_parse(NULL, &o.goal));
    REFUSED(tern_goal_parse("speed", NULL));
    REFUSED(tern_precision_parse(NULL, &o.precision));
    REFUSED(tern_precision_parse("exact", NULL));
    NEUTRAL(tern_program_graph(NULL), NULL);
    REFUSED(tern_program_dot(NULL, &o.text));
    REFUSED(tern_program_dot(program, NULL));
    REFUSED(tern_program_fusion(NULL, 0, &o.fusion_info));
    REFUSED(tern_program_fusion(program, 0, NULL));
    REFUSED(tern_program_buffer(NULL, 0, &o.buffer_info));
    REFUSED(tern_program_buffer(program, 0, NULL));
    REFUSED(tern_exec_time_steps(NULL, true));
    REFUSED(tern_exec_step_time(NULL, 0, &o.step_time));
    REFUSED(tern_exec_step_time(exec, 0, NULL));
    REFUSED(tern_exec_time_partitions(NULL, true));
    REFUSED(tern_exec_stage(NULL, 0, NULL));
    REFUSED(tern_exec_partition_time(NULL, 0, &o.step_time));
    REFUSED(tern_exec_partition_time(exec, 0, NULL));
    tern_transfer_time transfer;
    REFUSED(tern_exec_partition_transfer(NULL, 0, &transfer));
    REFUSED(tern_exec_partition_transfer(exec, 0, NULL));
    tear_down();
}

static tern_status nothing(void *user, int configuration, uint64_t *ns)
{
    (void)user, (void)configuration;
    *ns = 1;
    return TERN_OK;
}

TEST(tuning)
{
    set_up();
    const char *const names[] = {"a", "b"}, *const no_names[] = {"a", NULL};
    int best = 0;
    CHECK(tern_tune_options_default().progress == NULL);
    REFUSED(tern_program_tune(NULL, program, 0, NULL, NULL, &o.tune_report));
    REFUSED(tern_program_tune(ctx, NULL, 0, NULL, NULL, &o.tune_report));
    REFUSED(tern_tune(NULL, "n", NULL, 2, names, nothing, NULL, NULL, &o.number, &o.tune_report));
    REFUSED(tern_tune(ctx, NULL, NULL, 2, names, nothing, NULL, NULL, &o.number, &o.tune_report));
    REFUSED(tern_tune(ctx, "n", NULL, 2, NULL, nothing, NULL, NULL, &o.number, &o.tune_report));
    REFUSED(tern_tune(ctx, "n", NULL, 2, no_names, nothing, NULL, NULL, &o.number, &o.tune_report));
    REFUSED(tern_tune(ctx, "n", NULL, 2, names, NULL, NULL, NULL, &o.number, &o.tune_report));
    REFUSED(tern_tune(ctx, "n", NULL, 2, names, nothing, NULL, NULL, NULL, &o.tune_report));
    CHECK_OK(tern_tune(ctx, "n", NULL, 2, names, nothing, NULL, NULL, &best, NULL));
    REFUSED(tern_tune_list(NULL, &o.tune_report));
    REFUSED(tern_tune_list(ctx, NULL));
    REFUSED(tern_tune_devices(NULL, 0, NULL, NULL, &o.tune_report));
    REFUSED(tern_tune_devices(ctx, 1, NULL, NULL, &o.tune_report));
    REFUSED(tern_tune_clear(NULL));
    CHECK_STR(tern_tune_path(NULL), "");
    CHECK_STR(tern_tune_trouble(NULL), "");
    NEUTRAL(tern_tune_report_rows(NULL), 0);
    REFUSED(tern_tune_report_row(NULL, 0, &o.tune_row));
    NEUTRAL(tern_tune_report_runs(NULL), 0);
    tern_tune_report_free(NULL);
    tear_down();
}

static tern_status compile(void *user, tern_ctx *of, int64_t batch, tern_program **out)
{
    (void)user, (void)batch;
    return tern_graph_compile(of, graph, NULL, out);
}

static tern_status count(void *user, int64_t first, int64_t n, void *const *items, void **results)
{
    (void)first, (void)items, (void)results;
    *(int64_t *)user += n;
    return TERN_OK;
}

TEST(batches)
{
    set_up();
    tern_tensor *item = tern_ones(ctx, TERN_F32, 1, shape);
    tern_batch_work work = {.compile = compile}, no_work = {.compile = NULL};
    int64_t counted = 0;
    CHECK(tern_batch_options_default().memory_limit == 0);
    REFUSED(tern_batch_find(NULL, &work, NULL, &o.ints[0], NULL, NULL));
    REFUSED(tern_batch_find(ctx, NULL, NULL, &o.ints[0], NULL, NULL));
    REFUSED(tern_batch_find(ctx, &no_work, NULL, &o.ints[0], NULL, NULL));
    REFUSED(tern_batch_find(ctx, &work, NULL, NULL, NULL, NULL));
    REFUSED(tern_batch_process(3, NULL, NULL, 2, NULL, NULL, NULL));
    CHECK_OK(tern_batch_process(3, NULL, NULL, 2, count, &counted, NULL));
    CHECK_EQ(counted, 3);
    REFUSED(tern_batch_run(NULL, 1, &item, o.tensors, NULL));
    REFUSED(tern_batch_run(exec, 1, NULL, o.tensors, NULL));
    REFUSED(tern_batch_run(exec, 1, &item, NULL, NULL));
    tear_down();
}

TEST(sets_of_results)
{
    tern_results *results = NULL, *none = NULL;
    tern_result row = tern_result_default();
    tern_result_format format = TERN_RESULT_JSON;
    const char *name = NULL, *value = NULL;
    char *words = NULL;
    REFUSED(tern_results_create(NULL));
    CHECK_OK(tern_results_create(&results));
    REFUSED(tern_results_add(NULL, &row));
    REFUSED(tern_results_add(results, NULL));
    NEUTRAL(tern_results_count(NULL), 0);
    REFUSED(tern_results_at(NULL, 0, &row));
    REFUSED(tern_results_at(results, 0, NULL));
    REFUSED(tern_results_note_conditions(NULL));
    REFUSED(tern_results_set_condition(NULL, "a", "b"));
    REFUSED(tern_results_set_condition(results, NULL, "b"));
    REFUSED(tern_results_set_condition(results, "a", NULL));
    NEUTRAL(tern_results_condition(NULL, "a"), NULL);
    NEUTRAL(tern_results_condition(results, NULL), NULL);
    CHECK(isnan(tern_results_busy(NULL)));
    const tern_moment begin = tern_moment_now();
    REFUSED(tern_results_note_disturbance(NULL, &begin));
    REFUSED(tern_results_note_disturbance(results, NULL));
    NEUTRAL(tern_moment_disturbed(NULL, NULL, 0), false);
    tern_moment_disturbed(&begin, NULL, 0);
    REFUSED(tern_results_condition_at(NULL, 0, &name, &value));
    REFUSED(tern_results_condition_at(results, 0, NULL, &value));
    REFUSED(tern_results_condition_at(results, 0, &name, NULL));
    REFUSED(tern_results_write(NULL, TERN_RESULT_JSON, &words));
    REFUSED(tern_results_write(results, TERN_RESULT_JSON, NULL));
    REFUSED(tern_results_read(NULL, 0, &none));
    REFUSED(tern_results_read("[]", 2, NULL));
    REFUSED(tern_results_load(NULL, &none));
    REFUSED(tern_results_load("x", NULL));
    REFUSED(tern_result_format_parse(NULL, &format));
    REFUSED(tern_result_format_parse("json", NULL));
    CHECK_STR(tern_result_format_name(TERN_RESULT_CSV), "csv");
    CHECK(!tern_results_repeat(NULL, results) && !tern_results_repeat(results, NULL));
    CHECK(!tern_result_same(NULL, &row) && !tern_result_same(&row, NULL));
    tern_results_free(results);
    tern_results_free(NULL);
}

static void nobody_looks(void *user, const tern_baseline_info *info)
{
    (void)user, (void)info;
}

TEST(baselines_and_regressions)
{
    tern_baselines *store = NULL;
    tern_results *results = NULL, *none = NULL;
    tern_regress_report *report = NULL;
    tern_regress_row row;
    tern_history history;
    char path[1024], *words = NULL;
    const double one[] = {1};
    CHECK(harness_path(path, sizeof path, "null.db"));
    CHECK_OK(tern_results_create(&results));
    REFUSED(tern_baselines_open(NULL, true, &store));
    REFUSED(tern_baselines_open(path, true, NULL));
    REFUSED(tern_baseline_create(NULL, "a", "b", results, false));
    REFUSED(tern_baseline_check_name(NULL, "a", false));
    REFUSED(tern_baseline_add_check(NULL, "a", results));
    REFUSED(tern_baseline_delete(NULL, "a"));
    REFUSED(tern_baseline_list(NULL, nobody_looks, NULL));
    REFUSED(tern_baseline_find(NULL, "a", nobody_looks, NULL));
    REFUSED(tern_baseline_load(NULL, "a", &none));
    REFUSED(tern_baseline_history(NULL, "a", &none));
    if (tern_baselines_open(path, true, &store) == TERN_OK) {
        REFUSED(tern_baseline_create(store, NULL, "b", results, false));
        REFUSED(tern_baseline_check_name(store, NULL, false));
        REFUSED(tern_baseline_create(store, "a", "b", NULL, false));
        REFUSED(tern_baseline_add_check(store, NULL, results));
        REFUSED(tern_baseline_add_check(store, "a", NULL));
        REFUSED(tern_baseline_delete(store, NULL));
        REFUSED(tern_baseline_list(store, NULL, NULL));
        REFUSED(tern_baseline_find(store, NULL, nobody_looks, NULL));
        REFUSED(tern_baseline_find(store, "a", NULL, NULL));
        REFUSED(tern_baseline_load(store, NULL, &none));
        REFUSED(tern_baseline_load(store, "a", NULL));
        REFUSED(tern_baseline_history(store, NULL, &none));
        REFUSED(tern_baseline_history(store, "a", NULL));
    }
    tern_baselines_close(store);
    tern_baselines_close(NULL);
    remove(path);
    REFUSED(tern_regress_run(NULL, NULL, NULL, NULL, &report));
    REFUSED(tern_regress_run(NULL, NULL, results, NULL, NULL));
    REFUSED(tern_regress_pairs(NULL, NULL, results, &report));
    REFUSED(tern_regress_pairs(NULL, results, NULL, &report));
    REFUSED(tern_regress_pairs(NULL, results, results, NULL));
    REFUSED(tern_regress_compare(NULL, NULL, NULL, results, &report));
    REFUSED(tern_regress_compare(NULL, results, NULL, NULL, &report));
    REFUSED(tern_regress_compare(NULL, results, NULL, results, NULL));
    NEUTRAL(tern_regress_rows(NULL), 0);
    REFUSED(tern_regress_at(NULL, 0, &row));
    NEUTRAL(tern_regress_worst(NULL), TERN_REGRESS_SAME);
    NEUTRAL(tern_regress_results(NULL), NULL);
    REFUSED(tern_regress_write(NULL, TERN_REGRESS_AS_TEXT, &words));
    CHECK_OK(tern_regress_compare(NULL, results, NULL, results, &report));
    REFUSED(tern_regress_at(report, 0, NULL));
    REFUSED(tern_regress_write(report, TERN_REGRESS_AS_TEXT, NULL));
    tern_regress_free(report);
    tern_regress_free(NULL);
    REFUSED(tern_history_read(NULL, 1, &history));
    REFUSED(tern_history_read(one, 1, NULL));
    CHECK_STR(tern_regress_state_name(TERN_REGRESS_SAME), "same");
    tern_results_free(results);
}

TEST(reports)
{
    tern_report *report = NULL;
    tern_results *results = NULL;
    const char *name, *what;
    char *words = NULL;
    CHECK_OK(tern_results_create(&results));
    REFUSED(tern_report_create(NULL, NULL));
    CHECK_OK(tern_report_create(NULL, &report));
    REFUSED(tern_report_add_results(NULL, "a", results));
    REFUSED(tern_report_add_results(report, NULL, results));
    REFUSED(tern_report_add_results(report, "a", NULL));
    REFUSED(tern_report_add_document(NULL, "a", "[]", 2));
    REFUSED(tern_report_add_document(report, NULL, "[]", 2));
    REFUSED(tern_report_add_document(report, "a", NULL, 2));
    REFUSED(tern_report_load(NULL, "a"));
    REFUSED(tern_report_load(report, NULL));
    REFUSED(tern_report_note(NULL, "a"));
    REFUSED(tern_report_note(report, NULL));
    CHECK_EQ(tern_regress_pairs_needed(NULL, 1), 8);
    tern_report_format page;
    tern_regress_format table;
    REFUSED(tern_report_format_parse(NULL, &page));
    REFUSED(tern_report_format_parse("html", NULL));
    REFUSED(tern_regress_format_parse(NULL, &table));
    REFUSED(tern_regress_format_parse("html", NULL));
    REFUSED(tern_report_add_regress(NULL, "a", (tern_regress_report *)results, results, NULL));
    REFUSED(tern_report_add_regress(report, "a", NULL, results, NULL));
    REFUSED(tern_report_compare(NULL, "a", NULL, results, NULL));
    REFUSED(tern_report_compare(report, NULL, NULL, results, NULL));
    REFUSED(tern_report_compare(report, "a", NULL, NULL, NULL));
    REFUSED(tern_report_section(0, NULL, &what));
    REFUSED(tern_report_section(0, &name, NULL));
    REFUSED(tern_report_write(NULL, TERN_REPORT_TEXT, 0, NULL, &words));
    REFUSED(tern_report_write(report, TERN_REPORT_TEXT, 1, NULL, &words));
    REFUSED(tern_report_write(report, TERN_REPORT_TEXT, 0, NULL, NULL));
    tern_report_free(report);
    tern_report_free(NULL);
    tern_results_free(results);
}

TEST(charts)
{
    char *svg = NULL;
    REFUSED(tern_chart_write(NULL, &svg));
    REFUSED(tern_chart_write(&(tern_chart){0}, NULL));
    REFUSED(tern_chart_write(&(tern_chart){.n = 1}, &svg));
}

TEST(measurements)
{
    const char *name = NULL;
    REFUSED(tern_bench_run(NULL, NULL, NULL));
    REFUSED(tern_bench_suite(0, NULL, &name));
    REFUSED(tern_bench_suite(0, &name, NULL));
    REFUSED(tern_bench_case(NULL, 0, NULL, NULL));
    REFUSED(tern_bench_threads(1, NULL));
    const double one[] = {1};
    tern_comparison comparison;
    const tern_contender nobody = {NULL, NULL};
    REFUSED(tern_compare_samples(NULL, NULL, 1, one, 1, &comparison));
    REFUSED(tern_compare_samples(NULL, one, 1, NULL, 1, &comparison));
    REFUSED(tern_compare_samples(NULL, one, 1, one, 1, NULL));
    REFUSED(tern_compare_pairs(NULL, NULL, one, 1, &comparison));
    REFUSED(tern_compare_pairs(NULL, one, NULL, 1, &comparison));
    REFUSED(tern_compare_pairs(NULL, one, one, 1, NULL));
    REFUSED(tern_compare_run(NULL, NULL, &nobody, &comparison));
    REFUSED(tern_compare_run(NULL, &nobody, NULL, &comparison));
    REFUSED(tern_compare_run(NULL, &nobody, &nobody, NULL));
    tern_device_comparison *devices = NULL;
    tern_device_time time = {.device = "cpu"};
    tern_device_crossover crossover;
    tern_device_advice advice;
    const tern_device_compare_options unnamed = {.n_devices = 1};
    REFUSED(tern_device_comparison_create(NULL));
    CHECK_OK(tern_device_comparison_create(&devices));
    REFUSED(tern_device_comparison_add(NULL, &time));
    REFUSED(tern_device_comparison_add(devices, NULL));
    REFUSED(tern_device_comparison_time(NULL, 0, &time));
    REFUSED(tern_device_comparison_time(devices, 0, NULL));
    REFUSED(tern_device_comparison_crossover(NULL, 0, &crossover));
    REFUSED(tern_device_comparison_crossover(devices, 0, NULL));
    REFUSED(tern_device_comparison_advice(NULL, 0, &advice));
    REFUSED(tern_device_comparison_advice(devices, 0, NULL));
    tern_device_text said = {0};
    char words[64];
    REFUSED(tern_device_comparison_add_text(NULL, &said));
    REFUSED(tern_device_comparison_add_text(devices, NULL));
    REFUSED(tern_device_comparison_text(NULL, 0, &said));
    REFUSED(tern_device_comparison_text(devices, 0, NULL));
    CHECK_STR(tern_device_text_words(NULL, "cpu", words, sizeof words), "");
    CHECK_STR(tern_device_text_words(&said, NULL, words, sizeof words), "");
    CHECK_STR(tern_device_text_words(&said, "cpu", NULL, 8), "");
    REFUSED(tern_device_comparison_json(NULL, &o.text));
    REFUSED(tern_device_comparison_json(devices, NULL));
    REFUSED(tern_devices_compare(NULL, NULL));
    REFUSED(tern_devices_compare(&unnamed, &devices));
    tern_device_comparison_free(devices);
    tern_device_comparison_free(NULL);
    CHECK_STR(tern_device_use_name((tern_device_use)99), "unknown");
    CHECK_STR(tern_verdict_name((tern_verdict)-1), "unknown");
    tern_bench_model_options model = tern_bench_model_options_default();
    CHECK_EQ(model.n_prompt, 512);
    REFUSED(tern_bench_model_add(NULL, (tern_results *)&model));
    REFUSED(tern_bench_model_add(&(tern_bench_model_row){0}, NULL));
    REFUSED(tern_bench_model_note_settings(NULL, (tern_results *)&model));
    REFUSED(tern_bench_model_note_settings(&model, (tern_results *)&model)); /* it has no path */
    model.path = "a";
    REFUSED(tern_bench_model_note_settings(&model, NULL));
    model.path = NULL;
    REFUSED(tern_bench_note_settings(NULL, (tern_results *)&model));
    REFUSED(tern_bench_note_settings(&(tern_bench_options){0}, NULL));
    REFUSED(tern_bench_model(NULL, NULL, NULL));
    REFUSED(tern_bench_model(&model, NULL, NULL));
}

TEST(machines)
{
    set_up();
    REFUSED(tern_machine_measure(NULL, &o.machine));
    REFUSED(tern_machine_measure(ctx, NULL));
    NEUTRAL(tern_machine_estimate_ns(NULL, 1, 1) > 0, false);
    tear_down();
}

TEST(trainers)
{
    set_up();
    int32_t tokens[2 * 3] = {0};
    tern_train_options options = tern_train_options_default();
    options.shape = (tern_train_shape){.vocabulary = 4,
                                       .context = 2,
                                       .layers = 1,
                                       .width = 8,
                                       .feed_forward = 8,
                                       .heads = 2,
                                       .kv_heads = 2,
                                       .rope_theta = 10000,
                                       .norm_eps = 1e-5};
    options.batch = 2;
    tern_trainer *t;
    REFUSED(tern_trainer_create(NULL, &options, &o.trainer));
    REFUSED(tern_trainer_create(ctx, NULL, &o.trainer));
    REFUSED(tern_trainer_create(ctx, &options, NULL));
    CHECK_OK(tern_trainer_create(ctx, &options, &t));
    REFUSED(tern_trainer_step(NULL, tokens, 0, &o.train_result));
    REFUSED(tern_trainer_step(t, NULL, 0, &o.train_result));
    CHECK_OK(tern_trainer_step(t, tokens, 0, NULL));
    REFUSED(tern_trainer_loss(NULL, 1, tokens, &o.real));
    REFUSED(tern_trainer_loss(t, 1, NULL, &o.real));
    REFUSED(tern_trainer_loss(t, 1, tokens, NULL));
    REFUSED(tern_trainer_logits(NULL, tokens, &o.tensors[0]));
    REFUSED(tern_trainer_logits(t, NULL, &o.tensors[0]));
    REFUSED(tern_trainer_logits(t, tokens, NULL));
    REFUSED(tern_trainer_save(NULL, "x", "note"));
    REFUSED(tern_trainer_save(t, NULL, "note"));
    REFUSED(tern_trainer_load(NULL, "x", &o.text));
    REFUSED(tern_trainer_load(t, NULL, &o.text));
    REFUSED(tern_checkpoint_note(NULL, &o.text));
    REFUSED(tern_checkpoint_note("x", NULL));
    NEUTRAL(tern_trainer_states(NULL), 0);
    NEUTRAL(tern_trainer_weights(NULL), 0);
    NEUTRAL(tern_trainer_state(NULL, 0, NULL), NULL);
    NEUTRAL(tern_trainer_program(NULL, 0, NULL), NULL);
    QUIET(tern_trainer_get_info(NULL, &(tern_trainer_info){0}));
    QUIET(tern_trainer_get_info(t, NULL));
    REFUSED(tern_train_needs(NULL, &(tern_trainer_info){0}));
    REFUSED(tern_train_needs(&(tern_train_options){0}, NULL));
    QUIET(tern_trainer_free(NULL));
    tern_tokenizer *tokenizer;
    CHECK_OK(tern_tokenizer_train("", 0, NULL, &tokenizer));
    CHECK(tern_train_export_options_default().type == TERN_STORED_AS_IS);
    REFUSED(tern_trainer_export(NULL, tokenizer, "x", NULL));
    REFUSED(tern_trainer_export(t, NULL, "x", NULL));
    REFUSED(tern_trainer_export(t, tokenizer, NULL, NULL));
    REFUSED(tern_train_export_check(NULL, NULL));
    REFUSED(tern_train_shape_of(NULL, &o.train_shape));
    REFUSED(tern_trainer_import(t, NULL));
    tern_tokenizer_free(tokenizer);
    tern_trainer_free(t);
    tear_down();
}

TEST(training_configs)
{
    tern_train_config config = tern_train_config_default();
    tern_train_progress progress = {0};
    CHECK(tern_schedule_options_default().steps > 0);
    CHECK(tern_schedule_rate(NULL, 3) == 0);
    CHECK_STR(tern_schedule_name((tern_schedule_kind)-1), "unknown");
    REFUSED(tern_train_config_parse(NULL, 0, "x", &config));
    REFUSED(tern_train_config_parse("{}", 2, NULL, &config));
    REFUSED(tern_train_config_parse("{}", 2, "x", NULL));
    REFUSED(tern_train_config_update(NULL, 0, "x", &config));
    REFUSED(tern_train_config_update("{}", 2, NULL, &config));
    REFUSED(tern_train_config_update("{}", 2, "x", NULL));
    REFUSED(tern_train_config_print(NULL, &o.text));
    REFUSED(tern_train_config_print(&config, NULL));
    REFUSED(tern_train_note_parse(NULL, 0, "x", &config, &progress));
    REFUSED(tern_train_note_parse("{}", 2, NULL, &config, &progress));
    REFUSED(tern_train_note_parse("{}", 2, "x", NULL, &progress));
    REFUSED(tern_train_note_parse("{}", 2, "x", &config, NULL));
    REFUSED(tern_train_note_print(NULL, &progress, &o.text));
    REFUSED(tern_train_note_print(&config, NULL, &o.text));
    REFUSED(tern_train_note_print(&config, &progress, NULL));
    REFUSED(tern_train_config_key(0, NULL));
}

TEST(corpora)
{
    const int32_t tokens[4] = {0};
    int64_t n;
    tern_corpus *c;
    REFUSED(tern_corpus_create(NULL, 4, 0.5, &o.corpus));
    REFUSED(tern_corpus_create(tokens, 4, 0.5, NULL));
    CHECK_OK(tern_corpus_create(tokens, 4, 0.5, &c));
    NEUTRAL(tern_corpus_training(NULL), 0);
    NEUTRAL(tern_corpus_validation(NULL), 0);
    REFUSED(tern_corpus_batch(NULL, 0, 0, 1, 1, &o.token));
    REFUSED(tern_corpus_batch(c, 0, 0, 1, 1, NULL));
    REFUSED(tern_corpus_validation_batch(NULL, 0, 1, 1, &o.token, &n));
    REFUSED(tern_corpus_validation_batch(c, 0, 1, 1, NULL, &n));
    REFUSED(tern_corpus_validation_batch(c, 0, 1, 1, &o.token, NULL));
    QUIET(tern_corpus_free(NULL));
    tern_corpus_free(c);
}

TEST(optimisers)
{
    set_up();
    tern_parameter p = {tern_state(ctx, "w", TERN_F32, 1, shape), true}, none = {0};
    tern_tensor *rate = tern_scalar(ctx, TERN_F32, 1), *grad = tern_ones(ctx, TERN_F32, 1, shape),
                *written[4];
    tern_optimiser *a;
    CHECK(tern_optimiser_options_default().beta1 > 0);
    REFUSED(tern_optimiser_create(NULL, NULL, 1, &p, &o.optimiser));
    REFUSED(tern_optimiser_create(ctx, NULL, 1, NULL, &o.optimiser));
    REFUSED(tern_optimiser_create(ctx, NULL, 1, &none, &o.optimiser));
    REFUSED(tern_optimiser_create(ctx, NULL, 1, &p, NULL));
    CHECK_OK(tern_optimiser_create(ctx, NULL, 1, &p, &a));
    REFUSED(tern_optimiser_step(NULL, rate, &grad, o.tensors, NULL));
    REFUSED(tern_optimiser_step(a, NULL, &grad, o.tensors, NULL));
    REFUSED(tern_optimiser_step(a, rate, NULL, o.tensors, NULL));
    REFUSED(tern_optimiser_step(a, rate, (tern_tensor *[]){NULL}, o.tensors, NULL));
    REFUSED(tern_optimiser_step(a, rate, &grad, NULL, NULL));
    CHECK_OK(tern_optimiser_step(a, rate, &grad, written, NULL));
    NEUTRAL(tern_optimiser_count(NULL), 0);
    NEUTRAL(tern_optimiser_moments(NULL), 2); /* of the default */
    NEUTRAL(tern_optimiser_state(NULL, 0), NULL);
    QUIET(tern_optimiser_free(NULL));
    tern_optimiser_free(a);
    tear_down();
}

/* Nothing can be NULL here. */
TEST(defaults)
{
    CHECK(tern_bench_options_default().suite == NULL);
    CHECK(tern_compare_options_default().rounds == 0);
    CHECK(tern_device_compare_options_default().devices == NULL);
    CHECK(tern_regress_options_default().progress == NULL);
    CHECK(tern_governor_options_default().policy == NULL);
    CHECK(tern_pressure_options_default().call == NULL);
    CHECK(tern_memory_options_default().events == 0);
    CHECK(tern_profile_options_default().title == NULL);
    CHECK(tern_metrics_options_default().points == 0);
    CHECK(tern_trace_options_default().events_per_thread == 0);
}
