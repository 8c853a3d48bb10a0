/* ternary_dot512.h - ternary kernels on 512-bit dot products (vpdpbusd), whatever the weights' decoding.
 *
 * vpdpbusd adds four products u8 * i8 to each i32 lane and never saturates, so a plane need not be a clean code
 * 0..2: any numbers that are linear in the codes do, as long as they can be told apart once per sum. A file
 * defines PLANES (4 or 5), includes this header, defines
 *
 *     decode(packed)   64 packed bytes -> PLANES vectors of u8
 *     settle(sums)     PLANES vectors of i32 sums of those -> sums of codes
 *
 * and writes TERN__DOT512_KERNEL once. Batches are constants there, so that the sums live in registers:
 * batch * PLANES of them, at most 25, beside the planes and one broadcast quad of x. Structs, because gcc
 * keeps their members in registers where it would spill an array. */
#ifndef TERN_KERNELS_X86_TERNARY_DOT512_H
#define TERN_KERNELS_X86_TERNARY_DOT512_H

#include <immintrin.h>
#include <string.h>

#include "kernels/ternary/kernels.h"

#define INLINE static inline __attribute__((always_inline))

/* One vector per plane; e is unused if there are four. */
typedef struct planes {
    __m512i a, b, c, d, e;
} planes;

INLINE __m512i broadcast_quad(const int8_t *x)
{
    int32_t quad;
    memcpy(&quad, x, 4);
    return _mm512_set1_epi32(quad);
}

/* As an instruction, not an intrinsic: gcc 12 gives the intrinsic's operands other vector types than __m512i, and
 * copies and spills sums that would all fit the registers (0.45 instead of 0.9 of the peak). */
INLINE __m512i add_products(__m512i sums, __m512i w, __m512i quad)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(w), "v"(quad));
    return sums;
}

INLINE planes dot(planes sums, planes w, const int8_t *x)
{
    const __m512i quad = broadcast_quad(x);
    sums.a = add_products(sums.a, w.a, quad);
    sums.b = add_products(sums.b, w.b, quad);
    sums.c = add_products(sums.c, w.c, quad);
    sums.d = add_products(sums.d, w.d, quad);
    if (PLANES == 5)
        sums.e = add_products(sums.e, w.e, quad);
    return sums;
}

INLINE planes plus(planes x, planes y)
{
    return (planes){_mm512_add_epi32(x.a, y.a), _mm512_add_epi32(x.b, y.b), _mm512_add_epi32(x.c, y.c),
                    _mm512_add_epi32(x.d, y.d), _mm512_add_epi32(x.e, y.e)};
}

INLINE planes planes_load(const void *from)
{
    const __m512i *p = from;
    return (planes){_mm512_loadu_si512(p), _mm512_loadu_si512(p + 1), _mm512_loadu_si512(p + 2),
                    _mm512_loadu_si512(p + 3),
                    PLANES == 5 ? _mm512_loadu_si512(p + 4) : _mm512_setzero_si512()};
}

INLINE void planes_store(void *to, planes x)
{
    __m512i *p = to;
    _mm512_storeu_si512(p, x.a);
    _mm512_storeu_si512(p + 1, x.b);
    _mm512_storeu_si512(p + 2, x.c);
    _mm512_storeu_si512(p + 3, x.d);
    if (PLANES == 5)
        _mm512_storeu_si512(p + 4, x.e);
}

/* Row i of y = codes - sum(x), or += codes. */
INLINE void put(const tern__ternary_call *call, int i, planes codes)
{
    int32_t *y = call->y + i * call->y_stride;
    if (call->add) {
        planes_store(y, plus(planes_load(y), codes));
    } else {
        __m512i start =
            _mm512_sub_epi32(_mm512_setzero_si512(), broadcast_quad(call->sums + i * call->x_stride));
        planes_store(y, plus((planes){start, start, start, start, start}, codes));
    }
}

#define TIMES_2(M) M(0) M(1)
#define TIMES_3(M) TIMES_2(M) M(2)
#define TIMES_4(M) TIMES_3(M) M(3)
#define TIMES_5(M) TIMES_4(M) M(4)
#define TIMES_6(M) TIMES_5(M) M(5)
#define SUMS(i) planes sums##i = {0};
#define DOT(i) sums##i = dot(sums##i, w, x + i * call->x_stride);
#define PUT(i) put(call, i, settle(sums##i));

/* Straight from the packed weights. A single row has too few sums to hide the latency of vpdpbusd: odd quads
 * get sums of their own. */
#define DIRECT_1                                                                             \
    static void direct_1(const tern__ternary_call *call)                                     \
    {                                                                                        \
        const int8_t *x = call->x;                                                           \
        const uint8_t *at = call->weights, *ahead = call->ahead;                             \
        planes even = {0}, odd = {0};                                                        \
        for (int64_t q = 0; q + 2 <= call->quads; q += 2, x += 8, at += 128, ahead += 128) { \
            _mm_prefetch((const char *)ahead, _MM_HINT_T0);                                  \
            _mm_prefetch((const char *)ahead + 64, _MM_HINT_T0);                             \
            even = dot(even, decode(_mm512_loadu_si512(at)), x);                             \
            odd = dot(odd, decode(_mm512_loadu_si512(at + 64)), x + 4);                      \
        }                                                                                    \
        if (call->quads % 2 != 0)                                                            \
            even = dot(even, decode(_mm512_loadu_si512(at)), x);                             \
        put(call, 0, settle(plus(even, odd)));                                               \
    }

#define DIRECT(N)                                                                   \
    static void direct_##N(const tern__ternary_call *call)                          \
    {                                                                               \
        const int8_t *x = call->x;                                                  \
        const uint8_t *at = call->weights, *ahead = call->ahead;                    \
        TIMES_##N(SUMS) for (int64_t q = 0; q < call->quads; q++, x += 4, at += 64) \
        {                                                                           \
            _mm_prefetch((const char *)ahead, _MM_HINT_T0);                         \
            ahead += call->ahead_step;                                              \
            const planes w = decode(_mm512_loadu_si512(at));                        \
            TIMES_##N(DOT)                                                          \
        }                                                                           \
        TIMES_##N(PUT)                                                              \
    }

/* From an unpacked panel, while the next one is on its way. */
#define MULTIPLY(N)                                                                          \
    static void multiply_##N(const tern__ternary_call *call)                                 \
    {                                                                                        \
        const int8_t *x = call->x;                                                           \
        const uint8_t *at = call->weights, *ahead = call->ahead;                             \
        TIMES_##N(SUMS) for (int64_t q = 0; q < call->quads; q++, x += 4, at += PLANES * 64) \
        {                                                                                    \
            _mm_prefetch((const char *)ahead, _MM_HINT_T1);                                  \
            ahead += call->ahead_step;                                                       \
            const planes w = planes_load(at);                                                \
            TIMES_##N(DOT)                                                                   \
        }                                                                                    \
        TIMES_##N(PUT)                                                                       \
    }

/* The panel: (quads, planes, 64) bytes. */
#define UNPACK                                                                  \
    static void unpack(const uint8_t *packed, int64_t quads, uint8_t *panel)    \
    {                                                                           \
        for (int64_t q = 0; q < quads; q++, packed += 64, panel += PLANES * 64) \
            planes_store(panel, decode(_mm512_loadu_si512(packed)));            \
    }

#define CALL(name) static void name(const tern__ternary_call *call)

#define TERN__DOT512_KERNEL(kernel_name, form_, vbmi, quads_of_panel)                                      \
    DIRECT_1 DIRECT(2) DIRECT(3) DIRECT(4) MULTIPLY(2) MULTIPLY(3) MULTIPLY(4) MULTIPLY(5)                 \
        MULTIPLY_LAST UNPACK                                                                               \
        CALL(direct)                                                                                       \
    {                                                                                                      \
        static void (*const by_batch[])(const tern__ternary_call *) = {direct_1, direct_2, direct_3,       \
                                                                       direct_4};                          \
        by_batch[call->batch - 1](call);                                                                   \
    }                                                                                                      \
    CALL(multiply)                                                                                         \
    {                                                                                                      \
        static void (*const by_batch[])(const tern__ternary_call *) = {multiply_2, multiply_3, multiply_4, \
                                                                       multiply_5 MULTIPLY_6};             \
        by_batch[call->batch - 2](call);                                                                   \
    }                                                                                                      \
    const tern__ternary_kernel tern__##kernel_name = {                                                     \
        .name = #kernel_name,                                                                              \
        .form = form_,                                                                                     \
        .isa = TERN__ISA_AVX512VNNI,                                                                       \
        .needs_vbmi = vbmi,                                                                                \
        .direct_limit = 8,                                                                                 \
        .direct_batch = 4,                                                                                 \
        .multiply_batch = PLANES == 4 ? 6 : 5,                                                             \
        .panel_quads = quads_of_panel,                                                                     \
        .direct = direct,                                                                                  \
        .unpack = unpack,                                                                                  \
        .multiply = multiply,                                                                              \
    };
#if PLANES == 4
#define MULTIPLY_LAST MULTIPLY(6)
#define MULTIPLY_6 , multiply_6
#else
#define MULTIPLY_LAST
#define MULTIPLY_6
#endif

#endif
