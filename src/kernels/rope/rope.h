/* rope.h - rotary position embedding of f32: the angles of a row serve all its heads. */
#ifndef TERN_KERNELS_ROPE_ROPE_H
#define TERN_KERNELS_ROPE_ROPE_H

#include "kernels/kernel.h"

enum { TERN__ROPE_MOST_PAIRS = 512 };

/* What a call always has: theta^(-2j / dims) for each pair. */
typedef struct tern__rope_program {
    int64_t pairs;
    double frequency[TERN__ROPE_MOST_PAIRS];
} tern__rope_program;

/* False: the reference kernel has to do. `attrs` are those of op rope. */
bool tern__rope_plan(const tern__type *x, const tern__attr *attrs, tern__rope_program *out);

/* Items and bits are those of the reference kernel. */
TERN__KERNEL(rope__turns);

#endif
