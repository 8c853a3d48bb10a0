/* pass.h - a compilation, and what a pass is. Passes run in the order of passes.def; each reads and extends the
 * compilation and knows the machine only through its target. */
#ifndef TERN_PASSES_PASS_H
#define TERN_PASSES_PASS_H

#include <tern/program.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/target.h"

/* Where a value lies: in the buffer of its root value (itself, or what it is a view or an update of). */
typedef struct tern__place {
    tern__id root;
    bool is_output;       /* of a root: some output of the graph lies in it */
    uint32_t first, last; /* of a root: steps that first and last touch it; first > last = untouched */
    tern__layout layout;  /* inside the root's buffer */
} tern__place;

/* A root's buffer, once memory is planned. */
typedef struct tern__home {
    tern__space space;
    uint32_t index;
    size_t offset, bytes;
} tern__home;

/* What a pass did, for people; collected only when a program is compiled, not in lazy evaluation. */
typedef struct tern__pass_log {
    uint32_t changes;
    uint32_t nodes_after;
    bool ran;
    uint64_t ns;
    tern__strbuf notes;
} tern__pass_log;

typedef struct tern__compile_options {
    tern_level level;
    uint64_t disabled;   /* bit i: pass i is switched off */
    size_t memory_limit; /* 0 = none */
} tern__compile_options;

typedef struct tern__compilation {
    tern_graph *graph;
    tern_graph *spare; /* where a rewrite builds the next graph (rewrite.h) */
    tern__compile_options options;
    tern__pass_log *log; /* of the pass that runs; NULL: nobody listens */
    uint32_t changes;    /* made by the pass that runs */
    const tern__target *target;
    tern__arena *arena;  /* holds the plan and everything below */
    tern__plan *plan;    /* filled by the passes, complete at the end */
    tern__id *order;     /* set by `order`: (n_nodes) nodes as they will run */
    tern__place *places; /* set by `place`: (n_values) */
    bool *needs_step;    /* set by `place`: (n_nodes) false for leaves and views */
    tern__home *homes;   /* set by `memory`: (n_values), of roots */
} tern__compilation;

typedef tern_status (*tern__pass_fn)(tern__compilation *c);

typedef enum tern__pass_kind { TERN__PASS_GRAPH, TERN__PASS_PLAN, TERN__PASS_CHOICE } tern__pass_kind;

typedef struct tern__pass {
    const char *name, *description;
    tern_level level;
    tern__pass_kind kind;
    tern__pass_fn run;
} tern__pass;

extern const tern__pass tern__passes[];
extern const int tern__n_passes;

/* Runs the passes over `graph`, which they rewrite in place. On success `plan` is complete; it and everything it points
 * at live in `arena` and in the graph. `logs` (n_passes of them, zeroed) or NULL. The graph is verified after every pass
 * that changed it in debug builds, and a pass that broke it is named. */
tern_status tern__compile(tern_graph *graph, const tern__target *target, const tern__compile_options *options,
                          tern__arena *arena, tern__plan *plan, tern__pass_log *logs);

/* Bytes that a buffer of this type takes in the arena: whole cache lines. */
size_t tern__buffer_bytes(const tern__type *type);

/* Adds a line to the log of the pass that runs: what was done and why. Costs nothing when nobody listens. */
void tern__note(tern__compilation *c, const char *format, ...) TERN_PRINTF(2, 3);

/* Checks and translates the public options; NULL = defaults. */
tern_status tern__compile_options_from(const tern_compile_options *options, tern__compile_options *out);

#endif
