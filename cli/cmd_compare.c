/* cmd_compare.c - `tern compare`: one graph compiled in two ways, run in turns until it is clear which is faster. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/compare.h>
#include <tern/tensor.h>

#include "bindings.h"
#include "commands.h"
#include "compare_devices.h"
#include "compare_results.h"
#include "compile.h"
#include "json.h"
#include "term.h"

/* One of the two. */
typedef struct side {
    const char *settings; /* as they were typed */
    args *a;
    graph_run r;
    bindings inputs;
    tern_tensor **later; /* (r.n_outputs) of a run after the first */
} side;

/* ---- two programs -------------------------------------------------------------------------------------------- */

static int open_side(const args *a, const char *settings, side *s)
{
    *s = (side){.settings = settings, .r = {.path = args_operand(a, 0), .makes_up = true}};
    s->r.given = &s->inputs;
    s->a = args_with(a, settings);
    if (!s->a || !bindings_parse(s->a, "input", &s->inputs))
        return EXIT_USAGE;
    int code = compile_open(s->a, &s->r, NULL, NULL);
    if (code != EXIT_DONE)
        return code;
    s->r.inputs = grab((size_t)s->r.n_inputs, sizeof *s->r.inputs);
    s->r.outputs = grab((size_t)s->r.n_outputs, sizeof *s->r.outputs);
    s->later = grab((size_t)s->r.n_outputs, sizeof *s->later);
    if (!bindings_load(&s->inputs, &s->r))
        return EXIT_FAILED;
    if (tern_exec_create(s->r.ctx, s->r.program, &s->r.exec) != TERN_OK ||
        tern_exec_run(s->r.exec, s->r.n_inputs, s->r.inputs, s->r.n_outputs, s->r.outputs) != TERN_OK)
        return fail_status(settings);
    return EXIT_DONE;
}

static void close_side(side *s)
{
    free(s->later);
    compile_close(&s->r);
    bindings_free(&s->inputs);
    args_free(s->a);
}

static tern_status run_side(void *user)
{
    side *s = user;
    TERN_TRY(tern_exec_run(s->r.exec, s->r.n_inputs, s->r.inputs, s->r.n_outputs, s->later));
    for (int i = 0; i < s->r.n_outputs; i++)
        tern_release(s->later[i]);
    return TERN_OK;
}

/* ---- do they compute the same? ------------------------------------------------------------------------------- */

typedef struct difference {
    bool any;         /* a bit differs */
    double of_floats; /* the largest difference of f32 results, as a share of the largest result */
} difference;

static void look_at_floats(const float *x, const float *y, int64_t n, difference *d)
{
    double most = 0, apart = 0;
    for (int64_t i = 0; i < n; i++) {
        const double size = fabs((double)x[i]), distance = fabs((double)x[i] - (double)y[i]);
        const bool same = x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
        if (!same && !isfinite(distance)) { /* a number here, none there */
            d->of_floats = INFINITY;
            return;
        }
        if (size > most && isfinite(size))
            most = size;
        if (!same && distance > apart)
            apart = distance;
    }
    d->of_floats = fmax(d->of_floats, most > 0 ? apart / most : apart);
}

/* false: an output cannot be read, and that was said. */
static bool find_difference(const side *a, const side *b, difference *d)
{
    *d = (difference){0};
    for (int i = 0; i < a->r.n_outputs; i++) {
        tern_tensor *x = a->r.outputs[i], *y = b->r.outputs[i];
        const void *p = tern_data(x), *q = tern_data(y);
        const bool same_type = tern_dtype_of(x) == tern_dtype_of(y) && tern_nbytes(x) == tern_nbytes(y);
        if (tern_nbytes(x) > 0 && (!p || !q)) {
            fail_status("reading an output");
            return false;
        }
        if (same_type && (tern_nbytes(x) == 0 || memcmp(p, q, tern_nbytes(x)) == 0))
            continue;
        d->any = true;
        if (same_type && tern_dtype_of(x) == TERN_F32)
            look_at_floats(p, q, tern_numel(x), d);
    }
    return true;
}

/* ---- saying so ----------------------------------------------------------------------------------------------- */

static void print_side(char name, const side *s, double median, int n)
{
    char time[NUMBER_TEXT];
    text settings = {0};
    text_add_safe(&settings, s->settings[0] ? s->settings : "as the options say");
    printf("%s%c%s  %-24s median %s of %d samples, %d steps\n", on(STYLE_NAME), name, off(STYLE_NAME),
           text_string(&settings), format_time(time, (uint64_t)(median * 1e9 + 0.5)), n, s->r.info.steps);
    text_free(&settings);
}

static void print_comparison(const side *a, const side *b, const tern_comparison *c, const difference *d)
{
    text advice = {0};
    char took[TERN_UNIT_TEXT];
    add_recommendation(&advice, c);
    print_side('A', a, c->median_a, c->n_a);
    print_side('B', b, c->median_b, c->n_b);
    printf("\n%s%s%s: pair by pair, B takes %.3f of A's time (95 %% interval ", on(STYLE_BOLD),
           tern_verdict_name(c->verdict), off(STYLE_BOLD), c->ratio);
    if (isnan(c->ratio_low))
        printf("unavailable: fewer than 6 samples)\n");
    else
        printf("%.3f to %.3f)\n", c->ratio_low, c->ratio_high);
    printf("  %d pairs of neighbouring samples in %s; medians above are of all samples\n", c->n_b,
           tern_time_text(c->seconds * 1e9, took, sizeof took));
    if (c->p < 1e-300) /* beyond what a double can tell */
        printf("  p below 1e-300");
    else
        printf("  p = %.2g", c->p);
    printf(" (a difference needs %.2g or less); ", c->alpha);
    if (isinf(c->noise))
        printf("noise unavailable: too few samples\n");
    else
        printf("noise alone stays between %.3g and %.3g of A's time\n", 1 / (1 + c->noise), 1 + c->noise);
    if (!d->any)
        printf("  results: the same bits\n");
    else
        printf("  results differ; those of type f32 by at most %.2g of the largest\n", d->of_floats);
    printf("  %s\n", text_string(&advice));
    text_free(&advice);
}

static void print_json(const side *a, const side *b, const tern_comparison *c, const difference *d)
{
    json j = {0};
    text advice = {0};
    add_recommendation(&advice, c);
    json_object(&j, NULL);
    json_string(&j, "a", a->settings);
    json_string(&j, "b", b->settings);
    json_string(&j, "verdict", tern_verdict_name(c->verdict));
    json_string(&j, "recommendation", text_string(&advice));
    json_double(&j, "median_a_us", c->median_a * 1e6);
    json_double(&j, "median_b_us", c->median_b * 1e6);
    json_double(&j, "ratio", c->ratio);
    json_double(&j, "ratio_low", c->ratio_low);
    json_double(&j, "ratio_high", c->ratio_high);
    json_double(&j, "p", c->p);
    json_double(&j, "alpha", c->alpha);
    json_double(&j, "noise", c->noise);
    json_int(&j, "samples", c->n_a);
    json_int(&j, "looks", c->looks);
    json_double(&j, "seconds", c->seconds);
    json_bool(&j, "same_bits", !d->any);
    json_double(&j, "f32_difference", d->of_floats);
    json_end(&j);
    json_print(&j);
    text_free(&advice);
}

/* ---- the verb ------------------------------------------------------------------------------------------------ */

static int compare(const args *a, const tern_compare_options *o)
{
    side sides[2] = {0};
    tern_comparison c;
    difference d;
    int code = EXIT_DONE;
    for (int i = 0; i < 2 && code == EXIT_DONE; i++)
        code = open_side(a, args_operand(a, i + 1), &sides[i]);
    if (code == EXIT_DONE && !find_difference(&sides[0], &sides[1], &d))
        code = EXIT_FAILED;
    if (code == EXIT_DONE && tern_compare_run(o, &(tern_contender){run_side, &sides[0]},
                                              &(tern_contender){run_side, &sides[1]}, &c) != TERN_OK)
        code = fail_status(NULL);
    if (code == EXIT_DONE)
        (args_has(a, "json") ? print_json : print_comparison)(&sides[0], &sides[1], &c, &d);
    for (int i = 0; i < 2; i++)
        close_side(&sides[i]);
    return code;
}

static int run(const args *a)
{
    tern_compare_options o = {0};
    double percent = 0;
    if (args_has(a, "devices"))
        return compare_devices(a);
    static const option of_devices[] = {
        {.name = "ops"}, {.name = "model"}, {.name = "prompt"}, {.name = "tokens"}, {0}};
    if (!args_none_of(a, of_devices, "is for --devices"))
        return EXIT_USAGE;
    if (!args_percent(a, "threshold", &percent) || !args_seconds(a, "budget", &o.budget_s) ||
        !args_int(a, "rounds", 1, 10000, 0, &o.rounds))
        return EXIT_USAGE;
    o.threshold = percent / 100;
    if (args_operands(a) == 3 && !args_has(a, "program"))
        return compare(a, &o);
    if (args_operands(a) != 2 || (!args_has(a, "program") && !text_ends_in(args_operand(a, 0), ".json")))
        return fail_usage(
            "takes FILE A B for a graph, A.json B.json for results, --program A B, or --devices NAMES");
    static const option of_samples[] = {{.name = "rounds"}, {.name = "budget"}, {.name = "bench"}, {0}};
    if (args_has(a, "program"))
        return compare_programs(a, &o);
    return args_none_of(a, of_samples, "is about what is measured, and these results were")
               ? compare_files(a, &o)
               : EXIT_USAGE;
}

/* clang-format off */
static const option options[] = {
    {"input", 'i', "NAME=FILE", NULL, "give an input or an unbound constant, as `tern graph run` takes them; what is not given is made up"},
    {"threshold", 0, "PERCENT", NULL, "changes by less than this are none (default: 5)"},
    {"budget", 0, "S", NULL, "take samples for at most S seconds (default: 5)"},
    {"rounds", 0, "N", NULL, "take at most N pairs of samples (default: 200); of programs, N sessions each (default: 12)"},
    {"program", 0, NULL, NULL, "a flag, with A and B as operands: they are two builds of tern, whose sessions alternate"},
    {"bench", 0, "WORDS", NULL, "what they are to measure, for `tern bench` (default: ops --family rows --memory 4 --budget 0.1)"},
    {"devices", 0, "NAMES", NULL, "compare these devices, such as cpu,opencl,mlx, with the first of them: operations by size and type, or a model"},
    {"ops", 0, "NAMES", NULL, "with --devices: only these operations, such as matmul,add"},
    {"model", 'm', "FILE", NULL, "with --devices: how fast this model reads prompts and generates, and whether it says the same"},
    {"prompt", 'p', "TEXT", NULL, "with --model: the text that it continues on each device (default: The )"},
    {"tokens", 'n', "N", NULL, "with --model: compare at most N tokens of what it says (default: 128)"},
    {"json", 0, NULL, NULL, "print JSON: an object; that of --devices is read by `tern report`"},
    COMPILE_OPTIONS,
    NO_TUNE_OPTION,
    {0},
};
/* clang-format on */

const command cmd_compare = {
    .name = "compare",
    .operands = "[[FILE] A B]",
    .least = 0,
    .most = 3,
    .summary = "Tell which is faster: ways to compile a graph, results, programs, or devices.",
    .details =
        "FILE is a graph in the text form of docs/graph-text.md. A and B are options of this command "
        "without their dashes, with "
        "commas between them: level=none, threads=2,cpu=avx2; '' is none. Both are run in turns, "
        "samples are compared pair by "
        "pair, and more are taken until the answer is clear or the budget has been used; "
        "docs/measurement.md says how. An answer "
        "that the samples do not allow is 'undecided', with status 0 like the others.\n\n"
        "Two operands that end in .json are results of `tern bench --format json` (--json is something else: "
        "rows alone, and of `bench model` what llama-bench prints), and with --program "
        "they are two builds "
        "of tern, which measure the same benchmarks in turns: every benchmark gets a speed-up with "
        "its interval, and a "
        "recommendation.\n\n"
        "With --devices there are no operands: times with 95 % intervals, what a run takes around its "
        "steps, from which size on "
        "a device is faster than the first, and what to use for what, computed from these times "
        "(docs/devices.md). --rounds and --budget are those of each case then.",
    .options = options,
    .examples = "tern compare examples/graphs/mlp.tern level=none level=high\n"
                "tern compare examples/graphs/mlp.tern threads=1 threads=2 --threshold 2\n"
                "tern compare examples/graphs/mlp.tern cpu=avx2 '' --json\n"
                "tern compare before.json after.json\n"
                "tern compare --program build-old/tern build/tern --bench 'ops --family ternary'\n"
                "tern compare --devices cpu,opencl --ops matmul,add\n"
                "tern compare --devices cpu,opencl,mlx --json > devices.json",
    .run = run,
};
