/* rowops.c - what the tables of row instructions share: choosing one, ending a reduction, and
 * the reduction of large angles. */
#include "kernels/row/rowops.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* ---- the tables, weakest first ---- */

/* Not in kernels.def: its families serve operations that it names, under which they are listed; these serve all that work on rows, by
 * themselves or fused. */

extern const tern__rowop_table tern__rowops_baseline;
#if defined(__x86_64__)
extern const tern__rowop_table tern__rowops_sse42, tern__rowops_avx2, tern__rowops_avx512;
#elif defined(__aarch64__)
extern const tern__rowop_table tern__rowops_neon;
#endif

static const tern__rowop_table *const tables[] = {
    &tern__rowops_baseline,
#if defined(__x86_64__)
    &tern__rowops_sse42,
    &tern__rowops_avx2,
    &tern__rowops_avx512,
#elif defined(__aarch64__)
    &tern__rowops_neon,
#endif
};

const tern__rowop_table *tern__rowop_tables(uint32_t isa_mask)
{
    const tern__rowop_table *best = tables[0];
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        if (isa_mask >> tables[k]->isa & 1)
            best = tables[k];
    return best;
}

void tern__rowop_settle(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* ---- reductions ---- */

/* Pieces of a state, small enough for every processor. */
typedef double two __attribute__((vector_size(16)));
typedef float four __attribute__((vector_size(16)));
typedef int32_t four_masks __attribute__((vector_size(16)));

static bool is_sum(tern__rowop op)
{
    return op == TERN__ROWOP_sum || op == TERN__ROWOP_sum_squares || op == TERN__ROWOP_sum_abs;
}

static double finish_sum(const tern__rowop_state *state)
{
    two s[8];
    memcpy(s, state->lanes, sizeof s);
    for (int k = 0; k < 4; k++)
        s[k] += s[k + 4];
    for (int k = 0; k < 2; k++)
        s[k] += s[k + 2];
    s[0] += s[1];
    return s[0][0] + s[0][1];
}

/* The later one where it is better or NaN. */
static four better_of(bool least, four a, four b)
{
    const four_masks take = (least ? (four_masks)(b < a) : (four_masks)(b > a)) | (four_masks)(b != b);
    return (four)(((four_masks)b & take) | ((four_masks)a & ~take));
}

static double finish_extreme(bool least, const tern__rowop_state *state)
{
    four s[4];
    memcpy(s, state->singles, sizeof s);
    s[0] = better_of(least, s[0], s[2]);
    s[1] = better_of(least, s[1], s[3]);
    s[0] = better_of(least, s[0], s[1]);
    s[0] = better_of(least, s[0], (four){s[0][2], s[0][3], 0, 0});
    s[0] = better_of(least, s[0], (four){s[0][1], 0, 0, 0});
    return (double)s[0][0];
}

double tern__rowop_finish(tern__rowop op, const tern__rowop_state *state)
{
    return is_sum(op) ? finish_sum(state) : finish_extreme(op == TERN__ROWOP_min, state);
}

/* ---- large angles ---- */

/* x = m 2^k, so x 2 / pi modulo 4 needs only those digits of 2 / pi whose product with 2^k is below 4: 96 of
 * them leave an error below 2^-70, and no float is nearer to a multiple of pi / 2 than 2^-30 or so. */
uint32_t tern__rowop_reduce_angle(float x, float *rest)
{
    static const uint32_t two_over_pi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                           0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
    if (!isfinite(x)) {
        *rest = NAN;
        return 0;
    }
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t m = (bits & 0x007fffffu) | 0x00800000u;
    const int k = (int)(bits >> 23) - 150, skip = k > 2 ? k - 2 : 0;
    const uint32_t *word = two_over_pi + skip / 32;
    unsigned __int128 digits =
        (unsigned __int128)((uint64_t)word[0] << 32 | word[1]) << 64 | ((uint64_t)word[2] << 32 | word[3]);
    digits = digits << skip % 32 >> 32;
    /* Quarter turns in the upper 2 bits, their fraction below. */
    const unsigned __int128 turns = (digits * m) << (30 + (k < 2 ? k : 2));
    const uint32_t quarters = (uint32_t)((turns + ((unsigned __int128)1 << 125)) >> 126);
    const int64_t fraction = (int64_t)(uint64_t)((turns - ((unsigned __int128)quarters << 126)) >> 64);
    *rest = (float)((double)fraction * (1.57079632679489661923 * 0x1p-62));
    return quarters;
}
