/* tile_impl.h - the inner kernels of f32 products for one instruction set. A file defines
 *
 *     vec, WIDTH                              a vector of WIDTH floats
 *     V_LOAD(p) V_STORE(p, x) V_SET1(p) V_ZERO()   p points at floats of any alignment
 *     V_MULTIPLY_ADD(a, b, c)                 c + a * b
 *     ROWS, VECTORS                           a tile is ROWS x (VECTORS * WIDTH)
 *     DEPTH, BLOCK_BYTES                      k of a panel; bytes of a that stay in the second-level cache
 *     WIDE_ROWS                               most rows of `wide`
 *     TRANSPOSE, transpose                    optional: transposes squares of TRANSPOSE floats, as transpose_four below
 *     EACH_ROWS(M), EACH_WIDE(M)              M(1) .. M(ROWS), M(1) .. M(WIDE_ROWS)
 *     EACH_VECTORS(M, n)                      M(n, 1) .. M(n, VECTORS)
 *
 * includes this header and writes TERN__GEMM_KERNEL(suffix). All sums of a tile live in registers; each number of rows
 * and vectors has a function of its own, so that they can. */
#ifndef TERN_KERNELS_GEMM_TILE_IMPL_H
#define TERN_KERNELS_GEMM_TILE_IMPL_H

#include <string.h>

#include "kernels/select.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")

enum { COLUMNS = WIDTH * VECTORS, WIDE_VECTORS = VECTORS * TERN__GEMM_WIDE };

/* One k of a tile: everything but the addresses is constant where it is used. Vector v of a row of b lies (v / VECTORS) tiles
 * and (v % VECTORS) vectors from its beginning; a[i] is where row i begins, `at` which element counts. */
INLINE void step(vec (*sums)[WIDE_VECTORS], const int rows, const int vectors, const float *const *a,
                 const int64_t at, const float *b, const int64_t b_tile, const int64_t ahead)
{
    vec w[WIDE_VECTORS];
    UNROLLED for (int v = 0; v < vectors; v++)
    {
        const float *from = b + v / VECTORS * b_tile + v % VECTORS * WIDTH;
        if (ahead && v * WIDTH % 16 == 0)
            __builtin_prefetch(from + ahead);
        w[v] = V_LOAD(from);
    }
    UNROLLED for (int i = 0; i < rows; i++)
    {
        const vec x = V_SET1(a[i] + at);
        UNROLLED for (int v = 0; v < vectors; v++) sums[i][v] = V_MULTIPLY_ADD(x, w[v], sums[i][v]);
    }
}

/* `fixed`: a_k and b_k are constants. Then k is unrolled: what counts and advances addresses would take the multipliers'
 * ports now and then. */
INLINE void multiply_body(const tern__gemm_tile *t, const int rows, const int vectors, const bool fixed,
                          const int64_t a_row, const int64_t a_k, const int64_t b_k, const int64_t ahead)
{
    enum { UNROLL = 4 };
    vec sums[ROWS][WIDE_VECTORS];
    const float *a[ROWS], *b = t->b;
    float *const y = t->y;
    const int64_t y_row = t->y_row, b_tile = t->b_tile;
    UNROLLED for (int i = 0; i < rows; i++)
    {
        a[i] = t->a + i * a_row;
        UNROLLED for (int v = 0; v < vectors; v++) sums[i][v] =
            t->add ? V_LOAD(y + i * y_row + v * WIDTH) : V_ZERO();
    }
    int64_t p = 0;
    for (; fixed && p + UNROLL <= t->k; p += UNROLL, b += UNROLL * b_k)
        UNROLLED for (int u = 0; u < UNROLL; u++)
            step(sums, rows, vectors, a, p * a_k + u * a_k, b + u * b_k, b_tile, ahead);
    for (; p < t->k; p++, b += b_k)
        step(sums, rows, vectors, a, p * a_k, b, b_tile, ahead * b_k);
    UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int v = 0; v < vectors; v++)
        V_STORE(y + i * y_row + v * WIDTH, sums[i][v]);
}

/* b packed, and a either packed likewise (columns of the tile's rows side by side) or with each row's elements side by side;
 * or anything. */
#define TILE(N, V)                                                  \
    static void packed_##N##_##V(const tern__gemm_tile *t)          \
    {                                                               \
        multiply_body(t, N, V, true, 1, N, COLUMNS, 0);             \
    }                                                               \
    static void rows_##N##_##V(const tern__gemm_tile *t)            \
    {                                                               \
        multiply_body(t, N, V, true, t->a_row, 1, COLUMNS, 0);      \
    }                                                               \
    static void strided_##N##_##V(const tern__gemm_tile *t)         \
    {                                                               \
        multiply_body(t, N, V, false, t->a_row, t->a_k, t->b_k, 0); \
    }
#define TILES(N) EACH_VECTORS(TILE, N)
#define WIDE(N)                                                                \
    static void wide_##N(const tern__gemm_tile *t)                             \
    {                                                                          \
        multiply_body(t, N, WIDE_VECTORS, false, t->a_row, t->a_k, t->b_k, 8); \
    }
EACH_ROWS(TILES)
EACH_WIDE(WIDE)

static void multiply(const tern__gemm_tile *t)
{
    typedef void (*const table[ROWS][VECTORS])(const tern__gemm_tile *);
#define PACKED(N, V) packed_##N##_##V,
#define BY_ROWS(N, V) rows_##N##_##V,
#define STRIDED(N, V) strided_##N##_##V,
#define PACKEDS(N) {EACH_VECTORS(PACKED, N)},
#define BY_ROWSS(N) {EACH_VECTORS(BY_ROWS, N)},
#define STRIDEDS(N) {EACH_VECTORS(STRIDED, N)},
    static table packed = {EACH_ROWS(PACKEDS)}, rows = {EACH_ROWS(BY_ROWSS)}, strided = {EACH_ROWS(STRIDEDS)};
    const int vectors = (t->columns + WIDTH - 1) / WIDTH;
    if (t->a_row == 1 && t->a_k == t->rows && t->b_k == COLUMNS)
        packed[t->rows - 1][vectors - 1](t);
    else if (t->a_k == 1 && t->b_k == COLUMNS)
        rows[t->rows - 1][vectors - 1](t);
    else
        strided[t->rows - 1][vectors - 1](t);
}

static void wide(const tern__gemm_tile *t)
{
#define WIDES(N) wide_##N,
    static void (*const by_rows[])(const tern__gemm_tile *) = {EACH_WIDE(WIDES)};
    by_rows[t->rows - 1](t);
}

/* ---- packing ---- */

typedef float four __attribute__((vector_size(16)));

INLINE four four_load(const float *p)
{
    four x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void four_store(float *p, four x)
{
    memcpy(p, &x, sizeof x);
}

#if defined(__clang__)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int four_int __attribute__((vector_size(16)));
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (four_int){__VA_ARGS__})
#endif

/* Four lanes of four elements each, across. */
INLINE void transpose_four(const float *from, int64_t lane, int64_t width, float *to)
{
    const four a = four_load(from), b = four_load(from + lane);
    const four c = four_load(from + 2 * lane), d = four_load(from + 3 * lane);
    const four ab = SHUFFLE(a, b, 0, 4, 1, 5), AB = SHUFFLE(a, b, 2, 6, 3, 7);
    const four cd = SHUFFLE(c, d, 0, 4, 1, 5), CD = SHUFFLE(c, d, 2, 6, 3, 7);
    four_store(to, SHUFFLE(ab, cd, 0, 1, 4, 5));
    four_store(to + width, SHUFFLE(ab, cd, 2, 3, 6, 7));
    four_store(to + 2 * width, SHUFFLE(AB, CD, 0, 1, 4, 5));
    four_store(to + 3 * width, SHUFFLE(AB, CD, 2, 3, 6, 7));
}

static void pack_plain(const float *from, int64_t lane, int64_t step, int64_t lanes, int64_t width, int64_t k,
                       float *to)
{
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < lanes; i++)
            to[p * width + i] = from[i * lane + p * step];
}

static void pack(const float *from, int64_t lane, int64_t step, int64_t lanes, int64_t width, int64_t k,
                 float *to)
{
    for (int64_t p = 0; p < k && lanes < width; p++)
        memset(to + p * width + lanes, 0, (size_t)(width - lanes) * sizeof *to);
    if (lane == 1) {
        for (int64_t p = 0; p < k; p++)
            memcpy(to + p * width, from + p * step, (size_t)lanes * sizeof *to);
        return;
    }
    if (step != 1 || lanes == 0) {
        pack_plain(from, lane, step, lanes, width, k, to);
        return;
    }
    int64_t big = 0; /* lanes that are done in large squares, as far as `whole` */
#if defined(TRANSPOSE)
    const int64_t whole = k / TRANSPOSE * TRANSPOSE;
    big = lanes / TRANSPOSE * TRANSPOSE;
    for (int64_t p = 0; p < whole; p += TRANSPOSE)
        for (int64_t i = 0; i < big; i += TRANSPOSE)
            transpose(from + i * lane + p, lane, width, to + p * width + i);
#else
    const int64_t whole = k / 4 * 4;
#endif
    for (int64_t p = 0; p < whole && lanes >= 4; p += 4)
        for (int64_t i = big; i < lanes; i += 4) {
            const int64_t first = i + 4 <= lanes ? i : lanes - 4; /* the last four may do some again */
            transpose_four(from + first * lane + p, lane, width, to + p * width + first);
        }
    const int64_t done = lanes >= 4 ? whole : 0;
    pack_plain(from + done, lane, 1, lanes, width, k - done, to + done * width);
}

#define TERN__GEMM_KERNEL(suffix)                        \
    const tern__gemm_kernel tern__gemm_f32__##suffix = { \
        .name = "gemm_f32__" #suffix,                    \
        .rows = ROWS,                                    \
        .columns = COLUMNS,                              \
        .vector = WIDTH,                                 \
        .wide_rows = WIDE_ROWS,                          \
        .depth = DEPTH,                                  \
        .block_bytes = BLOCK_BYTES,                      \
        .multiply = multiply,                            \
        .wide = wide,                                    \
        .pack = pack,                                    \
    };

#endif
