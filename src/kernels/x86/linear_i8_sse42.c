/* linear_i8_sse42.c - i8 products on SSE4.2: bytes become words, and pmaddwd adds pairs of products to 32 bits, which nothing
 * overflows. A vector of sums has two halves of each of two outputs. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef __m128i ivec, quads;
#define WIDTH 2
#define VECTORS 8
#define MOST_ROWS 1
#define EACH_ROWS(M) M(1)

/* The quad as words, once for each output. */
static inline __attribute__((always_inline)) quads quads_of(const int8_t *x)
{
    int32_t quad;
    memcpy(&quad, x, 4);
    const __m128i words = _mm_cvtepi8_epi16(_mm_cvtsi32_si128(quad));
    return _mm_unpacklo_epi64(words, words);
}

static inline __attribute__((always_inline)) ivec add_quads(ivec sums, const uint8_t *codes, quads quad)
{
    /* w + 128 with its upper bit turned is w */
    const __m128i w =
        _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(const void *)codes), _mm_set1_epi8(-128));
    return _mm_add_epi32(sums, _mm_madd_epi16(_mm_cvtepi8_epi16(w), quad));
}

static inline __attribute__((always_inline)) void put(int32_t *y, ivec sums, bool add)
{
    __m128i *to = (__m128i *)(void *)y;
    const __m128i two = _mm_hadd_epi32(sums, sums);
    _mm_storel_epi64(to, add ? _mm_add_epi32(_mm_loadl_epi64(to), two) : two);
}

#define I_ZERO() _mm_setzero_si128()
#define ADD_QUADS(s, p, q) add_quads(s, p, q)
#include "kernels/linear/bytes_impl.h"

TERN__LINEAR_I8_KERNEL(sse42)
