/* cmd_inspect.c - `tern inspect`: what is in a file, told by its content. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tern/io.h>

#include "array.h"
#include "commands.h"
#include "inspect.h"
#include "model_source.h"
#include "ports.h"
#include "source.h"
#include "table.h"
#include "term.h"

typedef struct report {
    const char *path;
    tern_ctx *ctx;
    bool as_json;
    json j;
    table t;
    uint64_t bytes; /* of all arrays */
} report;

static const table_column columns[] = {
    {"array", false, true, STYLE_NAME}, {"type", false, true, STYLE_NUMBER},
    {"bytes", true, false, STYLE_NONE}, {"min", true, false, STYLE_NONE},
    {"max", true, false, STYLE_NONE},   {"mean", true, false, STYLE_NONE},
    {"NaN", true, false, STYLE_NONE},   {"inf", true, false, STYLE_NONE},
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

/* ---- arrays ------------------------------------------------------------------------------------------------- */

static void add_row(report *r, const char *name, const tern_tensor *t, const array_stats *s)
{
    char number[NUMBER_TEXT];
    text cell = {0};
    text_add_safe(&cell, name);
    table_add(&r->t, text_string(&cell));
    text_clear(&cell);
    array_add_type(&cell, t);
    table_add(&r->t, text_string(&cell));
    text_free(&cell);
    table_add(&r->t, format_bytes(number, tern_nbytes(t)));
    if (s->finite == 0) {
        for (int i = 0; i < 3; i++)
            table_add(&r->t, "-");
    } else {
        if (s->integer) {
            table_addf(&r->t, "%lld", (long long)s->least_int);
            table_addf(&r->t, "%lld", (long long)s->most_int);
        } else {
            table_addf(&r->t, "%.4g", s->least);
            table_addf(&r->t, "%.4g", s->most);
        }
        table_addf(&r->t, "%.4g", s->mean);
    }
    table_addf(&r->t, "%lld", (long long)s->nan);
    table_addf(&r->t, "%lld", (long long)s->inf);
}

static void add_object(report *r, const char *name, const tern_tensor *t, const array_stats *s)
{
    json_object(&r->j, NULL);
    json_string(&r->j, "name", name);
    json_string(&r->j, "dtype", tern_dtype_name(tern_dtype_of(t)));
    json_ints(&r->j, "shape", tern_rank(t), tern_shape(t));
    json_uint(&r->j, "bytes", tern_nbytes(t));
    array_json_stats(&r->j, s);
    json_end(&r->j);
}

static tern_status add_array(report *r, const char *name, tern_tensor *t)
{
    array_stats stats;
    TERN_TRY(array_measure(t, &stats));
    r->bytes += tern_nbytes(t);
    if (r->as_json)
        add_object(r, name, t, &stats);
    else
        add_row(r, name, t, &stats);
    return TERN_OK;
}

static tern_status add_members(report *r, const tern_npz *npz)
{
    for (int i = 0; i < tern_npz_count(npz); i++) {
        TERN_SCOPE(r->ctx) {
            tern_tensor *t;
            TERN_TRY(tern_npz_load(r->ctx, npz, i, &t));
            TERN_TRY(add_array(r, tern_npz_name(npz, i), t));
        }
    }
    return TERN_OK;
}

static void print_heading(const report *r, const char *what)
{
    text path = {0};
    text_add_safe(&path, source_name(r->path));
    printf("%s%s%s: %s\n\n", on(STYLE_BOLD), text_string(&path), off(STYLE_BOLD), what);
    text_free(&path);
}

static void print_json(report *r)
{
    json_end(&r->j);
    json_end(&r->j);
    json_print(&r->j);
}

static void print_table(report *r, int count)
{
    char bytes[NUMBER_TEXT];
    text what = {0};
    text_add(&what, "NumPy archive, ");
    text_add_plural(&what, count, "array");
    text_addf(&what, ", %s", format_bytes(bytes, r->bytes));
    print_heading(r, text_string(&what));
    if (count > 0)
        table_print(&r->t, 2, true);
    text_free(&what);
}

static void begin_arrays(report *r, const char *kind)
{
    r->t = table_make(columns, N_COLUMNS);
    if (!r->as_json)
        return;
    json_object(&r->j, NULL);
    json_string(&r->j, "file", r->path);
    json_string(&r->j, "kind", kind);
    json_array(&r->j, "arrays");
}

/* One array needs no table: its type, its statistics, its first values. */
static tern_status print_array(const report *r, tern_tensor *t)
{
    char bytes[NUMBER_TEXT];
    array_stats stats;
    TERN_TRY(array_measure(t, &stats));
    text what = {0};
    text_add(&what, "NumPy array, ");
    array_add_type(&what, t);
    text_addf(&what, ", %s", format_bytes(bytes, tern_nbytes(t)));
    print_heading(r, text_string(&what));
    text_clear(&what);
    array_add_stats(&what, &stats);
    if (what.length)
        printf("  %s\n", text_string(&what));
    text_free(&what);
    return array_preview(t, 2);
}

static int inspect_npy(report *r)
{
    tern_tensor *t;
    if (!array_load(r->ctx, r->path, "", &t))
        return EXIT_FAILED;
    tern_status status = TERN_OK;
    if (r->as_json) {
        begin_arrays(r, "npy");
        status = add_array(r, NULL, t);
        if (status == TERN_OK)
            print_json(r);
    } else {
        status = print_array(r, t);
    }
    return status == TERN_OK ? EXIT_DONE : fail_status(r->path);
}

static int inspect_npz(report *r)
{
    tern_npz *npz;
    begin_arrays(r, "npz");
    if (tern_npz_open(r->path, &npz) != TERN_OK)
        return fail_status(NULL);
    tern_status status = add_members(r, npz);
    if (status == TERN_OK && r->as_json)
        print_json(r);
    else if (status == TERN_OK)
        print_table(r, tern_npz_count(npz));
    tern_npz_close(npz);
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

/* ---- graphs ------------------------------------------------------------------------------------------------- */

static int inspect_graph(report *r)
{
    tern_graph *graph;
    if (!read_graph(r->ctx, r->path, &graph, NULL))
        return EXIT_FAILED;
    if (r->as_json) {
        json_object(&r->j, NULL);
        json_string(&r->j, "file", r->path);
        json_string(&r->j, "kind", "graph");
        ports_json(&r->j, graph);
        json_end(&r->j);
        json_print(&r->j);
    } else {
        tern_graph_info info;
        tern_graph_get_info(graph, &info);
        text what = {0};
        text_add(&what, "graph, ");
        ports_add_counts(&what, &info);
        print_heading(r, text_string(&what));
        ports_print(graph);
        text_free(&what);
    }
    tern_graph_free(graph);
    return EXIT_DONE;
}

/* ---- models ------------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Opening one would wait for a writer, and what is read of it is gone. */
static bool is_pipe(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
}

/* `known`: it begins like a model. */
static int open_and_inspect_model(const report *r, bool known)
{
    model_source model = {.name = r->path};
    tern_status status = tern_model_file_open(r->path, NULL, &model.file);
    if (status != TERN_OK)
        return fail_model(r->path, status == TERN_FORMAT && !known
                                       ? " (it is neither a .npy or .npz file nor a graph, either)"
                                       : NULL);
    int code = inspect_model(&model, r->as_json);
    model_close(&model);
    return code;
}

static int inspect_built_in(const args *a)
{
    model_source model;
    if (!model_is_there(a))
        return fail_usage("no model is built in: name a file");
    int code = model_open(a, NULL, &model);
    if (code != EXIT_DONE)
        return code;
    code = inspect_model(&model, args_has(a, "json"));
    model_close(&model);
    return code;
}

static int run(const args *a)
{
    if (args_operands(a) == 0)
        return inspect_built_in(a);
    report r = {.path = args_operand(a, 0), .as_json = args_has(a, "json")};
    file_kind kind = FILE_GRAPH; /* what can come through a pipe */
    if (is_pipe(r.path))
        return fail("%s is a pipe; only graphs come from one, through '-'", r.path);
    if (is_folder(r.path))
        kind = FILE_MODEL;
    else if (strcmp(r.path, "-") != 0 && !file_kind_of(r.path, &kind))
        return EXIT_FAILED;
    if (kind == FILE_MODEL || kind == FILE_OTHER)
        return open_and_inspect_model(&r, kind == FILE_MODEL);
    if (!open_reader(&r.ctx))
        return EXIT_FAILED;
    int code = kind == FILE_NPY ? inspect_npy(&r) : kind == FILE_NPZ ? inspect_npz(&r) : inspect_graph(&r);
    tern_ctx_destroy(r.ctx);
    text_free(&r.j.out);
    table_free(&r.t);
    return code;
}

static const option options[] = {
    {"json", 0, NULL, NULL, "print JSON"},
    {0},
};

const command cmd_inspect = {
    .name = "inspect",
    .operands = "[FILE]",
    .least = 0,
    .most = 1,
    .summary = "Show what is in a model, .npy, .npz or graph file.",
    .details =
        "The kind of file is told by its content, not by its name. For arrays: type, shape, bytes, and "
        "minimum, maximum and mean of the finite elements with the number of others. For models (GGUF, "
        "safetensors or a folder of them, llama2.c): metadata, tensors, sizes by type and the memory that "
        "running it "
        "takes. '-' reads a graph from standard input. Without a file: the built-in model.",
    .options = options,
    .elsewhere = "model",
    .instead = "the file needs no option: 'tern inspect FILE'",
    .examples =
        "tern inspect examples/graphs/mlp.tern\n"
        "tern graph run examples/graphs/batch.tern -o x=data.npz -o label=data.npz && tern inspect data.npz\n"
        "tern inspect data.npz --json\n"
        "tern synth --shape tiny tiny.gguf && tern inspect tiny.gguf",
    .run = run,
};
