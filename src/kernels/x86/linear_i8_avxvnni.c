/* linear_i8_avxvnni.c - i8 products on AVX-VNNI: dot products of four bytes, unsigned ones with signed ones. Weights are w + 128,
 * so that 128 times the sum of the quad has to be taken off. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef __m256i ivec;
typedef struct quads {
    __m256i x, excess;
} quads;
#define WIDTH 8
#define VECTORS 4
#define MOST_ROWS 2
#define EACH_ROWS(M) M(1) M(2)

static inline __attribute__((always_inline)) quads quads_of(const int8_t *x)
{
    int32_t quad;
    memcpy(&quad, x, 4);
    const __m256i all = _mm256_set1_epi32(quad);
    return (quads){all, _mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(-128), all)};
}

static inline __attribute__((always_inline)) ivec add_quads(ivec sums, const uint8_t *codes, quads quad)
{
    const __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)codes);
    return _mm256_sub_epi32(_mm256_dpbusd_avx_epi32(sums, w, quad.x), quad.excess);
}

static inline __attribute__((always_inline)) void put(int32_t *y, ivec sums, bool add)
{
    __m256i *to = (__m256i *)(void *)y;
    _mm256_storeu_si256(to, add ? _mm256_add_epi32(_mm256_loadu_si256(to), sums) : sums);
}

#define I_ZERO() _mm256_setzero_si256()
#define ADD_QUADS(s, p, q) add_quads(s, p, q)
#include "kernels/linear/bytes_impl.h"

TERN__LINEAR_I8_KERNEL(avxvnni)
