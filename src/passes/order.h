/* order.h - what must run before what, besides operands before their readers. */
#ifndef TERN_PASSES_ORDER_H
#define TERN_PASSES_ORDER_H

#include "passes/pass.h"

/* A node that overwrites its operand runs after everything that reads the old value, through whatever leaf
 * lies in that memory: before node n run node[first[n]] .. node[first[n + 1]], in no order. */
typedef struct tern__before {
    const uint32_t *first; /* (n_nodes + 1); NULL: the graph writes nothing */
    const tern__id *node;
} tern__before;

/* In the compilation's arena. */
tern_status tern__find_before(tern__compilation *c, tern__before *out);

#endif
