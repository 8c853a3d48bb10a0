/* sort.h - sort and topk along an axis. The order is that of ref/sort.c: stable, NaN last (topk: NaN counts as largest), the
 * two zeros equal; so results are the same to the bit.
 *
 * Elements become keys whose unsigned order is the order wanted, each joined with its index into one word. Long lanes are sorted by
 * radix, short ones by merging, both of which are stable. topk of floats keeps the best k in a heap, and vectors look ahead for blocks that hold anything better than its worst. */
#ifndef TERN_KERNELS_SORT_H
#define TERN_KERNELS_SORT_H

#include "kernels/kernel.h"
#include "kernels/row/rowops.h"

enum { TERN__TOPK_BLOCK = 64 };

typedef struct tern__topk_kernel {
    /* The first of the blocks at x + i, x + i + BLOCK, ... below n that has an element above `bar` (`below`: under it) or NaN,
     * or anything if bar is NaN; n - n % BLOCK if there is none. i % BLOCK = 0. */
    int64_t (*find)(const float *x, int64_t i, int64_t n, float bar, bool below);
} tern__topk_kernel;

typedef struct tern__topk_program {
    const tern__topk_kernel *kernel;
    const tern__rowop_table *rows;
} tern__topk_program;

/* Is it sort__radix_wide that sorts these? */
bool tern__sort_is_wide(tern_dtype dtype);

/* Whether lanes of this type and of so many elements can be sorted, and with how much scratch. */
bool tern__sort_scratch(const tern__type *x, int axis, size_t *bytes);

/* Items are lanes. topk: f32, f16 and bf16, any strides; args->program is a tern__topk_program; scratch of k words. */
TERN__KERNEL(sort__radix);
TERN__KERNEL(sort__radix_wide);
TERN__KERNEL(topk__blocks);

#endif
