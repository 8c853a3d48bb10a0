/* cmd_graph_run.c - `tern graph run`: read, compile, bind, compute; then report. All of the work comes before the
 * first word on stdout, so that a failure leaves stdout empty. */
#include <stdio.h>
#include <stdlib.h>

#include <tern/ops.h>

#include "array.h"
#include "bindings.h"
#include "clock.h"
#include "commands.h"
#include "compile.h"
#include "metrics_file.h"
#include "partitions.h"
#include "run.h"
#include "source.h"
#include "term.h"

/* ---- the work ----------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* An output may lie in a state, which later runs change. */
static tern_status keep_outputs(graph_run *r)
{
    for (int i = 0; i < r->n_outputs; i++) {
        tern_tensor *copy = tern_contiguous(r->outputs[i]);
        TERN_TRY(tern_eval(copy));
        tern_release(r->outputs[i]);
        r->outputs[i] = copy;
    }
    return TERN_OK;
}

/* Times of the steps of the newest warm runs: all of them, unless that would take too much memory. */
typedef struct step_log {
    uint64_t *ns;     /* (kept, steps) */
    uint64_t *run_ns; /* (kept) of the whole run */
    int kept, steps;
} step_log;

static step_log log_make(const graph_run *r)
{
    enum { MOST_SAMPLES = 1 << 20 };
    step_log log = {.steps = r->info.steps};
    int most = log.steps > 0 ? MOST_SAMPLES / log.steps : 1;
    log.kept = most < 1 ? 1 : most < r->warm ? most : r->warm;
    log.ns = grab((size_t)log.kept * (size_t)log.steps, sizeof *log.ns);
    log.run_ns = grab((size_t)log.kept, sizeof *log.run_ns);
    return log;
}

static tern_status log_run(step_log *log, const graph_run *r, int number)
{
    int at = number % log->kept;
    log->run_ns[at] = r->run_times[number];
    for (int i = 0; i < log->steps; i++) {
        tern_step_time time;
        TERN_TRY(tern_exec_step_time(r->exec, i, &time));
        log->ns[(size_t)at * (size_t)log->steps + (size_t)i] = time.last_ns;
    }
    return TERN_OK;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Medians of single steps would not add up to the median of runs: those of one run do. */
static void log_show(const step_log *log, graph_run *r)
{
    int nearest = 0;
    for (int i = 1; i < log->kept; i++)
        if (apart(log->run_ns[i], r->median_ns) < apart(log->run_ns[nearest], r->median_ns))
            nearest = i;
    r->shown_ns = log->run_ns[nearest];
    for (int i = 0; i < log->steps; i++)
        r->step_ns[i] = log->ns[(size_t)nearest * (size_t)log->steps + (size_t)i];
}

static void log_free(step_log *log)
{
    free(log->ns);
    free(log->run_ns);
}

/* The outputs are those of the first run, whose time is that of a warm one only if there is no other. */
static tern_status run_once(graph_run *r, int number)
{
    tern_tensor **outputs = number == 0 ? r->outputs : grab((size_t)r->n_outputs, sizeof *outputs);
    uint64_t start = clock_ns();
    tern_status status = tern_exec_run(r->exec, r->n_inputs, r->inputs, r->n_outputs, outputs);
    r->run_times[number > 0 ? number - 1 : 0] = clock_ns() - start;
    if (number == 0) {
        r->run_ns = r->run_times[0];
        return status == TERN_OK && r->runs > 1 ? keep_outputs(r) : status;
    }
    for (int i = 0; i < r->n_outputs && status == TERN_OK; i++)
        tern_release(outputs[i]);
    free(outputs);
    return status;
}

/* `log` NULL: steps are not timed. */
static tern_status run_all(graph_run *r, step_log *log)
{
    TERN_TRY(tern_exec_create(r->ctx, r->program, &r->exec));
    if (log)
        TERN_TRY(tern_exec_time_steps(r->exec, true));
    for (int i = 0; i < r->runs; i++) {
        TERN_TRY(run_once(r, i));
        metrics_look(r->metrics);
        if (log)
            TERN_TRY(log_run(log, r, i > 0 ? i - 1 : 0));
    }
    if (log)
        TERN_TRY(partitions_measure(r->program, r->exec, r->n_inputs, r->inputs, r->n_outputs));
    qsort(r->run_times, (size_t)r->warm, sizeof *r->run_times, by_value);
    r->median_ns = r->shown_ns = r->run_times[(r->warm - 1) / 2];
    return TERN_OK;
}

static bool compute(graph_run *r, bool timed)
{
    step_log log = timed ? log_make(r) : (step_log){0};
    metrics_start(r->metrics, &(tern_operation){.name = "graph run",
                                                .batch = r->info.batch,
                                                .precision = r->precision,
                                                .level = r->level,
                                                .threads = tern_ctx_threads(r->ctx),
                                                .ctx = r->ctx});
    metrics_program(r->metrics, r->program);
    bool done = run_all(r, timed ? &log : NULL) == TERN_OK;
    metrics_stop(r->metrics, done);
    if (done && timed) {
        r->step_ns = grab((size_t)r->info.steps, sizeof *r->step_ns);
        log_show(&log, r);
    }
    if (!done)
        fail_status(source_name(r->path));
    log_free(&log);
    return done;
}

static void make_room(graph_run *r)
{
    r->inputs = grab((size_t)r->n_inputs, sizeof *r->inputs);
    r->outputs = grab((size_t)r->n_outputs, sizeof *r->outputs);
    r->saved = grab((size_t)r->n_outputs, sizeof *r->saved);
    r->warm = r->runs > 1 ? r->runs - 1 : 1;
    r->run_times = grab((size_t)r->warm, sizeof *r->run_times);
}

static void print_times(const graph_run *r)
{
    text line = {0};
    run_add_times(&line, r);
    printf("%s\n", text_string(&line));
    text_free(&line);
}

static void print_saved(const graph_run *r)
{
    for (int i = 0; i < r->n_outputs; i++) {
        tern_port port;
        if (!r->saved[i] || tern_program_output(r->program, i, &port) != TERN_OK)
            continue;
        text name = {0}, file = {0}, type = {0};
        text_add_safe(&name, port.name);
        text_add_safe(&file, r->saved[i]);
        array_add_type(&type, r->outputs[i]);
        printf("%s%s%s %s %s  %s\n", on(STYLE_NAME), text_string(&name), off(STYLE_NAME),
               glyph_of(GLYPH_ARROW), text_string(&file), text_string(&type));
        text_free(&name);
        text_free(&file);
        text_free(&type);
    }
}

static int explain(const args *a, const graph_run *r)
{
    machine_rates rates;
    int code = rates_find(a, r->ctx, &rates);
    if (code == EXIT_DONE)
        explain_print(r, &rates, NULL);
    return code;
}

static int report(const args *a, const graph_run *r, bool saved)
{
    tern_status status = TERN_OK;
    int code = EXIT_DONE;
    machine_rates rates;
    if (args_has(a, "json") && args_has(a, "explain"))
        code = rates_find(a, r->ctx, &rates);
    if (code != EXIT_DONE)
        return code;
    if (args_has(a, "json"))
        status = run_json_print(r, args_has(a, "explain") ? &rates : NULL);
    else if (args_has(a, "explain"))
        code = explain(a, r);
    else if (args_has(a, "show"))
        status = story_print(r);
    else if (!saved)
        status = outputs_print(r);
    if (code == EXIT_DONE && status == TERN_OK && !args_has(a, "json"))
        print_saved(r);
    if (status == TERN_OK && r->runs > 1 && !args_has(a, "json") && !args_has(a, "explain") &&
        !args_has(a, "show"))
        print_times(r);
    return status == TERN_OK ? code : fail_status(NULL);
}

static int run(const args *a)
{
    metrics_file metrics = {0};
    graph_run r = {.path = args_operand(a, 0), .metrics = &metrics};
    bindings inputs = {0}, outputs = {0};
    r.given = &inputs;
    r.makes_up = args_has(a, "made-up");
    bool timed = args_has(a, "show") || args_has(a, "json") || args_has(a, "explain");
    int code = EXIT_USAGE;
    if (args_has(a, "show") && (args_has(a, "json") || args_has(a, "explain")))
        return fail_usage("--show and --%s exclude each other", args_has(a, "json") ? "json" : "explain");
    if (!args_int(a, "repeat", 1, 1000000, 1, &r.runs))
        return EXIT_USAGE;
    if (bindings_parse(a, "input", &inputs) && bindings_parse(a, "output", &outputs))
        code = metrics_open(a, &metrics);
    if (code == EXIT_DONE)
        code = compile_open(a, &r, NULL, NULL);
    if (code != EXIT_DONE)
        goto done;
    make_room(&r);
    code = EXIT_FAILED;
    if (bindings_check_outputs(&outputs, &r) && bindings_load(&inputs, &r) && compute(&r, timed) &&
        bindings_save(&outputs, &r))
        code = report(a, &r, outputs.n > 0);
done:
    code = metrics_close(&metrics, code);
    compile_close(&r);
    bindings_free(&inputs);
    bindings_free(&outputs);
    return code;
}

/* clang-format off */
static const option run_options[] = {
    {"input", 'i', "NAME=FILE", NULL, "give an input or an unbound constant: FILE.npy, FILE.npz (the array of that name, or the only one) or FILE.npz:KEY; FILE.npz alone gives all that have the names of its arrays; may be repeated"},
    {"made-up", 0, NULL, NULL, "make up what is not given, random floats and zeros for integers: for times, not for results"},
    {"output", 'o', "NAME=FILE", NULL, "write an output to FILE.npy, or into FILE.npz under its name; may be repeated"},
    {"show", 0, NULL, NULL, "tell the whole story: what was recorded, compiled and computed"},
    {"json", 0, NULL, NULL, "print all of that as JSON; with --explain, with estimated times"},
    {"explain", 0, NULL, NULL, "report what the compiler did, and measured times beside estimates for every step"},
    {"repeat", 0, "N", NULL, "run N times, and say the median and the least time of the runs after the first; outputs are those of the first"},
    COMPILE_OPTIONS,
    NO_TUNE_OPTION,
    ESTIMATE_OPTIONS,
    METRICS_OPTION,
    {0},
};
/* clang-format on */

const command cmd_graph_run = {
    .name = "run",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .summary = "Compile a graph, run it and show or save its outputs.",
    .details =
        "FILE is a graph in the text form of docs/graph-text.md; '-' is standard input. Every input, and "
        "every constant without data, is given with --input; such constants are folded and packed like "
        "others. Outputs that are not saved with --output are "
        "not written anywhere; without --output and a report (--show, --explain, --json) a preview of all is "
        "printed.",
    .options = run_options,
    .examples = "tern graph run examples/graphs/bitlinear.tern --show\n"
                "tern graph run examples/graphs/batch.tern -o x=data.npz -o label=data.npz\n"
                "tern graph run examples/graphs/mlp.tern -i x=data.npz:x -o class=class.npy\n"
                "tern graph run examples/graphs/mlp.tern -i x=data.npz --repeat 100 --json --threads 1",
    .run = run,
};
