/* edit.h - an edit of a graph under way: the graph itself, who reads which value, and a journal that can take changes back. */
#ifndef TERN_GRAPH_EDIT_H
#define TERN_GRAPH_EDIT_H

#include <stdarg.h>

#include <tern/edit.h>

#include "graph/graph.h"

/* One operand that is (or was) a value. Entries are never removed: one counts if the operand still is the value. */
typedef struct tern__use {
    tern__id node;
    uint32_t operand;
    uint32_t next; /* of the same value, or TERN__NO_ID */
} tern__use;

/* What a change replaced. */
typedef struct tern__edit_change {
    enum { TERN__CHANGED_OPERANDS, TERN__CHANGED_OUTPUT, TERN__CHANGED_NAME, TERN__CHANGED_REMOVED } kind;
    uint32_t index; /* of the node, output or value */
    union {
        const tern__id *in;
        tern__id value;
        const char *name;
    };
} tern__edit_change;

/* Where somebody has come with an edit. */
typedef struct tern__edit_mark {
    size_t changes, uses;
    uint32_t nodes, values, leaves, edits;
} tern__edit_mark;

struct tern_edit {
    tern_graph *graph; /* edited in place */
    tern_graph own;    /* that graph, if tern_edit_begin made it */
    uint32_t *heads;   /* (n_values) first of uses, or TERN__NO_ID */
    size_t cap_heads;
    tern__use *uses;
    size_t n_uses, cap_uses;
    tern__edit_change *changes;
    size_t n_changes, cap_changes;
    uint32_t n_edits;                           /* changes that count: insertions, replacements, removals */
    void (*note)(void *user, const char *line); /* NULL: nobody listens */
    void *note_user;
};

/* Begins to edit `graph` in place. On failure nothing is to be freed. */
tern_status tern__edit_open(tern_edit *edit, tern_graph *graph);
void tern__edit_close(tern_edit *edit); /* the graph stays as it is */

tern__edit_mark tern__edit_here(const tern_edit *edit);
void tern__edit_undo(tern_edit *edit, tern__edit_mark mark);

/* Writes the edited graph in topological order into `to` (initialised, empty), which takes over the graph's arena; verifies
 * it. The edited graph is left with its arrays and references of the leaves, to be cleared. On failure the arena is still
 * the edited graph's and `to` is empty. */
tern_status tern__edit_put_in_order(tern_edit *edit, tern_graph *to);

/* Is there an order in which its nodes can run? A cycle is named. */
tern_status tern__edit_check(const tern_edit *edit);

/* ---- for edit_fuse.c ---- */

tern_status tern__edit_check_node(const tern_edit *edit, tern_node node);
tern_status tern__edit_add(tern_edit *edit, tern__opcode op, uint32_t n_in, const tern__id *in,
                           const tern__attr *attrs, uint32_t n_out, const tern__type *types, tern__id *first);

#endif
