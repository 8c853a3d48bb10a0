/* reduce.h - the frame that every reference reduction runs in. Private to kernels/ref.
 *
 * A result element is reduced from its lane of operand 0 in one or two passes, each over all elements in
 * ascending (row-major) order of the reduced axes, into one accumulator: the order is fixed, so the bits
 * do not depend on the split of the work. Neighbouring lanes advance together where that walks memory in
 * order. */
#ifndef TERN_KERNELS_REF_REDUCE_H
#define TERN_KERNELS_REF_REDUCE_H

#include "kernels/ref/loops.h"

/* What one lane has gathered. The result is taken from f if its type is a float, else from i. */
typedef struct tern__acc {
    double f, g;
    int64_t i, at;
} tern__acc;

/* Adds n elements to each of `lanes` accumulators; steps in bytes. */
typedef void (*tern__reduce_loop)(tern__acc *acc, int64_t lanes, const char *from, int64_t lane_step,
                                  int64_t step, int64_t n);

typedef struct tern__reduction {
    tern__acc start;
    const tern__reduce_loop *first, *second;        /* by dtype; second NULL: one pass is all */
    void (*between)(tern__acc *acc, int64_t count); /* before the second pass; count: of a lane */
    void (*finish)(tern__acc *acc, int64_t count, const tern__attr *attrs); /* NULL: nothing to do */
    bool floats_only;                                                       /* though the tables hold more */
    bool needs_one; /* nothing to reduce is an error */
} tern__reduction;

/* Result elements [begin, end), reduced over the axes in `reduced` (bit d: axis d). `keepdims`: they stay
 * as axes of size 1. */
tern_status tern__reduce(tern__kernel_args *args, int64_t begin, int64_t end,
                         const tern__reduction *reduction, unsigned reduced, bool keepdims);

/* A loop op_T. `...` is a statement that takes the element `x` of type kind_T, number `i` of this run,
 * into `*acc`. */
#define REDUCE_LOOP(T, op, kind, ...)                                                                        \
    static void op##_##T(tern__acc *accs, int64_t lanes, const char *from, int64_t lane_step, int64_t step,  \
                         int64_t n)                                                                          \
    {                                                                                                        \
        if (lanes > 1 && (lane_step < 0 ? -lane_step : lane_step) < (step < 0 ? -step : step)) {             \
            for (int64_t i = 0; i < n; i++) {                                                                \
                for (int64_t k = 0; k < lanes; k++) {                                                        \
                    const kind##_##T x = (kind##_##T)load_##T(AT_CONST(T, from + i * step + k * lane_step)); \
                    tern__acc *acc = &accs[k];                                                               \
                    __VA_ARGS__                                                                              \
                }                                                                                            \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t k = 0; k < lanes; k++) {                                                                \
            tern__acc sum = accs[k], *acc = &sum;                                                            \
            for (int64_t i = 0; i < n; i++) {                                                                \
                const kind##_##T x = (kind##_##T)load_##T(AT_CONST(T, from + k * lane_step + i * step));     \
                __VA_ARGS__                                                                                  \
            }                                                                                                \
            accs[k] = sum;                                                                                   \
        }                                                                                                    \
    }

/* The table op_loops of the loops op_T. */
#define REDUCE_TABLE(op, TYPES) \
    static const tern__reduce_loop op##_loops[TERN_DTYPE_COUNT] = {TYPES(LOOP_ENTRY, op)};

#endif
