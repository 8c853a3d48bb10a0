/* bench_metrics.c - what metrics cost: one number recorded, one look at a context and its pool, one operation, one page for Prometheus.
 * Calls alone, one after the other; a lock that nobody else holds. */
#include <tern/tern.h>

#include "bench_json.h"
#include "measure/timing.h"

enum { ROUNDS = 9 };

typedef struct bench {
    tern_ctx *ctx;
    tern_metrics *metrics;
    tern_metrics_span *span;
} bench;

static tern_status record(void *user)
{
    bench *b = user;
    return tern_metrics_record(b->span, TERN_METRIC_GENERATED_TOKENS, 1);
}

static tern_status record_time(void *user)
{
    bench *b = user;
    return tern_metrics_record(b->span, TERN_METRIC_TOKEN_TIME, 0.01);
}

static tern_status take_event(void *user)
{
    bench *b = user;
    tern_metrics_take_event(b->span, &(tern_trace_event){.category = "step", .duration_ns = 10000});
    return TERN_OK;
}

static tern_status observe(void *user)
{
    bench *b = user;
    return tern_metrics_observe(b->span);
}

static tern_status operation(void *user)
{
    bench *b = user;
    tern_metrics_span *span;
    TERN_TRY(tern_metrics_start(b->metrics, &(tern_operation){.name = "request"}, &span));
    return tern_metrics_stop(span, TERN_OK);
}

static tern_status write_page(void *user)
{
    bench *b = user;
    char *text;
    TERN_TRY(tern_metrics_write(b->metrics, TERN_METRICS_PROMETHEUS, &text));
    tern_string_free(text);
    return TERN_OK;
}

static const struct {
    const char *name;
    tern_status (*run)(void *user); /* of a bench */
    int times;
    const char *what;
} rows[] = {
    {"metrics_record_ns", record, 100000, "tern_metrics_record of a counter"},
    {"metrics_record_time_ns", record_time, 100000, "tern_metrics_record in a histogram"},
    {"metrics_event_ns", take_event, 100000, "tern_metrics_take_event of a step"},
    {"metrics_observe_ns", observe, 20000, "tern_metrics_observe of a context and its pool"},
    {"metrics_operation_ns", operation, 20000, "tern_metrics_start and _stop without a context"},
    {"metrics_write_ns", write_page, 200, "tern_metrics_write for Prometheus, two operations"},
};

static tern_status measure(bench *b, bench_output *out)
{
    double rounds[ROUNDS];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tern__thing thing = {rows[i].run, b, rows[i].times};
        for (int r = 0; r < ROUNDS; r++)
            TERN_TRY(tern__thing_time(&thing, &rounds[r]));
        bench_row(out, rows[i].name, bench_median(rounds, ROUNDS) * 1e9, "ns", "lower", "%s", rows[i].what);
    }
    return TERN_OK;
}

int main(int argc, char **argv)
{
    bench_output out;
    bench b = {0};
    if (!bench_open(&out, &argc, argv))
        return 2;
    tern_status status = tern_ctx_create(NULL, &b.ctx);
    if (status == TERN_OK)
        status = tern_metrics_create(NULL, &b.metrics);
    if (status == TERN_OK)
        status = tern_metrics_start(b.metrics, &(tern_operation){.name = "bench", .ctx = b.ctx}, &b.span);
    if (status == TERN_OK)
        status = measure(&b, &out);
    if (b.span)
        tern_metrics_stop(b.span, status);
    if (status != TERN_OK)
        fprintf(stderr, "bench_metrics: %s\n", tern_last_error());
    tern_metrics_free(b.metrics);
    tern_ctx_destroy(b.ctx);
    return bench_close(&out) && status == TERN_OK ? 0 : 1;
}
