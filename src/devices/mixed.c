/* mixed.c - one target of two. Constants are folded on the CPU; what is fused, and how constants are packed, is up to the device. */
#include "devices/mixed.h"

#include <stdio.h>

#include "base/log.h"
#include "base/status.h"

/* One of the two within the limits of compile options, which were set on the whole. */
static tern__target within(const tern__target *one, const tern__target *whole)
{
    tern__target out = *one;
    out.workers = whole->workers;
    out.isa_mask = whole->isa_mask;
    out.timings = NULL; /* of programs that one device runs alone */
    return out;
}

static tern_status choose(const tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__choice *out)
{
    tern__mixed *m = (tern__mixed *)target->data;
    tern__target device = within(m->device, target), host = within(m->host, target);
    tern_status status = device.choose(&device, call, candidate, arena, out);
    if (status == TERN_OK)
        out->on_device = true;
    /* What the device fused on its own word stays with it. */
    if (status != TERN_UNSUPPORTED || tern__op_code(call->op) == TERN__OP_fused)
        return status;
    char why[TERN__MESSAGE_MAX];
    snprintf(why, sizeof why, "%s", tern_last_error());
    TERN__FAIL_IF(!m->fallback, TERN_UNSUPPORTED,
                  "%s: device '%s' cannot run it: %s; with fallback it would run on the CPU", call->op->name,
                  device.name, why);
    if (!m->told[tern__op_code(call->op)])
        tern__log(TERN_LOG_WARN, "%s runs on the CPU: device '%s' cannot run it: %s", call->op->name,
                  device.name, why);
    m->told[tern__op_code(call->op)] = true;
    return host.choose(&host, call, candidate, arena, out);
}

static bool fuses(const tern__target *target, const tern__call *call)
{
    const tern__mixed *m = target->data;
    const tern__target device = within(m->device, target);
    return device.fuses(&device, call);
}

static tern_status evaluate(const tern__target *target, const tern__call *call, const tern__buffer *in,
                            const tern__buffer *out)
{
    const tern__mixed *m = target->data;
    return m->host->evaluate(m->host, call, in, out);
}

static bool packing(const tern__target *target, const tern__call *call, tern__packing *out)
{
    const tern__mixed *m = target->data;
    return m->device->packing(m->device, call, out);
}

static tern_status pack(const tern__target *target, const tern__packing *packing,
                        const tern__buffer *constant, void *to)
{
    const tern__mixed *m = target->data;
    return m->device->pack(m->device, packing, constant, to);
}

void tern__mixed_init(tern__mixed *m, const tern__target *host, const tern__target *device, bool fallback)
{
    *m = (tern__mixed){.host = host, .device = device, .fallback = fallback};
    m->target = (tern__target){.name = device->name,
                               .workers = host->workers,
                               .isa_mask = host->isa_mask,
                               .pool = host->pool,
                               .choose = choose,
                               .fuses = device->fuses ? fuses : NULL,
                               .evaluate = evaluate,
                               .packing = device->packing ? packing : NULL,
                               .pack = device->packing ? pack : NULL,
                               .data = m};
}
