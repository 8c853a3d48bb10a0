/* cmd_graph_compile.c - `tern graph compile`: compile without running, and show every decision. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "compile.h"
#include "json.h"
#include "partitions.h"
#include "source.h"
#include "term.h"

/* ---- files ---- */

/* '-' is standard output. Returns an exit code; a failure was said. */
static int write_file(const char *path, const char *content)
{
    if (strcmp(path, "-") == 0)
        return term_put(content) ? EXIT_DONE : EXIT_FAILED;
    FILE *file = fopen(path, "wb");
    bool ok = file && fputs(content, file) >= 0;
    ok = file && fclose(file) == 0 && ok;
    return ok ? EXIT_DONE : fail("cannot write '%s': %s", path, strerror(errno));
}

/* ---- the graph after every pass ---- */

typedef struct tracer {
    const char *dir;
    int number;
    int code; /* the first failure ends it */
} tracer;

static void write_graph(tracer *t, const char *name, const tern_graph *graph)
{
    char *printed = NULL;
    if (t->code != EXIT_DONE)
        return;
    if (tern_graph_print(graph, &printed) != TERN_OK) {
        t->code = fail_status(NULL);
        return;
    }
    text path = {0};
    text_addf(&path, "%s/%02d-%s.tern", t->dir, t->number++, name);
    t->code = write_file(text_string(&path), printed);
    text_free(&path);
    tern_string_free(printed);
}

static void see_pass(void *user, const char *pass, int changes, const tern_graph *graph)
{
    (void)changes;
    write_graph(user, pass, graph);
}

/* "07-layout.tern": a file of an earlier trace. */
static bool is_trace(const char *name)
{
    size_t length = strlen(name);
    return length > 8 && name[0] >= '0' && name[0] <= '9' && name[1] >= '0' && name[1] <= '9' &&
           name[2] == '-' && strcmp(name + length - 5, ".tern") == 0;
}

/* What an earlier trace with other passes left would read as if it belonged to this one. */
static int make_directory(const char *path)
{
    if (mkdir(path, 0777) == 0)
        return EXIT_DONE;
    int code = EXIT_DONE;
    DIR *dir = opendir(path);
    if (!dir)
        return fail("cannot make directory '%s': %s", path, strerror(errno));
    for (const struct dirent *entry; code == EXIT_DONE && (entry = readdir(dir));) {
        text file = {0};
        text_addf(&file, "%s/%s", path, entry->d_name);
        if (is_trace(entry->d_name) && remove(text_string(&file)) != 0)
            code = fail("cannot remove '%s': %s", text_string(&file), strerror(errno));
        text_free(&file);
    }
    closedir(dir);
    return code;
}

/* ---- reports ---- */

static int print_summary(const graph_run *r)
{
    char number[NUMBER_TEXT];
    text line = {0};
    text_add_safe(&line, source_name(r->path));
    text_addf(&line, ": %d %s %d nodes, ", r->info.nodes_before, glyph_of(GLYPH_ARROW), r->info.nodes_after);
    text_add_plural(&line, r->info.steps, "step");
    text_addf(&line, ", %s for intermediates", format_bytes(number, r->info.arena_bytes));
    text_addf(&line, ", compiled in %s", format_time(number, r->info.compile_ns));
    if (r->info.batch > 0)
        text_addf(&line, "; for batches of %" PRId64 " to %" PRId64, r->info.batch_least, r->info.batch_most);
    puts(text_string(&line));
    text_free(&line);
    return EXIT_DONE;
}

/* What level high would fuse: only a compilation can tell. */
static int explain(const args *a, const graph_run *r)
{
    tern_compile_options high = tern_compile_options_default();
    tern_program *higher = NULL;
    machine_rates rates;
    bool estimates = args_has(a, "explain");
    int code = estimates ? rates_find(a, r->ctx, &rates) : EXIT_DONE;
    if (code != EXIT_DONE)
        return code;
    high.level = TERN_LEVEL_HIGH;
    if (tern_graph_compile(r->ctx, r->graph, &high, &higher) != TERN_OK)
        return fail_status(source_name(r->path));
    if (args_has(a, "json"))
        compile_json_print(r, estimates ? &rates : NULL, higher);
    else
        explain_print(r, &rates, higher);
    tern_program_free(higher);
    return EXIT_DONE;
}

static int write_dot(const graph_run *r, const char *path)
{
    char *drawing;
    if (tern_program_dot(r->program, &drawing) != TERN_OK)
        return fail_status(NULL);
    int code = write_file(path, drawing);
    tern_string_free(drawing);
    return code;
}

static int report(const args *a, const graph_run *r)
{
    const char *dot = args_value(a, "dot");
    int code = dot ? write_dot(r, dot) : EXIT_DONE;
    if (code != EXIT_DONE || (dot && strcmp(dot, "-") == 0))
        return code;
    if (args_has(a, "explain") || args_has(a, "json"))
        return explain(a, r);
    return print_summary(r);
}

static int run(const args *a)
{
    const char *dot = args_value(a, "dot");
    if (dot && strcmp(dot, "-") == 0 && (args_has(a, "explain") || args_has(a, "json")))
        return fail_usage("--dot - and --%s both write to standard output",
                          args_has(a, "json") ? "json" : "explain");
    graph_run r = {.path = args_operand(a, 0)};
    tracer t = {.dir = args_value(a, "trace-passes"), .number = 1};
    int code = t.dir ? make_directory(t.dir) : EXIT_DONE;
    if (code == EXIT_DONE)
        code = compile_open(a, &r, t.dir ? see_pass : NULL, &t);
    if (code == EXIT_DONE && t.dir && t.code == EXIT_DONE) {
        t.number = 0;
        write_graph(&t, "recorded", r.graph);
    }
    if (code == EXIT_DONE)
        code = t.code;
    if (code == EXIT_DONE)
        code = report(a, &r);
    compile_close(&r);
    return code;
}

/* clang-format off */
static const option compile_options[] = {
    COMPILE_OPTIONS,
    NO_TUNE_OPTION,
    {"explain", 0, NULL, NULL, "report every decision: passes, fusions, memory, steps with estimated times"},
    {"json", 0, NULL, NULL, "print JSON; with --explain, with estimated times"},
    {"dot", 0, "FILE", NULL, "write a drawing of the graph before and after, for Graphviz; '-' is standard output"},
    {"trace-passes", 0, "DIR", NULL, "write the graph after every pass into DIR, as text, and remove the files of an earlier trace from it"},
    ESTIMATE_OPTIONS,
    {0},
};
/* clang-format on */

const command cmd_graph_compile = {
    .name = "compile",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .summary = "Compile a graph without running it, and show what the compiler did.",
    .details = "FILE is a graph in the text form of docs/graph-text.md; '-' is standard input. Estimates are "
               "made from "
               "rates that are measured on this machine when they are needed, unless they are given.",
    .options = compile_options,
    .elsewhere = "input",
    .instead = "data for constants are given with --constant NAME=FILE",
    .examples = "tern graph compile examples/graphs/mlp.tern --explain\n"
                "tern graph compile examples/graphs/mlp.tern --level high --disable fuse --json\n"
                "tern graph compile examples/graphs/mlp.tern --dot mlp.dot && dot -Tsvg mlp.dot > mlp.svg",
    .run = run,
};
