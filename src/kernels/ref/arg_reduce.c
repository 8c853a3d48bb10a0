/* arg_reduce.c - reference kernels that say where: argmax and argmin along one axis. The first of equals
 * wins, and the first NaN wins over every number. */
#include <math.h>

#include "kernels/ref/reduce.h"

/* One axis is one run, so `i` is the index along it. */
static tern_status reduce_axis(tern__kernel_args *args, int64_t begin, int64_t end,
                               const tern__reduction *reduction)
{
    int rank = args->in[0].type->rank, axis = 0;
    if (rank == 0) /* a scalar is its own extreme, at 0 */
        return tern__reduce(args, begin, end, reduction, 0, false);
    if (!tern__axis_normalise(args->attrs[0].i, rank, &axis))
        return TERN_INTERNAL;
    return tern__reduce(args, begin, end, reduction, 1u << axis, args->attrs[1].i != 0);
}

static void found(tern__acc *acc, int64_t count, const tern__attr *attrs)
{
    (void)count;
    (void)attrs;
    acc->i = acc->at;
}

#define TAKE(best)     \
    {                  \
        acc->best = x; \
        acc->at = i;   \
    }
#define ARG_REDUCE(op, better, float_start, int_start)                                       \
    BOOL_AND_INTS(REDUCE_LOOP, op, val, if (x better acc->i) TAKE(i))                        \
    FLOATS(REDUCE_LOOP, op, wide,                                                            \
           if (x better acc->f || (__builtin_isnan(x) && !__builtin_isnan(acc->f))) TAKE(f)) \
    REDUCE_TABLE(op, UNPACKED)                                                               \
    KERNEL(op)                                                                               \
    {                                                                                        \
        static const tern__reduction reduction = {                                           \
            .start = {.f = float_start, .i = int_start},                                     \
            .first = op##_loops,                                                             \
            .finish = found,                                                                 \
            .needs_one = true,                                                               \
        };                                                                                   \
        return reduce_axis(args, begin, end, &reduction);                                    \
    }
ARG_REDUCE(argmax, >, -INFINITY, INT64_MIN)
ARG_REDUCE(argmin, <, INFINITY, INT64_MAX)
