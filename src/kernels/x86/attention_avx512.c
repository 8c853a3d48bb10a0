/* attention_avx512.c - attention on AVX-512: a tile of 4 queries and 4 keys, or of 4 mixes of 64 elements, is 16 registers. */
#include <immintrin.h>

#if defined(__GNUC__) && !defined(__OPTIMIZE__)
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

#define TERN__LANES 16
#include "kernels/row/lanes.h"

#define v_leave v_leave
static inline void v_leave(void)
{
    _mm256_zeroupper();
}

#define v_max v_max
static inline vf v_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}

static inline vf v_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}

#define V_FUSED 1
#define v_fma v_fma
static inline vf v_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline vd d_fma(vd a, vd b, vd c)
{
    return _mm512_fmadd_pd(a, b, c);
}

#define v_scale v_scale
static inline vf v_scale(vf a, vf n)
{
    return _mm512_scalef_ps(a, n);
}

static inline vf v_scale_far(vf a, vf n)
{
    return _mm512_scalef_ps(a, n);
}

#define v_load_f16 v_load_f16
static inline vf v_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

#define v_load_i8 v_load_i8
#define v_stream_u8 /* nothing here stores bytes */
static inline vi v_load_i8(const int8_t *p)
{
    return (vi)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

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
