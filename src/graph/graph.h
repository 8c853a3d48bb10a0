/* graph.h - a graph as data: what passes rewrite, the verifier checks, the text form prints and plans are
 * made of.
 *
 * Nodes stand in topological order: operands are results of earlier nodes. Nodes and values are named by
 * index, so arrays may grow while a pass runs. Everything but the leaves' storages lives in the graph's
 * arena. */
#ifndef TERN_GRAPH_GRAPH_H
#define TERN_GRAPH_GRAPH_H

#include <stdatomic.h>

#include <tern/graph.h>

#include "base/arena.h"
#include "graph/op.h"
#include "tensor/layout.h"
#include "tensor/op_attrs.h"
#include "tensor/storage.h"

typedef uint32_t tern__id;
#define TERN__NO_ID UINT32_MAX

/* One result of a node. */
typedef struct tern__value {
    tern__type type;
    tern__id node;
    uint32_t result;  /* which of the node's results */
    const char *name; /* as written in the text form, without '%'; NULL = numbered */
} tern__value;

typedef struct tern__gnode {
    tern__opcode op;
    uint32_t n_in, n_out;
    const tern__id *in; /* (n_in) value ids, all smaller than `out` */
    tern__id out;       /* first result; results are consecutive values */
    tern__attr *attrs;  /* (op's n_attrs) */
    uint32_t leaf;      /* index into leaves for input, constant, state; else TERN__NO_ID */
    const char *origin; /* where it came from, for profiles: "layer 3"; or NULL */
    bool removed;       /* only in a graph that is being edited (edit.c) */
} tern__gnode;

/* Data behind an input, constant or state node. `storage` NULL: unbound, given when the program runs. */
typedef struct tern__leaf {
    tern__id node;
    tern__storage *storage; /* one reference is held */
    tern__layout layout;    /* inside the storage; of the contiguous form if unbound */
    uint32_t source; /* the leaf it was in the graph as captured or parsed; TERN__NO_ID: made by a pass */
    uint32_t alias;  /* leaves with equal numbers share memory; TERN__NO_ID shares with none. Each its own
                                   unless tern__graph_find_aliases ran */
    bool bound;      /* it had a storage when it was added */
} tern__leaf;

typedef struct tern__output {
    tern__id value;
    const char *name; /* never NULL: "y", or "0", "1", ... */
} tern__output;

struct tern_graph {
    tern__arena arena;
    const char *name; /* "graph" */
    tern__gnode *nodes;
    tern__value *values;
    tern__leaf *leaves;
    tern__output *outputs;
    uint32_t n_nodes, n_values, n_leaves, n_outputs;
    uint32_t n_writes; /* nodes whose op has TERN__WRITES */
    uint32_t cap_nodes, cap_values, cap_leaves, cap_outputs;
    _Atomic(const char **) labels; /* tern__graph_labels; NULL: nobody has asked since it last changed */
};

/* An empty graph in `g` (caller's memory); frees with tern__graph_clear, which drops the leaves' storages. */
void tern__graph_init(tern_graph *g);
void tern__graph_clear(tern_graph *g);
/* Empties it for reuse, keeping the memory. */
void tern__graph_reset(tern_graph *g);
/* For those who change a graph that somebody may have looked at: forgets what its values are called. */
void tern__graph_forget_labels(tern_graph *g);

/* Makes room so that the next `nodes` nodes with `values` results in all cannot fail for want of array
 * space. */
tern_status tern__graph_reserve(tern_graph *g, uint32_t nodes, uint32_t values);

/* Appends a node. `in` and `attrs` (with the ints and texts they point at) are copied into the arena;
 * result types are given by the caller (n_out of them), who inferred or checked them. *first_result
 * receives the value id. */
tern_status tern__graph_add(tern_graph *g, tern__opcode op, uint32_t n_in, const tern__id *in,
                            const tern__attr *attrs, uint32_t n_out, const tern__type *types,
                            tern__id *first_result);

/* Appends a leaf node (op input, constant or state). `storage` may be NULL; a reference is taken. Its
 * source is itself: who copies a leaf from another graph copies the source too. */
tern_status tern__graph_add_leaf(tern_graph *g, tern__opcode op, const char *name, const tern__type *type,
                                 tern__storage *storage, const tern__layout *layout, tern__id *result);

/* Appends node `n` of `from`, whose arena `g` has taken over: attributes and names are shared, operands
 * are `in` (in that arena too), and leaves take references of their own. */
tern_status tern__graph_adopt(tern_graph *g, const tern_graph *from, tern__id n, const tern__id *in,
                              tern__id *first_result);

/* Declares a value an output; `name` NULL = its number. */
tern_status tern__graph_add_output(tern_graph *g, tern__id value, const char *name);

/* Deep copy of attributes into an arena. */
tern_status tern__attrs_copy(tern__arena *arena, const tern__op *op, const tern__attr *from,
                             tern__attr **out);

/* Fills `alias` of every leaf, if the graph overwrites anything: then plans depend on which leaves share
 * memory. */
tern_status tern__graph_find_aliases(tern_graph *g);

/* Structure equal: ops, attributes, types, edges, leaf kinds and names, outputs. Unless `by_structure`
 * also what is behind the leaves as far as plans depend on it: strides, bound or not, which of them share
 * memory if some is overwritten, and for constants the identity of their data. */
bool tern__graph_equal(const tern_graph *a, const tern_graph *b, bool by_structure);

/* A hash of what tern__graph_equal (not by_structure) compares; equal graphs have equal hashes. Data is
 * never read. */
uint64_t tern__graph_hash(const tern_graph *g);

/* A copy of `from` in `to` (freshly initialised), with references of its own to the storages. */
tern_status tern__graph_clone(const tern_graph *from, tern_graph *to);

/* Appends a copy of node `n` of `from` with other attributes and result types; its operands have the same
 * ids in `to`. A leaf of another type is left without data, dense. */
tern_status tern__graph_clone_node(const tern_graph *from, tern__id n, const tern__attr *attrs,
                                   const tern__type *types, tern_graph *to);

/* Puts the nodes in another order, (n_nodes) of which each operand comes before its readers. *moved
 * (n_values, in the graph's arena) receives the new id of each value. */
tern_status tern__graph_reorder(tern_graph *g, const tern__id *order, const tern__id **moved);

/* Where what these nodes become comes from: the path that all share, "layer 3", else that of the first and of the last; NULL
 * where none has any. In the graph's own memory, or interned. */
const char *tern__origin_of(const tern_graph *g, uint32_t n, const tern__id *nodes);

/* The value of which `value` is a view, perhaps through others; itself if it is none. */
tern__id tern__graph_view_base(const tern_graph *g, tern__id value);

/* The leaf that a node with TERN__WRITES updates, through views and earlier updates; TERN__NO_ID if its
 * target is an intermediate. */
uint32_t tern__graph_written_leaf(const tern_graph *g, const tern__gnode *node);

/* Heap-allocated graphs for the public API: tern_graph_free undoes it. */
tern_status tern__graph_new(tern_graph **out);

#endif
