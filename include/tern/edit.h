/* edit.h - making another graph of one: insert, replace and remove nodes. Custom passes and fusion
 * patterns work through it (<tern/program.h>), and so may anybody who has a graph.
 *
 * Numbers of nodes and values stay valid while a graph is edited: new ones get the numbers that follow,
 * and a removed node keeps its own. So a loop up to the number of nodes at its start meets every old node
 * once. When the edit ends the graph is put in topological order again and verified. Functions that fail
 * change nothing. One thread at a time. */
#ifndef TERN_EDIT_H
#define TERN_EDIT_H

#include <tern/export.h>
#include <tern/graph.h>

typedef struct tern_edit tern_edit;

#ifdef __cplusplus
extern "C" {
#endif

/* Begins to edit a copy of `graph`, which stays as it is. */
TERN_API tern_status tern_edit_begin(const tern_graph *graph, tern_edit **out);

/* The graph in its present state, for the functions of <tern/graph.h>: nodes may be out of order, and some
 * are removed. */
TERN_API const tern_graph *tern_edit_graph(const tern_edit *edit);

/* A node of op `op` (any of `tern list ops` that is not a leaf), with attributes as text: "axis=1
 * keepdims=true" or NULL. Types are inferred; operands are not cast by themselves. *first receives its
 * first result. */
TERN_API tern_status tern_edit_insert(tern_edit *edit, const char *op, const char *attributes, int n_operands,
                                      const tern_value *operands, tern_value *first);

/* A constant with a copy of `data`, contiguous. `name` NULL: none. */
TERN_API tern_status tern_edit_insert_constant(tern_edit *edit, const char *name, tern_dtype dtype, int rank,
                                               const int64_t *shape, const void *data, tern_value *out);

/* Whoever reads `old`, outputs of the graph included, reads `by` from now on; only the node that makes
 * `by` goes on reading `old`. Types must be equal. A value without a name takes over that of the one it
 * replaces. */
TERN_API tern_status tern_edit_replace(tern_edit *edit, tern_value old, tern_value by);

/* Operand i of a node is `value` from now on; its type must be what it was. */
TERN_API tern_status tern_edit_set_operand(tern_edit *edit, tern_node node, int i, tern_value value);

/* Removes a node whose results nobody reads any more. Inputs, states and writes to states stay: callers
 * count on them. */
TERN_API tern_status tern_edit_remove(tern_edit *edit, tern_node node);

/* How many operands and outputs are this value. */
TERN_API int tern_edit_uses(const tern_edit *edit, tern_value value);

/* Makes one node of nodes that work row by row (elementwise ops, and what reduces or normalises the last
 * axis of one common shape): it runs as one step whose intermediate results never leave the cache. The
 * nodes are removed; their results that are read elsewhere become those of the new node. TERN_UNSUPPORTED
 * says why they do not fit together. */
TERN_API tern_status tern_edit_fuse(tern_edit *edit, int n, const tern_node *nodes, tern_node *out);

/* A line for the report of the pass that edits: what was done, and why. Nothing outside of passes. */
TERN_API void tern_edit_note(tern_edit *edit, const char *format, ...) TERN_PRINTF(2, 3);

/* Sets the sentence of tern_last_error and returns TERN_INVALID_ARGUMENT: `return tern_edit_fail(edit,
 * "...")`. */
TERN_API tern_status tern_edit_fail(tern_edit *edit, const char *format, ...) TERN_PRINTF(2, 3);

/* Ends an edit that tern_edit_begin began: the new graph, in order and verified. If that fails (a cycle is
 * named) the edit goes on. Otherwise the edit is gone. */
TERN_API tern_status tern_edit_finish(tern_edit *edit, tern_graph **out);

/* Gives up an edit that tern_edit_begin began. NULL is fine. */
TERN_API void tern_edit_free(tern_edit *edit);

#ifdef __cplusplus
}
#endif
#endif
