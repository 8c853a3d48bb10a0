/* rowops_avx2.c - the instructions of row programs for AVX2 with FMA and F16C. */
#include <immintrin.h>

#define TERN__LANES 8
#include "kernels/row/lanes.h"

/* Compilers see to it where functions return, but not behind calls that pass vectors. */
#define v_leave v_leave
static inline void v_leave(void)
{
    _mm256_zeroupper();
}

#define v_select v_select
static inline vf v_select(vu m, vf a, vf b)
{
    return _mm256_blendv_ps(b, a, (__m256)m);
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

#define m_all m_all
static inline int m_all(vu m)
{
    return _mm256_movemask_ps((__m256)m) == 255;
}

#define m_any m_any
static inline int m_any(vu m)
{
    return _mm256_movemask_ps((__m256)m) != 0;
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

#define v_sqrt v_sqrt
static inline vf v_sqrt(vf a)
{
    return _mm256_sqrt_ps(a);
}

#define v_round v_round
static inline vf v_round(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vf v_floor(vf a)
{
    return _mm256_floor_ps(a);
}

static inline vf v_ceil(vf a)
{
    return _mm256_ceil_ps(a);
}

static inline vf v_trunc(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

/* Out of range the instruction gives INT32_MIN, which is right below and all bits wrong above. */
#define v_to_i32 v_to_i32
static inline vi v_to_i32(vf a)
{
    vi above = (vi)_mm256_cmp_ps(a, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ),
       number = (vi)_mm256_cmp_ps(a, a, _CMP_ORD_Q);
    return ((vi)_mm256_cvttps_epi32(a) ^ above) & number;
}

#define v_whole v_whole
static inline vi v_whole(vf a)
{
    return (vi)_mm256_cvttps_epi32(a);
}

#define v_widen v_widen
static inline vd2 v_widen(vf a)
{
    return (vd2){_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))};
}

static inline vf v_narrow(vd2 a)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(a.hi), _mm256_cvtpd_ps(a.lo));
}

/* From memory a conversion needs no shuffle. */
#define v_widen_load v_widen_load
static inline vd2 v_widen_load(const float *p)
{
    return (vd2){_mm256_cvtps_pd(_mm_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p + 4))};
}

/* The first n lanes. */
static inline __m256i part(int64_t n)
{
    static const int32_t window[] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(const void *)(window + 8 - n));
}

#define v_load_part v_load_part
static inline vf v_load_part(const float *p, int64_t n)
{
    return _mm256_maskload_ps(p, part(n));
}

static inline void v_store_part(float *p, vf a, int64_t n)
{
    _mm256_maskstore_ps(p, part(n), a);
}

#define v_stream v_stream
static inline void v_stream(float *p, vf a)
{
    _mm256_stream_ps(p, a);
}

#define v_load_u16 v_load_u16
static inline vu v_load_u16(const uint16_t *p)
{
    return (vu)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline __m128i low_16(vu a)
{
    __m256i low = (__m256i)(a & 0xffffu);
    return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}

static inline void v_store_u16(uint16_t *p, vu a)
{
    _mm_storeu_si128((__m128i *)(void *)p, low_16(a));
}

#define v_load_i8 v_load_i8
static inline vi v_load_i8(const int8_t *p)
{
    return (vi)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

static inline vi v_load_u8(const uint8_t *p)
{
    return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

static inline __m128i low_8(vi a)
{
    const __m128i words = low_16((vu)(a & 0xff));
    return _mm_packus_epi16(words, words);
}

static inline void v_store_u8(uint8_t *p, vi a)
{
    _mm_storel_epi64((__m128i *)(void *)p, low_8(a));
}

#define v_stream_u8 v_stream_u8
static inline void v_stream_u16(uint16_t *p, vu a)
{
    _mm_stream_si128((__m128i *)(void *)p, low_16(a));
}

static inline void v_stream_u8(uint8_t *p, vi a)
{
    _mm_stream_si64((long long *)(void *)p, _mm_cvtsi128_si64(low_8(a)));
}

#define v_load_f16 v_load_f16
#define v_f16_bits
static inline vf v_load_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline void v_store_f16(uint16_t *p, vf a)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

static inline void v_stream_f16(uint16_t *p, vf a)
{
    _mm_stream_si128((__m128i *)(void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

static inline vf v_round_f16(vf a)
{
    return _mm256_cvtph_ps(_mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

/* The permutation looks at 3 bits of an index, the blend at what is made the sign. */
#define v_lookup v_lookup
static inline vf v_lookup(const float table[16], vu index)
{
    __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), (__m256i)index);
    __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), (__m256i)index);
    return _mm256_blendv_ps(low, high, (__m256)(index << 28));
}

#define TERN__ROWOPS_TABLE tern__rowops_avx2
#define TERN__ROWOPS_ISA TERN__ISA_AVX2
#include "kernels/row/rowops_impl.h"
