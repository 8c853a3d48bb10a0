/* blocks.h - sums, means, variances, largest and smallest where few results take many elements each: over all axes, or over the last and
 * others, or of a few columns with many rows.
 *
 * What a result takes is cut into blocks of a fixed size, which several threads share. A block is reduced in the order of row
 * programs (16 lanes, sums in f64), blocks are folded in ascending order: the bits depend on the shape alone. A block's variance is
 * of squares of what elements are from the block's own mean, so that memory is read once; blocks a and b together deviate by what each
 * does, and (mean b - mean a)^2 n_a n_b / (n_a + n_b). Sums and extremes of whole numbers and bools are exact in any order. */
#ifndef TERN_KERNELS_BLOCKS_H
#define TERN_KERNELS_BLOCKS_H

#include "kernels/reduce/columns.h"

typedef enum tern__blocks_op {
    TERN__BLOCKS_SUM,
    TERN__BLOCKS_MEAN,
    TERN__BLOCKS_MAX,
    TERN__BLOCKS_MIN,
    TERN__BLOCKS_VAR,
} tern__blocks_op;

typedef struct tern__blocks_program {
    tern__columns_program columns;
    tern__blocks_op op;
    uint32_t reduced; /* bit d: axis d */
    int64_t groups;   /* of results, `lanes` neighbours each, `rows` elements each */
    int64_t lanes, rows;
    int64_t block, blocks; /* rows of a block; how many there are */
    int64_t partials;      /* numbers that a block leaves of each lane */
    int64_t ddof;          /* of variances: what is taken from the number of elements */
    size_t shared_bytes;   /* 0: one block is all, and nothing has to be finished */
} tern__blocks_program;

/* Fills what depends on the shape; false: another kernel is for it. */
bool tern__blocks_plan(const tern__type *x, const tern__attr *axes, tern__blocks_program *out);

/* Items are blocks, groups * blocks. `__finish` is the second half, on the same items, where there are several. */
TERN__KERNEL(blocks__reduce);
TERN__KERNEL(blocks__finish);

#endif
