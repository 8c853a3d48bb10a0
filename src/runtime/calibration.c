/* calibration.c - curves from and to the table of what is known. */
#include "runtime/calibration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/point.h"
#include "base/status.h"

void tern__device_identity(const tern_device_info *info, char out[TERN__DEVICE_IDENTITY])
{
    snprintf(out, TERN__DEVICE_IDENTITY, "%.200s; %.100s", info->model ? info->model : "",
             info->driver ? info->driver : "no driver");
}

void tern__calibration_candidate(tern__cost kind, double work, char out[TERN__CALIBRATION_CANDIDATE])
{
    static const char *const units[] = {[TERN__COST_UNIT_NONE] = "each",
                                        [TERN__COST_UNIT_BYTES] = "bytes",
                                        [TERN__COST_UNIT_FLOPS] = "flops"};
    snprintf(out, TERN__CALIBRATION_CANDIDATE, "%.0f %s", work, units[tern__costs[kind].unit]);
}

static void op_of(const char *device, char *out, size_t size)
{
    snprintf(out, size, "device:%.50s", device);
}

static tern__tuned_key *key_of(tern__tuning *tuning, const char *device, const tern_device_info *info,
                               tern__cost kind, bool add)
{
    char op[64], identity[TERN__DEVICE_IDENTITY];
    op_of(device, op, sizeof op);
    tern__device_identity(info, identity);
    return tern__tuning_key_text(tuning, op, tern__costs[kind].name, identity, add);
}

bool tern__calibration_load(tern__tuning *tuning, const char *device, const tern_device_info *info,
                            tern__device_costs *out)
{
    *out = (tern__device_costs){0};
    tern__tuning_load(tuning);
    for (int kind = 0; kind < TERN__COST_COUNT; kind++) {
        const tern__tuned_key *key = key_of(tuning, device, info, (tern__cost)kind, false);
        for (const tern__tuned *w = key ? key->ways : NULL; w; w = w->next)
            if (w->source == TERN__TUNED_TUNE && w->status == TERN_OK)
                tern__cost_add(out, (tern__cost)kind, tern__point_strtod(w->candidate, NULL),
                               (double)w->median_ns);
    }
    return tern__costs_known(out);
}

tern_status tern__calibration_keep(tern__tuning *tuning, const char *device, const tern_device_info *info,
                                   tern__cost kind, double work, uint64_t ns, uint64_t min_ns, int runs,
                                   tern_status status)
{
    char candidate[TERN__CALIBRATION_CANDIDATE];
    tern__calibration_candidate(kind, work, candidate);
    tern__tuned_key *key = key_of(tuning, device, info, kind, true);
    tern__tuned *w = key ? tern__tuned_add(tuning, key, candidate, TERN__TUNED_TUNE) : NULL;
    if (!w)
        return tern__out_of_memory(sizeof *w);
    w->median_ns = ns;
    w->min_ns = min_ns;
    w->runs = runs;
    w->status = status;
    w->dirty = tuning->dirty = true;
    /* What it did before it can do no more: nothing is predicted by that. */
    for (w = status == TERN_OK ? NULL : key->ways; w; w = w->next)
        if (w->source == TERN__TUNED_TUNE) {
            w->status = status;
            w->dirty = true;
        }
    return TERN_OK;
}

/* Has it any figures here, of whatever driver? Asked before the device is: to describe one may mean loading its driver, which may write
 * files of its own. */
static bool was_measured(tern__tuning *tuning, const char *device)
{
    char op[64];
    op_of(device, op, sizeof op);
    tern__tuning_load(tuning);
    for (size_t i = 0; i < tuning->n_buckets; i++)
        for (const tern__tuned_key *key = tuning->buckets[i]; key; key = key->chain)
            if (strcmp(key->op, op) == 0)
                return true;
    return false;
}

const char *tern__calibration_members(tern__tuning *tuning, tern__isa_cap cap, tern__device_costs *host,
                                      int *n, tern__auto_member out[TERN__AUTO_MOST])
{
    const tern__device_ops *ops;
    bool host_known = false;
    *n = 0;
    for (int i = 0; (ops = tern__device_at(i)) && *n < TERN__AUTO_MOST; i++) {
        tern_device_info info;
        tern__device_costs costs;
        if (!was_measured(tuning, ops->name))
            continue;
        ops->describe(cap, &info);
        const bool known = !info.unavailable && tern__calibration_load(tuning, ops->name, &info, &costs);
        host_known = host_known || (i == 0 && known);
        if (i == 0 && known)
            *host = costs;
        else if (i > 0 && known && costs.curves[TERN__COST_border].n > 0)
            out[(*n)++] = (tern__auto_member){.ops = ops, .costs = costs};
    }
    return host_known && *n > 0 ? NULL
           : *n > 0             ? "the CPU itself was not measured"
           : host_known         ? "no other device than the CPU was measured"
                                : "no device was measured";
}
