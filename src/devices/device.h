/* device.h - what the runtime asks of a device. One row in devices.def and one folder make a new one. */
#ifndef TERN_DEVICES_DEVICE_H
#define TERN_DEVICES_DEVICE_H

#include <tern/catalog.h>
#include <tern/context.h>

#include "base/cpu.h"
#include "graph/plan.h"
#include "graph/target.h"

typedef struct tern__device tern__device;

typedef struct tern__device_options {
    int threads;                  /* >= 1 */
    tern__isa isa_cap;            /* nothing above this level is used */
    const tern__timings *timings; /* for the target; outlives the device; or NULL */
    tern_pool *pool;              /* for constants that compiling makes; outlives the device */
} tern__device_options;

/* Whom to ask whether a run shall go on, from any thread. */
typedef struct tern__stop {
    tern_stop_asked asked; /* NULL: nobody */
    void *user;
} tern__stop;

/* Addresses for one run of a plan: (n_leaves of the graph), (n_blocks of the plan), and an arena of arena_bytes. */
typedef struct tern__bindings {
    void *const *leaves;
    void *const *blocks;
    void *arena;
    uint64_t *step_ns; /* (n_steps of the plan) receives what each step took; NULL: nobody asked */
    tern__stop stop;   /* asked: TERN_CANCELLED */
} tern__bindings;

typedef struct tern__device_ops {
    const char *name;    /* "cpu" */
    const char *backend; /* "native" */
    tern_status (*create)(const tern__device_options *options, tern__device **out);
    void (*destroy)(tern__device *device);
    const tern__target *(*target)(const tern__device *device);
    /* Runs every step. A kernel that finds bad data (an index out of range) stops the run with a sentence. *n_done counts
     * the steps that ran to their end: those before the one that failed. */
    tern_status (*run)(tern__device *device, const tern__plan *plan, const tern__bindings *bindings,
                       uint32_t *n_done);
    /* Without a device: what is there, and kernel i (false past the last), when nothing above `cap` is used. */
    void (*describe)(tern__isa cap, tern_device_info *out);
    bool (*list)(int i, tern__isa cap, tern_kernel_info *out);
} tern__device_ops;

/* The table of devices.def. */
extern const tern__device_ops *const tern__devices[];
extern const int tern__n_devices;

#endif
