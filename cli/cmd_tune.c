/* cmd_tune.c - `tern tune`: measures the ways to run the steps of a graph, lists what is remembered, forgets it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/tune.h>

#include "array.h"
#include "bindings.h"
#include "commands.h"
#include "compile.h"
#include "source.h"
#include "table.h"
#include "term.h"

typedef struct tuning {
    graph_run run;
    tern_tune_report *report;
} tuning;

/* ---- rows as people and programs read them ------------------------------------------------------------------- */

static const char *mark_of(const tern_tune_row *row)
{
    return row->status != TERN_OK      ? tern_status_name(row->status)
           : row->chosen && row->usual ? "fastest, and usual"
           : row->chosen               ? "fastest"
           : row->usual                ? "usual"
                                       : "";
}

static void add_times(table *t, const tern_tune_row *row)
{
    char number[NUMBER_TEXT];
    bool known = row->status == TERN_OK && row->runs > 0;
    table_add(t, known ? format_time(number, row->median_ns) : "");
    table_add(t, known ? format_time(number, row->min_ns) : "");
    table_addf(t, "%d", row->runs);
}

static void add_safe_cell(table *t, const char *string)
{
    text cell = {0};
    text_add_safe(&cell, string);
    table_add(t, text_string(&cell));
    text_free(&cell);
}

static bool next_row(const tern_tune_report *report, int i, tern_tune_row *row)
{
    return i < tern_tune_report_rows(report) && tern_tune_report_row(report, i, row) == TERN_OK;
}

static void add_ops(text *t, const tern_tune_row *row)
{
    for (int i = 0; i < row->n_ops; i++) {
        text_add(t, i ? " + " : "");
        text_add_safe(t, row->ops[i]);
    }
}

static void rows_json(json *j, const tern_tune_report *report, bool listed)
{
    tern_tune_row row;
    json_array(j, "rows");
    for (int i = 0; next_row(report, i, &row); i++) {
        bool known = row.status == TERN_OK && row.runs > 0;
        json_object(j, NULL);
        if (!listed)
            json_int(j, "step", row.step);
        json_string(j, "op", row.op);
        json_array(j, "ops");
        for (int k = 0; k < row.n_ops; k++)
            json_string(j, NULL, row.ops[k]);
        json_end(j);
        json_string(j, "shapes", row.shapes);
        json_string(j, "params", row.params);
        json_string(j, "candidate", row.candidate);
        json_string(j, "source", row.source);
        json_int(j, "threads", row.threads);
        json_string(j, "cpu", row.cpu);
        json_string(j, "version", row.version);
        json_string(j, "status", tern_status_name(row.status));
        json_int(j, "runs", row.runs);
        if (known) {
            json_double(j, "median_us", (double)row.median_ns / 1e3);
            json_double(j, "min_us", (double)row.min_ns / 1e3);
        } else {
            json_null(j, "median_us");
            json_null(j, "min_us");
        }
        if (!listed) {
            if (row.run_median_ns)
                json_double(j, "run_median_us", (double)row.run_median_ns / 1e3);
            else
                json_null(j, "run_median_us");
            json_bool(j, "usual", row.usual);
            json_bool(j, "fastest", row.chosen);
            json_bool(j, "remembered", row.remembered);
        }
        json_end(j);
    }
    json_end(j);
}

/* ---- tern tune FILE ------------------------------------------------------------------------------------------- */

/* Inputs that were given; the others stay NULL. */
static bool load_inputs(bindings *given, graph_run *r)
{
    r->inputs = grab((size_t)r->n_inputs, sizeof *r->inputs);
    for (int k = 0; k < given->n; k++) {
        binding *b = &given->items[k];
        tern_port port;
        for (int i = 0; i < r->n_inputs && !b->used; i++) {
            if (tern_program_input(r->program, i, &port) != TERN_OK || !port.name ||
                strcmp(port.name, b->name) != 0)
                continue;
            b->used = true;
            if (!array_load(r->ctx, b->file, b->name, &r->inputs[i]) ||
                !bindings_check_type(&port, b, r->inputs[i]))
                return false;
        }
        if (!b->used && !b->spread) {
            fail("no input is called '%s'", b->name);
            return false;
        }
    }
    return true;
}

/* One line on stderr, rewritten on a terminal. */
static void show_progress(void *user, const tern_tune_row *row, int done, int total)
{
    const bool *terminal = user;
    char number[NUMBER_TEXT];
    const char *time =
        row->status == TERN_OK ? format_time(number, row->median_ns) : tern_status_name(row->status);
    text ops = {0};
    add_ops(&ops, row);
    fprintf(stderr, "%s%d/%d  step %d  %s  %s  %s%s", *terminal ? "\r\033[K" : "", done, total, row->step,
            text_string(&ops), row->candidate, row->remembered ? "remembered" : time,
            *terminal && done < total ? "" : "\n");
    text_free(&ops);
}

static void print_summary(const tuning *t, int gains, int steps)
{
    uint64_t runs = tern_tune_report_runs(t->report);
    const int all = t->run.info.steps;
    if (all > steps)
        printf("\n%d of %d steps can run in one way only and %s not shown", all - steps, all,
               all - steps == 1 ? "is" : "are");
    printf("\n%d of %d steps run faster than usual; ", gains, steps);
    if (runs == 0)
        printf("all of it was remembered\n");
    else
        printf("%llu runs were measured\n", (unsigned long long)runs);
}

/* A heading for each step, and below it the ways to run it. What ordinary runs took has a column if it counts anywhere. */
static void print_rows(const tuning *t)
{
    static const table_column alone[] = {
        {"with", false, true, STYLE_NONE},    {"median", true, false, STYLE_NUMBER},
        {"least", true, false, STYLE_NUMBER}, {"runs", true, false, STYLE_NONE},
        {"", false, false, STYLE_BOLD},
    };
    static const table_column beside_runs[] = {
        {"with", false, true, STYLE_NONE},          {"median", true, false, STYLE_NUMBER},
        {"least", true, false, STYLE_NUMBER},       {"runs", true, false, STYLE_NONE},
        {"in programs", true, false, STYLE_NUMBER}, {"", false, false, STYLE_BOLD},
    };
    char number[NUMBER_TEXT];
    tern_tune_row row;
    int last = -1, steps = 0, gains = 0;
    bool in_runs = false;
    for (int i = 0; next_row(t->report, i, &row); i++)
        in_runs = in_runs || row.run_median_ns;
    table rows = table_make(in_runs ? beside_runs : alone, in_runs ? 6 : 5);
    for (int i = 0; next_row(t->report, i, &row); i++) {
        if (row.step != last) {
            text title = {0};
            text_addf(&title, "step %d  ", row.step);
            add_ops(&title, &row);
            table_add_heading(&rows, text_string(&title));
            text_free(&title);
        }
        steps += row.step != last;
        gains += row.chosen && !row.usual;
        last = row.step;
        table_add(&rows, row.candidate);
        add_times(&rows, &row);
        if (in_runs)
            table_add(&rows, row.run_median_ns ? format_time(number, row.run_median_ns) : "");
        table_add(&rows, mark_of(&row));
    }
    if (steps == 0) {
        table_free(&rows);
        puts("no step can run in more than one way");
        return;
    }
    table_print(&rows, 2, true);
    if (in_runs)
        puts("\nin programs: the median of ordinary runs, which decides where it is known; the others are "
             "expected to take "
             "as much longer there");
    print_summary(t, gains, steps);
}

/* Where the results are, as the last line; or why they are nowhere, which is a failure unless that was asked for. */
static int say_where(const tuning *t, bool quiet)
{
    const char *path = tern_tune_path(t->run.ctx), *trouble = tern_tune_trouble(t->run.ctx);
    if (trouble[0])
        return fail("not kept: %s", trouble);
    if (!quiet && path[0])
        printf("kept in %s\n", path);
    else if (!quiet)
        printf("not kept: tuning results are switched off, or this build has no SQLite\n");
    return EXIT_DONE;
}

/* A file that is no store of ours would be found out when all has been measured: it is opened first. */
static int open_results(const tuning *t)
{
    tern_tune_report *kept = NULL;
    const tern_status status = tern_tune_list(t->run.ctx, &kept);
    tern_tune_report_free(kept);
    return status == TERN_FORMAT ? fail_status(NULL) : EXIT_DONE;
}

static int tune(const args *a, tuning *t, bindings *inputs)
{
    graph_run *r = &t->run;
    tern_tune_options options = tern_tune_options_default();
    bool terminal = isatty(STDERR_FILENO);
    options.again = args_has(a, "again");
    options.progress = show_progress;
    options.user = &terminal;
    if (!args_int(a, "runs", 1, 101, 7, &options.runs))
        return EXIT_USAGE;
    r->given = inputs;
    r->makes_up = true; /* made up, constants are constants all the same: what is tuned is what will run */
    int code = compile_open(a, r, NULL, NULL);
    if (code == EXIT_DONE)
        code = open_results(t);
    if (code != EXIT_DONE)
        return code;
    if (!load_inputs(inputs, r))
        return EXIT_FAILED;
    if (tern_program_tune(r->ctx, r->program, r->n_inputs, r->inputs, &options, &t->report) != TERN_OK)
        return fail_status(source_name(r->path));
    if (!args_has(a, "json")) {
        print_rows(t);
        return tern_tune_report_rows(t->report) > 0 ? say_where(t, false) : EXIT_DONE;
    }
    json j = {0};
    json_object(&j, NULL);
    json_string(&j, "graph", t->run.path);
    json_string(&j, "kept_in", tern_tune_trouble(t->run.ctx)[0] ? "" : tern_tune_path(t->run.ctx));
    json_uint(&j, "runs", tern_tune_report_runs(t->report));
    rows_json(&j, t->report, false);
    json_end(&j);
    json_print(&j);
    return say_where(t, true);
}

/* ---- tern tune --devices -------------------------------------------------------------------------------------- */

static void show_device_progress(void *user, const tern_tune_row *row, int done, int total)
{
    const bool *terminal = user;
    char number[NUMBER_TEXT];
    fprintf(stderr, "%s%d/%d  %s  %s  %s  %s%s", *terminal ? "\r\033[K" : "", done, total, row->op,
            row->shapes, row->candidate,
            row->status == TERN_OK ? format_time(number, row->median_ns) : tern_status_name(row->status),
            *terminal && done < total ? "" : "\n");
}

/* "12.3 GB/s", "45.6 Gflop/s": work in its unit over time. */
static void add_rate(table *t, const tern_tune_row *row)
{
    const double work = strtod(row->candidate, NULL), ns = (double)row->median_ns;
    const char *unit = strstr(row->candidate, "flops") ? "Gflop/s" : "GB/s";
    if (row->status == TERN_UNSUPPORTED)
        table_add(t, "it cannot do this");
    else if (row->status != TERN_OK)
        table_addf(t, "it failed: %s", tern_status_name(row->status));
    else if (work > 0 && ns > 0)
        table_addf(t, "%.2f %s", work / ns, unit);
    else
        table_add(t, "");
}

/* A heading for each device, then its kinds of work. */
static void print_devices(const tuning *t)
{
    static const table_column columns[] = {
        {"kind", false, false, STYLE_NAME},
        {"work", true, false, STYLE_NONE},
        {"a step", true, false, STYLE_NUMBER},
        {"rate", false, false, STYLE_NONE},
    };
    table rows = table_make(columns, (int)(sizeof columns / sizeof *columns));
    tern_tune_row row;
    char last[64] = "", number[NUMBER_TEXT];
    for (int i = 0; next_row(t->report, i, &row); i++) {
        if (strcmp(row.op, last) != 0) {
            text title = {0};
            text_addf(&title, "%s  ", strchr(row.op, ':') ? strchr(row.op, ':') + 1 : row.op);
            text_add_safe(&title, row.params);
            table_add_heading(&rows, text_string(&title));
            text_free(&title);
            snprintf(last, sizeof last, "%s", row.op);
        }
        table_add(&rows, row.shapes);
        table_add(&rows, row.candidate);
        table_add(&rows, row.status == TERN_OK ? format_time(number, row.median_ns) : "");
        add_rate(&rows, &row);
    }
    table_print(&rows, 2, true);
}

static int tune_devices(const args *a, tuning *t)
{
    tern_tune_options options = tern_tune_options_default();
    bool terminal = isatty(STDERR_FILENO);
    const char *name = args_value(a, "device");
    options.progress = show_device_progress;
    options.user = &terminal;
    if (!args_int(a, "runs", 1, 101, 15, &options.runs))
        return EXIT_USAGE;
    int code = compile_open_context(a, &t->run);
    if (code == EXIT_DONE)
        code = open_results(t);
    if (code != EXIT_DONE)
        return code;
    if (tern_tune_devices(t->run.ctx, name ? 1 : 0, &name, &options, &t->report) != TERN_OK)
        return fail_status(NULL);
    if (!args_has(a, "json")) {
        print_devices(t);
        printf("\n%llu runs were measured, with ", (unsigned long long)tern_tune_report_runs(t->report));
        printf("%d threads\n", tern_ctx_threads(t->run.ctx));
        return say_where(t, false);
    }
    json j = {0};
    json_object(&j, NULL);
    json_string(&j, "kept_in", tern_tune_trouble(t->run.ctx)[0] ? "" : tern_tune_path(t->run.ctx));
    json_uint(&j, "runs", tern_tune_report_runs(t->report));
    rows_json(&j, t->report, true);
    json_end(&j);
    json_print(&j);
    return say_where(t, true);
}

/* ---- tern tune --list, --clear --------------------------------------------------------------------------------- */

/* One table for each machine and version, with a heading for each thing that was measured. */
static int print_part(const tuning *t, int from)
{
    static const table_column columns[] = {
        {"with", false, true, STYLE_NONE},     {"from", false, false, STYLE_DIM},
        {"median", true, false, STYLE_NUMBER}, {"least", true, false, STYLE_NUMBER},
        {"runs", true, false, STYLE_NONE},     {"", false, false, STYLE_NONE},
    };
    table rows = table_make(columns, (int)(sizeof columns / sizeof *columns));
    tern_tune_row first, row, last = {.op = "", .shapes = "", .params = ""};
    int i = from;
    text title = {0};
    next_row(t->report, from, &first);
    text_add_safe(&title, first.cpu);
    text_add(&title, ", ");
    text_add_plural(&title, first.threads, "thread");
    text_add(&title, ", version ");
    text_add_safe(&title, first.version);
    printf("%s%s%s%s\n", from > 0 ? "\n" : "", on(STYLE_TITLE), text_string(&title), off(STYLE_TITLE));
    for (; next_row(t->report, i, &row); i++) {
        if (strcmp(row.cpu, first.cpu) != 0 || strcmp(row.version, first.version) != 0 ||
            row.threads != first.threads)
            break;
        if (strcmp(row.op, last.op) != 0 || strcmp(row.shapes, last.shapes) != 0 ||
            strcmp(row.params, last.params) != 0) {
            text_clear(&title);
            add_ops(&title, &row);
            text_add(&title, "  ");
            text_add_safe(&title, row.shapes);
            table_add_heading(&rows, text_string(&title));
        }
        last = row;
        add_safe_cell(&rows, row.candidate);
        add_safe_cell(&rows, row.source);
        add_times(&rows, &row);
        table_add(&rows, row.status == TERN_OK ? "" : tern_status_name(row.status));
    }
    table_print(&rows, 2, true);
    text_free(&title);
    return i;
}

static void print_list(const tuning *t)
{
    for (int i = 0; i < tern_tune_report_rows(t->report);)
        i = print_part(t, i);
}

static int list(const args *a, tuning *t)
{
    int code = compile_open_context(a, &t->run);
    if (code != EXIT_DONE)
        return code;
    tern_status status = tern_tune_list(t->run.ctx, &t->report);
    if (status != TERN_OK && status != TERN_NOT_FOUND)
        return fail_status(NULL);
    const char *path = tern_tune_path(t->run.ctx);
    if (args_has(a, "json")) {
        json j = {0};
        json_object(&j, NULL);
        json_string(&j, "kept_in", path);
        rows_json(&j, t->report, true);
        json_end(&j);
        json_print(&j);
    } else if (tern_tune_report_rows(t->report) > 0) {
        print_list(t);
    } else if (path[0]) {
        printf("nothing is remembered in %s\n", path);
    } else {
        puts("nothing is remembered: tuning results are switched off");
    }
    return EXIT_DONE;
}

static int clear(const args *a, tuning *t)
{
    int code = compile_open_context(a, &t->run);
    if (code != EXIT_DONE)
        return code;
    tern_status status = tern_tune_clear(t->run.ctx);
    if (status != TERN_OK && status != TERN_NOT_FOUND)
        return fail_status(NULL);
    if (status == TERN_OK)
        printf("removed %s\n", tern_tune_path(t->run.ctx));
    else
        puts("nothing was remembered");
    return EXIT_DONE;
}

static int run(const args *a)
{
    bool lists = args_has(a, "list"), clears = args_has(a, "clear"), devices = args_has(a, "devices");
    int n = args_operands(a);
    if (lists + clears + devices + (n > 0) != 1)
        return fail_usage("takes a FILE, --devices, --list or --clear");
    if (clears && args_has(a, "json"))
        return fail_usage("--clear and --json exclude each other");
    tuning t = {.run = {.path = args_operand(a, 0)}};
    bindings inputs = {0};
    int code = EXIT_USAGE;
    if (devices)
        code = tune_devices(a, &t);
    else if (lists)
        code = list(a, &t);
    else if (clears)
        code = clear(a, &t);
    else if (bindings_parse(a, "input", &inputs))
        code = tune(a, &t, &inputs);
    tern_tune_report_free(t.report);
    compile_close(&t.run);
    bindings_free(&inputs);
    return code;
}

/* clang-format off */
static const option options[] = {
    {"devices", 0, NULL, NULL, "measure what kinds of work take on every device, or on --device NAME: what --device auto decides by"},
    {"list", 0, NULL, NULL, "show what is remembered, of every CPU and version"},
    {"clear", 0, NULL, NULL, "forget everything: remove the file, even a damaged one"},
    {"input", 'i', "NAME=FILE", NULL, "give an input as for `tern graph run`; those that are not given are made up, constants too; may be repeated"},
    {"again", 0, NULL, NULL, "measure also what is remembered"},
    {"runs", 0, "N", NULL, "time every way N times, 1 to 101 (default: 7)"},
    COMPILE_OPTIONS,
    {"json", 0, NULL, NULL, "print the rows as JSON"},
    {0},
};
/* clang-format on */

const command cmd_tune = {
    .name = "tune",
    .operands = "[FILE]",
    .least = 0,
    .most = 1,
    .summary = "Measure the ways to run the steps of a graph, or devices, and remember it.",
    .details = "FILE is a graph in the text form of docs/graph-text.md; '-' is standard input. What is found "
               "is kept in the "
               "file that $TERN_TUNING names (default: tern/tuning.db in $XDG_CACHE_HOME or ~/.cache; 'off': "
               "nowhere) and "
               "used whenever the same steps are compiled on this CPU with this version. No result changes. "
               "--devices measures launches, borders of partitions, and rates by kind of work instead "
               "(docs/devices.md). "
               "Progress goes "
               "to standard error.",
    .options = options,
    .examples = "tern tune examples/graphs/mlp.tern\n"
                "tern tune --devices --device cpu --runs 3\n"
                "tern tune --list",
    .run = run,
};
