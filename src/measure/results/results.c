/* results.c - sets of results: rows are copied into an arena, and what samples say is computed here and nowhere else. */
#include "measure/results/results.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/point.h"
#include "base/status.h"
#include "measure/bootstrap.h"
#include "measure/stats.h"

/* ---- fields ---- */

static const tern__field fields[] = {
#define FIELD(kind, member, name) {TERN__FIELD_##kind, name, offsetof(tern_result, member)},
    TERN__RESULT_FIELDS(FIELD)
#undef FIELD
};

const tern__field *tern__result_field(int i)
{
    return i >= 0 && i < (int)TERN__COUNT(fields) ? &fields[i] : NULL;
}

static const void *place(const tern__field *field, const tern_result *row)
{
    return (const char *)row + field->offset;
}

static void *place_to(const tern__field *field, tern_result *row)
{
    return (char *)row + field->offset;
}

const char *tern__field_text(const tern__field *field, const tern_result *row)
{
    const char *text = *(const char *const *)place(field, row);
    return text ? text : "";
}

int64_t tern__field_int(const tern__field *field, const tern_result *row)
{
    return field->kind == TERN__FIELD_INT ? *(const int *)place(field, row)
                                          : *(const int64_t *)place(field, row);
}

double tern__field_real(const tern__field *field, const tern_result *row)
{
    return *(const double *)place(field, row);
}

void tern__field_set_text(const tern__field *field, tern_result *row, const char *text)
{
    *(const char **)place_to(field, row) = text;
}

bool tern__field_set_int(const tern__field *field, tern_result *row, int64_t value)
{
    if (field->kind == TERN__FIELD_LONG)
        *(int64_t *)place_to(field, row) = value;
    else if (value >= INT_MIN && value <= INT_MAX)
        *(int *)place_to(field, row) = (int)value;
    else
        return false;
    return true;
}

void tern__field_set_real(const tern__field *field, tern_result *row, double value)
{
    *(double *)place_to(field, row) = value;
}

/* ---- rows ---- */

tern_result tern_result_default(void)
{
    tern_result row = {.copies = 1, .repeats = 1};
    for (size_t i = 0; i < TERN__COUNT(fields); i++) {
        if (fields[i].kind == TERN__FIELD_TEXT || fields[i].kind == TERN__FIELD_REASON)
            tern__field_set_text(&fields[i], &row, "");
        else if (fields[i].kind == TERN__FIELD_REAL)
            tern__field_set_real(&fields[i], &row, NAN);
    }
    row.allocations = row.peak_bytes = -1;
    return row;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

bool tern_result_same(const tern_result *a, const tern_result *b)
{
    return a && b && a->threads == b->threads && same_text(a->name, b->name) &&
           same_text(a->shape, b->shape) && same_text(a->suite, b->suite) &&
           same_text(a->family, b->family) && same_text(a->dtype, b->dtype) &&
           same_text(a->device, b->device);
}

/* ---- sessions that are there twice ---- */

enum { SAMPLES_TELLING = 6 }; /* fewer may agree by chance */

bool tern__results_have(const tern_results *in, const tern_result *row)
{
    for (int i = 0; row->samples_us && i < in->n; i++) {
        const tern_result *other = &in->rows[i];
        if (other->samples_us && other->rounds == row->rounds && tern_result_same(other, row) &&
            memcmp(other->samples_us, row->samples_us, (size_t)row->rounds * sizeof *row->samples_us) == 0)
            return true;
    }
    return false;
}

/* Is row i the first of its session? */
static bool begins_session(const tern_results *r, int i)
{
    for (int k = i - 1; k >= 0; k--) /* those of a session usually follow each other */
        if (r->rows[k].run == r->rows[i].run)
            return false;
    return true;
}

bool tern_results_repeat(const tern_results *earlier, const tern_results *later)
{
    for (int i = 0; earlier && later && i < later->n; i++) {
        if (!begins_session(later, i))
            continue;
        int samples = 0;
        bool all = true;
        for (int k = i; k < later->n && all; k++) {
            const tern_result *row = &later->rows[k];
            if (row->run != later->rows[i].run || !row->samples_us)
                continue;
            samples += row->rounds;
            all = tern__results_have(earlier, row);
        }
        if (all && samples >= SAMPLES_TELLING)
            return true;
    }
    return false;
}

bool tern__result_says_dtype(const tern_result *row)
{
    return strncmp(row->shape, row->dtype, strlen(row->dtype)) == 0;
}

bool tern__result_failed(const tern_result *row)
{
    return row->rounds == 0 && row->error[0] && strncmp(row->error, "unavailable", 11) != 0;
}

void tern__result_add_name(tern__strbuf *to, const tern_result *row)
{
    const char *const parts[] = {row->suite, row->family, row->name, row->shape};
    for (size_t i = 0; i < TERN__COUNT(parts); i++)
        if (parts[i][0])
            tern__strbuf_addf(to, "%s/", parts[i]);
    if (!tern__result_says_dtype(row))
        tern__strbuf_addf(to, "%s/", row->dtype);
    if (strcmp(row->device, "cpu") != 0)
        tern__strbuf_addf(to, "%s/", row->device);
    tern__strbuf_addf(to, "threads:%d", row->threads);
}

/* ---- sets ---- */

tern_status tern_results_create(tern_results **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "results_create: an argument is NULL");
    tern_results *r = tern__alloc_zero(1, sizeof *r);
    if (!r)
        return tern__out_of_memory(sizeof *r);
    tern__arena_init(&r->arena, 0);
    *out = r;
    return TERN_OK;
}

void tern_results_free(tern_results *results)
{
    if (!results)
        return;
    tern__arena_free(&results->arena);
    tern__free(results->rows);
    tern__free(results);
}

static tern_status copy_text(tern_results *r, const char *text, const char **out)
{
    const size_t length = text ? strlen(text) : 0;
    TERN__FAIL_IF(length > TERN__RESULT_TEXT, TERN_LIMIT, "results: a text of %zu bytes; %d are enough",
                  length, TERN__RESULT_TEXT);
    *out = length > 0 ? tern__arena_strndup(&r->arena, text, length) : "";
    return *out ? TERN_OK : tern__out_of_memory(length);
}

/* What samples scatter by, as a normal distribution's standard deviation. Where more than half of them are equal (of a coarse clock) the
 * median distance is 0 and tells nothing of the others; the mean distance does. */
static double scatter_of(const double *x, int n, const tern__stats *s)
{
    double sum = 0;
    if (s->mad > 0)
        return 1.4826 * s->mad;
    for (int i = 0; i < n; i++)
        sum += fabs(x[i] - s->median);
    return 1.2533 * sum / n;
}

static int count_outliers(const double *x, int n, const tern__stats *s)
{
    const double scatter = scatter_of(x, n, s);
    int far = 0;
    for (int i = 0; i < n; i++)
        far += fabs(x[i] - s->median) > 3 * scatter;
    return far;
}

/* What no benchmark can have taken: less than light needs for a third of a millimetre, more than 31 years. Squares and quotients of what
 * is between them are far from overflowing. */
static const double us_least = 1e-6, us_most = 1e15;

static tern_status check_time(const tern_result *row, const char *what, double us, double least)
{
    TERN__FAIL_IF(!(us >= least && us <= us_most), TERN_INVALID_ARGUMENT,
                  "results: %s of '%.64s' is %g us; times are from %g to %g us", what, row->name, us,
                  us_least, us_most);
    return TERN_OK;
}

/* accuracy_error is as large as it likes: what is wrong may be anything. */
static tern_status check_figures(const tern_result *row)
{
    const struct {
        const char *what;
        double us;
    } times[] = {
        {"the median", row->median_us},
        {"the least time", row->min_us},
        {"the interval's low end", row->low_us},
        {"the interval's high end", row->high_us},
    };
    for (size_t i = 0; i < TERN__COUNT(times); i++)
        if (!isnan(times[i].us))
            TERN_TRY(check_time(row, times[i].what, times[i].us, us_least));
    for (size_t i = 0; i < TERN__COUNT(fields); i++) {
        if (fields[i].kind != TERN__FIELD_REAL || fields[i].offset == offsetof(tern_result, accuracy_error))
            continue;
        const double value = tern__field_real(&fields[i], row);
        TERN__FAIL_IF(!isnan(value) && !(value >= 0 && value <= us_most), TERN_INVALID_ARGUMENT,
                      "results: \"%s\" of '%.64s' is %g; it is a number from 0 to %g", fields[i].name,
                      row->name, value, us_most);
    }
    return TERN_OK;
}

static tern_status check_samples(const tern_result *row)
{
    char what[64];
    for (int i = 0; i < row->rounds; i++) {
        snprintf(what, sizeof what, "sample %d", i);
        TERN_TRY(check_time(row, what, row->samples_us[i], us_least));
        snprintf(what, sizeof what, "the processor's time of sample %d", i);
        if (row->cpu_samples_us)
            TERN_TRY(check_time(row, what, row->cpu_samples_us[i], 0));
    }
    return TERN_OK;
}

static tern_status keep_cpu_samples(tern_results *r, tern_result *row)
{
    const size_t bytes = (size_t)row->rounds * sizeof(double);
    double *kept = tern__arena_alloc(&r->arena, bytes);
    if (!kept)
        return tern__out_of_memory(bytes);
    memcpy(kept, row->cpu_samples_us, bytes);
    row->cpu_samples_us = kept;
    return TERN_OK;
}

/* `again`: it was computed before, from these samples. */
static tern_status read_samples(tern_results *r, tern_result *row, bool again)
{
    const size_t bytes = (size_t)row->rounds * sizeof(double);
    TERN_TRY(check_samples(row));
    double *kept = tern__arena_alloc(&r->arena, bytes), *sorted = tern__alloc(bytes);
    tern__interval bounds = {row->low_us, row->high_us};
    tern_status status = kept && sorted ? TERN_OK : tern__out_of_memory(bytes);
    if (status == TERN_OK) {
        memcpy(kept, row->samples_us, bytes);
        memcpy(sorted, kept, bytes);
        const tern__stats s = tern__stats_of(sorted, row->rounds);
        row->median_us = s.median;
        row->mad_us = s.n > 1 ? s.mad : NAN; /* one has no spread */
        row->min_us = s.min;
        row->outliers = count_outliers(kept, row->rounds, &s);
        if (!again || !(bounds.low <= s.median && s.median <= bounds.high))
            status = tern__median_interval(kept, row->rounds, 0.95, 0, &bounds);
    }
    tern__free(sorted);
    row->low_us = bounds.low;
    row->high_us = bounds.high;
    row->samples_us = kept;
    return status == TERN_OK && row->cpu_samples_us ? keep_cpu_samples(r, row) : status;
}

static tern_status add(tern_results *results, const tern_result *row, bool again)
{
    TERN__FAIL_IF(results->n >= TERN__RESULT_ROWS, TERN_LIMIT, "results: more than %d rows",
                  TERN__RESULT_ROWS);
    TERN__FAIL_IF(row->rounds < 0 || row->rounds > TERN__RESULT_SAMPLES, TERN_INVALID_ARGUMENT,
                  "results: %d samples in a row; give at most %d", row->rounds, TERN__RESULT_SAMPLES);
    tern_result copy = *row;
    for (size_t i = 0; i < TERN__COUNT(fields); i++)
        if (fields[i].kind == TERN__FIELD_TEXT || fields[i].kind == TERN__FIELD_REASON) {
            const char *text;
            TERN_TRY(copy_text(results, tern__field_text(&fields[i], row), &text));
            tern__field_set_text(&fields[i], &copy, text);
        }
    if (!copy.device[0])
        copy.device = "cpu"; /* of before devices were named */
    if (copy.rounds > 0 && copy.samples_us)
        TERN_TRY(read_samples(results, &copy, again));
    else
        copy.samples_us = copy.cpu_samples_us = NULL;
    TERN_TRY(check_figures(&copy));
    if (!tern__grow((void **)&results->rows, &results->capacity, (size_t)results->n + 1,
                    sizeof *results->rows))
        return tern__out_of_memory(sizeof *results->rows);
    results->rows[results->n++] = copy;
    return TERN_OK;
}

tern_status tern_results_add(tern_results *results, const tern_result *row)
{
    TERN__FAIL_IF(!results || !row, TERN_INVALID_ARGUMENT, "results_add: an argument is NULL");
    return add(results, row, false);
}

tern_status tern__results_add_again(tern_results *results, const tern_result *row)
{
    return add(results, row, true);
}

int tern_results_count(const tern_results *results)
{
    return results ? results->n : 0;
}

tern_status tern_results_at(const tern_results *results, int i, tern_result *out)
{
    TERN__FAIL_IF(!results || !out, TERN_INVALID_ARGUMENT, "results_at: an argument is NULL");
    TERN__FAIL_IF(i < 0 || i >= results->n, TERN_OUT_OF_RANGE, "results: there is no row %d", i);
    *out = results->rows[i];
    return TERN_OK;
}

/* ---- conditions ---- */

static tern__condition *find_condition(const tern_results *r, const char *name)
{
    for (int i = 0; i < r->n_conditions; i++)
        if (strcmp(r->conditions[i].name, name) == 0)
            return (tern__condition *)&r->conditions[i];
    return NULL;
}

tern_status tern_results_set_condition(tern_results *results, const char *name, const char *value)
{
    TERN__FAIL_IF(!results || !name || !value, TERN_INVALID_ARGUMENT,
                  "results_set_condition: an argument is NULL");
    const size_t length = strlen(name), long_value = strlen(value);
    TERN__FAIL_IF(length == 0 || length > TERN__CONDITION_NAME || long_value > TERN__CONDITION_TEXT,
                  TERN_LIMIT, "results: a condition with a name of %zu bytes and a value of %zu", length,
                  long_value);
    tern__condition *c = find_condition(results, name);
    TERN__FAIL_IF(!c && results->n_conditions >= TERN__CONDITIONS, TERN_LIMIT,
                  "results: more than %d conditions", TERN__CONDITIONS);
    const char *kept_name = c ? c->name : tern__arena_strndup(&results->arena, name, length);
    const char *kept = tern__arena_strndup(&results->arena, value, long_value);
    if (!kept || !kept_name)
        return tern__out_of_memory(length + long_value);
    if (!c)
        c = &results->conditions[results->n_conditions++];
    *c = (tern__condition){kept_name, kept};
    return TERN_OK;
}

const char *tern_results_condition(const tern_results *results, const char *name)
{
    const tern__condition *c = results && name ? find_condition(results, name) : NULL;
    return c ? c->value : NULL;
}

/* What a condition's text begins with, "2 of 2 (all cores)"; NaN: no number. */
static double leading_number(const char *text)
{
    char *end = NULL;
    const double number = text ? tern__point_strtod(text, &end) : NAN;
    return text && end != text && isfinite(number) ? number : NAN;
}

double tern__results_load(const tern_results *results)
{
    return leading_number(tern_results_condition(results, "load"));
}

double tern_results_busy(const tern_results *results)
{
    const double load = tern__results_load(results),
                 cores = leading_number(tern_results_condition(results, "cores"));
    return load > 0.25 * cores ? load : NAN; /* not so if one is unknown */
}

tern_status tern_results_condition_at(const tern_results *results, int i, const char **name,
                                      const char **value)
{
    TERN__FAIL_IF(!results || !name || !value, TERN_INVALID_ARGUMENT,
                  "results_condition_at: an argument is NULL");
    TERN__FAIL_IF(i < 0 || i >= results->n_conditions, TERN_OUT_OF_RANGE, "results: there is no condition %d",
                  i);
    *name = results->conditions[i].name;
    *value = results->conditions[i].value;
    return TERN_OK;
}
