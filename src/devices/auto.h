/* auto.h - the device `auto`: every device of this machine that was measured (costs.h), behind one table. A plan uses the CPU and at most
 * one of them; which, and for which steps, is decided when it is compiled: the graph is compiled for the CPU alone and for the CPU with
 * each of them (tern__target.rivals), each time with the steps where they are predicted to be fastest (passes/assign.c), and the plan
 * with the least predicted time is kept.
 *
 * It is no row of devices.def, because it is nothing that computes: a word for a choice. */
#ifndef TERN_DEVICES_AUTO_H
#define TERN_DEVICES_AUTO_H

#include "devices/costs.h"
#include "devices/device.h"

#define TERN__DEVICE_AUTO "auto"

extern const tern__device_ops tern__device_auto;

enum { TERN__AUTO_MOST = 8 };

/* One that may be used, and what it was measured at. */
typedef struct tern__auto_member {
    const tern__device_ops *ops;
    tern__device_costs costs;
} tern__auto_member;

/* Opens the members; those that cannot be opened are left out, with a warning. `host` outlives the device; what the others point at
 * is copied. *out NULL: none is left. */
tern_status tern__auto_create(const tern__device_options *options, const tern__target *host,
                              const tern__device_costs *host_costs, int n, const tern__auto_member *members,
                              tern__device **out);

#endif
