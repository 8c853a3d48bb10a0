/* test_placement.c - device `auto`: steps run where they are predicted to take the least time. What devices were measured at is
 * planted, so that every answer is known; the other device is the CPU behind a table of its own (faulty.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tern/tern.h>

#include "base/status.h"
#include "faulty.h"
#include "devices.h"
#include "harness.h"
#include "runtime/calibration.h"
#include "runtime/context.h"
#include "runtime/program.h"
#include "store/store.h"

/* ---- figures ---- */

/* A step takes `step` ns and `each` for every byte or operation, whatever it is; products have their own. */
typedef struct figures {
    double partition, border; /* ns, and for each byte */
    double step, each;
    double product, product_each;
} figures;

static bool is_product(int kind)
{
    return kind == TERN__COST_float_vector || kind == TERN__COST_float_matrix ||
           kind == TERN__COST_low_vector || kind == TERN__COST_low_matrix;
}

static void plant_point(tern_ctx *ctx, const char *device, int kind, double work, double ns)
{
    tern_device_info info;
    const tern__device_ops *ops;
    CHECK_OK(tern__device_find(device, &ops));
    ops->describe((tern__isa_cap){.level = tern__cpu()->best}, &info);
    CHECK_OK(tern__calibration_keep(ctx->tuning, device, &info, (tern__cost)kind, work, (uint64_t)ns,
                                    (uint64_t)ns, 1, TERN_OK));
}

static void plant(tern_ctx *ctx, const char *device, const figures *f)
{
    for (int kind = 0; kind < TERN__COST_COUNT; kind++) {
        const bool border = kind == TERN__COST_border, product = is_product(kind);
        const double fixed = kind == TERN__COST_partition ? f->partition
                             : border                     ? 0
                             : product                    ? f->product
                                                          : f->step;
        const double each = kind == TERN__COST_partition ? 0
                            : border                     ? f->border
                            : product                    ? f->product_each
                                                         : f->each;
        plant_point(ctx, device, kind, 0, fixed);
        plant_point(ctx, device, kind, 1e6, fixed + 1e6 * each);
    }
}

static const char *file(const char *name)
{
    static char path[512];
    return harness_path(path, sizeof path, name) ? path : NULL;
}

static tern_ctx *open_context(const char *device, const char *name)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = device;
    options.threads = 1;
    options.tuning = file(name);
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

/* A context on `auto` of a machine that was measured so. The figures go through the file. */
static tern_ctx *open_planted(const char *name, const figures *cpu, const figures *device)
{
    tern_ctx *ctx = open_context("cpu", name);
    if (!ctx)
        return NULL;
    plant(ctx, "cpu", cpu);
    plant(ctx, "faulty", device);
    tern_ctx_destroy(ctx);
    return open_context("auto", name);
}

#define NEEDS_STORE()                                           \
    do {                                                        \
        faulty_reset();                                         \
        if (!tern__store_available()) {                         \
            harness_skip("this build keeps no tuning results"); \
            return;                                             \
        }                                                       \
    } while (0)

/* ---- programs ---- */

enum { N = 64 };

/* softmax(abs(x) w), three steps at level none; w is a constant. */
static tern_program *compile_three(tern_ctx *ctx)
{
    tern_program *program = NULL;
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_NONE;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){4, N});
        tern_tensor *w = tern_randn(ctx, TERN_F32, 2, (int64_t[]){N, N}, 7);
        if (tern_eval(w) == TERN_OK && tern_freeze(w) == TERN_OK) {
            tern_tensor *y = tern_softmax(tern_matmul(tern_abs(x), w, false, false), -1);
            tern_compile(ctx, 1, &y, NULL, &options, &program);
        }
    }
    return program;
}

/* The devices of the partitions: "cpu 1, faulty 2". */
static const char *places(const tern_program *program)
{
    static char text[256];
    tern_partition_info part;
    text[0] = '\0';
    for (int i = 0; tern_program_partition(program, i, &part) == TERN_OK; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s %d", i ? ", " : "", part.device,
                 part.steps);
    return text;
}

static double predicted(const tern_program *program)
{
    tern_partition_info part;
    double ns = 0;
    for (int i = 0; tern_program_partition(program, i, &part) == TERN_OK; i++)
        ns += part.predicted_ns;
    return ns;
}

static void check_places(const char *name, const figures *cpu, const figures *device, const char *want)
{
    tern_ctx *ctx = open_planted(name, cpu, device);
    CHECK(ctx != NULL);
    tern_program *program = compile_three(ctx);
    CHECK(program != NULL);
    CHECK_STR(places(program), want);
    CHECK(predicted(program) > 0);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

static const figures slow = {.partition = 100, .step = 50000, .product = 50000};
static const figures fast = {.partition = 100, .step = 1000, .product = 1000};

TEST(steps_run_where_they_are_fast)
{
    NEEDS_STORE();
    check_places("flip.db", &slow, &fast, "faulty 3");
    check_places("flop.db", &fast, &slow, "cpu 3");
}

TEST(a_small_gain_is_no_reason_to_leave_the_cpu)
{
    NEEDS_STORE();
    figures device = fast;
    device.step = device.product = 970;
    check_places("equal.db", &fast, &fast, "cpu 3");
    check_places("little.db", &fast, &device, "cpu 3");
}

/* x and y cross: 2 * 4 * N * 4 bytes. */
TEST(transfers_count)
{
    NEEDS_STORE();
    figures device = fast;
    device.border = 100; /* ns for each byte: 200 us for x and y */
    check_places("far.db", &slow, &device, "cpu 3");
    device.border = 1; /* 2 us */
    check_places("near.db", &slow, &device, "faulty 3");
}

/* Of the product only x and y cross its borders: w stays. If w crossed too it would not pay. */
TEST(constants_stay_on_the_device)
{
    NEEDS_STORE();
    figures cpu = {.partition = 100, .step = 1000, .product = 100000};
    figures device = {.partition = 100, .step = 1000, .product = 1000, .border = 10};
    CHECK(cpu.product > device.product + device.border * 2 * 4 * N * 4);
    CHECK(cpu.product < device.product + device.border * N * N * 4);
    check_places("constants.db", &cpu, &device, "faulty 3"); /* a stretch of three has the same borders */
    device.step = 90000;
    check_places("constants2.db", &cpu, &device, "cpu 1, faulty 1, cpu 1");
}

TEST(a_hybrid_plan_wins_where_it_is_faster_than_either)
{
    NEEDS_STORE();
    const figures cpu = {.partition = 100, .step = 1000, .product = 90000, .border = 0};
    const figures device = {.partition = 200, .step = 80000, .product = 500, .border = 1};
    tern_ctx *ctx = open_planted("hybrid.db", &cpu, &device);
    CHECK(ctx != NULL);
    tern_program *program = compile_three(ctx);
    CHECK(program != NULL);
    CHECK_STR(places(program), "cpu 1, faulty 1, cpu 1");
    /* Two steps and two partitions of the CPU's; a product, a partition, and abs(x) and the product across the border. */
    CHECK_NEAR(predicted(program), 2 * (1000 + 100) + 500 + 200 + 2 * 4 * N * 4, 1);
    tern_partition_info part;
    CHECK_OK(tern_program_partition(program, 1, &part));
    CHECK(part.first_step == 1 && part.steps == 1);
    CHECK_NEAR(part.predicted_ns, 500 + 200 + 2 * 4 * N * 4, 1);
    CHECK_STATUS(tern_program_partition(program, 3, &part), TERN_OUT_OF_RANGE);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

/* ---- results, counts, measured times ---- */

TEST(what_runs_is_what_was_planned)
{
    NEEDS_STORE();
    const figures cpu = {.partition = 100, .step = 1000, .product = 90000};
    const figures device = {.partition = 200, .step = 80000, .product = 500, .border = 1};
    tern_ctx *ctx = open_planted("runs.db", &cpu, &device), *plain = open_context("cpu", "runs.db");
    CHECK(ctx != NULL && plain != NULL);
    tern_program *program = compile_three(ctx), *reference = compile_three(plain);
    tern_exec *exec = NULL, *plain_exec = NULL;
    CHECK(program && reference);
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    CHECK_OK(tern_exec_create(plain, reference, &plain_exec));
    CHECK_OK(tern_exec_time_partitions(exec, true));
    tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){4, N}, 3), *y = NULL;
    tern_tensor *plain_x = tern_randn(plain, TERN_F32, 2, (int64_t[]){4, N}, 3), *plain_y = NULL;
    tern_ctx_stats before, stats;
    CHECK_OK(tern_exec_run(plain_exec, 1, &plain_x, 1, &plain_y));
    CHECK_OK(tern_eval(x));
    tern_ctx_get_stats(ctx, &before);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
        CHECK(memcmp(tern_data_f32(y), tern_data_f32(plain_y), 4 * N * sizeof(float)) == 0);
    }
    CHECK_EQ(faulty.runs, 3);
    tern_step_time time;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tern_exec_partition_time(exec, i, &time));
        CHECK(time.runs == 3 && time.total_ns >= time.min_ns && time.last_ns > 0);
    }
    CHECK_STATUS(tern_exec_partition_time(exec, 3, &time), TERN_OUT_OF_RANGE);
    tern_ctx_get_stats(ctx, &stats);
    CHECK(stats.device_steps == 3 && stats.fallback_steps == 0);
    CHECK(stats.measured_ns > before.measured_ns);
    CHECK_NEAR((double)(stats.predicted_ns - before.predicted_ns), 3 * predicted(program), 16);
    tern_exec_free(exec);
    tern_exec_free(plain_exec);
    tern_program_free(program);
    tern_program_free(reference);
    tern_ctx_destroy(plain);
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
}

/* What a context tells its device reaches those that `auto` chooses from: pressure, no memory, inputs of later runs. */
TEST(members_are_told)
{
    NEEDS_STORE();
    tern_ctx *ctx = open_planted("told.db", &slow, &fast);
    CHECK(ctx != NULL);
    tern_program *program = compile_three(ctx);
    tern_exec *exec = NULL;
    CHECK(program != NULL);
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){4, N}, 3), *y = NULL;
    CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
    CHECK_EQ(faulty.trims[1] + faulty.trims[2], 0);
    tern_pressure_relieve(TERN_PRESSURE_MODERATE, NULL);
    CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
    CHECK_EQ(faulty.trims[1], 1);
    faulty_fail(FAULTY_ALLOCATE, 0, 1, TERN_OUT_OF_MEMORY);
    CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
    CHECK(faulty.failed == 1 && faulty.trims[2] == 1);
    tern_ctx_trim(ctx);
    CHECK_EQ(faulty.trims[2], 2);
    CHECK(!tern__exec_copies_inputs(exec));
    CHECK_OK(tern_exec_stage(exec, 1, &x));
    CHECK_EQ(faulty.staged, 0);
    faulty.stages = true;
    CHECK(tern__exec_copies_inputs(exec));
    CHECK_OK(tern_exec_stage(exec, 1, &x));
    CHECK_EQ(faulty.staged, 1);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

TEST(lazy_tensors_are_placed_too)
{
    NEEDS_STORE();
    tern_ctx *ctx = open_planted("lazy.db", &slow, &fast);
    CHECK(ctx != NULL);
    for (int i = 0; i < 2; i++) {
        tern_tensor *y = tern_sqrt(tern_from_data(ctx, TERN_F32, 1, (int64_t[]){2}, (float[]){4, 9}));
        CHECK_OK(tern_eval(y));
        CHECK(tern_data_f32(y)[1] == 3.0f);
        CHECK_STR(tern_device_of(y), "auto");
    }
    CHECK_EQ(faulty.runs, 2);
    CHECK_EQ(faulty.compiles, 1);
    tern_ctx_destroy(ctx);
}

/* What the device cannot run is the CPU's, and nothing was asked for that did not happen. */
TEST(an_op_that_the_device_has_not)
{
    NEEDS_STORE();
    faulty.refuse = TERN__OP_matmul;
    heard log = {0};
    tern_log_set(TERN_LOG_WARN, log_listen, &log);
    check_places("refused.db", &slow, &fast, "faulty 1, cpu 1, faulty 1");
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK_EQ(log.n, 0);
}

TEST(without_figures_the_cpu_computes_and_says_so)
{
    NEEDS_STORE();
    heard log = {0};
    tern_log_set(TERN_LOG_WARN, log_listen, &log);
    tern_ctx *ctx = open_context("auto", "nothing.db");
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK(ctx != NULL);
    CHECK_EQ(log.n, 1);
    CHECK(strstr(log.last, "no device was measured") && strstr(log.last, "tern tune --devices"));
    tern_program *program = compile_three(ctx);
    CHECK(program != NULL);
    CHECK_STR(places(program), "cpu 3");
    CHECK(predicted(program) < 0);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

/* One side alone leaves nothing to choose from, and it is said which one. */
TEST(what_was_not_measured_is_named)
{
    NEEDS_STORE();
    static const struct {
        const char *file, *device, *words;
    } cases[] = {{"cpu_alone.db", "cpu", "no other device than the CPU was measured"},
                 {"other_alone.db", "faulty", "the CPU itself was not measured"}};
    for (int i = 0; i < 2; i++) {
        heard log = {0};
        tern_ctx *ctx = open_context("cpu", cases[i].file);
        CHECK(ctx != NULL);
        plant(ctx, cases[i].device, &fast);
        tern_ctx_destroy(ctx);
        tern_log_set(TERN_LOG_WARN, log_listen, &log);
        ctx = open_context("auto", cases[i].file);
        tern_log_set(TERN_LOG_WARN, NULL, NULL);
        CHECK(ctx != NULL);
        tern_ctx_destroy(ctx);
        CHECK_EQ(log.n, 1);
        CHECK(strstr(log.last, cases[i].words) != NULL);
    }
}

/* Times of another driver, or of another number of threads, are not used. */
TEST(figures_belong_to_a_driver)
{
    NEEDS_STORE();
    tern_ctx *ctx = open_planted("driver.db", &slow, &fast);
    tern_device_info info;
    tern__device_costs costs;
    CHECK(ctx != NULL);
    faulty_reset();
    const tern__device_ops *ops;
    CHECK_OK(tern__device_find("faulty", &ops));
    ops->describe((tern__isa_cap){.level = tern__cpu()->best}, &info);
    CHECK(tern__calibration_load(ctx->tuning, "faulty", &info, &costs));
    info.driver = "another";
    CHECK(!tern__calibration_load(ctx->tuning, "faulty", &info, &costs));
    tern_ctx_destroy(ctx);
}

/* ---- devices that are lost ---- */

/* A second device to choose: the first without its failures, and with one of its own. */
static const tern__device_ops *model;
static tern__device_ops steady;
static bool steady_fails;

static const tern__target *steady_target(const tern__device *device)
{
    static tern__target target; /* of the one context at a time */
    target = *model->target(device);
    target.name = "steady";
    return &target;
}

static tern_status run_steadily(tern__device *device, const tern__plan *plan, tern__code *code,
                                const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    const faulty_state told = faulty;
    if (steady_fails)
        return tern__fail(TERN_UNAVAILABLE, "it is gone too");
    faulty.status = TERN_OK;
    faulty.lost = false;
    const tern_status status = model->run(device, plan, code, part, bindings, n_done);
    faulty = told;
    return status;
}

static tern_status compile_steadily(tern__device *device, const tern__plan *plan, tern__code **out)
{
    const faulty_state told = faulty;
    faulty.status = TERN_OK;
    faulty.lost = false;
    const tern_status status = model->compile(device, plan, out);
    faulty.status = told.status;
    faulty.lost = told.lost;
    return status;
}

/* The CPU, the faulty device, which is the fastest, and the steady one. */
static tern_ctx *open_three(const char *name)
{
    figures second = fast;
    second.step = second.product = 5000;
    if (!steady.name && tern__device_find("faulty", &model) == TERN_OK) {
        steady = *model;
        steady.name = "steady";
        steady.target = steady_target;
        steady.run = run_steadily;
        steady.compile = compile_steadily;
        if (!tern__device_add(&steady))
            return NULL;
    }
    steady_fails = false;
    tern_ctx *ctx = open_context("cpu", name);
    if (ctx)
        plant(ctx, "steady", &second);
    tern_ctx_destroy(ctx);
    return open_planted(name, &slow, &fast);
}

static double metric_of(tern_metrics *metrics, tern_metric metric)
{
    tern_metric_value v = {.value = -1};
    return tern_metrics_value(metrics, 0, metric, &v) == TERN_OK ? v.value : -1;
}

/* One run, of which devices run `steps` steps; its result is that of the first, in `want`. */
static void run_three(tern_ctx *ctx, const tern_program *program, tern_tensor *x, float want[4 * N],
                      bool first, uint64_t steps)
{
    tern_exec *exec = NULL;
    tern_tensor *y = NULL;
    tern_ctx_stats before, stats;
    tern_ctx_get_stats(ctx, &before);
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    CHECK_OK(tern_exec_run(exec, 1, &x, 1, &y));
    if (first)
        memcpy(want, tern_data_f32(y), 4 * N * sizeof(float));
    CHECK(memcmp(want, tern_data_f32(y), 4 * N * sizeof(float)) == 0);
    tern_exec_free(exec);
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(stats.device_steps - before.device_steps, steps);
}

/* Of several devices one is lost: it is named, what it was to run is counted as the CPU's, and the others go on. */
TEST(devices_are_lost_one_by_one)
{
    NEEDS_STORE();
    float want[4 * N];
    heard log = {0};
    tern_ctx *ctx = open_three("lost.db");
    CHECK(ctx != NULL);
    tern_program *first = compile_three(ctx), *second, *third;
    tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){4, N}, 3);
    tern_ctx_stats stats;
    tern_device_error error;
    tern_metrics *metrics = NULL;
    tern_metrics_span *span = NULL;
    CHECK(first != NULL);
    CHECK_STR(places(first), "faulty 3");
    CHECK_OK(tern_eval(x));
    run_three(ctx, first, x, want, true, 3);
    CHECK_OK(tern_metrics_create(NULL, &metrics));
    CHECK_OK(tern_metrics_start(metrics, &(tern_operation){.name = "w", .ctx = ctx}, &span));

    faulty_fail(FAULTY_RUN, 1, 1, TERN_UNAVAILABLE);
    tern_log_set(TERN_LOG_WARN, log_listen, &log);
    run_three(ctx, first, x, want, false, 0);
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK(tern_ctx_device_error(ctx, &error) && error.taken_over);
    CHECK_STR(error.device, "faulty");
    CHECK(strstr(log.last, "device 'faulty' is lost: the CPU runs what was compiled for it") != NULL);
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(stats.fallback_steps, 3);
    CHECK(stats.device_moves == 1 && stats.device_failures == 1);

    second = compile_three(ctx);
    CHECK(second != NULL);
    CHECK_STR(places(second), "steady 3");
    run_three(ctx, second, x, want, false, 3);
    run_three(ctx, first, x, want, false, 0); /* nobody asks the lost one again */
    tern_ctx_get_stats(ctx, &stats);
    CHECK(stats.fallback_steps == 6 && stats.device_failures == 1);

    steady_fails = true;
    tern_log_set(TERN_LOG_WARN, log_listen, &log);
    run_three(ctx, second, x, want, false, 0);
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK_STR(log.last, "device 'steady' is lost: everything runs on the CPU from now on");
    CHECK(tern_ctx_device_error(ctx, &error));
    CHECK_STR(error.device, "steady");
    third = compile_three(ctx);
    CHECK(third != NULL);
    CHECK_STR(places(third), "cpu 3");
    run_three(ctx, third, x, want, false, 0);

    CHECK_OK(tern_metrics_stop(span, TERN_OK));
    CHECK_NEAR(metric_of(metrics, TERN_METRIC_DEVICE_FAILURES), 2, 0);
    CHECK_NEAR(metric_of(metrics, TERN_METRIC_DEVICE_RETRIES), 0, 0);
    CHECK_NEAR(metric_of(metrics, TERN_METRIC_DEVICE_MOVES), 2, 0);
    CHECK_NEAR(metric_of(metrics, TERN_METRIC_FALLBACK_STEPS), 9, 0);
    tern_metrics_free(metrics);
    tern_program_free(first);
    tern_program_free(second);
    tern_program_free(third);
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
}

/* ---- measuring ---- */

/* A partition of one step is slow, one of several is not: what one more step adds is hidden. */
static const tern__device_ops *patient;
static tern__device_ops hasty;

static tern_status run_hastily(tern__device *device, const tern__plan *plan, tern__code *code,
                               const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    if (part->end - part->first == 1)
        usleep(2000);
    return patient->run(device, plan, code, part, bindings, n_done);
}

/* Steps take time on every device, whatever noise says: 0 would make a device the best of all. */
TEST(no_step_is_measured_as_nothing)
{
    NEEDS_STORE();
    tern_ctx *ctx = open_context("cpu", "hasty.db");
    tern_tune_report *report = NULL;
    tern_tune_options options = tern_tune_options_default();
    tern_tune_row row;
    int steps = 0;
    patient = tern__device_at(0);
    hasty = *patient;
    hasty.name = "hasty";
    hasty.run = run_hastily;
    CHECK(ctx != NULL && tern__device_add(&hasty));
    options.runs = 3;
    CHECK_OK(tern_tune_devices(ctx, 1, (const char *const[]){"hasty"}, &options, &report));
    for (int i = 0; tern_tune_report_row(report, i, &row) == TERN_OK; i++) {
        if (row.status != TERN_OK || strcmp(row.shapes, "partition") == 0 ||
            strcmp(row.shapes, "border") == 0)
            continue;
        CHECK(row.median_ns > 0 && row.min_ns > 0 && row.min_ns <= row.median_ns);
        steps++;
    }
    CHECK(steps >= 20);
    tern_tune_report_free(report);
    tern_ctx_destroy(ctx);
}

/* A device whose norms fail. */
static tern__device_ops broken;

static tern_status run_brokenly(tern__device *device, const tern__plan *plan, tern__code *code,
                                const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    for (uint32_t s = part->first; s < part->end; s++)
        if (plan->steps[s].op == TERN__OP_rmsnorm)
            return tern__fail(TERN_INTERNAL, "its driver says -5");
    return tern__device_at(0)->run(device, plan, code, part, bindings, n_done);
}

static tern_status create_no_more(const tern__device_options *options, tern__device **out)
{
    (void)options;
    (void)out;
    return tern__fail(TERN_UNAVAILABLE, "its driver is gone");
}

/* Rows of a device, by what they say. */
static void count_rows(const tern_tune_report *report, const char *op, tern_status failure, int *failed,
                       int *timed)
{
    tern_tune_row row;
    *failed = *timed = 0;
    for (int i = 0; tern_tune_report_row(report, i, &row) == TERN_OK; i++)
        if (strcmp(row.op, op) == 0) {
            CHECK(row.status == TERN_OK || row.status == failure || row.status == TERN_UNSUPPORTED);
            *failed += row.status == failure;
            *timed += row.status == TERN_OK;
        }
}

/* What a device fails at is a row; what else it can do is measured, and so are others. What it did before is not counted on. */
TEST(a_failure_does_not_end_measuring)
{
    NEEDS_STORE();
    static const char *const names[] = {"cpu", "broken"};
    tern_ctx *ctx = open_context("cpu", "broken.db");
    tern_tune_report *report = NULL;
    tern_tune_options options = tern_tune_options_default();
    tern_device_info info;
    tern__device_costs costs;
    int failed, timed;
    broken = *tern__device_at(0);
    broken.name = "broken";
    CHECK(ctx != NULL && tern__device_add(&broken));
    options.runs = 1;
    options.budget_ns = 1;
    for (int round = 0; round < 3; round++) { /* sound, then failing at one kind, then gone */
        broken.run = round == 0 ? tern__device_at(0)->run : run_brokenly;
        broken.create = round < 2 ? tern__device_at(0)->create : create_no_more;
        CHECK_OK(tern_tune_devices(ctx, 2, names, &options, &report));
        count_rows(report, "device:cpu", TERN_UNAVAILABLE, &failed, &timed);
        CHECK(failed == 0 && timed >= 20);
        count_rows(report, "device:broken", TERN_UNAVAILABLE, &failed, &timed);
        CHECK(round == 0 ? failed == 0 : failed >= 1);
        CHECK(round == 2 ? timed == 0 : timed >= 20);
        tern_tune_report_free(report);
        broken.describe((tern__isa_cap){.level = tern__cpu()->best}, &info);
        CHECK(tern__calibration_load(ctx->tuning, "broken", &info, &costs) == (round < 2));
        CHECK((tern__cost_ns(&costs, TERN__COST_norms, 1e6) >= 0) == (round == 0));
    }
    tern_ctx_destroy(ctx);
}

/* ---- curves ---- */

TEST(curves_go_through_their_points)
{
    tern__device_costs c = {0};
    CHECK(tern__cost_ns(&c, TERN__COST_rows, 1) < 0);
    CHECK(tern__cost_add(&c, TERN__COST_rows, 1000, 300));
    CHECK_NEAR(tern__cost_ns(&c, TERN__COST_rows, 10), 300, 0); /* one point: all there is to know */
    CHECK(tern__cost_add(&c, TERN__COST_rows, 100, 200));
    CHECK(tern__cost_add(&c, TERN__COST_rows, 2000, 1300));
    CHECK_NEAR(tern__cost_ns(&c, TERN__COST_rows, 10), 200, 0);
    CHECK_NEAR(tern__cost_ns(&c, TERN__COST_rows, 550), 250, 1e-9);
    CHECK_NEAR(tern__cost_ns(&c, TERN__COST_rows, 1500), 800, 1e-9);
    CHECK_NEAR(tern__cost_ns(&c, TERN__COST_rows, 3000), 2300, 1e-9); /* on as between the last two */
    CHECK(tern__cost_add(&c, TERN__COST_rows, 2000, 1500));           /* measured again */
    CHECK_NEAR(tern__cost_ns(&c, TERN__COST_rows, 2000), 1500, 1e-9);
    CHECK(tern__cost_add(&c, TERN__COST_rows, 3000, 100)); /* noise: more work takes no less */
    CHECK_NEAR(tern__cost_ns(&c, TERN__COST_rows, 3000), 1500, 1e-9);
    CHECK(!tern__cost_add(&c, TERN__COST_rows, 4000, 1));
}
