/* program.h - a compiled graph and what runs it. */
#ifndef TERN_RUNTIME_PROGRAM_H
#define TERN_RUNTIME_PROGRAM_H

#include <tern/program.h>

#include "graph/plan.h"
#include "runtime/context.h"

struct tern_program {
    tern_graph graph;           /* a copy of its own, rewritten by the passes */
    tern__arena arena;          /* holds the plan */
    tern__plan plan;
    uint32_t *inputs;           /* (n_inputs) leaves to be bound: inputs and unbound constants, in order */
    int n_inputs;
    struct tern__label *labels; /* (n_values) what values are called in print */
    tern__pass_log *logs;       /* (tern__n_passes) */
    int nodes_before;
    uint64_t compile_ns;
};

#endif
