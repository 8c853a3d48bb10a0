/* gemm_f64_impl.h - the inner kernel of gemm_f64.h for one instruction set. A file includes the vectors of that set, defines
 * VECTORS, those of a tile of four rows whose sums stay in registers, includes this and writes TERN__GEMM_F64_KERNEL(suffix). */
#ifndef TERN_KERNELS_GEMM_F64_IMPL_H
#define TERN_KERNELS_GEMM_F64_IMPL_H

#include "kernels/gemm/gemm_f64.h"
#include "kernels/row/vector.h"
#include "kernels/select.h"

#define UNROLLED _Pragma("GCC unroll 16")

enum { WIDTH = LANES / 2, TILE = TERN__GEMM_F64_TILE, COLUMNS = TERN__GEMM_F64_COLUMNS };
_Static_assert(COLUMNS % (VECTORS * WIDTH) == 0, "tiles fill a block");

static inline __attribute__((always_inline)) void multiply_tile(const double *a, const double *b,
                                                                int64_t depth, double *to)
{
    vd sums[TILE][VECTORS];
    UNROLLED
    for (int r = 0; r < TILE; r++) {
        UNROLLED
        for (int v = 0; v < VECTORS; v++)
            sums[r][v] = d_load(to + r * COLUMNS + v * WIDTH);
    }
    for (int64_t p = 0; p < depth; p++) {
        vd x[VECTORS];
        UNROLLED
        for (int v = 0; v < VECTORS; v++)
            x[v] = d_load(b + p * COLUMNS + v * WIDTH);
        UNROLLED
        for (int r = 0; r < TILE; r++) {
            const vd factor = d_splat(a[r * TERN__GEMM_F64_DEPTH + p]);
            UNROLLED
            for (int v = 0; v < VECTORS; v++)
                sums[r][v] = d_fma(factor, x[v], sums[r][v]);
        }
    }
    UNROLLED
    for (int r = 0; r < TILE; r++) {
        UNROLLED
        for (int v = 0; v < VECTORS; v++)
            d_store(to + r * COLUMNS + v * WIDTH, sums[r][v]);
    }
}

static void multiply(const double *a, const double *b, int64_t rows, int64_t depth, double *sums)
{
    for (int64_t r = 0; r < rows; r += TILE)
        for (int64_t c = 0; c < COLUMNS; c += VECTORS * WIDTH)
            multiply_tile(a + r * TERN__GEMM_F64_DEPTH, b + c, depth, sums + r * COLUMNS + c);
    v_leave();
}

#define TERN__GEMM_F64_KERNEL(suffix) \
    const tern__gemm_f64_kernel tern__gemm_f64__##suffix = {.fused = V_FUSED, .multiply = multiply};

#endif
