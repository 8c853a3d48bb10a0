/* floats.c - runs that lie without gaps by vectors, others one by one. */
#include "kernels/row/floats.h"

#include <string.h>

#include "kernels/row/frame.h"
#include "tensor/convert.h"

const float *tern__floats_load(const tern__rowop_table *rows, tern_dtype dtype, const void *from,
                               int64_t step, int64_t n, float *to)
{
    const bool dense = step == 1 || n == 1;
    if (dense && dtype == TERN_F32)
        return from;
    if (dense)
        rows->map[tern__row_load_op(dtype)][0](to, from, NULL, NULL, NULL, n);
    else
        tern__convert(dtype, from, step, TERN_F32, to, 1, n);
    return to;
}

void tern__floats_gather(const tern__rowop_table *rows, tern_dtype dtype, const void *from, int64_t step,
                         int64_t n, float *to)
{
    const float *run = tern__floats_load(rows, dtype, from, step, n, to);
    if (run != to)
        memcpy(to, run, (size_t)n * sizeof *run);
}

void tern__floats_store(const tern__rowop_table *rows, const float *from, tern_dtype dtype, void *to,
                        int64_t step, int64_t n)
{
    const bool dense = step == 1 || n == 1;
    if (dense && dtype == TERN_F32)
        memcpy(to, from, (size_t)n * sizeof *from);
    else if (dense)
        rows->map[tern__row_store_op(dtype)][0](to, from, NULL, NULL, NULL, n);
    else
        tern__convert(TERN_F32, from, 1, dtype, to, step, n);
}
