/* regress_measure.c - the benchmarks of a baseline measured again: the cells of its suites until the answer is clear, models a fixed
 * number of times; what seems slower, once more when all others are done. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "measure/bench.h"
#include "measure/compare_stored.h"
#include "measure/occupied.h"
#include "measure/regress.h"
#include "measure/results.h"
#include "measure/settings.h"

/* Adds what was measured. A second measurement takes the place of the first: both are of one session. */
static tern_status keep_result(tern_regress_report *p, tern_regress_row *row, const tern_result *measured)
{
    tern_results *r = p->results;
    for (int i = 0; i < r->n; i++)
        if (tern_result_same(&r->rows[i], measured)) {
            memmove(&r->rows[i], &r->rows[i + 1], (size_t)(r->n - i - 1) * sizeof *r->rows);
            r->n--;
            break;
        }
    TERN_TRY(tern_results_add(r, measured));
    r->rows[r->n - 1].run = 0;
    row->now = r->rows[r->n - 1];
    return TERN_OK;
}

/* ---- cells of suites ---- */

static tern_status take_samples(tern_regress_report *p, tern_regress_row *row, tern__cell *cell)
{
    double *a = NULL, *b = tern__alloc_zero((size_t)p->o.rounds, sizeof *b);
    int n = 0;
    tern_comparison c;
    const tern_compare_options o = tern__regress_look(p, row);
    const tern__thing thing = {.run = tern__cell_run, .user = cell, .repeats = row->base.repeats};
    tern_status status = b ? tern__regress_samples(p->base, &row->base, &a, &n)
                           : tern__out_of_memory((size_t)p->o.rounds * sizeof *b);
    if (status == TERN_OK && n == 0)
        status = tern__fail(TERN_UNAVAILABLE, "the baseline has no samples of it");
    for (int i = 1; i < cell->bench->o.warmups && status == TERN_OK; i++)
        status = tern__cell_run(cell); /* the first is the comparison's own */
    if (status == TERN_OK)
        status = tern__compare_stored(&o, a, n, &thing, b, &c);
    if (status == TERN_OK) {
        for (int i = 0; i < c.n_b; i++)
            b[i] *= 1e6;
        cell->row.rounds = c.n_b;
        cell->row.samples_us = b;
        cell->row.repeats = thing.repeats;
        row->comparison = c;
        status = keep_result(p, row, &cell->row);
    }
    if (status == TERN_OK)
        status = tern__regress_judge(p, row);
    tern__free(a);
    tern__free(b);
    return status;
}

enum { TRIES = 3 };

/* The second measurement. Samples of a moment in which others had the machine are thrown away and taken again, a few times; what is
 * slower only in such moments is undecided. */
static tern_status take_samples_again(tern_regress_report *p, tern_regress_row *row, tern__cell *cell)
{
    tern__occupancy o;
    for (int i = 0; i < TRIES; i++) {
        const tern__moment before = tern__moment_now();
        TERN_TRY(take_samples(p, row, cell));
        o = tern__occupancy_between(before, tern__moment_now());
        if (row->time < TERN_REGRESS_REGRESSION || !tern__is_occupied(&o, p->o.threshold))
            return tern__regress_confirm(p, row);
    }
    return tern__regress_blame_others(p, row, &o);
}

/* What is slower again has its limit measured beside it: is it the machine? */
static tern_status confirm(tern_regress_report *p, tern_regress_row *row, tern__cell *cell)
{
    TERN_TRY(take_samples_again(p, row, cell));
    if (row->time < TERN_REGRESS_REGRESSION)
        return TERN_OK;
    TERN_TRY(tern__cell_take_share(cell));
    row->now.limit_share = p->results->rows[p->results->n - 1].limit_share = cell->row.limit_share;
    return tern__regress_blame_machine(p, row, p->results);
}

/* Why it failed, as a row of what was measured: the report's page and the history show it. */
static tern_status keep_failure(tern_regress_report *p, tern_regress_row *row, tern__cell *cell)
{
    cell->row.rounds = 0;
    cell->row.samples_us = NULL;
    cell->row.error = row->reason;
    return keep_result(p, row, &cell->row);
}

static tern_status measure_cell(tern_regress_report *p, tern_regress_row *row, int pass, int i,
                                tern__cell *cell)
{
    tern__cell_begin(cell);
    tern_status status = tern__cell_prepare(i, cell);
    if (status == TERN_OK)
        status = tern__cell_ready(cell, row->base.threads);
    if (status == TERN_OK)
        status = pass == 0 ? take_samples(p, row, cell) : confirm(p, row, cell);
    if (status == TERN_OK)
        return TERN_OK;
    TERN_TRY(tern__regress_judge_failure(p, row, status, cell->deadline.allowed_s));
    return keep_failure(p, row, cell);
}

/* The cell of the baseline's row; missing if this tern has none. */
static tern_status measure_row(tern_regress_report *p, const tern__bench *bench, tern_regress_row *row,
                               int pass)
{
    tern__cell cell;
    TERN_TRY(tern__regress_set_floor(p, row, NULL));
    for (int i = 0; tern__cell_describe(bench, i, &cell) == TERN_OK; i++) {
        cell.row.threads = row->base.threads;
        if (!tern_result_same(&cell.row, &row->base))
            continue;
        tern_status status = measure_cell(p, row, pass, i, &cell);
        tern__cell_close(&cell);
        tern_ctx_trim(bench->ctx);
        return status;
    }
    return tern__regress_judge_failure(p, row, tern__fail(TERN_NOT_FOUND, "no suite of this tern has it"), 0);
}

/* Old results name none. */
static const char *device_of(const tern_regress_row *row)
{
    return row->base.device[0] ? row->base.device : "cpu";
}

/* Is it asked for? */
static bool is_wanted(const tern_regress_row *row, const char *suite, const char *family)
{
    return strcmp(row->base.suite, suite) == 0 && (!family || strcmp(row->base.family, family) == 0);
}

tern_status tern__regress_measure_on(tern_regress_report *p, const tern__bench *bench)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < p->n; i++) {
            tern_regress_row *row = &p->rows[i];
            if (is_wanted(row, bench->suite->name, bench->o.family) &&
                strcmp(device_of(row), bench->device) == 0 &&
                (pass == 0 || row->time >= TERN_REGRESS_REGRESSION))
                TERN_TRY(measure_row(p, bench, row, pass));
        }
    return TERN_OK;
}

/* With the numbers of threads that its rows have. */
static tern_status measure_suite_on(tern_regress_report *p, const tern_bench_options *options,
                                    const char *suite, const char *device)
{
    enum { THREADS_MOST = 64 };
    tern_bench_options o = *options;
    tern__bench bench = {0};
    int threads[THREADS_MOST], n = 0;
    for (int i = 0; i < p->n; i++) {
        int k = 0;
        while (k < n && threads[k] != p->rows[i].base.threads)
            k++;
        if (k == n && n < THREADS_MOST && p->rows[i].base.threads > 0)
            threads[n++] = p->rows[i].base.threads;
    }
    o.suite = suite;
    o.family = o.dtype = o.size = o.layout = NULL; /* the baseline has it, this tern need not */
    o.device = device;
    o.threads = threads;
    o.n_threads = n;
    tern_status status = tern__bench_open(&o, &bench);
    bench.o.family = options->family;
    if (status == TERN_OK)
        status = tern__regress_measure_on(p, &bench);
    tern__bench_close(&bench);
    return status;
}

/* Was an earlier row that is asked for of the same device? */
static bool seen_before(const tern_regress_report *p, const char *suite, const char *family, int i)
{
    for (int k = 0; k < i; k++)
        if (is_wanted(&p->rows[k], suite, family) &&
            strcmp(device_of(&p->rows[k]), device_of(&p->rows[i])) == 0)
            return true;
    return false;
}

/* On each device that its rows have. One that this tern does not know leaves its rows missing. */
static tern_status measure_suite(tern_regress_report *p, const tern_bench_options *options, const char *suite)
{
    for (int i = 0; i < p->n; i++) {
        const char *device = device_of(&p->rows[i]);
        if (!is_wanted(&p->rows[i], suite, options->family) || seen_before(p, suite, options->family, i))
            continue;
        tern_status status = measure_suite_on(p, options, suite, device);
        if (status != TERN_NOT_FOUND || strcmp(device, "cpu") == 0) {
            TERN_TRY(status);
            continue;
        }
        for (int k = i; k < p->n; k++)
            if (is_wanted(&p->rows[k], suite, options->family) && strcmp(device_of(&p->rows[k]), device) == 0)
                TERN_TRY(tern__regress_judge_failure(p, &p->rows[k], status, 0));
    }
    return TERN_OK;
}

/* ---- models ---- */

enum { MODEL_RUNS = 10 };

static tern_status judge_model(tern_regress_report *p, tern_regress_row *row, const tern_results *now,
                               const tern_result *measured, const tern__occupancy *again)
{
    TERN_TRY(keep_result(p, row, measured));
    if (measured->rounds > 0)
        TERN_TRY(tern__regress_compare_row(p, row, now));
    TERN_TRY(tern__regress_judge(p, row));
    if (!again)
        return TERN_OK;
    return row->time >= TERN_REGRESS_REGRESSION && tern__is_occupied(again, p->o.threshold)
               ? tern__regress_blame_others(p, row, again)
               : tern__regress_confirm(p, row);
}

/* The rows of models that were measured; on the second pass those that seemed slower, and `again` is what others had of the machine. */
static tern_status judge_models(tern_regress_report *p, const tern_results *now, const tern__occupancy *again)
{
    for (int i = 0; i < p->n; i++) {
        tern_regress_row *row = &p->rows[i];
        for (int k = 0; k < now->n; k++)
            if (tern_result_same(&now->rows[k], &row->base) &&
                (!again || row->time >= TERN_REGRESS_REGRESSION)) {
                TERN_TRY(judge_model(p, row, now, &now->rows[k], again));
                break;
            }
    }
    return TERN_OK;
}

/* None of them could be measured. */
static tern_status fail_models(tern_regress_report *p, const char *family, tern_status why)
{
    for (int i = 0; i < p->n; i++)
        if (is_wanted(&p->rows[i], "model", family))
            TERN_TRY(tern__regress_judge_failure(p, &p->rows[i], why, 0));
    return TERN_OK;
}

static bool any_slow_model(const tern_regress_report *p)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->rows[i].base.suite, "model") == 0 && p->rows[i].time >= TERN_REGRESS_REGRESSION)
            return true;
    return false;
}

static tern_status measure_models(tern_regress_report *p, const tern_bench_options *o)
{
    for (int pass = 0; pass < 2 && (pass == 0 || any_slow_model(p)); pass++) {
        tern_results *now;
        TERN_TRY(tern_results_create(&now));
        const tern__moment before = tern__moment_now();
        tern_status status =
            tern__model_measure_again(p->base, o->family, o->cpu, o->timeout_s, MODEL_RUNS, now);
        const tern__occupancy others = tern__occupancy_between(before, tern__moment_now());
        status = status == TERN_OK ? judge_models(p, now, pass == 1 ? &others : NULL)
                                   : fail_models(p, o->family, status);
        tern_results_free(now);
        TERN_TRY(status);
    }
    return TERN_OK;
}

/* ---- all of them ---- */

static int count_rows(const tern_regress_report *p, const char *suite, const char *family)
{
    int n = 0;
    for (int i = 0; i < p->n; i++)
        n += is_wanted(&p->rows[i], suite, family);
    return n;
}

/* Each suite that the baseline has. */
static tern_status measure_suites(tern_regress_report *p, const tern_bench_options *o)
{
    const char *suite, *what;
    TERN_TRY(tern_results_note_conditions(p->results));
    TERN_TRY(tern_bench_note_settings(o, p->results));
    TERN_TRY(tern__regress_check_host(p));
    p->n_compared = count_rows(p, "model", o->family);
    for (int s = 0; tern_bench_suite(s, &suite, &what) == TERN_OK; s++)
        p->n_compared += count_rows(p, suite, o->family);
    TERN__FAIL_IF(o->family && p->n_compared == 0, TERN_NOT_FOUND,
                  "the baseline has no benchmark of family '%.64s'", o->family);
    if (count_rows(p, "model", o->family) > 0)
        TERN_TRY(measure_models(p, o));
    for (int s = 0; tern_bench_suite(s, &suite, &what) == TERN_OK; s++)
        if (count_rows(p, suite, o->family) > 0)
            TERN_TRY(measure_suite(p, o, suite));
    return TERN_OK;
}

tern_status tern_regress_run(const tern_regress_options *options, const tern_bench_options *bench,
                             const tern_results *base, const tern_results *history, tern_regress_report **out)
{
    tern_regress_report *p = NULL;
    tern_bench_options o = bench ? *bench : (tern_bench_options){0};
    TERN__FAIL_IF(!base || !out, TERN_INVALID_ARGUMENT, "regress_run: an argument is NULL");
    tern__settings_apply(base, &o);
    TERN_TRY(tern__regress_begin(options, base, history, &p));
    return tern__regress_finish(p, measure_suites(p, &o), out);
}
