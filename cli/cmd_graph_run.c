/* cmd_graph_run.c - `tern graph run`: read, compile, bind, compute; then report. All of the work comes before the
 * first word on stdout, so that a failure leaves stdout empty. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tern/trace.h>

#include "array.h"
#include "bindings.h"
#include "commands.h"
#include "run.h"
#include "source.h"
#include "term.h"

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- measured time of every step ---------------------------------------------------------------------------- */

typedef struct span {
    uint64_t begin, end;
} span;

typedef struct spans {
    span *steps;
    uint32_t n;
} spans;

/* Threads that share a step each have an event; the step lasts from the first begin to the last end. */
static void take_event(void *user, const tern_trace_event *event)
{
    spans *s = user;
    if (strcmp(event->category, "step") != 0 || event->step >= s->n)
        return;
    span *step = &s->steps[event->step];
    uint64_t end = event->start_ns + event->duration_ns;
    if (step->end == 0 || event->start_ns < step->begin)
        step->begin = event->start_ns;
    if (end > step->end)
        step->end = end;
}

static tern_status run_traced(graph_run *r)
{
    tern_trace_options options = {.events_per_thread = 2 * (size_t)r->info.steps + 1024};
    TERN_TRY(tern_trace_start(&options));
    uint64_t start = now_ns();
    tern_status status = tern_exec_run(r->exec, r->n_inputs, r->inputs, r->n_outputs, r->outputs);
    r->run_ns = now_ns() - start;
    spans s = {.steps = grab((size_t)r->info.steps, sizeof(span)), .n = (uint32_t)r->info.steps};
    uint64_t lost = 0;
    tern_status stopped = tern_trace_stop(take_event, &s, &lost);
    if (status == TERN_OK && stopped == TERN_OK && lost == 0) {
        r->step_ns = grab(s.n, sizeof *r->step_ns);
        for (uint32_t i = 0; i < s.n; i++)
            r->step_ns[i] = s.steps[i].end - s.steps[i].begin;
    }
    free(s.steps);
    return status;
}

static tern_status run_plain(graph_run *r)
{
    uint64_t start = now_ns();
    tern_status status = tern_exec_run(r->exec, r->n_inputs, r->inputs, r->n_outputs, r->outputs);
    r->run_ns = now_ns() - start;
    return status;
}

/* ---- the work ----------------------------------------------------------------------------------------------- */

/* Returns an exit code. */
static int open_run(const args *a, graph_run *r)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.cpu = args_value(a, "cpu");
    if (!args_int(a, "threads", 1, 1024, 0, &options.threads))
        return EXIT_USAGE;
    tern_status status = tern_ctx_create(&options, &r->ctx);
    if (status == TERN_NOT_FOUND && options.cpu)
        return fail_usage("%s", tern_last_error());
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

static bool compile(const args *a, graph_run *r)
{
    if (!read_graph(r->ctx, r->path, &r->graph, &r->remarks))
        return false;
    tern_graph_get_info(r->graph, &r->graph_info);
    tern_compile_options options = tern_compile_options_default();
    const char *level = args_value(a, "level");
    if ((level && tern_level_parse(level, &options.level) != TERN_OK) ||
        tern_graph_compile(r->ctx, r->graph, &options, &r->program) != TERN_OK) {
        fail_status(source_name(r->path));
        return false;
    }
    tern_program_get_info(r->program, &r->info);
    r->n_inputs = tern_program_inputs(r->program);
    r->n_outputs = tern_program_outputs(r->program);
    r->inputs = grab((size_t)r->n_inputs, sizeof *r->inputs);
    r->outputs = grab((size_t)r->n_outputs, sizeof *r->outputs);
    r->saved = grab((size_t)r->n_outputs, sizeof *r->saved);
    return true;
}

static bool compute(graph_run *r, bool traced)
{
    if (tern_exec_create(r->ctx, r->program, &r->exec) == TERN_OK &&
        (traced ? run_traced(r) : run_plain(r)) == TERN_OK)
        return true;
    fail_status(source_name(r->path));
    return false;
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

static int report(const args *a, const graph_run *r, bool saved)
{
    tern_status status = TERN_OK;
    if (args_has(a, "json"))
        status = run_json_print(r);
    else if (args_has(a, "show"))
        status = story_print(r);
    else if (!saved)
        status = outputs_print(r);
    if (status == TERN_OK && !args_has(a, "json"))
        print_saved(r);
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

static void close_run(graph_run *r)
{
    free(r->step_ns);
    free(r->inputs);
    free(r->outputs);
    free(r->saved);
    text_free(&r->remarks);
    tern_exec_free(r->exec);
    tern_program_free(r->program);
    tern_graph_free(r->graph);
    tern_ctx_destroy(r->ctx); /* and every tensor with it */
}

static int run(const args *a)
{
    graph_run r = {.path = args_operand(a, 0)};
    bindings inputs = {0}, outputs = {0};
    bool traced = args_has(a, "show") || args_has(a, "json");
    int code = EXIT_USAGE;
    if (args_has(a, "show") && args_has(a, "json"))
        return fail_usage("--show and --json exclude each other");
    if (bindings_parse(a, "input", &inputs) && bindings_parse(a, "output", &outputs))
        code = open_run(a, &r);
    if (code != EXIT_DONE)
        goto done;
    code = EXIT_FAILED;
    if (compile(a, &r) && bindings_check_outputs(&outputs, &r) && bindings_load(&inputs, &r) &&
        compute(&r, traced) && bindings_save(&outputs, &r))
        code = report(a, &r, outputs.n > 0);
done:
    close_run(&r);
    bindings_free(&inputs);
    bindings_free(&outputs);
    return code;
}

#define LEVEL_NAME(id, number, name, meaning) name " "

/* clang-format off */
static const option run_options[] = {
    {"input", 'i', "NAME=FILE", NULL, "give an input or an unbound constant: FILE.npy, FILE.npz (the array of that name, or the only one) or FILE.npz:KEY; may be repeated"},
    {"output", 'o', "NAME=FILE", NULL, "write an output to FILE.npy, or into FILE.npz under its name; may be repeated"},
    {"show", 0, NULL, NULL, "tell the whole story: what was recorded, compiled and computed"},
    {"json", 0, NULL, NULL, "print all of that as JSON"},
    {"level", 0, "LEVEL", TERN_LEVEL_LIST(LEVEL_NAME), "how hard the compiler tries, by default medium"},
    {"threads", 0, "N", NULL, "compute with N threads (default: as many as the machine allows)"},
    {"cpu", 0, "LEVEL", NULL, "use no instruction set above LEVEL, such as avx2 (default: $TERN_CPU, else the best)"},
    {0},
};
/* clang-format on */

const command cmd_graph_run = {
    .name = "run",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .summary = "Compile a graph, run it once and show or save its outputs.",
    .details =
        "FILE is a graph in the text form of docs/graph-text.md; '-' is standard input. Every input, and "
        "every constant without data, is given with --input. Outputs that are not saved with --output are "
        "not written anywhere; without --output, --show and --json a preview of all is printed.",
    .options = run_options,
    .examples = "tern graph run examples/graphs/bitlinear.tern --show\n"
                "tern graph run mlp.tern -i x=x.npy -i w=weights.npz:layer0 -o y=y.npy\n"
                "tern graph run mlp.tern -i x=x.npy --json --threads 1",
    .run = run,
};
