/* linear_i8_avx2.c - i8 products on AVX2: bytes become words, and vpmaddwd adds pairs of products to 32 bits, which nothing
 * overflows. A vector of sums has two halves of each of four outputs. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef __m256i ivec, quads;
#define WIDTH 4
#define VECTORS 8
#define MOST_ROWS 1
#define EACH_ROWS(M) M(1)

/* The quad as words, once for each output. */
static inline __attribute__((always_inline)) quads quads_of(const int8_t *x)
{
    int32_t quad;
    memcpy(&quad, x, 4);
    return _mm256_broadcastq_epi64(_mm_cvtepi8_epi16(_mm_cvtsi32_si128(quad)));
}

static inline __attribute__((always_inline)) ivec add_quads(ivec sums, const uint8_t *codes, quads quad)
{
    /* w + 128 with its upper bit turned is w */
    const __m128i w =
        _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)codes), _mm_set1_epi8(-128));
    return _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_cvtepi8_epi16(w), quad));
}

static inline __attribute__((always_inline)) void put(int32_t *y, ivec sums, bool add)
{
    const __m128i low = _mm256_castsi256_si128(sums), high = _mm256_extracti128_si256(sums, 1);
    const __m128i four = _mm_hadd_epi32(low, high);
    __m128i *to = (__m128i *)(void *)y;
    _mm_storeu_si128(to, add ? _mm_add_epi32(_mm_loadu_si128(to), four) : four);
}

#define I_ZERO() _mm256_setzero_si256()
#define ADD_QUADS(s, p, q) add_quads(s, p, q)
#include "kernels/linear/bytes_impl.h"

TERN__LINEAR_I8_KERNEL(avx2)
