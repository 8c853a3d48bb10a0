/* test_baseline.c - baselines: what is kept is there, whoever else writes, whatever kills the writer, and however full the disk is;
 * files that are not ours stay as they are. TERN_TEST_KILLS says how often writers are killed (20; `make check-kills`: 200). */
#include <tern/baseline.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tern/alloc.h>
#include <tern/graph.h>

#include "base/random.h"
#include "comma.h"
#include "gate.h"
#include "harness.h"
#include "store/store.h"

static char path[1100];

#define NEED_SQLITE()                                           \
    do {                                                        \
        if (!tern__store_available())                           \
            SKIP("this build has no SQLite");                   \
        CHECK(harness_path(path, sizeof path, "baselines.db")); \
        tern__store_remove(path);                               \
    } while (0)

enum { ROWS = 40 };

/* `runs` sessions of two benchmarks, the times of which start with `us`. */
static void make_results(int runs, double us, const char *host, tern_results **out)
{
    tern_results *r;
    double samples[ROWS];
    CHECK_OK(tern_results_create(&r));
    CHECK_OK(tern_results_set_condition(r, "host", host));
    CHECK_OK(tern_results_set_condition(r, "cpu_model", "a CPU"));
    for (int run = 0; run < runs; run++)
        for (int k = 0; k < 2; k++) {
            tern_result row = tern_result_default();
            for (int i = 0; i < ROWS; i++)
                samples[i] = us * (1 + 0.001 * i) + run;
            row.suite = "ops", row.family = "f", row.name = k ? "it's \"b\"" : "a", row.shape = "f32[2]";
            row.threads = 2, row.run = run, row.rounds = ROWS, row.samples_us = samples;
            row.peak_bytes = k ? 4096 : -1;
            row.accuracy_error = k ? 1e-7 : NAN;
            CHECK_OK(tern_results_add(r, &row));
        }
    *out = r;
}

static int integrity(void)
{
    /* Any schema will do: what is asked is SQLite's own opinion. */
    static const char *const nothing[] = {""};
    const tern__store_schema any = {"baselines", "take another file", 0x54524e42, 1, nothing};
    tern__store *store;
    tern__query *q;
    bool row = false;
    if (tern__store_open(path, &any, &(tern__store_options){.busy_timeout_ms = 5000, .durable = true},
                         &store) != TERN_OK)
        return -1;
    int fine = 0;
    if (tern__query_make(store, "PRAGMA integrity_check", &q) == TERN_OK) {
        fine = tern__query_step(q, &row) == TERN_OK && row && strcmp(tern__query_text(q, 0), "ok") == 0;
        tern__query_free(q);
    }
    tern__store_close(store);
    return fine;
}

static void count(void *user, const tern_baseline_info *info)
{
    (void)info;
    ++*(int *)user;
}

static void look(void *user, const tern_baseline_info *info)
{
    int *seen = user;
    seen[0]++;
    seen[1] = info->runs;
    seen[2] = info->checks;
    seen[3] = info->rows;
    CHECK_STR(info->description, "what for");
    CHECK_STR(info->host, "abc");
    CHECK_STR(info->cpu_model, "a CPU");
}

TEST(what_is_kept_is_there_in_every_field)
{
    NEED_SQLITE();
    tern_baselines *b = NULL;
    tern_results *r = NULL, *back = NULL;
    char *text, *again;
    CHECK_STATUS(tern_baselines_open(path, false, &b), TERN_NOT_FOUND);
    CHECK_OK(tern_baselines_open(path, true, &b));
    make_results(3, 10, "abc", &r);
    CHECK_OK(tern_baseline_create(b, "main", "what for", r, false));
    CHECK_OK(tern_results_set_condition(r, "baseline", "main")); /* as it will come back */
    CHECK_OK(tern_results_set_condition(r, "description", "what for"));
    tern_baselines_close(b);
    CHECK_OK(tern_baselines_open(path, false, &b));
    CHECK_OK(tern_baseline_load(b, "main", &back));
    CHECK_OK(tern_results_write(r, TERN_RESULT_JSON, &text));
    CHECK_OK(tern_results_write(back, TERN_RESULT_JSON, &again));
    CHECK_STR(text, again);
    int seen[4] = {0};
    CHECK_OK(tern_baseline_add_check(b, "main", r));
    CHECK_OK(tern_baseline_find(b, "main", look, seen));
    CHECK(seen[0] == 1 && seen[1] == 3 && seen[2] == 1 && seen[3] == 6);
    tern_results_free(back);
    tern_result last;
    CHECK_OK(tern_baseline_history(b, "main", &back));
    CHECK_EQ(tern_results_count(back), 12);
    CHECK_OK(tern_results_at(back, 11, &last));
    CHECK_EQ(last.run, 5); /* the check's three follow the baseline's */
    tern_results_free(back);
    tern_results_free(r);
    tern_baselines_close(b);
    CHECK_EQ(integrity(), 1);
    tern_string_free(text);
    tern_string_free(again);
    CHECK_OK(tern__store_remove(path));
}

/* A check every hour for months: the history is what it was for the latest ones, and never an error. */
static void long_history(int checks, int rows_each, int told)
{
    tern_baselines *b = NULL;
    tern_results *base = NULL, *check, *back = NULL;
    tern_result row = tern_result_default(), last;
    char expected[64];
    const double us[] = {5, 6, 7};
    tern__store_remove(path);
    CHECK_OK(tern_baselines_open(path, true, &b));
    make_results(2, 10, "abc", &base);
    CHECK_OK(tern_baseline_create(b, "x", NULL, base, false));
    row.suite = "ops", row.name = "a", row.threads = 1, row.rounds = 3, row.samples_us = us;
    for (int i = 0; i < checks; i++) {
        CHECK_OK(tern_results_create(&check));
        for (int k = 0; k < rows_each; k++) {
            row.threads = k + 1;
            row.allocations = i;
            CHECK_OK(tern_results_add(check, &row));
        }
        CHECK_OK(tern_baseline_add_check(b, "x", check));
        tern_results_free(check);
    }
    CHECK_OK(tern_baseline_history(b, "x", &back));
    CHECK_EQ(tern_results_count(back), 4 + told * rows_each);
    CHECK_OK(tern_results_at(back, 0, &last));
    CHECK(last.run == 0 && last.samples_us[0] == 10);
    CHECK_OK(tern_results_at(back, 4, &last));
    CHECK(last.run == 2 && last.allocations == checks - told);
    CHECK_OK(tern_results_at(back, tern_results_count(back) - 1, &last));
    CHECK(last.run == 1 + told && last.allocations == checks - 1);
    snprintf(expected, sizeof expected, "the latest %d of %d", told, checks);
    CHECK_STR(tern_results_condition(back, "checks"), expected);
    tern_results_free(back);
    CHECK_OK(tern_baseline_load(b, "x", &back));
    CHECK(tern_results_count(back) == 4 && !tern_results_condition(back, "checks"));
    tern_results_free(back);
    tern_results_free(base);
    tern_baselines_close(b);
    CHECK_OK(tern__store_remove(path));
}

TEST(of_a_long_history_the_latest_checks_are_told)
{
    NEED_SQLITE();
    long_history(1003, 1, 1000);
    long_history(7, 10923, 5); /* six of them would have 65,538 rows */
}

/* What a program wrote whose users see commas is what others read, and the other way round. */
TEST(samples_ignore_the_locale)
{
    NEED_SQLITE();
    tern_results *r = NULL, *back[2] = {NULL, NULL};
    tern_baselines *b = NULL;
    tern_result row, was;
    make_results(1, 10.5, "abc", &r);
    if (!begin_comma()) {
        tern_results_free(r);
        SKIP(NO_COMMA);
    }
    bool fine = tern_baselines_open(path, true, &b) == TERN_OK &&
                tern_baseline_create(b, "x", NULL, r, false) == TERN_OK &&
                tern_baseline_load(b, "x", &back[0]) == TERN_OK;
    setlocale(LC_NUMERIC, "C");
    CHECK(fine);
    CHECK_OK(tern_baseline_load(b, "x", &back[1]));
    CHECK_OK(tern_results_at(r, 0, &was));
    for (int k = 0; k < 2; k++) {
        CHECK_OK(tern_results_at(back[k], 0, &row));
        CHECK_EQ(row.rounds, was.rounds);
        CHECK(memcmp(row.samples_us, was.samples_us, (size_t)row.rounds * sizeof *row.samples_us) == 0);
        tern_results_free(back[k]);
    }
    tern_results_free(r);
    tern_baselines_close(b);
    CHECK_OK(tern__store_remove(path));
}

TEST(names_are_unique_and_what_fails_changes_nothing)
{
    NEED_SQLITE();
    tern_baselines *b;
    tern_results *r, *empty, *back = NULL;
    int n = 0;
    CHECK_OK(tern_baselines_open(path, true, &b));
    make_results(1, 10, "abc", &r);
    CHECK_OK(tern_results_create(&empty));
    CHECK_OK(tern_baseline_create(b, "x", NULL, r, false));
    CHECK_STATUS(tern_baseline_create(b, "x", NULL, r, false), TERN_STATE);
    CHECK_OK(tern_baseline_create(b, "x", NULL, r, true));
    CHECK_STATUS(tern_baseline_check_name(b, "x", false), TERN_STATE);
    CHECK_OK(tern_baseline_check_name(b, "x", true));
    CHECK_OK(tern_baseline_check_name(b, "y", false));
    CHECK_STATUS(tern_baseline_check_name(b, "", true), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_baseline_create(b, "", NULL, r, false), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_baseline_create(b, "a\nb", NULL, r, false), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_baseline_create(b, "y", NULL, empty, false), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_baseline_add_check(b, "y", r), TERN_NOT_FOUND);
    CHECK_STATUS(tern_baseline_load(b, "y", &back), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "'y'") != NULL && back == NULL);
    CHECK_STATUS(tern_baseline_delete(b, "y"), TERN_NOT_FOUND);
    CHECK_OK(tern_baseline_list(b, count, &n));
    CHECK_EQ(n, 1);
    CHECK_OK(tern_baseline_delete(b, "x"));
    n = 0;
    CHECK_OK(tern_baseline_list(b, count, &n));
    CHECK_EQ(n, 0);
    tern_baselines_close(b);
    tern_results_free(empty);
    tern_results_free(r);
    CHECK_OK(tern__store_remove(path));
}

static tern_status keep_and_load(tern_baselines *b, const tern_results *r)
{
    tern_results *back;
    TERN_TRY(tern_baseline_create(b, "x", "again and again", r, true));
    TERN_TRY(tern_baseline_add_check(b, "x", r));
    TERN_TRY(tern_baseline_history(b, "x", &back));
    const bool whole = tern_results_count(back) == 2 * tern_results_count(r);
    tern_results_free(back);
    return whole ? TERN_OK : TERN_INTERNAL;
}

TEST(every_allocation_may_fail_and_half_a_baseline_is_never_kept)
{
    NEED_SQLITE();
    tern_baselines *b;
    tern_results *r = NULL, *back;
    tern_alloc_stats before, after;
    long n = 0;
    make_results(1, 10, "abc", &r);
    CHECK_OK(tern_baselines_open(path, true, &b));
    CHECK_OK(tern_baseline_create(b, "x", NULL, r, true));
    tern_alloc_get_stats(&before);
    for (bool fired = true; fired; n++) {
        gate g = {.countdown = n + 1};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = keep_and_load(b, r);
        tern_alloc_set_gate(NULL, NULL);
        fired = g.fired;
        CHECK_STATUS(status, fired ? TERN_OUT_OF_MEMORY : TERN_OK);
        tern_alloc_get_stats(&after);
        CHECK_EQ(after.live_bytes, before.live_bytes);
        CHECK_OK(tern_baseline_load(b, "x", &back));
        CHECK_EQ(tern_results_count(back), 2);
        tern_results_free(back);
    }
    CHECK(n > 20);
    tern_baselines_close(b);
    tern_results_free(r);
    CHECK_EQ(integrity(), 1);
    CHECK_OK(tern__store_remove(path));
}

/* ---- files that are not ours ---- */

static size_t slurp(char *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(to, 1, room, f) : 0;
    if (f)
        fclose(f);
    return n;
}

static void refuse_and_leave_alone(tern_status expected)
{
    static char before[1 << 16], after[1 << 16];
    tern_baselines *b = NULL;
    struct stat s;
    char beside[1200];
    const size_t n = slurp(before, sizeof before);
    for (int create = 0; create < 2; create++) {
        CHECK_STATUS(tern_baselines_open(path, create, &b), expected);
        CHECK(strstr(tern_last_error(), "baselines.db") != NULL && !strchr(tern_last_error(), '\n'));
    }
    CHECK(b == NULL && slurp(after, sizeof after) == n && memcmp(before, after, n) == 0);
    snprintf(beside, sizeof beside, "%s-wal", path);
    CHECK(stat(beside, &s) != 0);
}

TEST(foreign_newer_and_damaged_files_are_refused_and_left_alone)
{
    NEED_SQLITE();
    static const char *const tables[] = {"CREATE TABLE t(a)", "CREATE TABLE u(a)"};
    const tern__store_options options = {.create = true};
    const tern__store_schema foreign = {"other", "take another file", 0x1234, 1, tables},
                             newer = {"baselines", "take another file", 0x54524e42, 2, tables};
    const tern__store_schema *const schemas[] = {&foreign, &newer};
    const tern_status expected[] = {TERN_FORMAT, TERN_UNSUPPORTED};
    for (int i = 0; i < 2; i++) {
        tern__store *store;
        CHECK_OK(tern__store_open(path, schemas[i], &options, &store));
        tern__store_close(store);
        refuse_and_leave_alone(expected[i]);
        CHECK_OK(tern__store_remove(path));
    }
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    fputs(
        "this is no database, but it is long enough that somebody could take it for one, if he did not look",
        f);
    fclose(f);
    refuse_and_leave_alone(TERN_FORMAT);
    CHECK_OK(tern__store_remove(path));
}

TEST(rows_that_something_else_wrote_are_refused)
{
    NEED_SQLITE();
    static const char *const changes[] = {
        "UPDATE result SET samples_us = 'x y z'",
        "UPDATE result SET samples_us = '1 -2 3'",
        "UPDATE result SET samples_us = '1 nan 3'",
        "UPDATE result SET threads = 99999999999",
        "UPDATE result SET run = -5",
        "UPDATE result SET rounds = -5, samples_us = ''",
        "UPDATE condition SET value = zeroblob(9000)",
        "DROP TABLE result",
    };
    static const char *const nothing[] = {""};
    const tern__store_schema any = {"baselines", "take another file", 0x54524e42, 1, nothing};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        tern_baselines *b;
        tern__store *store;
        tern_results *r, *back = NULL;
        CHECK_OK(tern_baselines_open(path, true, &b));
        make_results(1, 10, "abc", &r);
        CHECK_OK(tern_baseline_create(b, "x", NULL, r, false));
        tern_baselines_close(b);
        CHECK_OK(tern__store_open(path, &any, &(tern__store_options){.durable = true}, &store));
        CHECK_OK(tern__store_run(store, changes[i]));
        tern__store_close(store);
        CHECK_OK(tern_baselines_open(path, false, &b));
        tern_status status = tern_baseline_load(b, "x", &back);
        /* A blob reads as the empty text that it starts with. */
        CHECK(status == TERN_FORMAT || (status == TERN_OK && strstr(changes[i], "zeroblob")));
        tern_results_free(back);
        tern_results_free(r);
        tern_baselines_close(b);
        CHECK_OK(tern__store_remove(path));
    }
}

/* ---- several at once, killed, out of room ---- */

static int write_many(const char *prefix, int n, int progress)
{
    tern_baselines *b;
    tern_results *r = NULL;
    char name[32];
    make_results(1, 10, "abc", &r);
    if (!r || tern_baselines_open(path, true, &b) != TERN_OK)
        return 100;
    int done = 0;
    for (; done < n; done++) {
        snprintf(name, sizeof name, "%s%d", prefix, done);
        if (tern_baseline_create(b, name, "killed?", r, true) != TERN_OK)
            break;
        if (progress >= 0 && write(progress, "", 1) != 1)
            break;
    }
    tern_baselines_close(b);
    tern_results_free(r);
    return done;
}

TEST(two_processes_write_and_nothing_is_lost)
{
    NEED_SQLITE();
    enum { EACH = 25 };
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) /* both also race to make the file */
            _exit(write_many(i ? "b" : "a", EACH, -1) == EACH ? 0 : 1);
    }
    for (int i = 0; i < 2; i++) {
        int status = 1;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK_EQ(status, 0);
    }
    tern_baselines *b;
    int n = 0;
    CHECK_OK(tern_baselines_open(path, false, &b));
    CHECK_OK(tern_baseline_list(b, count, &n));
    CHECK_EQ(n, 2 * EACH);
    tern_baselines_close(b);
    CHECK_EQ(integrity(), 1);
    CHECK_OK(tern__store_remove(path));
}

/* Every one of the first `n` is there, whole. */
static void check_first(const char *prefix, int n)
{
    tern_baselines *b;
    CHECK_OK(tern_baselines_open(path, true, &b));
    for (int i = 0; i < n; i++) {
        char name[32];
        tern_results *r = NULL;
        snprintf(name, sizeof name, "%s%d", prefix, i);
        CHECK_OK(tern_baseline_load(b, name, &r));
        CHECK_EQ(tern_results_count(r), 2);
        tern_results_free(r);
    }
    tern_baselines_close(b);
}

static void kill_one(uint64_t seed, uint64_t round, int *told)
{
    int ends[2], status;
    char byte;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(write_many("n", 1000, ends[1]) > 0);
    }
    close(ends[1]);
    /* Every other one is killed while it makes the file, or soon after; the rest after a commit, while it writes on. */
    const long us = (long)(tern__random_uniform(seed, round) * 20000);
    *told = round % 2 && read(ends[0], &byte, 1) == 1;
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
    kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child);
    while (read(ends[0], &byte, 1) == 1)
        ++*told;
    close(ends[0]);
}

TEST(killed_writers_lose_nothing_that_was_committed)
{
    NEED_SQLITE();
    const char *kills = getenv("TERN_TEST_KILLS");
    const int n = kills && atoi(kills) > 0 ? atoi(kills) : 20;
    const uint64_t seed = harness_seed();
    int in_the_middle = 0;
    for (int i = 0; i < n && !harness_failed(); i++) {
        int told = 0;
        kill_one(seed, (uint64_t)i, &told);
        in_the_middle += told > 0;
        CHECK(integrity() == 1 || told == 0); /* before the first commit there may be no file */
        check_first("n", told);
        tern__store_remove(path);
    }
    CHECK(in_the_middle > 0); /* else nobody was killed while writing */
}

TEST(a_full_disk_is_an_error_and_no_damage)
{
    NEED_SQLITE();
    int ends[2], status, told = 0;
    char byte;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) { /* no file of this process may grow beyond 256 KiB */
        close(ends[0]);
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){256 << 10, 256 << 10});
        const int done = write_many("n", 1000, ends[1]);
        _exit(done < 1000 && strstr(tern_last_error(), "baselines.db") ? 0 : 1);
    }
    close(ends[1]);
    while (read(ends[0], &byte, 1) == 1)
        told++;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    CHECK(told > 3 && told < 1000);
    CHECK_EQ(integrity(), 1);
    check_first("n", told);
    CHECK_OK(tern__store_remove(path));
}
