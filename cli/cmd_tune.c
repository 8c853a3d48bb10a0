/* cmd_tune.c - `tern tune`: measures the ways to run the steps of a graph, lists what is remembered, forgets it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/tune.h>

#include "array.h"
#include "bindings.h"
#include "commands.h"
#include "source.h"
#include "table.h"
#include "term.h"

typedef struct tuning {
    const char *path;
    tern_ctx *ctx;
    tern_graph *graph;
    tern_program *program;
    tern_tensor **inputs; /* (n_inputs) NULL: not given, made up */
    int n_inputs;
    tern_tune_report *report;
} tuning;

static void close_tuning(tuning *t)
{
    tern_tune_report_free(t->report);
    free(t->inputs);
    tern_program_free(t->program);
    tern_graph_free(t->graph);
    tern_ctx_destroy(t->ctx);
}

static int open_context(const args *a, tuning *t)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.cpu = args_value(a, "cpu");
    if (!args_int(a, "threads", 1, 1024, 0, &options.threads))
        return EXIT_USAGE;
    tern_status status = tern_ctx_create(&options, &t->ctx);
    if (status == TERN_NOT_FOUND && options.cpu)
        return fail_usage("%s", tern_last_error());
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

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
            json_bool(j, "usual", row.usual);
            json_bool(j, "fastest", row.chosen);
            json_bool(j, "remembered", row.remembered);
        }
        json_end(j);
    }
    json_end(j);
}

/* ---- tern tune FILE ------------------------------------------------------------------------------------------- */

static bool compile(const args *a, tuning *t)
{
    if (!read_graph(t->ctx, t->path, &t->graph, NULL))
        return false;
    tern_compile_options options = tern_compile_options_default();
    const char *level = args_value(a, "level");
    if ((level && tern_level_parse(level, &options.level) != TERN_OK) ||
        tern_graph_compile(t->ctx, t->graph, &options, &t->program) != TERN_OK) {
        fail_status(source_name(t->path));
        return false;
    }
    t->n_inputs = tern_program_inputs(t->program);
    t->inputs = grab((size_t)t->n_inputs, sizeof *t->inputs);
    return true;
}

/* Inputs that were given; the others stay NULL. */
static bool load_inputs(bindings *given, tuning *t)
{
    for (int k = 0; k < given->n; k++) {
        binding *b = &given->items[k];
        tern_port port;
        for (int i = 0; i < t->n_inputs && !b->used; i++) {
            if (tern_program_input(t->program, i, &port) != TERN_OK || !port.name ||
                strcmp(port.name, b->name) != 0)
                continue;
            b->used = true;
            if (!array_load(t->ctx, b->file, b->name, &t->inputs[i]))
                return false;
        }
        if (!b->used) {
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
    fprintf(stderr, "%s%d/%d  step %d  %s  %s  %s%s", *terminal ? "\r\033[K" : "", done, total, row->step,
            row->op, row->candidate, row->remembered ? "remembered" : time,
            *terminal && done < total ? "" : "\n");
}

static void print_rows(const tuning *t)
{
    static const table_column columns[] = {
        {"step", true, false, STYLE_NONE},    {"op", false, false, STYLE_NAME},
        {"with", false, true, STYLE_NONE},    {"median", true, false, STYLE_NUMBER},
        {"least", true, false, STYLE_NUMBER}, {"runs", true, false, STYLE_NONE},
        {"", false, false, STYLE_BOLD},
    };
    table rows = table_make(columns, (int)(sizeof columns / sizeof *columns));
    tern_tune_row row;
    int last = -1, steps = 0, gains = 0;
    for (int i = 0; next_row(t->report, i, &row); i++) {
        bool first = row.step != last;
        steps += first;
        gains += row.chosen && !row.usual;
        last = row.step;
        if (first)
            table_addf(&rows, "%d", row.step);
        else
            table_add(&rows, "");
        table_add(&rows, first ? row.op : "");
        table_add(&rows, row.candidate);
        add_times(&rows, &row);
        table_add(&rows, mark_of(&row));
    }
    if (steps == 0) {
        table_free(&rows);
        puts("no step can run in more than one way");
        return;
    }
    table_print(&rows, 2, true);
    uint64_t runs = tern_tune_report_runs(t->report);
    printf("\n%d of %d steps run faster than usual; ", gains, steps);
    if (runs == 0)
        printf("all of it was remembered\n");
    else
        printf("%llu runs were measured\n", (unsigned long long)runs);
    const char *path = tern_tune_path(t->ctx);
    if (path[0])
        printf("kept in %s\n", path);
    else
        printf("not kept: tuning results are switched off, or this build has no SQLite\n");
}

static int tune(const args *a, tuning *t, bindings *inputs)
{
    tern_tune_options options = tern_tune_options_default();
    bool terminal = isatty(STDERR_FILENO);
    options.again = args_has(a, "again");
    options.progress = show_progress;
    options.user = &terminal;
    if (!args_int(a, "runs", 1, 101, 7, &options.runs))
        return EXIT_USAGE;
    int code = open_context(a, t);
    if (code != EXIT_DONE)
        return code;
    if (!compile(a, t) || !load_inputs(inputs, t))
        return EXIT_FAILED;
    if (tern_program_tune(t->ctx, t->program, t->n_inputs, t->inputs, &options, &t->report) != TERN_OK)
        return fail_status(source_name(t->path));
    if (!args_has(a, "json")) {
        print_rows(t);
        return EXIT_DONE;
    }
    json j = {0};
    json_object(&j, NULL);
    json_string(&j, "graph", t->path);
    json_string(&j, "kept_in", tern_tune_path(t->ctx));
    json_uint(&j, "runs", tern_tune_report_runs(t->report));
    rows_json(&j, t->report, false);
    json_end(&j);
    json_print(&j);
    return EXIT_DONE;
}

/* ---- tern tune --list, --clear --------------------------------------------------------------------------------- */

static void print_list(const tuning *t)
{
    static const table_column columns[] = {
        {"op", false, false, STYLE_NAME},      {"shapes", false, true, STYLE_NONE},
        {"with", false, true, STYLE_NONE},     {"from", false, false, STYLE_DIM},
        {"median", true, false, STYLE_NUMBER}, {"least", true, false, STYLE_NUMBER},
        {"runs", true, false, STYLE_NONE},     {"status", false, false, STYLE_NONE},
        {"cpu", false, true, STYLE_DIM},       {"version", false, false, STYLE_DIM},
    };
    table rows = table_make(columns, (int)(sizeof columns / sizeof *columns));
    tern_tune_row row;
    for (int i = 0; next_row(t->report, i, &row); i++) {
        add_safe_cell(&rows, row.op);
        add_safe_cell(&rows, row.shapes);
        add_safe_cell(&rows, row.candidate);
        add_safe_cell(&rows, row.source);
        add_times(&rows, &row);
        table_add(&rows, tern_status_name(row.status));
        add_safe_cell(&rows, row.cpu);
        add_safe_cell(&rows, row.version);
    }
    table_print(&rows, 0, true);
}

static int list(const args *a, tuning *t)
{
    int code = open_context(a, t);
    if (code != EXIT_DONE)
        return code;
    tern_status status = tern_tune_list(t->ctx, &t->report);
    if (status != TERN_OK && status != TERN_NOT_FOUND)
        return fail_status(NULL);
    const char *path = tern_tune_path(t->ctx);
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
    int code = open_context(a, t);
    if (code != EXIT_DONE)
        return code;
    tern_status status = tern_tune_clear(t->ctx);
    if (status != TERN_OK && status != TERN_NOT_FOUND)
        return fail_status(NULL);
    if (status == TERN_OK)
        printf("removed %s\n", tern_tune_path(t->ctx));
    else
        puts("nothing was remembered");
    return EXIT_DONE;
}

static int run(const args *a)
{
    bool lists = args_has(a, "list"), clears = args_has(a, "clear");
    int n = args_operands(a);
    if (lists + clears + (n > 0) != 1)
        return fail_usage("takes a FILE, --list or --clear");
    if (clears && args_has(a, "json"))
        return fail_usage("--clear and --json exclude each other");
    tuning t = {.path = args_operand(a, 0)};
    bindings inputs = {0};
    int code = EXIT_USAGE;
    if (lists)
        code = list(a, &t);
    else if (clears)
        code = clear(a, &t);
    else if (bindings_parse(a, "input", &inputs))
        code = tune(a, &t, &inputs);
    close_tuning(&t);
    bindings_free(&inputs);
    return code;
}

#define LEVEL_NAME(id, number, name, meaning) name " "

/* clang-format off */
static const option options[] = {
    {"list", 0, NULL, NULL, "show what is remembered, of every CPU and version"},
    {"clear", 0, NULL, NULL, "forget everything: remove the file, even a damaged one"},
    {"input", 'i', "NAME=FILE", NULL, "give an input as for `tern graph run`; those that are not given are made up; may be repeated"},
    {"again", 0, NULL, NULL, "measure also what is remembered"},
    {"runs", 0, "N", NULL, "time every way N times, 1 to 101 (default: 7)"},
    {"level", 0, "LEVEL", TERN_LEVEL_LIST(LEVEL_NAME), "compile at LEVEL, by default medium"},
    {"threads", 0, "N", NULL, "tune for N threads (default: as many as the machine allows)"},
    {"cpu", 0, "LEVEL", NULL, "use no instruction set above LEVEL, such as avx2 (default: $TERN_CPU, else the best)"},
    {"json", 0, NULL, NULL, "print the rows as JSON"},
    {0},
};
/* clang-format on */

const command cmd_tune = {
    .name = "tune",
    .operands = "[FILE]",
    .least = 0,
    .most = 1,
    .summary = "Measure the ways to run the steps of a graph, and remember the fastest.",
    .details = "FILE is a graph in the text form of docs/graph-text.md; '-' is standard input. What is found "
               "is kept in the "
               "file that $TERN_TUNING names (default: tern/tuning.db in $XDG_CACHE_HOME or ~/.cache; 'off': "
               "nowhere) and "
               "used whenever the same steps are compiled on this CPU with this version. No result changes. "
               "Progress goes "
               "to standard error.",
    .options = options,
    .examples = "tern tune examples/graphs/mlp.tern\n"
                "tern tune --list",
    .run = run,
};
