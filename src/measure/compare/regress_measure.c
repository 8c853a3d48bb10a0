/* regress_measure.c - the benchmarks of a baseline measured again: the cells of its suites until the answer is clear, models a fixed
 * number of times; what seems slower or faster, once more when all others are done. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "measure/bench/bench.h"
#include "measure/bench/bench_model.h"
#include "measure/bench/bench_options.h"
#include "measure/compare/compare_progress.h"
#include "measure/occupied.h"
#include "measure/compare/regress.h"
#include "measure/results/results.h"
#include "measure/bench/settings.h"

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

/* What is measured of a row until its answer is clear. */
typedef struct taking {
    tern__limit *limit;     /* of the cell; NULL: it has none */
    double *then;           /* (n_then) the baseline's samples, seconds */
    double *now;            /* (n, room for o.rounds) */
    tern__measurement last; /* of the latest part: the cell's row points to its words */
    int n_then, n;
    int parts;
    double log_shares; /* of the limit, added up over parts */
    double longest_s;  /* of a part and the look at it */
    double budget_s;   /* for all parts: no more than the row's time-out leaves */
    double known;      /* share of what will be known that former looks had */
    uint64_t start;
} taking;

static double seconds_since(uint64_t start)
{
    return (double)(tern__now_ns() - start) * 1e-9;
}

static tern_status begin_taking(tern_regress_report *p, const tern_regress_row *row, const tern__cell *cell,
                                taking *t)
{
    t->now = tern__alloc_zero((size_t)p->o.rounds, sizeof *t->now);
    if (!t->now)
        return tern__out_of_memory((size_t)p->o.rounds * sizeof *t->now);
    TERN_TRY(tern__regress_samples(p->base, &row->base, &t->then, &t->n_then));
    TERN__FAIL_IF(t->n_then == 0, TERN_UNAVAILABLE, "the baseline has no samples of it");
    const tern_status status = tern__cell_limit(cell, &t->limit);
    t->start = tern__now_ns();
    t->budget_s = fmin(p->o.budget_s, tern__deadline_left_s(&cell->deadline));
    return status == TERN_UNAVAILABLE ? TERN_OK : status;
}

static void end_taking(taking *t)
{
    tern__limit_destroy(t->limit);
    tern__free(t->then);
    tern__free(t->now);
}

/* As many samples as a session of the baseline took, as it took them. */
static tern_status take_part(tern_regress_report *p, const tern_regress_row *row, tern__cell *cell, taking *t)
{
    double samples[2][TERN__ROUNDS_MOST];
    const int64_t repeats = (int64_t)(tern__regress_repeats(p->base, &row->base) + 0.5);
    TERN_TRY(tern__cell_time(cell, t->limit, repeats, samples, &t->last));
    cell->row.samples_us = cell->row.cpu_samples_us = NULL; /* they are kept in `now` */
    for (int i = 0; i < t->last.time.n && t->n < p->o.rounds; i++)
        t->now[t->n++] = samples[0][i] * 1e-6;
    t->parts++;
    if (t->last.share.n > 0)
        t->log_shares += log(t->last.share.median);
    return TERN_OK;
}

/* Each look has the share of alpha by which knowledge has grown since the last one. */
static tern_status look(tern_regress_report *p, tern_regress_row *row, taking *t)
{
    tern_compare_options o = tern__regress_look(p, row);
    const int looks = row->comparison.looks;
    const double known =
        tern__compare_progress(seconds_since(t->start), t->longest_s, t->budget_s, t->n, p->o.rounds);
    o.spend *= known - t->known;
    TERN_TRY(tern_compare_samples(&o, t->then, t->n_then, t->now, t->n, &row->comparison));
    row->comparison.looks = looks + 1;
    row->comparison.seconds = seconds_since(t->start);
    t->known = known;
    return TERN_OK;
}

static tern_status keep_taken(tern_regress_report *p, tern_regress_row *row, tern__cell *cell, taking *t)
{
    for (int i = 0; i < t->n; i++)
        t->now[i] *= 1e6;
    cell->row.rounds = t->n;
    cell->row.samples_us = t->now;
    cell->row.cpu_samples_us = NULL;
    cell->row.limit_share = t->limit ? exp(t->log_shares / t->parts) : NAN;
    TERN_TRY(keep_result(p, row, &cell->row));
    tern_result *kept = &p->results->rows[p->results->n - 1];
    tern__cell_rates(cell, kept); /* by the median of all parts: the cell's own are those of its last one */
    row->now = *kept;
    return tern__regress_judge(p, row);
}

/* Samples are taken as the baseline's were: in turns with the limit, with as many runs in each, as long as its sessions took. What lies
 * between two samples (caches, frequencies, other programs' turns) is then the same, and so is what the medians of sessions differ by. One
 * look after each such part, until it is clear or the budget has been used; a part that the time-out cuts off is left out. *any becomes true
 * once there is a whole one. */
static tern_status take_samples(tern_regress_report *p, tern_regress_row *row, tern__cell *cell, bool *any)
{
    taking t = {0};
    tern_status status = begin_taking(p, row, cell, &t);
    row->comparison = (tern_comparison){0};
    while (status == TERN_OK && t.known < 1) {
        const uint64_t start = tern__now_ns();
        status = take_part(p, row, cell, &t);
        if (status == TERN_CANCELLED && t.parts > 0 && !tern__bench_stopped(cell->bench)) {
            status = TERN_OK; /* what there is has been looked at */
            break;
        }
        t.longest_s = fmax(t.longest_s, seconds_since(start));
        if (status == TERN_OK)
            status = look(p, row, &t);
        if (status == TERN_OK && row->comparison.verdict != TERN_VERDICT_UNDECIDED)
            break;
    }
    *any |= t.parts > 0;
    if (status == TERN_OK)
        status = keep_taken(p, row, cell, &t);
    else
        row->comparison = (tern_comparison){0}; /* of a part, in which something went wrong */
    end_taking(&t);
    cell->row.samples_us = NULL; /* what these were is gone */
    cell->row.limit = NULL;
    return status;
}

enum { TRIES = 3 };

/* Samples that show what `first` says, again and again until the time that they took tells whether others had the machine; or those that
 * do not show it. */
static tern_status take_proof(tern_regress_report *p, tern_regress_row *row, tern__cell *cell,
                              tern_regress_state first, tern__occupancy *o, bool *any)
{
    const tern_moment before = tern_moment_now();
    do {
        TERN_TRY(take_samples(p, row, cell, any));
        *o = tern__occupancy_between(before, tern_moment_now());
    } while (tern__regress_shows(row, first) && !tern__occupancy_is_sure(o));
    return TERN_OK;
}

/* The second measurement. Samples of a moment in which others had the machine are thrown away and taken again, a few times; what is
 * slower, or faster, only in such moments is undecided. */
static tern_status confirm(tern_regress_report *p, tern_regress_row *row, tern__cell *cell, bool *any)
{
    tern__occupancy o;
    const tern_regress_state first = row->time;
    for (int i = 0; i < TRIES; i++) {
        TERN_TRY(take_proof(p, row, cell, first, &o, any));
        if (tern__regress_has_changed(row) && tern__is_occupied(&o, p->o.threshold))
            continue;
        TERN_TRY(tern__regress_confirm(p, row, first));
        return tern__regress_blame_machine(p, row, p->results); /* its limit was measured beside it */
    }
    return tern__regress_blame_others(p, row, &o);
}

/* Why it failed, as a row of what was measured: the report's page and the history show it. */
static tern_status keep_failure(tern_regress_report *p, tern_regress_row *row, tern__cell *cell)
{
    cell->row.rounds = 0;
    cell->row.samples_us = NULL;
    cell->row.error = row->reason;
    return keep_result(p, row, &cell->row);
}

/* What takes too long while others have the machine tells nothing: it is missing. */
static tern_status judge_given_up(tern_regress_report *p, tern_regress_row *row, tern_status status,
                                  double allowed_s, const tern__occupancy *o)
{
    return tern__regress_judge_failure(p, row, status, tern__is_occupied(o, p->o.threshold) ? 0 : allowed_s);
}

static tern_status measure_cell(tern_regress_report *p, tern_regress_row *row, int pass, int i,
                                tern__cell *cell)
{
    const tern_moment before = tern_moment_now();
    bool any = false;
    tern__cell_begin(cell);
    tern_status status = tern__cell_prepare(i, cell);
    if (status == TERN_OK)
        status = tern__cell_ready(cell, row->base.threads);
    if (status == TERN_OK)
        status = pass == 0 ? take_samples(p, row, cell, &any) : confirm(p, row, cell, &any);
    if (status == TERN_OK || tern__bench_stopped(cell->bench))
        return TERN_OK;
    const tern__occupancy o = tern__occupancy_between(before, tern_moment_now());
    /* What was measured as a session of the baseline was is not too slow to be: only more of it was. */
    TERN_TRY(judge_given_up(p, row, status, any ? 0 : cell->deadline.allowed_s, &o));
    return keep_failure(p, row, cell);
}

static void tell_progress(tern_regress_report *p)
{
    p->n_done++;
    if (p->o.progress)
        p->o.progress(p->o.progress_user, p->n_done, p->n_compared);
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
        if (pass == 0 && !tern__bench_stopped(bench))
            tell_progress(p);
        return status;
    }
    return tern__regress_judge_failure(p, row, tern__fail(TERN_NOT_FOUND, "no suite of this tern has it"), 0);
}

/* Is it asked for? */
static bool is_wanted(const tern_regress_row *row, const char *suite, const char *family)
{
    return strcmp(row->base.suite, suite) == 0 && (!family || strcmp(row->base.family, family) == 0);
}

/* It was stopped before it could be measured a second time. */
static tern_status leave_unconfirmed(tern_regress_report *p, tern_regress_row *row)
{
    return tern__regress_judge_failure(p, row, tern__fail(TERN_CANCELLED, "it was stopped"), 0);
}

static bool is_of(const tern_regress_row *row, const tern__bench *bench)
{
    return is_wanted(row, bench->suite->name, bench->o.family) &&
           strcmp(row->base.device, bench->device) == 0;
}

tern_status tern__regress_measure_on(tern_regress_report *p, const tern__bench *bench)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < p->n; i++) {
            tern_regress_row *row = &p->rows[i];
            if (!is_of(row, bench) || (pass == 1 && !tern__regress_has_changed(row)))
                continue;
            TERN_TRY(measure_row(p, bench, row, pass));
            if (!tern__bench_stopped(bench))
                continue;
            for (int k = pass == 0 ? 0 : i; k < p->n; k++)
                if (is_of(&p->rows[k], bench) && tern__regress_has_changed(&p->rows[k]))
                    TERN_TRY(leave_unconfirmed(p, &p->rows[k]));
            return tern__fail(TERN_CANCELLED, "regress: stopped");
        }
    return TERN_OK;
}

/* With the numbers of threads that its rows have. */
static tern_status measure_suite_on(tern_regress_report *p, const tern_bench_options *options,
                                    const char *suite, const char *device)
{
    tern_bench_options o = *options;
    tern__bench bench = {0};
    int threads[TERN__BENCH_THREADS_MOST], n = 0;
    for (int i = 0; i < p->n; i++) {
        int k = 0;
        while (k < n && threads[k] != p->rows[i].base.threads)
            k++;
        if (k == n && n < TERN__BENCH_THREADS_MOST && p->rows[i].base.threads > 0)
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
            strcmp(p->rows[k].base.device, p->rows[i].base.device) == 0)
            return true;
    return false;
}

/* On each device that its rows have. One that this tern does not know leaves its rows missing. */
static tern_status measure_suite(tern_regress_report *p, const tern_bench_options *options, const char *suite)
{
    for (int i = 0; i < p->n; i++) {
        const char *device = p->rows[i].base.device;
        if (!is_wanted(&p->rows[i], suite, options->family) || seen_before(p, suite, options->family, i))
            continue;
        tern_status status = measure_suite_on(p, options, suite, device);
        if (status != TERN_NOT_FOUND || strcmp(device, "cpu") == 0) {
            TERN_TRY(status);
            continue;
        }
        for (int k = i; k < p->n; k++)
            if (is_wanted(&p->rows[k], suite, options->family) && strcmp(p->rows[k].base.device, device) == 0)
                TERN_TRY(tern__regress_judge_failure(p, &p->rows[k], status, 0));
    }
    return TERN_OK;
}

/* ---- models ---- */

enum { MODEL_RUNS = 10 };

static tern_status judge_model(tern_regress_report *p, tern_regress_row *row, const tern_results *now,
                               const tern_result *measured, double allowed_s, const tern__occupancy *others,
                               bool again)
{
    const tern_regress_state first = row->time;
    TERN_TRY(keep_result(p, row, measured));
    if (tern__deadline_says(measured->error))
        return judge_given_up(p, row, tern__fail(TERN_CANCELLED, "%s", measured->error), allowed_s, others);
    if (measured->rounds > 0)
        TERN_TRY(tern__regress_compare_row(p, row, now));
    TERN_TRY(tern__regress_judge(p, row));
    if (!again)
        return TERN_OK;
    return tern__regress_has_changed(row) && tern__is_occupied(others, p->o.threshold)
               ? tern__regress_blame_others(p, row, others)
               : tern__regress_confirm(p, row, first);
}

/* The rows of models that were measured; on the second pass, `again`, those that seemed to have changed. `others`: what they had of the
 * machine. */
static tern_status judge_models(tern_regress_report *p, const tern_results *now, double allowed_s,
                                const tern__occupancy *others, bool again)
{
    for (int i = 0; i < p->n; i++) {
        tern_regress_row *row = &p->rows[i];
        for (int k = 0; k < now->n; k++)
            if (tern_result_same(&now->rows[k], &row->base) && (!again || tern__regress_has_changed(row))) {
                TERN_TRY(judge_model(p, row, now, &now->rows[k], allowed_s, others, again));
                break;
            }
    }
    return TERN_OK;
}

/* What seemed to have changed was not measured a second time. */
static tern_status leave_models(tern_regress_report *p, const char *family)
{
    for (int i = 0; i < p->n; i++)
        if (is_wanted(&p->rows[i], "model", family) && tern__regress_has_changed(&p->rows[i]))
            TERN_TRY(leave_unconfirmed(p, &p->rows[i]));
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

static bool any_changed_model(const tern_regress_report *p)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->rows[i].base.suite, "model") == 0 && tern__regress_has_changed(&p->rows[i]))
            return true;
    return false;
}

static tern_status measure_models(tern_regress_report *p, const tern_bench_options *o)
{
    for (int pass = 0; pass < 2 && (pass == 0 || any_changed_model(p)); pass++) {
        tern_results *now;
        TERN_TRY(tern_results_create(&now));
        const tern_moment before = tern_moment_now();
        tern_status status = tern__model_measure_again(p->base, o, MODEL_RUNS, now);
        const tern__occupancy others = tern__occupancy_between(before, tern_moment_now());
        const bool stopped = o->stop && o->stop(o->stop_user);
        if (!stopped)
            status = status == TERN_OK
                         ? judge_models(p, now, tern__bench_model_timeout_s(o->timeout_s), &others, pass == 1)
                         : fail_models(p, o->family, status);
        else if (pass == 1)
            status = leave_models(p, o->family);
        else
            status = TERN_OK;
        tern_results_free(now);
        TERN_TRY(status);
        TERN__FAIL_IF(stopped, TERN_CANCELLED, "regress: stopped");
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
    if (count_rows(p, "model", o->family) > 0) {
        TERN_TRY(measure_models(p, o));
        p->n_done += count_rows(p, "model", o->family) - 1;
        tell_progress(p);
    }
    for (int s = 0; tern_bench_suite(s, &suite, &what) == TERN_OK; s++)
        if (count_rows(p, suite, o->family) > 0)
            TERN_TRY(measure_suite(p, o, suite));
    return TERN_OK;
}

/* What was not said is said by the baseline: four times what a session of it took for a row. */
enum { PARTS_MOST = 4 };

static void settle_budget(tern_regress_options *o, tern_bench_options *part)
{
    if (!(o->budget_s >= 0) || o->rounds < 0)
        return; /* nonsense, which is refused */
    o->budget_s = o->budget_s > 0 ? o->budget_s : PARTS_MOST * part->budget_s;
    if (o->rounds <= 0)
        o->rounds = PARTS_MOST * part->rounds < TERN__REGRESS_ROUNDS_MOST ? PARTS_MOST * part->rounds
                                                                          : TERN__REGRESS_ROUNDS_MOST;
    part->budget_s = fmin(part->budget_s, o->budget_s);
    part->rounds = part->rounds < o->rounds ? part->rounds : o->rounds;
}

tern_status tern_regress_run(const tern_regress_options *options, const tern_bench_options *bench,
                             const tern_results *base, const tern_results *history, tern_regress_report **out)
{
    tern_regress_report *p = NULL;
    tern_bench_options o = bench ? *bench : (tern_bench_options){0};
    TERN__FAIL_IF(!base || !out, TERN_INVALID_ARGUMENT, "regress_run: an argument is NULL");
    tern_regress_options wanted = options ? *options : (tern_regress_options){0};
    tern__settings_apply(base, &o);
    settle_budget(&wanted, &o);
    TERN_TRY(tern__regress_begin(&wanted, base, history, &p));
    const tern_moment begin = tern_moment_now();
    tern_status status = measure_suites(p, &o);
    const bool stopped = status == TERN_CANCELLED && o.stop && o.stop(o.stop_user);
    if (status == TERN_OK || stopped)
        status = tern_results_note_disturbance(p->results, &begin);
    if (status == TERN_OK && stopped)
        status = tern_results_set_condition(p->results, "incomplete", "stopped");
    TERN_TRY(tern__regress_finish(p, status, out));
    return stopped ? tern__fail(TERN_CANCELLED, "regress: stopped after %d of %d benchmarks", (*out)->n_done,
                                (*out)->n_compared)
                   : TERN_OK;
}
