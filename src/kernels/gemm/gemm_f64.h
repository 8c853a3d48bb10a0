/* gemm_f64.h - products in f64: matmul whose result is f64, of operands of any float types.
 *
 *     y[i][j] = sum over k of a[i][k] * b[k][j]
 *
 * Every output is one chain of multiply-adds in ascending k that starts from 0, as in gemm.h, and those of kernels with fused ones
 * have the bits of ref/. Blocks of rows and columns of y are computed from panels of a and b that are copied, as f64, into the
 * scratch. */
#ifndef TERN_KERNELS_GEMM_F64_H
#define TERN_KERNELS_GEMM_F64_H

#include "kernels/kernel.h"

/* Of a block and of its panels. */
enum {
    TERN__GEMM_F64_ROWS = 32,
    TERN__GEMM_F64_COLUMNS = 32,
    TERN__GEMM_F64_DEPTH = 64,
    TERN__GEMM_F64_TILE = 4
};

typedef struct tern__gemm_f64_kernel {
    bool fused; /* multiply-adds are; else products are rounded before they are added */
    /* sums (rows, COLUMNS) continue their chains over the first `depth` columns of a (rows, DEPTH) and rows of b (DEPTH, COLUMNS);
     * rows is a multiple of TILE. */
    void (*multiply)(const double *a, const double *b, int64_t rows, int64_t depth, double *sums);
} tern__gemm_f64_kernel;

/* Items of work are blocks of columns, in blocks of rows, in batches. */
typedef struct tern__gemm_f64_program {
    const tern__gemm_f64_kernel *kernel;
    int64_t m, n, k;
    int64_t row_blocks, column_blocks;
    int64_t work;
    size_t scratch_bytes;
} tern__gemm_f64_program;

/* Plans matmul (attributes transpose_a, transpose_b). false: y is no f64. */
bool tern__gemm_f64_plan(const tern__gemm_f64_kernel *kernel, const tern__type *a, const tern__type *b,
                         const tern__type *y, const tern__attr *attrs, tern__gemm_f64_program *out);

/* The kernel; args->program is a tern__gemm_f64_program. */
TERN__KERNEL(matmul__f64);

#endif
