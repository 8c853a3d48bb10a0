/* costs.h - how long steps take on a device, as far as it was measured on this machine: curves through measured points, one for each
 * kind of work (costs.def). Between points time is a straight line; beyond the last it goes on as between the last two; below the
 * first it is the first's. A curve never falls: more work takes no less time.
 *
 * A product takes as long as its bytes or its operations ask for, whichever is more. */
#ifndef TERN_DEVICES_COSTS_H
#define TERN_DEVICES_COSTS_H

#include "graph/target.h"

typedef enum tern__cost {
#define TERN_COST(name, unit, description) TERN__COST_##name,
#include "devices/costs.def"
#undef TERN_COST
    TERN__COST_COUNT
} tern__cost;

typedef enum tern__cost_unit {
    TERN__COST_UNIT_NONE,
    TERN__COST_UNIT_BYTES,
    TERN__COST_UNIT_FLOPS
} tern__cost_unit;

typedef struct tern__cost_kind {
    const char *name;
    tern__cost_unit unit;
    const char *description;
} tern__cost_kind;

extern const tern__cost_kind tern__costs[TERN__COST_COUNT];

enum { TERN__COST_POINTS = 4 };

typedef struct tern__cost_point {
    double work, ns;
} tern__cost_point;

typedef struct tern__cost_curve {
    int n; /* 0: nothing is known, or the device cannot do it */
    tern__cost_point points[TERN__COST_POINTS];
} tern__cost_curve;

typedef struct tern__device_costs {
    tern__cost_curve curves[TERN__COST_COUNT];
} tern__device_costs;

/* Adds a point where it belongs by its work; one of the same work is replaced. false: there is no room. */
bool tern__cost_add(tern__device_costs *costs, tern__cost kind, double work, double ns);
/* < 0: nothing is known. */
double tern__cost_ns(const tern__device_costs *costs, tern__cost kind, double work);
/* Of a call as one step; < 0: nothing is known about its kind. */
double tern__cost_of_call(const tern__device_costs *costs, const tern__call *call);
/* Is there enough to predict with: a partition, and elementwise work? (The CPU has no border.) */
bool tern__costs_known(const tern__device_costs *costs);

/* Is its column `kind` of ops.def other than `none`? For tests. */
bool tern__cost_is_stated(tern__opcode op);

#endif
