/* linear_i8_avx2.c - i8 products on AVX2: vpmaddwd adds pairs of products of words to 32 bits, which nothing overflows.
 *
 * A word of two codes becomes two words by a mask and a shift: columns 0 and 2 of a quad, and 1 and 3. Rows of x are brought into
 * the same order once for all 32 rows of a tile, so that a pair of them is a broadcast from memory. Codes are w + 128, so
 * 128 * sum(x) is too much; the first call of a sum takes it off.
 *
 * For several rows of x widened codes stay in registers, 16 rows of a tile at a time: 1 operation for 16 codes and 2 for each
 * of their products. */
#include <immintrin.h>
#include <string.h>

#include "kernels/linear/linear.h"
#include "kernels/select.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")

enum {
    TILE = TERN__LINEAR_TILE,
    QUAD_BYTES = 4 * TILE,
    WIDTH = 8, /* rows of a tile in a vector of sums */
    MOST_ROWS = 4,
    AHEAD = 2048,
    PANEL = 256, /* quads of x that are widened together: 2 KiB a row */
};
_Static_assert((int)MOST_ROWS <= (int)TERN__LINEAR_MAX_ROWS, "callers have room for so many");

/* A panel of x: pairs of words, of columns 0 and 2 and of 1 and 3 of each quad. */
typedef struct pairs {
    _Alignas(32) int32_t even[MOST_ROWS][PANEL], odd[MOST_ROWS][PANEL];
} pairs;

/* Quads of a row of x as pairs. */
INLINE void widen_row(const int8_t *x, int64_t quads, int32_t *even, int32_t *odd)
{
    int64_t q = 0;
    for (; q + WIDTH <= quads; q += WIDTH) {
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(x + 4 * q));
        _mm256_store_si256((__m256i *)(void *)(even + q), _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8));
        _mm256_store_si256((__m256i *)(void *)(odd + q), _mm256_srai_epi16(bytes, 8));
    }
    for (; q < quads; q++) {
        const int8_t *c = x + 4 * q;
        even[q] = (int32_t)((uint16_t)c[0] | (uint32_t)(uint16_t)c[2] << 16);
        odd[q] = (int32_t)((uint16_t)c[1] | (uint32_t)(uint16_t)c[3] << 16);
    }
}

INLINE __m256i broadcast(const int32_t *pair)
{
    return _mm256_set1_epi32(*pair);
}

/* What a row's sums begin with. */
INLINE __m256i less_128_sums(const int8_t *x, int64_t x_row)
{
    int32_t sum;
    memcpy(&sum, x + x_row - 4, 4);
    return _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(_mm256_set1_epi32(sum), 7));
}

/* `vectors` vectors of the rows of a tile from `first` on, the quads of one panel. */
INLINE void multiply_part(const tern__linear_i8_call *call, const pairs *x, const int rows, const int vectors,
                          int first, int64_t begin, int64_t quads, tern__stream *ahead)
{
    const uint8_t *at = call->tiles + begin * QUAD_BYTES + 4 * first;
    const __m256i low = _mm256_set1_epi16(255);
    const bool fetches = first == 0, streams = ahead->step > 0;
    tern__stream next = *ahead;
    __m256i sums[MOST_ROWS][TILE / WIDTH];
    UNROLLED for (int i = 0; i < rows; i++)
    {
        const __m256i start = less_128_sums(call->x + i * call->x_row, call->x_row);
        UNROLLED for (int v = 0; v < vectors; v++) sums[i][v] =
            begin > 0 ? _mm256_loadu_si256(
                            (const __m256i *)(const void *)(call->y + i * call->y_row + first + v * WIDTH))
                      : start;
    }
    for (int64_t q = 0; q < quads; q++, at += QUAD_BYTES) {
        if (fetches && streams) {
            tern__stream_fetch(&next, QUAD_BYTES);
        } else if (fetches) {
            __builtin_prefetch(at + AHEAD);
            __builtin_prefetch(at + AHEAD + 64);
        }
        __m256i even[TILE / WIDTH], odd[TILE / WIDTH];
        UNROLLED for (int v = 0; v < vectors; v++)
        {
            const __m256i codes = _mm256_loadu_si256((const __m256i *)(const void *)(at + 4 * v * WIDTH));
            even[v] = _mm256_and_si256(codes, low);
            odd[v] = _mm256_srli_epi16(codes, 8);
        }
        UNROLLED for (int i = 0; i < rows; i++)
        {
            const __m256i x_even = broadcast(&x->even[i][q]), x_odd = broadcast(&x->odd[i][q]);
            UNROLLED for (int v = 0; v < vectors; v++)
            {
                sums[i][v] = _mm256_add_epi32(sums[i][v], _mm256_madd_epi16(even[v], x_even));
                sums[i][v] = _mm256_add_epi32(sums[i][v], _mm256_madd_epi16(odd[v], x_odd));
            }
        }
    }
    UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int v = 0; v < vectors; v++)
        _mm256_storeu_si256((__m256i *)(void *)(call->y + i * call->y_row + first + v * WIDTH), sums[i][v]);
    if (fetches)
        *ahead = next;
}

/* One row leaves registers for all of a tile, several for half of one. */
INLINE void multiply_rows(const tern__linear_i8_call *call, const int rows)
{
    const int vectors = rows == 1 ? 4 : 2;
    tern__stream ahead = call->ahead;
    pairs x;
    int64_t begin = call->quad_begin;
    do {
        const int64_t left = call->quad_end - begin, quads = left < PANEL ? left : PANEL;
        UNROLLED for (int i = 0; i < rows; i++)
            widen_row(call->x + i * call->x_row + 4 * begin, quads, x.even[i], x.odd[i]);
        for (int first = 0; first < TILE; first += vectors * WIDTH)
            multiply_part(call, &x, rows, vectors, first, begin, quads, &ahead);
        begin += quads;
    } while (begin < call->quad_end);
}

#define EACH_ROWS(M) M(1) M(2) M(3) M(4)
#define ROWS(N)                                            \
    static void rows_##N(const tern__linear_i8_call *call) \
    {                                                      \
        multiply_rows(call, N);                            \
    }
EACH_ROWS(ROWS)

static void multiply(const tern__linear_i8_call *call)
{
#define ENTRY(N) rows_##N,
    static void (*const by_rows[])(const tern__linear_i8_call *) = {EACH_ROWS(ENTRY)};
    by_rows[call->rows - 1](call);
}

const tern__linear_i8_kernel tern__linear_i8__avx2 = {
    .most_rows = MOST_ROWS, .most_tiles = 1, .multiply = multiply};
