/* probes.c - the ways to read and to copy as data, and which set of probes runs here. */
#include "measure/probes.h"

const tern__read_way tern__read_ways[] = {
#define WAY(streams, lines, ahead, block) {streams, lines, ahead, block},
    TERN__READ_LIST(WAY)
#undef WAY
};

const tern__copy_way tern__copy_ways[] = {
#define WAY(places, streams, past, ahead) {places, streams, past, ahead},
    TERN__COPY_LIST(WAY)
#undef WAY
};

const tern__probes *tern__probes_select(uint32_t isa_mask)
{
    static const tern__probes *const by_isa[TERN__ISA_COUNT] = {
        [TERN__ISA_BASELINE] = &tern__probes__baseline,
#if defined(__x86_64__)
        [TERN__ISA_SSE42] = &tern__probes__sse42,
        [TERN__ISA_AVX2] = &tern__probes__avx2,
        [TERN__ISA_AVX512] = &tern__probes__avx512,
        [TERN__ISA_AVX512VNNI] = &tern__probes__avx512vnni,
#if defined(TERN__AMX)
        [TERN__ISA_AMX] = &tern__probes__amx,
#endif
#elif defined(__aarch64__)
        [TERN__ISA_NEON] = &tern__probes__neon,
        [TERN__ISA_NEONDOT] = &tern__probes__neondot,
#endif
    };
    const tern__probes *best = &tern__probes__baseline;
    isa_mask = tern__isa_permitted(isa_mask & tern__cpu()->isa_mask);
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++)
        if (isa_mask >> isa & 1 && by_isa[isa])
            best = by_isa[isa];
#if defined(__x86_64__)
    /* A feature that AVX2 does not promise: its kernels would pass the peak of a machine without it. */
    if (best == &tern__probes__avx2 && isa_mask & TERN__ISA_FEATURE_BIT(TERN__FEATURE_AVXVNNI))
        best = &tern__probes__avxvnni;
#endif
    return best;
}
