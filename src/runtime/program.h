/* program.h - a compiled graph and what runs it. */
#ifndef TERN_RUNTIME_PROGRAM_H
#define TERN_RUNTIME_PROGRAM_H

#include <tern/program.h>

#include "runtime/run.h"

struct tern_program {
    tern__compiled *compiled; /* one reference */
    tern__storage **
        storages; /* (n_leaves of compiled->source) data that came with the graph; NULL: bound when it runs */
    uint32_t
        *inputs; /* (n_inputs) leaves of compiled->source to be bound: inputs and constants without data */
    int n_inputs;
    int nodes_before;
    uint64_t compile_ns; /* of this call: a hit costs less than compiling */
};

/* Borrows type and name. */
tern_port tern__port(const tern__type *type, const char *name);

/* From now on `probe` carries out the exec's runs; NULL: the device again. */
void tern__exec_set_probe(tern_exec *exec, tern__probe *probe);

#endif
