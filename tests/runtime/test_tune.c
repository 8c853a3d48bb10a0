/* test_tune.c - tuning: planted costs are found, what was found is used by the next compilation and by other processes, no
 * result changes, and a database in any state is at worst a warning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tern/tern.h>

#include "gate.h"
#include "harness.h"
#include "kernels/select.h"
#include "passes/select.h"
#include "runtime/profile.h"
#include "runtime/tuning.h"
#include "store/store.h"

static char folder[1024], path[1100];

static bool make_folder(void)
{
    if (!harness_path(folder, sizeof folder, "tune") || mkdir(folder, 0700) != 0)
        return false;
    snprintf(path, sizeof path, "%s/tuning.db", folder);
    return true;
}

static void remove_folder(void)
{
    tern__store_remove(path);
    CHECK(rmdir(folder) == 0); /* nothing else was left behind */
}

static tern_ctx *context(const char *tuning, int threads)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = threads;
    options.tuning = tuning;
    tern_ctx *ctx = NULL;
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

#define NEED_SQLITE()                         \
    do {                                      \
        if (!tern__store_available())         \
            SKIP("this build has no SQLite"); \
    } while (0)

/* ---- the caller's own work ---- */

typedef struct costs {
    const uint64_t *ns; /* 0: fails */
    int calls[8];
} costs;

static tern_status planted(void *user, int i, uint64_t *ns)
{
    costs *c = user;
    c->calls[i]++;
    if (c->ns[i] == 0)
        return TERN_UNSUPPORTED;
    *ns = c->ns[i] +
          (uint64_t)(c->calls[i] % 3 == 0 ? 100000 : 0); /* a hiccup now and then: medians do not mind */
    return TERN_OK;
}

TEST(the_planted_best_is_found_and_failures_are_skipped)
{
    tern_ctx *ctx = context("off", 1);
    CHECK(ctx != NULL);
    const char *names[] = {"a", "b", "c", "d"};
    costs c = {.ns = (const uint64_t[]){900, 0, 350, 400}};
    int best = -7;
    tern_tune_report *report = NULL;
    CHECK_OK(tern_tune(ctx, "work", "n=3", 4, names, planted, &c, NULL, &best, &report));
    CHECK_EQ(best, 2);
    CHECK_EQ(tern_tune_report_rows(report), 4);
    const uint64_t medians[] = {900, 0, 350, 400};
    for (int i = 0; i < 4; i++) {
        tern_tune_row row;
        CHECK_OK(tern_tune_report_row(report, i, &row));
        CHECK_STR(row.candidate, names[i]);
        CHECK_STR(row.shapes, "n=3");
        CHECK_EQ(row.status, i == 1 ? TERN_UNSUPPORTED : TERN_OK);
        CHECK_EQ(row.median_ns, medians[i]);
        CHECK_EQ(row.chosen, i == 2);
        CHECK(!row.remembered);
    }
    CHECK(tern_tune_report_runs(report) > 10);
    tern_tune_report_free(report);
    CHECK_EQ(c.calls[1], 1); /* it failed when it was warmed up and was left out */
    /* Remembered, in this context at least. */
    costs other = {.ns = (const uint64_t[]){1, 1, 1, 1}};
    best = -7;
    CHECK_OK(tern_tune(ctx, "work", "n=3", 4, names, planted, &other, NULL, &best, &report));
    CHECK_EQ(best, 2);
    CHECK_EQ(tern_tune_report_runs(report), 0);
    CHECK_EQ(other.calls[0] + other.calls[2], 0);
    tern_tune_report_free(report);
    /* Another key, a longer list and `again` are measured. */
    costs third = {.ns = (const uint64_t[]){50, 60, 70, 80, 40}};
    CHECK_OK(tern_tune(ctx, "work", "n=4", 4, names, planted, &third, NULL, &best, NULL));
    CHECK_EQ(best, 0);
    const char *longer[] = {"a", "b", "c", "d", "e"};
    CHECK_OK(tern_tune(ctx, "work", "n=3", 5, longer, planted, &third, NULL, &best, NULL));
    CHECK_EQ(best, 4);
    tern_tune_options options = tern_tune_options_default();
    options.again = true;
    CHECK_OK(tern_tune(ctx, "work", "n=3", 4, names, planted, &third, &options, &best, NULL));
    CHECK_EQ(best, 0);
    tern_ctx_destroy(ctx);
}

/* Whoever races: as many runs as are asked for, up to a limit; the default where nothing is. */
TEST(what_is_not_asked_for_is_the_default)
{
    static const struct {
        int asked, made;
    } cases[] = {{0, 7}, {-3, 7}, {3, 3}, {100000, TERN__RACE_RUNS}};
    tern_ctx *ctx = context("off", 1);
    CHECK(ctx != NULL);
    const char *names[] = {"a", "b"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        costs c = {.ns = (const uint64_t[]){900, 950}};
        int best = -7;
        tern_tune_report *report = NULL;
        const tern_tune_options options = {.runs = cases[i].asked, .budget_ns = UINT64_MAX, .again = true};
        CHECK_OK(tern_tune(ctx, "work", NULL, 2, names, planted, &c, &options, &best, &report));
        CHECK_EQ(tern_tune_report_runs(report), 2 * cases[i].made);
        CHECK_EQ(c.calls[0], 1 + cases[i].made); /* one warms up */
        tern_tune_report_free(report);
        CHECK_EQ(tern__race_options(&options).runs, cases[i].made);
    }
    CHECK_EQ(tern__race_options(&(tern_tune_options){0}).budget_ns, 250000000);
    CHECK_EQ(tern__race_options(&(tern_tune_options){.budget_ns = 5}).budget_ns, 5);
    tern_ctx_destroy(ctx);
}

TEST(bad_calls_say_so)
{
    tern_ctx *ctx = context("off", 1);
    CHECK(ctx != NULL);
    const char *names[] = {"a", "a"};
    costs c = {.ns = (const uint64_t[]){0, 0}};
    int best = -7;
    tern_tune_report *report = NULL;
    CHECK_STATUS(tern_tune(NULL, "w", NULL, 1, names, planted, &c, NULL, &best, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_tune(ctx, NULL, NULL, 1, names, planted, &c, NULL, &best, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_tune(ctx, "w", NULL, 0, names, planted, &c, NULL, &best, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_tune(ctx, "w", NULL, 2, names, planted, &c, NULL, &best, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_tune(ctx, "w", NULL, 1, names, NULL, &c, NULL, &best, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_tune(ctx, "w", NULL, 1, names, planted, &c, NULL, &best, &report), TERN_UNSUPPORTED);
    CHECK_EQ(best, -7);
    CHECK(report == NULL);
    CHECK_STATUS(tern_program_tune(ctx, NULL, 0, NULL, NULL, NULL), TERN_INVALID_ARGUMENT);
    tern_status none = tern__store_available() ? TERN_NOT_FOUND : TERN_UNAVAILABLE;
    CHECK_STATUS(tern_tune_list(ctx, &report), none);
    CHECK_STATUS(tern_tune_clear(ctx), TERN_NOT_FOUND);
    CHECK_STR(tern_tune_path(ctx), "");
    tern_ctx_destroy(ctx);
}

/* ---- programs ---- */

/* A chain, a norm with quantisation (two results) and a step that writes over its operand. */
static const char text[] =
    "graph g {\n"
    "  %x = input \"x\" f32[96,2080]\n"
    "  %b = input \"b\" f32[2080]\n"
    "  %s = state \"s\" f32[96,2080]\n"
    "  %z = input \"z\" f32[300,1000]\n"
    "  %w = input \"w\" f32[64,600]\n"
    "  %6 = exp(%z)\n"
    "  %7 = mul(%6, %z)\n"
    "  %8 = softmax(%w)\n"
    "  %0 = add(%x, %b)\n"
    "  %1 = silu(%0)\n"
    "  %2 = rmsnorm(%1, %b)\n"
    "  %q, %k = quantise_rows(%2)\n"
    "  %3 = sum(%1) {axes=[0]}\n"
    "  %4 = add(%s, %1)\n"
    "  %5 = overwrite(%s, %4)\n"
    "  %m = matmul(%w, %w) {transpose_b=true}\n"
    "  %n = matmul(%w, %m) {transpose_a=true}\n"
    "  %r = relu(%n)\n"
    "  %keys = input \"keys\" f16[2,300,2,16]\n"
    "  %rows = input \"rows\" i32[24]\n"
    "  %places = input \"places\" i32[24]\n"
    "  %h = reshape(%w) {shape=[24,100,16]}\n"
    "  %heads = slice(%h) {start=[0,0,0], stop=[24,8,16], step=[1,1,1]}\n"
    "  %y = attention(%heads, %keys, %keys, %rows, %places)\n"
    "  return %q as \"q\", %k as \"k\", %3 as \"sum\", %5 as \"total\", %7, %8, %m, %r, %y\n"
    "}\n";

typedef struct work {
    tern_ctx *ctx;
    tern_graph *graph;
    tern_program *program;
} work;

static tern_status open_work(const char *tuning, int threads, work *w)
{
    *w = (work){.ctx = context(tuning, threads)};
    if (!w->ctx)
        return TERN_INTERNAL;
    TERN_TRY(tern_graph_parse(w->ctx, text, sizeof text - 1, &w->graph));
    return tern_graph_compile(w->ctx, w->graph, NULL, &w->program);
}

static void close_work(work *w)
{
    tern_program_free(w->program);
    tern_graph_free(w->graph);
    tern_ctx_destroy(w->ctx);
}

static const tern_tune_options quick = {.runs = 1, .budget_ns = 20000000};

enum { INPUTS = 7, OUTPUTS = 9, ROWS = 24 };

/* A hash of all that a program gives, twice in a row (the state counts on). */
static uint64_t results_of(tern_ctx *ctx, const tern_program *program)
{
    uint64_t hash = 1469598103934665603u;
    tern_exec *exec = NULL;
    if (tern_exec_create(ctx, program, &exec) != TERN_OK)
        return 0;
    /* Two prompts, the second of which ends in padding. */
    int32_t slots[ROWS], positions[ROWS];
    for (int i = 0; i < ROWS; i++) {
        slots[i] = i / 13;
        positions[i] = i < 13 ? 120 + i : i < 20 ? 280 + i - 13 : -1;
    }
    for (int round = 0; round < 2; round++)
        TERN_SCOPE(ctx) {
            tern_tensor *in[INPUTS] = {tern_randn(ctx, TERN_F32, 2, (int64_t[]){96, 2080}, 5),
                                       tern_randn(ctx, TERN_F32, 1, (int64_t[]){2080}, 6),
                                       tern_randn(ctx, TERN_F32, 2, (int64_t[]){300, 1000}, 7),
                                       tern_randn(ctx, TERN_F32, 2, (int64_t[]){64, 600}, 8),
                                       tern_randn(ctx, TERN_F16, 4, (int64_t[]){2, 300, 2, 16}, 9),
                                       tern_from_data(ctx, TERN_I32, 1, (int64_t[]){ROWS}, slots),
                                       tern_from_data(ctx, TERN_I32, 1, (int64_t[]){ROWS}, positions)};
            tern_tensor *out[OUTPUTS];
            if (tern_exec_run(exec, INPUTS, in, OUTPUTS, out) != TERN_OK)
                return 0;
            for (int i = 0; i < OUTPUTS; i++) {
                const uint32_t *words = tern_data(out[i]); /* all of them have whole ones */
                for (size_t k = 0; k < tern_nbytes(out[i]) / sizeof *words; k++)
                    hash = (hash ^ words[k]) * 1099511628211u;
            }
        }
    tern_exec_free(exec);
    return hash;
}

TEST(every_candidate_of_every_step_gives_the_same_bits)
{
    work w;
    CHECK_OK(open_work("off", 2, &w));
    uint64_t expected = results_of(w.ctx, w.program);
    CHECK(expected != 0);
    int most = 0, compared = 0, products = 0, attentions = 0;
    const tern__target *target = w.ctx->target;
    tern__arena arena;
    tern__arena_init(&arena, 0);
    for (uint32_t s = 0; s < w.program->compiled->plan.n_steps; s++) {
        tern__call_room room;
        tern__call call;
        tern__step usual;
        tern__candidate candidates[TERN__MAX_CANDIDATES];
        CHECK_OK(tern__call_of(&w.program->compiled->graph, w.program->compiled->plan.steps[s].node, &room,
                               &arena, &call));
        CHECK_OK(tern__step_of(target, &call, NULL, &arena, &usual));
        int n = tern__step_candidates(target, &call, &usual, candidates);
        most = n > most ? n : most;
        const bool is_product = strncmp(candidates[0].name, "rows=", 5) == 0;
        const bool is_attention = strncmp(candidates[0].name, "block=", 6) == 0;
        if (is_product || is_attention) { /* with one number of threads */
            int ways = 0;
            for (int i = 0; i < n; i++)
                ways += candidates[i].parts == candidates[0].parts;
            CHECK(ways >= 3);
            products += is_product;
            attentions += is_attention;
        }
        tern__tuned_key *key = tern__tuning_key(w.ctx->tuning, &call, true);
        CHECK(key != NULL);
        tern__tuned *first = tern__tuned_add(w.ctx->tuning, key, candidates[0].name, TERN__TUNED_TUNE);
        CHECK(first != NULL);
        first->median_ns = 1000;
        for (int i = 1; i < n; i++) { /* as if candidate i had been the fastest */
            if ((i + (int)s) % harness_every() != 0)
                continue;
            tern__tuned *way = tern__tuned_add(w.ctx->tuning, key, candidates[i].name, TERN__TUNED_TUNE);
            CHECK(way != NULL);
            way->median_ns = (uint64_t)(1000 - i);
            tern__program_cache_clear(&w.ctx->cache);
            tern_program *program;
            CHECK_OK(tern_graph_compile(w.ctx, w.graph, NULL, &program));
            CHECK_STR(program->compiled->plan.steps[s].variant, candidates[i].name);
            CHECK_EQ(results_of(w.ctx, program), expected);
            compared++;
            tern_program_free(program);
        }
    }
    CHECK(most >= 6);
    CHECK(compared >= 20 / harness_every());
    CHECK(products >= 2 || target->isa_mask == 1); /* the baseline has reference kernels */
    CHECK(attentions == 1 || !tern__kernel_select(TERN__FAMILY_attention, target->isa_mask));
    tern__arena_free(&arena);
    close_work(&w);
}

/* Rows of a report that belong to one step. */
static int rows_of(const tern_tune_report *report, int step, int *chosen)
{
    int n = 0;
    tern_tune_row row;
    for (int i = 0; i < tern_tune_report_rows(report); i++)
        if (tern_tune_report_row(report, i, &row) == TERN_OK && row.step == step) {
            n++;
            *chosen += row.chosen;
        }
    return n;
}

static void count_progress(void *user, const tern_tune_row *row, int done, int total)
{
    int *count = user;
    if (row->candidate[0] && done == *count + 1 && done <= total)
        *count = done == total ? -1 : done;
}

TEST(a_second_context_reuses_what_the_first_measured)
{
    NEED_SQLITE();
    CHECK(make_folder());
    work w;
    CHECK_OK(open_work(path, 2, &w));
    CHECK_STR(tern_tune_path(w.ctx), path);
    uint64_t expected = results_of(w.ctx, w.program);
    tern_tune_report *report = NULL;
    tern_tune_options options = quick;
    int progress = 0;
    options.progress = count_progress;
    options.user = &progress;
    CHECK_OK(tern_program_tune(w.ctx, w.program, 0, NULL, &options, &report));
    CHECK_EQ(progress, -1); /* every way was announced, in order, to the last */
    CHECK(tern_tune_report_runs(report) > 0);
    int steps_with_choice = 0;
    for (uint32_t s = 0; s < w.program->compiled->plan.n_steps; s++) {
        int chosen = 0, n = rows_of(report, (int)s, &chosen);
        CHECK(n != 1);
        steps_with_choice += n >= 3 && chosen == 1;
    }
    CHECK(steps_with_choice >= 2);
    int rows = tern_tune_report_rows(report);
    tern_tune_report_free(report);
    CHECK_EQ(results_of(w.ctx, w.program), expected); /* tuning left no trace in the program */
    close_work(&w);

    CHECK_OK(open_work(path, 2, &w));
    CHECK_OK(tern_program_tune(w.ctx, w.program, 0, NULL, &quick, &report));
    CHECK_EQ(tern_tune_report_runs(report), 0);
    CHECK_EQ(tern_tune_report_rows(report), rows);
    tern_tune_row row;
    CHECK_OK(tern_tune_report_row(report, 0, &row));
    CHECK(row.remembered && row.median_ns > 0);
    tern_tune_report_free(report);
    CHECK_EQ(results_of(w.ctx, w.program), expected); /* now compiled with what was found */
    close_work(&w);

    CHECK_OK(open_work(path, 1, &w)); /* another number of threads: other results */
    CHECK_OK(tern_program_tune(w.ctx, w.program, 0, NULL, &quick, &report));
    CHECK(tern_tune_report_runs(report) > 0);
    tern_tune_report_free(report);
    CHECK_EQ(results_of(w.ctx, w.program), expected);
    CHECK_OK(tern_tune_list(w.ctx, &report));
    CHECK(tern_tune_report_rows(report) > rows);
    tern_tune_report_free(report);
    CHECK_OK(tern_tune_clear(w.ctx));
    CHECK_STATUS(tern_tune_clear(w.ctx), TERN_NOT_FOUND);
    CHECK_STATUS(tern_tune_list(w.ctx, &report), TERN_NOT_FOUND);
    close_work(&w);
    remove_folder();
}

/* ---- other processes ---- */

/* What a child process found: exit code 0 = nothing had to be run, 1 = something had, 2 = it failed. */
static int tune_in_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        work w;
        tern_tune_report *report = NULL;
        if (open_work(path, 2, &w) != TERN_OK ||
            tern_program_tune(w.ctx, w.program, 0, NULL, &quick, &report) != TERN_OK)
            _exit(2);
        int code = tern_tune_report_runs(report) > 0;
        tern_tune_report_free(report);
        close_work(&w);
        _exit(code);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_second_process_reuses_what_the_first_measured)
{
    NEED_SQLITE();
    CHECK(make_folder());
    CHECK_EQ(tune_in_child(), 1);
    CHECK_EQ(tune_in_child(), 0);
    remove_folder();
}

TEST(two_processes_tune_at_once)
{
    NEED_SQLITE();
    CHECK(make_folder());
    pid_t first = fork();
    if (first == 0)
        _exit(tune_in_child());
    int second = tune_in_child(), status = -1;
    CHECK(waitpid(first, &status, 0) == first);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    CHECK(second == 0 || second == 1);
    CHECK_EQ(tune_in_child(), 0); /* all that either of them found is there */
    remove_folder();
}

static tern_status change_database(const char *sql)
{
    static const char *const migrations[] = {""};
    static const tern__store_schema any = {"tuning results", "take another file", 0x5445524e, 1, migrations};
    tern__store_options options = {.busy_timeout_ms = 1000};
    tern__store *store = NULL;
    TERN_TRY(tern__store_open(path, &any, &options, &store));
    tern_status status = tern__store_run(store, sql);
    tern__store_close(store);
    return status;
}

TEST(results_of_another_cpu_or_version_are_never_used)
{
    NEED_SQLITE();
    static const char *const changes[] = {
        "UPDATE timings SET cpu = 'another ' || cpu",
        "UPDATE timings SET version = version || '9'",
        "UPDATE timings SET threads = threads + 1",
        "UPDATE timings SET shapes = replace(shapes, 'f32', 'f64')",
        "UPDATE timings SET params = params || ' '",
        "UPDATE timings SET median_ns = -5",
        "UPDATE timings SET status = 99",
        "DELETE FROM timings WHERE candidate LIKE '%tile=512%'",
    };
    CHECK(make_folder());
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i += (size_t)harness_every()) {
        tune_in_child();
        CHECK_EQ(tune_in_child(), 0);
        CHECK_OK(change_database(changes[i]));
        int code = tune_in_child();
        if (code != 1)
            fprintf(stderr, "%s\n", changes[i]);
        CHECK_EQ(code, 1);
        CHECK_OK(tern__store_remove(path));
    }
    remove_folder();
}

/* ---- databases in a bad state ---- */

static int warnings;
static char last_warning[512];

static void take_warning(void *user, tern_log_level level, const char *message)
{
    (void)user;
    if (level == TERN_LOG_WARN) {
        warnings++;
        snprintf(last_warning, sizeof last_warning, "%s", message);
    }
}

/* Compiles, tunes and runs with the database at `where`: all of it works, with at least one warning. */
static void works_with_a_warning(const char *where)
{
    work w;
    tern_tune_report *report = NULL;
    warnings = 0;
    tern_log_set(TERN_LOG_WARN, take_warning, NULL);
    CHECK_OK(open_work(where, 1, &w));
    CHECK(results_of(w.ctx, w.program) != 0);
    CHECK_OK(tern_program_tune(w.ctx, w.program, 0, NULL, &quick, &report));
    CHECK(tern_tune_report_runs(report) > 0);
    tern_tune_report_free(report);
    tern_program *again;
    CHECK_OK(tern_graph_compile(w.ctx, w.graph, NULL, &again)); /* in this process the results count */
    tern_program_free(again);
    close_work(&w);
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK(warnings >= 1 && warnings <= 2); /* one for reading, one for writing */
    CHECK(strstr(last_warning, where) != NULL);
}

TEST(a_damaged_database_is_a_warning)
{
    NEED_SQLITE();
    CHECK(make_folder());
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    for (int i = 0; i < 1000; i++)
        fputs("this is no database ", f);
    fclose(f);
    works_with_a_warning(path);
    if (harness_failed())
        return;
    CHECK(strstr(last_warning, "tern tune --clear") != NULL);
    /* Clearing mends it. */
    tern_ctx *ctx = context(path, 1);
    CHECK(ctx != NULL);
    tern_tune_report *report = NULL;
    CHECK_STATUS(tern_tune_list(ctx, &report), TERN_FORMAT);
    CHECK_OK(tern_tune_clear(ctx));
    tern_ctx_destroy(ctx);
    CHECK_EQ(tune_in_child(), 1);
    CHECK_EQ(tune_in_child(), 0);
    remove_folder();
}

TEST(a_locked_database_is_a_warning)
{
    NEED_SQLITE();
    CHECK(make_folder());
    CHECK_EQ(tune_in_child(), 1);
    static const char *const migrations[] = {""};
    static const tern__store_schema any = {"tuning results", "take another file", 0x5445524e, 1, migrations};
    tern__store_options options = {.busy_timeout_ms = 1000};
    tern__store *holder = NULL;
    CHECK_OK(tern__store_open(path, &any, &options, &holder));
    CHECK_OK(tern__store_run(holder, "BEGIN EXCLUSIVE"));
    works_with_a_warning(path);
    CHECK_OK(tern__store_run(holder, "COMMIT"));
    tern__store_close(holder);
    remove_folder();
}

TEST(a_place_that_cannot_be_written_is_a_warning)
{
    NEED_SQLITE();
    works_with_a_warning("/proc/nobody/writes/here.db");
}

/* ---- timings from ordinary runs ---- */

/* As if a run had taken so long: ns[i] of step i. */
static tern_status plant(tern_ctx *ctx, const tern_program *program, const uint64_t *ns)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__profile *profile = tern__profile_make(ctx, program, &arena);
    if (profile)
        tern__profile_add(profile, ns);
    tern__arena_free(&arena);
    return profile ? TERN_OK : TERN_OUT_OF_MEMORY;
}

/* Does a note of kernel selection say so? */
static bool has_note(const tern_program *program, const char *words)
{
    tern_pass_report report;
    bool found = false;
    for (int i = 0; tern_program_pass(program, i, &report) == TERN_OK; i++)
        for (int k = 0; strcmp(report.name, "select") == 0 && k < report.n_notes; k++)
            found = found || strstr(report.notes[k], words);
    return found;
}

TEST(a_planted_timing_flips_a_choice_and_the_report_says_so)
{
    work w;
    CHECK_OK(open_work("off", 2, &w));
    tern_tune_report *report = NULL;
    CHECK_OK(tern_program_tune(w.ctx, w.program, 0, NULL, &quick, &report));
    CHECK(!has_note(w.program, "")); /* it was compiled before anything was known */
    /* The step with most candidates runs 1000 s as it is compiled now, in three runs: the tuner's second best wins. */
    tern_tune_report_free(report);
    tern_program *before, *after;
    CHECK_OK(tern_graph_compile(w.ctx, w.graph, NULL, &before));
    int steps = (int)before->compiled->plan.n_steps, step = -1;
    for (int s = 0; s < steps; s++)
        if (before->compiled->plan.steps[s].program)
            step = s;
    CHECK(step >= 0);
    uint64_t *ns = calloc((size_t)steps, sizeof *ns);
    CHECK(ns != NULL);
    ns[step] = 1000000000000ull;
    for (int i = 0; i < 2; i++)
        CHECK_OK(plant(w.ctx, before, ns));
    CHECK_OK(tern_graph_compile(w.ctx, w.graph, NULL, &after)); /* two runs are not enough to say */
    const char *chosen = before->compiled->plan.steps[step].variant;
    const char *now = after->compiled->plan.steps[step].variant;
    CHECK(chosen ? now && strcmp(chosen, now) == 0 : now == NULL);
    tern_program_free(after);
    CHECK_OK(plant(w.ctx, before, ns));
    CHECK_OK(tern_graph_compile(w.ctx, w.graph, NULL, &after));
    now = after->compiled->plan.steps[step].variant;
    CHECK(chosen ? !now || strcmp(chosen, now) != 0 : now != NULL);
    if (now) {
        CHECK(has_note(after, now));
        CHECK(has_note(after, "when it was tuned"));
    }
    CHECK_EQ(results_of(w.ctx, after), results_of(w.ctx, before));
    /* In runs the new choice turns out to be quick: the report says where that is known from. */
    if (now) {
        ns[step] = 10;
        for (int i = 0; i < 3; i++)
            CHECK_OK(plant(w.ctx, after, ns));
        tern_program *last;
        CHECK_OK(tern_graph_compile(w.ctx, w.graph, NULL, &last));
        CHECK_STR(last->compiled->plan.steps[step].variant, now);
        CHECK(has_note(last, "in earlier runs"));
        tern_program_free(last);
    }
    free(ns);
    tern_program_free(before);
    tern_program_free(after);
    close_work(&w);
}

/* Times of a program that may not use all of the machine say nothing about one that may. */
TEST(a_program_with_a_cap_leaves_no_profile)
{
    const tern_compile_options capped[] = {
        {.goal = TERN_GOAL_THROUGHPUT}, {.threads = 1}, {.cpu = "baseline"}};
    for (size_t k = 0; k < sizeof capped / sizeof capped[0]; k++) {
        work w;
        tern_program *narrow, *after;
        uint64_t ns[64];
        CHECK_OK(open_work("off", 2, &w));
        CHECK_OK(tern_graph_compile(w.ctx, w.graph, &capped[k], &narrow));
        for (int i = 0; i < 64; i++)
            ns[i] = 1;
        for (int i = 0; i < 4; i++)
            CHECK_OK(plant(w.ctx, narrow, ns));
        tern__program_cache_clear(&w.ctx->cache);
        CHECK_OK(tern_graph_compile(w.ctx, w.graph, NULL, &after));
        CHECK(!has_note(after, ""));
        for (uint32_t s = 0; s < after->compiled->plan.n_steps; s++)
            CHECK_EQ(after->compiled->plan.steps[s].parts, w.program->compiled->plan.steps[s].parts);
        tern_program_free(narrow);
        tern_program_free(after);
        close_work(&w);
    }
}

TEST(profiles_outlive_the_process_too)
{
    NEED_SQLITE();
    CHECK(make_folder());
    work w;
    CHECK_OK(open_work(path, 1, &w));
    int steps = (int)w.program->compiled->plan.n_steps;
    uint64_t *ns = calloc((size_t)steps, sizeof *ns);
    CHECK(ns != NULL);
    for (int i = 0; i < steps; i++)
        ns[i] = 1234;
    for (int i = 0; i < 4; i++)
        CHECK_OK(plant(w.ctx, w.program, ns));
    free(ns);
    close_work(&w); /* written when the context goes */
    CHECK_OK(open_work(path, 1, &w));
    tern_tune_report *report = NULL;
    CHECK_OK(tern_tune_list(w.ctx, &report));
    CHECK(tern_tune_report_rows(report) >= 2);
    for (int i = 0; i < tern_tune_report_rows(report); i++) {
        tern_tune_row row;
        CHECK_OK(tern_tune_report_row(report, i, &row));
        CHECK_STR(row.source, "run");
        CHECK_EQ(row.median_ns, 1234);
        CHECK(row.runs % 4 == 0);
    }
    tern_tune_report_free(report);
    close_work(&w);
    remove_folder();
}

TEST(an_exec_that_times_its_steps_leaves_a_profile)
{
    NEED_SQLITE();
    CHECK(make_folder());
    for (int runs = 2; runs <= 3; runs++) {
        work w;
        CHECK_OK(open_work(path, 1, &w));
        tern_exec *exec;
        CHECK_OK(tern_exec_create(w.ctx, w.program, &exec));
        CHECK_OK(tern_exec_time_steps(exec, true));
        tern_tensor *in[INPUTS], *out[OUTPUTS];
        TERN_SCOPE(w.ctx) {
            for (int i = 0; i < INPUTS; i++) {
                tern_port port;
                CHECK_OK(tern_program_input(w.program, i, &port));
                in[i] = port.dtype == TERN_I32 ? tern_zeros(w.ctx, port.dtype, port.rank, port.shape)
                                               : tern_randn(w.ctx, port.dtype, port.rank, port.shape, i);
            }
            for (int i = 0; i < runs; i++)
                CHECK_OK(tern_exec_run(exec, INPUTS, in, OUTPUTS, out));
        }
        tern_exec_free(exec);
        tern_tune_report *report = NULL;
        if (runs == 2) { /* too few to be worth a file */
            CHECK_STATUS(tern_tune_list(w.ctx, &report), TERN_NOT_FOUND);
        } else {
            tern_tune_row row;
            CHECK_OK(tern_tune_list(w.ctx, &report));
            CHECK(tern_tune_report_rows(report) >= 2);
            CHECK_OK(tern_tune_report_row(report, 0, &row));
            CHECK_STR(row.source, "run");
            CHECK(row.runs >= 3 && row.median_ns > 0);
        }
        tern_tune_report_free(report);
        close_work(&w);
    }
    remove_folder();
}

/* ---- without memory ---- */

static tern_status small_program(void)
{
    static const char small[] =
        "graph g {\n  %x = input \"x\" f32[4,40]\n  %0 = exp(%x)\n  %1 = sum(%0) {axes=[1]}\n"
        "  %2 = matmul(%0, %x) {transpose_b=true}\n  return %1, %2\n}\n";
    static const tern_tune_options once = {.runs = 1, .budget_ns = 1};
    tern_ctx *ctx = context(path, 2);
    if (!ctx)
        return TERN_OUT_OF_MEMORY;
    tern_graph *graph = NULL;
    tern_program *program = NULL;
    tern_tune_report *report = NULL, *list = NULL;
    costs c = {.ns = (const uint64_t[]){2, 1}};
    int best = 0;
    tern_status status = tern_graph_parse(ctx, small, sizeof small - 1, &graph);
    if (status == TERN_OK)
        status = tern_graph_compile(ctx, graph, NULL, &program);
    if (status == TERN_OK)
        status = tern_program_tune(ctx, program, 0, NULL, &once, &report);
    uint64_t ns[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    if (status == TERN_OK)
        status = plant(ctx, program, ns);
    if (status == TERN_OK)
        status = tern_tune(ctx, "w", "k", 2, (const char *[]){"a", "b"}, planted, &c, &once, &best, NULL);
    if (status == TERN_OK)
        status = tern_tune_list(ctx, &list);
    tern_tune_report_free(report);
    tern_tune_report_free(list);
    tern_program_free(program);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
    return status;
}

TEST(every_allocation_may_fail)
{
    NEED_SQLITE();
    CHECK(make_folder());
    CHECK_OK(small_program());
    CHECK_OK(tern__store_remove(path));
    tern_alloc_stats before, after;
    tern_alloc_get_stats(&before);
    long failures = 0;
    for (long nth = 1;; nth += harness_every()) {
        gate g = {.countdown = nth};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = small_program();
        tern_alloc_set_gate(NULL, NULL);
        tern_alloc_get_stats(&after);
        CHECK_EQ(after.allocations - after.frees, before.allocations - before.frees);
        if (!g.fired) {
            CHECK_OK(status);
            break;
        }
        failures += status != TERN_OK;
        /* The list of a file that could not be made for want of memory is not there. */
        if (status != TERN_OK && status != TERN_NOT_FOUND)
            CHECK_STATUS(status, TERN_OUT_OF_MEMORY);
        tern__store_remove(path);
    }
    CHECK(failures > 20 / harness_every());
    remove_folder();
}
