/* linear_i8_avx512vnni.c - i8 products on AVX-512 VNNI: two tiles, four vectors of 16 rows, times up to six rows of x.
 *
 * vpdpbusd adds four products u8 * i8 to each lane and never saturates. Codes are w + 128, so 128 * sum(x) is too much; the
 * first call of a sum takes it off. */
#include <immintrin.h>
#include <string.h>

#include "kernels/linear/linear.h"
#include "kernels/select.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")

enum { TILE = TERN__LINEAR_TILE, QUAD_BYTES = 4 * TILE, AHEAD = 2048, MOST_ROWS = 6, MOST_TILES = 2 };
_Static_assert((int)MOST_ROWS <= (int)TERN__LINEAR_MAX_ROWS, "callers have room for so many");

INLINE __m512i broadcast_quad(const int8_t *x)
{
    int32_t quad;
    memcpy(&quad, x, 4);
    return _mm512_set1_epi32(quad);
}

/* As an instruction: gcc 12 copies and spills sums around the intrinsic. */
INLINE __m512i add_products(__m512i sums, __m512i w, __m512i quad)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(w), "v"(quad));
    return sums;
}

INLINE int32_t *y_of(const tern__linear_i8_call *call, const int i, const int v)
{
    return call->y + i * call->y_row + v / 2 * call->y_step + v % 2 * 16;
}

INLINE void multiply_rows(const tern__linear_i8_call *call, const int rows, const int tiles)
{
    __m512i sums[MOST_ROWS][2 * MOST_TILES];
    const uint8_t *at = call->tiles + call->quad_begin * QUAD_BYTES;
    const int8_t *x = call->x + 4 * call->quad_begin;
    const int64_t x_row = call->x_row, quads = call->quad_end - call->quad_begin, tile = call->tile_step;
    tern__stream ahead = call->ahead;
    const bool streams = ahead.step > 0;
    UNROLLED for (int i = 0; i < rows; i++)
    {
        const __m512i sum = broadcast_quad(call->x + i * x_row + x_row - 4);
        const __m512i start = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(sum, 7));
        UNROLLED for (int v = 0; v < 2 * tiles; v++) sums[i][v] =
            call->quad_begin > 0 ? _mm512_loadu_si512(y_of(call, i, v)) : start;
    }
    for (int64_t q = 0; q < quads; q++, at += QUAD_BYTES, x += 4) {
        __m512i w[2 * MOST_TILES];
        if (streams)
            tern__stream_fetch(&ahead, QUAD_BYTES * tiles);
        UNROLLED for (int v = 0; v < 2 * tiles; v++)
        {
            const uint8_t *from = at + v / 2 * tile + v % 2 * 64;
            if (!streams)
                _mm_prefetch((const char *)from + AHEAD, _MM_HINT_T0);
            w[v] = _mm512_loadu_si512(from);
        }
        UNROLLED for (int i = 0; i < rows; i++)
        {
            const __m512i quad = broadcast_quad(x + i * x_row);
            UNROLLED for (int v = 0; v < 2 * tiles; v++) sums[i][v] = add_products(sums[i][v], w[v], quad);
        }
    }
    UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int v = 0; v < 2 * tiles; v++)
        _mm512_storeu_si512(y_of(call, i, v), sums[i][v]);
}

#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#define ROWS(N)                                           \
    static void one_##N(const tern__linear_i8_call *call) \
    {                                                     \
        multiply_rows(call, N, 1);                        \
    }                                                     \
    static void two_##N(const tern__linear_i8_call *call) \
    {                                                     \
        multiply_rows(call, N, 2);                        \
    }
EACH_ROWS(ROWS)

static void multiply(const tern__linear_i8_call *call)
{
#define ONE(N) one_##N,
#define TWO(N) two_##N,
    static void (*const by_tiles[MOST_TILES][MOST_ROWS])(const tern__linear_i8_call *) = {{EACH_ROWS(ONE)},
                                                                                          {EACH_ROWS(TWO)}};
    by_tiles[call->n_tiles - 1][call->rows - 1](call);
}

const tern__linear_i8_kernel tern__linear_i8__avx512vnni = {
    .most_rows = MOST_ROWS, .most_tiles = MOST_TILES, .multiply = multiply};
