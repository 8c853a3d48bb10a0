/* metrics_file.c - see metrics_file.h. */
#include "metrics_file.h"

#include <stdio.h>

#include "answer.h"
#include "clock.h"
#include "term.h"

static const uint64_t period_ns = 100000000; /* that of the series */

int metrics_open(const args *a, metrics_file *f)
{
    static const struct {
        const char *ending;
        tern_metrics_format format;
    } endings[] = {
        {".json", TERN_METRICS_JSON}, {".csv", TERN_METRICS_CSV}, {".prom", TERN_METRICS_PROMETHEUS}};
    const char *path = args_value(a, "metrics");
    bool known = false;
    *f = (metrics_file){0};
    for (size_t i = 0; path && !known && i < sizeof endings / sizeof endings[0]; i++) {
        known = text_ends_in(path, endings[i].ending);
        f->format = endings[i].format;
    }
    if (path && !known)
        return fail_usage("--metrics '%s': the name must end in .json, .csv or .prom, which tells the format",
                          path);
    if (!path)
        return EXIT_DONE;
    const int code = out_open(path, &f->file);
    if (code != EXIT_DONE)
        return code;
    return tern_metrics_create(NULL, &f->metrics) == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

/* ---- an operation ---- */

/* Metrics that fail for want of memory do not stop what they are of: it is said once. */
static void expect(tern_status status)
{
    static bool said;
    if (status != TERN_OK && !said)
        warn("metrics are incomplete: %s", tern_last_error());
    said |= status != TERN_OK;
}

static void start_tracing(metrics_file *f)
{
    f->traces = !tern_trace_is_on() && tern_trace_start(NULL) == TERN_OK;
    f->looked_ns = clock_ns();
}

static void take_events(metrics_file *f)
{
    uint64_t lost = 0;
    if (!f->traces)
        return;
    f->traces = false;
    expect(tern_trace_stop(tern_metrics_take_event, f->span, &lost));
    expect(tern_metrics_record(f->span, TERN_METRIC_LOST_EVENTS, (double)lost));
}

void metrics_start(metrics_file *f, const tern_operation *operation)
{
    if (!f->metrics)
        return;
    tern_status status = tern_metrics_start(f->metrics, operation, &f->span);
    expect(status);
    if (status == TERN_OK)
        start_tracing(f);
}

void metrics_start_model(metrics_file *f, const char *name, const engine *e, int batch)
{
    tern_model_info info;
    if (!f->metrics)
        return;
    tern_model_get_info(e->model, &info);
    metrics_start(f, &(tern_operation){.name = name,
                                       .batch = batch,
                                       .sequence = tern_session_context(e->session),
                                       .parameters = info.parameters,
                                       .level = TERN_LEVEL_HIGH,
                                       .threads = tern_ctx_threads(e->ctx),
                                       .ctx = e->ctx});
    f->engine = e;
}

/* Plans that the session has made since. */
static void take_programs(metrics_file *f)
{
    tern_session_program p;
    while (f->engine && tern_session_get_program(f->engine->session, f->programs, &p) == TERN_OK) {
        metrics_program(f, p.program);
        f->programs++;
    }
}

void metrics_stop(metrics_file *f, bool good)
{
    if (!f->span)
        return;
    take_events(f);
    take_programs(f);
    expect(tern_metrics_stop(f->span, good ? TERN_OK : TERN_INTERNAL));
    f->span = NULL;
}

void metrics_program(metrics_file *f, const tern_program *plan)
{
    if (f->span)
        expect(tern_metrics_take_program(f->span, plan));
}

void metrics_prompt(metrics_file *f, int64_t n)
{
    if (f->span)
        expect(tern_metrics_record(f->span, TERN_METRIC_PROMPT_TOKENS, (double)n));
}

void metrics_token(metrics_file *f, uint64_t begun, uint64_t *last)
{
    if (!f || !f->span)
        return;
    const uint64_t now = clock_ns();
    const tern_metric metric = *last ? TERN_METRIC_TOKEN_TIME : TERN_METRIC_FIRST_TOKEN_TIME;
    expect(tern_metrics_record(f->span, TERN_METRIC_GENERATED_TOKENS, 1));
    expect(tern_metrics_record(f->span, metric, (double)(now - (*last ? *last : begun)) * 1e-9));
    *last = now;
    metrics_look(f);
}

void metrics_look(metrics_file *f)
{
    if (!f->span || clock_ns() - f->looked_ns < period_ns)
        return;
    expect(tern_metrics_observe(f->span));
    if (f->traces) {
        take_events(f);
        start_tracing(f);
    }
    f->looked_ns = clock_ns();
}

/* ---- the file ---- */

static bool write_whole(metrics_file *f)
{
    char *content;
    if (tern_metrics_write(f->metrics, f->format, &content) != TERN_OK) {
        fail_status(NULL);
        return false;
    }
    const bool good = out_finish(&f->file, content) == EXIT_DONE;
    tern_string_free(content);
    return good;
}

int metrics_close(metrics_file *f, int code)
{
    tern_operation first;
    metrics_stop(f, code == EXIT_DONE);
    const bool wanted = f->metrics && tern_metrics_operation(f->metrics, 0, &first) == TERN_OK;
    const bool good = !wanted || write_whole(f);
    out_discard(&f->file);
    tern_metrics_free(f->metrics);
    *f = (metrics_file){0};
    return good || code != EXIT_DONE ? code : EXIT_FAILED;
}
