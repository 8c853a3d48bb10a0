/* kernels.h - which kernel of the CPU runs a call. */
#ifndef TERN_DEVICES_CPU_KERNELS_H
#define TERN_DEVICES_CPU_KERNELS_H

#include "graph/op.h"
#include "kernels/kernel.h"

/* The reference kernel of an op; NULL for leaves. */
const tern__kernel *tern__cpu_reference(tern__opcode op);

/* Bytes of scratch that it needs for a call, for each worker. */
size_t tern__cpu_reference_scratch(const tern__call *call);

#endif
