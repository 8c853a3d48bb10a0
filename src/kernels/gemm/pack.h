/* pack.h - operands of any element type and strides as f32 panels. Private to kernels/gemm and kernels/conv. */
#ifndef TERN_KERNELS_GEMM_PACK_H
#define TERN_KERNELS_GEMM_PACK_H

#include "kernels/gemm/gemm.h"

/* Where element `index` of `data` is. */
const void *tern__gemm_at(tern_dtype type, const void *data, int64_t index);

/* to[p * width + i] = from[i * lane + p * step] for i < lanes, 0 for lanes <= i < width. */
void tern__gemm_pack_lanes(const tern__gemm_kernel *kernel, tern_dtype type, const void *from, int64_t lane,
                           int64_t step, int64_t lanes, int64_t width, int64_t k, float *to);

#endif
