/* attention_avx512.c - attention on AVX-512: a tile of 4 queries and 4 keys, or of 4 mixes of 64 elements, is 16 registers. */
#include "kernels/x86/vectors_avx512.h"

#define SCORE_QUERIES 4
#define SCORE_KEYS 4
#define MIX_VECTORS 4

#define PS(x) _mm512_castpd_ps(x)
#define PD(x) _mm512_castps_pd(x)

/* Each step adds two halves of every sum and packs the results of two registers into one. */
static inline __attribute__((always_inline)) void reduce_tile(vf sums[16][1], float *to, int64_t row)
{
    __m512 x[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        const __m512 a = sums[i][0], b = sums[i + 8][0];
        x[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xff00, a, b), _mm512_shuffle_f32x4(a, b, 0x4e));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        x[i] = _mm512_add_ps(_mm512_shuffle_f32x4(x[i], x[i + 4], 0x88),
                             _mm512_shuffle_f32x4(x[i], x[i + 4], 0xdd));
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2)
        x[i] = _mm512_add_ps(PS(_mm512_unpacklo_pd(PD(x[i]), PD(x[i + 1]))),
                             PS(_mm512_unpackhi_pd(PD(x[i]), PD(x[i + 1]))));
    const __m512 y = _mm512_add_ps(_mm512_shuffle_ps(x[0], x[2], 0x88), _mm512_shuffle_ps(x[0], x[2], 0xdd));
    /* The quarters are queries 0, 2, 1, 3. */
    _mm_storeu_ps(to, _mm512_castps512_ps128(y));
    _mm_storeu_ps(to + 2 * row, _mm512_extractf32x4_ps(y, 1));
    _mm_storeu_ps(to + row, _mm512_extractf32x4_ps(y, 2));
    _mm_storeu_ps(to + 3 * row, _mm512_extractf32x4_ps(y, 3));
}

#include "kernels/attention/attention_impl.h"

TERN__ATTENTION_KERNEL(avx512)
