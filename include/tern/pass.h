/* pass.h - taking part in compilation: passes and fusion patterns of your own, and watching the compiler
 * at work.
 *
 * They are named in tern_compile_options (<tern/program.h>) and work through <tern/edit.h>. Programs are
 * cached by what was compiled, so a pass or pattern must do the same whenever it meets the same graph with
 * the same `user`. What `user` leads to must live until the context and every program that was compiled with
 * it are gone: the cache tells passes apart by it, and a program for a range of batches compiles again when a
 * new size first runs, on whatever thread runs it, so that callbacks of a program which threads share may
 * run at the same time. docs/add-a-pass.md shows one. */
#ifndef TERN_PASS_H
#define TERN_PASS_H

#include <stdbool.h>

#include <tern/edit.h>
#include <tern/export.h>
#include <tern/graph.h>

/* How hard the compiler tries, in ascending order; 0 is the default. X(enumerator, number, name, meaning). */
#define TERN_LEVEL_LIST(X)                                            \
    X(NONE, -2, "none", "every operation as recorded, for debugging") \
    X(LOW, -1, "low", "cheap clean-ups")                              \
    X(MEDIUM, 0, "medium", "everything that pays on the first run")   \
    X(HIGH, 1, "high", "also what pays only when a program runs often")

typedef enum tern_level {
#define TERN_LEVEL_ENUM(id, number, name, meaning) TERN_LEVEL_##id = number,
    TERN_LEVEL_LIST(TERN_LEVEL_ENUM)
#undef TERN_LEVEL_ENUM
} tern_level;

/* A pass of the caller's. Exactly one of `before` and `after` names a pass that rewrites the graph (or
 * `before` names the first that does not, "order"). `run` edits; whatever it returns but TERN_OK makes
 * compiling fail, and so does a graph that does not verify afterwards or whose outputs share memory
 * otherwise than before: the message names the pass, and the graph that was to be compiled is as it was.
 * What nobody reads any more is removed for it. */
typedef struct tern_custom_pass {
    const char *name; /* letters, digits, '_', '-' and '.'; not that of another pass */
    const char *before, *after;
    tern_level level; /* runs at this one and above; 0: medium */
    tern_status (*run)(void *user, tern_edit *edit);
    void *user;
} tern_custom_pass;

/* What a pattern says about one node. */
typedef enum tern_match {
    TERN_MATCH_NONE,  /* it does not apply here                                          */
    TERN_MATCH_FUSED, /* it applied, and edited                                          */
    TERN_MATCH_FAILED, /* it should have applied but could not: the report says why, and the compiler goes on without it */
} tern_match;

/* A fusion of the caller's, tried at every node before the compiler fuses by itself (pass `patterns`). An
 * edit of a pattern that returns anything but TERN_MATCH_FUSED, or that leaves a graph which does not
 * verify, is taken back, and compiling goes on. */
typedef struct tern_fusion_pattern {
    const char *name;
    const char *op; /* tried at nodes of this op; NULL: at every node that is not a leaf */
    tern_match (*fuse)(void *user, tern_edit *edit, tern_node node);
    void *user;
} tern_fusion_pattern;

/* Called after every pass that ran, with the graph as it is then; it must not be kept. */
typedef void (*tern_pass_observer)(void *user, const char *pass, int changes, const tern_graph *graph);

#ifdef __cplusplus
extern "C" {
#endif

/* "none", "low", "medium", "high"; TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_level_parse(const char *name, tern_level *out);
TERN_API const char *tern_level_name(tern_level level);

#ifdef __cplusplus
}
#endif
#endif
