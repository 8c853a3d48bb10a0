/* attention_avx2.c - attention on AVX2 with FMA and F16C: a tile of 2 queries and 2 keys, two registers for each dot, or of 4
 * mixes of 16 elements, is 8 registers. */
#include <immintrin.h>

#define TERN__LANES 8
#include "kernels/row/lanes.h"

#define v_leave v_leave
static inline void v_leave(void)
{
    _mm256_zeroupper();
}

#define v_max v_max
static inline vf v_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}

static inline vf v_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}

#define V_FUSED 1
#define v_fma v_fma
static inline vf v_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline vd d_fma(vd a, vd b, vd c)
{
    return _mm256_fmadd_pd(a, b, c);
}

#define v_load_f16 v_load_f16
static inline vf v_load_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

#define v_load_i8 v_load_i8
#define v_stream_u8 /* nothing here stores bytes */
static inline vi v_load_i8(const int8_t *p)
{
    return (vi)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

#define SCORE_QUERIES 2
#define SCORE_KEYS 2
#define MIX_VECTORS 2

static inline __attribute__((always_inline)) void reduce_tile(vf sums[4][2], float *to, int64_t row)
{
    __m128 x[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m256 eight = _mm256_add_ps(sums[i][0], sums[i][1]);
        x[i] = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    }
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2)
        x[i] = _mm_add_ps(_mm_movelh_ps(x[i], x[i + 1]), _mm_movehl_ps(x[i + 1], x[i]));
    const __m128 y = _mm_add_ps(_mm_shuffle_ps(x[0], x[2], 0x88), _mm_shuffle_ps(x[0], x[2], 0xdd));
    _mm_storel_pi((__m64 *)(void *)to, y);
    _mm_storeh_pi((__m64 *)(void *)(to + row), y);
}

#include "kernels/attention/attention_impl.h"

TERN__ATTENTION_KERNEL(avx2)
