/* product.h - ternary x int8 products as kernels of a plan: packed_ternary_matmul and ternary_matmul. */
#ifndef TERN_KERNELS_TERNARY_PRODUCT_H
#define TERN_KERNELS_TERNARY_PRODUCT_H

#include "kernels/kernel.h"
#include "kernels/ternary/ternary.h"

/* What the kernel interprets. Items of work are tiles of weights. */
typedef struct tern__ternary_program {
    const tern__ternary_kernel *kernel;
    int64_t batch, rows, columns; /* rows of x, rows and columns of the weights */
    int64_t block;                /* rows of x that are prepared and multiplied at a time */
    int64_t pieces;               /* of the columns, with scales of their own; 0: there are no scales */
    int64_t stride;               /* bytes of a prepared row, or of a piece of one */
    int64_t ahead_in_order;       /* as calls have it (ternary.h) */
    int64_t work;
    size_t scratch_bytes;
} tern__ternary_program;

/* Plans y[..., rows] = x[..., columns] times weights that are `packed`, or canonical, in i32; with scales [rows, pieces] in f32:
 * the exact sums of each piece of the columns times their scales, added in ascending order. */
void tern__ternary_plan(const tern__ternary_kernel *kernel, const tern__type *x, int64_t rows, bool packed,
                        int64_t pieces, tern__ternary_program *out);

/* The kernels; args->program is a tern__ternary_program. Operands: x, packed weights or canonical ones, and scales if the
 * program has pieces. */
TERN__KERNEL(packed_ternary_matmul__packed);
TERN__KERNEL(ternary_matmul__packing);

#endif
