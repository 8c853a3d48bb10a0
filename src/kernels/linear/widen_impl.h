/* widen_impl.h - products with weights that are widened to f32 in registers, for one instruction set. A file defines
 *
 *     vec, ivec, WIDTH                  WIDTH floats, and as many 32-bit integers
 *     V_LOAD(p) V_STORE(p, x) V_SET1(p) V_ZERO()      p points at floats of any alignment
 *     V_NUMBER(c) I_NUMBER(c)           a constant in all lanes
 *     V_MULTIPLY_ADD(a, b, c)           c + a * b
 *     V_HALVES(p) V_BRAINS(p)           WIDTH f16, bf16 at p
 *     V_SIGNED(p)                       WIDTH signed bytes
 *     I_LOAD(p) I_BYTES(p)              WIDTH words; unsigned bytes as words
 *     V_FROM(x)                         words as floats
 *     V_SCALE_SIX(s, c, m)              s * (m - 96), given c = -96 * s; never a negative zero
 *     I_AND(a, b) I_OR(a, b) I_LEFT(x, n) I_RIGHT(x, n)
 *     I_PUT(x, mask, to)                (x & mask) | to
 *     V_NIBBLE(x, i)                    bits 4 * i .. 4 * i + 3 of words as floats
 *     V_OF(x)                           the same bits as floats
 *     VECTORS, MOST_ROWS, MOST_TILES    of a tile's 32 rows, VECTORS * WIDTH are computed together
 *     EACH_ROWS(M, name)                M(name, 1) .. M(name, MOST_ROWS)
 *
 * includes this header and writes TERN__LINEAR_KERNEL(suffix). All sums live in registers; each number of rows has a function
 * of its own, so that they can. */
#ifndef TERN_KERNELS_LINEAR_WIDEN_IMPL_H
#define TERN_KERNELS_LINEAR_WIDEN_IMPL_H

#include <string.h>

#include "kernels/select.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 32")

enum {
    TILE = TERN__LINEAR_TILE,
    PART = VECTORS * WIDTH,
    MOST_LANES = VECTORS * MOST_TILES,
    /* Far enough that a line arrives before it is needed, near enough to stay in the first-level cache. */
    AHEAD = 2048,
};

/* What becomes of a widened weight: rows > 0 multiply and add; rows == 0 stores it. Vector s belongs to tile s / VECTORS. */
typedef struct work {
    vec sums[MOST_ROWS][MOST_LANES];
    const uint8_t *at[MOST_TILES]; /* in each tile */
    const float *x;
    int64_t x_row;
    float *to; /* of a weight that is stored: column 0 */
    int64_t stride;
} work;

INLINE void use(work *w, const int rows, const int s, int64_t k, vec weight)
{
    if (rows == 0)
        V_STORE(w->to + k * w->stride + s * WIDTH, weight);
    UNROLLED for (int i = 0; i < rows; i++) w->sums[i][s] =
        V_MULTIPLY_ADD(V_SET1(w->x + i * w->x_row + k), weight, w->sums[i][s]);
}

/* Bytes [begin, end) behind the block that is being read, line by line. A block begins on a line or in the middle of one. */
INLINE void fetch(const work *w, const int tiles, int64_t begin, int64_t end)
{
    UNROLLED for (int t = 0; t < tiles; t++) for (int64_t b = begin; b < end; b += 64)
        __builtin_prefetch(w->at[t] + AHEAD + b);
}

#define AT(offset, size) (w->at[s / VECTORS] + (offset) + s % VECTORS * WIDTH * (size))

/* ---- one block of each form, from column k on. w->at is where it begins in each tile; `first` is the first row of the part
 * that is computed. ---- */

INLINE void block_f16(work *w, const int rows, const int tiles, int first, int64_t k)
{
    fetch(w, tiles, 0, 2 * TILE);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++) use(w, rows, s, k, V_HALVES(AT(2 * first, 2)));
}

INLINE void block_bf16(work *w, const int rows, const int tiles, int first, int64_t k)
{
    fetch(w, tiles, 0, 2 * TILE);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++) use(w, rows, s, k, V_BRAINS(AT(2 * first, 2)));
}

INLINE void block_q8_0(work *w, const int rows, const int tiles, int first, int64_t k)
{
    vec d[MOST_LANES];
    fetch(w, tiles, 0, 2 * TILE);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++) d[s] = V_HALVES(AT(2 * first, 2));
    for (int e = 0; e < 32; e += 4) {
        fetch(w, tiles, 2 * TILE + e * TILE, 2 * TILE + (e + 4) * TILE);
        UNROLLED for (int i = 0; i < 4; i++) UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
            use(w, rows, s, k + e + i,
                V_MULTIPLY_ADD(d[s], V_SIGNED(AT(2 * TILE + (e + i) * TILE + first, 1)), V_ZERO()));
    }
}

/* Columns k .. k + 7 of the words at `at`: scale * code + offset. */
INLINE void eight(work *w, const int rows, const int tiles, int64_t at, int first, int64_t k,
                  const vec *scale, const vec *offset)
{
    ivec words[MOST_LANES];
    fetch(w, tiles, at, at + 4 * TILE);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++) words[s] = I_LOAD(AT(at + 4 * first, 4));
    UNROLLED for (int i = 0; i < 8; i++) UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
        use(w, rows, s, k + i, V_MULTIPLY_ADD(scale[s], V_NIBBLE(words[s], i), offset[s]));
}

INLINE void block_q4_0(work *w, const int rows, const int tiles, int first, int64_t k)
{
    vec d[MOST_LANES], offset[MOST_LANES];
    fetch(w, tiles, 0, 2 * TILE);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
    {
        d[s] = V_HALVES(AT(2 * first, 2));
        offset[s] = V_MULTIPLY_ADD(d[s], V_NUMBER(-8.0f), V_ZERO());
    }
    for (int e = 0; e < 4; e++)
        eight(w, rows, tiles, 2 * TILE + e * 4 * TILE, first, k + 8 * e, d, offset);
}

/* Scales and offsets j of 8: 6 bits each, in twelve bytes. */
INLINE ivec q4_k_scale(const uint8_t *s12, int j)
{
    if (j < 4)
        return I_AND(I_BYTES(s12 + j * TILE), I_NUMBER(63));
    const ivec low = I_AND(I_BYTES(s12 + (j + 4) * TILE), I_NUMBER(15));
    return I_OR(low, I_AND(I_RIGHT(I_BYTES(s12 + (j - 4) * TILE), 2), I_NUMBER(48)));
}

INLINE ivec q4_k_offset(const uint8_t *s12, int j)
{
    if (j < 4)
        return I_AND(I_BYTES(s12 + (j + 4) * TILE), I_NUMBER(63));
    const ivec low = I_RIGHT(I_BYTES(s12 + (j + 4) * TILE), 4);
    return I_OR(low, I_AND(I_RIGHT(I_BYTES(s12 + j * TILE), 2), I_NUMBER(48)));
}

INLINE void block_q4_k(work *w, const int rows, const int tiles, int first, int64_t k)
{
    fetch(w, tiles, 0, 16 * TILE);
    for (int j = 0; j < 8; j++) {
        vec scale[MOST_LANES], offset[MOST_LANES];
        UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
        {
            const uint8_t *s12 = AT(4 * TILE + first, 1);
            const vec d = V_HALVES(AT(2 * first, 2)),
                      minus =
                          V_MULTIPLY_ADD(V_HALVES(AT(2 * TILE + 2 * first, 2)), V_NUMBER(-1.0f), V_ZERO());
            scale[s] = V_MULTIPLY_ADD(d, V_FROM(q4_k_scale(s12, j)), V_ZERO());
            offset[s] = V_MULTIPLY_ADD(minus, V_FROM(q4_k_offset(s12, j)), V_ZERO());
        }
        for (int e = 4 * j; e < 4 * j + 4; e++)
            eight(w, rows, tiles, 16 * TILE + e * 4 * TILE, first, k + 8 * e, scale, offset);
    }
}

/* A 6-bit code in the upper bits of a float's fraction is 64 + code: 0x42800000 is 64. */
enum { SIX_AT = 17, SIX_ONE = 0x42800000, SIX_MASK = 63 << SIX_AT };

INLINE ivec six_from(ivec word, const int bit)
{
    return bit < SIX_AT ? I_LEFT(word, SIX_AT - bit) : I_RIGHT(word, bit - SIX_AT);
}

INLINE ivec six_last(ivec a, ivec b, ivec c)
{
    ivec m = I_PUT(I_RIGHT(a, 30 - SIX_AT), I_NUMBER(3 << SIX_AT), I_NUMBER(SIX_ONE));
    m = I_PUT(I_RIGHT(b, 28 - SIX_AT), I_NUMBER(12 << SIX_AT), m);
    return I_PUT(I_RIGHT(c, 26 - SIX_AT), I_NUMBER(48 << SIX_AT), m);
}

INLINE void block_q6_k(work *w, const int rows, const int tiles, int first, int64_t k)
{
    vec d[MOST_LANES];
    fetch(w, tiles, 0, 18 * TILE);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++) d[s] = V_HALVES(AT(2 * first, 2));
    for (int g = 0; g < 16; g++, k += 16) {
        const int64_t at = 18 * TILE + g * 12 * TILE;
        vec scale[MOST_LANES], offset[MOST_LANES];
        ivec words[3][MOST_LANES];
        fetch(w, tiles, at, at + 12 * TILE);
        UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
        {
            scale[s] = V_MULTIPLY_ADD(d[s], V_SIGNED(AT(2 * TILE + g * TILE + first, 1)), V_ZERO());
            offset[s] = V_MULTIPLY_ADD(scale[s], V_NUMBER(-96.0f), V_ZERO());
            UNROLLED for (int i = 0; i < 3; i++) words[i][s] = I_LOAD(AT(at + i * 4 * TILE + 4 * first, 4));
        }
        UNROLLED for (int i = 0; i < 16; i++) UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
        {
            const ivec m =
                i < 15 ? I_PUT(six_from(words[i / 5][s], i % 5 * 6), I_NUMBER(SIX_MASK), I_NUMBER(SIX_ONE))
                       : six_last(words[0][s], words[1][s], words[2][s]);
            use(w, rows, s, k + i, V_SCALE_SIX(scale[s], offset[s], V_OF(m)));
        }
    }
}

/* ---- the functions of one form ---- */

enum {
    COLUMNS_f16 = 1,
    COLUMNS_bf16 = 1,
    COLUMNS_q8_0 = 32,
    COLUMNS_q6_k = 256,
    COLUMNS_q4_0 = 32,
    COLUMNS_q4_k = 256,
    BYTES_f16 = 2 * TILE,
    BYTES_bf16 = 2 * TILE,
    BYTES_q8_0 = 34 * TILE,
    BYTES_q6_k = 210 * TILE,
    BYTES_q4_0 = 18 * TILE,
    BYTES_q4_k = 144 * TILE,
};

/* Columns that do not fill a block: the block is widened into memory first. */
INLINE void add_rest(work *w, const int rows, const int tiles, const float *panel, int64_t k, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
            use(w, rows, s, k + i, V_LOAD(panel + (i * tiles + s / VECTORS) * PART + s % VECTORS * WIDTH));
}

#define STEP(name, rows, tiles)                                           \
    {                                                                     \
        block_##name(&w, rows, tiles, first, k);                          \
        UNROLLED for (int t = 0; t < tiles; t++) w.at[t] += BYTES_##name; \
    }

#define MULTIPLY(name, N, TILES)                                                                             \
    static void name##_##N##_##TILES(const tern__linear_call *call)                                          \
    {                                                                                                        \
        const int tiles = TILES;                                                                             \
        for (int first = 0; first < TILE; first += PART) {                                                   \
            work w = {.x = call->x, .x_row = call->x_row};                                                   \
            UNROLLED for (int t = 0; t < TILES; t++) w.at[t] = call->tiles + t * call->tile_bytes;           \
            UNROLLED for (int i = 0; i < N; i++) UNROLLED for (int s = 0; s < tiles * VECTORS; s++)          \
                w.sums[i][s] = V_ZERO();                                                                     \
            int64_t k = 0;                                                                                   \
            for (; k + COLUMNS_##name <= call->k; k += COLUMNS_##name)                                       \
                STEP(name, N, TILES)                                                                         \
            if (COLUMNS_##name > 1 && k < call->k) {                                                         \
                float panel[COLUMNS_##name * PART * TILES];                                                  \
                for (int t = 0; t < TILES; t++) {                                                            \
                    work rest = {.at = {w.at[t]}, .to = panel + t * PART, .stride = PART * TILES};           \
                    block_##name(&rest, 0, 1, first, 0);                                                     \
                }                                                                                            \
                add_rest(&w, N, TILES, panel, k, call->k - k);                                               \
            }                                                                                                \
            UNROLLED for (int i = 0; i < N; i++) UNROLLED for (int s = 0; s < tiles * VECTORS; s++) V_STORE( \
                call->y + i * call->y_row + s / VECTORS * TILE + first + s % VECTORS * WIDTH, w.sums[i][s]); \
        }                                                                                                    \
    }
#define MULTIPLY_ONE_TILE(name, N) MULTIPLY(name, N, 1)
#define ENTRY(name, N) name##_##N##_1,

#if MOST_TILES == 1
#define SEVERAL(name)
#define SEVERAL_OF(name) name##_1_1
#elif MOST_TILES == 2
#define SEVERAL(name) MULTIPLY(name, 1, 2)
#define SEVERAL_OF(name) name##_1_2
#else
#define SEVERAL(name) MULTIPLY(name, 1, 4)
#define SEVERAL_OF(name) name##_1_4
#endif

#define FORM(id, name)                                                                                    \
    EACH_ROWS(MULTIPLY_ONE_TILE, name)                                                                    \
    SEVERAL(name)                                                                                         \
    static void multiply_##name(const tern__linear_call *call)                                            \
    {                                                                                                     \
        static void (*const by_rows[])(const tern__linear_call *) = {EACH_ROWS(ENTRY, name)};             \
        if (call->n_tiles == 1)                                                                           \
            by_rows[call->rows - 1](call);                                                                \
        else                                                                                              \
            SEVERAL_OF(name)(call);                                                                       \
    }                                                                                                     \
    static void unpack_##name(const uint8_t *tile, int64_t from, int64_t n, float *to, int64_t stride)    \
    {                                                                                                     \
        for (int first = 0; first < TILE; first += PART) {                                                \
            work w = {                                                                                    \
                .at = {tile + from / COLUMNS_##name * BYTES_##name}, .to = to + first, .stride = stride}; \
            for (int64_t k = 0; k < n; k += COLUMNS_##name)                                               \
                STEP(name, 0, 1)                                                                          \
        }                                                                                                 \
    }

TERN__LINEAR_FORMS(FORM)

#define MULTIPLY_ENTRY(id, name) multiply_##name,
#define UNPACK_ENTRY(id, name) unpack_##name,
#define TERN__LINEAR_KERNEL(suffix)                       \
    const tern__linear_kernel tern__linear__##suffix = {  \
        .name = "linear__" #suffix,                       \
        .most_rows = MOST_ROWS,                           \
        .most_tiles = MOST_TILES,                         \
        .multiply = {TERN__LINEAR_FORMS(MULTIPLY_ENTRY)}, \
        .unpack = {TERN__LINEAR_FORMS(UNPACK_ENTRY)},     \
    };

#endif
