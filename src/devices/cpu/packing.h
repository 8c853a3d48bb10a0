/* packing.h - constant weights in the form that the CPU's kernels read fastest. */
#ifndef TERN_DEVICES_CPU_PACKING_H
#define TERN_DEVICES_CPU_PACKING_H

#include "graph/target.h"
#include "kernels/select.h"

/* The kernel whose form ternary constants are packed into. */
const tern__kernel_row *tern__cpu_ternary_packer(uint32_t isa_mask);

/* Bits that a ternary weight takes once it is packed. */
double tern__cpu_ternary_bits(uint32_t isa_mask);

/* tern__target.packing and .pack. */
bool tern__cpu_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out);
tern_status tern__cpu_pack(const tern__target *target, const tern__packing *packing,
                           const tern__buffer *constant, void *to);

#endif
