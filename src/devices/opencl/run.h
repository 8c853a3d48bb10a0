/* run.h - a plan that was compiled for OpenCL: what run.c and borders.c share. Private to devices/opencl. */
#ifndef TERN_DEVICES_OPENCL_RUN_H
#define TERN_DEVICES_OPENCL_RUN_H

#include "devices/opencl/opencl.h"

#if TERN_HAVE_OPENCL

enum { TERN__OCL_NOBODY = UINT32_MAX, TERN__OCL_AHEAD = 2 };

/* What a leaf will be in a later run. */
typedef struct tern__ocl_staged {
    tern__ocl_memory *own; /* NULL: nothing yet */
    const void *host;
    uint64_t version; /* 0: it has been used */
    cl_event arrived; /* one reference; NULL if it has been used */
} tern__ocl_staged;

/* Memory that operands lie in: a leaf, a block or the arena, as far as they reach. */
typedef struct tern__ocl_slot {
    tern__space space;
    uint32_t index;
    int64_t low, high; /* bytes from its address */
    bool constant;
    bool state;       /* written by the plan, of which this device runs all */
    uint32_t rows_by; /* of a state: the step that writes rows of it, and nobody else; TERN__OCL_NOBODY */
    void *host;       /* where `memory` lies, or what it was copied from; NULL: nowhere yet */
    cl_mem memory;
    tern__ocl_memory *own; /* that it is the buffer of, if the device has memory of its own */
    /* every kernel that uses the slot has `memory` as its argument; kernels hold no reference to it */
    bool named;
    tern__ocl_staged ahead[TERN__OCL_AHEAD];
    /* In the partition that runs: */
    bool read, written;
    uint32_t first, last; /* the step that uses it first, and the one that writes it last */
    cl_event arrived;     /* what `first` waits for; the device's list of commands has it; NULL: nothing */
} tern__ocl_slot;

typedef struct tern__ocl_launch {
    cl_kernel kernel; /* NULL: nothing to do, or not this device's */
    cl_mem numbers;
    size_t global, local;
    uint32_t n_operands;
    const uint32_t *slots; /* (n_operands) */
} tern__ocl_launch;

struct tern__code {
    tern__arena arena;
    tern__ocl_slot *slots;
    uint32_t n_slots, n_steps;
    tern__ocl_launch *launches; /* (n_steps) */
    cl_mem fault;               /* (4) longs: whether, step, index, limit */
    int64_t *found;             /* where they lie, if the device uses host memory; else NULL */
    cl_event *waits;            /* (the most operands of a step) */
    bool ran;     /* once: the driver has written what it writes when a kernel is first launched */
    bool unheard; /* the last run ended before anybody asked whether a kernel had found bad data */
};

static inline size_t tern__ocl_slot_bytes(const tern__ocl_slot *s)
{
    return s->high > s->low ? (size_t)(s->high - s->low) : 1;
}

/* ---- borders.c: where the device has memory of its own ---- */

/* Which slots the partition uses, and which of its steps are the first and the last to. */
void tern__ocl_note_uses(const tern__plan *plan, tern__code *code, const tern__partition *part);
/* Begins to copy in what the partition needs and the device has not: slot->arrived. */
tern_status tern__ocl_fetch(tern__device *device, const tern__plan *plan, tern__code *code,
                            const tern__bindings *bindings);
/* Does the host want something of what step s wrote? */
bool tern__ocl_gives_back(const tern__device *device, const tern__plan *plan, const tern__code *code,
                          uint32_t s);
/* Begins to give it back, behind the kernel `after`. */
tern_status tern__ocl_give_back(tern__device *device, const tern__plan *plan, tern__code *code,
                                const tern__bindings *bindings, uint32_t s, cl_event after);
/* The run is over, and host and device have the same. */
void tern__ocl_note_versions(const tern__code *code, const tern__bindings *bindings);

/* Is what the slot will be bound to on the device already? Then that memory is the slot's, and its old memory takes its place. */
tern_status tern__ocl_take_staged(tern__device *device, tern__ocl_slot *s, const void *host,
                                  const tern__bindings *bindings, bool *taken);
/* Waits for what is under way, and lets go of its memory: the host's bytes are nobody's business any more. */
void tern__ocl_drop_staged(tern__device *device, tern__ocl_slot *s);

#endif
#endif
