/* move_avx512.c - turning squares of 64 bytes by 64 bytes with AVX-512. A quarter of a vector is 16 bytes of one place of the
 * operand; those of four places come together as they are loaded, which takes no shuffles. Zipping inside the quarters then
 * leaves a whole line of the result in each vector, which is stored at once. */
#include <immintrin.h>

#include "kernels/move/move.h"

static inline __m512i load_quarters(const char *from, int64_t apart)
{
    const __m512i first = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)from));
    const __m512i second =
        _mm512_inserti32x4(first, _mm_loadu_si128((const __m128i *)(const void *)(from + apart)), 1);
    const __m512i third =
        _mm512_inserti32x4(second, _mm_loadu_si128((const __m128i *)(const void *)(from + 2 * apart)), 2);
    return _mm512_inserti32x4(third, _mm_loadu_si128((const __m128i *)(const void *)(from + 3 * apart)), 3);
}

/* Elements of the upper half of the vectors are zipped between those of the lower until all have changed places: log2(N) times. */
#define SQUARE(size, bits)                                                                              \
    static void square##size(char *to, int64_t to_step, const char *from, int64_t from_step, bool past) \
    {                                                                                                   \
        enum { N = 16 / (size) };                                                                       \
        for (int part = 0; part < 4; part++, from += 16, to += N * to_step) {                           \
            __m512i v[N], w[N];                                                                         \
            for (int i = 0; i < N; i++)                                                                 \
                v[i] = load_quarters(from + i * from_step, N * from_step);                              \
            for (int done = 1; done < N; done *= 2) {                                                   \
                for (int i = 0; i < N / 2; i++) {                                                       \
                    w[2 * i] = _mm512_unpacklo_epi##bits(v[i], v[i + N / 2]);                           \
                    w[2 * i + 1] = _mm512_unpackhi_epi##bits(v[i], v[i + N / 2]);                       \
                }                                                                                       \
                for (int i = 0; i < N; i++)                                                             \
                    v[i] = w[i];                                                                        \
            }                                                                                           \
            for (int i = 0; i < N; i++) {                                                               \
                if (past)                                                                               \
                    _mm512_stream_si512((__m512i *)(void *)(to + i * to_step), v[i]);                   \
                else                                                                                    \
                    _mm512_storeu_si512(to + i * to_step, v[i]);                                        \
            }                                                                                           \
        }                                                                                               \
    }
/* clang-format off */
SQUARE(1, 8) SQUARE(2, 16) SQUARE(4, 32) SQUARE(8, 64)
    /* clang-format on */

    static tern_status run(tern__kernel_args *args, int64_t begin, int64_t end)
{
    static const tern__move_squares squares = {square1, square2, square4, square8};
    return tern__move_run(args, begin, end, &squares);
}

const tern__kernel tern__move__avx512 = {.name = "move__avx512", .isa = TERN__ISA_AVX512, .run = run};
