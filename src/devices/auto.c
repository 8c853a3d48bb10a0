/* auto.c - hands plans to the device that they were made for. */
#include "devices/auto.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/status.h"
#include "devices/mixed.h"

typedef struct member {
    const tern__device_ops *ops;
    tern__device *device;
    tern__device_costs costs;
    tern__mixed mixed; /* the CPU and this device */
    bool lost;         /* it is asked for nothing any more, but to let go of what it has */
} member;

/* What there is to choose from: another one each time that a member is lost, since what was compiled for is told apart by its address. */
typedef struct choice {
    tern__target target; /* the CPU's, with rivals */
    const tern__target *rivals[TERN__AUTO_MOST];
} choice;

struct tern__device {
    tern__device_costs host_costs;
    tern__prediction alone; /* of the CPU's own plans */
    int n;
    member members[TERN__AUTO_MOST];
    choice choices[TERN__AUTO_MOST + 1]; /* [n_lost] holds */
    int n_lost;
};

/* What a member made of a plan. */
struct tern__code {
    member *by;
    tern__code *code;
};

static double host_step_ns(const tern__prediction *prediction, const tern__call *call, bool on_device)
{
    const tern__device *d = prediction->data;
    return on_device ? -1 : tern__cost_of_call(&d->host_costs, call);
}

static double no_border_ns(const tern__prediction *prediction, double bytes)
{
    (void)prediction;
    (void)bytes;
    return 0;
}

static void destroy(tern__device *d)
{
    for (int i = 0; d && i < d->n; i++)
        d->members[i].ops->destroy(d->members[i].device);
    tern__free(d);
}

static void open_member(tern__device *d, const tern__device_options *options, const tern__target *host,
                        const tern__auto_member *from)
{
    member *m = &d->members[d->n];
    *m = (member){.ops = from->ops, .costs = from->costs};
    if (from->ops->create(options, &m->device) != TERN_OK) {
        tern__log(TERN_LOG_WARN, "device 'auto' goes without '%s': %s", from->ops->name, tern_last_error());
        return;
    }
    tern__mixed_place(&m->mixed, host, &d->host_costs, m->ops->target(m->device), &m->costs);
    d->n++;
}

static void list_rivals(const tern__device *d, choice *c)
{
    c->target.rivals = c->rivals;
    c->target.n_rivals = 0;
    for (int i = 0; i < d->n; i++)
        if (!d->members[i].lost)
            c->rivals[c->target.n_rivals++] = &d->members[i].mixed.target;
}

tern_status tern__auto_create(const tern__device_options *options, const tern__target *host,
                              const tern__device_costs *host_costs, int n, const tern__auto_member *members,
                              tern__device **out)
{
    tern__device *d = tern__alloc_zero(1, sizeof *d);
    if (!d)
        return tern__out_of_memory(sizeof *d);
    d->host_costs = *host_costs;
    d->alone = (tern__prediction){.step_ns = host_step_ns,
                                  .border_ns = no_border_ns,
                                  .partition_ns = {tern__cost_ns(host_costs, TERN__COST_partition, 0), 0},
                                  .alone = true,
                                  .data = d};
    for (int i = 0; i < n && d->n < TERN__AUTO_MOST; i++)
        open_member(d, options, host, &members[i]);
    choice *first = &d->choices[0];
    first->target = *host;
    first->target.name = TERN__DEVICE_AUTO;
    first->target.prediction = &d->alone;
    list_rivals(d, first);
    *out = d->n > 0 ? d : NULL;
    if (d->n == 0)
        destroy(d);
    return TERN_OK;
}

static const tern__target *target_of(const tern__device *d)
{
    return &d->choices[d->n_lost].target;
}

static member *member_of(tern__device *d, const char *name)
{
    for (int i = 0; i < d->n; i++)
        if (strcmp(d->members[i].ops->name, name) == 0)
            return &d->members[i];
    return NULL;
}

static tern_status compile(tern__device *d, const tern__plan *plan, tern__code **out)
{
    member *m = member_of(d, plan->device);
    TERN__FAIL_IF(!m, TERN_UNAVAILABLE,
                  "auto: the plan is for device '%s', which this context has not opened", plan->device);
    tern__code *code = tern__alloc_zero(1, sizeof *code);
    if (!code)
        return tern__out_of_memory(sizeof *code);
    code->by = m;
    const tern_status status = m->ops->compile ? m->ops->compile(m->device, plan, &code->code) : TERN_OK;
    if (status != TERN_OK) {
        tern__free(code);
        return status;
    }
    *out = code;
    return TERN_OK;
}

static void forget(tern__device *d, tern__code *code)
{
    (void)d;
    if (code && code->code)
        code->by->ops->forget(code->by->device, code->code);
    tern__free(code);
}

static tern_status run(tern__device *d, const tern__plan *plan, tern__code *code, const tern__partition *part,
                       const tern__bindings *bindings, uint32_t *n_done)
{
    (void)d;
    return code->by->ops->run(code->by->device, plan, code->code, part, bindings, n_done);
}

static bool lose(tern__device *d, const char *name)
{
    member *m = member_of(d, name);
    if (m && !m->lost) {
        m->lost = true;
        d->choices[d->n_lost + 1].target = d->choices[d->n_lost].target;
        list_rivals(d, &d->choices[++d->n_lost]);
    }
    return target_of(d)->n_rivals > 0;
}

static bool copies_inputs(const tern__device *d, const tern__code *code)
{
    (void)d;
    const tern__device_ops *ops = code->by->ops;
    return ops->stage && ops->copies_inputs(code->by->device, code->code);
}

static tern_status stage(tern__device *d, const tern__plan *plan, tern__code *code, uint32_t leaf,
                         const void *host, uint64_t version)
{
    (void)d;
    const member *m = code->by;
    return m->ops->stage ? m->ops->stage(m->device, plan, code->code, leaf, host, version) : TERN_OK;
}

static size_t trim(tern__device *d, int level)
{
    size_t bytes = 0;
    for (int i = 0; i < d->n; i++) {
        const member *m = &d->members[i];
        bytes += m->ops->trim && !m->lost ? m->ops->trim(m->device, level) : 0;
    }
    return bytes;
}

/* A context makes it (tern__auto_create): what it is made of is not in device options. */
static tern_status create(const tern__device_options *options, tern__device **out)
{
    (void)options;
    (void)out;
    return tern__fail(TERN_UNSUPPORTED, "device 'auto' is made by a context");
}

static void describe(tern__isa_cap cap, tern_device_info *out)
{
    (void)cap;
    *out = (tern_device_info){.name = TERN__DEVICE_AUTO, .backend = "placement"};
}

const tern__device_ops tern__device_auto = {
    .name = TERN__DEVICE_AUTO,
    .backend = "placement",
    .describe = describe,
    .create = create,
    .destroy = destroy,
    .target = target_of,
    .run = run,
    .compile = compile,
    .forget = forget,
    .copies_inputs = copies_inputs,
    .stage = stage,
    .trim = trim,
    .lose = lose,
};
