/* analysis.h - what a run should take: a model of the machine, filled by measuring it.
 *
 * A step takes what it costs to be there, and then the longer of moving its bytes and computing its flops.
 * Bytes move at the speed of the caches if they fit in them, else at that of memory. The rates are what
 * the library itself reaches, measured with programs of its own or given by the caller; the model knows no
 * others. */
#ifndef TERN_ANALYSIS_H
#define TERN_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/status.h>

typedef struct tern_machine {
    double memory_bytes_per_s; /* of a step that moves more than cache_bytes */
    double cache_bytes_per_s;  /* of the others                              */
    double flops_per_s;
    double step_ns;       /* what a step takes that has nothing to do */
    uint64_t cache_bytes; /* of the last private cache; 0 = unknown: all bytes come from memory */
    bool busy; /* rates could not be measured twice alike: the machine had other work, and they are too low */
} tern_machine;

#ifdef __cplusplus
extern "C" {
#endif

/* Measures this machine with the threads and instruction sets of the context: additions of arrays far
 * beyond the caches and well inside them, a product of matrices, additions of single numbers; the best of
 * a few runs of each, in two to six rounds until they agree. Takes 0.2 s if the machine has nothing else
 * to do. */
TERN_API tern_status tern_machine_measure(tern_ctx *ctx, tern_machine *out);

/* What a step of so many flops and bytes should take; rates that are 0 are left out. */
TERN_API double tern_machine_estimate_ns(const tern_machine *machine, uint64_t flops, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
