/* plan.h - a compiled graph: steps in the order in which they run, operands with their places. Immutable; printed,
 * explained, profiled and executed, but never interpreted by op-specific code. A plan points into its graph and lives
 * no longer. */
#ifndef TERN_GRAPH_PLAN_H
#define TERN_GRAPH_PLAN_H

#include "base/arena.h"
#include "graph/graph.h"
#include "graph/op.h"

/* Where an operand's bytes are. */
typedef enum tern__space {
    TERN__SPACE_LEAF,   /* input, constant or state `index` of the graph: bound when the plan runs */
    TERN__SPACE_OUTPUT, /* block `index` allocated for results that leave the plan                 */
    TERN__SPACE_ARENA,  /* `offset` bytes into the plan's arena (index 0)                          */
} tern__space;

typedef struct tern__operand {
    const tern__type *type; /* of the graph's value */
    const int64_t *strides; /* (rank) in units */
    tern__space space;
    uint32_t index;
    size_t byte_offset; /* of element [0,0,...] from the start of the block */
    tern__id value;     /* of the graph */
    bool constant;      /* in a leaf that never changes */
} tern__operand;

typedef struct tern__step {
    tern__opcode op;
    uint32_t n_in, n_out;
    uint32_t operands; /* index of the first in plan->operands: inputs, then outputs */
    const tern__attr *attrs;
    const struct tern__kernel *kernel; /* chosen by the target */
    const char *kernel_name, *isa_name;
    bool reference, rows; /* what kind of kernel: the op's reference kernel, a row program */
    /* the candidate that measured timings chose (target.h); NULL: the target's own choice */
    const char *variant;
    const void *program; /* what the kernel interprets, or NULL */
    int64_t work;        /* independent items */
    int parts;           /* how many workers share them; 1 = too small to split */
    bool claimed;        /* those who are done early take from the others: calls cost next to nothing */
    /* 0, or the operand of which every item reads its own share, in order: packed weights */
    uint32_t streamed;
    size_t scratch_bytes;  /* per worker, a multiple of the alignment */
    size_t shared_bytes;   /* of all workers together, likewise */
    size_t scratch_offset; /* in the arena: what is shared, then worker w's own + w * scratch_bytes */
    uint64_t flops, bytes; /* estimates */
    tern__id node;
    /* For trace events; interned or static. */
    const char *label; /* the op, or those that are fused */
    const char *where; /* the origin of its node, or NULL */
    bool int8;         /* its flops are operations on int8 */
    bool at_most;      /* flops and bytes are the most they can be */
    bool on_device;    /* the context's device runs it, not the CPU */
} tern__step;

/* Steps [first, end), in a row on one device. */
typedef struct tern__partition {
    uint32_t first, end;
    bool on_device;
    double predicted_ns; /* < 0: nobody predicted it */
} tern__partition;

/* A result that leaves the plan: where it is. */
typedef struct tern__result {
    tern__operand at;    /* in a leaf for outputs that are views of inputs, or updated states */
    tern__layout layout; /* inside that leaf or block */
    const char *name;
} tern__result;

/* One intermediate's place in the arena, and the steps that need it. */
typedef struct tern__buffer_plan {
    tern__id value; /* that it was made for */
    size_t offset, bytes;
    uint32_t first, last;
    uint32_t group; /* those that share bytes, directly or not; 0 unless there is a report */
} tern__buffer_plan;

typedef struct tern__plan {
    tern__step *steps;
    tern__operand *operands;
    size_t *block_bytes;         /* (n_blocks) output blocks to allocate before a run */
    tern__result *results;       /* one per graph output */
    tern__buffer_plan *buffers;  /* (n_buffers) in order of first use */
    tern__partition *partitions; /* (n_partitions) all steps, in order */
    uint32_t n_steps, n_operands, n_blocks, n_results, n_buffers, n_partitions;
    /* the most that one step has, of all its workers; each of the next three includes scratch */
    size_t scratch_bytes;
    size_t arena_bytes;
    size_t live_bytes; /* most bytes in use at one step: no plan of this order needs less */
    /* every intermediate in a buffer of its own, and one block of scratch for all steps */
    size_t naive_bytes;
    int workers;         /* the most that any step uses */
    uint32_t number;     /* from 1, another for each plan of the process */
    const char *device;  /* which one runs what the CPU does not: the target's name */
    double predicted_ns; /* of all partitions; < 0: nobody predicted it */
    uint64_t flops, bytes;
    uint64_t fused_ops, single_ops; /* that share a step with others, and that have one of their own */
} tern__plan;

#endif
