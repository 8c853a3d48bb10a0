/* regress.c - one row for each benchmark of a baseline: what it was and what it is, by results that are there. */
#include "measure/compare/regress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/status.h"
#include "measure/bootstrap.h"
#include "measure/results/results.h"

const char *tern_regress_state_name(tern_regress_state state)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_REGRESS_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)state);
}

/* ---- what is asked ---- */

tern_regress_options tern_regress_options_default(void)
{
    return (tern_regress_options){0};
}

static tern_status settle(const tern_regress_options *options, tern_regress_options *o)
{
    *o = options ? *options : tern_regress_options_default();
    TERN__FAIL_IF(!(o->threshold >= 0 && o->threshold < 10), TERN_INVALID_ARGUMENT,
                  "regress: a threshold of %g; 0.1 is ten per cent", o->threshold);
    TERN__FAIL_IF(!(o->critical == 0 || (o->critical >= 1 && isfinite(o->critical))), TERN_INVALID_ARGUMENT,
                  "regress: critical at %g thresholds; give 1 or more", o->critical);
    TERN__FAIL_IF(!(o->alpha >= 0 && o->alpha < 0.5), TERN_INVALID_ARGUMENT,
                  "regress: a chance of %g of a false alarm; give less than 0.5", o->alpha);
    TERN__FAIL_IF(!(o->spend >= 0 && o->spend <= 1), TERN_INVALID_ARGUMENT,
                  "regress: a look that spends %g of the chance of a false alarm; give at most 1", o->spend);
    TERN__FAIL_IF(!(o->budget_s >= 0 && isfinite(o->budget_s)) || o->rounds < 0 ||
                      o->rounds > TERN__REGRESS_ROUNDS_MOST,
                  TERN_INVALID_ARGUMENT, "regress: %d samples in %g s; at most %d can be taken", o->rounds,
                  o->budget_s, TERN__REGRESS_ROUNDS_MOST);
    o->threshold = o->threshold > 0 ? o->threshold : 0.1;
    o->critical = o->critical > 0 ? o->critical : 3;
    o->alpha = o->alpha > 0 ? o->alpha : 0.01;
    o->spend = o->spend > 0 ? o->spend : 1;
    o->budget_s = o->budget_s > 0 ? o->budget_s : 2;
    o->rounds = o->rounds > 0 ? o->rounds : 200;
    return TERN_OK;
}

static void host_of(const tern_results *r, char *to, size_t room)
{
    const char *host = tern_results_condition(r, "host");
    snprintf(to, room, "%s", host ? host : "");
}

tern_status tern__regress_check_host(tern_regress_report *p)
{
    p->base_load = tern__results_load(p->base);
    p->load = tern__results_load(p->results);
    host_of(p->base, p->base_host, sizeof p->base_host);
    host_of(p->results, p->host, sizeof p->host);
    const bool same = strcmp(p->base_host, p->host) == 0;
    const char *was = tern_results_condition(p->base, "cpu_model");
    TERN__FAIL_IF(!same && !p->o.any_host, TERN_STATE,
                  "the baseline is of another machine (%s, %s; this is %s): times cannot be compared unless "
                  "any host is allowed",
                  p->base_host[0] ? p->base_host : "unknown", was && was[0] ? was : "unknown CPU",
                  p->host[0] ? p->host : "unknown");
    return TERN_OK;
}

/* ---- what results say of a benchmark ---- */

tern_status tern__regress_samples(const tern_results *from, const tern_result *key, double **out, int *n)
{
    size_t total = 0;
    *out = NULL;
    *n = 0;
    for (int i = 0; i < from->n; i++)
        if (from->rows[i].samples_us && tern_result_same(&from->rows[i], key))
            total += (size_t)from->rows[i].rounds;
    TERN__FAIL_IF(total > TERN__RESULT_SAMPLES, TERN_LIMIT, "regress: %zu samples of %s; at most %d are read",
                  total, key->name, TERN__RESULT_SAMPLES);
    if (total == 0)
        return TERN_OK;
    double *samples = tern__alloc_zero(total, sizeof *samples);
    if (!samples)
        return tern__out_of_memory(total * sizeof *samples);
    for (int i = 0; i < from->n; i++)
        if (from->rows[i].samples_us && tern_result_same(&from->rows[i], key))
            for (int k = 0; k < from->rows[i].rounds; k++)
                samples[(*n)++] = from->rows[i].samples_us[k] * 1e-6;
    *out = samples;
    return TERN_OK;
}

int tern__regress_medians(const tern_results *from, const tern_result *key, const tern_result *now,
                          double *medians)
{
    int n = 0;
    for (int i = 0; i < from->n; i++)
        if (from->rows[i].median_us > 0 && tern_result_same(&from->rows[i], key))
            medians[n++] = from->rows[i].median_us;
    if (now && now->median_us > 0 && !tern__results_have(from, now))
        medians[n++] = now->median_us;
    return n;
}

/* The same in room of its own (tern__free). */
static tern_status take_medians(const tern_results *from, const tern_result *key, const tern_result *now,
                                double **out, int *n)
{
    double *medians = tern__alloc_zero((size_t)from->n + 1, sizeof *medians);
    if (!medians)
        return tern__out_of_memory((size_t)from->n * sizeof *medians);
    *n = tern__regress_medians(from, key, now, medians);
    *out = medians;
    return TERN_OK;
}

tern_status tern__regress_history(const tern_results *from, const tern_result *key, const tern_result *now,
                                  tern_history *out)
{
    double *medians = NULL;
    int n = 0;
    *out = (tern_history){.noise = NAN};
    TERN_TRY(take_medians(from, key, now, &medians, &n));
    tern_status status = n > 0 ? tern_history_read(medians, n, out) : TERN_OK;
    tern__free(medians);
    return status;
}

/* The baseline's sessions may have followed each other closely; those since know of other days. But only a long history is not
 * misled by the regressions in it. */
tern_status tern__regress_set_floor(const tern_regress_report *p, tern_regress_row *row,
                                    const tern_results *now)
{
    double *old = NULL, *new = NULL;
    int n = 0, m = 0;
    tern_history all;
    TERN_TRY(tern__regress_history(p->history, &row->base, NULL, &all));
    tern_status status = take_medians(p->base, &row->base, NULL, &old, &n);
    if (status == TERN_OK && now)
        status = take_medians(now, &row->base, NULL, &new, &m);
    double own = NAN, both = NAN;
    if (status == TERN_OK)
        status = tern__history_noise(old, n, NULL, 0, &own);
    if (status == TERN_OK)
        status = tern__history_noise(old, n, new, m, &both);
    tern__free(old);
    tern__free(new);
    TERN_TRY(status);
    row->noise_floor = fmax(own, both); /* a lucky pair of sessions makes no machine quieter */
    if (all.n >= TERN__HISTORY_LONG)
        row->noise_floor = fmax(row->noise_floor, all.noise);
    return TERN_OK;
}

tern_compare_options tern__regress_look(const tern_regress_report *p, const tern_regress_row *row)
{
    return (tern_compare_options){.threshold = p->o.threshold,
                                  .alpha = p->o.alpha / (p->n_compared > 0 ? p->n_compared : 1),
                                  .spend = p->o.spend,
                                  .noise = p->paired                 ? 0
                                           : isnan(row->noise_floor) ? INFINITY
                                                                     : row->noise_floor,
                                  .budget_s = p->o.budget_s,
                                  .rounds = p->o.rounds,
                                  .seed = p->o.seed};
}

/* ---- all sessions of a benchmark ---- */

static bool has_times(const tern_result *r)
{
    return r->rounds > 0;
}

/* The first row of the benchmark, or the first of those that `is` holds for; NULL: there is none. */
static const tern_result *find_row(const tern_results *in, const tern_result *key,
                                   bool (*is)(const tern_result *r))
{
    for (int i = 0; i < in->n; i++)
        if (tern_result_same(&in->rows[i], key) && (!is || is(&in->rows[i])))
            return &in->rows[i];
    return NULL;
}

/* No session hides what another shows: the largest figures of those that have times. */
static void take_largest(const tern_results *in, tern_result *all)
{
    for (int i = 0; i < in->n; i++) {
        const tern_result *r = &in->rows[i];
        if (!has_times(r) || !tern_result_same(r, all))
            continue;
        all->peak_bytes = r->peak_bytes > all->peak_bytes ? r->peak_bytes : all->peak_bytes;
        all->allocations = r->allocations > all->allocations ? r->allocations : all->allocations;
        all->accuracy_error = fmax(all->accuracy_error, r->accuracy_error); /* NaN: unknown, and loses */
    }
}

/* What a baseline can be held to: a session that was measured is enough. `first`: of the benchmark. */
static tern_result sum_up_base(const tern_results *base, const tern_result *first)
{
    const tern_result *measured = find_row(base, first, has_times);
    tern_result all = measured ? *measured : *first;
    take_largest(base, &all);
    return all;
}

/* What went wrong in any session went wrong; what one could not measure, another may have. false: there is none. */
static bool sum_up_now(const tern_results *now, const tern_result *key, tern_result *out)
{
    const tern_result *r = find_row(now, key, tern__result_failed);
    if (!r)
        r = find_row(now, key, has_times);
    if (!r)
        r = find_row(now, key, NULL);
    if (!r)
        return false;
    *out = *r;
    take_largest(now, out);
    return true;
}

/* ---- making reports ---- */

/* One row for each benchmark, in the order of the first session. */
static tern_status list_rows(tern_regress_report *p)
{
    for (int i = 0; i < p->base->n; i++) {
        const tern_result *r = &p->base->rows[i];
        int k = 0;
        while (k < p->n && !tern_result_same(&p->rows[k].base, r))
            k++;
        if (k < p->n) {
            p->rows[k].runs++;
            continue;
        }
        if (!tern__grow((void **)&p->rows, &p->capacity, (size_t)p->n + 1, sizeof *p->rows))
            return tern__out_of_memory(sizeof *p->rows);
        p->rows[p->n++] = (tern_regress_row){.base = sum_up_base(p->base, r),
                                             .now = tern_result_default(),
                                             .runs = 1,
                                             .state = TERN_REGRESS_MISSING,
                                             .time = TERN_REGRESS_MISSING,
                                             .memory = TERN_REGRESS_MISSING,
                                             .accuracy = TERN_REGRESS_MISSING,
                                             .noise_floor = NAN,
                                             .reason = "it was not measured"};
    }
    return TERN_OK;
}

tern_status tern__regress_begin(const tern_regress_options *options, const tern_results *base,
                                const tern_results *history, tern_regress_report **out)
{
    TERN__FAIL_IF(!base || !out, TERN_INVALID_ARGUMENT, "regress: an argument is NULL");
    tern_regress_report *p = tern__alloc_zero(1, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    tern__arena_init(&p->arena, 0);
    p->holders = 1;
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
    p->n_compared = p->n;
    *out = p;
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

tern_status tern__regress_finish(tern_regress_report *p, tern_status status, tern_regress_report **out)
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

/* Of the rows of its benchmark in its session, how many are before row i? Usually none. */
static int place_in_session(const tern_results *in, int i)
{
    int place = 0;
    for (int k = 0; k < i; k++)
        place += in->rows[k].run == in->rows[i].run && tern_result_same(&in->rows[k], &in->rows[i]);
    return place;
}

/* The row that was next to row i of `in`: of the same session, at the same place; NULL: there is none. */
static const tern_result *find_neighbour(const tern_results *in, int i, const tern_results *among)
{
    int place = place_in_session(in, i);
    for (int k = 0; k < among->n; k++)
        if (among->rows[k].run == in->rows[i].run && tern_result_same(&among->rows[k], &in->rows[i]) &&
            place-- == 0)
            return &among->rows[k];
    return NULL;
}

/* Session by session: the medians of neighbours, seconds. Where one of them has none, the other is nobody's neighbour. */
static int take_pairs(const tern_regress_report *p, const tern_result *key, const tern_results *now,
                      double *a, double *b)
{
    int n = 0;
    for (int i = 0; i < p->base->n; i++) {
        const tern_result *old = &p->base->rows[i];
        if (!(old->median_us > 0) || !tern_result_same(old, key))
            continue;
        const tern_result *new = find_neighbour(p->base, i, now);
        if (!new || !(new->median_us > 0))
            continue;
        a[n] = old->median_us * 1e-6;
        b[n++] = new->median_us * 1e-6;
    }
    return n;
}

static tern_status compare_pairs(const tern_regress_report *p, tern_regress_row *row, const tern_results *now)
{
    const tern_compare_options o = tern__regress_look(p, row);
    const size_t most = (size_t)p->base->n;
    double *pairs = tern__alloc_zero(2 * most, sizeof *pairs);
    if (!pairs)
        return tern__out_of_memory(2 * most * sizeof *pairs);
    const int n = take_pairs(p, &row->base, now, pairs, pairs + most);
    tern_status status = n > 0 ? tern_compare_pairs(&o, pairs, pairs + most, n, &row->comparison) : TERN_OK;
    tern__free(pairs);
    return status;
}

tern_status tern__regress_compare_row(tern_regress_report *p, tern_regress_row *row, const tern_results *now)
{
    double *a = NULL, *b = NULL;
    int n = 0, m = 0;
    tern_status status = tern__regress_samples(p->base, &row->base, &a, &n);
    if (status == TERN_OK)
        status = tern__regress_samples(now, &row->base, &b, &m);
    if (status == TERN_OK && n > 0 && m > 0) {
        status = tern__regress_set_floor(p, row, now);
        const tern_compare_options o = tern__regress_look(p, row);
        if (status == TERN_OK)
            status = tern_compare_samples(&o, a, n, b, m, &row->comparison);
    }
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
    TERN_TRY(tern__regress_check_host(p));
    p->n_compared = 0;
    for (int i = 0; i < p->n; i++)
        p->n_compared += find_row(now, &p->rows[i].base, NULL) != NULL;
    for (int i = 0; i < p->n; i++) {
        tern_regress_row *row = &p->rows[i];
        if (!sum_up_now(p->results, &row->base, &row->now))
            continue;
        TERN_TRY(p->paired ? compare_pairs(p, row, p->results)
                           : tern__regress_compare_row(p, row, p->results));
        TERN_TRY(tern__regress_judge(p, row));
        if (!p->paired)
            TERN_TRY(tern__regress_doubt(p, row, p->results));
    }
    return TERN_OK;
}

tern_status tern_regress_compare(const tern_regress_options *options, const tern_results *base,
                                 const tern_results *history, const tern_results *now,
                                 tern_regress_report **out)
{
    tern_regress_report *p = NULL;
    TERN__FAIL_IF(!base || !now || !out, TERN_INVALID_ARGUMENT, "regress_compare: an argument is NULL");
    TERN_TRY(tern__regress_begin(options, base, history, &p));
    return tern__regress_finish(p, compare_rows(p, now), out);
}

int tern_regress_pairs_needed(const tern_regress_options *options, int rows)
{
    tern_regress_options o;
    if (settle(options, &o) != TERN_OK)
        return 0;
    /* All n pairs on one side have a chance of 2 / 2^n if nothing differs: no test of ranks is surer than that. */
    const double alpha = o.alpha * o.spend / (rows > 0 ? rows : 1);
    const int n = (int)ceil(1 - log2(alpha));
    return n > TERN__INTERVAL_LEAST ? n : TERN__INTERVAL_LEAST;
}

tern_status tern_regress_pairs(const tern_regress_options *options, const tern_results *old,
                               const tern_results *now, tern_regress_report **out)
{
    tern_regress_report *p = NULL;
    TERN__FAIL_IF(!old || !now || !out, TERN_INVALID_ARGUMENT, "regress_pairs: an argument is NULL");
    TERN_TRY(tern__regress_begin(options, old, NULL, &p));
    p->paired = true;
    return tern__regress_finish(p, compare_rows(p, now), out);
}

/* ---- looking at reports ---- */

void tern_regress_free(tern_regress_report *report)
{
    if (!report || --report->holders > 0)
        return;
    tern_results_free(report->results);
    tern__arena_free(&report->arena);
    tern__free(report->rows);
    tern__free(report);
}

const tern_regress_report *tern__regress_hold(const tern_regress_report *p)
{
    ((tern_regress_report *)p)->holders++; /* what it says stays as it is */
    return p;
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
