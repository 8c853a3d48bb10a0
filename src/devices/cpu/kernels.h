/* kernels.h - which kernel of the CPU runs a call. */
#ifndef TERN_DEVICES_CPU_KERNELS_H
#define TERN_DEVICES_CPU_KERNELS_H

#include "graph/op.h"
#include "kernels/kernel.h"

/* The reference kernel of an op; NULL for leaves. */
const tern__kernel *tern__cpu_reference(tern__opcode op);

/* The kernel for a call with levels `isa_mask` allowed; NULL if there is none. */
const tern__kernel *tern__cpu_kernel(const tern__call *call, uint32_t isa_mask);

#endif
