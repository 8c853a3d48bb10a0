/* vectors_sse42.h - the operations of row/vector.h that SSE4.2 does better than plain C. Included before whatever is written with
 * them: the instructions of row programs, attention. */
#ifndef TERN_KERNELS_X86_VECTORS_SSE42_H
#define TERN_KERNELS_X86_VECTORS_SSE42_H

#include <smmintrin.h>

#define TERN__LANES 4
#include "kernels/row/lanes.h"

#define v_select v_select
static inline vf v_select(vu m, vf a, vf b)
{
    return _mm_blendv_ps(b, a, (__m128)m);
}

#define v_max v_max
static inline vf v_max(vf a, vf b)
{
    return _mm_max_ps(a, b);
}

static inline vf v_min(vf a, vf b)
{
    return _mm_min_ps(a, b);
}

#define m_all m_all
static inline int m_all(vu m)
{
    return _mm_movemask_ps((__m128)m) == 15;
}

#define m_any m_any
static inline int m_any(vu m)
{
    return _mm_movemask_ps((__m128)m) != 0;
}

#define v_sqrt v_sqrt
static inline vf v_sqrt(vf a)
{
    return _mm_sqrt_ps(a);
}

#define v_round v_round
static inline vf v_round(vf a)
{
    return _mm_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vf v_floor(vf a)
{
    return _mm_floor_ps(a);
}

static inline vf v_ceil(vf a)
{
    return _mm_ceil_ps(a);
}

static inline vf v_trunc(vf a)
{
    return _mm_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

/* Out of range the instruction gives INT32_MIN, which is right below and all bits wrong above. */
#define v_to_i32 v_to_i32
static inline vi v_to_i32(vf a)
{
    vi above = (vi)_mm_cmpge_ps(a, _mm_set1_ps(0x1p31f)), number = (vi)_mm_cmpord_ps(a, a);
    return ((vi)_mm_cvttps_epi32(a) ^ above) & number;
}

#define v_whole v_whole
static inline vi v_whole(vf a)
{
    return (vi)_mm_cvttps_epi32(a);
}

#define v_widen v_widen
static inline vd2 v_widen(vf a)
{
    return (vd2){_mm_cvtps_pd(a), _mm_cvtps_pd(_mm_movehl_ps(a, a))};
}

static inline vf v_narrow(vd2 a)
{
    return _mm_movelh_ps(_mm_cvtpd_ps(a.lo), _mm_cvtpd_ps(a.hi));
}

#define v_stream v_stream
static inline void v_stream(float *p, vf a)
{
    _mm_stream_ps(p, a);
}

#define v_load_u16 v_load_u16
static inline vu v_load_u16(const uint16_t *p)
{
    return (vu)_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

static inline void v_store_u16(uint16_t *p, vu a)
{
    _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi32((__m128i)(a & 0xffffu), (__m128i)a));
}

#define v_load_i8 v_load_i8
static inline vi v_load_i8(const int8_t *p)
{
    int32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    return (vi)_mm_cvtepi8_epi32(_mm_cvtsi32_si128(four));
}

static inline vi v_load_u8(const uint8_t *p)
{
    int32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    return (vi)_mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
}

static inline int32_t low_8(vi a)
{
    const __m128i low = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    return _mm_cvtsi128_si32(_mm_shuffle_epi8((__m128i)a, low));
}

static inline void v_store_u8(uint8_t *p, vi a)
{
    int32_t four = low_8(a);
    __builtin_memcpy(p, &four, sizeof four);
}

#define v_stream_u8 v_stream_u8
static inline void v_stream_u16(uint16_t *p, vu a)
{
    _mm_stream_si64((long long *)(void *)p,
                    _mm_cvtsi128_si64(_mm_packus_epi32((__m128i)(a & 0xffffu), (__m128i)a)));
}

static inline void v_stream_u8(uint8_t *p, vi a)
{
    _mm_stream_si32((int *)(void *)p, low_8(a));
}

#endif
