/* bounds.h - by how much another device's results may differ from the CPU's, stated once (column `bound` of ops.def): what runs are checked by
 * (tern_ctx_options.check). */
#ifndef TERN_DEVICES_BOUNDS_H
#define TERN_DEVICES_BOUNDS_H

#include "graph/plan.h"

typedef struct tern__bound {
    double numbers; /* most that a float may differ by, in parts of its size, or of 1 where it is smaller */
    bool whole;     /* sizes are those of the largest number of the result: sums, in which terms cancel */
    int64_t units;  /* most that an integer may differ by: 1 where floats that may differ were rounded */
} tern__bound;

/* Of a result of the step; `dtype` is the result's. */
tern__bound tern__bound_of(const tern__step *step, tern_dtype dtype);

/* Are the CPU's own bits promised of it? */
bool tern__bound_is_exact(tern__opcode op);

/* Is its column `bound` of ops.def other than `none`? For tests. */
bool tern__bound_is_stated(tern__opcode op);

#endif
