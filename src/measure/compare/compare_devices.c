/* compare_devices.c - measures the cases of device_cases.def on several devices, in turns. */
#include "measure/compare/compare_devices.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/bench_model.h>
#include <tern/catalog.h>
#include <tern/ops.h>
#include <tern/program.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "measure/bench/bench_data.h"
#include "measure/bootstrap.h"
#include "measure/timing.h"

enum { MOST_DEVICES = 8, SIZES = 3, MOST_PORTS = 8 };

typedef struct device_case {
    const char *op, *dtype;
    tern_device_use use;
    int64_t sizes[SIZES];
    const char *shape, *text;
} device_case;

static const device_case cases[] = {
#define DEVICE_CASE(op, dtype, use, small, middle, large, shape, text) \
    {#op, #dtype, TERN_DEVICE_USE_##use, {small, middle, large}, shape, text},
#include "measure/bench/device_cases.def"
#undef DEVICE_CASE
};

typedef struct comparer {
    tern_device_compare_options o;
    int n;
    const char *names[MOST_DEVICES];
    tern_ctx *contexts[MOST_DEVICES]; /* NULL: it cannot be opened, for this reason */
    char missing[MOST_DEVICES][160];
    tern_ctx *home; /* on the CPU: data are made there, and references computed */
    tern_device_comparison *out;
    int done, total;
} comparer;

/* ---- one case on one device ---- */

typedef struct side {
    tern_ctx *ctx, *home;
    tern_graph *graph;
    tern_program *program;
    tern_exec *exec;
    tern_tensor *inputs[MOST_PORTS], *outputs[MOST_PORTS];
    int n_in, n_out;
    double weight; /* elements of its constant */
    bool failed;   /* its last run */
} side;

/* '@' becomes the size. */
static void fill_size(const char *from, int64_t size, char *to, size_t room)
{
    size_t used = 0;
    for (; *from && used + 24 < room; from++)
        used += *from == '@' ? (size_t)snprintf(to + used, room - used, "%" PRId64, size)
                             : (size_t)snprintf(to + used, room - used, "%c", *from);
    to[used] = '\0';
}

/* Random numbers; rows to gather in a mixed order; "p" the last position, the slot "s" the first. Made by the CPU: the device may not
 * have the ops that would. */
static tern_tensor *make_numbers(tern_ctx *home, const tern_port *port, int64_t size)
{
    enum { STRIDE = 7919 }; /* a prime */
    const int64_t *shape = port->shape;
    if (port->dtype == TERN_I32)
        return tern_full(home, TERN_I32, port->rank, shape,
                         strcmp(port->name, "p") == 0 ? (double)(size - 1) : 0);
    if (port->dtype == TERN_I64)
        return tern_mod(tern_mul(tern_arange(home, TERN_I64, 0, (double)shape[0], 1),
                                 tern_scalar(home, TERN_I64, STRIDE)),
                        tern_scalar(home, TERN_I64, (double)size));
    return tern__data_random(home, port->dtype, port->rank, shape, 100 + port->name[0]);
}

static tern_status make_data(const side *s, const tern_port *port, int64_t size, tern_tensor **out)
{
    tern_tensor *made = NULL;
    TERN_SCOPE(s->home) {
        tern_tensor *t = make_numbers(s->home, port, size);
        TERN_TRY(tern_eval(t));
        made = tern_keep(t);
    }
    tern_status status = tern__data_carry(s->ctx, made, out);
    tern_release(made);
    return status;
}

/* The constant "w", if there is one: a square matrix. */
static tern_status bind_weight(side *s, const char *text, int64_t size)
{
    static const char before[] = "constant \"w\" ";
    const int64_t shape[] = {size, size};
    tern_port port = {.name = "w", .rank = 2, .shape = shape};
    const char *at = strstr(text, before);
    char name[8] = "";
    tern_tensor *w = NULL;
    if (!at)
        return TERN_OK;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at + sizeof before - 1, "["), at + sizeof before - 1);
    TERN_TRY(tern_dtype_parse(name, &port.dtype));
    TERN_TRY(make_data(s, &port, size, &w));
    TERN_TRY(tern_freeze(w));
    s->weight = (double)size * (double)size;
    return tern_graph_bind(s->graph, "w", w);
}

static tern_status open_side(side *s, const device_case *c, int64_t size, const tern_compile_options *options)
{
    char text[1024];
    tern_program_info info;
    fill_size(c->text, size, text, sizeof text);
    TERN_TRY(tern_graph_parse(s->ctx, text, strlen(text), &s->graph));
    TERN_TRY(bind_weight(s, text, size));
    TERN_TRY(tern_graph_compile(s->ctx, s->graph, options, &s->program));
    TERN_TRY(tern_exec_create(s->ctx, s->program, &s->exec));
    tern_program_get_info(s->program, &info);
    s->n_in = info.n_inputs;
    s->n_out = info.n_outputs;
    TERN__FAIL_IF(s->n_in > MOST_PORTS || s->n_out > MOST_PORTS, TERN_INTERNAL,
                  "compare_devices: %s has too many operands", c->op);
    for (int i = 0; i < s->n_in; i++) {
        tern_port port;
        TERN_TRY(tern_program_input(s->program, i, &port));
        TERN_TRY(make_data(s, &port, size, &s->inputs[i]));
    }
    return TERN_OK;
}

static void close_side(side *s)
{
    tern_exec_free(s->exec);
    tern_program_free(s->program);
    tern_graph_free(s->graph);
}

static tern_status run_side(void *user)
{
    side *s = user;
    tern_status status = TERN_OK;
    TERN_SCOPE(s->ctx) {
        status = tern_exec_run(s->exec, s->n_in, s->inputs, s->n_out, s->outputs);
    }
    s->failed = status != TERN_OK;
    return status;
}

/* Computes what the reference kernels do, into s->outputs; in a context of its own, whose scope the caller opened. */
static tern_status open_reference(side *s, const device_case *c, int64_t size)
{
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_NONE;
    options.cpu = "baseline";
    TERN_TRY(open_side(s, c, size, &options));
    return tern_exec_run(s->exec, s->n_in, s->inputs, s->n_out, s->outputs);
}

/* One run of the device, which must compute what the reference does. */
static tern_status check_side(side *s, const side *reference, const char *op)
{
    tern__data_check check = {.name = op, .ctx = reference->ctx, .other_device = true};
    TERN_SCOPE(s->ctx) {
        TERN_TRY(tern_exec_run(s->exec, s->n_in, s->inputs, s->n_out, s->outputs));
        for (int i = 0; i < s->n_out; i++)
            TERN_TRY(tern__data_compare(&check, s->outputs[i], reference->outputs[i]));
    }
    return TERN_OK;
}

/* Elements that the case's inputs, constant and results have. */
static double size_of(const side *s)
{
    double size = s->weight;
    tern_port port;
    for (int i = 0; i < s->n_in + s->n_out; i++) {
        const tern_status status = i < s->n_in ? tern_program_input(s->program, i, &port)
                                               : tern_program_output(s->program, i - s->n_in, &port);
        double n = status == TERN_OK ? 1 : 0;
        for (int k = 0; status == TERN_OK && k < port.rank; k++)
            n *= (double)port.shape[k];
        size += n;
    }
    return size;
}

/* What a run takes beside its steps: both of the same runs, timed step by step. It is told where such runs take as long as others do, and
 * the difference is known to a factor of two; else the reason is. */
static tern_status fill_around(tern_device_time *row, side *s)
{
    enum { RUNS = 15 };
    double whole[RUNS], beside[RUNS];
    tern__interval of_whole, of_beside;
    TERN_TRY(tern_exec_time_steps(s->exec, true));
    for (int r = 0; r < RUNS; r++) {
        tern_step_time time;
        double steps = 0;
        const uint64_t start = tern__now_ns();
        TERN_TRY(run_side(s));
        whole[r] = (double)(tern__now_ns() - start) / 1e3;
        for (int i = 0; tern_exec_step_time(s->exec, i, &time) == TERN_OK; i++)
            steps += (double)time.last_ns / 1e3;
        beside[r] = whole[r] - steps;
    }
    TERN_TRY(tern_exec_time_steps(s->exec, false));
    TERN_TRY(tern__median_interval(whole, RUNS, 0.95, 1, &of_whole));
    TERN_TRY(tern__median_interval(beside, RUNS, 0.95, 1, &of_beside));
    tern__device_around(row, of_whole, of_beside, tern__stats_of(beside, RUNS).median);
    return TERN_OK;
}

/* What copies to the device and back take, in the median of a few runs; NaN: the device does not tell. */
static tern_status transfers_us(side *s, double *out)
{
    enum { RUNS = 5 };
    double us[RUNS];
    tern_transfer_time t;
    *out = NAN;
    TERN_TRY(tern_exec_time_partitions(s->exec, true));
    for (int r = 0; r < RUNS; r++) {
        TERN_TRY(run_side(s));
        us[r] = 0;
        for (int i = 0; tern_exec_partition_transfer(s->exec, i, &t) == TERN_OK; i++)
            us[r] += t.told ? (double)(t.in_ns + t.out_ns) / 1e3 : NAN;
        if (isnan(us[r]))
            return tern_exec_time_partitions(s->exec, false);
    }
    *out = tern__stats_of(us, RUNS).median;
    return tern_exec_time_partitions(s->exec, false);
}

/* ---- one case on all of them ---- */

static tern_device_time start_row(const comparer *c, int d, const device_case *of, int at)
{
    tern_device_time row = {.use = at == 0 ? TERN_DEVICE_USE_SMALL : of->use,
                            .median_us = NAN,
                            .low_us = NAN,
                            .high_us = NAN,
                            .around_us = NAN,
                            .transfer_us = NAN};
    snprintf(row.device, sizeof row.device, "%s", c->names[d]);
    snprintf(row.op, sizeof row.op, "%s", of->op);
    snprintf(row.dtype, sizeof row.dtype, "%s", of->dtype);
    fill_size(of->shape, of->sizes[at], row.shape, sizeof row.shape);
    return row;
}

/* Of a failure of the device's, its row says why there is no time; others end the comparison. */
static tern_status tell_failure(tern_device_time *row, tern_status status)
{
    if (!tern__status_of_device(status))
        return status;
    row->samples = 0;
    snprintf(row->error, sizeof row->error, "%s", tern_last_error());
    return TERN_OK;
}

static tern_status fill_row(tern_device_time *row, side *s, const double *samples, int n)
{
    double *sorted = tern__alloc((size_t)n * sizeof *sorted);
    if (!sorted)
        return tern__out_of_memory((size_t)n * sizeof *sorted);
    tern__interval interval;
    memcpy(sorted, samples, (size_t)n * sizeof *sorted);
    row->median_us = tern__stats_of(sorted, n).median * 1e6;
    row->samples = n;
    tern_status status = tern__median_interval(samples, n, 0.95, 1, &interval);
    tern__free(sorted);
    TERN_TRY(status);
    row->low_us = interval.low * 1e6;
    row->high_us = interval.high * 1e6;
    TERN_TRY(fill_around(row, s));
    return transfers_us(s, &row->transfer_us);
}

static tern_status time_ready(comparer *c, side *sides, const int *ready, int n_ready, tern_device_time *rows)
{
    tern__turns turns = {.rounds = c->o.rounds ? c->o.rounds : 15,
                         .budget_s = c->o.budget_s > 0 ? c->o.budget_s : 0.5};
    tern__thing things[MOST_DEVICES];
    TERN_TRY(tern__turns_settle(&turns));
    double *samples = tern__alloc_zero((size_t)(n_ready * turns.rounds) + 1, sizeof *samples);
    if (!samples)
        return tern__out_of_memory((size_t)(n_ready * turns.rounds) * sizeof *samples);
    tern_status status = TERN_OK;
    int rounds = 0;
    for (int i = 0; i < n_ready && status == TERN_OK; i++) {
        things[i] = (tern__thing){.run = run_side, .user = &sides[ready[i]]};
        status = tern__thing_ready(&things[i], &turns);
    }
    if (status == TERN_OK && n_ready > 0)
        status = tern__time_turns(things, n_ready, &turns, samples, NULL, &rounds);
    for (int i = 0; i < n_ready && status == TERN_OK; i++)
        status = fill_row(&rows[ready[i]], &sides[ready[i]], &samples[i * turns.rounds], rounds);
    tern__free(samples);
    return status;
}

/* One that fails meanwhile is left out, and the others are timed again: they had turns with it. */
static tern_status time_sides(comparer *c, side *sides, int *ready, int n_ready, tern_device_time *rows)
{
    for (;;) {
        const tern_status status = time_ready(c, sides, ready, n_ready, rows);
        int failed = 0;
        while (failed < n_ready && !sides[ready[failed]].failed)
            failed++;
        if (status == TERN_OK || failed == n_ready)
            return status;
        TERN_TRY(tell_failure(&rows[ready[failed]], status));
        for (n_ready--; failed < n_ready; failed++)
            ready[failed] = ready[failed + 1];
    }
}

/* Makes one device ready to be timed; what it cannot run, or computes wrongly, it is not. */
static tern_status ready_side(const comparer *c, int d, const device_case *of, int at, const side *reference,
                              side *s)
{
    TERN__FAIL_IF(!c->contexts[d], TERN_UNAVAILABLE, "%s", c->missing[d]);
    s->ctx = c->contexts[d];
    s->home = c->home;
    TERN_TRY(open_side(s, of, of->sizes[at], NULL));
    return check_side(s, reference, of->op);
}

/* What a device cannot run, computes wrongly or fails at has a row that says so; other failures end the comparison. */
static tern_status compare_case(comparer *c, const device_case *of, int at)
{
    side sides[MOST_DEVICES] = {{0}}, reference = {.ctx = c->home, .home = c->home};
    tern_device_time rows[MOST_DEVICES];
    int ready[MOST_DEVICES], n_ready = 0;
    tern_status status = TERN_OK;
    tern_scope_open(c->home);
    for (int d = 0; d < c->n; d++)
        if (c->contexts[d])
            tern_scope_open(c->contexts[d]);
    status = open_reference(&reference, of, of->sizes[at]);
    for (int d = 0; d < c->n && status == TERN_OK; d++) {
        rows[d] = start_row(c, d, of, at);
        rows[d].size = size_of(&reference);
        status = ready_side(c, d, of, at, &reference, &sides[d]);
        if (status == TERN_OK)
            ready[n_ready++] = d;
        else
            status = tell_failure(&rows[d], status);
    }
    if (status == TERN_OK)
        status = time_sides(c, sides, ready, n_ready, rows);
    for (int d = 0; d < c->n && status == TERN_OK; d++)
        status = tern_device_comparison_add(c->out, &rows[d]);
    for (int d = 0; d < c->n; d++) {
        close_side(&sides[d]);
        if (c->contexts[d])
            tern_scope_close(c->contexts[d]);
    }
    close_side(&reference);
    tern_scope_close(c->home);
    return status;
}

static tern_status tell(comparer *c, const char *what)
{
    TERN__FAIL_IF(c->o.progress && !c->o.progress(c->o.user, what, c->done, c->total), TERN_CANCELLED,
                  "compare_devices: stopped");
    c->done++;
    return TERN_OK;
}

static bool is_wanted(const comparer *c, const char *op)
{
    for (int i = 0; i < c->o.n_ops; i++)
        if (strcmp(c->o.ops[i], op) == 0)
            return true;
    return c->o.n_ops == 0;
}

static tern_status check_ops(const comparer *c)
{
    for (int i = 0; i < c->o.n_ops; i++) {
        char names[256] = "";
        bool known = false;
        for (size_t k = 0; k < TERN__COUNT(cases); k++) {
            known = known || strcmp(cases[k].op, c->o.ops[i]) == 0;
            const size_t used = strlen(names);
            if (!strstr(names, cases[k].op))
                snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", cases[k].op);
        }
        TERN__FAIL_IF(!known, TERN_NOT_FOUND, "compare_devices: no cases of op '%.40s'; there are: %s",
                      c->o.ops[i], names);
    }
    return TERN_OK;
}

static tern_status compare_ops(comparer *c)
{
    TERN_TRY(check_ops(c));
    for (size_t k = 0; k < TERN__COUNT(cases); k++)
        c->total += is_wanted(c, cases[k].op) ? SIZES : 0;
    TERN_TRY(tern_ctx_create(NULL, &c->home));
    for (int d = 0; d < c->n; d++) {
        tern_ctx_options options = tern_ctx_options_default();
        options.device = c->names[d];
        options.threads = c->o.threads;
        const tern_status status = tern_ctx_create(&options, &c->contexts[d]);
        if (status != TERN_OK && !tern__status_of_device(status))
            return status;
        snprintf(c->missing[d], sizeof c->missing[d], "%s", status == TERN_OK ? "" : tern_last_error());
    }
    for (size_t k = 0; k < TERN__COUNT(cases); k++)
        for (int at = 0; at < SIZES && is_wanted(c, cases[k].op); at++) {
            TERN_TRY(tell(c, cases[k].op));
            TERN_TRY(compare_case(c, &cases[k], at));
        }
    return TERN_OK;
}

/* ---- a model ---- */

enum { MODEL_ROWS = 2, PROMPT_TOKENS = 64, NEW_TOKENS = 16 }; /* prompts, generating */

/* A model's rows on one device. */
typedef struct model_side {
    char device[24];
    int n;
    tern_device_time rows[MODEL_ROWS];
    tern_status status; /* the first that went wrong with what was measured */
} model_side;

static tern_status read_times(const tern_bench_model_row *m, tern_device_time *row)
{
    double *sorted = tern__alloc_zero((size_t)m->rounds, sizeof *sorted);
    if (!sorted)
        return tern__out_of_memory((size_t)m->rounds * sizeof *sorted);
    memcpy(sorted, m->seconds, (size_t)m->rounds * sizeof *sorted);
    row->samples = m->rounds;
    row->median_us = tern__stats_of(sorted, m->rounds).median * 1e6;
    tern__free(sorted);
    tern__interval interval;
    TERN_TRY(tern__median_interval(m->seconds, m->rounds, 0.95, 1, &interval));
    row->low_us = interval.low * 1e6;
    row->high_us = interval.high * 1e6;
    return TERN_OK;
}

static void take_model(void *user, const tern_bench_model_row *m)
{
    model_side *on = user;
    const bool prompt = m->n_prompt > 0;
    tern_device_time row = {.use = prompt ? TERN_DEVICE_USE_PROMPT : TERN_DEVICE_USE_GENERATE,
                            .size = prompt ? m->n_prompt : m->n_gen,
                            .median_us = NAN,
                            .low_us = NAN,
                            .high_us = NAN,
                            .around_us = NAN,
                            .transfer_us = NAN};
    snprintf(row.device, sizeof row.device, "%s", on->device);
    snprintf(row.op, sizeof row.op, "%s", prompt ? "prompt" : "generate");
    snprintf(row.dtype, sizeof row.dtype, "model");
    snprintf(row.shape, sizeof row.shape, "%d tokens", prompt ? m->n_prompt : m->n_gen);
    snprintf(row.error, sizeof row.error, "%s", m->rounds > 0 ? "" : m->error);
    const tern_status status = m->rounds > 0 ? read_times(m, &row) : TERN_OK;
    on->status = on->status == TERN_OK ? status : on->status;
    if (on->n < MODEL_ROWS)
        on->rows[on->n++] = row;
}

/* With the CPU's help the device is called so: a time that is partly another's must not stand under its name. */
static tern_status time_model(const comparer *c, const char *device, bool helped, model_side *on)
{
    tern_bench_model_options o = tern_bench_model_options_default();
    tern_model_options model = tern_model_options_default();
    model.guard = c->o.guard;
    *on = (model_side){.n = 0};
    snprintf(on->device, sizeof on->device, "%.18s%s", device, helped ? "+cpu" : "");
    o.path = c->o.model;
    o.model = &model;
    o.device = device;
    o.fallback = helped;
    o.n_prompt = PROMPT_TOKENS;
    o.n_gen = NEW_TOKENS;
    o.repetitions = c->o.rounds ? c->o.rounds : 7;
    o.memory = 4 << 20; /* limits are not what is asked for */
    if (c->o.threads) {
        o.threads = &c->o.threads;
        o.n_threads = 1;
    }
    const tern_status status = tern_bench_model(&o, take_model, on);
    if (on->status != TERN_OK) /* whose words are gone by now */
        return tern__fail(on->status, "compare_devices: no memory for the times of '%s'", on->device);
    return status;
}

static bool has_all_times(const model_side *on)
{
    for (int i = 0; i < on->n; i++)
        if (on->rows[i].samples == 0)
            return false;
    return on->n == MODEL_ROWS;
}

/* What it says, beside what it says on the first. */
static tern_status compare_texts(comparer *c)
{
    const tern__text_question question = {.model = c->o.model,
                                          .prompt = c->o.prompt ? c->o.prompt : "The ",
                                          .first = c->names[0],
                                          .threads = c->o.threads,
                                          .tokens = c->o.tokens ? c->o.tokens : 128,
                                          .guard = c->o.guard};
    for (int d = 1; d < c->n; d++) {
        tern_device_text text;
        TERN_TRY(tell(c, c->names[d]));
        TERN_TRY(tern__compare_text(&question, c->names[d], &text));
        TERN_TRY(tern_device_comparison_add_text(c->out, &text));
    }
    return TERN_OK;
}

/* A device that has no time for anything has rows that say why. */
static void fail_model(model_side *on, const char *device)
{
    *on = (model_side){.n = 0};
    snprintf(on->device, sizeof on->device, "%s", device);
    take_model(on, &(tern_bench_model_row){.n_prompt = PROMPT_TOKENS, .error = tern_last_error()});
    take_model(on, &(tern_bench_model_row){.n_gen = NEW_TOKENS, .error = tern_last_error()});
}

static tern_status measure_model(const comparer *c, const char *device, model_side *on)
{
    tern_status status = time_model(c, device, false, on);
    if (status == TERN_UNSUPPORTED || ((status == TERN_OK || status == TERN_STATE) && !has_all_times(on)))
        status = time_model(c, device, true, on);
    return status == TERN_STATE && on->n == MODEL_ROWS ? TERN_OK
                                                       : status; /* none was measured: rows say why */
}

/* Device after device, since each loads the model; rows are listed case by case. What fails on all of them is not the devices' failure. */
static tern_status compare_model(comparer *c)
{
    model_side sides[MOST_DEVICES];
    int failed = 0;
    c->total = 2 * c->n - 1;
    for (int d = 0; d < c->n; d++) {
        TERN_TRY(tell(c, c->names[d]));
        const tern_status status = measure_model(c, c->names[d], &sides[d]);
        failed += status != TERN_OK;
        if (status != TERN_OK && (failed == c->n || !tern__status_of_device(status)))
            return status;
        if (status != TERN_OK)
            fail_model(&sides[d], c->names[d]);
    }
    for (int i = 0; i < MODEL_ROWS; i++)
        for (int d = 0; d < c->n; d++)
            if (i < sides[d].n)
                TERN_TRY(tern_device_comparison_add(c->out, &sides[d].rows[i]));
    return compare_texts(c);
}

/* ---- devices ---- */

static const char *device_names(char *to, size_t room)
{
    tern_device_info info;
    size_t used = 0;
    to[0] = '\0';
    for (int k = 0; used < room && tern_catalog_device(k, &info) == TERN_OK; k++)
        used += (size_t)snprintf(to + used, room - used, "%s%s", k ? ", " : "", info.name);
    return to;
}

static tern_status list_devices(comparer *c)
{
    tern_device_info info;
    char names[256];
    if (c->o.n_devices > 0)
        TERN__FAIL_IF(!c->o.devices || c->o.n_devices > MOST_DEVICES, TERN_INVALID_ARGUMENT,
                      "compare_devices: %d devices; at most %d, with their names", c->o.n_devices,
                      MOST_DEVICES);
    for (int i = 0; i < c->o.n_devices; i++) {
        bool there = false;
        for (int k = 0; !there && tern_catalog_device(k, &info) == TERN_OK; k++)
            there = c->o.devices[i] && strcmp(info.name, c->o.devices[i]) == 0;
        TERN__FAIL_IF(!there, TERN_NOT_FOUND, "compare_devices: there is no device '%.40s'; there are: %s",
                      c->o.devices[i] ? c->o.devices[i] : "", device_names(names, sizeof names));
        TERN__FAIL_IF(info.unavailable, TERN_UNAVAILABLE, "compare_devices: device '%s': %s", info.name,
                      info.unavailable);
        for (int k = 0; k < c->n; k++)
            TERN__FAIL_IF(strcmp(c->names[k], info.name) == 0, TERN_INVALID_ARGUMENT,
                          "compare_devices: device '%s' is named twice", info.name);
        c->names[c->n++] = info.name;
    }
    for (int k = 0; c->o.n_devices == 0 && c->n < MOST_DEVICES && tern_catalog_device(k, &info) == TERN_OK;
         k++)
        if (!info.unavailable)
            c->names[c->n++] = info.name;
    return TERN_OK;
}

tern_device_compare_options tern_device_compare_options_default(void)
{
    return (tern_device_compare_options){0};
}

tern_status tern_devices_compare(const tern_device_compare_options *options, tern_device_comparison **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "compare_devices: out is NULL");
    comparer c = {.o = options ? *options : tern_device_compare_options_default()};
    TERN__FAIL_IF(c.o.n_devices < 0 || c.o.n_ops < 0 || (c.o.n_ops > 0 && !c.o.ops), TERN_INVALID_ARGUMENT,
                  "compare_devices: names are missing");
    TERN__FAIL_IF(c.o.tokens < 0, TERN_INVALID_ARGUMENT, "compare_devices: %d tokens", c.o.tokens);
    TERN__FAIL_IF(c.o.model && c.o.n_ops > 0, TERN_INVALID_ARGUMENT,
                  "compare_devices: a model and operations exclude each other");
    TERN_TRY(list_devices(&c));
    TERN_TRY(tern_device_comparison_create(&c.out));
    const tern_status status = c.o.model ? compare_model(&c) : compare_ops(&c);
    char why[TERN__MESSAGE_MAX]; /* contexts that go may say other things */
    snprintf(why, sizeof why, "%s", tern_last_error());
    for (int d = 0; d < c.n; d++)
        tern_ctx_destroy(c.contexts[d]);
    tern_ctx_destroy(c.home);
    if (status != TERN_OK) {
        tern_device_comparison_free(c.out);
        return tern__fail(status, "%s", why);
    }
    *out = c.out;
    return TERN_OK;
}
