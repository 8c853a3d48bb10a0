/* test_faulty.c - what happens when a device fails: a status and a sentence, results that are right or none, and a context that can
 * go on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/bench_model.h>
#include <tern/model_convert.h>
#include <tern/tern.h>

#include "faulty.h"
#include "harness.h"

static tern_ctx *open_context(bool fallback)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = "faulty";
    options.fallback = fallback;
    options.tuning = "off";
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

static const float numbers[4] = {1, 4, 9, 16};

/* exp(sqrt(x)) summed: 1 + 2 + 3 + 4 if exp is left out. */
static tern_tensor *roots(tern_ctx *ctx)
{
    return tern_sqrt(tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, numbers));
}

static void check_roots(tern_tensor *t)
{
    CHECK_OK(tern_eval(t));
    const float *data = tern_data_f32(t);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR((double)data[i], i + 1, 0);
}

TEST(the_device_runs_everything)
{
    faulty_reset();
    tern_ctx *ctx = open_context(false);
    CHECK(ctx != NULL);
    check_roots(roots(ctx));
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK(faulty.runs == 1 && stats.device_steps > 0 && stats.fallback_steps == 0);
    CHECK_STR(tern_device_of(roots(ctx)), "faulty");
    check_roots(roots(ctx)); /* from the cache of programs: its code, too */
    CHECK_EQ(faulty.compiles, 1);
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
}

TEST(a_device_that_is_not_there)
{
    faulty_reset();
    faulty.next = FAULT_CREATE;
    CHECK(open_context(true) == NULL);
    CHECK(strstr(tern_last_error(), "faulty") != NULL);
}

static void fail_once(fault_kind kind, tern_status status)
{
    faulty_reset();
    tern_ctx *ctx = open_context(false);
    CHECK(ctx != NULL);
    tern_tensor *t = roots(ctx);
    faulty.next = kind;
    CHECK_STATUS(tern_eval(t), status);
    CHECK(strstr(tern_last_error(), "faulty") != NULL);
    check_roots(t); /* the failure is over, and the recipe is still there */
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
}

TEST(compiling_fails_once)
{
    fail_once(FAULT_COMPILE, TERN_OUT_OF_MEMORY);
}

TEST(a_run_fails_once)
{
    fail_once(FAULT_RUN, TERN_IO);
}

TEST(a_lost_device_stays_lost)
{
    faulty_reset();
    tern_ctx *ctx = open_context(false);
    CHECK(ctx != NULL);
    faulty.next = FAULT_LOST;
    tern_tensor *t = roots(ctx);
    CHECK_STATUS(tern_eval(t), TERN_UNAVAILABLE);
    CHECK(strstr(tern_last_error(), "sqrt") != NULL);
    CHECK_STATUS(tern_eval(t), TERN_UNAVAILABLE);
    tern_ctx_destroy(ctx);
}

/* A write that ran before the failure does not run again: what the failure left is computed by itself. */
TEST(what_ran_before_a_failure_stays)
{
    faulty_reset();
    tern_ctx *ctx = open_context(false);
    CHECK(ctx != NULL);
    const float start[2] = {1, 1}, one[2] = {1, 1};
    tern_tensor *s = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){2}, start);
    tern_tensor *next = tern_overwrite(s, tern_add(s, tern_from_data(ctx, TERN_F32, 1, (int64_t[]){2}, one)));
    tern_tensor *sum = tern_sum(next, 0, NULL, false);
    faulty.next = FAULT_LATE;
    CHECK_OK(tern_eval(sum));
    CHECK_EQ(faulty.next, FAULT_NONE);
    CHECK_NEAR((double)tern_data_f32(sum)[0], 4, 0);
    tern_ctx_destroy(ctx);
}

/* ---- ops that it cannot run ---- */

static int n_told;
static char told[256];

static void listen(void *user, tern_log_level level, const char *message)
{
    (void)user;
    (void)level;
    n_told++;
    snprintf(told, sizeof told, "%s", message);
}

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
    n_told = 0;
    tern_log_set(TERN_LOG_WARN, listen, NULL);
    for (int i = 0; i < 3; i++)
        check_roots(tern_abs(tern_neg(roots(ctx))));
    check_roots(tern_sqrt(tern_square(roots(ctx)))); /* another plan, the same op */
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK_EQ(n_told, 1);
    CHECK(strstr(told, "sqrt") && strstr(told, "told to refuse"));
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(stats.fallback_steps, 5);
    CHECK_EQ(stats.device_steps, 4);
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
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
    CHECK_STR(row->error, "limits are the CPU's, it ran on 'faulty'");
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
