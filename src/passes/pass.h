/* pass.h - a compilation, and what a pass is. Passes run in the order of passes.def; each reads and extends the
 * compilation and knows the machine only through its target. */
#ifndef TERN_PASSES_PASS_H
#define TERN_PASSES_PASS_H

#include "base/arena.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/target.h"

/* Where a value lies: in the buffer of its root value (itself, or what it is a view or an update of). */
typedef struct tern__place {
    tern__id root;
    bool is_output;             /* of a root: some output of the graph lies in it */
    uint32_t first, last;       /* of a root: steps that first and last touch it; first > last = untouched */
    tern__layout layout;        /* inside the root's buffer */
} tern__place;

/* A root's buffer, once memory is planned. */
typedef struct tern__home {
    tern__space space;
    uint32_t index;
    size_t offset, bytes;
} tern__home;

typedef struct tern__compilation {
    tern_graph *graph;
    const tern__target *target;
    tern__arena *arena;         /* holds the plan and everything below */
    tern__plan *plan;           /* filled by the passes, complete at the end */
    tern__id *order;            /* set by `order`: (n_nodes) nodes as they will run */
    tern__place *places;        /* set by `place`: (n_values) */
    bool *needs_step;           /* set by `place`: (n_nodes) false for leaves and views */
    tern__home *homes;          /* set by `memory`: (n_values), of roots */
} tern__compilation;

typedef tern_status (*tern__pass_fn)(tern__compilation *c);

typedef struct tern__pass {
    const char *name, *level, *description;
    tern__pass_fn run;
} tern__pass;

extern const tern__pass tern__passes[];
extern const int tern__n_passes;

/* Runs all passes over `graph`. On success `plan` is complete; it and everything it points at live in `arena` and in
 * the graph. A pass that fails is named in the message. */
tern_status tern__compile(tern_graph *graph, const tern__target *target, tern__arena *arena, tern__plan *plan);

#endif
