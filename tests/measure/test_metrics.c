/* test_metrics.c - metrics agree with what was done: planted tokens, times, hits and misses, plans and events; threads add up; a failing
 * allocation leaks nothing. tests/measure/test_metrics_formats.py reads the formats. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "gate.h"
#include "harness.h"

static double value_of(tern_metrics *m, int i, tern_metric metric)
{
    tern_metric_value v;
    return tern_metrics_value(m, i, metric, &v) == TERN_OK ? v.value : -1;
}

/* y = relu(x + 1) on fresh tensors: one fused step of two operations. */
static tern_status work(tern_ctx *ctx, int64_t n)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, (int64_t[]){n});
        TERN_TRY(tern_eval(x));
        TERN_TRY(tern_eval(tern_relu(tern_add(x, x))));
    }
    return TERN_OK;
}

TEST(table_is_whole)
{
    tern_metric_info a, b;
    for (int i = 0; tern_metric_at(i, &a) == TERN_OK; i++) {
        const size_t length = strlen(a.name);
        CHECK(strncmp(a.name, "tern_", 5) == 0 && strspn(a.name, "abcdefghijklmnopqrstuvwxyz_") == length);
        CHECK((a.kind == TERN_METRIC_COUNTER) == (strcmp(a.name + length - 6, "_total") == 0));
        CHECK((a.kind == TERN_METRIC_HISTOGRAM) <= (strcmp(a.unit, "seconds") == 0));
        CHECK((a.kind == TERN_METRIC_SERIES) == (strcmp(a.unit, "ratio") == 0));
        CHECK(a.help[0] && a.help[strlen(a.help) - 1] != '.');
        for (int k = 0; k < i; k++) {
            CHECK_OK(tern_metric_at(k, &b));
            CHECK(strcmp(a.name, b.name) != 0);
        }
    }
    CHECK_STATUS(tern_metric_at(-1, &a), TERN_OUT_OF_RANGE);
    CHECK_STR(tern_metric_kind_name(TERN_METRIC_PEAK), "peak");
    CHECK_STR(tern_metric_kind_name((tern_metric_kind)99), "unknown");
}

TEST(what_was_recorded_is_there)
{
    tern_metrics *m;
    tern_metrics_span *span;
    tern_metric_value v;
    const tern_operation what = {
        .name = "run", .batch = 4, .sequence = 128, .parameters = 7, .threads = 2, .level = TERN_LEVEL_HIGH};
    CHECK_OK(tern_metrics_create(NULL, &m));
    CHECK_OK(tern_metrics_start(m, &what, &span));
    CHECK(value_of(m, 0, TERN_METRIC_RUNNING) == 1);
    CHECK_OK(tern_metrics_record(span, TERN_METRIC_PROMPT_TOKENS, 12));
    CHECK_OK(tern_metrics_record(span, TERN_METRIC_PROMPT_TOKENS, 30));
    for (int i = 0; i < 10; i++)
        CHECK_OK(tern_metrics_record(span, TERN_METRIC_TOKEN_TIME, i < 9 ? 0.004 : 70));
    CHECK_STATUS(tern_metrics_record(span, TERN_METRIC_POOL_HITS, 1), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_metrics_record(span, TERN_METRIC_TOKEN_TIME, NAN), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_metrics_record(span, TERN_METRIC_PROMPT_TOKENS, -1), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_metrics_record(span, (tern_metric)999, 1), TERN_INVALID_ARGUMENT);
    CHECK_OK(tern_metrics_stop(span, TERN_IO));
    CHECK(value_of(m, 0, TERN_METRIC_PROMPT_TOKENS) == 42);
    CHECK(value_of(m, 0, TERN_METRIC_RUNNING) == 0 && value_of(m, 0, TERN_METRIC_OPERATIONS) == 1 &&
          value_of(m, 0, TERN_METRIC_FAILURES) == 1);
    CHECK_OK(tern_metrics_value(m, 0, TERN_METRIC_TOKEN_TIME, &v));
    CHECK(v.count == 10 && v.min == 0.004 && v.max == 70);
    CHECK_NEAR(v.value, 70.036, 1e-9);
    /* Nothing was watched: no rates, and not rates of 0. */
    CHECK_STATUS(tern_metrics_value(m, 0, TERN_METRIC_POOL_HIT_RATE, &v), TERN_NOT_FOUND);
    CHECK_STATUS(tern_metrics_value(m, 0, TERN_METRIC_POOL_HITS, &v), TERN_NOT_FOUND);
    CHECK_STATUS(tern_metrics_value(m, 1, TERN_METRIC_POOL_HITS, &v), TERN_OUT_OF_RANGE);
    tern_operation back;
    CHECK_OK(tern_metrics_operation(m, 0, &back));
    CHECK_STR(back.name, "run");
    CHECK(back.batch == 4 && back.sequence == 128 && back.parameters == 7 && back.threads == 2 &&
          back.level == TERN_LEVEL_HIGH);
    CHECK_STATUS(tern_metrics_operation(m, 1, &back), TERN_OUT_OF_RANGE);
    tern_metrics_free(m);
}

TEST(counters_are_those_of_context_pool_and_cache)
{
    tern_metrics *m;
    tern_ctx *ctx;
    tern_cache *cache;
    tern_metrics_span *span;
    tern_tensor *out;
    CHECK_OK(tern_metrics_create(NULL, &m));
    CHECK_OK(tern_ctx_create(&(tern_ctx_options){.threads = 1}, &ctx));
    CHECK_OK(tern_cache_create(NULL, &cache));
    CHECK_OK(work(ctx, 3000)); /* before the span: does not count */
    tern_ctx_stats before, after;
    tern_pool_stats pool_before, pool_after;
    tern_ctx_get_stats(ctx, &before);
    tern_pool_get_stats(tern_ctx_pool(ctx), &pool_before);
    CHECK_OK(tern_metrics_start(m, &(tern_operation){.name = "w", .ctx = ctx, .cache = cache}, &span));
    for (int i = 0; i < 3; i++)
        CHECK_OK(work(ctx, 5000));
    TERN_SCOPE(ctx) {
        CHECK_OK(tern_cache_put(cache, "a", tern_ones(ctx, TERN_F32, 1, (int64_t[]){8})));
        for (int i = 0; i < 3; i++)
            CHECK_OK(tern_cache_get(cache, ctx, "a", &out));
        CHECK_STATUS(tern_cache_get(cache, ctx, "b", &out), TERN_NOT_FOUND);
    }
    CHECK_OK(tern_metrics_observe(span));
    tern_ctx_get_stats(ctx, &after);
    tern_pool_get_stats(tern_ctx_pool(ctx), &pool_after);
    CHECK_EQ((int64_t)value_of(m, 0, TERN_METRIC_STEPS), (int64_t)(after.steps - before.steps));
    CHECK_EQ((int64_t)value_of(m, 0, TERN_METRIC_PROGRAM_HITS),
             (int64_t)(after.cache_hits - before.cache_hits));
    CHECK(value_of(m, 0, TERN_METRIC_PROGRAM_HITS) > 0 && value_of(m, 0, TERN_METRIC_PROGRAM_MISSES) > 0);
    CHECK_EQ((int64_t)value_of(m, 0, TERN_METRIC_POOL_HITS), (int64_t)(pool_after.hits - pool_before.hits));
    CHECK_EQ((int64_t)value_of(m, 0, TERN_METRIC_POOL_PEAK), (int64_t)pool_after.peak_bytes);
    /* relu(x + x), three times, is the only fused step. */
    CHECK_EQ((int64_t)value_of(m, 0, TERN_METRIC_FUSED_OPS), 6);
    CHECK_EQ((int64_t)(after.fused_ops - before.fused_ops), 6);
    const double single = value_of(m, 0, TERN_METRIC_SINGLE_OPS);
    CHECK_NEAR(value_of(m, 0, TERN_METRIC_FUSION_RATE), 6 / (6 + single), 1e-12);
    CHECK_NEAR(value_of(m, 0, TERN_METRIC_CACHE_HIT_RATE), 0.75, 1e-12);
    CHECK(value_of(m, 0, TERN_METRIC_CACHE_ENTRIES) == 1);
    CHECK_OK(tern_metrics_stop(span, TERN_OK));
    CHECK_EQ((int64_t)value_of(m, 0, TERN_METRIC_FUSED_OPS), 6); /* nothing twice */
    tern_cache_free(cache);
    tern_ctx_destroy(ctx);
    tern_metrics_free(m);
}

TEST(series_keep_the_whole_story)
{
    tern_metrics *m;
    tern_ctx *ctx;
    tern_cache *cache;
    tern_metrics_span *span;
    tern_tensor *out;
    tern_metric_point p;
    CHECK_OK(tern_metrics_create(&(tern_metrics_options){.points = 8, .period_ns = 1}, &m));
    CHECK_OK(tern_ctx_create(&(tern_ctx_options){.threads = 1}, &ctx));
    CHECK_OK(tern_cache_create(NULL, &cache));
    CHECK_OK(tern_metrics_start(m, &(tern_operation){.cache = cache}, &span));
    TERN_SCOPE(ctx) {
        CHECK_OK(tern_cache_put(cache, "a", tern_ones(ctx, TERN_F32, 1, (int64_t[]){8})));
        /* 40 misses, then 60 hits, with a look after each; far more than there are points. */
        for (int i = 0; i < 100; i++) {
            CHECK_STATUS(tern_cache_get(cache, ctx, i < 40 ? "b" : "a", &out),
                         i < 40 ? TERN_NOT_FOUND : TERN_OK);
            CHECK_OK(tern_metrics_observe(span));
        }
    }
    CHECK_OK(tern_metrics_stop(span, TERN_OK));
    double part = 0, whole = 0, last = 0;
    int n = 0;
    for (; tern_metrics_point(m, 0, TERN_METRIC_CACHE_HIT_RATE, n, &p) == TERN_OK; n++) {
        CHECK(p.seconds >= last && p.whole > 0 && p.value == p.part / p.whole);
        CHECK(whole + p.whole > 40 || p.value == 0); /* misses came first */
        CHECK(whole < 40 || p.value == 1);
        last = p.seconds;
        part += p.part;
        whole += p.whole;
    }
    CHECK(n > 2 && n <= 8);
    CHECK(part == 60 && whole == 100);
    CHECK_NEAR(value_of(m, 0, TERN_METRIC_CACHE_HIT_RATE), 0.6, 1e-12);
    CHECK_STATUS(tern_metrics_point(m, 0, TERN_METRIC_OPERATIONS, 0, &p), TERN_OUT_OF_RANGE);
    tern_cache_free(cache);
    tern_ctx_destroy(ctx);
    tern_metrics_free(m);
}

TEST(plans_and_events_are_read)
{
    tern_metrics *m;
    tern_ctx *ctx;
    tern_metrics_span *span;
    tern_program *program;
    tern_program_info info;
    tern_metric_value v;
    uint64_t lost;
    CHECK_OK(tern_metrics_create(NULL, &m));
    CHECK_OK(tern_ctx_create(&(tern_ctx_options){.threads = 1}, &ctx));
    CHECK_OK(tern_metrics_start(m, &(tern_operation){.name = "events", .ctx = ctx}, &span));
    CHECK_OK(tern_trace_start(NULL));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 1, (int64_t[]){64});
        tern_tensor *y = tern_relu(x), *given = tern_ones(ctx, TERN_F32, 1, (int64_t[]){64}), *out;
        tern_exec *exec;
        CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        CHECK_OK(tern_eval(given));
        for (int i = 0; i < 5; i++)
            CHECK_OK(tern_exec_run(exec, 1, &given, 1, &out));
        tern_exec_free(exec);
    }
    CHECK_OK(tern_trace_stop(tern_metrics_take_event, span, &lost));
    CHECK_OK(tern_metrics_record(span, TERN_METRIC_LOST_EVENTS, (double)lost));
    CHECK_OK(tern_metrics_take_program(span, program));
    tern_program_get_info(program, &info);
    CHECK_EQ((int64_t)value_of(m, 0, TERN_METRIC_PLAN_STEPS), info.steps);
    CHECK_EQ((int64_t)value_of(m, 0, TERN_METRIC_PLAN_ARENA), (int64_t)info.arena_bytes);
    CHECK_NEAR(value_of(m, 0, TERN_METRIC_PLAN_COMPILE), (double)info.compile_ns * 1e-9, 1e-12);
    CHECK_OK(tern_metrics_stop(span, TERN_OK));
    CHECK_OK(tern_metrics_value(m, 0, TERN_METRIC_STEP_TIME, &v));
    CHECK_EQ((int64_t)v.count, (int64_t)value_of(m, 0, TERN_METRIC_STEPS));
    CHECK(v.min >= 0 && v.max >= v.min && v.value >= v.max);
    CHECK_OK(tern_metrics_value(m, 0, TERN_METRIC_COMPILE_TIME, &v));
    CHECK(v.count >= 1);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
    tern_metrics_free(m);
}

TEST(operations_have_a_limit)
{
    tern_metrics *m;
    tern_metrics_span *span;
    tern_operation o;
    char name[400];
    CHECK_OK(tern_metrics_create(&(tern_metrics_options){.operations = 3}, &m));
    for (int i = 0; i < 10; i++) {
        CHECK_OK(tern_metrics_start(m, &(tern_operation){.name = "x", .sequence = i}, &span));
        CHECK_OK(tern_metrics_stop(span, TERN_OK));
    }
    CHECK_OK(tern_metrics_operation(m, 3, &o));
    CHECK_STR(o.name, "other");
    CHECK(value_of(m, 3, TERN_METRIC_OPERATIONS) == 7 && value_of(m, 1, TERN_METRIC_OPERATIONS) == 1);
    CHECK_STATUS(tern_metrics_operation(m, 4, &o), TERN_OUT_OF_RANGE);
    tern_metrics_free(m);
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    CHECK_OK(tern_metrics_create(NULL, &m));
    for (int i = 0; i < 2; i++) { /* cut, and still the same */
        CHECK_OK(tern_metrics_start(m, &(tern_operation){.name = name}, &span));
        CHECK_OK(tern_metrics_stop(span, TERN_OK));
    }
    CHECK(value_of(m, 0, TERN_METRIC_OPERATIONS) == 2);
    tern_metrics_free(m);
    CHECK_STATUS(tern_metrics_create(&(tern_metrics_options){.points = 3}, &m), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_metrics_create(&(tern_metrics_options){.operations = -1}, &m), TERN_INVALID_ARGUMENT);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 2000 };

static void *request(void *user)
{
    tern_metrics *m = user;
    tern_metrics_span *span;
    for (int i = 0; i < ROUNDS; i++) {
        if (tern_metrics_start(m, &(tern_operation){.name = i % 2 ? "odd" : "even"}, &span) != TERN_OK)
            return NULL;
        tern_metrics_record(span, TERN_METRIC_GENERATED_TOKENS, 3);
        tern_metrics_record(span, TERN_METRIC_TOKEN_TIME, 1e-3);
        tern_metrics_stop(span, TERN_OK);
    }
    return m;
}

TEST(threads_add_up)
{
    tern_metrics *m;
    pthread_t threads[THREADS];
    tern_metric_value v;
    char *text;
    CHECK_OK(tern_metrics_create(NULL, &m));
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, request, m), 0);
    for (int i = 0; i < 50; i++) { /* as a server would, meanwhile */
        CHECK_OK(tern_metrics_write(m, TERN_METRICS_PROMETHEUS, &text));
        tern_string_free(text);
    }
    for (int i = 0; i < THREADS; i++) {
        void *done;
        CHECK_EQ(pthread_join(threads[i], &done), 0);
        CHECK(done == m);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(value_of(m, i, TERN_METRIC_GENERATED_TOKENS) == 3.0 * THREADS * ROUNDS / 2);
        CHECK_OK(tern_metrics_value(m, i, TERN_METRIC_TOKEN_TIME, &v));
        CHECK_EQ((int64_t)v.count, THREADS * ROUNDS / 2);
    }
    tern_metrics_free(m);
}

/* ---- memory ---- */

static tern_status all_of_it(tern_ctx *ctx)
{
    tern_metrics *m;
    tern_metrics_span *span;
    char *text = NULL;
    TERN_TRY(tern_metrics_create(NULL, &m));
    tern_status status = tern_metrics_start(m, &(tern_operation){.name = "a", .ctx = ctx}, &span);
    if (status == TERN_OK) {
        status = tern_metrics_record(span, TERN_METRIC_TOKEN_TIME, 1);
        tern_status stopped = tern_metrics_stop(span, TERN_OK);
        status = status == TERN_OK ? stopped : status;
    }
    for (int i = 0; i < 3 && status == TERN_OK; i++) {
        status = tern_metrics_write(m, (tern_metrics_format)i, &text);
        if (status == TERN_OK)
            tern_string_free(text);
    }
    tern_metrics_free(m);
    return status;
}

TEST(failing_allocations_leak_nothing)
{
    tern_ctx *ctx;
    tern_alloc_stats before, after;
    CHECK_OK(tern_ctx_create(&(tern_ctx_options){.threads = 1}, &ctx));
    CHECK_OK(work(ctx, 100));
    tern_alloc_get_stats(&before);
    long n = 0;
    for (bool fired = true; fired; n++) {
        gate g = {.countdown = n + 1};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = all_of_it(ctx);
        tern_alloc_set_gate(NULL, NULL);
        fired = g.fired;
        CHECK_STATUS(status, fired ? TERN_OUT_OF_MEMORY : TERN_OK);
        tern_alloc_get_stats(&after);
        CHECK_EQ(after.live_bytes, before.live_bytes);
    }
    CHECK(n > 5);
    tern_ctx_destroy(ctx);
}

TEST(formats_have_names)
{
    tern_metrics_format f;
    tern_metrics *m;
    char *text;
    CHECK_OK(tern_metrics_format_parse("prometheus", &f));
    CHECK_EQ(f, TERN_METRICS_PROMETHEUS);
    CHECK_STATUS(tern_metrics_format_parse("xml", &f), TERN_NOT_FOUND);
    CHECK_OK(tern_metrics_create(NULL, &m));
    CHECK_STATUS(tern_metrics_write(m, (tern_metrics_format)7, &text), TERN_INVALID_ARGUMENT);
    CHECK_OK(tern_metrics_write(m, TERN_METRICS_PROMETHEUS, &text)); /* nothing yet */
    CHECK_STR(text, "");
    tern_string_free(text);
    tern_metrics_free(m);
}
