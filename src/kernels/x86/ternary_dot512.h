/* ternary_dot512.h - ternary kernels on 512-bit dot products (vpdpbusd), whatever the weights' decoding.
 *
 * vpdpbusd adds four products u8 * i8 to each i32 lane and never saturates, so a plane need not be a
 * clean code 0..2: any numbers that are linear in the codes do, as long as they can be told apart once
 * per sum. A file defines PLANES (4 or 5), includes this header, defines
 *
 *     decode(packed)   64 packed bytes -> PLANES vectors of u8
 *     settle(sums)     PLANES vectors of i32 sums of those -> sums of codes
 *
 * and includes ternary_dot512_loops.h. Structs, because gcc keeps their members in registers where it
 * would spill an array. */
#ifndef TERN_KERNELS_X86_TERNARY_DOT512_H
#define TERN_KERNELS_X86_TERNARY_DOT512_H

#include <immintrin.h>
#include <string.h>

#include "kernels/ternary/ternary.h"
#include "kernels/select.h"
#include "kernels/ternary/scaled.h"

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

/* As an instruction, not an intrinsic: gcc 12 gives the intrinsic's operands other vector types than
 * __m512i, and copies and spills sums that would all fit the registers (0.45 instead of 0.9 of the peak). */
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

#endif
