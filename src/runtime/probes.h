/* probes.h - small graphs that are run to learn what a kind of work takes on a device (devices/costs.def): a step of the kind, once or
 * several times, so that the difference tells what one takes. */
#ifndef TERN_RUNTIME_PROBES_H
#define TERN_RUNTIME_PROBES_H

#include <tern/tensor.h>

#include "devices/costs.h"

enum { TERN__PROBE_SIZES = 3, TERN__PROBE_COPIES = 5 };

typedef struct tern__cost_probe {
    tern__cost kind;
    int64_t sizes[TERN__PROBE_SIZES]; /* what it makes of them is its own */
    bool chained;                     /* a step reads the one before, and only the last gives a result */
    /* Records `copies` steps; results to out[0..n). Returns n. */
    int (*make)(tern_ctx *ctx, int64_t size, int copies, tern_tensor **out);
} tern__cost_probe;

extern const tern__cost_probe tern__cost_probes[];
extern const int tern__n_cost_probes;

#endif
