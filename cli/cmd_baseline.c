/* cmd_baseline.c - `tern baseline`: results that are kept by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tern/baseline.h>
#include <tern/regress.h>

#include "baselines.h"
#include "bench_suite.h"
#include "commands.h"
#include "disturbed.h"
#include "json.h"
#include "progress.h"
#include "table.h"
#include "term.h"

/* ---- create --------------------------------------------------------------------------------------------------- */

static int measure_sessions(bench_settings *settings, int runs, tern_results *all, disturbed_sessions *seen)
{
    settings->whole = true;
    for (int i = 0; i < runs; i++) {
        tern_results *r = NULL;
        progress_part(i + 1, "measuring", "a session");
        const int code = bench_measure(settings, &r);
        const bool stopped = progress_stopped_by() != 0;
        const bool fits = r && !stopped && results_append(all, r);
        if (fits)
            disturbed_count(r, seen);
        tern_results_free(r);
        if (stopped)
            return fail("stopped in session %d of %d: no baseline was kept", i + 1, runs);
        if (!fits)
            return code == EXIT_DONE ? EXIT_FAILED : code;
    }
    return EXIT_DONE; /* rows without a share of their limit have times all the same */
}

static int measure(bench_settings *settings, int runs, tern_results *all)
{
    disturbed_sessions seen = {0};
    progress_begin_parts("session", runs, true);
    const int code = measure_sessions(settings, runs, all, &seen);
    progress_end();
    if (code == EXIT_DONE)
        disturbed_warn_of_sessions(&seen);
    return code;
}

/* What became of a name. */
static int code_of(tern_status status)
{
    return status == TERN_OK      ? EXIT_DONE
           : status == TERN_STATE ? fail("%s; --replace puts the new one in its place", last_words())
                                  : fail_status(NULL);
}

/* Of what was kept: a line, and how many sessions. */
typedef struct extent {
    text line;
    int sessions;
} extent;

static void add_extent(void *user, const tern_baseline_info *info)
{
    extent *e = user;
    text *to = &e->line;
    e->sessions = info->runs;
    text_add_plural(to, info->benchmarks, "benchmark");
    text_add(to, " in ");
    text_add_plural(to, info->runs, "session");
}

static void warn_of_one_session(const args *a, const char *options)
{
    text again = {0};
    if (options)
        baselines_add_again(&again, a, args_operand(a, 0), options);
    else
        text_add(&again, "several --from make a baseline of more");
    warn("warning: one session tells nothing of what sessions differ by, so that 'tern regress' can call no "
         "time slower%s%s",
         options ? "; of five: " : "; ", text_string(&again));
    text_free(&again);
}

static int keep(const args *a, tern_baselines *store, const tern_results *all)
{
    const char *name = args_operand(a, 0);
    const int code =
        code_of(tern_baseline_create(store, name, args_value(a, "description"), all, args_has(a, "replace")));
    if (code == EXIT_DONE) {
        extent e = {0};
        text_add_safe(&e.line, name);
        text_add(&e.line, ": ");
        tern_baseline_find(store, name, add_extent, &e);
        puts(text_string(&e.line));
        text_free(&e.line);
        if (e.sessions == 1)
            warn_of_one_session(a, tern_results_condition(all, BASELINE_OPTIONS));
    }
    return code;
}

#define MEASURING_OPTIONS                                                                                \
    {"runs", 0, "N", NULL, "measure in N sessions, whose differences are the noise floor (default: 5)"}, \
        {"suite", 0, "NAME", "ops graph alloc compile transfer", "what to measure (default: ops)"},      \
        BENCH_MEASURE_OPTIONS_OF("tern bench SUITE --list")
static const option measuring_options[] = {MEASURING_OPTIONS, {0}};

/* " --family rows --memory 4": what was asked for, but for how many sessions. */
static tern_status note_options(const args *a, tern_results *all)
{
    text words = {0};
    for (const option *o = measuring_options; o->name; o++)
        if (args_value(a, o->name) && strcmp(o->name, "runs") != 0) {
            text_addf(&words, " --%s ", o->name);
            text_add_word(&words, args_value(a, o->name));
        }
    if (args_value(a, "description")) {
        text_add(&words, " --description ");
        text_add_word(&words, args_value(a, "description"));
    }
    const tern_status status = tern_results_set_condition(all, BASELINE_OPTIONS, text_string(&words));
    text_free(&words);
    return status;
}

static int run_create(const args *a)
{
    bench_settings settings;
    tern_baselines *store = NULL;
    tern_results *all;
    int runs;
    if ((args_has(a, "from") &&
         !args_none_of(a, measuring_options, "is of measuring; --from takes results as they are")) ||
        bench_read_settings(a, args_value(a, "suite"), &settings) != EXIT_DONE ||
        !args_int(a, "runs", 1, 100, 5, &runs))
        return EXIT_USAGE;
    if (!args_has(a, "from")) {
        const int there = bench_check(&settings);
        if (there != EXIT_DONE)
            return there;
    }
    if (tern_results_create(&all) != TERN_OK)
        return fail_status(NULL);
    /* Files are read before a store is made for them. What takes minutes is measured only if it can be kept. */
    int code = args_has(a, "from") ? results_append_files(a, all) : EXIT_DONE;
    if (code == EXIT_DONE)
        code = baselines_open(a, true, &store);
    if (code == EXIT_DONE)
        code = code_of(tern_baseline_check_name(store, args_operand(a, 0), args_has(a, "replace")));
    if (code == EXIT_DONE && !args_has(a, "from"))
        code = measure(&settings, runs, all);
    if (code == EXIT_DONE && !args_has(a, "from") && note_options(a, all) != TERN_OK)
        code = fail_status(NULL);
    if (code == EXIT_DONE)
        code = keep(a, store, all);
    tern_baselines_close(store);
    tern_results_free(all);
    return code;
}

static const option create_options[] = {
    {"description", 'd', "TEXT", NULL, "what it is, for `tern baseline list`"},
    {"from", 0, "FILE", NULL,
     "take results from FILE (JSON of `tern bench`), a session each; may be repeated; else they are measured "
     "now"},
    {"replace", 0, NULL, NULL, "an older baseline of this name goes"},
    MEASURING_OPTIONS,
    STORE_OPTION,
    {0},
};

static const command create = {
    .name = "create",
    .operands = "NAME",
    .least = 1,
    .most = 1,
    .summary = "Measure a suite, or read results, and keep them as a baseline.",
    .details = "Without --from the suite is measured --runs times. Sessions tell how much a benchmark "
               "differs from itself "
               "when nothing has changed, which one session cannot; `tern regress` takes nothing below that "
               "for a regression. "
               "The baseline remembers the machine: CPU model, instruction sets, cores and caches.",
    .options = create_options,
    .examples = "tern baseline create main --description 'before the change' --family rows --memory 4\n"
                "tern baseline create main --from a.json --from b.json --replace",
    .run = run_create,
};

/* ---- list, show ------------------------------------------------------------------------------------------------ */

/* What a visitor writes to. */
typedef struct listing {
    table table;
    json *json; /* NULL: the table */
    int n;
} listing;

static const char *date_of(int64_t at, char *to, size_t room)
{
    const time_t t = (time_t)at;
    struct tm day;
    if (!gmtime_r(&t, &day) || !strftime(to, room, "%Y-%m-%d %H:%M", &day))
        to[0] = '\0';
    return to;
}

static void add_info_json(json *j, const tern_baseline_info *info)
{
    json_string(j, "name", info->name);
    json_string(j, "description", info->description);
    json_string(j, "host", info->host);
    json_string(j, "cpu_model", info->cpu_model);
    json_string(j, "version", info->version);
    json_string(j, "build_commit", info->commit);
    json_int(j, "created_at", info->created_at);
    json_int(j, "sessions", info->runs);
    json_int(j, "checks", info->checks);
    json_int(j, "benchmarks", info->benchmarks);
    json_int(j, "rows", info->rows);
}

static void list_one(void *user, const tern_baseline_info *info)
{
    listing *l = user;
    char date[32];
    l->n++;
    if (l->json) {
        json_object(l->json, NULL);
        add_info_json(l->json, info);
        json_end(l->json);
        return;
    }
    table_add_safe(&l->table, info->name);
    table_add(&l->table, date_of(info->created_at, date, sizeof date));
    table_addf(&l->table, "%d", info->benchmarks);
    table_addf(&l->table, "%d", info->runs);
    table_addf(&l->table, "%d", info->checks);
    table_add_safe(&l->table, info->cpu_model);
    table_add_safe(&l->table, info->description);
}

static int run_list(const args *a)
{
    static const table_column columns[] = {
        {"name", false, false, STYLE_NAME},        {"created", false, false, STYLE_NONE},
        {"benchmarks", true, false, STYLE_NONE},   {"sessions", true, false, STYLE_NONE},
        {"checks", true, false, STYLE_NONE},       {"machine", false, true, STYLE_NONE},
        {"description", false, false, STYLE_NONE},
    };
    json j = {0};
    listing l = {.json = args_has(a, "json") ? &j : NULL, .table = table_make(columns, 7)};
    tern_baselines *store;
    int code = baselines_open(a, false, &store);
    if (l.json)
        json_array(&j, NULL);
    if (code == EXIT_DONE && store && tern_baseline_list(store, list_one, &l) != TERN_OK)
        code = fail_status(NULL);
    tern_baselines_close(store);
    if (l.json)
        json_end(&j);
    if (code == EXIT_DONE && l.json)
        json_print(&j);
    else if (code == EXIT_DONE && l.n > 0)
        table_print(&l.table, 0, true);
    else if (code == EXIT_DONE)
        puts("no baselines are kept; 'tern baseline create NAME' makes one");
    if (code != EXIT_DONE || !l.json)
        text_free(&j.out);
    if (code != EXIT_DONE || l.json || l.n == 0)
        table_free(&l.table);
    return code;
}

static const option list_options[] = {
    {"json", 0, NULL, NULL, "print JSON: an array"},
    STORE_OPTION,
    {0},
};

static const command list = {
    .name = "list",
    .operands = "",
    .summary = "List the baselines that are kept.",
    .options = list_options,
    .examples = "tern baseline list",
    .run = run_list,
};

/* Opens the store and loads NAME from it, with its checks if they are wanted. */
static int load(const args *a, bool history, tern_results **out)
{
    tern_baselines *store;
    const char *name = args_operand(a, 0);
    int code = baselines_open_with(a, name, &store);
    if (code == EXIT_DONE) {
        tern_status status = (history ? tern_baseline_history : tern_baseline_load)(store, name, out);
        code = status == TERN_OK ? EXIT_DONE : fail_baseline(status);
    }
    tern_baselines_close(store);
    return code;
}

/* One line for each benchmark: the medians of all its sessions. */
static void show_benchmark(table *t, const tern_results *r, int first)
{
    tern_result row, other;
    double *medians = grab((size_t)tern_results_count(r), sizeof *medians), least = INFINITY, most = 0;
    char operands[640];
    int n = 0;
    tern_history h = {0};
    tern_results_at(r, first, &row);
    for (int i = first; tern_results_at(r, i, &other) == TERN_OK; i++)
        if (other.median_us > 0 && tern_result_same(&row, &other)) {
            medians[n++] = other.median_us;
            least = fmin(least, other.median_us);
            most = fmax(most, other.median_us);
        }
    if (n > 0)
        tern_history_read(medians, n, &h);
    const bool on_cpu = strcmp(row.device, "cpu") == 0;
    char label[256];
    snprintf(label, sizeof label, "%s%s%s", row.name, on_cpu ? "" : " on ", on_cpu ? "" : row.device);
    table_add_safe(t, label);
    table_add_safe(t, bench_operands(&row, operands, sizeof operands));
    table_addf(t, "%d", row.threads);
    table_addf(t, "%d", n);
    char low[TERN_UNIT_TEXT], high[TERN_UNIT_TEXT];
    if (n > 0)
        table_addf(t, "%s to %s", tern_time_text(least * 1e3, low, sizeof low),
                   tern_time_text(most * 1e3, high, sizeof high));
    else
        table_add_safe(t, row.error);
    if (n > 1 && h.noise > 10)
        table_add(t, "above 1000%"); /* of so few sessions that differ so much, the digits mean nothing */
    else if (n > 1)
        table_addf(t, "%.1f%%", h.noise * 100);
    else
        table_add(t, n > 0 ? "unavailable: one session" : "unavailable: it never ran");
    free(medians);
}

static bool is_first(const tern_results *r, int i, const tern_result *row)
{
    tern_result other;
    for (int k = 0; k < i && tern_results_at(r, k, &other) == TERN_OK; k++)
        if (tern_result_same(row, &other))
            return false;
    return true;
}

static int run_show(const args *a)
{
    static const table_column columns[] = {
        {"case", false, false, STYLE_NAME},   {"operands", false, true, STYLE_NONE},
        {"threads", true, false, STYLE_NONE}, {"sessions", true, false, STYLE_NONE},
        {"medians", true, false, STYLE_NONE}, {"noise floor", true, false, STYLE_NONE},
    };
    tern_results *r = NULL;
    tern_result row;
    const char *name, *value;
    int code = load(a, args_has(a, "history"), &r);
    if (code != EXIT_DONE)
        return code;
    if (args_has(a, "json")) {
        code = bench_write(r, TERN_RESULT_JSON, &(out_file){0});
    } else {
        for (int i = 0; tern_results_condition_at(r, i, &name, &value) == TERN_OK; i++) {
            text line = {0};
            text_add_safe(&line, value);
            printf("%-14s %.*s\n", name, 160, text_string(&line));
            text_free(&line);
        }
        table t = table_make(columns, 6);
        for (int i = 0; tern_results_at(r, i, &row) == TERN_OK; i++)
            if (is_first(r, i, &row))
                show_benchmark(&t, r, i);
        putchar('\n');
        table_print(&t, 0, true);
    }
    tern_results_free(r);
    return code;
}

static const option show_options[] = {
    {"history", 0, NULL, NULL, "with the sessions that were compared with it since"},
    {"json", 0, NULL, NULL, "print JSON, as `tern baseline export` writes it"},
    STORE_OPTION,
    {0},
};

static const command show = {
    .name = "show",
    .operands = "NAME",
    .least = 1,
    .most = 1,
    .summary = "Show the conditions, the times and the noise floors of a baseline.",
    .options = show_options,
    .examples = "tern baseline show main",
    .run = run_show,
};

/* ---- delete, export, import -------------------------------------------------------------------------------------- */

static int run_delete(const args *a)
{
    tern_baselines *store;
    int code = baselines_open_with(a, args_operand(a, 0), &store);
    if (code == EXIT_DONE) {
        tern_status status = tern_baseline_delete(store, args_operand(a, 0));
        code = status == TERN_OK ? EXIT_DONE : fail_baseline(status);
    }
    tern_baselines_close(store);
    return code;
}

static const option delete_options[] = {STORE_OPTION, {0}};

static const command delete = {
    .name = "delete",
    .operands = "NAME",
    .least = 1,
    .most = 1,
    .summary = "Remove a baseline and its history.",
    .options = delete_options,
    .examples = "tern baseline delete main",
    .run = run_delete,
};

static int run_export(const args *a)
{
    tern_results *r = NULL;
    out_file to = {0};
    int code = load(a, false, &r);
    if (code == EXIT_DONE)
        code = out_open(args_value(a, "output-file"), &to);
    if (code == EXIT_DONE)
        code = bench_write(r, TERN_RESULT_JSON, &to);
    tern_results_free(r);
    return code;
}

static const option export_options[] = {
    {"output-file", 'o', "FILE", NULL, "write to FILE instead of standard output"},
    STORE_OPTION,
    {0},
};

static const command export = {
    .name = "export",
    .operands = "NAME",
    .least = 1,
    .most = 1,
    .summary = "Write a baseline as JSON, with all its samples.",
    .options = export_options,
    .examples = "tern baseline export main -o main.json",
    .run = run_export,
};

static int run_import(const args *a)
{
    tern_baselines *store;
    tern_results *r = NULL;
    if (!results_load(args_operand(a, 0), &r))
        return EXIT_FAILED;
    const char *name = args_value(a, "name") ? args_value(a, "name") : tern_results_condition(r, "baseline");
    int code = name ? baselines_open(a, true, &store) : fail("the file names no baseline; give --name NAME");
    if (code == EXIT_DONE) {
        code = code_of(tern_baseline_create(store, name, tern_results_condition(r, "description"), r,
                                            args_has(a, "replace")));
        tern_baselines_close(store);
    }
    tern_results_free(r);
    return code;
}

static const option import_options[] = {
    {"name", 0, "NAME", NULL, "keep it under this name (default: the one it had)"},
    {"replace", 0, NULL, NULL, "an older baseline of this name goes"},
    STORE_OPTION,
    {0},
};

static const command import = {
    .name = "import",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .summary = "Keep a baseline that was exported, or the results of `tern bench --format json`.",
    .details = "'-' is standard input.",
    .options = import_options,
    .examples = "tern baseline import main.json --name theirs\n"
                "tern bench ops --family rows --format json | tern baseline import - --name now",
    .run = run_import,
};

/* ---- the group ---------------------------------------------------------------------------------------------------- */

static const command *const verbs[] = {&create, &list, &show, &delete, &export, &import, NULL};

const command cmd_baseline = {
    .name = "baseline",
    .operands = "",
    .summary = "Keep results of benchmarks by name, to compare later ones with.",
    .verbs = verbs,
    .examples = "tern baseline create main --description 'before the change' --family rows --memory 4\n"
                "tern regress --baseline main\n"
                "tern baseline list",
};
