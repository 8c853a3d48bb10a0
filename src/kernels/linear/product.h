/* product.h - linear products as kernels of a plan: packed_linear. */
#ifndef TERN_KERNELS_LINEAR_PRODUCT_H
#define TERN_KERNELS_LINEAR_PRODUCT_H

#include "kernels/gemm/gemm.h"
#include "kernels/kernel.h"
#include "kernels/linear/linear.h"

/* What the kernels interpret. Items of work are tiles of weights. */
typedef struct tern__linear_program {
    const tern__linear_kernel *kernel;   /* of weights that are widened */
    const tern__gemm_kernel *gemm;       /* for many rows; NULL: there is none */
    const tern__linear_i8_kernel *bytes; /* of i8 weights */
    tern__linear_form form;
    int64_t batch, n, k; /* rows of x, rows and columns of the weights */
    int64_t tile_bytes;
    int64_t block;  /* rows of x at a time */
    int64_t copied; /* of those, if they do not lie in one piece and are copied */
    tern__gemm_blocking blocking;
    size_t panels_bytes; /* at the beginning of the scratch: what the loops of gemm.h want */
    bool in_order;       /* memory likes to be read in order (TERN__FEATURE_ONE_STREAM) */
    bool all_in_order; /* blocks and several rows, too: their arithmetic keeps up (TERN__FEATURE_WHOLE_512) */
    bool apart;        /* unpacking has pipes of its own (TERN__FEATURE_FOUR_PIPES) */
    bool packs;        /* weights are no constant: a tile is packed by the worker that multiplies it */
    int64_t work;
    size_t scratch_bytes;
} tern__linear_program;

/* Plans y[..., n] = x[..., k] times weights of a type, packed or not. `kernel` is a tern__linear_i8_kernel for i8, else a
 * tern__linear_kernel; `gemm`: for many rows, or NULL. */
void tern__linear_plan(tern_dtype dtype, const void *kernel, const tern__gemm_kernel *gemm,
                       const tern__type *x, int64_t n, bool packed, tern__linear_program *out);

/* Rows [0, rows) of x, x_row elements apart, times the tiles [begin, end) of the weights, of which `packed` is the start: y has
 * the first column of tile `begin` at y[0], rows y_row apart. Columns beyond n are not written. `scratch`: as the plan says. */
void tern__linear_multiply(const tern__linear_program *p, const uint8_t *packed, int64_t begin, int64_t end,
                           const float *x, int64_t x_row, int64_t rows, float *y, int64_t y_row,
                           void *scratch);

/* The same for i8, with prepared rows (tern__ternary_prepare). */
void tern__linear_multiply_i8(const tern__linear_program *p, const uint8_t *packed, int64_t begin,
                              int64_t end, const int8_t *x, int64_t rows, int32_t *y, int64_t y_row);

/* The kernel; args->program is a tern__linear_program. Operands: x, and packed weights or those of the user. */
TERN__KERNEL(linear__tiles);

/* The attributes of a matmul that computes linear with f32 weights: transpose_b. */
extern const tern__attr tern__linear_as_matmul[2];

/* linear with f32 weights; args->program is a tern__gemm_program, of a matmul with operand 1 transposed. */
TERN__KERNEL(linear__gemm);

#endif
