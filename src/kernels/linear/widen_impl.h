/* widen_impl.h - products with weights that are widened to f32 in registers, for one instruction set. A file defines
 *
 *     vec, ivec, WIDTH                  WIDTH floats, and as many 32-bit integers
 *     V_LOAD(p) V_STORE(p, x) V_SET1(p) V_ZERO()      p points at floats of any alignment
 *     V_NUMBER(c) I_NUMBER(c)           a constant in all lanes
 *     V_MULTIPLY_ADD(a, b, c)           c + a * b; FUSED is 1 where it rounds once, else 0
 *     V_MULTIPLY_ADD_AT(p, b, c)        c + *p * b, without an operation that spreads *p. Need not be defined; who defines it says that
 *                                       calls with `apart` set (linear.h) have loops of their own
 *     V_HALVES(p) V_BRAINS(p)           WIDTH f16, bf16 at p
 *     V_SIGNED(p)                       WIDTH signed bytes
 *     I_LOAD(p)                         WIDTH words
 *     V_SCALE(s, c, m, n)               s * (m - n), given c = -n * s; never a negative zero
 *     V_SCALE_FROM(s, c, m, n)          the same where there are many c: one in memory. Need not be defined
 *     I_LEFT(x, n) I_RIGHT(x, n)
 *     I_ENDS(x, n)                      the bits 31 and 0 of words in their bits n and n + 1, n > 16; anything in the others
 *     I_PUT(x, mask, to)                (x & mask) | to
 *     I_ADD(a, b)                       with V_MULTIPLY_ADD_AT
 *     V_NIBBLE(x)                       the low four bits of words as floats
 *     V_OF(x)                           the same bits as floats
 *     V_OF_SIGNED(x)                    signed words as floats
 *     I_AND(x, mask)
 *     VECTORS, MOST_ROWS, MOST_TILES    of a tile's 32 rows, VECTORS * WIDTH are computed together
 *     TOGETHER(columns)                 tiles that pay (linear.h), up to MOST_TILES, of weights with blocks of so many columns
 *     EACH_ROWS(M, name)                M(name, 1) .. M(name, MOST_ROWS)
 *     MANY(columns)                     rows from which on panels pay (linear.h), of weights with blocks of so many columns
 *
 * includes this header and writes TERN__LINEAR_KERNEL(suffix). All sums live in registers; each number of rows has a function
 * of its own, so that they can. */
#ifndef TERN_KERNELS_LINEAR_WIDEN_IMPL_H
#define TERN_KERNELS_LINEAR_WIDEN_IMPL_H

#include <string.h>

#include "kernels/linear/stream.h"
#include "kernels/linear/linear.h"
#include "kernels/select.h"

#if defined( \
    TERN_DEBUG) /* one copy of each block: sixty of them, unrolled and instrumented, take minutes to compile */
#define INLINE static __attribute__((noinline))
#define UNROLLED
#else
#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 32")
#endif

#ifdef V_MULTIPLY_ADD_AT
#define HAS_APART 1
#else /* nobody asks for it */
#define HAS_APART 0
#define V_MULTIPLY_ADD_AT(p, b, c) V_MULTIPLY_ADD(V_SET1(p), b, c)
#define I_ADD(a, b) I_PUT(a, a, b)
#endif

enum {
    TILE = TERN__LINEAR_TILE,
    PART = VECTORS * WIDTH,
    MOST_LANES = VECTORS * MOST_TILES,
    UNPACK_AHEAD = 2048, /* bytes */
    NEAR_AHEAD = 1024,   /* likewise, from the second-level cache into the first */
};
_Static_assert((int)MOST_ROWS <= (int)TERN__LINEAR_MAX_ROWS, "callers have room for so many");

/* What becomes of widened weights: rows > 0 multiply and add; rows == 0 stores them. Vector s belongs to tile s / VECTORS. */
typedef struct work {
    vec sums[MOST_ROWS][MOST_LANES];
    const uint8_t *at[MOST_TILES]; /* in each tile */
    const float *x;
    int64_t x_row;
    float *to; /* of a weight that is stored: column 0 */
    int64_t stride;
    tern__stream ahead;
    bool apart; /* as in linear.h */
} work;

/* Column k of the `n` vectors from s on. */
INLINE void use(work *w, const int rows, const int s, const int n, int64_t k, const vec *weights)
{
    if (rows == 0)
        UNROLLED for (int v = 0; v < n; v++) V_STORE(w->to + k * w->stride + (s + v) * WIDTH, weights[v]);
    if (w->apart) { /* one row */
        UNROLLED for (int v = 0; v < n; v++) w->sums[0][s + v] =
            V_MULTIPLY_ADD_AT(w->x + k, weights[v], w->sums[0][s + v]);
        return;
    }
    UNROLLED for (int i = 0; i < rows; i++)
    {
        const vec x = V_SET1(w->x + i * w->x_row + k);
        UNROLLED for (int v = 0; v < n; v++) w->sums[i][s + v] =
            V_MULTIPLY_ADD(x, weights[v], w->sums[i][s + v]);
    }
}

/* ---- codes as numbers ----
 *
 * A code in the bits from `place` on of a float's fraction, under the exponent that makes bit `place` count 1, is the number
 * 2^(23 - place) + code: one operation masks a code and makes it a float. Scaling takes off what is too much,
 *
 *     scale * m - scale * (2^(23 - place) + zero)
 *
 * in one multiply-add. It is exact as long as the second product has no more than 24 bits. And a word that is loaded some bytes
 * earlier or later is a word that is shifted by so many bytes, without an operation: codes lie so that most of them have such
 * a way to a place that is allowed. */

#ifndef V_SCALE_FROM
#define V_SCALE_FROM(s, c, m, n) V_SCALE(s, c, m, n)
#endif

#define EXCESS(place) ((float)(1 << (23 - (place))))

INLINE vec placed(ivec word, const int mask, const int place, const bool apart)
{
    const ivec bits = I_NUMBER(mask << place), number = I_NUMBER((127 + 23 - place) << 23);
    /* A sum, which no compiler makes one operation of three operands. */
    return V_OF(apart ? I_ADD(I_AND(word, bits), number) : I_PUT(word, bits, number));
}

/* The words at `at` with their bits moved up. `last`: there is nothing behind them to be loaded with them. */
INLINE ivec moved(const uint8_t *at, const int by, const bool last)
{
    if (by % 8 == 0 && !(last && by < 0))
        return I_LOAD(at - by / 8);
    return by > 0 ? I_LEFT(I_LOAD(at), by) : I_RIGHT(I_LOAD(at), -by);
}

/* -number * scale */
INLINE vec excess_of(vec scale, float number)
{
    return V_MULTIPLY_ADD(scale, V_NUMBER(-number), V_ZERO());
}

/* Codes of 6 bits, sixteen in three words: code i < 15 is in word i / 5 from bit 1 + 6 * (i % 5) on, the last one in the bits
 * 31 and 0 of the three. Scales have 18 bits, so places from 13 to 17 are allowed. One code of a word is in such a place and
 * two get there by whole bytes. */
enum { SIX_PLACES = 2 };

INLINE int six_place(const int i)
{
    return i % 5 == 2 ? 13 : 17;
}

/* `word` is the size of a word of all rows. */
INLINE vec six(const uint8_t *at, const int word, const int i, const bool last, const bool apart)
{
    if (i < 15)
        return placed(moved(at + i / 5 * word, six_place(i) - 1 - 6 * (i % 5), last), 63, six_place(i),
                      apart);
    const ivec low = I_ENDS(I_LOAD(at), 17), middle = I_ENDS(I_LOAD(at + word), 19),
               high = I_ENDS(I_LOAD(at + 2 * word), 21), number = I_NUMBER((127 + 23 - 17) << 23);
    return V_OF(I_PUT(low, I_NUMBER(3 << 17),
                      I_PUT(middle, I_NUMBER(12 << 17), I_PUT(high, I_NUMBER(48 << 17), number))));
}

/* What is too much in each place, times a scale. */
INLINE void six_excess(vec scale, float zero, vec *excess)
{
    UNROLLED for (int p = 0; p < SIX_PLACES; p++) excess[p] = excess_of(scale, EXCESS(17 - 4 * p) + zero);
}

INLINE vec six_scaled(const uint8_t *at, const int word, const int i, vec scale, const vec *excess,
                      float zero, const bool last, const bool apart)
{
    const int place = six_place(i);
    return V_SCALE(scale, excess[(17 - place) / 4], six(at, word, i, last, apart), EXCESS(place) + zero);
}

#define AT(offset, size) (w->at[s / VECTORS] + (offset) + s % VECTORS * WIDTH * (size))

/* ---- one block of each form, from column k on. w->at is where it begins in each tile; `first` is the first row of the part
 * that is computed. ---- */

/* Of 16 bits so many bytes pass that what is fetched for much later pushes what is read next out of the first-level cache: so the
 * former goes past it, and the latter is fetched again. */
INLINE void fetch_column(work *w, const int tiles)
{
    if (w->ahead.soon) {
        tern__stream_fetch(&w->ahead, 2 * TILE * tiles);
        return;
    }
    tern__stream_fetch_far(&w->ahead, 2 * TILE * tiles);
    UNROLLED for (int t = 0; t < tiles; t++) __builtin_prefetch(w->at[t] + NEAR_AHEAD);
}

#define BLOCK_OF_ONE(name, load)                                                                \
    INLINE void block_##name(work *w, const int rows, const int tiles, int first, int64_t k)    \
    {                                                                                           \
        vec weights[MOST_LANES];                                                                \
        fetch_column(w, tiles);                                                                 \
        UNROLLED for (int s = 0; s < tiles * VECTORS; s++) weights[s] = load(AT(2 * first, 2)); \
        use(w, rows, 0, tiles *VECTORS, k, weights);                                            \
    }
BLOCK_OF_ONE(f16, V_HALVES)
BLOCK_OF_ONE(bf16, V_BRAINS)

/* Code i of four in a word, as 2^24 times itself, which is the word's highest byte with zeros below; a scale that is as much smaller
 * makes up for it, and both are exact. That byte is one operation away: a mask, or a shift of the lowest. */
INLINE vec eight(const uint8_t *at, const int i)
{
    return V_OF_SIGNED(i == 0 ? I_LEFT(I_LOAD(at), 24)
                              : I_AND(I_LOAD(at - (3 - i)), I_NUMBER((int)0xff000000u)));
}

INLINE void block_q8_0(work *w, const int rows, const int tiles, int first, int64_t k)
{
    vec d[MOST_LANES], weights[MOST_LANES];
    tern__stream_fetch(&w->ahead, 2 * TILE * tiles);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++) d[s] =
        V_MULTIPLY_ADD(V_HALVES(AT(2 * first, 2)), V_NUMBER(0x1p-24f), V_ZERO());
    for (int e = 0; e < 32; e += 4) {
        tern__stream_fetch(&w->ahead, 4 * TILE * tiles);
        UNROLLED for (int i = 0; i < 4; i++)
        {
            UNROLLED for (int s = 0; s < tiles * VECTORS; s++) weights[s] =
                V_MULTIPLY_ADD(d[s], eight(AT(2 * TILE + e * TILE + 4 * first, 4), i), V_ZERO());
            use(w, rows, 0, tiles * VECTORS, k + e + i, weights);
        }
    }
}

/* Scales of 11 bits allow places from 8 on: three nibbles of a word are in such places, and two shifts bring the others. */
INLINE int four_place(const int i)
{
    return i < 2 ? 4 * i + 8 : i < 5 ? 4 * i : 4 * i - 12;
}

INLINE void block_q4_0(work *w, const int rows, const int tiles, int first, int64_t k)
{
    vec d[MOST_LANES], excess[3][MOST_LANES], weights[MOST_LANES];
    tern__stream_fetch(&w->ahead, 2 * TILE * tiles);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
    {
        d[s] = V_HALVES(AT(2 * first, 2));
        UNROLLED for (int p = 0; p < 3; p++) excess[p][s] = excess_of(d[s], EXCESS(8 + 4 * p) + 8);
    }
    for (int e = 0; e < 4; e++) {
        const int64_t at = 2 * TILE + e * 4 * TILE;
        tern__stream_fetch(&w->ahead, 4 * TILE * tiles);
        UNROLLED for (int i = 0; i < 8; i++)
        {
            const int place = four_place(i);
            UNROLLED for (int s = 0; s < tiles * VECTORS; s++) weights[s] =
                V_SCALE_FROM(d[s], excess[place / 4 - 2][s],
                             placed(moved(AT(at + 4 * first, 4), place - 4 * i, true), 15, place, w->apart),
                             EXCESS(place) + 8);
            use(w, rows, 0, tiles * VECTORS, k + 8 * e + i, weights);
        }
    }
}

/* Eight scales and eight offsets, and then nibbles. Their offset is rounded with the product, so that they must be numbers
 * themselves. */
INLINE void block_q4_k(work *w, const int rows, const int tiles, int first, int64_t k)
{
    vec scales[16][MOST_LANES], weights[MOST_LANES];
    tern__stream_fetch(&w->ahead, 16 * TILE * tiles);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
    {
        const vec d = V_HALVES(AT(2 * first, 2)),
                  minus = V_MULTIPLY_ADD(V_HALVES(AT(2 * TILE + 2 * first, 2)), V_NUMBER(-1.0f), V_ZERO());
        vec excess[2][SIX_PLACES];
        six_excess(d, 0, excess[0]);
        six_excess(minus, 0, excess[1]);
        UNROLLED for (int i = 0; i < 16; i++) scales[i][s] = six_scaled(
            AT(132 * TILE + 4 * first, 4), 4 * TILE, i, i < 8 ? d : minus, excess[i / 8], 0, true, w->apart);
    }
    for (int e = 0; e < 32; e++) {
        const int64_t at = 4 * TILE + e * 4 * TILE;
        tern__stream_fetch(&w->ahead, 4 * TILE * tiles);
        UNROLLED for (int i = 0; i < 8; i++)
        {
            UNROLLED for (int s = 0; s < tiles * VECTORS; s++)
            {
                /* Again whole bytes for half of them. The upper bits do not matter. */
                const uint8_t *words = AT(at + 4 * first, 4);
                const ivec nibbles = i % 2 == 0 ? I_LOAD(words + i / 2) : I_RIGHT(I_LOAD(words), 4 * i);
                weights[s] = V_MULTIPLY_ADD(scales[e / 4][s], V_NIBBLE(nibbles), scales[8 + e / 4][s]);
            }
            use(w, rows, 0, tiles * VECTORS, k + 8 * e + i, weights);
        }
    }
}

/* Tile by tile, so that the scales and what is too much fit the registers. */
INLINE void block_q6_k(work *w, const int rows, const int tiles, int first, int64_t k)
{
    vec d[MOST_LANES];
    tern__stream_fetch(&w->ahead, 18 * TILE * tiles);
    UNROLLED for (int s = 0; s < tiles * VECTORS; s++) d[s] = V_HALVES(AT(2 * first, 2));
    for (int g = 0; g < 16; g++, k += 16) {
        const int64_t at = 2 * TILE + g * 12 * TILE;
        tern__stream_fetch(&w->ahead, 12 * TILE * tiles);
        UNROLLED for (int t = 0; t < tiles; t++)
        {
            vec scale[VECTORS], excess[VECTORS][SIX_PLACES], weights[VECTORS];
            UNROLLED for (int v = 0; v < VECTORS; v++)
            {
                const int s = t * VECTORS + v;
                scale[v] = V_MULTIPLY_ADD(d[s], V_SIGNED(AT(194 * TILE + g * TILE + first, 1)), V_ZERO());
                six_excess(scale[v], 32, excess[v]);
            }
            UNROLLED for (int i = 0; i < 16; i++)
            {
                UNROLLED for (int v = 0; v < VECTORS; v++)
                {
                    const int s = t * VECTORS + v;
                    weights[v] = six_scaled(AT(at + 4 * first, 4), 4 * TILE, i, scale[v], excess[v], 32,
                                            false, w->apart);
                }
                use(w, rows, t * VECTORS, VECTORS, k + i, weights);
            }
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

/* Columns that do not fill a block: the block has been widened into memory, all rows of a tile side by side. */
INLINE void add_rest(work *w, const int rows, const int tiles, const float *panel, int64_t k, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        vec weights[MOST_LANES];
        UNROLLED for (int s = 0; s < tiles * VECTORS; s++) weights[s] =
            V_LOAD(panel + (i * tiles + s / VECTORS) * TILE + s % VECTORS * WIDTH);
        use(w, rows, 0, tiles * VECTORS, k + i, weights);
    }
}

#define STEP(name, rows, tiles)                                           \
    {                                                                     \
        block_##name(&w, rows, tiles, first, k);                          \
        UNROLLED for (int t = 0; t < tiles; t++) w.at[t] += BYTES_##name; \
    }

#define UNPACK(name)                                                                                      \
    static void unpack_##name(const uint8_t *tile, int64_t from, int64_t n, float *to, int64_t stride)    \
    {                                                                                                     \
        for (int first = 0; first < TILE; first += PART) {                                                \
            work w = {                                                                                    \
                .at = {tile + from / COLUMNS_##name * BYTES_##name}, .to = to + first, .stride = stride}; \
            w.ahead = tern__stream_begin(w.at[0] + UNPACK_AHEAD, 1, 0);                                   \
            for (int64_t k = 0; k < n; k += COLUMNS_##name)                                               \
                STEP(name, 0, 1)                                                                          \
        }                                                                                                 \
    }

#define MULTIPLY(name, N, TILES, HOW, APART)                                                                 \
    static void name##_##N##_##TILES##HOW(const tern__linear_call *call)                                     \
    {                                                                                                        \
        const int tiles = TILES;                                                                             \
        for (int first = 0; first < TILE; first += PART) {                                                   \
            work w = {.x = call->x, .x_row = call->x_row, .apart = APART};                                   \
            UNROLLED for (int t = 0; t < TILES; t++) w.at[t] = call->tiles + t * call->tile_step;            \
            UNROLLED for (int i = 0; i < N; i++) UNROLLED for (int s = 0; s < tiles * VECTORS; s++)          \
                w.sums[i][s] = V_ZERO();                                                                     \
            w.ahead = call->ahead;                                                                           \
            int64_t k = 0;                                                                                   \
            for (; k + COLUMNS_##name <= call->k; k += COLUMNS_##name)                                       \
                STEP(name, N, TILES)                                                                         \
            if (COLUMNS_##name > 1 && k < call->k) {                                                         \
                float panel[COLUMNS_##name * TILE * TILES];                                                  \
                for (int t = 0; t < TILES; t++)                                                              \
                    unpack_##name(w.at[t], 0, call->k - k, panel + t * TILE, TILE * TILES);                  \
                add_rest(&w, N, TILES, panel + first, k, call->k - k);                                       \
            }                                                                                                \
            UNROLLED for (int i = 0; i < N; i++) UNROLLED for (int s = 0; s < tiles * VECTORS; s++) V_STORE( \
                call->y + i * call->y_row + s / VECTORS * call->y_step + first + s % VECTORS * WIDTH,        \
                w.sums[i][s]);                                                                               \
        }                                                                                                    \
    }
#define MULTIPLY_ONE_TILE(name, N) MULTIPLY(name, N, 1, , false)
#define ENTRY(name, N) name##_##N##_1,

#if MOST_TILES == 1
#define SEVERAL(name)
#define SEVERAL_OF(name) name##_1_1
#elif HAS_APART
#define SEVERAL(name) MULTIPLY(name, 1, 2, , false) MULTIPLY(name, 1, 2, _apart, true)
#define SEVERAL_OF(name) (call->apart ? name##_1_2_apart : name##_1_2)
_Static_assert(MOST_TILES == 2, "functions are named after it");
#elif MOST_TILES == 2
#define SEVERAL(name) MULTIPLY(name, 1, 2, , false)
#define SEVERAL_OF(name) name##_1_2
#else
#define SEVERAL(name) MULTIPLY(name, 1, 4, , false)
#define SEVERAL_OF(name) name##_1_4
#endif

#define FORM(id, name)                                                                        \
    UNPACK(name)                                                                              \
    EACH_ROWS(MULTIPLY_ONE_TILE, name)                                                        \
    SEVERAL(name)                                                                             \
    static void multiply_##name(const tern__linear_call *call)                                \
    {                                                                                         \
        static void (*const by_rows[])(const tern__linear_call *) = {EACH_ROWS(ENTRY, name)}; \
        if (call->n_tiles == 1)                                                               \
            by_rows[call->rows - 1](call);                                                    \
        else                                                                                  \
            SEVERAL_OF(name)(call);                                                           \
    }

TERN__LINEAR_FORMS(FORM)

#define TILES_ENTRY(id, name) TOGETHER(COLUMNS_##name),
#define MANY_ENTRY(id, name) MANY(COLUMNS_##name),
#define MULTIPLY_ENTRY(id, name) multiply_##name,
#define UNPACK_ENTRY(id, name) unpack_##name,
#define TERN__LINEAR_KERNEL(suffix)                       \
    const tern__linear_kernel tern__linear__##suffix = {  \
        .fused = FUSED,                                   \
        .most_rows = MOST_ROWS,                           \
        .most_tiles = {TERN__LINEAR_FORMS(TILES_ENTRY)},  \
        .many = {TERN__LINEAR_FORMS(MANY_ENTRY)},         \
        .multiply = {TERN__LINEAR_FORMS(MULTIPLY_ENTRY)}, \
        .unpack = {TERN__LINEAR_FORMS(UNPACK_ENTRY)},     \
    };

#endif
