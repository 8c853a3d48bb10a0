/* mixed.h - the target of a context on another device than the CPU: the device runs what it can, and the rest runs on the CPU as
 * steps of the same plan, or fails. Nothing moves to the CPU unsaid: each op is told once with each reason. */
#ifndef TERN_DEVICES_MIXED_H
#define TERN_DEVICES_MIXED_H

#include "devices/costs.h"

enum { TERN__MIXED_TOLD = 256 };

typedef struct tern__mixed {
    tern__target target;               /* what the compiler sees */
    const tern__target *host, *device; /* the CPU's, and the device's */
    bool fallback;                     /* what the device cannot run may run on the CPU */
    bool stands_by;                    /* the CPU may have to run any step of the device's */
    uint64_t told[TERN__MIXED_TOLD];   /* (n_told) hashes of ops that do, with the reason */
    int n_told;
    /* Of placement by predicted times, where nothing is fallback; else NULL. */
    const tern__device_costs *host_costs, *device_costs;
    tern__prediction prediction;
} tern__mixed;

/* `mixed` stays where it is as long as its target is used. `check`: the CPU computes each step as well. */
void tern__mixed_init(tern__mixed *mixed, const tern__target *host, const tern__target *device, bool fallback,
                      bool check);
/* The same for steps that run wherever `prediction` of the target says: by what both were measured at. Constants are packed
 * for the CPU where a product is predicted to be faster there. The costs stay too. */
void tern__mixed_place(tern__mixed *mixed, const tern__target *host, const tern__device_costs *host_costs,
                       const tern__target *device, const tern__device_costs *device_costs);

#endif
