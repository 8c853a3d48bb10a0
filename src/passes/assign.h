/* assign.h - where the steps of a plan run, decided by predicted times (target.h: tern__prediction). Part of the pass `select`. */
#ifndef TERN_PASSES_ASSIGN_H
#define TERN_PASSES_ASSIGN_H

#include "passes/pass.h"

/* What is known of the steps, in running order. */
typedef struct tern__assignment {
    uint32_t n;
    tern__id *nodes; /* (n) */
    /* (n) each: on the CPU, on the device; INFINITY: it cannot run there, or nothing is known */
    double *ns[2];
    tern__side *sides; /* (n) who runs them */
} tern__assignment;

/* Decides for every step of c->order. All of it is in c->arena. TERN_UNSUPPORTED: a step can run nowhere. */
tern_status tern__assign_steps(tern__compilation *c, tern__assignment *out);

/* Fills predicted_ns of the plan and of its partitions; < 0 where something is not known. */
tern_status tern__predict_partitions(tern__compilation *c, const tern__assignment *assigned);

#endif
