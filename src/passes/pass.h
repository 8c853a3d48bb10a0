/* pass.h - a compilation, and what a pass is. Passes run in the order of passes.def; each reads and extends the
 * compilation and knows the machine only through its target. */
#ifndef TERN_PASSES_PASS_H
#define TERN_PASSES_PASS_H

#include <stdatomic.h>

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

/* ---- the report: what was done, for people. Collected only when a program is compiled, not in lazy evaluation ---- */

typedef struct tern__pass_log {
    const char *name;
    uint32_t changes, failures;
    uint32_t nodes_before, nodes_after;
    bool ran, custom;
    uint64_t ns;
    const char **notes; /* (n_notes) what was done and why, a sentence each */
    size_t n_notes, cap_notes;
} tern__pass_log;

/* Nodes that became one. */
typedef struct tern__fusion {
    const char *kind;
    uint32_t n_nodes;
    const char **nodes, **ops; /* (n_nodes) */
    double bytes_before, bytes_after;
} tern__fusion;

typedef struct tern__report {
    tern__arena arena;      /* names and notes in it */
    tern__strbuf line;      /* the note that is being written */
    tern__pass_log *passes; /* (n_passes) in running order, custom ones among them */
    uint32_t n_passes;
    tern__fusion *fusions;
    size_t n_fusions, cap_fusions;
} tern__report;

void tern__report_init(tern__report *report);
void tern__report_free(tern__report *report);

/* ---- options ---- */

/* Passes and patterns of the caller's, in one block with their names. Immutable, shared by count. */
typedef struct tern__extension {
    tern_custom_pass pass;
    int at;   /* index of the built-in pass before which it runs */
    bool off; /* disabled by name */
} tern__extension;

typedef struct tern__extensions {
    _Atomic(uint32_t) refs;
    int n_passes, n_patterns;
    tern__extension *passes;
    tern_fusion_pattern *patterns;
} tern__extensions;

typedef struct tern__compile_options {
    tern_level level;
    uint64_t disabled;   /* bit i: pass i is switched off */
    size_t memory_limit; /* 0 = none */
    tern_goal goal;
    int threads;       /* 0 = the target's */
    uint32_t isa_mask; /* levels that may be used; 0 = the target's */
    char library[16];  /* whose products may be used; "": none */
    tern_precision precision;
    tern__extensions *extensions; /* one reference, or NULL */
    tern_pass_observer observe;
    void *observe_user;
} tern__compile_options;

/* Checks and translates the public options; NULL = defaults. Ends with tern__compile_options_drop. */
tern_status tern__compile_options_from(const tern_compile_options *options, tern__compile_options *out);
void tern__compile_options_keep(const tern__compile_options *options); /* a copy was made */
void tern__compile_options_drop(tern__compile_options *options);

/* Would they make the same plan? Equal ones have equal hashes. */
bool tern__compile_options_equal(const tern__compile_options *a, const tern__compile_options *b);
uint64_t tern__compile_options_hash(const tern__compile_options *options);

/* The target within the options' limits; fails if they ask for more than it has. */
tern_status tern__compile_options_narrow(const tern__compile_options *options, const tern__target *target,
                                         tern__target *out);

/* ---- passes ---- */

typedef struct tern__compilation {
    tern_graph *graph;
    tern_graph *spare; /* where a rewrite builds the next graph (rewrite.h) */
    tern__compile_options options;
    tern__report *report; /* NULL: nobody listens */
    tern__pass_log *log;  /* of the pass that runs; NULL like the report, or when it need not listen */
    uint32_t changes;     /* made by the pass that runs */
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

/* Their numbers, TERN__PASS_fold and so on: the order in which they run. */
typedef enum tern__pass_id {
#define TERN_PASS(name, level, kind, description) TERN__PASS_##name,
#include "passes/passes.def"
#undef TERN_PASS
} tern__pass_id;

extern const tern__pass tern__passes[]; /* by number */
extern const int tern__n_passes;

/* Do the options let the pass run? */
bool tern__pass_is_on(const tern__compile_options *options, tern__pass_id pass);

/* Runs the passes over `graph`, which they rewrite in place, for a target within the options' limits
 * (tern__compile_options_narrow). On success `plan` is complete; it and everything it points
 * at live in `arena` and in the graph. `report` (initialised) or NULL. The graph is verified after every custom pass, and in
 * debug builds after every pass that changed it; one that broke it is named. */
tern_status tern__compile(tern_graph *graph, const tern__target *target, const tern__compile_options *options,
                          tern__arena *arena, tern__plan *plan, tern__report *report);

/* Runs a pass of the caller's (custom.c). */
tern_status tern__run_custom(tern__compilation *c, const tern_custom_pass *pass);

/* Bytes that a buffer of this type takes in the arena: whole cache lines. */
size_t tern__buffer_bytes(const tern__type *type);

/* Bytes of scratch that the step takes there, for all its workers; rounds what the step says of each. */
tern_status tern__scratch_bytes(tern__step *step, size_t *all);

/* Adds a sentence to the log of the pass that runs: what was done and why. Costs nothing when nobody listens. */
void tern__note(tern__compilation *c, const char *format, ...) TERN_PRINTF(2, 3);

/* Adds a fusion to the report: `nodes` of `g` became one, or something else, that moves other numbers of bytes. */
void tern__log_fusion(tern__compilation *c, const char *kind, const tern_graph *g, uint32_t n,
                      const tern__id *nodes, double bytes_before, double bytes_after);

#endif
