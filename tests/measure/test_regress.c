/* test_regress.c - regressions: planted ones are found, others are not, on simulated machines whose sessions differ; memory, accuracy,
 * machines and missing rows. */
#include <tern/regress.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/alloc.h>

#include "gate.h"
#include "harness.h"
#include "measure/compare/regress.h"
#include "measure/results/results.h"
#include "sessions.h"

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
    if (harness_every() > 1)
        SKIP("a long simulation on one thread: a fast build makes it");
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
        CHECK(k > 0 ? worse >= 80 : worse + c.state[TERN_REGRESS_BETTER] <= 2);
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
    if (harness_every() > 1)
        SKIP("a long simulation on one thread: a fast build makes it");
    enum { TIMES = 200 };
    for (int i = 0; i < 3; i++) {
        const double session_noise = 0.01 * i;
        const counts c = try_many(1, 0.02, session_noise, TIMES);
        printf("session noise %g: %d better, %d same, %d undecided, %d regression, %d critical\n",
               session_noise, c.state[0], c.state[1], c.state[2], c.state[4], c.state[5]);
        /* 2 % of 200 is 4 */
        CHECK(c.state[TERN_REGRESS_REGRESSION] + c.state[TERN_REGRESS_CRITICAL] +
                  c.state[TERN_REGRESS_BETTER] <=
              4);
    }
}

TEST(planted_slowdowns_are_found)
{
    if (harness_every() > 1)
        SKIP("a long simulation on one thread: a fast build makes it");
    enum { TIMES = 100 };
    counts c = try_many(1.05, 0.02, 0.005, TIMES);
    printf("5 %% slower: %d undecided, %d regression, %d critical\n", c.state[2], c.state[4], c.state[5]);
    CHECK(c.state[TERN_REGRESS_REGRESSION] + c.state[TERN_REGRESS_CRITICAL] >= 80);
    c = try_many(1.2, 0.1, 0.01, TIMES);
    printf("20 %% slower: %d undecided, %d regression, %d critical\n", c.state[2], c.state[4], c.state[5]);
    CHECK(c.state[TERN_REGRESS_REGRESSION] >= 95);
    CHECK_EQ(c.state[TERN_REGRESS_BETTER], 0);
    c = try_many(1.4, 0.1, 0.01, TIMES); /* beyond three thresholds */
    CHECK(c.state[TERN_REGRESS_CRITICAL] >= 95);
    c = try_many(1.05, 0.1, 0.005, TIMES); /* below the threshold */
    CHECK_EQ(c.state[TERN_REGRESS_REGRESSION] + c.state[TERN_REGRESS_CRITICAL], 0);
    c = try_many(1 / 1.2, 0.1, 0.01, TIMES);
    CHECK(c.state[TERN_REGRESS_BETTER] >= 95);
}

TEST(what_sessions_differ_by_is_no_regression)
{
    if (harness_every() > 1)
        SKIP("a long simulation on one thread: a fast build makes it");
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
    CHECK(strstr(text, "unavailable: the baseline has one") != NULL && !strstr(text, "nan"));
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
    CHECK_EQ(state_with_shares(60, 0.5, 0.83, "avx2"), TERN_REGRESS_BETTER);
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
    CHECK(row.memory == TERN_REGRESS_BETTER);
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

static void add_failure(tern_results *r, int run, const char *error)
{
    tern_result row = tern_result_default();
    row.suite = "ops", row.family = "f", row.name = "a", row.threads = 1, row.run = run;
    row.error = error;
    CHECK_OK(tern_results_add(r, &row));
}

/* Equal sessions, but for what `spoil` does to the one at `place`; in pairs or not. */
static void compare_spoilt(void (*spoil)(tern_results *now, int place), int place, bool paired,
                           tern_regress_row *row, char reason[256])
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01, .session_noise = 0.002};
    tern_results *base = new_set("here"), *now = new_set("here");
    tern_regress_report *report;
    for (int run = 0; run < PAIRS; run++) {
        add_session(&m, base, run, "a", 100);
        add_session(&m, now, run, "a", 100);
        base->rows[run].allocations = 0;
    }
    spoil(now, place);
    CHECK_OK(paired ? tern_regress_pairs(NULL, base, now, &report)
                    : tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, row));
    snprintf(reason, 256, "%s", row->reason);
    row->reason = "";
    tern_regress_free(report);
    tern_results_free(base);
    tern_results_free(now);
}

static void spoil_result(tern_results *now, int place)
{
    tern_result *row = &now->rows[place];
    row->rounds = 0;
    row->samples_us = NULL;
    row->median_us = row->accuracy_error = NAN;
    row->error = "bench: a differs from its reference";
}

static void spoil_accuracy(tern_results *now, int place)
{
    now->rows[place].accuracy_error = 0.5;
}

static void spoil_allocations(tern_results *now, int place)
{
    for (int i = 0; i < now->n; i++)
        now->rows[i].allocations = i == place ? 3 : 0;
}

static void spoil_memory(tern_results *now, int place)
{
    now->rows[place].peak_bytes *= 10;
}

TEST(what_is_worse_in_any_session_is_found)
{
    static const int places[] = {0, PAIRS / 2, PAIRS - 1};
    tern_regress_row row;
    char reason[256];
    for (int paired = 0; paired < 2; paired++)
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            compare_spoilt(spoil_result, places[k], paired, &row, reason);
            CHECK(row.state == TERN_REGRESS_CRITICAL && row.accuracy == TERN_REGRESS_CRITICAL);
            CHECK_STR(reason, "in 1 of 12 sessions: bench: a differs from its reference");
            compare_spoilt(spoil_accuracy, places[k], paired, &row, reason);
            CHECK(row.state == TERN_REGRESS_CRITICAL && row.now.accuracy_error == 0.5);
            compare_spoilt(spoil_allocations, places[k], paired, &row, reason);
            CHECK(row.state == TERN_REGRESS_CRITICAL && row.memory == TERN_REGRESS_CRITICAL);
            CHECK_STR(reason, "memory: some where there was none, 3 allocations");
            compare_spoilt(spoil_memory, places[k], paired, &row, reason);
            CHECK(row.state == TERN_REGRESS_CRITICAL && row.now.peak_bytes == 10000);
        }
}

/* The machine's speed changes from pair to pair by half and more. What one session of a pair could not measure leaves its neighbour alone:
 * next to another pair's it would look like a change. */
TEST(a_session_without_times_takes_its_neighbour_with_it)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.002, .session_noise = 0.002};
    const double mood[] = {1, 2, 4, 8};
    for (int gone = 0; gone < 2 * PAIRS; gone++) {
        tern_results *sets[2] = {new_set("here"), new_set("here")};
        tern_regress_report *report;
        tern_regress_row row;
        for (int run = 0; run < PAIRS; run++)
            for (int k = 0; k < 2; k++)
                if (gone == 2 * run + k)
                    add_failure(sets[k], run, "unavailable: given up after 1 s");
                else
                    add_session(&m, sets[k], run, "a", 100 * mood[run % 4]);
        CHECK_OK(tern_regress_pairs(NULL, sets[0], sets[1], &report));
        CHECK_OK(tern_regress_at(report, 0, &row));
        CHECK(row.comparison.n_b == PAIRS - 1 && row.state == TERN_REGRESS_SAME);
        tern_regress_free(report);
        tern_results_free(sets[0]);
        tern_results_free(sets[1]);
    }
}

/* A baseline one of whose sessions gave up (`first`: the first one) against what is wrong, or has times, now. */
static void compare_after_gap(bool first, const char *error, tern_regress_state *out)
{
    machine m = {.seed = harness_seed(), .sample_noise = 0.01};
    tern_results *base = new_set("here"), *now = new_set("here");
    tern_regress_report *report;
    tern_regress_row row = {.state = TERN_REGRESS_BETTER};
    for (int run = 0; run < 3; run++)
        if (run == (first ? 0 : 2))
            add_failure(base, run, "unavailable: it took longer than 1 s");
        else
            add_session(&m, base, run, "a", 100);
    if (error)
        add_failure(now, 0, error);
    else
        add_session(&m, now, 0, "a", 100);
    CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, &row));
    CHECK(row.base.rounds == SAMPLES && row.base.peak_bytes == 1000);
    tern_regress_free(report);
    tern_results_free(base);
    tern_results_free(now);
    *out = row.state;
}

static tern_regress_state state_after_gap(bool first, const char *error)
{
    tern_regress_state state = TERN_REGRESS_UNDECIDED;
    compare_after_gap(first, error, &state);
    return state;
}

TEST(a_session_of_the_baseline_that_gave_up_hides_nothing)
{
    for (int first = 0; first < 2; first++) {
        CHECK_EQ(state_after_gap(first, "bench: a differs from its reference"), TERN_REGRESS_CRITICAL);
        CHECK_EQ(state_after_gap(first, "unavailable: it took longer than 1 s"), TERN_REGRESS_MISSING);
        CHECK_EQ(state_after_gap(first, NULL), TERN_REGRESS_SAME);
    }
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

/* Of so many samples that a double has no number for it: a probability is never 0. */
TEST(what_is_surer_than_numbers_can_tell_is_no_zero)
{
    enum { MANY = 2000 };
    tern_results *sets[] = {new_set("here"), new_set("here")};
    tern_result row = tern_result_default();
    tern_regress_report *report;
    double samples[MANY];
    char *text;
    row.suite = "ops", row.family = "f", row.name = "a", row.threads = 1;
    row.rounds = MANY, row.samples_us = samples;
    for (int k = 0; k < 2; k++)
        for (row.run = 0; row.run < 2; row.run++) {
            for (int i = 0; i < MANY; i++)
                samples[i] = (k ? 150 : 100) * (1 + 1e-6 * (i * 7 % MANY));
            CHECK_OK(tern_results_add(sets[k], &row));
        }
    CHECK_OK(tern_regress_compare(NULL, sets[0], NULL, sets[1], &report));
    CHECK_EQ(tern_regress_worst(report), TERN_REGRESS_CRITICAL);
    CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_TEXT, &text));
    CHECK(strstr(text, "p = 0") == NULL && strstr(text, "p below") != NULL);
    tern_string_free(text);
    tern_regress_free(report);
    tern_results_free(sets[0]);
    tern_results_free(sets[1]);
}

/* Samples that are all alike do not scatter: what is told is that there are too few. */
TEST(too_few_samples_are_said_to_be_too_few)
{
    tern_results *base = new_set("here"), *now = new_set("here");
    tern_result row = tern_result_default();
    tern_regress_report *report;
    tern_regress_row got;
    const double samples[] = {10, 10, 10, 10, 10, 10};
    row.suite = "ops", row.family = "f", row.name = "a", row.threads = 1, row.samples_us = samples;
    row.rounds = 6;
    CHECK_OK(tern_results_add(base, &row));
    row.rounds = 2;
    CHECK_OK(tern_results_add(now, &row));
    CHECK_OK(tern_regress_compare(NULL, base, NULL, now, &report));
    CHECK_OK(tern_regress_at(report, 0, &got));
    CHECK_EQ(got.state, TERN_REGRESS_UNDECIDED);
    CHECK_STR(got.reason, "time: +0.0 %, but fewer than six samples tell nothing");
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
                CHECK(row.state == TERN_REGRESS_UNDECIDED &&
                      strstr(row.reason, "so few pairs tell nothing") != NULL);
                char *text = NULL;
                CHECK_OK(tern_regress_write(report, TERN_REGRESS_AS_TEXT, &text));
                const char *said = text ? strstr(text, "8 pairs can") : NULL;
                CHECK(said && !strstr(said + 1, "8 pairs")); /* once, not in every row */
                tern_string_free(text);
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
