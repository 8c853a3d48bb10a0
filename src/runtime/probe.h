/* probe.h - somebody who runs a plan in the device's place, with the buffers of an ordinary run: the tuner. */
#ifndef TERN_RUNTIME_PROBE_H
#define TERN_RUNTIME_PROBE_H

#include "devices/device.h"

typedef struct tern__probe {
    const tern__plan *plan; /* the one it waits for; others run as usual */
    tern_status (*run)(struct tern__probe *probe, const tern__bindings *bindings, uint32_t *n_done);
} tern__probe;

#endif
