/* floats.h - runs of f32, f16 or bf16 as f32, and back, by the instructions of row programs: for kernels that compute in f32 whatever
 * the type of their operands. */
#ifndef TERN_KERNELS_ROW_FLOATS_H
#define TERN_KERNELS_ROW_FLOATS_H

#include "kernels/row/rowops.h"
#include "tensor/half.h"
#include "tensor/type.h"

/* Types that are read as f32. */
static inline bool tern__floats_reads(tern_dtype dtype)
{
    return dtype == TERN_F32 || dtype == TERN_F16 || dtype == TERN_BF16;
}

/* Element `at` of such a type. */
static inline float tern__float_at(tern_dtype dtype, const void *data, int64_t at)
{
    return dtype == TERN_F32   ? ((const float *)data)[at]
           : dtype == TERN_F16 ? tern__f16_to_f32(((const uint16_t *)data)[at])
                               : tern__bf16_to_f32(((const uint16_t *)data)[at]);
}

/* Has bytes that will be read soon fetched into the second-level cache. They may lie anywhere. */
static inline void tern__floats_fetch(const void *from, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += 64)
        __builtin_prefetch((const char *)from + at, 0, 2);
}

/* n such elements, `step` apart, as f32: where they lie, or in `to`. */
const float *tern__floats_load(const tern__rowop_table *rows, tern_dtype dtype, const void *from,
                               int64_t step, int64_t n, float *to);

/* The same, always in `to`. */
void tern__floats_gather(const tern__rowop_table *rows, tern_dtype dtype, const void *from, int64_t step,
                         int64_t n, float *to);

/* n floats to elements of such a type, `step` apart. */
void tern__floats_store(const tern__rowop_table *rows, const float *from, tern_dtype dtype, void *to,
                        int64_t step, int64_t n);

#endif
