/* ternary_t2_amx.c - form 4 on AMX: one instruction unpacks 64 weights. Few rows of x are multiplied by AVX-512 VNNI.
 *
 * A code 0, 1, 2 in bits lo and hi of a byte is the weight -1, 0, +1: its bit 0 is not lo, and every other bit of it is not (lo xor
 * hi), since code 3 does not occur. That is one affine map of the byte's bits, vgf2p8affineqb with a constant of all ones. */
#define PLANES 4
#include <immintrin.h>
#include <stdint.h>

/* Rows of the map: the one of bit 0 is the most significant byte. */
#define MAP(lo) (int64_t)(0x0103030303030303u << (lo))

static inline __m512i decode(__m512i packed, int plane)
{
    return _mm512_gf2p8affine_epi64_epi8(packed, _mm512_set1_epi64(MAP(2 * plane)), 0xff);
}

static const int places[PLANES] = {1, 4, 16, 64};

#include "kernels/x86/ternary_amx.h"

static void direct(const tern__ternary_call *call)
{
    tern__ternary_t2__avx512vnni.direct(call);
}

const tern__ternary_kernel tern__ternary_t2__amx = {
    .form = TERN__TERNARY_4,
    .direct_limit = 5,
    .direct_batch = 5,
    .direct_quads = 16384,
    .direct = direct,
    .whole = whole,
    .sum_rows = sum_rows,
    .add_scaled = add_scaled,
};
