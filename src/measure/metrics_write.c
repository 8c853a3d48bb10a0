/* metrics_write.c - metrics as JSON, CSV and text for Prometheus. A writer holds the collector's lock: what it writes is of one moment. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_text.h"
#include "base/names.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "measure/documents.h"
#include "measure/json_members.h"
#include "measure/metrics.h"
#include "measure/csv_text.h"

/* ---- what tells operations apart ---- */

static const char *precision_name(tern_precision precision)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_PRECISION_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)precision);
}

/* X(name, quote, format, value): in the order in which all formats have them, behind the name. `quote`: around texts in JSON. */
#define LABELS(X, o)                                           \
    X("batch", "", "%" PRId64, (o)->batch)                     \
    X("sequence", "", "%" PRId64, (o)->sequence)               \
    X("parameters", "", "%" PRIu64, (o)->parameters)           \
    X("precision", "\"", "%s", precision_name((o)->precision)) \
    X("level", "\"", "%s", tern_level_name((o)->level))        \
    X("threads", "", "%d", (o)->threads)

/* ---- Prometheus ---- */

/* A label's value: backslashes, quotes and line ends are escaped. Names of operations are UTF-8. */
static void add_label_text(tern__strbuf *to, const char *text)
{
    for (; *text; text++)
        if (*text == '\\' || *text == '"')
            tern__strbuf_addf(to, "\\%c", *text);
        else if (*text == '\n')
            tern__strbuf_add(to, "\\n");
        else
            tern__strbuf_add_n(to, text, 1);
}

/* "tern_step_seconds_bucket{operation="run",...,le="0.1"} ", without `le` if the bound is none (NaN). */
static void begin_sample(tern__strbuf *to, const tern__metric_set *set, const char *name, const char *suffix,
                         double bound)
{
    tern__strbuf_addf(to, "%s%s{operation=\"", name, suffix);
    add_label_text(to, set->name);
#define LABEL(label, quote, format, value) tern__strbuf_addf(to, "\"," label "=\"" format, value);
    LABELS(LABEL, &set->what)
#undef LABEL
    if (isfinite(bound)) {
        tern__strbuf_add(to, "\",le=\"");
        tern__json_add_real(to, bound);
    } else if (isinf(bound)) {
        tern__strbuf_add(to, "\",le=\"+Inf");
    }
    tern__strbuf_add(to, "\"} ");
}

static void add_sample(tern__strbuf *to, const tern__metric_set *set, const char *name, const char *suffix,
                       double value)
{
    begin_sample(to, set, name, suffix, NAN);
    tern__json_add_real(to, value);
    tern__strbuf_add(to, "\n");
}

static void add_histogram(tern__strbuf *to, const tern__metric_set *set, const char *name,
                          const tern__histogram *h)
{
    uint64_t below = 0;
    for (int i = 0; i <= TERN__METRIC_BOUNDS; i++) {
        below += h->buckets[i];
        begin_sample(to, set, name, "_bucket", i < TERN__METRIC_BOUNDS ? tern__metric_bound(i) : INFINITY);
        tern__strbuf_addf(to, "%" PRIu64 "\n", below);
    }
    add_sample(to, set, name, "_sum", h->sum);
    add_sample(to, set, name, "_count", (double)h->count);
}

static void write_prometheus(tern__strbuf *to, const tern_metrics *m)
{
    tern_metric_info info;
    for (int k = 0; tern_metric_at(k, &info) == TERN_OK; k++) {
        const bool histogram = info.kind == TERN_METRIC_HISTOGRAM;
        bool any = false;
        for (int i = 0; i < m->n; i++) {
            const tern__metric_cell *cell = &m->sets[i]->cells[k];
            if (!cell->told)
                continue;
            if (!any)
                tern__strbuf_addf(to, "# HELP %s %s\n# TYPE %s %s\n", info.name, info.help, info.name,
                                  histogram                          ? "histogram"
                                  : info.kind == TERN_METRIC_COUNTER ? "counter"
                                                                     : "gauge");
            any = true;
            if (histogram)
                add_histogram(to, m->sets[i], info.name, cell->histogram);
            else
                add_sample(to, m->sets[i], info.name, "", cell->value);
        }
    }
}

/* ---- JSON ---- */

static void add_operation_json(tern__strbuf *to, const tern__metric_set *set)
{
    tern__member_text(to, "{\n      ", "operation", set->name);
#define MEMBER(label, quote, format, value) \
    tern__strbuf_addf(to, ",\n      \"" label "\": " quote format quote, value);
    LABELS(MEMBER, &set->what)
#undef MEMBER
}

static void add_histogram_json(tern__strbuf *to, const tern__histogram *h)
{
    tern__strbuf_addf(to, "{\"count\": %" PRIu64 ", \"sum\": ", h->count);
    tern__json_add_real(to, h->sum);
    tern__member_real(to, ", ", "min", h->min);
    tern__member_real(to, ", ", "max", h->max);
    tern__strbuf_add(to, ", \"counts\": [");
    for (int i = 0; i <= TERN__METRIC_BOUNDS; i++)
        tern__strbuf_addf(to, "%s%" PRIu64, i ? ", " : "", h->buckets[i]);
    tern__strbuf_add(to, "]}");
}

static void add_series_json(tern__strbuf *to, const tern__metric_cell *cell)
{
    tern__member_real(to, "{", "ratio", cell->value);
    tern__strbuf_add(to, ", \"points\": [");
    for (int i = 0; cell->series && i < cell->series->n; i++) {
        const tern_metric_point *p = &cell->series->points[i];
        const double numbers[] = {p->seconds, p->value, p->part, p->whole};
        for (int k = 0; k < 4; k++) {
            tern__strbuf_add(to, k ? ", " : i ? ", [" : "[");
            tern__json_add_real(to, numbers[k]);
        }
        tern__strbuf_add(to, "]");
    }
    tern__strbuf_add(to, "]}");
}

/* The metrics of one kind as a member of the operation. */
static void add_kind_json(tern__strbuf *to, const tern__metric_set *set, tern_metric_kind kind,
                          const char *member)
{
    tern_metric_info info;
    bool any = false;
    tern__strbuf_addf(to, ",\n      \"%s\": {", member);
    for (int k = 0; tern_metric_at(k, &info) == TERN_OK; k++) {
        const tern__metric_cell *cell = &set->cells[k];
        const bool peak = info.kind == TERN_METRIC_PEAK && kind == TERN_METRIC_GAUGE;
        if (!cell->told || (info.kind != kind && !peak))
            continue;
        tern__strbuf_addf(to, "%s\n        \"%s\": ", any ? "," : "", info.name);
        any = true;
        if (kind == TERN_METRIC_HISTOGRAM)
            add_histogram_json(to, cell->histogram);
        else if (kind == TERN_METRIC_SERIES)
            add_series_json(to, cell);
        else
            tern__json_add_real(to, cell->value);
    }
    tern__strbuf_add(to, any ? "\n      }" : "}");
}

static void add_table_json(tern__strbuf *to)
{
    tern_metric_info info;
    tern__strbuf_add(to, ",\n  \"metrics\": [");
    for (int k = 0; tern_metric_at(k, &info) == TERN_OK; k++) {
        tern__strbuf_addf(to, "%s\n    {\"name\": \"%s\", \"kind\": \"%s\", \"unit\": \"%s\", \"help\": ",
                          k ? "," : "", info.name, tern_metric_kind_name(info.kind), info.unit);
        tern__json_add_text(to, info.help);
        tern__strbuf_add(to, "}");
    }
    tern__strbuf_add(to, "\n  ],\n  \"histogram_bounds\": [");
    for (int i = 0; i < TERN__METRIC_BOUNDS; i++) {
        tern__strbuf_add(to, i ? ", " : "");
        tern__json_add_real(to, tern__metric_bound(i));
    }
    tern__strbuf_add(to, "]");
}

static void write_json(tern__strbuf *to, const tern_metrics *m)
{
    tern__strbuf_addf(to,
                      "{\n  \"format\": \"" TERN__METRICS_DOCUMENT
                      "\",\n  \"version\": 1,\n  \"started_at\": %" PRId64 ",\n  \"seconds\": ",
                      m->started_at);
    tern__json_add_real(to, tern__metrics_seconds(m));
    add_table_json(to);
    tern__strbuf_add(to, ",\n  \"operations\": [");
    for (int i = 0; i < m->n; i++) {
        tern__strbuf_add(to, i ? ",\n    " : "\n    ");
        add_operation_json(to, m->sets[i]);
        add_kind_json(to, m->sets[i], TERN_METRIC_COUNTER, "counters");
        add_kind_json(to, m->sets[i], TERN_METRIC_GAUGE, "gauges");
        add_kind_json(to, m->sets[i], TERN_METRIC_HISTOGRAM, "histograms");
        add_kind_json(to, m->sets[i], TERN_METRIC_SERIES, "series");
        tern__strbuf_add(to, "\n    }");
    }
    tern__strbuf_add(to, m->n ? "\n  ]\n}\n" : "]\n}\n");
}

/* ---- CSV ---- */

/* `at`: the bound of a bucket, or the time of a point; NULL: neither. */
static void add_line(tern__strbuf *to, const tern__metric_set *set, const tern_metric_info *info,
                     const char *what, const double *at, double value)
{
    tern__strbuf_addf(to, "%s,%s,%s,", info->name, tern_metric_kind_name(info->kind), info->unit);
    tern__add_csv_text(to, set->name);
#define CELL(label, quote, format, number) tern__strbuf_addf(to, "," format, number);
    LABELS(CELL, &set->what)
#undef CELL
    tern__strbuf_addf(to, ",%s,", what);
    if (at)
        tern__json_add_real(to, *at);
    tern__strbuf_add(to, ",");
    tern__json_add_real(to, value);
    tern__strbuf_add(to, "\n");
}

static void add_cell_csv(tern__strbuf *to, const tern__metric_set *set, const tern_metric_info *info,
                         const tern__metric_cell *cell)
{
    const tern__histogram *h = cell->histogram;
    if (!h) {
        add_line(to, set, info, "value", NULL, cell->value);
        for (int i = 0; cell->series && i < cell->series->n; i++)
            add_line(to, set, info, "point", &cell->series->points[i].seconds, cell->series->points[i].value);
        return;
    }
    add_line(to, set, info, "count", NULL, (double)h->count);
    add_line(to, set, info, "sum", NULL, h->sum);
    add_line(to, set, info, "min", NULL, h->min);
    add_line(to, set, info, "max", NULL, h->max);
    for (int i = 0; i < TERN__METRIC_BOUNDS; i++) {
        const double bound = tern__metric_bound(i);
        add_line(to, set, info, "bucket", &bound, (double)h->buckets[i]);
    }
    add_line(to, set, info, "beyond", NULL, (double)h->buckets[TERN__METRIC_BOUNDS]);
}

static void write_csv(tern__strbuf *to, const tern_metrics *m)
{
    tern_metric_info info;
    tern__strbuf_add(to, "metric,kind,unit,operation");
#define NAME(label, quote, format, value) tern__strbuf_add(to, "," label);
    LABELS(NAME, (const tern_operation *)NULL)
#undef NAME
    tern__strbuf_add(to, ",what,at,value\n");
    for (int i = 0; i < m->n; i++)
        for (int k = 0; tern_metric_at(k, &info) == TERN_OK; k++)
            if (m->sets[i]->cells[k].told)
                add_cell_csv(to, m->sets[i], &info, &m->sets[i]->cells[k]);
}

/* ---- all of them ---- */

tern_status tern_metrics_format_parse(const char *name, tern_metrics_format *out)
{
    static const char *const names[] = {
#define NAME(id, number, text, what) [number] = text,
        TERN_METRICS_FORMAT_LIST(NAME)
#undef NAME
    };
    int number = 0;
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "metrics formats: an argument is NULL");
    TERN_TRY(tern__name_find(names, TERN__COUNT(names), "metrics formats", name, &number));
    *out = (tern_metrics_format)number;
    return TERN_OK;
}

tern_status tern_metrics_write(tern_metrics *metrics, tern_metrics_format format, char **out)
{
    static void (*const writers[])(tern__strbuf *, const tern_metrics *) = {
        [TERN_METRICS_JSON] = write_json,
        [TERN_METRICS_CSV] = write_csv,
        [TERN_METRICS_PROMETHEUS] = write_prometheus,
    };
    tern__strbuf text = TERN__STRBUF_EMPTY;
    TERN__FAIL_IF(!metrics || !out, TERN_INVALID_ARGUMENT, "metrics: give a collector and `out`");
    TERN__FAIL_IF((int)format < 0 || (int)format >= (int)TERN__COUNT(writers), TERN_INVALID_ARGUMENT,
                  "metrics: there is no format %d", (int)format);
    pthread_mutex_lock(&metrics->lock);
    writers[format](&text, metrics);
    pthread_mutex_unlock(&metrics->lock);
    return tern__strbuf_take(&text, out);
}
