/* product.h - products of f32, f16 and bf16 as kernels of a plan: matmul with any strides and batches, and packed_matmul. */
#ifndef TERN_KERNELS_GEMM_PRODUCT_H
#define TERN_KERNELS_GEMM_PRODUCT_H

#include "kernels/gemm/gemm.h"
#include "kernels/kernel.h"

/* What the kernels below interpret. Items of work are tiles of columns, in blocks of rows, in batches. */
typedef struct tern__gemm_program {
    const tern__gemm_kernel *kernel;
    tern__gemm_blocking blocking;
    bool turned;     /* few columns: y transposed = b transposed times a transposed, the same chains */
    bool flat;       /* one b for all batches, whose rows are rows of one product */
    bool small;      /* f32 matrices, one of each, over before the usual loops have begun; if `work` is 1 */
    int64_t m, n, k; /* as multiplied: turned, or with the rows of all batches if `flat` */
    int64_t batches; /* 1 if `flat` */
    int64_t row_blocks, tiles;
    int64_t work;
    int64_t elements; /* of a rectangle that is handed on, or rounded (row/epilogue.h) */
    /* in the scratch: TERN__EPILOGUE_ROOM floats that become results of another type; 0: y is f32 */
    size_t room_at;
    size_t scratch_bytes;
} tern__gemm_program;

/* Plans matmul (n_in = 2, attributes transpose_a, transpose_b) for `workers` threads. false: types that
 * the kernel does not read. */
bool tern__gemm_plan(const tern__gemm_kernel *kernel, const tern__type *a, const tern__type *b,
                     const tern__type *y, const tern__attr *attrs, int workers, tern__gemm_program *out);

/* Plans packed_matmul (weight[tiles, k, columns]; attributes n, transpose_a). */
void tern__gemm_plan_packed(const tern__gemm_kernel *kernel, const tern__type *weight, const tern__type *y,
                            int workers, tern__gemm_program *out);

/* The kernels; args->program is a tern__gemm_program. */
TERN__KERNEL(matmul__gemm);
TERN__KERNEL(packed_matmul__gemm);

#endif
