/* node.h - recorded operations: what a lazy tensor is made of before it becomes part of a graph.
 *
 * A tensor handle is one result of a node. A result is pending (no storage; the node's operands say how to compute
 * it) or evaluated (storage and layout). When all results of a node are evaluated its operands are let go, so
 * evaluated tensors hold no history. Nodes are reference-counted: by the scope or caller that owns the handle, and by
 * each pending node that reads a result. All walks are iterative. One thread per context. */
#ifndef TERN_GRAPH_NODE_H
#define TERN_GRAPH_NODE_H

#include <tern/context.h>
#include <tern/tensor.h>

#include "base/arena.h"
#include "graph/graph.h"
#include "graph/op.h"
#include "tensor/storage.h"

typedef struct tern__node tern__node;

/* A pending node's operand, linked into the list of readers of the tensor it reads. */
typedef struct tern__edge {
    tern_tensor *source;
    tern__node *reader;
    struct tern__edge *prev, *next;
} tern__edge;

/* Why a tensor is an error; shared by everything computed from it. */
typedef struct tern__error {
    uint32_t refs;
    tern_status status;
    char message[];
} tern__error;

struct tern_tensor {
    tern__node *node; /* NULL only for the static ones: out of memory, no context */
    uint32_t result;  /* which result of the node */
    bool constant;    /* frozen */
    bool consumed;    /* given to an op that writes: its result is the value now */
    bool watched;     /* its views are recorded, for gradients */
    bool listed;      /* among the tensors of `storage` */
    uint32_t mark;    /* capture in which `value` is valid */
    uint32_t output;  /* capture of which it is an output */
    tern__id value;   /* its id in that capture */
    tern__type type;
    tern__storage *storage; /* NULL while pending; one reference */
    tern__layout layout;
    tern__edge *readers;                  /* pending nodes that read it */
    tern_tensor *alias_prev, *alias_next; /* evaluated tensors with readers that share the storage */
    tern__storage *dense;   /* contiguous copy handed out by tern_data for a strided view; or NULL */
    uint64_t dense_version; /* version of `storage` that `dense` was made from */
    char *name;             /* given by tern_name, in a block of its own; or NULL */
};

struct tern__node {
    tern_ctx *ctx;
    tern__node *prev, *next; /* all live nodes of the context */
    tern__node *scope_next;  /* nodes owned by the same scope */
    tern__opcode op;
    uint32_t n_in, n_out;
    uint32_t refs;        /* owner + callers + readers */
    uint32_t caller_refs; /* of those: references that tern_release may drop */
    uint32_t depth;       /* longest chain of pending nodes ending here */
    uint32_t bytes;       /* of this allocation */
    uint64_t serial;      /* when it was recorded: later nodes have greater numbers */
    uint32_t n_writes;    /* pending writes one after another that end here */
    uint32_t captured;    /* newest capture that has it */
    bool fleeting;        /* its handle is about to be dropped: nobody will ask for its value later */
    bool symbolic;        /* depends on an input without data: it can be compiled, not evaluated */
    bool stays_pending;   /* used by evaluation: somebody may ask for it after the run that is prepared */
    tern__error *error;   /* NULL unless this is an error tensor */
    const char *origin;   /* interned, or NULL */
    uint32_t segment;     /* of operations that gradients compute again, counted from 1; 0: none */
    tern__edge *in;       /* (n_in) dropped (n_in = 0) when all results are evaluated */
    tern__attr *attrs;    /* (op's n_attrs) */
    tern_tensor out[];    /* (n_out) */
};

typedef struct tern__scope {
    tern__node *nodes; /* by scope_next */
} tern__scope;

/* What recording needs from the layers above it. */
typedef struct tern__evaluator {
    tern_status (*eval)(tern_ctx *ctx, int n, tern_tensor *const *tensors);
} tern__evaluator;

enum { TERN__NODE_CLASSES = 16, TERN__NODE_CLASS_BYTES = 64 };

/* The part of a context that recording uses; runtime/context.c owns the whole. */
typedef struct tern__recorder {
    tern_pool *pool;
    const tern__evaluator *evaluator;
    tern__node *nodes; /* all live nodes */
    uint64_t n_nodes, n_recorded;
    tern__scope *scopes; /* stack */
    size_t n_scopes, cap_scopes;
    size_t lost_scopes;   /* opened without memory for them: their tensors belong to the scope outside */
    const char **origins; /* stack, interned: the path so far; NULL for none */
    size_t n_origins, cap_origins, lost_origins;
    uint32_t open_segments;               /* tern_recompute_open without its close; the outermost counts */
    uint32_t segment;                     /* number of the newest */
    uint32_t capture;                     /* number of the newest capture, for tensor->mark */
    void *free_nodes[TERN__NODE_CLASSES]; /* recycled node memory by size */
    tern__arena node_memory;
    tern_tensor **stack; /* reused by walks */
    size_t cap_stack;
    tern__node **captured; /* nodes of the newest capture, operands before readers */
    size_t n_captured, cap_captured;
    tern__node **inputs; /* of the newest capture, as they were met: those that programs are given */
    size_t n_inputs, cap_inputs;
    tern__node **writes; /* those of them that write into an operand */
    size_t n_writes, cap_writes;
} tern__recorder;

/* The recorder is the first member of struct tern_ctx. */
static inline tern__recorder *tern__recorder_of(tern_ctx *ctx)
{
    return (tern__recorder *)(void *)ctx;
}

/* The path of the part that is open, interned, or NULL (origin.c). */
const char *tern__origin_now(tern_ctx *ctx);

/* Pending chains this long, and so many pending writes one after another, are evaluated when they grow. */
enum { TERN__MAX_DEPTH = 65536, TERN__MAX_WRITES = 64 };

void tern__recorder_init(tern__recorder *r, tern_pool *pool, const tern__evaluator *evaluator);
/* Destroys every node, whoever holds it. */
void tern__recorder_clear(tern__recorder *r);

/* ---- record.c ---- */

/* Records `op` and returns result 0, or an error tensor. `ctx` may be NULL when there are operands. attrs are copied. */
tern_tensor *tern__record(tern_ctx *ctx, tern__opcode op, int n_in, tern_tensor *const *in,
                          const tern__attr *attrs);
/* The same for any number of results; n_out must be the op's. */
void tern__record_n(tern_ctx *ctx, tern__opcode op, int n_in, tern_tensor *const *in, const tern__attr *attrs,
                    int n_out, tern_tensor **out);
/* Fills a caller's n_out handles from a node just owned: its results in turn, or `same` one. Where the caller owns them
 * each counts as a reference; a scope owns the node once. */
void tern__hand_out(tern_tensor *first, bool same, int n_out, tern_tensor **out);

/* ---- leaf.c ---- */

/* A new evaluated tensor over `storage` (takes the caller's reference, also on failure). */
tern_tensor *tern__tensor_wrap(tern_ctx *ctx, const tern__type *type, tern__storage *storage,
                               const tern__layout *layout);
/* An unbound input, or a state with its storage. */
tern_tensor *tern__tensor_leaf(tern_ctx *ctx, tern__opcode op, const char *name, const tern__type *type,
                               tern__storage *storage);

/* ---- error_tensor.c ---- */

/* The thread's last error, with no references yet; NULL when out of memory. */
tern__error *tern__error_make(tern_status status);
/* An error tensor with the thread's last error. ctx NULL, or no memory: a static one. */
tern_tensor *tern__error_tensor(tern_ctx *ctx, tern_status status);
/* An error tensor that shares an error. */
tern_tensor *tern__error_wrap(tern_ctx *ctx, tern__error *error);
/* The static one for a call of `op` that nothing tells the context of. */
tern_tensor *tern__error_no_context(tern__opcode op);

bool tern__tensor_is_error(const tern_tensor *t);
/* Sets the thread's last error from an error tensor and returns its status; TERN_OK for others. NULL tensors are an
 * invalid argument. */
tern_status tern__tensor_check(const tern_tensor *t);

/* ---- node.c ---- */

/* NULL when out of memory. refs = 0; the caller owns it via tern__node_own or an edge. */
tern__node *tern__node_new(tern_ctx *ctx, tern__opcode op, uint32_t n_in, const tern__attr *attrs,
                           uint32_t n_out);
/* Gives the node to the innermost scope, or to the caller if none is open. */
void tern__node_own(tern__node *node);
void tern__node_drop(tern__node *node); /* one reference; frees what becomes unreachable */
void tern__edge_link(tern__edge *edge, tern__node *reader, tern_tensor *source);

/* The tensor becomes evaluated: takes a reference of the storage. Lets the node's operands go when all are. */
void tern__tensor_set(tern_tensor *t, tern__storage *storage, const tern__layout *layout);
/* A pending node becomes an error with the thread's last error: it cannot be computed any more. */
void tern__node_fail(tern__node *node, tern_status status);

/* Failures that may be gone the next time: memory, a device. What they befall stays pending. */
static inline bool tern__may_go_away(tern_status status)
{
    return status == TERN_OUT_OF_MEMORY || status == TERN_LIMIT || status == TERN_UNAVAILABLE;
}

/* The pending write into `t`, or NULL. */
tern__node *tern__writer_of(const tern_tensor *t);
/* Do handles that calls return now belong to the caller (no scope is open)? Static error tensors belong to nobody. */
static inline bool tern__owned_by_caller(const tern_tensor *t)
{
    return t->node && tern__recorder_of(t->node->ctx)->n_scopes == 0;
}

/* Lets go of a handle that a call returned just now; where a scope is open it belongs to that and stays. */
static inline void tern__tensor_discard(tern_tensor *t)
{
    if (tern__owned_by_caller(t))
        tern_release(t);
}

/* ---- write_order.c ---- */

/* Must the memory of `t` be asked for with care, because a write that could run has not? */
static inline bool tern__write_is_due(const tern__storage *storage)
{
    return storage->pending_write && !storage->pending_write->symbolic;
}
/* Runs the writes into `storage` that are recorded, in their order, as far as they can be evaluated. One that fails becomes
 * an error and leaves the memory as it is; only lack of memory fails here. */
tern_status tern__settle_writes(tern_ctx *ctx, const tern__storage *storage);

/* May an operation called `who` write into the evaluated or pending tensor? Not into constants and what shares memory
 * with one, nor into read-only memory, nor through a handle that was given to an earlier write. */
tern_status tern__tensor_check_writable(const char *who, const tern_tensor *t);

/* Before a write into `target` is recorded. One that can be evaluated may stay pending where its target is memory that
 * exists, or the result of such a write, and no views of that are pending: so writes into one memory happen in the order in
 * which they were recorded, and views see what is written after them. `symbolic`: it depends on an input without data. */
tern_status tern__ready_target(tern_ctx *ctx, tern_tensor *target, bool symbolic);

/* ---- capture.c ---- */

/* Starts a capture, into an empty graph. */
void tern__capture_begin(tern_ctx *ctx);
/* Appends the pending graph behind `t`, as far as the capture does not have it, and makes `t` an output. Evaluated
 * tensors become leaves, once each. Sets mark and value of everything reached. */
tern_status tern__capture_add(tern_ctx *ctx, tern_tensor *t, const char *name, tern_graph *g);

/* Ends it: nodes of a graph that overwrites something are put in the order in which they were recorded, so that what
 * reads a value stands before what overwrites it. */
tern_status tern__capture_end(tern_ctx *ctx, tern_graph *g);

/* A whole capture: the graph behind `outputs`, in order. */
tern_status tern__capture(tern_ctx *ctx, int n, tern_tensor *const *outputs, const char *const *names,
                          tern_graph *g);

#endif
