/* program.h - a compiled graph and what runs it. */
#ifndef TERN_RUNTIME_PROGRAM_H
#define TERN_RUNTIME_PROGRAM_H

#include <tern/program.h>

#include "runtime/run.h"

/* The range of batches that a program serves. */
typedef struct tern__batching {
    int64_t recorded, least, most;
    int input;      /* of the program: the first that has the batch */
    bool batched[]; /* (n_leaves of compiled->source) */
} tern__batching;

struct tern_program {
    tern__compiled *compiled; /* one reference */
    /* (n_leaves of compiled->source) data that came with the graph; NULL: bound when it runs */
    tern__storage **storages;
    /* (n_inputs) leaves of compiled->source to be bound: inputs and constants without data */
    uint32_t *inputs;
    int n_inputs;
    int nodes_before;
    uint64_t compile_ns;      /* of this call: a hit costs less than compiling */
    tern__batching *batching; /* NULL: no range */
};

/* Borrows type and name. */
tern_port tern__port(const tern__type *type, const char *name);

/* Where and what it runs. */
tern_ctx *tern__exec_ctx(const tern_exec *exec);
const tern_program *tern__exec_program(const tern_exec *exec);
/* Does its device copy inputs, so that tern_exec_stage does something? */
bool tern__exec_copies_inputs(const tern_exec *exec);

/* From now on `probe` carries out the exec's runs; NULL: the device again. */
void tern__exec_set_probe(tern_exec *exec, tern__probe *probe);

/* tern_graph_compile with checked options. */
tern_status tern__program_make(tern_ctx *ctx, const tern_graph *graph, const tern__compile_options *options,
                               tern_program **out);

/* ---- batching.c ---- */

/* Makes program->batching, and sees that the graph has a meaning for every size of the range. */
tern_status tern__batching_make(tern_ctx *ctx, const tern_batch_range *range, tern_program *program);
/* The size of the batch in `inputs` (as many as the program has). */
tern_status tern__batching_size(const tern_program *program, tern_tensor *const *inputs, int64_t *out);

#endif
