/* bytes_impl.h - i8 products for one instruction set without a dot product of four bytes of mixed signs. A file defines
 *
 *     ivec, WIDTH          WIDTH sums of 32 bits
 *     quads                a quad of x, as the next two want it: quads_of(p)
 *     I_ZERO()
 *     ADD_QUADS(s, p, q)   s with the products of WIDTH quads of codes at p and the quad q added
 *     put(y, s, add)       WIDTH outputs: stored, or added to what is there
 *     VECTORS, MOST_ROWS, EACH_ROWS(M)
 *
 * includes this header and writes TERN__LINEAR_I8_KERNEL(suffix). Codes are w + 128; ADD_QUADS takes that off. */
#ifndef TERN_KERNELS_LINEAR_BYTES_IMPL_H
#define TERN_KERNELS_LINEAR_BYTES_IMPL_H

#include "kernels/linear/linear.h"
#include "kernels/select.h"

#define UNROLLED _Pragma("GCC unroll 16")

enum { TILE = TERN__LINEAR_TILE, QUAD_BYTES = 4 * TILE, PART = VECTORS * WIDTH, AHEAD = 2048 };
_Static_assert((int)MOST_ROWS <= (int)TERN__LINEAR_MAX_ROWS, "callers have room for so many");

static inline __attribute__((always_inline)) void multiply_part(const tern__linear_i8_call *call,
                                                                const int rows, int first)
{
    ivec sums[MOST_ROWS][VECTORS];
    const uint8_t *at = call->tiles + call->quad_begin * QUAD_BYTES + 4 * first;
    const int8_t *x = call->x + 4 * call->quad_begin;
    tern__stream ahead = call->ahead;
    const bool streams = ahead.step > 0;
    UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int v = 0; v < VECTORS; v++) sums[i][v] = I_ZERO();
    for (int64_t q = call->quad_begin; q < call->quad_end; q++, at += QUAD_BYTES, x += 4) {
        if (streams) {
            tern__stream_fetch(&ahead, QUAD_BYTES);
        } else {
            __builtin_prefetch(at + AHEAD);
            __builtin_prefetch(at + AHEAD + 64);
        }
        UNROLLED for (int i = 0; i < rows; i++)
        {
            const quads quad = quads_of(x + i * call->x_row);
            UNROLLED for (int v = 0; v < VECTORS; v++) sums[i][v] =
                ADD_QUADS(sums[i][v], at + 4 * v * WIDTH, quad);
        }
    }
    UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int v = 0; v < VECTORS; v++)
        put(call->y + i * call->y_row + first + v * WIDTH, sums[i][v], call->quad_begin > 0);
}

#define ROWS(N)                                            \
    static void rows_##N(const tern__linear_i8_call *call) \
    {                                                      \
        for (int first = 0; first < TILE; first += PART)   \
            multiply_part(call, N, first);                 \
    }
EACH_ROWS(ROWS)

static void multiply(const tern__linear_i8_call *call)
{
#define ENTRY(N) rows_##N,
    static void (*const by_rows[])(const tern__linear_i8_call *) = {EACH_ROWS(ENTRY)};
    by_rows[call->rows - 1](call);
}

#define TERN__LINEAR_I8_KERNEL(suffix)                         \
    const tern__linear_i8_kernel tern__linear_i8__##suffix = { \
        .most_rows = MOST_ROWS, .most_tiles = 1, .multiply = multiply};

#endif
