/* tile_impl.h - the inner kernels of f32 products for one instruction set. A file defines
 *
 *     vec, WIDTH                              a vector of WIDTH floats
 *     V_LOAD(p) V_STORE(p, x) V_SET1(p) V_ZERO()   p points at floats of any alignment
 *     V_MULTIPLY_ADD(a, b, c)                 c + a * b; FUSED is 1 where it rounds once, else 0
 *     VECTORS                                 a tile is at most VECTORS * WIDTH columns wide
 *     ROWS                                    and as high, then
 *     EACH_ROWS(M, v)                         M(1, v) .. M(ROWS, v)
 *     EACH_LOW_TILE(M)                        the same for v = 1 .. VECTORS
 *     EACH_TILE(M)                            the same with the higher ones that narrow tiles may be
 *     TALLEST                                 {most rows of tiles of 1, 2 .. vectors}
 *     WIDE_ROWS, EACH_WIDE(M)                 most rows of `wide`; M(1) .. M(WIDE_ROWS)
 *
 * and optionally
 *
 *     V_MULTIPLY_ADD_AT(p, b, c)              c + *p * b, for numbers that are used once
 *     V_TRANSPOSE(from, lane, to)             WIDTH lanes of WIDTH floats, `lane` apart, into vectors across; there is one for
 *                                             vectors of four
 *     part, PART(n), V_LOAD_PART(p, part), V_STORE_PART(p, x, part)   the first n floats of a vector; others are zeros
 *     V_LOAD_F16(p)                           WIDTH f16 as a vector
 *
 * includes this header and writes TERN__GEMM_KERNEL(suffix). All sums of a tile live in registers; each number of rows
 * and vectors has a function of its own, so that they can. */
#ifndef TERN_KERNELS_GEMM_TILE_IMPL_H
#define TERN_KERNELS_GEMM_TILE_IMPL_H

#include <string.h>

#include "kernels/gemm/gemm.h"
#include "kernels/select.h"
#include "tensor/half.h"

#define NOINLINE __attribute__((noinline))
#if defined(TERN_DEBUG) /* one copy of each loop: ninety of them, instrumented, take minutes to compile */
#define INLINE static NOINLINE
#define UNROLLED
#else
#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* M(1, v) .. M(n, v) */
#define ROWS_5(M, v) M(1, v) M(2, v) M(3, v) M(4, v) M(5, v)
#define ROWS_6(M, v) ROWS_5(M, v) M(6, v)
#define ROWS_8(M, v) ROWS_6(M, v) M(7, v) M(8, v)
#define ROWS_10(M, v) ROWS_8(M, v) M(9, v) M(10, v)
#define ROWS_12(M, v) ROWS_10(M, v) M(11, v) M(12, v)
#define ROWS_16(M, v) ROWS_12(M, v) M(13, v) M(14, v) M(15, v) M(16, v)

#if defined(V_LOAD_PART)
#define RAGGED true
#else
#define RAGGED false
typedef int part;
#define PART(n) (n)
#define V_LOAD_PART(p, part) V_LOAD(p)
#define V_STORE_PART(p, x, part) V_STORE(p, x)
#endif

#if !defined(V_MULTIPLY_ADD_AT)
#define V_MULTIPLY_ADD_AT(p, b, c) V_MULTIPLY_ADD(V_SET1(p), b, c)
#endif

enum { COLUMNS = WIDTH * VECTORS, WIDE_VECTORS = VECTORS * TERN__GEMM_WIDE, ACROSS_ROWS = 8 };

/* Rows of a matrix, with few registers: four of them are reached from the first by its address, one or two strides scaled, or
 * three. The barriers keep the compiler from finding an address for each row after all, and spilling them. */
enum { EACH_BASE = 4, BASES = TERN__GEMM_MAX_ROWS / EACH_BASE };
typedef struct row_addresses {
    const float *base[BASES];
    int64_t one, three;
} row_addresses;

#define HIDE(x) __asm__("" : "+r"(x))

INLINE row_addresses addresses_of(const float *first, int64_t stride, const int rows)
{
    row_addresses r = {.one = stride, .three = 3 * stride};
    HIDE(r.three);
    UNROLLED for (int i = 0; i < (rows + EACH_BASE - 1) / EACH_BASE; i++)
    {
        r.base[i] = first + EACH_BASE * i * stride;
        HIDE(r.base[i]);
    }
    return r;
}

INLINE const float *row_at(const row_addresses *r, const int i)
{
    return r->base[i / EACH_BASE] + (i % EACH_BASE == 3 ? r->three : i % EACH_BASE * r->one);
}

/* One k of a tile: everything but the addresses is constant where it is used. Vector v of a row of b lies (v / VECTORS) tiles
 * and (v % VECTORS) vectors from its beginning, and `last` is what counts of the last one; `at` is the element of a's rows that
 * counts. */
INLINE void step(vec (*sums)[WIDE_VECTORS], const int rows, const int vectors, const row_addresses *a,
                 const int64_t at, const float *b, const int64_t b_tile, const bool streams,
                 const int64_t ahead, const part *last)
{
    vec w[WIDE_VECTORS];
    UNROLLED for (int v = 0; v < vectors; v++)
    {
        const float *from = b + v / VECTORS * b_tile + v % VECTORS * WIDTH;
        if (streams && v * WIDTH % 16 == 0)
            __builtin_prefetch(from + ahead, 0,
                               2); /* rows a power of two apart share a set of the first cache */
        w[v] = last && v == vectors - 1 ? V_LOAD_PART(from, *last) : V_LOAD(from);
    }
    UNROLLED for (int i = 0; i < rows; i++)
    {
        if (vectors == 1) {
            sums[i][0] = V_MULTIPLY_ADD_AT(row_at(a, i) + at, w[0], sums[i][0]);
            continue;
        }
        const vec x = V_SET1(row_at(a, i) + at);
        UNROLLED for (int v = 0; v < vectors; v++) sums[i][v] = V_MULTIPLY_ADD(x, w[v], sums[i][v]);
    }
}

INLINE void advance(row_addresses *r, const int rows, const int64_t by)
{
    UNROLLED for (int i = 0; i < (rows + EACH_BASE - 1) / EACH_BASE; i++) r->base[i] += by;
}

INLINE void load_sums(const tern__gemm_tile *t, const int rows, const int vectors, const part last,
                      vec (*sums)[WIDE_VECTORS])
{
    (void)last; /* of those that have no parts of vectors */
    const row_addresses y = addresses_of(t->y, t->y_row, rows);
    UNROLLED for (int i = 0; i < rows; i++)
    {
        const float *from = row_at(&y, i);
        UNROLLED for (int v = 0; v < vectors - 1; v++) sums[i][v] = V_LOAD(from + v * WIDTH);
        sums[i][vectors - 1] = V_LOAD_PART(from + (vectors - 1) * WIDTH, last);
    }
}

#define STEPS                                                                             \
    UNROLLED for (int u = 0; u < unroll; u++)                                             \
        step(sums, rows, vectors, &a, u *a_k, b + u * b_k, b_tile, streams, ahead, of_b); \
    advance(&a, rows, unroll *a_k);                                                       \
    p += unroll;                                                                          \
    b += unroll * b_k;

/* k is unrolled where that is cheap (a_k is 1): what counts and advances addresses would take the multipliers' ports now and
 * then. `whole`: b has all of the last vector. `fetches`: rows of t->ahead and lines; `streams`: rows of b, `ahead` of each. */
INLINE void multiply_body(const tern__gemm_tile *t, const int rows, const int vectors, const int unroll,
                          const bool whole, const bool fetches, const bool streams, const int64_t a_row,
                          const int64_t a_k, const int64_t b_k, const int64_t ahead)
{
    vec sums[TERN__GEMM_MAX_ROWS][WIDE_VECTORS];
    const float *b = t->b;
    const int64_t b_tile = t->b_tile;
    const int width = vectors > VECTORS ? WIDTH : t->columns - (vectors - 1) * WIDTH;
    const part last = PART(width), *of_b = whole ? NULL : &last;
    if (t->add)
        load_sums(t, rows, vectors, last, sums);
    else
        UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int v = 0; v < vectors; v++) sums[i][v] =
            V_ZERO();
    row_addresses a = addresses_of(t->a, a_row, rows);
    int64_t p = 0;
    for (int i = 0; fetches && i < 3; i++) { /* rows, one every `unroll` k */
        const float *next = t->ahead[i].next;
        for (int64_t n = t->ahead[i].rows; n > 0 && p + unroll <= t->k; n--) {
            UNROLLED for (int j = 0; j < COLUMNS; j += 16) __builtin_prefetch(next + j, 0, 2);
            next += t->ahead[i].step;
            STEPS
        }
    }
    uintptr_t line =
        fetches && t->line ? t->line : (uintptr_t)b; /* then lines, or one that is there anyway */
    const uintptr_t line_step = fetches && t->line ? TERN__GEMM_LINE : 0;
    while (unroll > 1 && p + unroll <= t->k) {
        if (fetches)
            __builtin_prefetch((const void *)line, 0, 2);
        line += line_step;
        STEPS
    }
    for (; p < t->k; p++, b += b_k) {
        step(sums, rows, vectors, &a, 0, b, b_tile, streams, ahead, of_b);
        advance(&a, rows, a_k);
    }
    const row_addresses y = addresses_of(t->y, t->y_row, rows);
    UNROLLED for (int i = 0; i < rows; i++)
    {
        float *to = (float *)(uintptr_t)row_at(&y, i); /* y is ours to write */
        UNROLLED for (int v = 0; v < vectors - 1; v++) V_STORE(to + v * WIDTH, sums[i][v]);
        V_STORE_PART(to + (vectors - 1) * WIDTH, sums[i][vectors - 1], last);
    }
}

/* Whole tiles of b, packed, and rows of a with elements side by side, or slivers of it; such rows and b as it lies; anything. */
#define PACKED(N, V)                                                                               \
    static NOINLINE void packed_##N(const tern__gemm_tile *t)                                      \
    {                                                                                              \
        multiply_body(t, N, V, TERN__GEMM_LINE_EVERY, true, true, false, t->a_row, 1, COLUMNS, 0); \
    }
#define SLIVERS(N, V)                                                                          \
    static NOINLINE void sliver_##N(const tern__gemm_tile *t)                                  \
    {                                                                                          \
        multiply_body(t, N, V, TERN__GEMM_LINE_EVERY, true, true, false, 1, ROWS, COLUMNS, 0); \
    }
#define IN_PLACE(N, V)                                                          \
    static NOINLINE void in_place_##N##_##V(const tern__gemm_tile *t)           \
    {                                                                           \
        multiply_body(t, N, V, 2, false, false, false, t->a_row, 1, t->b_k, 0); \
    }
#define STRIDED(N, V)                                                                \
    static NOINLINE void strided_##N##_##V(const tern__gemm_tile *t)                 \
    {                                                                                \
        multiply_body(t, N, V, 1, false, false, false, t->a_row, t->a_k, t->b_k, 0); \
    }
#define WIDE(N)                                                                                        \
    static void wide_##N(const tern__gemm_tile *t)                                                     \
    {                                                                                                  \
        multiply_body(t, N, WIDE_VECTORS, 1, true, false, true, t->a_row, t->a_k, t->b_k, t->b_ahead); \
    }
EACH_ROWS(PACKED, VECTORS)
EACH_ROWS(SLIVERS, VECTORS)
EACH_TILE(IN_PLACE)
EACH_LOW_TILE(STRIDED)
EACH_WIDE(WIDE)

/* clang-format off */
#define TILE_AT(rows, vectors) ((rows) * (TERN__GEMM_MAX_VECTORS + 1) + (vectors))
#define CALL_PACKED(N, V) case N: packed_##N(t); break;
#define CALL_SLIVER(N, V) case N: sliver_##N(t); break;
#define CALL_IN_PLACE(N, V) case TILE_AT(N, V): in_place_##N##_##V(t); break;
#define CALL_STRIDED(N, V) case TILE_AT(N, V): strided_##N##_##V(t); break;
/* clang-format on */

static void multiply(const tern__gemm_tile *t)
{
    const int at = TILE_AT(t->rows, (t->columns + WIDTH - 1) / WIDTH);
    const bool whole = t->b_k == COLUMNS && t->columns == COLUMNS;
    if (whole && t->a_row == 1 && t->a_k == ROWS)
        switch (t->rows) {
            EACH_ROWS(CALL_SLIVER, VECTORS)
        }
    else if (t->a_k != 1)
        switch (at) {
            EACH_LOW_TILE(CALL_STRIDED)
        }
    else if (whole)
        switch (t->rows) {
            EACH_ROWS(CALL_PACKED, VECTORS)
        }
    else
        switch (at) {
            EACH_TILE(CALL_IN_PLACE)
        }
}

static void wide(const tern__gemm_tile *t)
{
#define WIDES(N) wide_##N,
    static void (*const by_rows[])(const tern__gemm_tile *) = {EACH_WIDE(WIDES)};
    by_rows[t->rows - 1](t);
}

/* ---- transposing ---- */

#if defined(__clang__)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int four_int __attribute__((vector_size(16)));
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (four_int){__VA_ARGS__})
#endif
typedef float four __attribute__((vector_size(16)));

INLINE four four_load(const float *p)
{
    four x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Four lanes of four elements each, across. */
INLINE void transpose_four(const float *from, int64_t lane, four *to)
{
    const four a = four_load(from), b = four_load(from + lane);
    const four c = four_load(from + 2 * lane), d = four_load(from + 3 * lane);
    const four ab = SHUFFLE(a, b, 0, 4, 1, 5), AB = SHUFFLE(a, b, 2, 6, 3, 7);
    const four cd = SHUFFLE(c, d, 0, 4, 1, 5), CD = SHUFFLE(c, d, 2, 6, 3, 7);
    to[0] = SHUFFLE(ab, cd, 0, 1, 4, 5);
    to[1] = SHUFFLE(ab, cd, 2, 3, 6, 7);
    to[2] = SHUFFLE(AB, CD, 0, 1, 4, 5);
    to[3] = SHUFFLE(AB, CD, 2, 3, 6, 7);
}

#if !defined(V_TRANSPOSE)
_Static_assert(WIDTH == 4, "other widths bring their own V_TRANSPOSE");
INLINE void transpose_vectors(const float *from, int64_t lane, vec *to)
{
    four rows[4];
    transpose_four(from, lane, rows);
    UNROLLED for (int i = 0; i < 4; i++) to[i] = (vec)rows[i];
}
#define V_TRANSPOSE(from, lane, to) transpose_vectors(from, lane, to)
#endif

/* A vector of columns. Transposing keeps the shuffler busy for as long as a chain takes, and out of order the next vector's
 * begins meanwhile. Two of them at a time, or lines that are fetched ahead, measured a quarter slower: the processor follows
 * so many streams by itself, and not more. */
INLINE void across_body(const tern__gemm_tile *t, const int64_t column, const int rows)
{
    vec sums[ACROSS_ROWS], w[WIDTH];
    const float *const b = t->b + column * t->b_column, *a = t->a;
    const int64_t a_row = t->a_row, a_k = t->a_k, lane = t->b_column;
    float *const y = t->y + column;
    int64_t p = 0;
    UNROLLED for (int i = 0; i < rows; i++) sums[i] = t->add ? V_LOAD(y + i * t->y_row) : V_ZERO();
    for (; p + WIDTH <= t->k; p += WIDTH, a += WIDTH * a_k) {
        V_TRANSPOSE(b + p, lane, w);
        UNROLLED for (int u = 0; u < WIDTH; u++) UNROLLED for (int i = 0; i < rows; i++) sums[i] =
            V_MULTIPLY_ADD_AT(a + u * a_k + i * a_row, w[u], sums[i]);
    }
    for (; p < t->k; p++, a += a_k) {
        float across[WIDTH];
        for (int i = 0; i < WIDTH; i++)
            across[i] = b[i * lane + p];
        const vec x = V_LOAD(across);
        UNROLLED for (int i = 0; i < rows; i++) sums[i] = V_MULTIPLY_ADD(V_SET1(a + i * a_row), x, sums[i]);
    }
    UNROLLED for (int i = 0; i < rows; i++) V_STORE(y + i * t->y_row, sums[i]);
}

#define ACROSS(N, unused)                                        \
    static NOINLINE void across_##N(const tern__gemm_tile *t)    \
    {                                                            \
        for (int64_t j = 0; j + WIDTH <= t->columns; j += WIDTH) \
            across_body(t, j, N);                                \
    }
ROWS_8(ACROSS, )

static void across(const tern__gemm_tile *t)
{
#define ACROSSES(N, unused) across_##N,
    static void (*const by_rows[])(const tern__gemm_tile *) = {ROWS_8(ACROSSES, )};
    by_rows[t->rows - 1](t);
}

/* ---- packing ---- */

static void pack_plain(const float *from, int64_t lane, int64_t step, int64_t lanes, int64_t width, int64_t k,
                       float *to)
{
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < lanes; i++)
            to[p * width + i] = from[i * lane + p * step];
}

enum { LINE_FLOATS = TERN__GEMM_LINE / sizeof(float) };

INLINE void transpose_lines(const float *from, int64_t lane, int64_t lanes, int64_t width, int64_t k,
                            float *to)
{
    for (int64_t i = 0; i < lanes; i += WIDTH)
        for (int64_t p = 0; p < k; p += WIDTH) {
            vec across[WIDTH];
            V_TRANSPOSE(from + i * lane + p, lane, across);
            UNROLLED for (int j = 0; j < WIDTH; j++) V_STORE(to + (p + j) * width + i, across[j]);
        }
}

static void pack(const float *from, int64_t lane, int64_t step, int64_t lanes, int64_t width, int64_t k,
                 float *to)
{
    if (lane == 1 && lanes == COLUMNS) {
        for (int64_t p = 0; p < k; p++, from += step, to += width)
            UNROLLED for (int i = 0; i < COLUMNS; i += WIDTH) V_STORE(to + i, V_LOAD(from + i));
        return;
    }
    if (lane == 1) {
        for (int64_t p = 0; p < k; p++)
            memcpy(to + p * width, from + p * step, (size_t)lanes * sizeof *to);
        return;
    }
    if (step != 1) {
        pack_plain(from, lane, step, lanes, width, k, to);
        return;
    }
    /* Squares of a vector's width, those of a square of lines together: lanes may lie so that their lines push each other out of
     * the caches. Then squares of four, the last of which may do some again; then what is left. */
    const int64_t big_k = k / WIDTH * WIDTH, big = big_k ? lanes / WIDTH * WIDTH : 0, whole = k / 4 * 4;
    for (int64_t i = 0; i < big; i += LINE_FLOATS)
        for (int64_t p = 0; p < big_k; p += LINE_FLOATS) {
            for (int64_t j = i + LINE_FLOATS; j < i + 2 * LINE_FLOATS && j < big; j++)
                __builtin_prefetch(from + j * lane + p, 0, 2);
            transpose_lines(from + i * lane + p, lane, big - i < LINE_FLOATS ? big - i : LINE_FLOATS, width,
                            big_k - p < LINE_FLOATS ? big_k - p : LINE_FLOATS, to + p * width + i);
        }
    for (int64_t p = 0; p < whole && lanes >= 4; p += 4)
        for (int64_t i = p < big_k ? big : 0; i < lanes; i += 4) {
            const int64_t first = i + 4 <= lanes ? i : lanes - 4;
            four across[4];
            transpose_four(from + first * lane + p, lane, across);
            for (int j = 0; j < 4; j++)
                memcpy(to + (p + j) * width + first, &across[j], sizeof *across);
        }
    const int64_t done = lanes >= 4 ? whole : 0;
    pack_plain(from + done, lane, 1, lanes, width, k - done, to + done * width);
}

/* A short run of k of all slivers before the next: its lines of `from` are all there while several slivers read them. */
static void pack_slivers(const float *from, int64_t step, int64_t rows, int64_t k, float *to)
{
    enum { RUN = 8 };
    const int64_t whole = rows / ROWS * ROWS;
    for (int64_t begin = 0; begin < k; begin += RUN) {
        const int64_t end = k - begin < RUN ? k : begin + RUN;
        for (int64_t i = 0; i < whole; i += ROWS)
            for (int64_t p = begin; p < end; p++)
                memcpy(to + i * k + p * ROWS, from + p * step + i, ROWS * sizeof *to);
        for (int64_t p = begin; p < end && whole < rows; p++)
            memcpy(to + whole * k + p * ROWS, from + p * step + whole, (size_t)(rows - whole) * sizeof *to);
    }
}

/* ---- other types ---- */

static void unpack_f32(const void *from, int64_t n, float *to)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

static void unpack_f16(const void *from, int64_t n, float *to)
{
    const uint16_t *x = from;
    int64_t i = 0;
#if defined(V_LOAD_F16)
    for (; i + WIDTH <= n; i += WIDTH)
        V_STORE(to + i, V_LOAD_F16(x + i));
#endif
    for (; i < n; i++)
        to[i] = tern__f16_to_f32(x[i]);
}

static void unpack_bf16(const void *from, int64_t n, float *to)
{
    const uint16_t *x = from;
    for (int64_t i = 0; i < n; i++)
        to[i] = tern__bf16_to_f32(x[i]);
}

#define TERN__GEMM_KERNEL(suffix)                                                                \
    const tern__gemm_kernel tern__gemm_f32__##suffix = {                                         \
        .fused = FUSED,                                                                          \
        .columns = COLUMNS,                                                                      \
        .vector = WIDTH,                                                                         \
        .rows = TALLEST,                                                                         \
        .wide_rows = WIDE_ROWS,                                                                  \
        .across_rows = ACROSS_ROWS,                                                              \
        .ragged = RAGGED,                                                                        \
        .multiply = multiply,                                                                    \
        .wide = wide,                                                                            \
        .across = across,                                                                        \
        .pack = pack,                                                                            \
        .pack_slivers = pack_slivers,                                                            \
        .unpack = {[TERN_F32] = unpack_f32, [TERN_F16] = unpack_f16, [TERN_BF16] = unpack_bf16}, \
    };

#endif
