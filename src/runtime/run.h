/* run.h - one run of a plan: memory for its results and its intermediates, and who carries it out. */
#ifndef TERN_RUNTIME_RUN_H
#define TERN_RUNTIME_RUN_H

#include "runtime/context.h"

/* Somebody who runs a plan in the device's place, with the buffers of an ordinary run: the tuner. */
typedef struct tern__probe {
    tern_status (*run)(struct tern__probe *probe, const tern__bindings *bindings, uint32_t *n_done);
} tern__probe;

/* An arena that plans share, one after the other: as large as the largest of them needed. */
typedef struct tern__room {
    void *block; /* of the context's pool, or NULL */
    size_t bytes;
} tern__room;

typedef struct tern__run {
    const tern__plan *plan;
    const tern_graph *graph;  /* that the plan points into */
    void *const *leaves;      /* (n_leaves of the compiled graph) where their data are */
    const uint64_t *versions; /* (n_leaves) as in tern__bindings; or NULL */
    uint64_t *step_ns;        /* (n_steps) receives what each step took; NULL: nobody asked */
    uint64_t *part_ns;        /* (n_partitions) the same for partitions */
    tern__transfer
        *transfers;     /* (n_partitions) receives what each copied across its borders; NULL: nobody asked */
    tern__probe *probe; /* NULL: the device runs it */
    tern__room *room;   /* where intermediates lie; NULL: in memory for this run only */
    tern__storage **blocks; /* (n_blocks) of results, from tern__run_plan to tern__run_finish; NULL outside */
    void **pointers;        /* (n_blocks) */
    tern__given *given;     /* (n_blocks) zeroed outside a run: what the device gave instead */
    uint32_t n_done;        /* steps that ran to their end */
    /* what is ready for the context's device; NULL: nothing yet, or the CPU runs all of it */
    tern__loaded *loaded;
} tern__run;

/* Room for blocks and pointers. False: no memory. */
bool tern__run_init(tern__run *run, tern__arena *arena);
/* Allocates output blocks and what the arena lacks, and runs. After a failure the blocks of steps that are done hold. */
tern_status tern__run_plan(tern_ctx *ctx, tern__run *run);
/* Has the device make ready what it needs of the plan (recover.h), if it has not been done; the first run would. */
tern_status tern__run_load(tern_ctx *ctx, tern__run *run);
/* Does the device copy inputs of the run, so that it pays to have it begin early? */
bool tern__run_copies_inputs(const tern_ctx *ctx, const tern__run *run);
/* Has it begin (tern__device_ops.stage), where it does. */
tern_status tern__run_stage(tern_ctx *ctx, const tern__run *run, uint32_t leaf, const void *host,
                            uint64_t version);
/* Lets that go. */
void tern__run_forget(tern_ctx *ctx, tern__run *run);
/* Lets the blocks go; whoever wants one has taken a reference. */
void tern__run_finish(tern__run *run);

/* Where the data of a leaf of the compiled graph are, when leaf i of the graph as it was captured is bound to
 * storages[i]: the storage, and the address of its first element. */
tern__storage *tern__leaf_storage(const tern__leaf *leaf, tern__storage *const *storages);
void *tern__leaf_address(const tern_graph *graph, const tern__leaf *leaf, const tern__storage *storage,
                         int64_t offset);

#endif
