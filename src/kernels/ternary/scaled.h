/* scaled.h - add_scaled() of a file of inner kernels: the same plain loop for every ISA, vectorised with the file's flags. */
#ifndef TERN_KERNELS_TERNARY_SCALED_H
#define TERN_KERNELS_TERNARY_SCALED_H

#include "kernels/ternary/ternary.h"

static void add_scaled(const tern__ternary_scaled *call)
{
    for (int64_t i = 0; i < call->batch; i++)
        for (int64_t r = 0; r < call->rows; r += TERN__TERNARY_BLOCK) {
            const int32_t *restrict sums = call->sums + i * TERN__TERNARY_MAX_TILE + r;
            const float *restrict scales = call->scales + r;
            float *restrict y = call->y + i * TERN__TERNARY_MAX_TILE + r;
            for (int j = 0; j < TERN__TERNARY_BLOCK; j++)
                y[j] += scales[j] * (float)sums[j];
        }
}

#endif
