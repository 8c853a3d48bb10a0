/* products.h - matrix products on the CPU: kernels, programs, packed constants. */
#ifndef TERN_DEVICES_CPU_PRODUCTS_H
#define TERN_DEVICES_CPU_PRODUCTS_H

#include "graph/target.h"
#include "kernels/select.h"

/* How many rows of a product may be worked on at a time, the usual number first: f32 products are shared
 * by columns and blocks of so many rows, ternary ones prepare so many rows of x at once. No chain of sums
 * is cut by it. Returns how many numbers. */
int tern__cpu_product_rows(const tern__target *target, const tern__call *call, int most, int64_t *out);

/* The kernel whose form ternary constants are packed into. */
const tern__kernel_row *tern__cpu_ternary_packer(uint32_t isa_mask);

/* Bits that a ternary weight takes once it is packed. */
double tern__cpu_ternary_bits(uint32_t isa_mask);

/* tern__target.packing and .pack. */
bool tern__cpu_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out);
tern_status tern__cpu_pack(const tern__target *target, const tern__packing *packing,
                           const tern__buffer *constant, void *to);

#endif
