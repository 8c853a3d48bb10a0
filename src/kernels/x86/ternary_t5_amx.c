/* ternary_t5_amx.c - form 5 on AMX: two or four instructions unpack 64 weights. Few rows of x are multiplied by AVX-512 VBMI.
 *
 * A packed byte is v = 84*c4 + 28*c3 + 9*c2 + 3*c1 + c0. As ternary_t5_avx512vbmi.c says, v / 4 tells upper = 84*c4 + 28*c3, and
 * v - upper the rest; here every digit but the last, less one, is looked up. */
#define PLANES 5
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* Lookups of v / 4 (upper, c4, c3) and of v - upper (c2, c1). */
/* clang-format off */
#define SAME3(x) x, x, x
#define SAME7(x) x, x, x, x, x, x, x
#define SAME9(x) SAME3(x), SAME3(x), SAME3(x)
#define UPPER(c4) SAME7(84 * c4), SAME7(84 * c4 + 28), SAME7(84 * c4 + 56)
#define DIGIT3 SAME7(-1), SAME7(0), SAME7(1)
#define DIGIT1 SAME3(-1), SAME3(0), SAME3(1)
static const uint8_t upper_of[64] __attribute__((aligned(64))) = {UPPER(0), UPPER(1), UPPER(2)};
static const int8_t w4_of[64] __attribute__((aligned(64))) = {
    SAME7(-1), SAME7(-1), SAME7(-1), SAME7(0), SAME7(0), SAME7(0), SAME7(1), SAME7(1), SAME7(1)};
static const int8_t w3_of[64] __attribute__((aligned(64))) = {DIGIT3, DIGIT3, DIGIT3};
static const int8_t w2_of[64] __attribute__((aligned(64))) = {SAME9(-1), SAME9(0), SAME9(1)};
static const int8_t w1_of[64] __attribute__((aligned(64))) = {DIGIT1, DIGIT1, DIGIT1};
/* clang-format on */

static inline __m512i lookup(const void *table, __m512i index)
{
    return _mm512_permutexvar_epi8(index, _mm512_load_si512(table));
}

static inline __m512i decode(__m512i packed, const int plane)
{
    static const int8_t *const tables[PLANES] = {NULL, w1_of, w2_of, w3_of, w4_of};
    /* The permutes look at 6 bits only, so what the shift drags in from the next byte does not matter. */
    const __m512i quarter = _mm512_srli_epi16(packed, 2);
    if (plane >= 3)
        return lookup(tables[plane], quarter);
    return lookup(tables[plane], _mm512_sub_epi8(packed, lookup(upper_of, quarter)));
}

static const int places[PLANES] = {1, 3, 9, 28, 84};

#include "kernels/x86/ternary_amx.h"

static void direct(const tern__ternary_call *call)
{
    tern__ternary_t5__avx512vbmi.direct(call);
}

const tern__ternary_kernel tern__ternary_t5__amx = {
    .form = TERN__TERNARY_5,
    .preferred = true,
    .direct_limit = 5,
    .direct_batch = 5,
    .direct_quads = 16384,
    .direct = direct,
    .whole = whole,
    .sum_rows = sum_rows,
    .add_scaled = add_scaled,
};
