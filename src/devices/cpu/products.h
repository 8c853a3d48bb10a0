/* products.h - matrix products on the CPU: kernels and programs. */
#ifndef TERN_DEVICES_CPU_PRODUCTS_H
#define TERN_DEVICES_CPU_PRODUCTS_H

#include "graph/target.h"

/* How many rows of a product may be worked on at a time, the usual number first: f32 products are shared
 * by columns and blocks of so many rows, ternary ones prepare so many rows of x at once. No chain of sums
 * is cut by it. Returns how many numbers. */
int tern__cpu_product_rows(const tern__target *target, const tern__call *call, int most, int64_t *out);

#endif
