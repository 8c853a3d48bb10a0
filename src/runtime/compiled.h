/* compiled.h - a compiled graph: immutable, shared by programs, by the cache and by evaluations that run it.
 *
 * Threading: the count of references is atomic, everything else does not change after tern__compiled_make. */
#ifndef TERN_RUNTIME_COMPILED_H
#define TERN_RUNTIME_COMPILED_H

#include <stdatomic.h>

#include "graph/plan.h"
#include "graph/text.h"
#include "passes/pass.h"

typedef struct tern__compiled {
    _Atomic(uint32_t) refs;
    tern_graph source; /* as it was given: what the cache compares */
    tern__compile_options options;
    tern_graph graph;  /* as the passes left it */
    tern__arena arena; /* holds the plan */
    tern__plan plan;
    tern__report *report;    /* NULL: nobody asked */
    const char *const **ops; /* (n_steps of plan) names of the ops of each; NULL like the report */
    uint32_t n_pinned;       /* leaves of graph whose data are pinned */
    const char *device;      /* name of what it was compiled for */
    int workers;             /* most threads, and instruction sets, that it was compiled for */
    uint32_t isa_mask;
    uint64_t compile_ns;
} tern__compiled;

/* Compiles a copy of `graph`. With `explain` the passes' notes are kept, and names for print. Where the target has rivals, for each
 * of them, and keeps the plan with the least predicted time. */
tern_status tern__compiled_make(const tern_graph *graph, const tern__target *target,
                                const tern__compile_options *options, bool explain, tern__compiled **out);
void tern__compiled_retain(tern__compiled *compiled);
void tern__compiled_release(tern__compiled *compiled); /* NULL is fine */

/* How many ops a step computes: several if it is fused. */
int tern__step_ops(const tern__step *step);

/* Bytes that would be free without it: its own, and the data of constants that only it holds. */
size_t tern__compiled_bytes(const tern__compiled *compiled);

#endif
