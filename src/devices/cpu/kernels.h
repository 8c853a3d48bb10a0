/* kernels.h - which kernel of the CPU runs a call. */
#ifndef TERN_DEVICES_CPU_KERNELS_H
#define TERN_DEVICES_CPU_KERNELS_H

#include "graph/op.h"
#include "kernels/kernel.h"
#include "kernels/select.h"

/* The reference kernel of an op; NULL for leaves. */
const tern__kernel *tern__cpu_reference(tern__opcode op);

/* Bytes of scratch that it needs for a call, for each worker. */
size_t tern__cpu_reference_scratch(const tern__call *call);

/* A row TERN_FAST of kernels.def. */
typedef struct tern__cpu_fast {
    tern__kernel kernel;
    tern__kernel_family family; /* whose loops it computes with; TERN__KERNEL_FAMILIES: none */
    tern__isa except;           /* a level whose loops do not do; TERN__ISA_COUNT: all do */
} tern__cpu_fast;

/* That of an op; NULL where it has none. */
const tern__cpu_fast *tern__cpu_fast_of(tern__opcode op);

/* Does it run within the levels of `isa_mask`? *row becomes its loops, or NULL if it needs none. */
bool tern__cpu_fast_runs(const tern__cpu_fast *fast, uint32_t isa_mask, const tern__kernel_row **row);

#endif
