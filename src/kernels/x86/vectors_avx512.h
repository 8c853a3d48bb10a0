/* vectors_avx512.h - the operations of row/vector.h that AVX-512 (F, BW, DQ, VL) does better than plain C. Included before
 * whatever is written with them: the instructions of row programs, attention. */
#ifndef TERN_KERNELS_X86_VECTORS_AVX512_H
#define TERN_KERNELS_X86_VECTORS_AVX512_H

#include <immintrin.h>

/* Without optimisation GCC has macros for some of the intrinsics, and their masks convert signs. */
#if defined(__GNUC__) && !defined(__OPTIMIZE__)
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

#define TERN__LANES 16
#include "kernels/row/lanes.h"

/* Compilers see to it where functions return, but not behind calls that pass vectors. */
#define v_leave v_leave
static inline void v_leave(void)
{
    _mm256_zeroupper();
}

#define vm vm
typedef __mmask16 vm;

#define COMPARE(name, predicate)                    \
    static inline vm name(vf a, vf b)               \
    {                                               \
        return _mm512_cmp_ps_mask(a, b, predicate); \
    }
/* clang-format off */
COMPARE(v_lt, _CMP_LT_OQ) COMPARE(v_le, _CMP_LE_OQ) COMPARE(v_gt, _CMP_GT_OQ) COMPARE(v_ge, _CMP_GE_OQ)
COMPARE(v_eq, _CMP_EQ_OQ) COMPARE(v_ne, _CMP_NEQ_UQ)
    /* clang-format on */

    static inline vm v_isnan(vf a)
{
    return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}

static inline vm v_odd(vu a)
{
    return _mm512_test_epi32_mask((__m512i)a, _mm512_set1_epi32(1));
}

static inline vm m_or(vm a, vm b)
{
    return (vm)(a | b);
}

static inline vm m_and(vm a, vm b)
{
    return (vm)(a & b);
}

static inline int m_all(vm m)
{
    return m == 0xffff;
}

static inline int m_any(vm m)
{
    return m != 0;
}

static inline vm v_unordered(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
}

static inline vf v_select(vm m, vf a, vf b)
{
    return _mm512_mask_blend_ps(m, b, a);
}

static inline vf v_where(vm m, vf a)
{
    return _mm512_maskz_mov_ps(m, a);
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

#define v_sqrt v_sqrt
static inline vf v_sqrt(vf a)
{
    return _mm512_sqrt_ps(a);
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

/* By the kind of number, from the lowest digit on: quiet NaN, signalling NaN, 0, 1, -inf, inf, negative,
 * positive; 1 keeps it, 2 makes it quiet, 3 is NaN, 7 is -0. */
#define v_positive v_positive
static inline vf v_positive(vf a)
{
    return _mm512_fixupimm_ps(a, a, _mm512_set1_epi32(0x17131121), 0);
}

#define v_round v_round
static inline vf v_round(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vf v_floor(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static inline vf v_ceil(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

static inline vf v_trunc(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

/* Out of range the instruction gives INT32_MIN, which is right below and wrong above. */
#define v_to_i32 v_to_i32
static inline vi v_to_i32(vf a)
{
    __m512i whole = _mm512_maskz_cvttps_epi32(_mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a);
    vm above = _mm512_cmp_ps_mask(a, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
    return (vi)_mm512_mask_mov_epi32(whole, above, _mm512_set1_epi32(INT32_MAX));
}

#define v_whole v_whole
static inline vi v_whole(vf a)
{
    return (vi)_mm512_cvttps_epi32(a);
}

#define v_widen v_widen
static inline vd2 v_widen(vf a)
{
    return (vd2){_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1))};
}

static inline vf v_narrow(vd2 a)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a.lo)), _mm512_cvtpd_ps(a.hi), 1);
}

/* From memory a conversion needs no shuffle. */
#define v_widen_load v_widen_load
static inline vd2 v_widen_load(const float *p)
{
    return (vd2){_mm512_cvtps_pd(_mm256_loadu_ps(p)), _mm512_cvtps_pd(_mm256_loadu_ps(p + 8))};
}

/* The first n lanes. */
static inline __mmask16 part(int64_t n)
{
    return (__mmask16)((1u << n) - 1);
}

#define v_load_part v_load_part
static inline vf v_load_part(const float *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(part(n), p);
}

static inline void v_store_part(float *p, vf a, int64_t n)
{
    _mm512_mask_storeu_ps(p, part(n), a);
}

#define v_stream v_stream
static inline void v_stream(float *p, vf a)
{
    _mm512_stream_ps(p, a);
}

#define v_load_u16 v_load_u16
static inline vu v_load_u16(const uint16_t *p)
{
    return (vu)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline void v_store_u16(uint16_t *p, vu a)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16((__m512i)a));
}

#define v_load_i8 v_load_i8
static inline vi v_load_i8(const int8_t *p)
{
    return (vi)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline vi v_load_u8(const uint8_t *p)
{
    return (vi)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline void v_store_u8(uint8_t *p, vi a)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)a));
}

#define v_stream_u8 v_stream_u8
static inline void v_stream_u16(uint16_t *p, vu a)
{
    _mm256_stream_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16((__m512i)a));
}

static inline void v_stream_u8(uint8_t *p, vi a)
{
    _mm_stream_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)a));
}

#define v_load_f16 v_load_f16
#define v_f16_bits
static inline vf v_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline void v_store_f16(uint16_t *p, vf a)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

static inline void v_stream_f16(uint16_t *p, vf a)
{
    _mm256_stream_si256((__m256i *)(void *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

static inline vf v_round_f16(vf a)
{
    return _mm512_cvtph_ps(_mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

#define v_lookup v_lookup
static inline vf v_lookup(const float table[16], vu index)
{
    return _mm512_permutexvar_ps((__m512i)index, _mm512_loadu_ps(table));
}

#endif
