/* test_regress_cells.c - the benchmarks of a baseline measured again: planted cells that are slower, wrong, late or disturbed. */
#include <tern/regress.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "harness.h"
#include "measure/bench/bench.h"
#include "measure/occupied.h"
#include "measure/compare/regress.h"
#include "measure/results/results.h"
#include "sessions.h"

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

/* Results that name no device are the CPU's: its cells are theirs. */
TEST(rows_without_a_device_are_measured_again)
{
    static const char *const none[] = {"", NULL};
    const int one[] = {1};
    const tern_bench_options o = {
        .family = "rows", .n_threads = 1, .threads = one, .budget_s = 5e-3, .memory = 1 << 16};
    tern_results *measured, *base;
    tern_regress_report *report;
    tern_regress_row row;
    CHECK_OK(tern_results_create(&measured));
    tern_status status = tern_bench_run(&o, collect, measured);
    CHECK(status == TERN_OK || status == TERN_STATE);
    CHECK(measured->n > 3);
    CHECK_OK(tern_results_create(&base));
    CHECK_OK(tern_results_note_conditions(base));
    for (int i = 0; i < measured->n; i++) {
        tern_result old = measured->rows[i];
        old.device = none[i % 2];
        CHECK_OK(tern_results_add(base, &old));
        CHECK(tern_result_same(&base->rows[i], &measured->rows[i]));
    }
    CHECK_OK(tern_regress_run(&(tern_regress_options){.budget_s = 0.02}, &o, base, NULL, &report));
    CHECK_EQ(tern_regress_rows(report), measured->n);
    for (int i = 0; tern_regress_at(report, i, &row) == TERN_OK; i++)
        CHECK(row.state != TERN_REGRESS_MISSING && row.now.rounds > 0);
    tern_regress_free(report);
    tern_results_free(base);
    tern_results_free(measured);
}

/* ---- planted cells ---- */

/* What is wrong with the suite's one cell. */
static struct {
    tern_status ready;
    double run_s;
    double share; /* of the limit in the baseline; 0: it has none */
    double moods; /* what sessions of the baseline differ by, as a factor; 0: nothing */
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
    double cores;   /* of two that others compute on; 0: the system does not tell */
    double step_s;  /* between readings; 0: a second */
    int readings;   /* so far */
    int quiet_from; /* from this one on nobody waits; 0: never */
    tern_moment last;
} others;

static tern_moment tell_moment(void *user)
{
    (void)user;
    tern_moment *m = &others.last;
    const bool quiet = others.quiet_from > 0 && ++others.readings >= others.quiet_from;
    const uint64_t second = (uint64_t)((others.step_s > 0 ? others.step_s : 1) * 1e9), tick = 10000000;
    m->now_ns += second;
    m->waited_ns += quiet ? 0 : (uint64_t)(others.waited * (double)second);
    m->waits_known = true;
    if (others.cores > 0) {
        m->tick_ns = tick;
        m->cores = 2;
        m->cores_known = true;
        m->busy_ns += quiet ? 0 : (uint64_t)(others.cores * (double)second);
    }
    return *m;
}

typedef struct planted {
    tern_regress_row row;
    tern_regress_state worst;
    int kept; /* rows that were measured */
    char reason[256];
} planted;

enum { WANTED = 1000 }; /* samples at most */

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
        add_session(&m, base, run, "a", plan.moods > 0 && run % 2 ? 100 * plan.moods : 100);
    for (int i = 0; i < 5; i++) {
        base->rows[i].limit_share = plan.share > 0 ? plan.share : NAN;
    }
    CHECK_OK(tern__bench_open(&(tern_bench_options){.n_threads = 1, .threads = one, .timeout_s = timeout_s},
                              &bench));
    bench.suite = &suite;
    CHECK_OK(tern__regress_begin(&(tern_regress_options){.budget_s = 60, .rounds = WANTED}, base, NULL, &p));
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
    others.waited = 0;
}

/* Others who compute on half a core of two slow down what runs beside them; nor do ticks hide them because the samples took little time. */
TEST(a_short_look_does_not_miss_others)
{
    planted p;
    memset(&others, 0, sizeof others);
    others.cores = 0.5;
    measure_planted(TERN_OK, 3e-4, 0, &p);
    CHECK(p.row.time == TERN_REGRESS_UNDECIDED && p.row.state == TERN_REGRESS_UNDECIDED);
    CHECK(strstr(p.reason, "but other programs had the machine: ") != NULL);
    others.step_s = 0.05; /* of which ticks hide 40 % of a core */
    measure_planted(TERN_OK, 3e-4, 0, &p);
    CHECK_EQ(p.row.time, TERN_REGRESS_UNDECIDED);
    CHECK(strstr(p.reason, "others computed on 0.4 of 2 cores") != NULL);
    const int patient = plan.runs;
    /* Nobody from the first reading of the second look on: it is long enough when it has lasted for 0.32 s. */
    others.quiet_from = 2, others.readings = 0;
    measure_planted(TERN_OK, 3e-4, 0, &p);
    CHECK_EQ(p.row.time, TERN_REGRESS_CRITICAL);
    CHECK(others.readings > 7 && plan.runs < patient);
    memset(&others, 0, sizeof others);
}

/* Nor is faster while others had it: what they leave may be in longer pieces than what they left then. */
TEST(a_cell_is_faster_only_on_a_machine_of_its_own)
{
    planted p;
    memset(&others, 0, sizeof others);
    others.waited = 0.4;
    measure_planted(TERN_OK, 2e-5, 0, &p);
    CHECK(p.row.time == TERN_REGRESS_UNDECIDED && p.row.state == TERN_REGRESS_UNDECIDED);
    CHECK(strstr(p.reason, "but other programs had the machine") != NULL);
    others.waited = 0;
    measure_planted(TERN_OK, 2e-5, 0, &p);
    CHECK(p.row.time == TERN_REGRESS_BETTER && p.row.state == TERN_REGRESS_BETTER);
    CHECK_EQ(p.kept, 1);
}

/* Samples are taken as the baseline's were, which it says itself: in turns with the limit, as many runs in each, in parts of as many. */
TEST(samples_are_taken_as_those_of_the_baseline)
{
    enum { SAMPLES_OF_A_PART = 7, REPEATS = 3 };
    const int one[] = {1};
    const tern_bench_options o = {.family = "rows",
                                  .size = "1024",
                                  .n_threads = 1,
                                  .threads = one,
                                  .budget_s = 0.02,
                                  .rounds = SAMPLES_OF_A_PART,
                                  .memory = 1 << 16};
    tern_results *base;
    tern_regress_report *report;
    tern_regress_row row;
    CHECK_OK(tern_results_create(&base));
    CHECK_OK(tern_results_note_conditions(base));
    CHECK_OK(tern_bench_note_settings(&o, base));
    CHECK_STR(tern_results_condition(base, "setting_samples"), "7");
    CHECK_STR(tern_results_condition(base, "setting_budget_s"), "0.02");
    CHECK_STR(tern_results_condition(base, "setting_warmup"), "1");
    const tern_status status = tern_bench_run(&o, collect, base);
    CHECK(status == TERN_OK || status == TERN_STATE);
    for (int i = 0; i < base->n; i++)
        base->rows[i].repeats = REPEATS;
    CHECK_OK(tern_regress_run(NULL, NULL, base, NULL, &report));
    CHECK(tern_regress_rows(report) > 0);
    for (int i = 0; tern_regress_at(report, i, &row) == TERN_OK; i++) {
        CHECK_EQ(row.now.repeats, REPEATS);
        CHECK(row.now.rounds >= 3 && row.now.rounds <= 4 * SAMPLES_OF_A_PART);
        CHECK(row.now.limit_share > 0); /* also of what did not change */
        for (int k = 0; k < base->n;
             k++) /* rates are by the median that is told: the bytes are those of the baseline */
            if (tern_result_same(&base->rows[k], &row.now))
                CHECK_NEAR(row.now.gbytes_s * row.now.median_us /
                               (base->rows[k].gbytes_s * base->rows[k].median_us),
                           1, 1e-9);
        CHECK(row.comparison.looks >= 1 && row.comparison.looks <= 4);
    }
    /* What was measured says how, too: it may become the next baseline. */
    CHECK_STR(tern_results_condition(tern_regress_results(report), "setting_samples"), "7");
    tern_regress_free(report);
    tern_results_free(base);
}

TEST(a_cell_that_takes_too_long_is_given_up)
{
    planted p = {.worst = TERN_REGRESS_CRITICAL};
    /* All that the baseline took would have had the time: it is slower, and the second look says so, too. */
    measure_planted(TERN_OK, 0.1, 0.08, &p);
    CHECK_EQ(p.worst, TERN_REGRESS_REGRESSION);
    CHECK(p.row.time == TERN_REGRESS_REGRESSION && p.row.state == TERN_REGRESS_REGRESSION);
    CHECK(strstr(p.reason, "too slow to be measured, the baseline has ") &&
          strstr(p.reason, "given up after "));
    CHECK_EQ(plan.runs, 2); /* the first of each look was too long already */
    /* While others have the machine it tells nothing. */
    others.waited = 0.4;
    measure_planted(TERN_OK, 0.1, 0.08, &p);
    CHECK(p.row.state == TERN_REGRESS_MISSING && strstr(p.reason, "given up after ") != NULL);
    others.waited = 0;
    /* In less time than the baseline took nothing can be told. */
    measure_planted(TERN_OK, 0.1, 1e-4, &p);
    CHECK_EQ(p.worst, TERN_REGRESS_SAME);
    CHECK(p.row.state == TERN_REGRESS_MISSING && strstr(p.reason, "given up after ") != NULL);
}

/* Many times what the baseline's session took is wanted where its sessions differ, and not all of it has the time: what has tells. */
TEST(a_cell_whose_samples_do_not_all_have_the_time_is_told_by_those_that_have)
{
    planted p = {.worst = TERN_REGRESS_CRITICAL};
    plan.moods = 1000;
    measure_planted(TERN_OK, 8e-4, 0.6, &p);
    plan.moods = 0;
    CHECK_EQ(p.worst, TERN_REGRESS_UNDECIDED);
    CHECK(p.row.time == TERN_REGRESS_UNDECIDED && p.row.now.rounds > 0 && p.row.now.rounds < WANTED);
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
