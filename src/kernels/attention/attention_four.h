/* attention_four.h - attention with vectors of four and sixteen registers for them: one query and two keys, four registers for each
 * dot, or 4 mixes of 8 elements, are 8 registers. Included behind the vectors, in place of attention_impl.h. */
#ifndef TERN_KERNELS_ATTENTION_FOUR_H
#define TERN_KERNELS_ATTENTION_FOUR_H

#include "kernels/row/vector.h"

#define SCORE_QUERIES 1
#define SCORE_KEYS 2
#define MIX_VECTORS 2

static inline __attribute__((always_inline)) void reduce_tile(vf sums[2][4], float *to, int64_t row)
{
    (void)row; /* there is one query */
    for (int i = 0; i < 2; i++) {
        const vf four = (sums[i][0] + sums[i][2]) + (sums[i][1] + sums[i][3]);
        to[i] = (four[0] + four[2]) + (four[1] + four[3]);
    }
}

#include "kernels/attention/attention_impl.h"

#endif
