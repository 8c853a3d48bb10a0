/* kernels.h - which kernel of the CPU runs a call. */
#ifndef TERN_DEVICES_CPU_KERNELS_H
#define TERN_DEVICES_CPU_KERNELS_H

#include "graph/op.h"
#include "graph/target.h"
#include "kernels/kernel.h"
#include "kernels/select.h"

/* The reference kernel of an op; NULL for leaves. */
const tern__kernel *tern__cpu_reference(tern__opcode op);

const char *tern__cpu_reference_name(tern__opcode op);

/* Bytes of scratch that it needs for a call, for each worker. */
size_t tern__cpu_reference_scratch(const tern__call *call);

/* Does the kernel of a row TERN_FAST take a call of its op? If so *found is set, and *out has the call's program, work and scratch, or
 * another kernel where the call needs more than `run`; what the row says is there already. `loops`: what its family has here, of the
 * family's type, or NULL. */
typedef tern_status tern__cpu_taker(const tern__target *target, const void *loops, const tern__call *call,
                                    tern__arena *arena, tern__choice *out, bool *found);

#define TERN_FAST(op, kernel, family, takes, when) tern__cpu_taker tern__cpu_takes_##takes;
#include "kernels/kernels.def"

/* A row TERN_FAST of kernels.def. */
typedef struct tern__cpu_fast {
    tern__opcode op;
    const char *name;
    tern__kernel kernel;
    tern__cpu_taker *takes;
    tern__kernel_family family; /* whose loops it computes with; TERN__KERNEL_FAMILIES: none */
    const char *when;           /* which calls it is for */
} tern__cpu_fast;

/* Number i of an op, in the order in which they are asked; NULL past the last. */
const tern__cpu_fast *tern__cpu_fast_of(tern__opcode op, int i);

/* The first row of its op that takes a call and runs within the target's levels: *out is filled and *found set, or both stay as they
 * are. */
tern_status tern__cpu_chosen_fast(const tern__target *target, const tern__call *call, tern__arena *arena,
                                  tern__choice *out, bool *found);

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
