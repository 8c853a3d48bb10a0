/* probes_peak.h - registers and counters of x86 for PEAK, and stores past the caches. */
#ifndef TERN_MEASURE_X86_PROBES_PEAK_H
#define TERN_MEASURE_X86_PROBES_PEAK_H

#include <immintrin.h>

#define FENCE() _mm_sfence()
#if defined(__AVX512F__)
#define STORE_PAST(to, value) _mm512_stream_si512((void *)(to), (__m512i)(value))
#elif defined(__AVX__)
#define STORE_PAST(to, value)                                            \
    do {                                                                 \
        const union {                                                    \
            line whole;                                                  \
            __m256i half[2];                                             \
        } parts = {value};                                               \
        _mm256_stream_si256((__m256i *)(void *)(to), parts.half[0]);     \
        _mm256_stream_si256((__m256i *)(void *)(to) + 1, parts.half[1]); \
    } while (0)
#else
#define STORE_PAST(to, value)                                                \
    do {                                                                     \
        const union {                                                        \
            line whole;                                                      \
            __m128i quarter[4];                                              \
        } parts = {value};                                                   \
        for (int q = 0; q < 4; q++)                                          \
            _mm_stream_si128((__m128i *)(void *)(to) + q, parts.quarter[q]); \
    } while (0)
#endif

#include "measure/probes_impl.h"

#define LOW_REGISTERS                                                                                 \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
        "xmm13", "xmm14", "xmm15"
#define HIGH_REGISTERS \
    "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27"
#define X86_PEAK(name, clear, step) PEAK(name, CHAINS_12, clear, step, "dec %0", "jnz 1b", LOW_REGISTERS)
#define X86_PEAK_24(name, clear, step) \
    PEAK(name, CHAINS_24, clear, step, "dec %0", "jnz 1b", LOW_REGISTERS, HIGH_REGISTERS)

#endif
