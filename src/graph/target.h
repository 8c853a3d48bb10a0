/* target.h - what the compiler may ask of the machine. A device hands one of these to the passes; they know no more. */
#ifndef TERN_GRAPH_TARGET_H
#define TERN_GRAPH_TARGET_H

#include "graph/graph.h"
#include "tensor/buffer.h"

struct tern__kernel;

/* What the target says about one call: the kernel that would run it. */
typedef struct tern__choice {
    const struct tern__kernel *kernel;
    const char *name, *isa;
    size_t scratch_bytes; /* per worker */
    const void *program;  /* what the kernel interprets, if it does; in the arena */
    int64_t work;         /* independent items; -1: as the op's row says */
} tern__choice;

typedef struct tern__target {
    const char *name; /* "cpu" */
    int workers;      /* threads that may share a step */
    /* The kernel for a call; TERN_UNSUPPORTED with a sentence if there is none. `arena` is the plan's. */
    tern_status (*choose)(const struct tern__target *target, const tern__call *call, tern__arena *arena,
                          tern__choice *out);
    /* May the call be part of a fused region? NULL: nothing may. */
    bool (*fuses)(const struct tern__target *target, const tern__call *call);
    /* Runs a call at compile time, on data that never changes (constant folding). Operands and results as a kernel sees
     * them. Other failures than TERN_OUT_OF_MEMORY mean that the call has to wait for the run. NULL: it cannot. */
    tern_status (*evaluate)(const struct tern__target *target, const tern__call *call, const tern__buffer *in,
                            const tern__buffer *out);
    const void *data; /* the device's */
} tern__target;

/* How many workers should share a call of so many independent items: each gets enough to do, flops or (where there are more)
 * bytes, that waking it pays. */
int tern__target_parts(const tern__target *target, int64_t items, double flops, double bytes);

#endif
