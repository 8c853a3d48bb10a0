/* test_null_metrics.c - metrics, with NULL for each pointer in turn. */
#include "null_arguments.h"

TEST(metrics)
{
    tern_metrics *metrics;
    tern_metrics_span *span;
    tern_trace_event event = {.category = "step"};
    CHECK_OK(tern_metrics_create(NULL, &metrics));
    REFUSED(tern_metrics_create(NULL, NULL));
    REFUSED(tern_metric_at(0, NULL));
    NEUTRAL(strcmp(tern_metric_kind_name(TERN_METRIC_GAUGE), "gauge"), 0);
    const tern_operation none = {0};
    REFUSED(tern_metrics_start(NULL, &none, &o.metrics_span));
    REFUSED(tern_metrics_start(metrics, NULL, &o.metrics_span));
    REFUSED(tern_metrics_start(metrics, &none, NULL));
    CHECK_OK(tern_metrics_start(metrics, &none, &span)); /* no name, nothing watched */
    REFUSED(tern_metrics_observe(NULL));
    REFUSED(tern_metrics_stop(NULL, TERN_OK));
    REFUSED(tern_metrics_record(NULL, TERN_METRIC_PROMPT_TOKENS, 1));
    REFUSED(tern_metrics_take_program(span, NULL));
    REFUSED(tern_metrics_take_program(NULL, (const tern_program *)span));
    QUIET(tern_metrics_take_event(NULL, &event));
    QUIET(tern_metrics_take_event(span, NULL));
    CHECK_OK(tern_metrics_stop(span, TERN_OK));
    REFUSED(tern_metrics_operation(NULL, 0, &o.operation));
    REFUSED(tern_metrics_operation(metrics, 0, NULL));
    REFUSED(tern_metrics_value(NULL, 0, TERN_METRIC_OPERATIONS, &o.metric_value));
    REFUSED(tern_metrics_value(metrics, 0, TERN_METRIC_OPERATIONS, NULL));
    REFUSED(tern_metrics_value(metrics, 0, (tern_metric)-1, &o.metric_value));
    REFUSED(tern_metrics_point(NULL, 0, TERN_METRIC_FUSION_RATE, 0, &o.metric_point));
    REFUSED(tern_metrics_point(metrics, 0, TERN_METRIC_FUSION_RATE, 0, NULL));
    REFUSED(tern_metrics_format_parse(NULL, &o.metrics_format));
    REFUSED(tern_metrics_format_parse("json", NULL));
    REFUSED(tern_metrics_write(NULL, TERN_METRICS_JSON, &o.text));
    REFUSED(tern_metrics_write(metrics, TERN_METRICS_JSON, NULL));
    QUIET(tern_metrics_free(NULL));
    tern_metrics_free(metrics);
}
