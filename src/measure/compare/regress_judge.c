/* regress_judge.c - is it worse? Times, memory and accuracy of one row, and the sentence that says why. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "measure/bootstrap.h"
#include "measure/occupied.h"
#include "measure/compare/regress.h"
#include "measure/results/results.h"

tern_status tern__regress_set_reason(tern_regress_report *p, tern_regress_row *row, const char *text)
{
    row->reason = tern__arena_strndup(&p->arena, text, strlen(text));
    return row->reason ? TERN_OK : tern__out_of_memory(strlen(text));
}

/* ---- one number ---- */

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
        return TERN_REGRESS_BETTER;
    case TERN_VERDICT_SAME:
        return TERN_REGRESS_SAME;
    case TERN_VERDICT_UNDECIDED:
        break;
    }
    return TERN_REGRESS_UNDECIDED;
}

/* What is counted and not sampled; negative: unknown. */
static tern_regress_state judge_count(const tern_regress_report *p, int64_t was, int64_t is)
{
    if (was < 0 || is < 0)
        return TERN_REGRESS_MISSING;
    const double change = was > 0 ? (double)is / (double)was - 1 : is > 0 ? INFINITY : 0;
    return change > p->o.threshold    ? worse_by(p, change)
           : change < -p->o.threshold ? TERN_REGRESS_BETTER
                                      : TERN_REGRESS_SAME;
}

/* Bytes at the peak, and blocks that are asked for: the worse of both. */
static tern_regress_state judge_memory(const tern_regress_report *p, const tern_regress_row *row)
{
    const tern_regress_state bytes = judge_count(p, row->base.peak_bytes, row->now.peak_bytes),
                             blocks = judge_count(p, row->base.allocations, row->now.allocations);
    return bytes == TERN_REGRESS_MISSING    ? blocks
           : blocks == TERN_REGRESS_MISSING ? bytes
           : bytes > blocks                 ? bytes
                                            : blocks;
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

/* ---- the row ---- */

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
           : row->time == TERN_REGRESS_BETTER && worst == TERN_REGRESS_SAME  ? TERN_REGRESS_BETTER
                                                                             : worst;
}

static void add_part(char *text, size_t room, const char *format, const char *name, double change)
{
    const size_t used = strlen(text);
    snprintf(text + used, room - used, format, used ? "; " : "", name, change);
}

/* How much worse a count is, if it is. */
static void add_count(const tern_regress_report *p, const char *unit, int64_t was, int64_t is, char *text,
                      size_t room)
{
    const size_t used = strlen(text);
    const bool bytes = strcmp(unit, "bytes") == 0;
    const tern_regress_state state = judge_count(p, was, is);
    if (state != TERN_REGRESS_REGRESSION && state != TERN_REGRESS_CRITICAL)
        return;
    if (was == 0)
        snprintf(text + used, room - used, "%smemory: some where there was none, %.0f %s", used ? "; " : "",
                 (double)is, unit);
    else
        snprintf(text + used, room - used, "%smemory: more%s%s by %.0f %%", used ? "; " : "",
                 bytes ? "" : " ", bytes ? "" : unit, 100 * ((double)is / (double)was - 1));
}

/* What it says for itself where there are no times, or where other sessions have them. */
static void add_error(const tern_regress_report *p, const tern_regress_row *row, char *text, size_t room)
{
    const size_t used = strlen(text);
    int failed = 0, all = 0;
    for (int i = 0; i < p->results->n; i++)
        if (tern_result_same(&p->results->rows[i], &row->base)) {
            failed += tern__result_failed(&p->results->rows[i]);
            all++;
        }
    if (failed > 0 && failed < all)
        snprintf(text + used, room - used, "%sin %d of %d sessions: %s", used ? "; " : "", failed, all,
                 row->now.error);
    else if (row->time == TERN_REGRESS_MISSING && row->now.error[0])
        snprintf(text + used, room - used, "%s%s", used ? "; " : "", row->now.error);
}

/* `of_time` (may be NULL): what there is to say of the times, instead of what the comparison says. */
static tern_status explain_as(tern_regress_report *p, tern_regress_row *row, const char *of_time)
{
    char text[512] = "";
    const tern_comparison *c = &row->comparison;
    const int needed = p->paired ? tern_regress_pairs_needed(&p->o, p->n_compared) : 0;
    add_count(p, "bytes", row->base.peak_bytes, row->now.peak_bytes, text, sizeof text);
    add_count(p, "allocations", row->base.allocations, row->now.allocations, text, sizeof text);
    if (row->accuracy >= TERN_REGRESS_REGRESSION && !tern__result_failed(&row->now))
        add_part(text, sizeof text, "%saccuracy: %s, the error is %.2g", "worse", row->now.accuracy_error);
    if (of_time)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? "; " : "", of_time);
    else if (row->time >= TERN_REGRESS_REGRESSION)
        add_part(text, sizeof text, "%stime: %s by %.1f %%", "slower", 100 * (c->ratio - 1));
    else if (row->time == TERN_REGRESS_UNDECIDED && c->n_b > 0) {
        const double change = fabs(c->ratio - 1);
        const bool large = change > p->o.threshold;
        const size_t used = strlen(text);
        const char *why = c->n_b < needed ? "so few pairs tell nothing"
                          : c->n_a < TERN__INTERVAL_LEAST || c->n_b < TERN__INTERVAL_LEAST
                              ? "fewer than six samples tell nothing"
                          : large && !p->paired && isnan(row->noise_floor)
                              ? "the baseline has one session, so that nobody knows what sessions differ by"
                          : large && change <= row->noise_floor ? "sessions differ by as much anyway"
                          : large && c->p > c->alpha            ? "that may be chance"
                                                                : "the times scatter too much to tell";
        snprintf(text + used, sizeof text - used, "%stime: %+.1f %%, but %s", used ? "; " : "",
                 100 * (c->ratio - 1), why);
    }
    add_error(p, row, text, sizeof text);
    return text[0] ? tern__regress_set_reason(p, row, text)
                   : tern__regress_set_reason(p, row, row->time == TERN_REGRESS_MISSING ? "no times" : "");
}

static tern_status explain(tern_regress_report *p, tern_regress_row *row)
{
    return explain_as(p, row, NULL);
}

/* What failed before is no news. */
static bool was_measured(const tern_regress_row *row)
{
    return row->base.rounds > 0;
}

tern_status tern__regress_judge(tern_regress_report *p, tern_regress_row *row)
{
    row->time = row->comparison.n_b > 0 ? judge_time(p, &row->comparison) : TERN_REGRESS_MISSING;
    row->memory = judge_memory(p, row);
    row->accuracy = tern__result_failed(&row->now) && was_measured(row)
                        ? TERN_REGRESS_CRITICAL
                        : judge_accuracy(p, row->base.accuracy_error, row->now.accuracy_error);
    row->state = worst_of(row);
    TERN_TRY(tern__regress_history(p->history, &row->base, &row->now, &row->history));
    return explain(p, row);
}

bool tern__regress_has_changed(const tern_regress_row *row)
{
    return row->time >= TERN_REGRESS_REGRESSION || row->time == TERN_REGRESS_BETTER;
}

bool tern__regress_shows(const tern_regress_row *row, tern_regress_state first)
{
    return tern__regress_has_changed(row) &&
           (row->time == TERN_REGRESS_BETTER) == (first == TERN_REGRESS_BETTER);
}

/* "slower" or "faster". */
static const char *word_of(tern_regress_state time)
{
    return time == TERN_REGRESS_BETTER ? "faster" : "slower";
}

tern_status tern__regress_confirm(tern_regress_report *p, tern_regress_row *row, tern_regress_state first)
{
    char text[96];
    if (tern__regress_shows(row, first))
        return TERN_OK;
    row->time = TERN_REGRESS_UNDECIDED;
    row->state = worst_of(row);
    snprintf(text, sizeof text, "%s at first, but not when it was measured again", word_of(first));
    return explain_as(p, row, text);
}

/* ---- the machine ---- */

/* Whatever the samples say of the times: `why` they are no proof. */
static tern_status leave_undecided(tern_regress_report *p, tern_regress_row *row, const char *why)
{
    row->time = TERN_REGRESS_UNDECIDED;
    row->state = worst_of(row);
    return explain_as(p, row, why);
}

/* Of the limit, in the middle of the sessions; NaN: nobody measured it. */
static double share_of(const tern_results *from, const tern_result *key)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < from->n; i++)
        if (from->rows[i].limit_share > 0 && tern_result_same(&from->rows[i], key)) {
            sum += log(from->rows[i].limit_share);
            n++;
        }
    return n > 0 ? exp(sum / n) : NAN;
}

/* The limit is measured in turns with the benchmark, by loops that are none of the library's kernels: what slows down the whole machine
 * for minutes moves both, and leaves the share where it was. Kernels of another instruction set may have another limit, and then shares
 * say nothing; nor do those of models, whose limit is measured before and after them. */
tern_status tern__regress_blame_machine(tern_regress_report *p, tern_regress_row *row,
                                        const tern_results *now)
{
    char text[256];
    const tern_comparison *c = &row->comparison;
    const bool worse = row->time >= TERN_REGRESS_REGRESSION;
    const double fell = share_of(p->base, &row->base) / share_of(now, &row->base);
    if ((!worse && row->time != TERN_REGRESS_BETTER) || isnan(fell) || !row->base.isa || !row->now.isa ||
        strcmp(row->base.isa, row->now.isa) != 0 || strcmp(row->base.suite, "model") == 0 ||
        (worse ? fell : 1 / fell) > 1 + p->o.threshold)
        return TERN_OK;
    snprintf(text, sizeof text,
             "time: %+.1f %%, but the machine changed too: %+.1f %% beside the limit measured with it",
             100 * (c->ratio - 1), 100 * (fell - 1));
    return leave_undecided(p, row, text);
}

tern_status tern__regress_blame_others(tern_regress_report *p, tern_regress_row *row,
                                       const tern__occupancy *others)
{
    char text[256];
    const int used =
        snprintf(text, sizeof text,
                 "time: %+.1f %%, but other programs had the machine: ", 100 * (row->comparison.ratio - 1));
    tern__occupancy_text(others, text + used, sizeof text - (size_t)used);
    return leave_undecided(p, row, text);
}

/* ---- results that were measured before ---- */

/* How many times as many runs there may be in a sample: short ones are disturbed more rarely but harder, and what a sample costs besides
 * its runs is shared by fewer. */
static const double repeats_most = 2;

double tern__regress_repeats(const tern_results *from, const tern_result *key)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < from->n; i++)
        if (from->rows[i].rounds > 0 && from->rows[i].repeats > 0 && tern_result_same(&from->rows[i], key)) {
            sum += log((double)from->rows[i].repeats);
            n++;
        }
    return n > 0 ? exp(sum / n) : 0;
}

/* Sessions of the benchmark, and whether each of them alone shows the change. */
static bool every_session_shows(const tern_regress_report *p, const tern_regress_row *row,
                                const tern_results *now, int *sessions)
{
    const bool slower = row->comparison.ratio > 1;
    bool all = true;
    *sessions = 0;
    for (int i = 0; i < now->n; i++)
        if (now->rows[i].median_us > 0 && tern_result_same(&now->rows[i], &row->base)) {
            const double ratio = now->rows[i].median_us * 1e-6 / row->comparison.median_a;
            all &= (slower ? ratio : 1 / ratio) > 1 + p->o.threshold;
            ++*sessions;
        }
    return all;
}

tern_status tern__regress_doubt(tern_regress_report *p, tern_regress_row *row, const tern_results *now)
{
    char text[256] = "";
    const tern_comparison *c = &row->comparison;
    const bool worse = row->time >= TERN_REGRESS_REGRESSION;
    const double was = tern__regress_repeats(p->base, &row->base),
                 is = tern__regress_repeats(now, &row->base);
    int sessions;
    if (row->time == TERN_REGRESS_MISSING || row->time == TERN_REGRESS_UNDECIDED)
        return TERN_OK;
    if (was > 0 && is > 0 && (was > repeats_most * is || is > repeats_most * was))
        snprintf(text, sizeof text,
                 "time: undecided: samples of %.0f runs cannot be compared with samples of %.0f", is, was);
    else if (worse || row->time == TERN_REGRESS_BETTER) {
        const bool shown = every_session_shows(p, row, now, &sessions);
        if (sessions < 2 || !shown)
            snprintf(text, sizeof text, "time: %s in %s, unconfirmed, at %+.1f %%",
                     worse ? "worse" : "better", sessions < 2 ? "one session" : "some sessions",
                     100 * (c->ratio - 1));
    }
    if (!text[0])
        return tern__regress_blame_machine(p, row, now);
    return leave_undecided(p, row, text);
}

bool tern__regress_loads_differ(const tern_regress_report *p)
{
    return fabs(p->base_load - p->load) > 1; /* a whole core, for a minute; not so if one is unknown */
}

/* ---- what could not be measured ---- */

/* Statuses of what is not there, cannot be had here, or was given up. */
static bool says_missing(tern_status status)
{
    return status == TERN_NOT_FOUND || status == TERN_UNAVAILABLE || status == TERN_CANCELLED ||
           status == TERN_IO || status == TERN_STATE;
}

/* What a row takes besides its samples (data, a reference, warm-up, the limit's probes) is less than so many times of what they take. */
static const double around_samples = 10;

/* All that the baseline's session measured of it would have been done in the time that was allowed by far, and now not even that is. */
static bool became_too_slow(const tern_regress_row *row, tern_status status, double allowed_s)
{
    const double took_s = row->base.median_us * 1e-6 * (double)row->base.repeats * row->base.rounds;
    return status == TERN_CANCELLED && was_measured(row) && took_s > 0 && around_samples * took_s < allowed_s;
}

tern_status tern__regress_judge_failure(tern_regress_report *p, tern_regress_row *row, tern_status status,
                                        double allowed_s)
{
    char text[512];
    const bool again = tern__regress_has_changed(row);
    if (status == TERN_OUT_OF_MEMORY)
        return status;
    if (became_too_slow(row, status, allowed_s)) {
        snprintf(text, sizeof text, "time: too slow to be measured, the baseline has %.4g us: %s",
                 row->base.median_us, tern_last_error());
        row->time = TERN_REGRESS_REGRESSION;
        row->state = worst_of(row);
        return tern__regress_set_reason(p, row, text);
    }
    snprintf(text, sizeof text, "%s%s%s", again ? word_of(row->time) : "",
             again ? " at first, and not measured again: " : "", tern_last_error());
    if (!says_missing(status) && was_measured(row))
        row->accuracy = TERN_REGRESS_CRITICAL; /* it was right, and is not any more */
    if (again)
        row->time = TERN_REGRESS_UNDECIDED;
    row->state = worst_of(row);
    return tern__regress_set_reason(p, row, text);
}
