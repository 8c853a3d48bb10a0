/* contest.c - holding a contest between several ways to do one thing; tern_tune for the caller's own. */
#include "runtime/contest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "passes/select.h"
#include "runtime/context.h"

static bool is_remembered(const tern__contest *c)
{
    for (int i = 0; i < c->n; i++)
        if (!tern__tuned_find(c->key, c->names[i], TERN__TUNED_TUNE))
            return false;
    return true;
}

/* Want of memory says nothing about the way to do it: next time there may be some. */
static bool is_lasting(tern_status status)
{
    return status != TERN_OUT_OF_MEMORY && status != TERN_LIMIT;
}

static void remember(const tern__contest *c, const char *name, const tern_tune_row *row)
{
    tern__tuned *w =
        c->key && is_lasting(row->status) ? tern__tuned_add(c->tuning, c->key, name, TERN__TUNED_TUNE) : NULL;
    if (!w)
        return;
    w->median_ns = row->median_ns;
    w->min_ns = row->min_ns;
    w->runs = row->runs;
    w->status = row->status;
    w->dirty = c->tuning->dirty = true;
}

static void fill_measured(tern_tune_row *row, tern__racer *racer)
{
    row->status = racer->status;
    if (racer->status != TERN_OK || racer->n == 0)
        return;
    row->runs = racer->n;
    row->median_ns = tern__median(racer->samples, racer->n);
    row->min_ns = racer->samples[0]; /* sorted by now */
}

static void fill_remembered(tern_tune_row *row, const tern__tuned *w)
{
    row->remembered = true;
    row->status = w->status;
    row->runs = w->runs;
    row->median_ns = w->median_ns;
    row->min_ns = w->min_ns;
}

/* The time to go by, as the compiler will see it. */
static tern__timing timing_of(const tern__contest *c, const tern_tune_row *row)
{
    tern__timing known = c->key ? tern__tuned_timing(c->key, row->candidate) : (tern__timing){0};
    uint64_t ns = known.in_runs ? known.ns : row->median_ns;
    return (tern__timing){
        .ns = ns, .tuned_ns = row->median_ns, .in_runs = known.in_runs, .failed = row->status != TERN_OK};
}

static tern_status report(const tern__contest *c, tern_tune_row *rows, int best)
{
    for (int i = 0; i < c->n; i++) {
        rows[i].chosen = i == best;
        if (c->options->progress)
            c->options->progress(c->options->user, &rows[i], c->done + i + 1, c->total);
        if (c->report)
            TERN_TRY(tern__tune_report_add(c->report, &rows[i]));
    }
    return TERN_OK;
}

static tern_status hold(const tern__contest *c, tern__racer *racers, tern_tune_row *rows,
                        tern__timing *timings, int *best)
{
    bool remembered = c->key && !c->options->again && is_remembered(c);
    uint64_t runs = 0;
    if (!remembered)
        tern__race(c->n, racers, c->run, c->user, c->options, &runs);
    if (c->report)
        tern__tune_report_count(c->report, runs);
    for (int i = 0; i < c->n; i++) {
        rows[i] = (tern_tune_row){.op = c->op,
                                  .n_ops = c->n_ops,
                                  .ops = c->ops,
                                  .shapes = c->shapes,
                                  .params = c->params,
                                  .candidate = c->names[i],
                                  .source = "tune",
                                  .cpu = c->tuning->cpu,
                                  .version = tern_version(),
                                  .threads = c->tuning->threads,
                                  .step = c->step,
                                  .usual = c->first_is_usual && i == 0};
        if (remembered) {
            fill_remembered(&rows[i], tern__tuned_find(c->key, c->names[i], TERN__TUNED_TUNE));
        } else {
            fill_measured(&rows[i], &racers[i]);
            remember(c, c->names[i], &rows[i]);
        }
        timings[i] = timing_of(c, &rows[i]);
        rows[i].run_median_ns = timings[i].in_runs ? timings[i].ns : 0;
    }
    *best = tern__fastest_timing(c->n, timings);
    return report(c, rows, *best);
}

tern_status tern__contest_hold(const tern__contest *c, int *best, tern_status *status)
{
    tern__racer *racers = tern__alloc_zero((size_t)c->n, sizeof *racers);
    tern_tune_row *rows = tern__alloc_zero((size_t)c->n, sizeof *rows);
    tern__timing *timings = tern__alloc_zero((size_t)c->n, sizeof *timings);
    tern_status result = racers && rows && timings
                             ? hold(c, racers, rows, timings, best)
                             : tern__out_of_memory((size_t)c->n * (sizeof *racers + sizeof *rows));
    if (result == TERN_OK)
        *status = rows[0].status;
    tern__free(racers);
    tern__free(rows);
    tern__free(timings);
    return result;
}

/* ---- the caller's own work ---- */

static tern_status check_names(int n, const char *const *names)
{
    TERN__FAIL_IF(n < 1 || !names, TERN_INVALID_ARGUMENT, "tune: there is nothing to choose from");
    for (int i = 0; i < n; i++) {
        TERN__FAIL_IF(!names[i] || !names[i][0], TERN_INVALID_ARGUMENT, "tune: configuration %d has no name",
                      i);
        for (int k = 0; k < i; k++)
            TERN__FAIL_IF(strcmp(names[i], names[k]) == 0, TERN_INVALID_ARGUMENT,
                          "tune: two configurations are called '%s'", names[i]);
    }
    return TERN_OK;
}

tern_status tern_tune(tern_ctx *ctx, const char *name, const char *key, int n,
                      const char *const *configurations, tern_tune_run run, void *user,
                      const tern_tune_options *options, int *best, tern_tune_report **out)
{
    TERN__FAIL_IF(!ctx || !name || !run || !best, TERN_INVALID_ARGUMENT,
                  "tune: needs a context, a name, a function to run and room for the answer");
    TERN_TRY(check_names(n, configurations));
    tern_tune_options defaults = tern_tune_options_default();
    tern_tune_report *report = NULL;
    if (out)
        TERN_TRY(tern__tune_report_create(&report));
    tern__tuning_load(ctx->tuning);
    key = key ? key : "";
    tern__contest contest = {.tuning = ctx->tuning,
                             .key = tern__tuning_key_text(ctx->tuning, "user", key, name, true),
                             .op = "user",
                             .n_ops = 1,
                             .ops = &name,
                             .shapes = key,
                             .params = name,
                             .n = n,
                             .names = configurations,
                             .step = -1,
                             .run = run,
                             .user = user,
                             .options = options ? options : &defaults,
                             .report = report,
                             .total = n};
    int fastest = -1;
    tern_status first = TERN_OK, status = tern__contest_hold(&contest, &fastest, &first);
    tern__tuning_save(ctx->tuning);
    if (status == TERN_OK && fastest < 0)
        status = tern__fail(first, "tune: no configuration of '%s' runs: %s gave %s", name, configurations[0],
                            tern_status_name(first));
    if (status != TERN_OK) {
        tern_tune_report_free(report);
        return status;
    }
    *best = fastest;
    if (out)
        *out = report;
    return TERN_OK;
}
