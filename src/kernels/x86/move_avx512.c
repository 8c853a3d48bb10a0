/* move_avx512.c - turning squares of 64 bytes by 64 bytes with AVX-512. Lines of the operand are loaded whole and once, since places
 * a power of two apart push each other out of L1; elements are zipped inside the quarters of four groups of lines, and quarters
 * then change places between the groups, which leaves a whole line of the result in each vector. */
#include <immintrin.h>

#include "kernels/move/move.h"
#include "kernels/select.h"

static inline void put(char *to, __m512i line, bool past)
{
    if (past)
        _mm512_stream_si512((__m512i *)(void *)to, line);
    else
        _mm512_storeu_si512(to, line);
}

/* Quarter q of the four vectors, in their order, to line q of four lines `apart` bytes from one to the next. */
static inline void put_quarters(char *to, int64_t apart, __m512i a, __m512i b, __m512i c, __m512i d,
                                bool past)
{
    const __m512i even0 = _mm512_shuffle_i32x4(a, b, 0x88), odd0 = _mm512_shuffle_i32x4(a, b, 0xdd);
    const __m512i even1 = _mm512_shuffle_i32x4(c, d, 0x88), odd1 = _mm512_shuffle_i32x4(c, d, 0xdd);
    put(to, _mm512_shuffle_i32x4(even0, even1, 0x88), past);
    put(to + apart, _mm512_shuffle_i32x4(odd0, odd1, 0x88), past);
    put(to + 2 * apart, _mm512_shuffle_i32x4(even0, even1, 0xdd), past);
    put(to + 3 * apart, _mm512_shuffle_i32x4(odd0, odd1, 0xdd), past);
}

/* Elements of the upper half of a group's vectors are zipped between those of the lower until all have changed places inside their
 * quarters: log2(N) times. */
#define SQUARE(size, bits)                                                                              \
    static void square##size(char *to, int64_t to_step, const char *from, int64_t from_step, bool past) \
    {                                                                                                   \
        enum { N = 16 / (size) };                                                                       \
        __m512i v[4][N], w[N];                                                                          \
        for (int g = 0; g < 4; g++) {                                                                   \
            for (int i = 0; i < N; i++)                                                                 \
                v[g][i] = _mm512_loadu_si512(from + (g * N + i) * from_step);                           \
            for (int done = 1; done < N; done *= 2) {                                                   \
                for (int i = 0; i < N / 2; i++) {                                                       \
                    w[2 * i] = _mm512_unpacklo_epi##bits(v[g][i], v[g][i + N / 2]);                     \
                    w[2 * i + 1] = _mm512_unpackhi_epi##bits(v[g][i], v[g][i + N / 2]);                 \
                }                                                                                       \
                for (int i = 0; i < N; i++)                                                             \
                    v[g][i] = w[i];                                                                     \
            }                                                                                           \
        }                                                                                               \
        for (int i = 0; i < N; i++)                                                                     \
            put_quarters(to + i * to_step, N * to_step, v[0][i], v[1][i], v[2][i], v[3][i], past);      \
    }
SQUARE(1, 8)
SQUARE(2, 16)
SQUARE(4, 32)
SQUARE(8, 64)

const tern__move_kernel tern__move__avx512 = {square1, square2, square4, square8};
