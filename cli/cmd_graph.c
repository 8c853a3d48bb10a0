/* cmd_graph.c - `tern graph`: its verbs, and the two that only read: print and check. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "json.h"
#include "ports.h"
#include "source.h"
#include "term.h"

/* ---- print -------------------------------------------------------------------------------------------------- */

static tern_status print_json(const tern_graph *graph, const char *path, const char *printed)
{
    json j = {0};
    json_object(&j, NULL);
    json_string(&j, "graph", path);
    ports_json(&j, graph);
    json_string(&j, "text", printed);
    json_end(&j);
    json_print(&j);
    return TERN_OK;
}

static int run_print(const args *a)
{
    const char *path = args_operand(a, 0);
    bool dot = args_has(a, "dot"), as_json = args_has(a, "json");
    if (dot && as_json)
        return fail_usage("--dot and --json exclude each other");
    tern_ctx *ctx = NULL;
    tern_graph *graph = NULL;
    if (!open_reader(&ctx) || !read_graph(ctx, path, &graph, NULL)) {
        tern_ctx_destroy(ctx);
        return EXIT_FAILED;
    }
    char *printed = NULL;
    tern_status status = dot ? tern_graph_dot(graph, &printed) : tern_graph_print(graph, &printed);
    if (status == TERN_OK && as_json)
        print_json(graph, path, printed);
    else if (status == TERN_OK)
        term_put(printed);
    int code = status == TERN_OK ? EXIT_DONE : fail_status(source_name(path));
    tern_string_free(printed);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
    return code;
}

static const option print_options[] = {
    {"dot", 0, NULL, NULL, "print a drawing for Graphviz"},
    {"json", 0, NULL, NULL, "print JSON: counts, inputs, outputs and the text"},
    {0},
};

const command cmd_graph_print = {
    .name = "print",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .summary = "Print a graph in its canonical text form, or draw it.",
    .details =
        "FILE is a graph in the text form of docs/graph-text.md; '-' is standard input. Types that were left "
        "out are filled in. What is printed reads back as the same graph.",
    .options = print_options,
    .examples = "tern graph print examples/graphs/mlp.tern\n"
                "tern graph print examples/graphs/mlp.tern --dot | dot -Tsvg > mlp.svg",
    .run = run_print,
};

/* ---- check -------------------------------------------------------------------------------------------------- */

static int run_check(const args *a)
{
    const char *path = args_operand(a, 0);
    tern_ctx *ctx = NULL;
    tern_graph *graph = NULL;
    if (!open_reader(&ctx) || !read_graph(ctx, path, &graph, NULL)) { /* parsing verifies */
        tern_ctx_destroy(ctx);
        return EXIT_FAILED;
    }
    if (args_has(a, "json")) {
        json j = {0};
        json_object(&j, NULL);
        json_string(&j, "graph", path);
        json_bool(&j, "ok", true);
        ports_json(&j, graph);
        json_end(&j);
        json_print(&j);
    } else {
        tern_graph_info info;
        tern_graph_get_info(graph, &info);
        text line = {0};
        text_add_safe(&line, source_name(path));
        text_add(&line, ": ok, ");
        ports_add_counts(&line, &info);
        puts(text_string(&line));
        text_free(&line);
    }
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
    return EXIT_DONE;
}

static const option check_options[] = {
    {"json", 0, NULL, NULL, "print JSON: counts, inputs and outputs"},
    {0},
};

const command cmd_graph_check = {
    .name = "check",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .summary = "Check that a graph is well formed, without running it.",
    .details =
        "FILE is a graph in the text form of docs/graph-text.md; '-' is standard input. The first mistake is "
        "named with its line and column.",
    .options = check_options,
    .examples = "tern graph check examples/graphs/mlp.tern\n"
                "echo 'graph { %x = input \"x\" f32[2] %y = exp(%x) return %y }' | tern graph check -",
    .run = run_check,
};

/* ---- the group ---------------------------------------------------------------------------------------------- */

static const command *const verbs[] = {GRAPH_VERBS(VERB_ROW) NULL};

const command cmd_graph = {
    .name = "graph",
    .operands = "",
    .summary = "Run, compile, print or check a graph that is written down as text.",
    .verbs = verbs,
    .examples = "tern graph run examples/graphs/bitlinear.tern --show\n"
                "tern graph print examples/graphs/mlp.tern --dot",
};
