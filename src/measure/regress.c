/* regress.c - one row for each benchmark of a baseline: what it was, what it is, and whether that is worse. */
#include "measure/regress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "measure/bench.h"
#include "measure/compare_stored.h"
#include "measure/results.h"

enum { ROUNDS_MOST = 1000, HISTORY_LONG = 8 };

const char *tern_regress_state_name(tern_regress_state state)
{
    switch (state) {
#define NAME(id, number, name, meaning) \
    case TERN_REGRESS_##id:             \
        return name;
        TERN_REGRESS_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

/* ---- what is asked ---- */

static tern_status settle(const tern_regress_options *options, tern_regress_options *o)
{
    *o = options ? *options : (tern_regress_options){0};
    TERN__FAIL_IF(!(o->threshold >= 0 && o->threshold < 10), TERN_INVALID_ARGUMENT,
                  "regress: a threshold of %g; 0.1 is ten per cent", o->threshold);
    TERN__FAIL_IF(!(o->critical == 0 || (o->critical >= 1 && isfinite(o->critical))), TERN_INVALID_ARGUMENT,
                  "regress: critical at %g thresholds; give 1 or more", o->critical);
    TERN__FAIL_IF(!(o->alpha >= 0 && o->alpha < 0.5), TERN_INVALID_ARGUMENT,
                  "regress: a chance of %g of a false alarm; give less than 0.5", o->alpha);
    TERN__FAIL_IF(!(o->budget_s >= 0 && isfinite(o->budget_s)) || o->rounds < 0 || o->rounds > ROUNDS_MOST,
                  TERN_INVALID_ARGUMENT, "regress: %d samples in %g s; at most %d can be taken", o->rounds,
                  o->budget_s, ROUNDS_MOST);
    o->threshold = o->threshold > 0 ? o->threshold : 0.1;
    o->critical = o->critical > 0 ? o->critical : 3;
    o->alpha = o->alpha > 0 ? o->alpha : 0.01;
    o->budget_s = o->budget_s > 0 ? o->budget_s : 2;
    o->rounds = o->rounds > 0 ? o->rounds : 200;
    return TERN_OK;
}

static void host_of(const tern_results *r, char *to, size_t room)
{
    const char *host = tern_results_condition(r, "host");
    snprintf(to, room, "%s", host ? host : "");
}

static tern_status check_host(tern_regress_report *p)
{
    host_of(p->base, p->base_host, sizeof p->base_host);
    host_of(p->results, p->host, sizeof p->host);
    const bool same = strcmp(p->base_host, p->host) == 0;
    const char *was = tern_results_condition(p->base, "cpu_model");
    TERN__FAIL_IF(!same && !p->o.any_host, TERN_STATE,
                  "the baseline is of another machine (%s, %s; this is %s): times cannot be compared; "
                  "--any-host does so all the same",
                  p->base_host[0] ? p->base_host : "unknown", was && was[0] ? was : "unknown CPU",
                  p->host[0] ? p->host : "unknown");
    return TERN_OK;
}

/* ---- the baseline's side ---- */

static tern_status reason(tern_regress_report *p, tern_regress_row *row, const char *text)
{
    row->reason = tern__arena_strndup(&p->arena, text, strlen(text));
    return row->reason ? TERN_OK : tern__out_of_memory(strlen(text));
}

/* One row for each benchmark, in the order of the first session. */
static tern_status list_rows(tern_regress_report *p)
{
    for (int i = 0; i < p->base->n; i++) {
        const tern_result *r = &p->base->rows[i];
        int k = 0;
        while (k < p->n && !tern__result_same(&p->rows[k].base, r))
            k++;
        if (k < p->n) {
            p->rows[k].runs++;
            continue;
        }
        if (!tern__grow((void **)&p->rows, &p->capacity, (size_t)p->n + 1, sizeof *p->rows))
            return tern__out_of_memory(sizeof *p->rows);
        p->rows[p->n++] = (tern_regress_row){.base = *r,
                                             .now = tern_result_default(),
                                             .runs = 1,
                                             .state = TERN_REGRESS_MISSING,
                                             .time = TERN_REGRESS_MISSING,
                                             .memory = TERN_REGRESS_MISSING,
                                             .accuracy = TERN_REGRESS_MISSING,
                                             .reason = "it was not measured"};
    }
    return TERN_OK;
}

/* All samples of all sessions, in seconds. */
static tern_status pool_samples(const tern_results *base, const tern_result *key, double **out, int *n)
{
    size_t total = 0;
    for (int i = 0; i < base->n; i++)
        if (base->rows[i].samples_us && tern__result_same(&base->rows[i], key))
            total += (size_t)base->rows[i].rounds;
    TERN__FAIL_IF(total == 0 || total > TERN__RESULT_SAMPLES, TERN_STATE,
                  "the baseline has %zu samples of it", total);
    double *samples = tern__alloc_zero(total, sizeof *samples);
    if (!samples)
        return tern__out_of_memory(total * sizeof *samples);
    *n = 0;
    for (int i = 0; i < base->n; i++)
        if (base->rows[i].samples_us && tern__result_same(&base->rows[i], key))
            for (int k = 0; k < base->rows[i].rounds; k++)
                samples[(*n)++] = base->rows[i].samples_us[k] * 1e-6;
    *out = samples;
    return TERN_OK;
}

int tern__regress_medians(const tern_results *from, const tern_result *key, const tern_result *now,
                          double *medians)
{
    int n = 0;
    for (int i = 0; i < from->n; i++)
        if (from->rows[i].median_us > 0 && tern__result_same(&from->rows[i], key))
            medians[n++] = from->rows[i].median_us;
    if (now && now->median_us > 0)
        medians[n++] = now->median_us;
    return n;
}

static tern_status read_history(const tern_results *from, const tern_result *key, const tern_result *now,
                                tern_history *out)
{
    double *medians = tern__alloc_zero((size_t)from->n + 1, sizeof *medians);
    if (!medians)
        return tern__out_of_memory((size_t)from->n * sizeof *medians);
    const int n = tern__regress_medians(from, key, now, medians);
    tern_status status = n > 0 ? tern_history_read(medians, n, out) : TERN_OK;
    tern__free(medians);
    return status;
}

static tern_compare_options options_for(const tern_regress_report *p, const tern_regress_row *row)
{
    return (tern_compare_options){.threshold = p->o.threshold,
                                  .alpha = p->o.alpha / p->n,
                                  .noise = row->noise_floor,
                                  .budget_s = p->o.budget_s,
                                  .rounds = p->o.rounds,
                                  .seed = p->o.seed};
}

/* ---- verdicts ---- */

static tern_regress_state worse_by(const tern_regress_report *p, double change)
{
    return change >= p->o.critical * p->o.threshold ? TERN_REGRESS_CRITICAL : TERN_REGRESS_REGRESSION;
}

static tern_regress_state judge_time(const tern_regress_report *p, const tern_comparison *c)
{
    switch (c->verdict) {
    case TERN_VERDICT_SLOWER:
        return worse_by(p, c->ratio - 1);
    case TERN_VERDICT_FASTER:
        return TERN_REGRESS_FASTER;
    case TERN_VERDICT_SAME:
        return TERN_REGRESS_SAME;
    case TERN_VERDICT_UNDECIDED:
        break;
    }
    return TERN_REGRESS_UNDECIDED;
}

static tern_regress_state judge_memory(const tern_regress_report *p, int64_t was, int64_t is)
{
    if (was < 0 || is < 0)
        return TERN_REGRESS_MISSING;
    const double change = was > 0 ? (double)is / (double)was - 1 : is > 0 ? INFINITY : 0;
    return change > p->o.threshold    ? worse_by(p, change)
           : change < -p->o.threshold ? TERN_REGRESS_FASTER
                                      : TERN_REGRESS_SAME;
}

static tern_regress_state judge_accuracy(const tern_regress_report *p, double was, double is)
{
    if (isnan(was) || isnan(is))
        return TERN_REGRESS_MISSING;
    if (!(is > TERN__ACCURACY_FLOOR && is > TERN__ACCURACY_FACTOR * was))
        return TERN_REGRESS_SAME;
    return is > TERN__ACCURACY_FACTOR * p->o.critical * fmax(was, TERN__ACCURACY_FLOOR)
               ? TERN_REGRESS_CRITICAL
               : TERN_REGRESS_REGRESSION;
}

/* Missing numbers are no news where others are there. */
static tern_regress_state worst_of(const tern_regress_row *row)
{
    const tern_regress_state all[] = {row->time, row->memory, row->accuracy};
    tern_regress_state worst = TERN_REGRESS_MISSING;
    bool any = false;
    for (size_t i = 0; i < TERN__COUNT(all); i++)
        if (all[i] != TERN_REGRESS_MISSING && (!any || all[i] > worst)) {
            worst = all[i];
            any = true;
        }
    /* What has no times is missing, unless the rest is worse. */
    return row->time == TERN_REGRESS_MISSING && worst < TERN_REGRESS_MISSING ? TERN_REGRESS_MISSING
           : row->time == TERN_REGRESS_FASTER && worst == TERN_REGRESS_SAME  ? TERN_REGRESS_FASTER
                                                                             : worst;
}

static void add_part(char *text, size_t room, const char *format, const char *name, double change)
{
    const size_t used = strlen(text);
    snprintf(text + used, room - used, format, used ? "; " : "", name, change);
}

static tern_status explain(tern_regress_report *p, tern_regress_row *row)
{
    char text[512] = "";
    const tern_comparison *c = &row->comparison;
    if (row->memory >= TERN_REGRESS_REGRESSION && row->base.peak_bytes == 0)
        add_part(text, sizeof text, "%smemory: %s, %.0f bytes", "some where there was none",
                 (double)row->now.peak_bytes);
    else if (row->memory >= TERN_REGRESS_REGRESSION)
        add_part(text, sizeof text, "%smemory: %s by %.0f %%", "more",
                 100 * ((double)row->now.peak_bytes / (double)row->base.peak_bytes - 1));
    if (row->accuracy >= TERN_REGRESS_REGRESSION)
        add_part(text, sizeof text, "%saccuracy: %s, the error is %.2g", "worse", row->now.accuracy_error);
    if (row->time >= TERN_REGRESS_REGRESSION)
        add_part(text, sizeof text, "%stime: %s by %.1f %%", "more", 100 * (c->ratio - 1));
    else if (row->time == TERN_REGRESS_UNDECIDED && c->n_b > 0) {
        const double change = fabs(c->ratio - 1);
        const char *why = change > p->o.threshold && change <= row->noise_floor ? "within the noise floor"
                          : change > p->o.threshold && c->p > c->alpha          ? "not significant"
                                                                                : "the interval is too wide";
        add_part(text, sizeof text, "%stime: %s, at %+.1f %%", why, 100 * (c->ratio - 1));
    }
    return text[0] ? reason(p, row, text)
                   : reason(p, row, row->time == TERN_REGRESS_MISSING ? "no times" : "");
}

static tern_status judge(tern_regress_report *p, tern_regress_row *row)
{
    row->time = row->comparison.n_b > 0 ? judge_time(p, &row->comparison) : TERN_REGRESS_MISSING;
    row->memory = judge_memory(p, row->base.peak_bytes, row->now.peak_bytes);
    row->accuracy = judge_accuracy(p, row->base.accuracy_error, row->now.accuracy_error);
    row->state = worst_of(row);
    TERN_TRY(read_history(p->history, &row->base, &row->now, &row->history));
    return explain(p, row);
}

/* What seemed slower must be so again. */
static tern_status settle_again(tern_regress_report *p, tern_regress_row *row, bool again)
{
    if (!again || row->time >= TERN_REGRESS_REGRESSION)
        return TERN_OK;
    row->time = TERN_REGRESS_UNDECIDED;
    row->state = worst_of(row);
    return reason(p, row, "slower at first, but not when it was measured again");
}

/* ---- making reports ---- */

static tern_status begin(const tern_regress_options *options, const tern_results *base,
                         const tern_results *history, tern_regress_report **out)
{
    TERN__FAIL_IF(!base || !out, TERN_INVALID_ARGUMENT, "regress: an argument is NULL");
    tern_regress_report *p = tern__alloc_zero(1, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    tern__arena_init(&p->arena, 0);
    p->base = base;
    p->history = history ? history : base;
    tern_status status = settle(options, &p->o);
    if (status == TERN_OK)
        status = tern_results_create(&p->results);
    if (status == TERN_OK)
        status = list_rows(p);
    if (status != TERN_OK) {
        tern_regress_free(p);
        return status;
    }
    *out = p;
    return TERN_OK;
}

/* The baseline's sessions may have followed each other closely; those since know of other days. But only a long history is not
 * misled by the regressions in it. */
static tern_status set_noise(const tern_regress_report *p, tern_regress_row *row)
{
    tern_history own = {0}, all = {0};
    TERN_TRY(read_history(p->base, &row->base, NULL, &own));
    TERN_TRY(read_history(p->history, &row->base, NULL, &all));
    row->noise_floor = all.n >= HISTORY_LONG ? fmax(own.noise, all.noise) : own.noise;
    return TERN_OK;
}

/* Rows outlive the baseline: their texts are copied, their samples are not needed. */
static tern_status keep_texts(tern_regress_report *p)
{
    const tern__field *field;
    for (int i = 0; i < p->n; i++) {
        p->rows[i].base.samples_us = NULL;
        for (int k = 0; (field = tern__result_field(k)) != NULL; k++) {
            if (field->kind != TERN__FIELD_TEXT && field->kind != TERN__FIELD_REASON)
                continue;
            const char *text = tern__field_text(field, &p->rows[i].base);
            const char *kept = tern__arena_strndup(&p->arena, text, strlen(text));
            if (!kept)
                return tern__out_of_memory(strlen(text));
            tern__field_set_text(field, &p->rows[i].base, kept);
        }
    }
    p->base = p->history = NULL;
    return TERN_OK;
}

static tern_status finish(tern_regress_report *p, tern_status status, tern_regress_report **out)
{
    if (status == TERN_OK)
        status = keep_texts(p);
    if (status == TERN_OK)
        *out = p;
    else
        tern_regress_free(p);
    return status;
}

/* ---- of results that are there ---- */

/* Medians of the sessions, seconds; *n of them. */
static tern_status session_medians(const tern_results *from, const tern_result *key, double **out, int *n)
{
    double *medians = tern__alloc_zero((size_t)from->n + 1, sizeof *medians);
    if (!medians)
        return tern__out_of_memory((size_t)from->n * sizeof *medians);
    *n = 0;
    for (int i = 0; i < from->n; i++)
        if (from->rows[i].median_us > 0 && tern__result_same(&from->rows[i], key))
            medians[(*n)++] = from->rows[i].median_us * 1e-6;
    *out = medians;
    return TERN_OK;
}

static tern_status compare_pairs(const tern_regress_report *p, tern_regress_row *row)
{
    double *a = NULL, *b = NULL;
    int n = 0, m = 0;
    const tern_compare_options o = options_for(p, row);
    tern_status status = session_medians(p->base, &row->base, &a, &n);
    if (status == TERN_OK)
        status = session_medians(p->results, &row->base, &b, &m);
    if (status == TERN_OK && n > 0 && m > 0)
        status = tern_compare_pairs(&o, a, b, n < m ? n : m, &row->comparison);
    tern__free(a);
    tern__free(b);
    return status;
}

/* With all samples of `now`. */
static tern_status compare_row(tern_regress_report *p, tern_regress_row *row, const tern_results *now)
{
    double *a = NULL, *b = NULL;
    int n = 0, m = 0;
    tern_status status = pool_samples(p->base, &row->base, &a, &n);
    if (status == TERN_OK)
        status = pool_samples(now, &row->base, &b, &m);
    if (status == TERN_STATE) { /* one of them has none: there is nothing to compare */
        tern__free(a);
        return TERN_OK;
    }
    if (status == TERN_OK)
        status = set_noise(p, row);
    const tern_compare_options o = options_for(p, row);
    if (status == TERN_OK)
        status = tern_compare_samples(&o, a, n, b, m, &row->comparison);
    tern__free(a);
    tern__free(b);
    return status;
}

static tern_status compare_rows(tern_regress_report *p, const tern_results *now)
{
    for (int i = 0; i < now->n_conditions; i++)
        TERN_TRY(tern_results_set_condition(p->results, now->conditions[i].name, now->conditions[i].value));
    for (int i = 0; i < now->n; i++)
        TERN_TRY(tern_results_add(p->results, &now->rows[i]));
    TERN_TRY(check_host(p));
    for (int i = 0; i < p->n; i++) {
        tern_regress_row *row = &p->rows[i];
        for (int k = 0; k < p->results->n; k++)
            if (tern__result_same(&p->results->rows[k], &row->base)) {
                row->now = p->results->rows[k];
                TERN_TRY(p->paired ? compare_pairs(p, row) : compare_row(p, row, p->results));
                TERN_TRY(judge(p, row));
                break;
            }
    }
    return TERN_OK;
}

tern_status tern_regress_compare(const tern_regress_options *options, const tern_results *base,
                                 const tern_results *history, const tern_results *now,
                                 tern_regress_report **out)
{
    tern_regress_report *p;
    TERN__FAIL_IF(!base || !now || !out, TERN_INVALID_ARGUMENT, "regress_compare: an argument is NULL");
    TERN_TRY(begin(options, base, history, &p));
    return finish(p, compare_rows(p, now), out);
}

tern_status tern_regress_pairs(const tern_regress_options *options, const tern_results *old,
                               const tern_results *now, tern_regress_report **out)
{
    tern_regress_report *p = NULL;
    TERN__FAIL_IF(!old || !now || !out, TERN_INVALID_ARGUMENT, "regress_pairs: an argument is NULL");
    TERN_TRY(begin(options, old, NULL, &p));
    p->paired = true;
    return finish(p, compare_rows(p, now), out);
}

/* ---- models ---- */

enum { MODEL_RUNS = 10 };

/* The rows of models that were measured; on the second pass those that seemed slower. */
static tern_status judge_models(tern_regress_report *p, const tern_results *now, bool again)
{
    for (int i = 0; i < p->n; i++) {
        tern_regress_row *row = &p->rows[i];
        for (int k = 0; k < now->n; k++) {
            if (!tern__result_same(&now->rows[k], &row->base) ||
                (again && row->time < TERN_REGRESS_REGRESSION))
                continue;
            TERN_TRY(tern_results_add(p->results, &now->rows[k]));
            p->results->rows[p->results->n - 1].run = again;
            row->now = p->results->rows[p->results->n - 1];
            if (now->rows[k].rounds == 0) {
                TERN_TRY(reason(p, row, now->rows[k].error));
                break;
            }
            TERN_TRY(compare_row(p, row, now));
            TERN_TRY(judge(p, row));
            TERN_TRY(settle_again(p, row, again));
            break;
        }
    }
    return TERN_OK;
}

static tern_status miss_models(tern_regress_report *p, const char *why)
{
    tern_status status = TERN_OK;
    for (int i = 0; i < p->n && status == TERN_OK; i++)
        if (strcmp(p->rows[i].base.suite, "model") == 0)
            status = reason(p, &p->rows[i], why);
    return status;
}

static bool any_slow_model(const tern_regress_report *p)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->rows[i].base.suite, "model") == 0 && p->rows[i].time >= TERN_REGRESS_REGRESSION)
            return true;
    return false;
}

static tern_status measure_models(tern_regress_report *p, const tern_bench_options *options)
{
    const char *family = options ? options->family : NULL, *cpu = options ? options->cpu : NULL;
    for (int pass = 0; pass < 2 && (pass == 0 || any_slow_model(p)); pass++) {
        tern_results *now;
        TERN_TRY(tern_results_create(&now));
        tern_status status = tern__model_measure_again(p->base, family, cpu, MODEL_RUNS, now);
        status = status == TERN_OK ? judge_models(p, now, pass == 1) : miss_models(p, tern_last_error());
        tern_results_free(now);
        TERN_TRY(status);
    }
    return TERN_OK;
}

/* ---- measured again ---- */

static tern_status take_samples(tern_regress_report *p, tern_regress_row *row, int pass, tern__cell *cell)
{
    double *a = NULL, *b = tern__alloc_zero((size_t)p->o.rounds, sizeof *b);
    int n = 0;
    tern_comparison c;
    const tern_compare_options o = options_for(p, row);
    const tern__thing thing = {.run = tern__cell_run, .user = cell, .repeats = row->base.repeats};
    tern_status status =
        b ? pool_samples(p->base, &row->base, &a, &n) : tern__out_of_memory((size_t)p->o.rounds);
    if (status == TERN_OK)
        status = tern__compare_stored(&o, a, n, &thing, b, &c);
    if (status == TERN_OK) {
        for (int i = 0; i < c.n_b; i++)
            b[i] *= 1e6;
        cell->row.run = pass;
        cell->row.rounds = c.n_b;
        cell->row.samples_us = b;
        cell->row.repeats = thing.repeats;
        row->comparison = c;
        status = tern_results_add(p->results, &cell->row);
    }
    if (status == TERN_OK) {
        row->now = p->results->rows[p->results->n - 1];
        status = judge(p, row);
    }
    tern__free(a);
    tern__free(b);
    return status;
}

/* The cell of the baseline's row; TERN_NOT_FOUND if this tern has none. */
static tern_status measure_row(tern_regress_report *p, const tern__bench *bench, tern_regress_row *row,
                               int pass)
{
    tern__cell cell;
    for (int i = 0; tern__cell_describe(bench, i, &cell) == TERN_OK; i++) {
        cell.row.threads = row->base.threads;
        if (!tern__result_same(&cell.row, &row->base))
            continue;
        tern_status status = tern__cell_prepare(i, &cell);
        if (status == TERN_OK)
            status = tern__cell_ready(&cell, row->base.threads);
        if (status == TERN_OK)
            status = take_samples(p, row, pass, &cell);
        tern__cell_close(&cell);
        tern_ctx_trim(bench->ctx);
        return status;
    }
    return tern__fail(TERN_NOT_FOUND, "no suite of this tern has it");
}

static tern_status measure_rows(tern_regress_report *p, const tern_bench_options *options, const char *suite)
{
    tern_bench_options o = options ? *options : (tern_bench_options){0};
    tern__bench bench = {0};
    int threads[64], n = 0;
    for (int i = 0; i < p->n; i++) {
        int k = 0;
        while (k < n && threads[k] != p->rows[i].base.threads)
            k++;
        if (k == n && n < 64 && p->rows[i].base.threads > 0)
            threads[n++] = p->rows[i].base.threads;
    }
    o.suite = suite;
    o.threads = threads;
    o.n_threads = n;
    tern_status status = tern__bench_open(&o, &bench);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < p->n && status == TERN_OK; i++) {
            tern_regress_row *row = &p->rows[i];
            const bool slow = row->time >= TERN_REGRESS_REGRESSION;
            if (strcmp(row->base.suite, suite) != 0 ||
                (o.family && strcmp(row->base.family, o.family) != 0) || (pass == 1 && !slow))
                continue;
            status = set_noise(p, row);
            if (status == TERN_OK && measure_row(p, &bench, row, pass) != TERN_OK)
                status = reason(p, row, tern_last_error());
            if (status == TERN_OK)
                status = settle_again(p, row, pass == 1);
        }
    tern__bench_close(&bench);
    return status;
}

/* Each suite that the baseline has. */
static tern_status measure_suites(tern_regress_report *p, const tern_bench_options *bench)
{
    const char *suite, *what;
    TERN_TRY(tern_results_note_conditions(p->results));
    TERN_TRY(check_host(p));
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->rows[i].base.suite, "model") == 0) {
            TERN_TRY(measure_models(p, bench));
            break;
        }
    for (int s = 0; tern_bench_suite(s, &suite, &what) == TERN_OK; s++) {
        bool any = false;
        for (int i = 0; i < p->n; i++)
            any |= strcmp(p->rows[i].base.suite, suite) == 0;
        if (any)
            TERN_TRY(measure_rows(p, bench, suite));
    }
    return TERN_OK;
}

tern_status tern_regress_run(const tern_regress_options *options, const tern_bench_options *bench,
                             const tern_results *base, const tern_results *history, tern_regress_report **out)
{
    tern_regress_report *p;
    TERN__FAIL_IF(!base || !out, TERN_INVALID_ARGUMENT, "regress_run: an argument is NULL");
    TERN_TRY(begin(options, base, history, &p));
    return finish(p, measure_suites(p, bench), out);
}

/* ---- looking at reports ---- */

void tern_regress_free(tern_regress_report *report)
{
    if (!report)
        return;
    tern_results_free(report->results);
    tern__arena_free(&report->arena);
    tern__free(report->rows);
    tern__free(report);
}

int tern_regress_rows(const tern_regress_report *report)
{
    return report ? report->n : 0;
}

tern_status tern_regress_at(const tern_regress_report *report, int i, tern_regress_row *out)
{
    TERN__FAIL_IF(!report || !out, TERN_INVALID_ARGUMENT, "regress_at: an argument is NULL");
    TERN__FAIL_IF(i < 0 || i >= report->n, TERN_OUT_OF_RANGE, "regress: there is no row %d", i);
    *out = report->rows[i];
    return TERN_OK;
}

tern_regress_state tern_regress_worst(const tern_regress_report *report)
{
    tern_regress_state worst = TERN_REGRESS_SAME;
    for (int i = 0; i < tern_regress_rows(report); i++)
        if (report->rows[i].state != TERN_REGRESS_MISSING && report->rows[i].state > worst)
            worst = report->rows[i].state;
    return worst;
}

const tern_results *tern_regress_results(const tern_regress_report *report)
{
    return report ? report->results : NULL;
}
