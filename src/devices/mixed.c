/* mixed.c - one target of two. Constants are folded on the CPU; what is fused, and how constants are packed, is up to the device. */
#include "devices/mixed.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/status.h"
#include "graph/region.h"

/* One of the two within the limits of compile options, which were set on the whole. */
static tern__target within(const tern__target *one, const tern__target *whole)
{
    tern__target out = *one;
    out.workers = whole->workers;
    out.isa_mask = whole->isa_mask;
    out.timings = NULL; /* of programs that one device runs alone */
    return out;
}

/* Does the call read a constant as the CPU packs it? */
static bool is_packed(const tern__call *call)
{
    tern__opcode op = tern__op_code(call->op);
    if (op == TERN__OP_fused)
        op = call->attrs[TERN__ATTR_fused_body].region->ops[0].op;
    return tern__op_is_packed(op);
}

/* A product with an epilogue that the CPU could not take over, or compute to compare with, stays without one. */
static tern_status leave_to_host(const tern__target *host, const tern__call *call, tern__arena *arena)
{
    tern__choice ignored;
    if (tern__op_code(call->op) != TERN__OP_fused ||
        !tern__region_has_product(call->attrs[TERN__ATTR_fused_body].region))
        return TERN_OK;
    return host->choose(host, call, NULL, arena, &ignored);
}

/* What both can run is told by whoever decides; else the device is asked first, and the CPU what only it can run. */
static tern_status choose_placed(const tern__target *target, const tern__call *call, tern__arena *arena,
                                 tern__choice *out)
{
    const tern__mixed *m = target->data;
    const tern__target device = within(m->device, target), host = within(m->host, target);
    if (target->side != TERN__SIDE_HOST && !is_packed(call)) {
        tern_status status = device.choose(&device, call, NULL, arena, out);
        if (status == TERN_OK)
            status = leave_to_host(&host, call, arena);
        if (status == TERN_OK)
            out->on_device = true;
        /* A product that the device may run has no epilogue that only the CPU has. */
        if (status != TERN_UNSUPPORTED || target->side == TERN__SIDE_DEVICE ||
            tern__op_code(call->op) == TERN__OP_fused)
            return status;
    }
    TERN__FAIL_IF(target->side == TERN__SIDE_DEVICE, TERN_UNSUPPORTED, "it was packed for the CPU");
    return host.choose(&host, call, NULL, arena, out);
}

/* Each op is said once for each reason. When there is no more room to remember them, they are said again rather than never. */
static bool is_new(tern__mixed *m, const char *op, const char *why)
{
    const uint64_t said = tern__hash(why, strlen(why), tern__hash(op, strlen(op), 0));
    for (int i = 0; i < m->n_told; i++)
        if (m->told[i] == said)
            return false;
    if (m->n_told < TERN__MIXED_TOLD)
        m->told[m->n_told++] = said;
    return true;
}

static tern_status choose(const tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__choice *out)
{
    tern__mixed *m = (tern__mixed *)target->data;
    if (m->host_costs)
        return choose_placed(target, call, arena, out);
    tern__target device = within(m->device, target), host = within(m->host, target);
    tern_status status = device.choose(&device, call, candidate, arena, out);
    if (status == TERN_OK && m->stands_by)
        status = leave_to_host(&host, call, arena);
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
    if (is_new(m, call->op->name, why))
        tern__log(TERN_LOG_WARN, "%s runs on the CPU: device '%s' cannot run it: %s", call->op->name,
                  device.name, why);
    return host.choose(&host, call, candidate, arena, out);
}

static bool fuses(const tern__target *target, const tern__call *call)
{
    const tern__mixed *m = target->data;
    const tern__target device = within(m->device, target), host = within(m->host, target);
    /* What may run on either is fused as both can run it. */
    return device.fuses(&device, call) && (!m->host_costs || host.fuses(&host, call));
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

/* ---- by predicted times ---- */

static double step_ns(const tern__prediction *prediction, const tern__call *call, bool on_device)
{
    const tern__mixed *m = prediction->data;
    return tern__cost_of_call(on_device ? m->device_costs : m->host_costs, call);
}

static double border_ns(const tern__prediction *prediction, double bytes)
{
    const tern__mixed *m = prediction->data;
    return bytes > 0 ? tern__cost_ns(m->device_costs, TERN__COST_border, bytes) : 0;
}

/* For the CPU where the product alone is predicted to be faster there; the device cannot run it then. */
static bool packing_placed(const tern__target *target, const tern__call *call, tern__packing *out)
{
    const tern__mixed *m = target->data;
    tern__arena arena;
    tern__choice choice;
    tern__target device = within(m->device, target);
    tern__arena_init(&arena, 0);
    const bool runs = device.choose(&device, call, NULL, &arena, &choice) == TERN_OK;
    tern__arena_free(&arena);
    const double there = runs ? tern__cost_of_call(m->device_costs, call) : -1,
                 here = tern__cost_of_call(m->host_costs, call);
    return (there < 0 || here <= there) && m->host->packing(m->host, call, out);
}

static tern_status pack_placed(const tern__target *target, const tern__packing *packing,
                               const tern__buffer *constant, void *to)
{
    const tern__mixed *m = target->data;
    return m->host->pack(m->host, packing, constant, to);
}

static tern__target target_of(tern__mixed *m)
{
    return (tern__target){.name = m->device->name,
                          .workers = m->host->workers,
                          .isa_mask = m->host->isa_mask,
                          .pool = m->host->pool,
                          .choose = choose,
                          .fuses = m->device->fuses ? fuses : NULL,
                          .evaluate = evaluate,
                          .data = m};
}

void tern__mixed_init(tern__mixed *m, const tern__target *host, const tern__target *device, bool fallback,
                      bool check)
{
    *m = (tern__mixed){.host = host, .device = device, .fallback = fallback, .stands_by = fallback || check};
    m->target = target_of(m);
    m->target.packing = device->packing ? packing : NULL;
    m->target.pack = device->packing ? pack : NULL;
}

void tern__mixed_place(tern__mixed *m, const tern__target *host, const tern__device_costs *host_costs,
                       const tern__target *device, const tern__device_costs *device_costs)
{
    *m =
        (tern__mixed){.host = host, .device = device, .host_costs = host_costs, .device_costs = device_costs};
    m->target = target_of(m);
    m->target.packing = host->packing ? packing_placed : NULL;
    m->target.pack = host->pack ? pack_placed : NULL;
    m->prediction = (tern__prediction){.step_ns = step_ns,
                                       .border_ns = border_ns,
                                       .partition_ns = {tern__cost_ns(host_costs, TERN__COST_partition, 0),
                                                        tern__cost_ns(device_costs, TERN__COST_partition, 0)},
                                       .data = m};
    m->target.prediction = &m->prediction;
}
