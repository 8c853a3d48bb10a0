/* results_write.c - sets of results in the formats that tools read, one function each. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/status.h"
#include "base/json_text.h"
#include "measure/documents.h"
#include "measure/json_members.h"
#include "measure/csv_text.h"
#include "measure/results/results.h"
#include "measure/stats.h"

/* ---- JSON ---- */

static void add_field_json(tern__strbuf *to, const tern__field *field, const tern_result *row)
{
    const char *text;
    switch (field->kind) {
    case TERN__FIELD_TEXT:
    case TERN__FIELD_REASON:
        text = tern__field_text(field, row);
        if (field->kind == TERN__FIELD_REASON && !text[0])
            tern__strbuf_add(to, "null");
        else
            tern__json_add_text(to, text);
        return;
    case TERN__FIELD_INT:
        tern__strbuf_addf(to, "%" PRId64, tern__field_int(field, row));
        return;
    case TERN__FIELD_LONG:
        if (tern__field_int(field, row) < 0)
            tern__strbuf_add(to, "null");
        else
            tern__strbuf_addf(to, "%" PRId64, tern__field_int(field, row));
        return;
    case TERN__FIELD_REAL:
        tern__json_add_real(to, tern__field_real(field, row));
        return;
    }
}

static void add_reals(tern__strbuf *to, const double *values, int n)
{
    tern__strbuf_add(to, "[");
    for (int i = 0; i < n && values; i++) {
        tern__strbuf_add(to, i ? ", " : "");
        tern__json_add_real(to, values[i]);
    }
    tern__strbuf_add(to, "]");
}

static void add_row_json(tern__strbuf *to, const tern_result *row, const char *indent)
{
    const tern__field *field;
    for (int i = 0; (field = tern__result_field(i)) != NULL; i++) {
        tern__strbuf_addf(to, "%s\n%s  \"%s\": ", i ? "," : "{", indent, field->name);
        add_field_json(to, field, row);
    }
    tern__strbuf_addf(to, ",\n%s  \"samples_us\": ", indent);
    add_reals(to, row->samples_us, row->rounds);
    if (row->cpu_samples_us) {
        tern__strbuf_addf(to, ",\n%s  \"cpu_samples_us\": ", indent);
        add_reals(to, row->cpu_samples_us, row->rounds);
    }
    tern__strbuf_addf(to, "\n%s}", indent);
}

static void add_rows_json(tern__strbuf *to, const tern_results *r, const char *indent)
{
    tern__strbuf_add(to, "[");
    for (int i = 0; i < r->n; i++) {
        tern__strbuf_addf(to, "%s\n%s  ", i ? "," : "", indent);
        add_row_json(to, &r->rows[i], indent[0] ? "    " : "  ");
    }
    tern__strbuf_addf(to, r->n ? "\n%s]" : "%.0s]", indent);
}

static void add_condition_json(tern__strbuf *to, const tern_results *r, int i)
{
    tern__json_add_text(to, r->conditions[i].name);
    tern__strbuf_add(to, ": ");
    tern__json_add_text(to, r->conditions[i].value);
}

static void add_conditions_json(tern__strbuf *to, const tern_results *r, const char *indent)
{
    tern__strbuf_add(to, "{");
    for (int i = 0; i < r->n_conditions; i++) {
        tern__strbuf_addf(to, "%s\n%s  ", i ? "," : "", indent);
        add_condition_json(to, r, i);
    }
    tern__strbuf_addf(to, r->n_conditions ? "\n%s}" : "%.0s}", indent);
}

static void write_rows(tern__strbuf *to, const tern_results *r)
{
    add_rows_json(to, r, "");
}

static void write_json(tern__strbuf *to, const tern_results *r)
{
    tern__strbuf_add(to, "{\n  \"format\": \"" TERN__RESULTS_DOCUMENT
                         "\",\n  \"version\": 1,\n  \"conditions\": ");
    add_conditions_json(to, r, "  ");
    tern__strbuf_add(to, ",\n  \"rows\": ");
    add_rows_json(to, r, "  ");
    tern__strbuf_add(to, "\n}");
}

/* ---- CSV ---- */

static void add_field_csv(tern__strbuf *to, const tern__field *field, const tern_result *row)
{
    const bool text = field->kind == TERN__FIELD_TEXT || field->kind == TERN__FIELD_REASON;
    if (text)
        tern__add_csv_text(to, tern__field_text(field, row));
    else if (field->kind == TERN__FIELD_REAL && isfinite(tern__field_real(field, row)))
        tern__json_add_real(to, tern__field_real(field, row));
    else if (field->kind == TERN__FIELD_INT ||
             (field->kind == TERN__FIELD_LONG && tern__field_int(field, row) >= 0))
        tern__strbuf_addf(to, "%" PRId64, tern__field_int(field, row));
}

static void write_csv(tern__strbuf *to, const tern_results *r)
{
    const tern__field *field;
    for (int k = 0; (field = tern__result_field(k)) != NULL; k++)
        tern__strbuf_addf(to, "%s%s", k ? "," : "", field->name);
    for (int i = 0; i < r->n; i++) {
        tern__strbuf_add(to, "\n");
        for (int k = 0; (field = tern__result_field(k)) != NULL; k++) {
            tern__strbuf_add(to, k ? "," : "");
            add_field_csv(to, field, &r->rows[i]);
        }
    }
}

/* ---- formats of others ---- */

static void add_name_json(tern__strbuf *to, const tern_result *row)
{
    tern__strbuf name = TERN__STRBUF_EMPTY;
    tern__result_add_name(&name, row);
    tern__json_add_text(to, name.text ? name.text : "");
    to->failed |= name.failed;
    tern__strbuf_free(&name);
}

/* The members that entries of Google Benchmark share. */
static void begin_google(tern__strbuf *to, const tern_result *row, bool first, const char *suffix)
{
    tern__strbuf name = TERN__STRBUF_EMPTY;
    tern__result_add_name(&name, row);
    tern__strbuf_add(&name, suffix);
    tern__strbuf_addf(to, "%s\n    {\"name\": ", first ? "" : ",");
    tern__json_add_text(to, name.text ? name.text : "");
    tern__strbuf_add(to, ", \"run_name\": ");
    add_name_json(to, row);
    tern__strbuf_addf(to, ", \"repetitions\": %d, \"threads\": %d", row->rounds, row->threads);
    to->failed |= name.failed;
    tern__strbuf_free(&name);
}

/* cpu_us NaN: it is not known, and not told. */
static void end_google(tern__strbuf *to, int64_t iterations, double time_us, double cpu_us)
{
    tern__strbuf_addf(to, ", \"iterations\": %" PRId64 ", \"real_time\": ", iterations);
    tern__json_add_real(to, time_us);
    if (isfinite(cpu_us)) {
        tern__member_real(to, ", ", "cpu_time", cpu_us);
    }
    tern__strbuf_add(to, ", \"time_unit\": \"us\"");
}

/* Of the processor's time; NaN where it is not known. */
static tern__stats cpu_stats(tern__strbuf *to, const tern_result *row)
{
    const tern__stats unknown = {.median = NAN, .mad = NAN, .min = NAN};
    const size_t bytes = (size_t)row->rounds * sizeof(double);
    double *sorted = row->cpu_samples_us ? tern__alloc(bytes) : NULL;
    to->failed |= row->cpu_samples_us && !sorted;
    if (!sorted)
        return unknown;
    memcpy(sorted, row->cpu_samples_us, bytes);
    const tern__stats s = tern__stats_of(sorted, row->rounds);
    tern__free(sorted);
    return s;
}

static void add_google_row(tern__strbuf *to, const tern_result *row, bool *first)
{
    if (row->rounds == 0) {
        begin_google(to, row, *first, "");
        tern__strbuf_add(to, ", \"run_type\": \"iteration\", \"error_occurred\": true, \"error_message\": ");
        tern__json_add_text(to, row->error);
        end_google(to, 0, 0, 0);
        tern__strbuf_add(to, "}");
        *first = false;
        return;
    }
    for (int i = 0; i < row->rounds && row->samples_us; i++, *first = false) {
        begin_google(to, row, *first, "");
        tern__strbuf_addf(to, ", \"run_type\": \"iteration\", \"repetition_index\": %d", i);
        end_google(to, row->repeats, row->samples_us[i], row->cpu_samples_us ? row->cpu_samples_us[i] : NAN);
        tern__strbuf_add(to, "}");
    }
    const tern__stats cpu = cpu_stats(to, row);
    const struct {
        const char *name;
        double us, cpu_us;
    } aggregates[] = {
        {"median", row->median_us, cpu.median}, {"mad", row->mad_us, cpu.mad}, {"min", row->min_us, cpu.min}};
    for (size_t k = 0; k < TERN__COUNT(aggregates); k++) {
        if (!isfinite(aggregates[k].us))
            continue; /* one sample has no spread */
        char suffix[16];
        snprintf(suffix, sizeof suffix, "_%s", aggregates[k].name);
        begin_google(to, row, *first, suffix);
        tern__strbuf_addf(
            to, ", \"run_type\": \"aggregate\", \"aggregate_name\": \"%s\", \"aggregate_unit\": \"time\"",
            aggregates[k].name);
        end_google(to, row->rounds, aggregates[k].us, aggregates[k].cpu_us);
        if (k == 0 && isfinite(row->gbytes_s)) {
            tern__member_real(to, ", ", "bytes_per_second", row->gbytes_s * 1e9);
        }
        if (k == 0 && isfinite(tern__result_tokens_s(row))) {
            tern__member_real(to, ", ", "items_per_second", tern__result_tokens_s(row));
        }
        tern__strbuf_add(to, "}");
        *first = false;
    }
}

/* As the format has them: how many cores share one is told as 0, which is unknown. */
static void add_google_caches(tern__strbuf *to, const tern_results *r)
{
    const char *text = tern_results_condition(r, TERN__CACHES_NAME);
    long long bytes[3] = {0};
    bool first = true;
    if (text && sscanf(text, TERN__CACHES_READ, &bytes[0], &bytes[1], &bytes[2]) != 3)
        memset(bytes, 0, sizeof bytes);
    tern__strbuf_add(to, "[");
    for (int i = 0; i < 3; i++)
        if (bytes[i] > 0) {
            tern__strbuf_addf(to, "%s{\"type\": \"%s\", \"level\": %d, \"size\": %lld, \"num_sharing\": 0}",
                              first ? "" : ", ", i == 0 ? "Data" : "Unified", i + 1, bytes[i]);
            first = false;
        }
    tern__strbuf_add(to, "]");
}

/* Tern's conditions, but for those whose names mean something else there. */
static void add_google_context(tern__strbuf *to, const tern_results *r)
{
    const char *time = tern_results_condition(r, "time"), *cores = tern_results_condition(r, "cores");
    tern__strbuf_add(to, "{");
    if (time) {
        tern__strbuf_add(to, "\n    \"date\": ");
        tern__json_add_text(to, time);
        tern__strbuf_add(to, ",");
    }
    if (cores && atoi(cores) > 0)
        tern__strbuf_addf(to, "\n    \"num_cpus\": %d,", atoi(cores));
    tern__strbuf_add(to, "\n    \"caches\": ");
    add_google_caches(to, r);
    for (int i = 0; i < r->n_conditions; i++)
        if (strcmp(r->conditions[i].name, TERN__CACHES_NAME) != 0) {
            tern__strbuf_add(to, ",\n    ");
            add_condition_json(to, r, i);
        }
    tern__strbuf_add(to, "\n  }");
}

static void write_google(tern__strbuf *to, const tern_results *r)
{
    bool first = true;
    tern__strbuf_add(to, "{\n  \"context\": ");
    add_google_context(to, r);
    tern__strbuf_add(to, ",\n  \"benchmarks\": [");
    for (int i = 0; i < r->n; i++)
        add_google_row(to, &r->rows[i], &first);
    tern__strbuf_add(to, "\n  ]\n}");
}

/* One entry of github-action-benchmark. */
static void add_action(tern__strbuf *to, const tern_result *row, bool *first, const char *unit, double value,
                       double spread)
{
    tern__strbuf_addf(to, "%s\n  {\"name\": ", *first ? "" : ",");
    *first = false;
    add_name_json(to, row);
    tern__strbuf_addf(to, ", \"unit\": \"%s\", \"value\": ", unit);
    tern__json_add_real(to, value);
    if (isfinite(spread))
        tern__strbuf_addf(to, ", \"range\": \"± %.3g\"", spread);
    tern__strbuf_addf(to, ", \"extra\": \"%d samples\"}", row->rounds);
}

static void write_action_smaller(tern__strbuf *to, const tern_results *r)
{
    bool first = true;
    tern__strbuf_add(to, "[");
    for (int i = 0; i < r->n; i++)
        if (isfinite(r->rows[i].median_us))
            add_action(to, &r->rows[i], &first, "us", r->rows[i].median_us, r->rows[i].mad_us);
    tern__strbuf_add(to, "\n]");
}

const char *tern__result_rate_unit(const tern_result *row)
{
    if (!isfinite(row->gflops))
        return "GB/s";
    return row->limit_kind && strcmp(row->limit_kind, "int8_dot") == 0 ? "GOPS" : "GFLOPS";
}

/* What the row has done in a second; NaN: it is not counted. */
static double rate_of(const tern_result *row, const char **unit)
{
    const double tokens = tern__result_tokens_s(row);
    const bool flops = isfinite(row->gflops);
    *unit = isfinite(tokens) ? "tokens/s" : tern__result_rate_unit(row);
    return !(row->median_us > 0) ? NAN : isfinite(tokens) ? tokens : flops ? row->gflops : row->gbytes_s;
}

static bool any_rate(const tern_results *r)
{
    const char *unit;
    for (int i = 0; i < r->n; i++)
        if (isfinite(rate_of(&r->rows[i], &unit)))
            return true;
    return false;
}

static void write_action_bigger(tern__strbuf *to, const tern_results *r)
{
    bool first = true;
    tern__strbuf_add(to, "[");
    for (int i = 0; i < r->n; i++) {
        const tern_result *row = &r->rows[i];
        const char *unit;
        const double rate = rate_of(row, &unit);
        if (isfinite(rate))
            add_action(to, row, &first, unit, rate, rate * row->mad_us / row->median_us);
    }
    tern__strbuf_add(to, "\n]");
}

static void add_metric(tern__strbuf *to, const char *name, double value, double low, double high, bool *first)
{
    if (!isfinite(value))
        return;
    tern__strbuf_addf(to, "%s\"%s\": {\"value\": ", *first ? "" : ", ", name);
    *first = false;
    tern__json_add_real(to, value);
    if (isfinite(low) && isfinite(high)) {
        tern__member_real(to, ", ", "lower_value", low);
        tern__member_real(to, ", ", "upper_value", high);
    }
    tern__strbuf_add(to, "}");
}

static void write_bencher(tern__strbuf *to, const tern_results *r)
{
    bool first_row = true;
    tern__strbuf_add(to, "{");
    for (int i = 0; i < r->n; i++) {
        const tern_result *row = &r->rows[i];
        bool first = true;
        if (!isfinite(row->median_us))
            continue;
        tern__strbuf_add(to, first_row ? "\n  " : ",\n  ");
        first_row = false;
        add_name_json(to, row);
        tern__strbuf_add(to, ": {");
        add_metric(to, "latency", row->median_us * 1e3, row->low_us * 1e3, row->high_us * 1e3, &first);
        add_metric(to, "gflops", row->gflops, NAN, NAN, &first);
        add_metric(to, "gbytes-per-second", row->gbytes_s, NAN, NAN, &first);
        add_metric(to, "tokens-per-second", tern__result_tokens_s(row), NAN, NAN, &first);
        add_metric(to, "peak-bytes", row->peak_bytes >= 0 ? (double)row->peak_bytes : NAN, NAN, NAN, &first);
        tern__strbuf_add(to, "}");
    }
    tern__strbuf_add(to, "\n}");
}

/* ---- the table ---- */

static void (*const writers[])(tern__strbuf *to, const tern_results *r) = {
    [TERN_RESULT_JSON] = write_json,
    [TERN_RESULT_ROWS] = write_rows,
    [TERN_RESULT_CSV] = write_csv,
    [TERN_RESULT_GOOGLE] = write_google,
    [TERN_RESULT_ACTION_SMALLER] = write_action_smaller,
    [TERN_RESULT_ACTION_BIGGER] = write_action_bigger,
    [TERN_RESULT_BENCHER] = write_bencher,
};

static const char *const names[] = {
#define NAME(id, number, name, what) [number] = name,
    TERN_RESULT_FORMAT_LIST(NAME)
#undef NAME
};
_Static_assert(TERN__COUNT(writers) == TERN__COUNT(names), "every format has a writer");

const char *tern_result_format_name(tern_result_format format)
{
    return tern__name_of(names, TERN__COUNT(names), (int)format);
}

tern_status tern_result_format_parse(const char *name, tern_result_format *out)
{
    int number = 0;
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "result formats: an argument is NULL");
    TERN_TRY(tern__name_find(names, TERN__COUNT(names), "result formats", name, &number));
    *out = (tern_result_format)number;
    return TERN_OK;
}

tern_status tern_results_write(const tern_results *results, tern_result_format format, char **text)
{
    TERN__FAIL_IF(!results || !text, TERN_INVALID_ARGUMENT, "results_write: an argument is NULL");
    TERN__FAIL_IF((unsigned)format >= TERN__COUNT(names), TERN_INVALID_ARGUMENT,
                  "results: there is no format %d", (int)format);
    TERN__FAIL_IF(format == TERN_RESULT_ACTION_BIGGER && !any_rate(results), TERN_UNAVAILABLE,
                  "results: %s is a format of rates, and no row has one; github-action has their times",
                  names[format]);
    tern__strbuf to = TERN__STRBUF_EMPTY;
    writers[format](&to, results);
    tern__strbuf_add(&to, "\n");
    return tern__strbuf_take(&to, text);
}
