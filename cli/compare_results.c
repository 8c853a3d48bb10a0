/* compare_results.c - see compare_results.h. */
#include "compare_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/regress.h>
#include <tern/results.h>

#include "baselines.h"
#include "bench_suite.h"
#include "json.h"
#include "sessions.h"
#include "table.h"
#include "term.h"

typedef struct tally {
    int rows, better, worse, same, undecided;
    double log_sum; /* of B's speed-ups where one was found */
} tally;

void add_recommendation(text *t, const tern_comparison *c)
{
    const bool b_wins = c->verdict == TERN_VERDICT_FASTER;
    switch (c->verdict) {
    case TERN_VERDICT_FASTER:
    case TERN_VERDICT_SLOWER:
        text_addf(t, "use %c: it is %.2f times as fast (%.2f to %.2f)", b_wins ? 'B' : 'A',
                  b_wins ? 1 / c->ratio : c->ratio, b_wins ? 1 / c->ratio_high : c->ratio_low,
                  b_wins ? 1 / c->ratio_low : c->ratio_high);
        return;
    case TERN_VERDICT_SAME:
        text_add(t, "either: the difference is below the threshold");
        return;
    case TERN_VERDICT_UNDECIDED:
        break;
    }
    if (isnan(c->ratio_low))
        text_addf(t, "no answer: %d and %d samples are too few", c->n_a, c->n_b);
    else if (isinf(c->noise))
        text_addf(t, "no answer: B takes %.3f to %.3f of A's time, and nobody knows what sessions differ by",
                  c->ratio_low, c->ratio_high);
    else {
        text_addf(t, "no answer: B takes %.3f to %.3f of A's time, noise is ", c->ratio_low, c->ratio_high);
        /* of so few sessions the digits would mean nothing */
        text_addf(t, c->noise > 10 ? "above 1000 %%" : "%.3g %%", c->noise * 100);
        text_add(t, "; more samples may help");
    }
}

/* What the report makes of the times: samples may be surer of a difference than it is, which knows of sessions and of the machine. */
static tern_verdict verdict_of(const tern_regress_row *row)
{
    switch (row->time) {
    case TERN_REGRESS_BETTER:
        return TERN_VERDICT_FASTER;
    case TERN_REGRESS_SAME:
        return TERN_VERDICT_SAME;
    case TERN_REGRESS_REGRESSION:
    case TERN_REGRESS_CRITICAL:
        return TERN_VERDICT_SLOWER;
    case TERN_REGRESS_UNDECIDED:
    case TERN_REGRESS_MISSING:
        break;
    }
    return TERN_VERDICT_UNDECIDED;
}

static void add_advice(text *t, const tern_regress_row *row)
{
    if (verdict_of(row) == row->comparison.verdict)
        add_recommendation(t, &row->comparison);
    else
        text_addf(t, "no answer: %s", row->reason);
}

static void count(tally *t, const tern_regress_row *row)
{
    const tern_comparison *c = &row->comparison;
    const tern_verdict verdict = verdict_of(row);
    t->rows++;
    t->better += verdict == TERN_VERDICT_FASTER;
    t->worse += verdict == TERN_VERDICT_SLOWER;
    t->same += verdict == TERN_VERDICT_SAME;
    t->undecided += verdict == TERN_VERDICT_UNDECIDED;
    if (verdict == TERN_VERDICT_FASTER || verdict == TERN_VERDICT_SLOWER)
        t->log_sum -= log(c->ratio);
}

/* ---- saying so ------------------------------------------------------------------------------------------------- */

static void add_to_table(table *t, const tern_regress_row *row)
{
    const tern_result *key = &row->base;
    const tern_comparison *c = &row->comparison;
    text cell = {0};
    char operands[640];
    text_addf(&cell, "%s/%s %s", key->family, key->name, bench_operands(key, operands, sizeof operands));
    text safe = {0};
    text_add_safe(&safe, text_string(&cell));
    table_add(t, text_string(&safe));
    table_addf(t, "%d", key->threads);
    table_add(t, tern_time_text(c->median_a * 1e9, operands, sizeof operands));
    table_add(t, tern_time_text(c->median_b * 1e9, operands, sizeof operands));
    table_addf(t, "%.3f", 1 / c->ratio);
    if (isnan(c->ratio_low))
        table_add(t, "unavailable");
    else
        table_addf(t, "%.3f to %.3f", 1 / c->ratio_high, 1 / c->ratio_low);
    text_clear(&cell);
    add_advice(&cell, row);
    table_add_safe(t, text_string(&cell));
    text_free(&cell);
    text_free(&safe);
}

static void add_to_json(json *j, const tern_regress_row *row)
{
    const tern_result *key = &row->base;
    const tern_comparison *c = &row->comparison;
    text advice = {0};
    add_advice(&advice, row);
    json_object(j, NULL);
    json_string(j, "suite", key->suite);
    json_string(j, "family", key->family);
    json_string(j, "name", key->name);
    json_string(j, "shape", key->shape);
    json_string(j, "dtype", key->dtype);
    json_int(j, "threads", key->threads);
    json_string(j, "verdict", tern_verdict_name(verdict_of(row)));
    json_string(j, "recommendation", text_string(&advice));
    json_string(j, "reason", row->reason);
    json_double(j, "median_a_us", c->median_a * 1e6);
    json_double(j, "median_b_us", c->median_b * 1e6);
    json_double(j, "speedup", 1 / c->ratio);
    json_double(j, "speedup_low", 1 / c->ratio_high);
    json_double(j, "speedup_high", 1 / c->ratio_low);
    json_double(j, "p", c->p);
    json_double(j, "noise", c->noise);
    json_int(j, "samples_a", c->n_a);
    json_int(j, "samples_b", c->n_b);
    json_end(j);
    text_free(&advice);
}

static void print_summary(const tally *t, bool in_turns)
{
    const int found = t->better + t->worse;
    printf("\nB is faster in %d, slower in %d, the same in %d, undecided in %d", t->better, t->worse, t->same,
           t->undecided);
    if (found > 0)
        printf("; where it differs it is %.3f times as fast (geometric mean)", exp(t->log_sum / found));
    putchar('\n');
    if (in_turns)
        puts("A and B are medians of all sessions; speed-ups are of neighbours, one pair of sessions at a "
             "time.");
}

/* Every benchmark that both have. */
static int print_report(const args *a, const tern_regress_report *report, bool in_turns)
{
    static const table_column columns[] = {
        {"benchmark", false, true, STYLE_NAME},
        {"threads", true, false, STYLE_NONE},
        {"A", true, false, STYLE_NONE},
        {"B", true, false, STYLE_NONE},
        {"speed-up", true, false, STYLE_BOLD},
        {"95 % interval", true, false, STYLE_NONE},
        {"recommendation", false, false, STYLE_NONE},
    };
    table t = table_make(columns, 7);
    json j = {0};
    tally sum = {0};
    tern_regress_row row;
    json_array(&j, NULL);
    for (int i = 0; tern_regress_at(report, i, &row) == TERN_OK; i++) {
        if (row.comparison.n_b > 0) {
            count(&sum, &row);
            add_to_table(&t, &row);
            add_to_json(&j, &row);
        }
        if (row.accuracy >= TERN_REGRESS_REGRESSION)
            warn("B computes %s less accurately than A: %s", row.base.name, row.reason);
    }
    json_end(&j);
    const bool as_json = sum.rows > 0 && args_has(a, "json"), as_table = sum.rows > 0 && !as_json;
    if (as_json)
        json_print(&j);
    else
        text_free(&j.out);
    if (as_table) {
        table_print(&t, 0, true);
        print_summary(&sum, in_turns);
    } else {
        table_free(&t);
    }
    return sum.rows > 0 ? EXIT_DONE : fail("A and B have no benchmark with samples in common");
}

/* How many sessions it takes to find any difference in so many benchmarks; *rows is that number. */
static int sessions_needed(const tern_regress_options *o, const tern_regress_report *report, int *rows)
{
    tern_regress_row row;
    *rows = 0;
    for (int i = 0; tern_regress_at(report, i, &row) == TERN_OK; i++)
        *rows += row.comparison.n_b > 0;
    return tern_regress_pairs_needed(o, *rows);
}

static tern_regress_options options_of(const tern_compare_options *o)
{
    return (tern_regress_options){
        .threshold = o->threshold > 0 ? o->threshold : 0.05, .any_host = true, .seed = o->seed};
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static void warn_of_hosts(const tern_results *x, const tern_results *y)
{
    const char *a = tern_results_condition(x, "host"), *b = tern_results_condition(y, "host");
    if (a && b && strcmp(a, b) != 0)
        warn("A and B are of different machines: the difference is theirs as well");
}

int compare_files(const args *a, const tern_compare_options *o)
{
    tern_results *sets[2] = {NULL, NULL};
    int code = EXIT_DONE;
    for (int i = 0; i < 2 && code == EXIT_DONE; i++)
        if (!results_load(args_operand(a, i), &sets[i]))
            code = EXIT_FAILED;
    if (code == EXIT_DONE) {
        warn_of_hosts(sets[0], sets[1]);
        const tern_regress_options options = options_of(o);
        tern_regress_report *report = NULL;
        code = tern_regress_compare(&options, sets[0], NULL, sets[1], &report) == TERN_OK
                   ? print_report(a, report, false)
                   : fail_status(NULL);
        tern_regress_free(report);
    }
    tern_results_free(sets[0]);
    tern_results_free(sets[1]);
    return code;
}

/* ---- programs -------------------------------------------------------------------------------------------------- */

/* Stopped after so many that no difference could be found, it has no answer, which a table alone does not say. */
static int fail_stopped(const sessions *s, int needed, int rows)
{
    if (s->pairs == 0 || s->pairs >= needed)
        return sessions_fail_stopped(s);
    return fail(
        "stopped after %d pair%s of sessions, too few to tell anything of %d benchmark%s: it takes %d",
        s->pairs, s->pairs == 1 ? "" : "s", rows, rows == 1 ? "" : "s", needed);
}

/* The first pair tells how many benchmarks there are, and so whether as many as wanted can tell anything. */
static int run_pairs(const tern_regress_options *o, int most, sessions *s, tern_regress_report **report)
{
    int rows = 0, needed = 0;
    for (int pairs = 1; pairs <= most; pairs = pairs < most ? most : most + 1) {
        const int code = sessions_run(s, pairs, most);
        if (code != EXIT_DONE && !(s->stopped && s->pairs > 0))
            return s->stopped ? sessions_fail_stopped(s) : code;
        tern_regress_free(*report);
        *report = NULL;
        if (tern_regress_pairs(o, s->sets[0], s->sets[1], report) != TERN_OK)
            return fail_status(NULL);
        needed = sessions_needed(o, *report, &rows);
        if (s->stopped)
            return fail_stopped(s, needed, rows);
        if (most < needed)
            return fail("%d session%s can never tell anything of %d benchmark%s; --rounds %d can", most,
                        most == 1 ? "" : "s", rows, rows == 1 ? "" : "s", needed);
    }
    return EXIT_DONE;
}

int compare_programs(const args *a, const tern_compare_options *o)
{
    const tern_regress_options options = options_of(o);
    sessions s;
    tern_regress_report *report = NULL;
    int code = sessions_open(args_operand(a, 0), args_operand(a, 1), args_value(a, "bench"), &s);
    if (code == EXIT_DONE)
        code = run_pairs(&options, o->rounds > 0 ? o->rounds : 12, &s, &report);
    sessions_warn(&s);
    if (report && (code == EXIT_DONE || s.stopped)) {
        const int printed = print_report(a, report, true);
        code = code == EXIT_DONE ? printed : code;
    }
    tern_regress_free(report);
    sessions_close(&s);
    return code;
}
