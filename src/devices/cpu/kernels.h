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
    tern__opcode op;
    tern__kernel kernel;
    tern__kernel_family family; /* whose loops it computes with; TERN__KERNEL_FAMILIES: none */
    const char *when;           /* which calls it is for */
} tern__cpu_fast;

/* Number i of an op, in the order in which they are asked; NULL past the last. */
const tern__cpu_fast *tern__cpu_fast_of(tern__opcode op, int i);

/* A row TERN_USE of kernels.def. */
typedef struct tern__cpu_use {
    tern__opcode op;
    tern__kernel_family family;
    const char *when;
} tern__cpu_use;

/* Number i of an op; NULL past the last. */
const tern__cpu_use *tern__cpu_use_of(tern__opcode op, int i);

/* Does it run within the levels of `isa_mask`? *row becomes its loops, or NULL if it needs none. */
bool tern__cpu_fast_runs(const tern__cpu_fast *fast, uint32_t isa_mask, const tern__kernel_row **row);

#endif
