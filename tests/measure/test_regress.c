/* test_regress.c - regressions: planted ones are found, others are not, on simulated machines whose sessions differ; memory, accuracy,
 * machines and missing rows; steps and trends of histories. */
#include <tern/regress.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/alloc.h>
#include <tern/graph.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "gate.h"
#include "harness.h"
#include "measure/bench.h"
#include "measure/occupied.h"
#include "measure/regress.h"
#include "measure/results.h"

/* A machine: noise of samples, and of sessions, which shift all samples of a benchmark alike. */
typedef struct machine {
    uint64_t seed, next;
    double sample_noise, session_noise;
} machine;

static double normal(machine *m)
{
    return tern__random_normal(m->seed, m->next++);
}

enum { SAMPLES = 60 };

static void add_session(machine *m, tern_results *r, int run, const char *name, double us)
{
    double samples[SAMPLES];
    tern_result row = tern_result_default();
    const double session = exp(m->session_noise * normal(m));
    for (int i = 0; i < SAMPLES; i++) {
        const bool late = tern__random_uniform(m->seed ^ 1, m->next) < 0.05;
        samples[i] = us * session * exp(m->sample_noise * normal(m)) * (late ? 1.3 : 1);
    }
    row.suite = "ops", row.family = "f", row.name = name, row.threads = 1, row.run = run;
    row.rounds = SAMPLES, row.samples_us = samples;
    row.peak_bytes = 1000, row.accuracy_error = 1e-8;
    CHECK_OK(tern_results_add(r, &row));
}

static tern_results *new_set(const char *host)
{
    tern_results *r = NULL;
    if (tern_results_create(&r) == TERN_OK)
        tern_results_set_condition(r, "host", host);
    return r;
}

static tern_results *five_sessions(machine *m, double us)
{
    tern_results *r = new_set("here");
    for (int run = 0; run < 5; run++)
        add_session(m, r, run, "a", us);
    return r;
}

/* The state of one benchmark that takes `factor` times as long now. */
static void state_of(machine *m, double factor, double threshold, tern_regress_row *row)
{
    tern_results *base = five_sessions(m, 100), *now = new_set("here");
    tern_regress_report *report = NULL;
    for (int run = 0; run < 2; run++)
        add_session(m, now, run, "a", 100 * factor);
    CHECK_OK(tern_regress_compare(&(tern_regress_options){.threshold = threshold}, base, NULL, now, &report));
    CHECK_EQ(tern_regress_rows(report), 1);
    CHECK_OK(tern_regress_at(report, 0, row));
    row->reason = ""; /* is gone with the report */
    tern_regress_free(report);
    tern_results_free(base);
    tern_results_free(now);
}

typedef struct counts {
    int state[TERN_REGRESS_CRITICAL + 1];
} counts;

static counts try_many(double factor, double threshold, double session_noise, int times)
{
    counts c = {0};
    machine m = {.seed = harness_seed(), .sample_noise = 0.02, .session_noise = session_noise};
    for (int i = 0; i < times; i++) {
        tern_regress_row row = {.state = TERN_REGRESS_MISSING};
        state_of(&m, factor, threshold, &row);
        c.state[row.state]++;
    }
    return c;
}

/* ---- two builds in turns ---- */

enum { PAIRS = 12 };

/* Sessions in turns on a machine that wanders by 12 %, 3 % from one pair to the next: what slows down one slows down its neighbour. */
static void state_of_pairs(machine *m, double factor, double threshold, tern_regress_row *row)
{
    tern_results *old = new_set("here"), *now = new_set("here");
    tern_regress_report *report = NULL;
    double mood = 0.12 * normal(m);
    for (int run = 0; run < PAIRS; run++) {
        mood = 0.97 * mood + 0.03 * normal(m);
        add_session(m, old, run, "a", 100 * exp(mood));
        add_session(m, now, run, "a", 100 * exp(mood) * factor);
    }
    CHECK_OK(tern_regress_pairs(&(tern_regress_options){.threshold = threshold}, old, now, &report));
    CHECK_EQ(tern_regress_rows(report), 1);
    CHECK_OK(tern_regress_at(report, 0, row));
    row->reason = "";
    CHECK_EQ(row->comparison.n_b, PAIRS);
    CHECK_EQ(row->memory, TERN_REGRESS_SAME);
    tern_regress_free(report);
    tern_results_free(old);
    tern_results_free(now);
}

TEST(pairs_see_through_the_moods_of_a_machine)
{
    if (HARNESS_TSAN)
        SKIP("a long simulation on one thread: nothing for TSan to see");
    enum { TIMES = 100 };
    machine m = {.seed = harness_seed(), .sample_noise = 0.02, .session_noise = 0.005};
    const double factors[] = {1, 1.05, 1.2};
    for (int k = 0; k < 3; k++) {
        counts c = {0};
        for (int i = 0; i < TIMES; i++) {
            tern_regress_row row = {.state = TERN_REGRESS_MISSING};
            state_of_pairs(&m, factors[k], 0.02, &row);
            c.state[row.state]++;
        }
        printf("in turns, %g times as slow: %d better, %d same, %d undecided, %d regression, %d critical\n",
               factors[k], c.state[0], c.state[1], c.state[2], c.state[4], c.state[5]);
        const int worse = c.state[TERN_REGRESS_REGRESSION] + c.state[TERN_REGRESS_CRITICAL];
        CHECK(k > 0 ? worse >= 80 : worse + c.state[TERN_REGRESS_FASTER] <= 2);
    }
    tern_results *empty = new_set("here"), *there = new_set("there");
    tern_regress_report *report = NULL;
    add_session(&m, there, 0, "a", 100);
    CHECK_STATUS(tern_regress_pairs(NULL, empty, there, &report), TERN_STATE);
    tern_results_free(empty);
    tern_results_free(there);
}

TEST(equal_work_raises_no_alarm)
{
    if (HARNESS_TSAN)
        SKIP("a long simulation on one thread: nothing for TSan to see");
    enum { TIMES = 200 };
    for (int i = 0; i < 3; i++) {
        const double session_noise = 0.01 * i;
        const counts c = try_many(1, 0.02, session_noise, TIMES);
        printf("session noise %g: %d better, %d same, %d undecided, %d regression, %d critical\n",
               session_noise, c.state[0], c.state[1], c.state[2], c.state[4], c.state[5]);
        /* 2 % of 200 is 4 */
        CHECK(c.state[TERN_REGRESS_REGRESSION] + c.state[TERN_REGRESS_CRITICAL] +
                  c.state[TERN_REGRESS_FASTER] <=
              4);
    }
}

TEST(planted_slowdowns_are_found)
{
    if (HARNESS_TSAN)
        SKIP("a long simulation on one thread: nothing for TSan to see");
    enum { TIMES = 100 };
    counts c = try_many(1.05, 0.02, 0.005, TIMES);
    printf("5 %% slower: %d undecided, %d regression, %d critical\n", c.state[2], c.state[4], c.state[5]);
    CHECK(c.state[TERN_REGRESS_REGRESSION] + c.state[TERN_REGRESS_CRITICAL] >= 80);
    c = try_many(1.2, 0.1, 0.01, TIMES);
    printf("20 %% slower: %d undecided, %d regression, %d critical\n", c.state[2], c.state[4], c.state[5]);
    CHECK(c.state[TERN_REGRESS_REGRESSION] >= 95);
    CHECK_EQ(c.state[TERN_REGRESS_FASTER], 0);
    c = try_many(1.4, 0.1, 0.01, TIMES); /* beyond three thresholds */
    CHECK(c.state[TERN_REGRESS_CRITICAL] >= 95);
    c = try_many(1.05, 0.1, 0.005, TIMES); /* below the threshold */
    CHECK_EQ(c.state[TERN_REGRESS_REGRESSION] + c.state[TERN_REGRESS_CRITICAL], 0);
    c = try_many(1 / 1.2, 0.1, 0.01, TIMES);
    CHECK(c.state[TERN_REGRESS_FASTER] >= 95);
}

TEST(what_sessions_differ_by_is_no_regression)
{
    if (HARNESS_TSAN)
        SKIP("a long simulation on one thread: nothing for TSan to see");
    /* Samples of a session agree within 0.2 %, sessions differ by 5 %: the rank test alone would cry wolf all the time. */
    machine m = {.seed = harness_seed(), .sample_noise = 0.002, .session_noise = 0.05};
    int alarms = 0, significant = 0;
    for (int i = 0; i < 200; i++) {
        tern_regress_row row = {.state = TERN_REGRESS_MISSING};
        state_of(&m, 1, 0.02, &row);
        alarms += row.state >= TERN_REGRESS_REGRESSION;
        significant += row.comparison.p < 0.01;
    }
    printf("%d alarms, %d times p < 0.01\n", alarms, significant);
    CHECK(alarms <= 4);
    CHECK(significant > 50);
}

TEST(a_session_without_others_has_only_its_own_noise)
{
    if (HARNESS_TSAN)
        SKIP("a long simulation on one thread: nothing for TSan to see");
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    tern_results *base = new_set("here"), *now = new_set("here");
    tern_regress_report *report;
    tern_regress_row row;
    add_session(&m, base, 0, "a", 100);
    add_session(&m, now, 0, "a", 150);
    CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, &row));
    /* Nobody knows what sessions differ by: half as much again may be the machine's mood. */
    CHECK(row.runs == 1 && isnan(row.noise_floor) && row.state == TERN_REGRESS_UNDECIDED);
    CHECK(strstr(row.reason, "one session") != NULL);
    CHECK_EQ(tern_regress_worst(report), TERN_REGRESS_UNDECIDED);
    char *text;
    CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_TEXT, &text));
    CHECK(strstr(text, "noise floor unavailable: one session") != NULL && !strstr(text, "nan"));
    tern_string_free(text);
    CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_JSON, &text));
    CHECK(strstr(text, "\"noise_floor\": null") != NULL && !strstr(text, "nan") && !strstr(text, "inf"));
    tern_string_free(text);
    tern_regress_free(report);
    /* A second session of either tells. */
    add_session(&m, now, 1, "a", 150);
    CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, &row));
    CHECK(row.noise_floor > 0);
    tern_regress_free(report);
    tern_results_free(base);
    tern_results_free(now);
}

/* Five sessions of a baseline at 100 us against sessions of `us` (0 ends them), with `repeats` runs in a sample. */
static void compare_stored(const double us[3], int64_t repeats, tern_regress_row *row, char reason[256])
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01, .session_noise = 0.002};
    tern_results *base = five_sessions(&m, 100), *now = new_set("here");
    tern_regress_report *report;
    for (int run = 0; run < 3 && us[run] > 0; run++) {
        add_session(&m, now, run, "a", us[run]);
        now->rows[now->n - 1].repeats = repeats;
    }
    CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, row));
    snprintf(reason, 256, "%s", row->reason);
    row->reason = "";
    tern_regress_free(report);
    tern_results_free(base);
    tern_results_free(now);
}

/* Stored results are looked at once: what one session says is a suspicion, and samples of other sizes say nothing. */
TEST(stored_results_raise_no_alarm_that_nobody_confirms)
{
    char reason[256];
    tern_regress_row row;
    compare_stored((double[]){150, 0, 0}, 1, &row, reason);
    CHECK(row.time == TERN_REGRESS_UNDECIDED && row.state == TERN_REGRESS_UNDECIDED);
    CHECK(strncmp(reason, "time: worse in one session, unconfirmed, at +", 45) == 0);
    compare_stored((double[]){60, 0, 0}, 1, &row, reason);
    CHECK(row.state == TERN_REGRESS_UNDECIDED &&
          strstr(reason, "better in one session, unconfirmed") != NULL);
    compare_stored((double[]){150, 150, 0}, 1, &row, reason);
    CHECK(row.state == TERN_REGRESS_CRITICAL);
    /* Two of three are not all. */
    compare_stored((double[]){200, 200, 100}, 1, &row, reason);
    CHECK(row.state == TERN_REGRESS_UNDECIDED);
    for (int k = 0; k < 2; k++) {
        compare_stored((double[]){150, 150, 0}, k ? 1 : 2, &row, reason);
        CHECK(row.state == TERN_REGRESS_CRITICAL);
        compare_stored((double[]){k ? 150 : 100, k ? 150 : 100, 0}, 3, &row, reason);
        CHECK_EQ(row.state, TERN_REGRESS_UNDECIDED);
        CHECK_STR(reason, "time: undecided: samples of 3 runs cannot be compared with samples of 1");
    }
}

static void compare_shares(double us, double was, double is, const char *isa, tern_regress_state *out)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01, .session_noise = 0.002};
    tern_results *base = five_sessions(&m, 100), *now = new_set("here");
    tern_regress_report *report;
    tern_regress_row row = {0};
    for (int run = 0; run < 2; run++)
        add_session(&m, now, run, "a", us);
    for (int i = 0; i < base->n; i++)
        base->rows[i].limit_share = was, base->rows[i].isa = "avx2";
    for (int i = 0; i < now->n; i++)
        now->rows[i].limit_share = is, now->rows[i].isa = isa;
    CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, &row));
    if (row.state == TERN_REGRESS_UNDECIDED)
        CHECK(strstr(row.reason, "but the machine changed too") != NULL);
    tern_regress_free(report);
    tern_results_free(base);
    tern_results_free(now);
    *out = row.state;
}

static tern_regress_state state_with_shares(double us, double was, double is, const char *isa)
{
    tern_regress_state state = TERN_REGRESS_MISSING;
    compare_shares(us, was, is, isa, &state);
    return state;
}

/* What the limit beside it shows as well is no change of the benchmark, however sure it is. */
TEST(a_machine_that_became_slower_is_no_regression)
{
    CHECK_EQ(state_with_shares(140, 0.8, 0.79, "avx2"), TERN_REGRESS_UNDECIDED);
    CHECK_EQ(state_with_shares(60, 0.8, 0.82, "avx2"), TERN_REGRESS_UNDECIDED);
    CHECK_EQ(state_with_shares(140, 0.8, 0.57, "avx2"), TERN_REGRESS_CRITICAL);
    CHECK_EQ(state_with_shares(60, 0.5, 0.83, "avx2"), TERN_REGRESS_FASTER);
    CHECK_EQ(state_with_shares(140, 0.8, NAN, "avx2"), TERN_REGRESS_CRITICAL);   /* nobody knows */
    CHECK_EQ(state_with_shares(140, 0.8, 0.8, "sse4.2"), TERN_REGRESS_CRITICAL); /* of another limit */
}

TEST(loads_that_differ_are_told)
{
    static const struct {
        const char *was, *is;
        bool told;
    } cases[] = {{"0.10 0.2 0.3", "1.50 0 0", true},
                 {"3.00 1 1", "0.5 1 1", true},
                 {"0.1 0 0", "0.9 0 0", false},
                 {"unavailable: no /proc", "5.0 1 1", false}};
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tern_results *base = five_sessions(&m, 100), *now = new_set("here");
        tern_regress_report *report;
        char *text;
        add_session(&m, now, 0, "a", 100);
        CHECK_OK(tern_results_set_condition(base, "load", cases[i].was));
        CHECK_OK(tern_results_set_condition(now, "load", cases[i].is));
        CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
        CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_TEXT, &text));
        CHECK_EQ(strstr(text, "warning: the machine's load was") != NULL, cases[i].told);
        tern_string_free(text);
        CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_HTML, &text));
        CHECK_EQ(strstr(text, "The machine's load was") != NULL, cases[i].told);
        tern_string_free(text);
        tern_regress_free(report);
        tern_results_free(base);
        tern_results_free(now);
    }
}

/* One row each, with memory and error as given. */
static void compare_numbers(int64_t was, int64_t is, double error_was, double error_is, tern_regress_row *row)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    tern_results *sets[2];
    tern_regress_report *report;
    for (int i = 0; i < 2; i++) {
        double samples[SAMPLES];
        tern_result r = tern_result_default();
        for (int k = 0; k < SAMPLES; k++)
            samples[k] = exp(0.01 * normal(&m));
        r.suite = "ops", r.name = "a", r.rounds = SAMPLES, r.samples_us = samples;
        r.peak_bytes = i ? is : was;
        r.accuracy_error = i ? error_is : error_was;
        sets[i] = new_set("here");
        CHECK_OK(tern_results_add(sets[i], &r));
    }
    CHECK_OK(tern_regress_compare(NULL, sets[0], NULL, sets[1], &report));
    CHECK_OK(tern_regress_at(report, 0, row));
    row->reason = "";
    tern_regress_free(report);
    tern_results_free(sets[0]);
    tern_results_free(sets[1]);
}

TEST(memory_and_accuracy_regress_too)
{
    tern_regress_row row;
    compare_numbers(1000, 1090, 1e-8, 9e-8, &row);
    CHECK(row.memory == TERN_REGRESS_SAME && row.accuracy == TERN_REGRESS_SAME &&
          row.state == TERN_REGRESS_SAME);
    compare_numbers(1000, 1200, 1e-8, 1e-8, &row);
    CHECK(row.memory == TERN_REGRESS_REGRESSION && row.time == TERN_REGRESS_SAME &&
          row.state == TERN_REGRESS_REGRESSION);
    compare_numbers(1000, 1400, 1e-8, 1e-8, &row);
    CHECK(row.memory == TERN_REGRESS_CRITICAL && row.state == TERN_REGRESS_CRITICAL);
    compare_numbers(1000, 500, 1e-8, 1e-8, &row);
    CHECK(row.memory == TERN_REGRESS_FASTER);
    compare_numbers(0, 1, 1e-8, 1e-8, &row);
    CHECK(row.memory == TERN_REGRESS_CRITICAL);
    compare_numbers(-1, 7, NAN, 1, &row);
    CHECK(row.memory == TERN_REGRESS_MISSING && row.accuracy == TERN_REGRESS_MISSING &&
          row.state == TERN_REGRESS_SAME);
    compare_numbers(1, 1, 1e-7, 3e-7, &row);
    CHECK(row.accuracy == TERN_REGRESS_REGRESSION && row.state == TERN_REGRESS_REGRESSION);
    compare_numbers(1, 1, 0, 1e-2, &row);
    CHECK(row.accuracy == TERN_REGRESS_CRITICAL);
}

TEST(other_machines_are_refused_unless_asked_for)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    tern_results *base = five_sessions(&m, 100), *now = new_set("there");
    tern_regress_report *report = NULL;
    char *text;
    add_session(&m, now, 0, "a", 100);
    CHECK_STATUS(tern_regress_compare(NULL, base, NULL, now, &report), TERN_STATE);
    CHECK(strstr(tern_last_error(), "another machine") != NULL && report == NULL);
    CHECK_OK(tern_regress_compare(&(tern_regress_options){.any_host = true}, base, NULL, now, &report));
    CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_TEXT, &text));
    CHECK(strstr(text, "another machine") != NULL);
    tern_string_free(text);
    tern_regress_free(report);
    tern_results_free(base);
    tern_results_free(now);
}

TEST(rows_that_are_gone_are_missing_and_nonsense_is_refused)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    tern_results *base = five_sessions(&m, 100), *now = new_set("here");
    tern_regress_report *report = NULL;
    tern_regress_row row;
    add_session(&m, now, 0, "another", 100);
    CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, &row));
    CHECK(row.state == TERN_REGRESS_MISSING && row.reason[0] != '\0');
    CHECK_EQ(tern_regress_worst(report), TERN_REGRESS_SAME);
    CHECK_STATUS(tern_regress_at(report, 1, &row), TERN_OUT_OF_RANGE);
    tern_regress_free(report);
    const tern_regress_options bad[] = {
        {.threshold = -1}, {.threshold = NAN}, {.threshold = 1e9}, {.critical = 0.5},   {.critical = NAN},
        {.alpha = 1},      {.budget_s = -1},   {.rounds = -1},     {.rounds = 1 << 30},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_STATUS(tern_regress_compare(&bad[i], base, NULL, now, &report), TERN_INVALID_ARGUMENT);
    tern_results_free(base);
    tern_results_free(now);
}

TEST(reports_say_the_same_in_every_format)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    tern_results *base = five_sessions(&m, 100), *now = new_set("here");
    tern_regress_report *report;
    char *text;
    add_session(&m, base, 0, "<b>&\"", 100);
    for (int run = 0; run < 2; run++)
        add_session(&m, now, run, "a", 150);
    add_session(&m, now, 0, "<b>&\"", 100);
    CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_TEXT, &text));
    CHECK(strncmp(text, "critical ", 9) == 0 && strstr(text, "1 critical, 1 same of 2 benchmarks") != NULL);
    tern_string_free(text);
    CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_JSON, &text));
    CHECK(strstr(text, "\"state\": \"critical\"") != NULL && strstr(text, "<b>&\\\"") != NULL);
    tern_string_free(text);
    CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_HTML, &text));
    CHECK(strstr(text, "&lt;b&gt;&amp;&quot;") != NULL && !strstr(text, "<b>") &&
          strstr(text, "</html>") != NULL);
    CHECK(!strstr(text, "http") && !strstr(text, "src="));
    tern_string_free(text);
    CHECK_STATUS(tern_regress_write(report, (tern_regress_format)9, &text), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_regress_state_name((tern_regress_state)99), "unknown");
    tern_regress_free(report);
    tern_results_free(base);
    tern_results_free(now);
}

/* ---- without memory ---- */

static tern_status report_in_every_format(const tern_results *base, const tern_results *now)
{
    tern_regress_report *report;
    TERN_TRY(tern_regress_compare(NULL, base, base, now, &report));
    tern_status status = TERN_OK;
    for (int f = TERN_REGRESS_AS_TEXT; f <= TERN_REGRESS_AS_HTML && status == TERN_OK; f++) {
        char *text;
        status = tern_regress_write(report, (tern_regress_format)f, &text);
        if (status == TERN_OK)
            tern_string_free(text);
    }
    tern_regress_free(report);
    return status;
}

TEST(every_allocation_may_fail)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    tern_results *base = five_sessions(&m, 100), *now = new_set("here");
    tern_alloc_stats before, after;
    long n = 0;
    add_session(&m, now, 0, "a", 150);
    tern_alloc_get_stats(&before);
    for (bool fired = true; fired;) {
        gate g = {.countdown = ++n};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = report_in_every_format(base, now);
        tern_alloc_set_gate(NULL, NULL);
        fired = g.fired;
        CHECK_STATUS(status, fired ? TERN_OUT_OF_MEMORY : TERN_OK);
        tern_alloc_get_stats(&after);
        CHECK_EQ(after.live_bytes, before.live_bytes);
    }
    CHECK(n > 20);
    tern_results_free(base);
    tern_results_free(now);
}

/* ---- histories ---- */

TEST(steps_are_found_where_they_are_and_which_way_they_go)
{
    if (HARNESS_TSAN)
        SKIP("a long simulation on one thread: nothing for TSan to see");
    const uint64_t seed = harness_seed();
    int found = 0, false_alarms = 0;
    enum { SERIES = 100, LENGTH = 30 };
    for (int s = 0; s < SERIES; s++) {
        double x[LENGTH];
        tern_history h;
        const double factor = s % 2 ? 1.1 : 1 / 1.1;
        const int at = 8 + s % 14;
        for (int i = 0; i < LENGTH; i++)
            x[i] = 50 * exp(0.02 * tern__random_normal(seed, (uint64_t)(s * LENGTH + i)));
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        false_alarms += h.n_changes > 0;
        for (int i = at; i < LENGTH; i++)
            x[i] *= factor;
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        for (int k = 0; k < h.n_changes; k++)
            found += abs(h.changes[k].at - at) <= 1 && (h.changes[k].ratio > 1) == (factor > 1);
    }
    printf("steps of 10 %% found: %d of %d; in series without any: %d\n", found, SERIES, false_alarms);
    CHECK(found >= 85); /* about 93, with a deviation of 2.5 */
    CHECK(false_alarms <= 4);
}

/* A machine that keeps its mood: each session resembles the one before it (an autoregressive series, phi 0.5). */
TEST(moods_of_a_machine_are_no_steps)
{
    if (HARNESS_TSAN)
        SKIP("a long simulation on one thread: nothing for TSan to see");
    const uint64_t seed = harness_seed();
    enum { SERIES = 300, LENGTH = 30, BEFORE = 20 };
    int steps = 0, trends = 0;
    for (int s = 0; s < SERIES; s++) {
        double x[LENGTH], mood = 0;
        tern_history h;
        for (int i = -BEFORE; i < LENGTH; i++) {
            mood = 0.5 * mood + tern__random_normal(seed ^ 7, (uint64_t)(s * (LENGTH + BEFORE) + i + BEFORE));
            if (i >= 0)
                x[i] = 50 * exp(0.02 * mood);
        }
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        steps += h.n_changes > 0;
        trends += h.trend_p < 0.01;
    }
    printf("of %d series without a step: %d steps, %d trends\n", SERIES, steps, trends);
    CHECK(steps <= 15); /* 1 %, as it should be; 10 % as if sessions were independent */
    CHECK(trends <= 15);
}

TEST(trends_have_the_right_sign)
{
    const uint64_t seed = harness_seed();
    int right = 0, alarms = 0;
    enum { SERIES = 100, LENGTH = 20 };
    for (int s = 0; s < SERIES; s++) {
        double x[LENGTH];
        tern_history h;
        const double each = s % 2 ? 0.01 : -0.01;
        for (int i = 0; i < LENGTH; i++)
            x[i] = 50 * exp(0.02 * tern__random_normal(seed, (uint64_t)(s * LENGTH + i)));
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        alarms += h.trend_p < 0.01;
        for (int i = 0; i < LENGTH; i++)
            x[i] *= exp(each * i);
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        right += h.trend_p < 0.01 && (h.trend > 0) == (each > 0) && fabs(h.trend - each) < 0.005;
    }
    CHECK(right >= 95);
    CHECK(alarms <= 5);
    tern_history h = {.n = 77};
    const double some[] = {3, 2, 0};
    CHECK_STATUS(tern_history_read(some, 3, &h), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_history_read(some, 0, &h), TERN_INVALID_ARGUMENT);
    CHECK_EQ(h.n, 77);
    CHECK_OK(tern_history_read(some, 2, &h));
    CHECK(h.n == 2 && h.noise > 0 && h.n_changes == 0 && h.trend == 0);
}

/* ---- measured again ---- */

static void collect(void *user, const tern_result *row)
{
    CHECK_OK(tern_results_add(user, row));
}

TEST(benchmarks_are_measured_again)
{
    const int one[] = {1};
    const tern_bench_options o = {
        .family = "rows", .n_threads = 1, .threads = one, .budget_s = 5e-3, .memory = 1 << 16};
    tern_results *base;
    tern_regress_report *report;
    tern_regress_row row;
    tern_result strange = tern_result_default();
    CHECK_OK(tern_results_create(&base));
    CHECK_OK(tern_results_note_conditions(base));
    tern_status status = tern_bench_run(&o, collect, base);
    CHECK(status == TERN_OK || status == TERN_STATE);
    const int rows = tern_results_count(base);
    CHECK(rows > 3);
    strange.suite = "ops", strange.family = "rows", strange.name = "of another version", strange.threads = 1;
    CHECK_OK(tern_results_add(base, &strange));
    CHECK_OK(tern_regress_run(&(tern_regress_options){.budget_s = 0.02}, &o, base, NULL, &report));
    CHECK_EQ(tern_regress_rows(report), rows + 1);
    for (int i = 0; i < rows; i++) {
        CHECK_OK(tern_regress_at(report, i, &row));
        CHECK(row.comparison.n_b > 0 && row.now.rounds == row.comparison.n_b &&
              row.state != TERN_REGRESS_MISSING);
        CHECK(row.memory == TERN_REGRESS_SAME && row.accuracy == TERN_REGRESS_SAME);
    }
    CHECK_OK(tern_regress_at(report, rows, &row));
    CHECK(row.state == TERN_REGRESS_MISSING && strstr(row.reason, "no suite") != NULL);
    CHECK(tern_results_count(tern_regress_results(report)) >= rows);
    tern_results_free(base); /* the report keeps what it needs */
    CHECK_OK(tern_regress_at(report, 0, &row));
    CHECK_STR(row.base.name, "softmax");
    tern_regress_free(report);
}

/* ---- planted cells ---- */

/* What is wrong with the suite's one cell. */
static struct {
    tern_status ready;
    double run_s;
    double share; /* of the limit in the baseline; 0: it has none */
    int runs;     /* that there were */
} plan;

static tern_status plant(const tern__bench *bench, int i, tern__cell *cell)
{
    (void)bench;
    cell->row.family = "f", cell->row.name = "a";
    cell->shape[0] = '\0';
    return i == 0 ? TERN_OK : TERN_OUT_OF_RANGE;
}

static tern_status plant_data(int i, tern__cell *cell)
{
    (void)i;
    cell->state = cell;
    return TERN_OK;
}

static tern_status plant_failure(tern__cell *cell, int threads)
{
    (void)threads;
    cell->limited = plan.share > 0;
    cell->work = (tern__limit_work){.kind = TERN_LIMIT_FMA, .operations = 1e6};
    return plan.ready == TERN_OK ? TERN_OK
                                 : tern__fail(plan.ready, "bench: a differs from its reference: planted");
}

static tern_status plant_run(void *state)
{
    (void)state;
    plan.runs++;
    const uint64_t end = tern__now_ns() + (uint64_t)(plan.run_s * 1e9);
    while (tern__now_ns() < end)
        ;
    return TERN_OK;
}

static void plant_close(tern__cell *cell)
{
    (void)cell;
}

/* What others have of the machine, whatever they have of the one that the tests run on. */
static struct {
    double waited;  /* share of the time */
    int readings;   /* so far */
    int quiet_from; /* from this one on nobody waits; 0: never */
    tern__moment last;
} others;

static tern__moment tell_moment(void *user)
{
    (void)user;
    tern__moment *m = &others.last;
    const bool quiet = others.quiet_from > 0 && ++others.readings >= others.quiet_from;
    const uint64_t second = 1000000000;
    m->now_ns += second;
    m->waited_ns += quiet ? 0 : (uint64_t)(others.waited * (double)second);
    m->waits_known = true;
    return *m;
}

typedef struct planted {
    tern_regress_row row;
    tern_regress_state worst;
    int kept; /* rows that were measured */
    char reason[256];
} planted;

/* The row of a baseline of 100 us a run, measured again with the planted cell. */
static void measure_planted(tern_status ready, double run_s, double timeout_s, planted *out)
{
    static const tern__suite suite = {.name = "ops",
                                      .what = "",
                                      .describe = plant,
                                      .prepare = plant_data,
                                      .ready = plant_failure,
                                      .run = plant_run,
                                      .close = plant_close};
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    const int one[] = {1};
    tern_results *base = NULL;
    tern_regress_report *p = NULL;
    tern__bench bench = {0};
    plan.ready = ready, plan.run_s = run_s, plan.runs = 0;
    CHECK_OK(tern_results_create(&base));
    for (int run = 0; run < 5; run++)
        add_session(&m, base, run, "a", 100);
    for (int i = 0; i < 5; i++) {
        base->rows[i].device = "cpu";
        base->rows[i].limit_share = plan.share > 0 ? plan.share : NAN;
    }
    CHECK_OK(tern__bench_open(&(tern_bench_options){.n_threads = 1, .threads = one, .timeout_s = timeout_s},
                              &bench));
    bench.suite = &suite;
    CHECK_OK(tern__regress_begin(&(tern_regress_options){.budget_s = 60}, base, NULL, &p));
    tern__moment_set_source(tell_moment, NULL);
    tern_status status = tern__regress_measure_on(p, &bench);
    tern__moment_set_source(NULL, NULL);
    CHECK_OK(tern__regress_finish(p, status, &p));
    tern__bench_close(&bench);
    tern_results_free(base);
    CHECK_OK(tern_regress_at(p, 0, &out->row));
    snprintf(out->reason, sizeof out->reason, "%s", out->row.reason);
    out->worst = tern_regress_worst(p);
    out->kept = tern_results_count(tern_regress_results(p));
    tern_regress_free(p);
}

TEST(a_cell_that_is_wrong_now_is_critical)
{
    planted p = {.worst = TERN_REGRESS_SAME};
    measure_planted(TERN_INTERNAL, 1e-4, 0, &p);
    CHECK_EQ(p.worst, TERN_REGRESS_CRITICAL);
    CHECK(p.row.state == TERN_REGRESS_CRITICAL && p.row.accuracy == TERN_REGRESS_CRITICAL &&
          p.row.time == TERN_REGRESS_MISSING);
    CHECK(strstr(p.reason, "differs from its reference: planted") != NULL);
    /* What cannot be had here is no regression. */
    measure_planted(TERN_UNAVAILABLE, 1e-4, 0, &p);
    CHECK_EQ(p.worst, TERN_REGRESS_SAME);
    CHECK(p.row.state == TERN_REGRESS_MISSING && p.row.accuracy == TERN_REGRESS_MISSING &&
          strstr(p.reason, "planted") != NULL);
    measure_planted(TERN_OK, 3e-4, 0, &p);
    CHECK_EQ(p.worst, TERN_REGRESS_CRITICAL);
    CHECK(p.row.time == TERN_REGRESS_CRITICAL && p.row.accuracy == TERN_REGRESS_MISSING);
    CHECK_EQ(p.kept, 1); /* measured twice, but one session of the history */
}

/* What is slower again is timed in turns with its limit. */
TEST(a_cell_that_keeps_its_share_of_the_limit_is_not_slower)
{
    planted p;
    plan.share = 1e-6; /* less than any machine has now: it must have been slower then */
    measure_planted(TERN_OK, 3e-4, 0, &p);
    CHECK(p.row.time == TERN_REGRESS_UNDECIDED && p.row.now.limit_share > 0);
    CHECK(strstr(p.reason, "but the machine changed too") != NULL);
    plan.share = 1e3;
    measure_planted(TERN_OK, 3e-4, 0, &p);
    CHECK_EQ(p.row.time, TERN_REGRESS_CRITICAL);
    plan.share = 0;
}

/* Slower while others had the machine is no proof; slower when they have gone is. */
TEST(a_cell_is_slower_only_on_a_machine_of_its_own)
{
    planted p;
    memset(&others, 0, sizeof others);
    others.waited = 0.4;
    measure_planted(TERN_OK, 3e-4, 0, &p);
    CHECK(p.row.time == TERN_REGRESS_UNDECIDED && p.row.state == TERN_REGRESS_UNDECIDED);
    CHECK_EQ(p.worst, TERN_REGRESS_UNDECIDED);
    CHECK(strstr(p.reason, "but other programs had the machine: 0.40 of its threads waited for a core") !=
          NULL);
    const int patient = plan.runs;
    others.quiet_from = 4; /* the second look's end: its samples count */
    others.readings = 0;
    measure_planted(TERN_OK, 3e-4, 0, &p);
    CHECK_EQ(p.row.time, TERN_REGRESS_CRITICAL);
    CHECK(plan.runs < patient);                  /* it did not look a third time */
    others.waited = 0.04, others.quiet_from = 0; /* less than half of the threshold */
    measure_planted(TERN_OK, 3e-4, 0, &p);
    CHECK_EQ(p.row.time, TERN_REGRESS_CRITICAL);
    /* What is not slower needs no excuse. */
    others.waited = 0.4;
    measure_planted(TERN_OK, 2e-5, 0, &p);
    CHECK_EQ(p.row.time, TERN_REGRESS_FASTER);
    others.waited = 0;
}

TEST(a_cell_that_takes_too_long_is_given_up)
{
    planted p = {.worst = TERN_REGRESS_CRITICAL};
    measure_planted(TERN_OK, 0.1, 0.05, &p);
    CHECK_EQ(p.worst, TERN_REGRESS_SAME);
    CHECK(p.row.state == TERN_REGRESS_MISSING && strstr(p.reason, "given up after ") != NULL);
    CHECK_EQ(plan.runs, 1); /* the first was too long already */
}

/* The same of results that were measured elsewhere: what went wrong is critical, what could not be had is missing. */
TEST(results_that_went_wrong_are_critical)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    const char *const errors[] = {"bench: a differs from its reference", "unavailable: given up after 60 s"};
    const tern_regress_state states[] = {TERN_REGRESS_CRITICAL, TERN_REGRESS_MISSING};
    for (int i = 0; i < 2; i++) {
        tern_results *base = five_sessions(&m, 100), *now = new_set("here");
        tern_regress_report *report = NULL;
        tern_regress_row row;
        tern_result wrong = tern_result_default();
        wrong.suite = "ops", wrong.family = "f", wrong.name = "a", wrong.threads = 1, wrong.error = errors[i];
        CHECK_OK(tern_results_add(now, &wrong));
        CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
        CHECK_OK(tern_regress_at(report, 0, &row));
        CHECK(row.state == states[i] && strstr(row.reason, errors[i]) != NULL);
        CHECK_EQ(tern_regress_worst(report), i == 0 ? TERN_REGRESS_CRITICAL : TERN_REGRESS_SAME);
        tern_regress_free(report);
        /* What went wrong before is no news. */
        CHECK_OK(tern_regress_compare(NULL, now, NULL, now, &report));
        CHECK_OK(tern_regress_at(report, 0, &row));
        CHECK_EQ(row.state, TERN_REGRESS_MISSING);
        tern_regress_free(report);
        tern_results_free(base);
        tern_results_free(now);
    }
}

/* ---- looks and types ---- */

TEST(too_few_pairs_are_said_to_be_too_few)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.001};
    tern_results *old = new_set("here"), *now = new_set("here");
    tern_regress_report *report = NULL;
    tern_regress_row row;
    CHECK_EQ(tern_regress_pairs_needed(NULL, 1), 8); /* 2 / 2^8 < 1 % */
    CHECK_EQ(tern_regress_pairs_needed(NULL, 2), 9);
    CHECK_EQ(tern_regress_pairs_needed(&(tern_regress_options){.spend = 0.5}, 2), 10);
    CHECK_EQ(tern_regress_pairs_needed(&(tern_regress_options){.alpha = 0.4}, 1), 6);
    CHECK_EQ(tern_regress_pairs_needed(&(tern_regress_options){.alpha = -1}, 1), 0);
    for (int run = 0; run < 9; run++)
        for (int k = 0; k < 2; k++) {
            if (run == 8 && k == 0) { /* eight pairs */
                CHECK_OK(tern_regress_pairs(NULL, old, now, &report));
                CHECK_OK(tern_regress_at(report, 0, &row));
                CHECK(row.state == TERN_REGRESS_UNDECIDED && strstr(row.reason, "it takes 9") != NULL);
                tern_regress_free(report);
            }
            add_session(&m, old, run, k ? "b" : "a", 100);
            add_session(&m, now, run, k ? "b" : "a", 200);
        }
    CHECK_OK(tern_regress_pairs(NULL, old, now, &report));
    CHECK_OK(tern_regress_at(report, 0, &row));
    CHECK_EQ(row.state, TERN_REGRESS_CRITICAL);
    tern_regress_free(report);
    tern_results_free(old);
    tern_results_free(now);
}

TEST(the_chance_of_a_false_alarm_is_shared_out)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    tern_results *base = new_set("here"), *now = new_set("here");
    tern_regress_report *report = NULL;
    tern_regress_row row;
    static const char *const names[] = {"a", "b", "c", "not measured now"};
    for (int i = 0; i < 4; i++)
        add_session(&m, base, 0, names[i], 100);
    for (int i = 0; i < 3; i++)
        add_session(&m, now, 0, names[i], 100);
    CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, &row));
    CHECK(fabs(row.comparison.alpha - 0.01 / 3) < 1e-12);
    tern_regress_free(report);
    CHECK_OK(
        tern_regress_compare(&(tern_regress_options){.alpha = 0.03, .spend = 0.5}, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, &row));
    CHECK(fabs(row.comparison.alpha - 0.005) < 1e-12);
    tern_regress_free(report);
    CHECK_STATUS(tern_regress_compare(&(tern_regress_options){.spend = 1.5}, base, NULL, now, &report),
                 TERN_INVALID_ARGUMENT);
    tern_results_free(base);
    tern_results_free(now);
}
