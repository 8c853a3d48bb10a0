/* cmd_bench_model.c - `tern bench model`: prompts and generation, in the columns and fields that llama-bench has, and the share of
 * the machine's limits beside them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tern/bench_model.h>
#include <tern/catalog.h>
#include <tern/tern.h>

#include "bench_record.h"
#include "bench_suite.h"
#include "commands.h"
#include "disturbed.h"
#include "engine.h"
#include "progress.h"
#include "sheet.h"
#include "source.h"
#include "term.h"

enum { MOST_THREADS = 16, MOST_SIZES = 16 };

/* How rows are printed. X(enumerator, name). */
#define FORMATS(X)    \
    X(TABLE, "table") \
    X(MD, "md")       \
    X(JSON, "json")   \
    X(CSV, "csv")     \
    X(SQL, "sql")     \
    X(RESULTS, "results")

typedef enum format {
#define FORMAT_ENUM(id, name) AS_##id,
    FORMATS(FORMAT_ENUM)
#undef FORMAT_ENUM
} format;

static const char *const format_names[] = {
#define FORMAT_NAME(id, name) name,
    FORMATS(FORMAT_NAME)
#undef FORMAT_NAME
};

#define FORMAT_WORD(id, name) name " "
static const char format_words[] = FORMATS(FORMAT_WORD);

typedef struct output {
    format format;
    const char *path;
    bool steps; /* stand between the rows */
    int rows;
    sheet sheet;  /* AS_TABLE, AS_MD */
    text reasons; /* AS_TABLE: why numbers are missing, a line each */
    json json;
    tern_results *results; /* AS_RESULTS, written as: */
    tern_result_format written;
    tern_status kept;
} output;

/* ---- options ------------------------------------------------------------------------------------------------- */

static int read_format(const args *a, output *out)
{
    const char *value = args_has(a, "json") ? "json" : args_value(a, "output");
    out->format = isatty(STDOUT_FILENO) == 1 ? AS_TABLE : AS_MD;
    for (size_t i = 0; value && i < sizeof format_names / sizeof *format_names; i++)
        if (strcmp(value, format_names[i]) == 0)
            out->format = (format)i;
    const char *results = args_value(a, "format");
    if (args_has(a, "json") && args_has(a, "output"))
        return fail_usage("--json is -o json: give one of them");
    if (results && value)
        return fail_usage("--format and -o (or --json) are two ways to print: give one of them");
    if (results) {
        tern_result_format_parse(results, &out->written); /* one of the choices */
        out->format = AS_RESULTS;
    }
    return out->format == AS_RESULTS && args_has(a, "head")
               ? fail_usage("results: `tern regress` takes heads as they are in the file; leave --head out")
               : EXIT_DONE;
}

/* "16,32" as llama-bench has it; 0 leaves the test out. */
static bool take_sizes(const args *a, const char *name, int *one, int *numbers, int *n, const int **out)
{
    int count = 0;
    if (!args_ints(a, name, 0, 1 << 20, MOST_SIZES, numbers, &count))
        return false;
    *out = numbers;
    *n = 0;
    for (int i = 0; i < count; i++)
        if (numbers[i] > 0)
            numbers[(*n)++] = numbers[i];
    *one = count > 0 ? 0 : *one;
    return true;
}

static int read_options(const args *a, tern_bench_model_options *o, int *threads, int (*sizes)[MOST_SIZES])
{
    *o = tern_bench_model_options_default();
    o->path = args_value(a, "model");
    o->cpu = args_value(a, "cpu");
    o->device = args_value(a, "device");
    o->fallback = args_has(a, "fallback");
    o->threads = threads;
    if (!args_ints(a, "threads", 1, 64, MOST_THREADS, threads, &o->n_threads) ||
        !take_sizes(a, "n-prompt", &o->n_prompt, sizes[0], &o->n_prompt_sizes, &o->prompt_sizes) ||
        !take_sizes(a, "n-gen", &o->n_gen, sizes[1], &o->n_gen_sizes, &o->gen_sizes) ||
        !args_int(a, "n-depth", 0, 1 << 20, 0, &o->n_depth) ||
        !args_int(a, "repetitions", 1, 1000, o->repetitions, &o->repetitions) ||
        !engine_batch(a, &o->cache, &o->batch) || !args_seconds(a, "timeout", &o->timeout_s))
        return EXIT_USAGE;
    return o->n_prompt + o->n_prompt_sizes + o->n_gen + o->n_gen_sizes > 0
               ? EXIT_DONE
               : fail_usage("-p 0 -n 0: nothing is left to measure");
}

/* The built-in model; its context may be shorter than the usual tests. */
static int open_built_in(const args *a, format as, model_source *m, tern_bench_model_options *o)
{
    tern_model_memory needs;
    if (model_is_there(a) && as == AS_RESULTS)
        return fail_usage("results: `tern regress` opens the model again: name a file with -m");
    int code = model_open(a, NULL, m);
    if (code != EXIT_DONE)
        return code;
    o->file = m->file;
    if (tern_model_plan_memory(m->file, NULL, &needs) != TERN_OK || needs.context <= o->n_depth)
        return EXIT_DONE;
    const int64_t room = needs.context - o->n_depth;
    if (!args_has(a, "n-prompt") && o->n_prompt > room)
        o->n_prompt = (int)room;
    if (!args_has(a, "n-gen") && o->n_gen > room)
        o->n_gen = (int)room;
    return EXIT_DONE;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static bool on_cpu(const tern_bench_model_row *row)
{
    return strcmp(row->device, "cpu") == 0;
}

/* llama-bench writes the CPU like this. */
static const char *backend_name(const tern_bench_model_row *row)
{
    return on_cpu(row) ? "CPU" : row->device;
}

/* What the machine calls the device. */
static const char *device_model(const char *name)
{
    tern_device_info device;
    return device_find(name, &device) && device.model ? device.model : "";
}

static const table_column columns[] = {
    {.title = "model", .shrinks = true},     {.title = "size", .right = true},
    {.title = "params", .right = true},      {.title = "backend"},
    {.title = "threads", .right = true},     {.title = "test", .right = true},
    {.title = "t/s", .right = true},         {.title = "roofline_share"},
    {.title = "first token", .right = true}, {.title = "ready", .right = true},
    {.title = "peak memory", .right = true}};

/* Why a number is missing stands in its place in Markdown; in a table, where it would push the columns apart, below it. */
static void add_reason(output *out, const tern_bench_model_row *row)
{
    sheet_add(&out->sheet, out->sheet.markdown ? row->error : "unavailable");
    if (!out->sheet.markdown)
        text_addf(&out->reasons, "%s, %d thread%s: %s\n", row->test, row->threads,
                  row->threads == 1 ? "" : "s", row->error);
}

static void add_row(output *out, const tern_bench_model_row *row)
{
    sheet *s = &out->sheet;
    char word[NUMBER_TEXT];
    const bool billions = row->parameters >= 1000000000;
    sheet_add(s, row->model_type);
    sheet_add(s, format_bytes(word, row->model_bytes));
    sheet_addf(s, "%.2f %s", (double)row->parameters * (billions ? 1e-9 : 1e-6), billions ? "B" : "M");
    sheet_add(s, backend_name(row));
    sheet_addf(s, "%d", row->threads);
    sheet_add(s, row->test);
    if (row->rounds == 0) {
        add_reason(out, row);
        for (int i = 0; i < 4; i++)
            sheet_add(s, "");
        return;
    }
    if (isnan(row->deviation_rate))
        sheet_addf(s, "%.2f", row->average_rate); /* one run has no spread */
    else
        sheet_addf(s, "%.2f %s %.2f", row->average_rate, s->markdown || term_utf8() ? "±" : "+-",
                   row->deviation_rate);
    if (isnan(row->share))
        add_reason(out, row);
    else
        sheet_addf(s, "%.3f of %s", row->share, tern_limit_name(row->limit_kind));
    sheet_add(s, isnan(row->first_token_s) ? "" : format_time(word, (uint64_t)(row->first_token_s * 1e9)));
    sheet_add(s, format_time(word, (uint64_t)(row->ready_s * 1e9)));
    sheet_add(s, row->peak_memory ? format_bytes(word, row->peak_memory) : "unavailable: no /proc");
}

/* Rows of Markdown were printed as they came. */
static void end_rows(output *out)
{
    sheet_end(&out->sheet);
    if (out->reasons.length > 0)
        printf("\n%s", text_string(&out->reasons));
    text_free(&out->reasons);
}

static const table_column step_columns[] = {{.title = "ms", .right = true},
                                            {.title = "share", .right = true},
                                            {.title = "steps", .right = true},
                                            {.title = "threads", .right = true},
                                            {.title = "kernel"},
                                            {.title = "does", .shrinks = true},
                                            {.title = "GB/s", .right = true},
                                            {.title = "Gop/s", .right = true}};

static void add_step(sheet *to, const tern_bench_step *s, double all)
{
    text ops = {0};
    for (int i = 0; i < s->n_ops; i++)
        text_addf(&ops, "%s%s", i ? " + " : "", s->ops[i]);
    sheet_addf(to, "%.3f", s->seconds * 1e3);
    sheet_addf(to, "%.1f%%", s->seconds / all * 100);
    sheet_addf(to, "%d", s->count);
    sheet_addf(to, "%d", s->threads);
    sheet_add(to, s->kernel);
    sheet_add(to, text_string(&ops));
    for (int i = 0; i < 2; i++)
        if (s->at_most)
            sheet_add(to, "-");
        else
            sheet_addf(to, "%.1f", (double)(i ? s->flops : s->bytes) * s->count / s->seconds * 1e-9);
    text_free(&ops);
}

/* Steps below a thousandth of the whole come as one line. */
static void print_steps(const tern_bench_model_row *row, bool markdown)
{
    double all = 0, rest = 0;
    char time[NUMBER_TEXT];
    for (int i = 0; i < row->n_steps; i++)
        all += row->steps[i].seconds;
    printf("\n%s, %d thread%s: %s in steps, each the fastest of its runs\n\n", row->test, row->threads,
           row->threads == 1 ? "" : "s", tern_time_text(all * 1e9, time, sizeof time));
    sheet s = sheet_begin(step_columns, sizeof step_columns / sizeof *step_columns, markdown);
    for (int i = 0; i < row->n_steps; i++) {
        if (row->steps[i].seconds < all * 1e-3)
            rest += row->steps[i].seconds;
        else
            add_step(&s, &row->steps[i], all);
    }
    sheet_addf(&s, "%.3f", rest * 1e3);
    sheet_addf(&s, "%.1f%%", rest / all * 100);
    sheet_add(&s, "");
    sheet_add(&s, "");
    sheet_add(&s, "others");
    for (int i = 0; i < 3; i++)
        sheet_add(&s, "");
    sheet_end(&s);
}

/* Steps stand below their row, which is then a table of its own. */
static void show_row(output *out, const tern_bench_model_row *row, bool first)
{
    const bool markdown = out->format == AS_MD;
    if (!markdown && out->steps && !first)
        puts("");
    if (first || out->steps)
        out->sheet = sheet_begin(columns, sizeof columns / sizeof *columns, markdown);
    add_row(out, row);
    if (out->steps)
        end_rows(out);
    if (row->n_steps > 0)
        print_steps(row, markdown);
}

static void fill_record(const output *out, const tern_bench_model_row *row, double *ns, double *ts, record *r)
{
    static char when[32];
    time_t now = time(NULL);
    struct tm t;
    if (!gmtime_r(&now, &t) || !strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &t))
        when[0] = '\0';
    for (int i = 0; i < row->rounds; i++) {
        ns[i] = rint(row->seconds[i] * 1e9); /* whole, as llama-bench has them */
        ts[i] = (row->n_prompt ? row->n_prompt : row->n_gen) / row->seconds[i];
    }
    const double none = NAN;
    record_text(r, "build_commit", tern_build_commit());
    record_no_int(r, "build_number"); /* builds are not counted */
    record_text(r, "cpu_info", device_model("cpu"));
    record_text(r, "gpu_info", on_cpu(row) ? "" : device_model(row->device));
    record_text(r, "backends", backend_name(row));
    record_text(r, "model_filename", out->path);
    record_text(r, "model_type", row->model_type);
    record_int(r, "model_size", (int64_t)row->model_bytes);
    record_int(r, "model_n_params", (int64_t)row->parameters);
    record_int(r, "n_batch", row->batch);
    record_int(r, "n_ubatch", row->batch);
    record_int(r, "n_threads", row->threads);
    record_text(r, "type_k", tern_dtype_name(row->cache));
    record_text(r, "type_v", tern_dtype_name(row->cache));
    record_int(r, "n_gpu_layers", 0);
    record_bool(r, "embeddings", false);
    record_int(r, "n_prompt", row->n_prompt);
    record_int(r, "n_gen", row->n_gen);
    record_int(r, "n_depth", row->n_depth);
    record_text(r, "test_time", when);
    record_real(r, "avg_ns", row->rounds ? rint(row->average_s * 1e9) : none);
    record_real(r, "stddev_ns", row->rounds ? rint(row->deviation_s * 1e9) : none);
    record_real(r, "avg_ts", row->rounds ? row->average_rate : none);
    record_real(r, "stddev_ts", row->rounds ? row->deviation_rate : none);
    record_reals(r, "samples_ns", row->rounds, ns);
    record_reals(r, "samples_ts", row->rounds, ts);
    record_text(r, "limit", tern_limit_name(row->limit_kind));
    record_real(r, "limit_per_s", row->limit_rate > 0 ? row->limit_rate : none);
    record_text(r, "limit_probe", row->limit);
    record_real(r, "roofline_share", row->share);
    record_real(r, "roofline_share_mad", isnan(row->share) ? none : row->share_mad);
    record_int(r, "bytes_per_token", (int64_t)row->bytes_per_token);
    record_text(r, "bytes_rule", row->bytes_rule);
    record_real(r, "time_to_first_token_s", row->first_token_s);
    record_real(r, "model_ready_s", row->ready_s);
    record_real(r, "peak_memory_bytes", row->peak_memory ? (double)row->peak_memory : none);
    record_int(r, "kv_cache_bytes", (int64_t)row->cache_bytes);
    record_text(r, "isa", row->isa);
    record_text(r, "error", row->error);
}

static void visit(void *user, const tern_bench_model_row *row)
{
    output *out = user;
    const bool first = out->rows++ == 0;
    progress_end();
    if (out->format == AS_RESULTS) {
        if (out->kept == TERN_OK)
            out->kept = tern_bench_model_add(row, out->results);
    } else if (out->format == AS_MD || out->format == AS_TABLE) {
        show_row(out, row, first);
    } else {
        record r = {.n = 0};
        double *ns = grab((size_t)row->rounds + 1, sizeof *ns),
               *ts = grab((size_t)row->rounds + 1, sizeof *ts);
        fill_record(out, row, ns, ts, &r);
        if (out->format == AS_JSON)
            record_add_json(&r, &out->json);
        else if (out->format == AS_CSV)
            record_print_csv(&r, first);
        else
            record_print_sql(&r, "llama_bench", first);
        free(ns);
        free(ts);
    }
    fflush(stdout);
}

static bool show(void *user, const char *what, int done, int total)
{
    (void)user;
    if (done == 0) {
        progress_end();
        progress_begin_of(what, "runs");
    }
    return progress_update(NULL, (uint64_t)done, (uint64_t)total);
}

/* ---- results for baselines ------------------------------------------------------------------------------------- */

/* With what `tern regress` needs to measure them again. */
static tern_status open_results(const tern_bench_model_options *o, output *out)
{
    TERN_TRY(tern_results_create(&out->results));
    TERN_TRY(tern_results_note_conditions(out->results));
    return tern_bench_model_note_settings(o, out->results);
}

static int measure_results(const tern_bench_model_options *o, output *out)
{
    tern_status status = open_results(o, out);
    int code = status == TERN_OK ? EXIT_DONE : fail_status(NULL);
    const tern_moment begin = tern_moment_now();
    if (code == EXIT_DONE && tern_bench_model(o, visit, out) != TERN_OK)
        code = fail_model(o->path, NULL);
    progress_end();
    /* What was measured before it was stopped, or failed, is told all the same, and says that it is not all. */
    if (code != EXIT_DONE && out->rows > 0 && out->kept == TERN_OK)
        out->kept = tern_results_set_condition(out->results, "incomplete", last_words());
    if (out->rows > 0 && out->kept == TERN_OK)
        out->kept = tern_results_note_disturbance(out->results, &begin);
    if (out->kept != TERN_OK)
        code = fail_status(NULL);
    else if (code == EXIT_DONE || out->rows > 0) {
        const int written = bench_write(out->results, out->written, &(out_file){0});
        code = code == EXIT_DONE ? written : code;
    }
    tern_results_free(out->results);
    return code;
}

/* ---- the verb ------------------------------------------------------------------------------------------------ */

static int run(const args *a)
{
    int threads[MOST_THREADS];
    tern_bench_model_options o;
    int sizes[2][MOST_SIZES];
    int code = read_options(a, &o, threads, sizes);
    model_source built_in = {0};
    output out = {0};
    if (code == EXIT_DONE)
        code = read_format(a, &out);
    if (code == EXIT_DONE && !o.path)
        code = open_built_in(a, out.format, &built_in, &o);
    if (code != EXIT_DONE)
        return code;
    tern_model_options model = tern_model_options_default();
    model.guard = true;
    model.head = engine_head(a);
    o.model = &model;
    out.path = o.path ? o.path : built_in.name;
    o.steps = args_has(a, "steps");
    out.steps = o.steps;
    o.progress = show;
    if (out.format == AS_RESULTS)
        return measure_results(&o, &out);
    if (out.format == AS_JSON)
        json_array(&out.json, NULL);
    const tern_moment begin = tern_moment_now();
    tern_status status = tern_bench_model(&o, visit, &out);
    progress_end();
    if (out.rows > 0)
        disturbed_warn(&begin);
    if (out.format == AS_TABLE && out.rows > 0 && !out.steps)
        end_rows(&out);
    if (out.format == AS_JSON) {
        json_end(&out.json);
        if (out.rows > 0)
            json_print(&out.json);
        else
            text_free(&out.json.out);
    }
    if (status != TERN_OK)
        code = o.path ? fail_model(o.path, NULL) : fail_status(NULL);
    model_close(&built_in);
    return code;
}

/* clang-format off */
static const option options[] = {
    {"model", 'm', "FILE", NULL, MODEL_HELP},
    {"n-prompt", 'p', "N,N", NULL, "tokens of the prompt, a test for each number; 0 leaves that test out (default: 512)"},
    {"n-gen", 'n', "N,N", NULL, "tokens to generate, a test for each number; 0 leaves that test out (default: 128)"},
    {"n-depth", 'd', "N", NULL, "tokens in the context before the test begins (default: 0)"},
    {"threads", 't', "N,...", NULL, "measure with these numbers of threads (default: as many as this process may use)"},
    {"repetitions", 'r', "N", NULL, "runs of each test (default: 5)"},
    {"timeout", 0, "S", NULL, "give up a test that takes longer, and say so in its row (default: 600)"},
    BATCH_OPTIONS,
    HEAD_OPTION("convert the head (tern run tells what that does to the answers)"),
    DEVICE_NAME_OPTIONS,
    CPU_OPTION,
    {"steps", 0, NULL, NULL, "md, table: also tell where the time goes, step by step"},
    {"output", 'o', "FORMAT", format_words, "how to print them (default: table on a terminal, else md); results: the same as --format json"},
    {"format", 0, "NAME", BENCH_RESULT_FORMATS, "print them as other results of `tern bench`; json is for `tern baseline create --from` and `tern regress --from`"},
    {"json", 0, NULL, NULL, "the same as -o json"},
    {0},
};
/* clang-format on */

const command cmd_bench_model = {
    .name = "model",
    .operands = "",
    .summary = "Time prompts and generation of a model, as shares of what the machine can do.",
    .details = "Columns and fields are those of llama-bench; tokens are arbitrary ones, and each test runs "
               "once before it "
               "counts. roofline_share of a prompt is 2 x ternary weights x tokens / time / peak of int8 "
               "products (weights "
               "of linear layers and f32 multiply-adds for other models), that of generation bytes_per_token "
               "x tokens / "
               "time / read bandwidth, unavailable where those stay in the caches; the limits are measured "
               "in turns with the model. bytes_per_token is "
               "what a token needs of the weights as they run: ternary ones as they are packed; bytes_rule "
               "says so in words.",
    .options = options,
    .examples = "tern bench model -m model.gguf -p 512 -n 128 -t 1,2\n"
                "tern bench model -m model.gguf -p 0 -n 32 -d 128 -r 3 -o json\n"
                "tern bench model -m model.gguf -p 64 -n 32 --format json >a.json && tern baseline create m "
                "--from a.json",
    .run = run,
};
