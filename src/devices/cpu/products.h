/* products.h - matrix products on the CPU: kernels, programs, packed constants. */
#ifndef TERN_DEVICES_CPU_PRODUCTS_H
#define TERN_DEVICES_CPU_PRODUCTS_H

#include "graph/target.h"

/* Chooses a kernel for a product, or a region with one, within the levels of `isa_mask`; *out stays as it
 * is, and `found` false, where there is none but the reference kernel. `rows` is one of
 * tern__cpu_product_rows, or 0: as usual. */
tern_status tern__cpu_product(const tern__target *target, const tern__call *call, uint32_t isa_mask,
                              int64_t rows, tern__arena *arena, tern__choice *out, bool *found);

/* How many rows of a product may be worked on at a time, the usual number first: f32 products are shared
 * by columns and blocks of so many rows, ternary ones prepare so many rows of x at once. No chain of sums
 * is cut by it. Returns how many numbers. */
int tern__cpu_product_rows(const tern__target *target, const tern__call *call, int most, int64_t *out);

/* Bits that a ternary weight takes once it is packed. */
double tern__cpu_ternary_bits(uint32_t isa_mask);

/* tern__target.packing and .pack. */
bool tern__cpu_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out);
tern_status tern__cpu_pack(const tern__target *target, const tern__packing *packing,
                           const tern__buffer *constant, void *to);

#endif
