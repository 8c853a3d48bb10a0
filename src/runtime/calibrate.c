/* calibrate.c - measures what kinds of work take on devices (tern_tune_devices).
 *
 * A probe is compiled with one step of its kind and with several, and both run in turns; medians of each count. What one more step adds is
 * what a step costs, launching it included. What the single
 * step's partition takes beside its step is the partition itself where next to nothing is moved, and the border where much is: so that a
 * device that copies is told from one that uses host memory in place by what it takes, whatever it says. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "runtime/calibration.h"
#include "runtime/context.h"
#include "runtime/probes.h"
#include "runtime/program.h"

/* What the report is about, and where it goes. */
typedef struct calibrator {
    tern_ctx *ctx; /* whose results they are */
    const tern_tune_options *options;
    tern_tune_report *report; /* or NULL */
    int done, total;          /* points */
    uint64_t runs;
} calibrator;

/* A device that is measured. */
typedef struct subject {
    calibrator *by;
    const tern__device_ops *ops;
    tern_device_info info;
    tern_ctx *ctx;
    tern__device_costs costs; /* so far */
} subject;

/* ---- running a probe ---- */

/* One program, ready to run. */
typedef struct contestant {
    tern_program *program;
    tern_exec *exec;
    tern_tensor *inputs[8], *outputs[TERN__PROBE_COPIES];
    int n_in, n_out;
} contestant;

/* An input of the probe's own making: a ramp of floats, zeros, the last position. No op makes it, which the device may not have. */
static tern_status make_input(tern_ctx *ctx, const tern_port *port, int64_t size, tern_tensor **out)
{
    tern__type type;
    TERN_TRY(tern__type_make("probe", port->dtype, port->rank, port->shape, &type));
    void *data = tern__alloc_zero(tern__type_bytes(&type), 1);
    if (!data)
        return tern__out_of_memory(tern__type_bytes(&type));
    const int64_t n = tern__type_numel(&type);
    for (int64_t i = 0; port->dtype == TERN_F32 && i < n; i++)
        ((float *)data)[i] = (float)(i % 1000) / 1000;
    for (int64_t i = 0; port->dtype == TERN_I32 && strcmp(port->name, "positions") == 0 && i < n; i++)
        ((int32_t *)data)[i] = (int32_t)(size - 1);
    *out = tern_from_data(ctx, port->dtype, port->rank, port->shape, data);
    tern__free(data);
    return tern_eval(*out);
}

static tern_status prepare(tern_ctx *ctx, const tern__cost_probe *probe, int64_t size, int copies,
                           contestant *c)
{
    /* Steps are to stay what they are: one of the kind each. */
    static const char *const off[] = {"simplify", "cse", "fuse", "epilogue", "horizontal"};
    tern_compile_options options = tern_compile_options_default();
    options.disabled = off;
    options.n_disabled = (int)TERN__COUNT(off);
    tern_tensor *out[TERN__PROBE_COPIES];
    const int n = probe->make(ctx, size, copies, out);
    TERN_TRY(tern_compile(ctx, n, out, NULL, &options, &c->program));
    c->n_in = c->program->n_inputs;
    c->n_out = n;
    for (int i = 0; i < c->n_in; i++) {
        tern_port port;
        TERN_TRY(tern_program_input(c->program, i, &port));
        TERN_TRY(make_input(ctx, &port, size, &c->inputs[i]));
    }
    TERN_TRY(tern_exec_create(ctx, c->program, &c->exec));
    return tern_exec_time_partitions(c->exec, true);
}

static void finish(contestant *c)
{
    tern_exec_free(c->exec);
    tern_program_free(c->program);
}

/* What its partitions took; there is one, as nothing else than the kind is in it. */
static tern_status run_once(contestant *c, uint64_t *ns)
{
    tern_step_time time;
    *ns = 0;
    TERN_SCOPE(tern__exec_ctx(c->exec)) {
        TERN_TRY(tern_exec_run(c->exec, c->n_in, c->inputs, c->n_out, c->outputs));
    }
    for (int i = 0; tern_exec_partition_time(c->exec, i, &time) == TERN_OK; i++)
        *ns += time.last_ns;
    return TERN_OK;
}

typedef struct outcome {
    uint64_t step_ns, least_ns; /* of one step: from medians, and from the least of each program; above 0 */
    uint64_t alone_ns;          /* of a partition with one */
    uint64_t steps;             /* of the larger program */
    double work, border;        /* of a step; bytes that the single step's partition reads and gives */
    int runs;
} outcome;

/* What one more step adds. A step takes time: where noise hides what it adds, its share of all of them stands in, which counts a part of
 * the partition too and so is no less. */
static uint64_t apart(uint64_t all, uint64_t one, uint64_t steps)
{
    const uint64_t share = all / steps > 0 ? all / steps : 1;
    return all > one + steps - 1 ? (all - one) / (steps - 1) : share;
}

static tern_status race(calibrator *by, contestant c[2], outcome *out)
{
    uint64_t alone[TERN__RACE_RUNS], whole[TERN__RACE_RUNS], began = tern__now_ns();
    const tern_tune_options o = tern__race_options(by->options);
    for (int r = -2; r < o.runs; r++) {
        uint64_t one, all;
        if (r >= 3 && tern__now_ns() - began > o.budget_ns)
            break;
        TERN_TRY(run_once(&c[0], &one));
        TERN_TRY(run_once(&c[1], &all));
        if (r < 0)
            continue; /* warms up */
        alone[r] = one;
        whole[r] = all;
        out->runs = r + 1;
        by->runs += 2;
    }
    /* Of medians: a difference within a round has the noise of both, and the least of such differences is noise alone. */
    out->alone_ns = tern__median(alone, out->runs); /* in order now */
    out->step_ns = apart(tern__median(whole, out->runs), out->alone_ns, out->steps);
    out->least_ns = apart(whole[0], alone[0], out->steps);
    out->least_ns = out->least_ns < out->step_ns ? out->least_ns : out->step_ns;
    return TERN_OK;
}

/* Estimates of the step itself, by which it will be predicted. */
static tern_status look_at(const tern__cost_probe *probe, const contestant c[2], outcome *out)
{
    tern_step_info step;
    tern_operand_info operand;
    TERN_TRY(tern_program_step(c[0].program, 0, &step));
    out->work =
        tern__costs[probe->kind].unit == TERN__COST_UNIT_FLOPS ? (double)step.flops : (double)step.bytes;
    for (int i = 0; i < step.n_operands + step.n_results; i++) {
        TERN_TRY(tern_program_operand(c[0].program, 0, i, &operand));
        if (strcmp(operand.place, "constant") != 0)
            out->border += (double)operand.bytes;
    }
    out->steps = c[1].program->compiled->plan.n_steps;
    TERN__FAIL_IF(out->steps < 2, TERN_INTERNAL, "calibrate: a probe of %s has one step",
                  tern__costs[probe->kind].name);
    return TERN_OK;
}

static tern_status run_probe(subject *s, const tern__cost_probe *probe, int64_t size, outcome *out)
{
    contestant c[2] = {{0}, {0}};
    tern_status status = TERN_OK;
    *out = (outcome){0};
    TERN_SCOPE(s->ctx) {
        status = prepare(s->ctx, probe, size, 1, &c[0]);
        if (status == TERN_OK)
            status = prepare(s->ctx, probe, size, TERN__PROBE_COPIES, &c[1]);
        if (status == TERN_OK)
            status = look_at(probe, c, out);
        if (status == TERN_OK)
            status = race(s->by, c, out);
        finish(&c[0]);
        finish(&c[1]);
    }
    return status;
}

/* ---- keeping ---- */

static tern_status add_point(subject *s, tern__cost kind, double work, uint64_t ns, uint64_t least_ns,
                             int runs, tern_status status)
{
    calibrator *by = s->by;
    char op[64], candidate[TERN__CALIBRATION_CANDIDATE], identity[TERN__DEVICE_IDENTITY];
    TERN_TRY(tern__calibration_keep(by->ctx->tuning, s->ops->name, &s->info, kind, work, ns, least_ns, runs,
                                    status));
    if (status == TERN_OK)
        tern__cost_add(&s->costs, kind, work, (double)ns);
    snprintf(op, sizeof op, "device:%.50s", s->ops->name);
    tern__device_identity(&s->info, identity);
    tern__calibration_candidate(kind, work, candidate);
    const tern_tune_row row = {.op = op,
                               .shapes = tern__costs[kind].name,
                               .params = identity,
                               .candidate = candidate,
                               .source = "tune",
                               .cpu = by->ctx->tuning->cpu,
                               .version = tern_version(),
                               .threads = by->ctx->threads,
                               .step = -1,
                               .median_ns = ns,
                               .min_ns = least_ns,
                               .runs = runs,
                               .status = status};
    if (by->options->progress)
        by->options->progress(by->options->user, &row, by->done, by->total);
    return by->report ? tern__tune_report_add(by->report, &row) : TERN_OK;
}

/* What the partition of a single step takes beside it: by itself, or for what crosses its borders. */
static tern_status add_partition(subject *s, const outcome *o, bool smallest)
{
    const uint64_t rest = o->alone_ns > o->step_ns ? o->alone_ns - o->step_ns : 0;
    if (smallest)
        TERN_TRY(add_point(s, TERN__COST_partition, 0, rest, rest, o->runs, TERN_OK));
    if (s->ops == tern__device_at(0))
        return TERN_OK; /* the CPU is where everything lies */
    const double own = tern__cost_ns(&s->costs, TERN__COST_partition, 0);
    const uint64_t border = (double)rest > own ? (uint64_t)((double)rest - own) : 0;
    return add_point(s, TERN__COST_border, o->border, border, border, o->runs, TERN_OK);
}

/* The device cannot do this, or failed at it: that is kept, and others are measured. What is not the device's failure is the caller's. */
static tern_status give_up_kind(subject *s, tern__cost kind, tern_status status)
{
    if (!tern__status_of_device(status))
        return status;
    return add_point(s, kind, 0, 0, 0, 0, status);
}

static tern_status measure_kind(subject *s, const tern__cost_probe *probe)
{
    for (int i = 0; i < TERN__PROBE_SIZES; i++) {
        outcome o;
        const tern_status status = run_probe(s, probe, probe->sizes[i], &o);
        s->by->done++;
        if (status != TERN_OK) {
            s->by->done += TERN__PROBE_SIZES - 1 - i;
            if (status != TERN_UNSUPPORTED)
                tern__log(TERN_LOG_WARN, "device '%s': %s could not be measured: %s", s->ops->name,
                          tern__costs[probe->kind].name, tern_last_error());
            return give_up_kind(s, probe->kind, status);
        }
        TERN_TRY(add_point(s, probe->kind, o.work, o.step_ns, o.least_ns, o.runs, TERN_OK));
        if (probe->kind == TERN__COST_rows)
            TERN_TRY(add_partition(s, &o, i == 0));
    }
    return TERN_OK;
}

static tern_status measure_kinds(subject *s)
{
    for (int i = 0; i < tern__n_cost_probes; i++)
        TERN_TRY(measure_kind(s, &tern__cost_probes[i]));
    return TERN_OK;
}

/* No context of it can be made. */
static tern_status give_up_device(subject *s, tern_status status)
{
    tern__log(TERN_LOG_WARN, "device '%s' could not be measured: %s", s->ops->name, tern_last_error());
    for (int i = 0; i < tern__n_cost_probes; i++) {
        s->by->done += TERN__PROBE_SIZES;
        TERN_TRY(give_up_kind(s, tern__cost_probes[i].kind, status));
    }
    return TERN_OK;
}

static tern_status measure_device(calibrator *by, const tern__device_ops *ops, const tern_device_info *info)
{
    subject s = {.by = by, .ops = ops, .info = *info};
    tern_ctx_options options = tern_ctx_options_default();
    options.device = ops->name;
    options.threads = by->ctx->threads;
    options.tuning = "off";
    tern_status status = tern_ctx_create(&options, &s.ctx);
    status = status == TERN_OK ? measure_kinds(&s) : give_up_device(&s, status);
    tern_ctx_destroy(s.ctx);
    return status;
}

/* ---- devices ---- */

static bool is_wanted(const char *name, int n, const char *const *devices)
{
    for (int i = 0; i < n; i++)
        if (strcmp(devices[i], name) == 0)
            return true;
    return n == 0;
}

/* Of all that are wanted, those that are there. One that is not, and was named, is an error. */
static tern_status list_devices(int n, const char *const *devices, int most, const tern__device_ops **out,
                                tern_device_info *infos, int *n_out)
{
    const tern__device_ops *ops;
    for (int i = 0; i < n; i++)
        TERN_TRY(tern__device_find(devices[i], &ops));
    *n_out = 0;
    for (int i = 0; (ops = tern__device_at(i)) && *n_out < most; i++) {
        tern_device_info *info = &infos[*n_out];
        if (!is_wanted(ops->name, n, devices))
            continue;
        ops->describe((tern__isa_cap){.level = tern__cpu()->best}, info);
        TERN__FAIL_IF(info->unavailable && n > 0, TERN_UNAVAILABLE, "device '%s': %s", ops->name,
                      info->unavailable);
        if (!info->unavailable)
            out[(*n_out)++] = ops;
    }
    return TERN_OK;
}

static tern_status calibrate(calibrator *by, int n, const char *const *devices)
{
    enum { MOST = 16 };
    const tern__device_ops *ops[MOST];
    tern_device_info infos[MOST];
    int n_ops;
    TERN_TRY(list_devices(n, devices, MOST, ops, infos, &n_ops));
    by->total = n_ops * tern__n_cost_probes * TERN__PROBE_SIZES;
    tern__tuning_load(by->ctx->tuning);
    for (int i = 0; i < n_ops; i++)
        TERN_TRY(measure_device(by, ops[i], &infos[i]));
    if (by->report)
        tern__tune_report_count(by->report, by->runs);
    tern__tuning_save(by->ctx->tuning);
    return TERN_OK;
}

tern_status tern_tune_devices(tern_ctx *ctx, int n, const char *const *devices,
                              const tern_tune_options *options, tern_tune_report **out)
{
    TERN__FAIL_IF(!ctx || n < 0 || (n > 0 && !devices), TERN_INVALID_ARGUMENT,
                  "tune_devices: needs a context, and the names of devices if there are any");
    for (int i = 0; i < n; i++)
        TERN__FAIL_IF(!devices[i], TERN_INVALID_ARGUMENT, "tune_devices: name %d is NULL", i);
    tern_tune_options defaults = tern_tune_options_default();
    calibrator by = {.ctx = ctx, .options = options ? options : &defaults};
    if (out)
        TERN_TRY(tern__tune_report_create(&by.report));
    const tern_status status = calibrate(&by, n, devices);
    if (status != TERN_OK) {
        tern_tune_report_free(by.report);
        return status;
    }
    if (out)
        *out = by.report;
    return TERN_OK;
}
