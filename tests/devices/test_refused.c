/* test_refused.c - ops that a device cannot run, and programs that are another's: an error that names them, or the CPU, which is said once. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/bench_model.h>
#include <tern/model_convert.h>
#include <tern/tern.h>

#include "devices.h"
#include "faulty_contexts.h"

TEST(an_op_that_the_device_refuses)
{
    faulty_reset();
    faulty.refuse = TERN__OP_sqrt;
    tern_ctx *ctx = open_context(false);
    CHECK(ctx != NULL);
    CHECK_STATUS(tern_eval(roots(ctx)), TERN_UNSUPPORTED);
    CHECK(strstr(tern_last_error(), "sqrt") && strstr(tern_last_error(), "faulty"));
    tern_ctx_destroy(ctx);
}

TEST(with_fallback_the_cpu_runs_it_and_says_so_once)
{
    faulty_reset();
    faulty.refuse = TERN__OP_sqrt;
    tern_ctx *ctx = open_context(true);
    CHECK(ctx != NULL);
    heard log = {0};
    tern_log_set(TERN_LOG_WARN, log_listen, &log);
    for (int i = 0; i < 3; i++)
        check_roots(tern_abs(tern_neg(roots(ctx))));
    check_roots(tern_sqrt(tern_square(roots(ctx)))); /* another plan, the same op */
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK_EQ(log.n, 1);
    CHECK(strstr(log.last, "sqrt") && strstr(log.last, "told to refuse"));
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(stats.fallback_steps, 5);
    CHECK_EQ(stats.device_steps, 4);
    faulty.reason = "it has had enough"; /* the same op for another reason is said, once too */
    tern_log_set(TERN_LOG_WARN, log_listen, &log);
    for (int i = 0; i < 2; i++)
        check_roots(tern_sqrt(tern_square(tern_abs(roots(ctx)))));
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK_EQ(log.n, 2);
    CHECK(strstr(log.last, "sqrt") && strstr(log.last, "had enough"));
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
}

/* And metrics count them, as they count the device's. */
TEST(metrics_count_what_the_cpu_ran)
{
    faulty_reset();
    faulty.refuse = TERN__OP_sqrt;
    tern_ctx *ctx = open_context(true);
    tern_metrics *metrics = NULL;
    tern_metrics_span *span = NULL;
    tern_metric_value there = {0}, here = {0};
    CHECK(ctx != NULL);
    CHECK_OK(tern_metrics_create(NULL, &metrics));
    CHECK_OK(tern_metrics_start(metrics, &(tern_operation){.name = "w", .ctx = ctx}, &span));
    check_roots(tern_abs(tern_neg(roots(ctx))));
    CHECK_OK(tern_metrics_stop(span, TERN_OK));
    CHECK_OK(tern_metrics_value(metrics, 0, TERN_METRIC_DEVICE_STEPS, &there));
    CHECK_OK(tern_metrics_value(metrics, 0, TERN_METRIC_FALLBACK_STEPS, &here));
    CHECK(there.value == 1 && here.value == 1);
    tern_metrics_free(metrics);
    tern_ctx_destroy(ctx);
}

/* The same failure of many programs is one line. */
TEST(what_fails_alike_is_said_once)
{
    faulty_reset();
    tern_ctx *ctx = open_context(true);
    CHECK(ctx != NULL);
    faulty_fail(FAULTY_COMPILE, 0, 1000, TERN_INTERNAL);
    heard log = {0};
    tern_log_set(TERN_LOG_WARN, log_listen, &log);
    for (int i = 0; i < 3; i++) {
        const int64_t n = 4 + i; /* another program each */
        CHECK_OK(tern_eval(tern_neg(tern_zeros(ctx, TERN_F32, 1, &n))));
    }
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK(stats.device_moves >= 3);
    CHECK_EQ(log.n, 1);
    CHECK(strstr(log.last, "the CPU takes over") != NULL);
    tern_ctx_destroy(ctx);
}

TEST(a_program_runs_where_it_was_compiled_for)
{
    faulty_reset();
    tern_ctx *ctx = open_context(false), *cpu = NULL;
    CHECK(ctx != NULL);
    CHECK_OK(tern_ctx_create(NULL, &cpu));
    tern_tensor *y = tern_neg(tern_input(ctx, "x", TERN_F32, 1, (int64_t[]){4}));
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
    CHECK_STATUS(tern_exec_create(cpu, program, &exec), TERN_INVALID_ARGUMENT);
    CHECK(strstr(tern_last_error(), "'faulty'") && strstr(tern_last_error(), "'cpu'"));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(cpu);
    tern_ctx_destroy(ctx);
}

typedef struct bench_rows {
    int n;
    tern_results *results;
} bench_rows;

static void check_named(void *user, const tern_bench_model_row *row)
{
    bench_rows *t = user;
    t->n++;
    CHECK_STR(row->device, "faulty");
    CHECK_STR(row->isa, "");
    CHECK(row->rounds == 1 && isnan(row->share) && row->limit_rate == 0 && row->dot_rate == 0);
    CHECK_STR(row->error, "unavailable: limits are the CPU's, it ran on 'faulty'");
    CHECK_OK(tern_bench_model_add(row, t->results));
}

/* Figures of a device are never the CPU's, nor compared with what the CPU can do. */
TEST(benchmarks_name_the_device)
{
    char path[4096];
    bench_rows t = {0};
    tern_model_shape shape;
    tern_result row;
    tern_bench_model_options o = tern_bench_model_options_default();
    faulty_reset();
    CHECK(harness_path(path, sizeof path, "faulty.gguf"));
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path, &shape, NULL));
    CHECK_OK(tern_results_create(&t.results));
    o.path = path;
    o.device = "faulty";
    o.n_prompt = 4;
    o.n_gen = 2;
    o.repetitions = 1;
    o.memory = 1 << 16;
    CHECK_OK(tern_bench_model(&o, check_named, &t));
    CHECK_EQ(t.n, 2);
    CHECK_OK(tern_results_at(t.results, 0, &row));
    CHECK_STR(row.device, "faulty");
    tern_results_free(t.results);
}
