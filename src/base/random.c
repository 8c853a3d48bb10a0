/* random.c - Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC11)
 * and the two distributions built on it.
 *
 * Key = the seed (low word first), counter = (low, high, 0, 0). One block of four words serves two samples:
 * sample i takes words 0-1 (i even) or 2-3 (i odd) of block i / 2. The normal samples 2k and 2k+1 are the
 * cosine and the sine of one Box-Muller pair from block k. */
#include "base/random.h"

#include <math.h>
#include <stdbool.h>

/* One round on many blocks at once: plain loops, which compilers turn into vectors. */
enum { BLOCKS = 32 };
typedef struct blocks {
    uint32_t c[4][BLOCKS];
} blocks;

static inline void all_rounds(const uint32_t key[2], blocks *b, int n)
{
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < n; i++) {
            const uint64_t product0 = (uint64_t)0xd2511f53u * b->c[0][i];
            const uint64_t product1 = (uint64_t)0xcd9e8d57u * b->c[2][i];
            b->c[0][i] = (uint32_t)(product1 >> 32) ^ b->c[1][i] ^ k0;
            b->c[1][i] = (uint32_t)product1;
            b->c[2][i] = (uint32_t)(product0 >> 32) ^ b->c[3][i] ^ k1;
            b->c[3][i] = (uint32_t)product0;
        }
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

void tern__philox_words(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    blocks b;
    for (int k = 0; k < 4; k++)
        b.c[k][0] = counter[k];
    all_rounds(key, &b, 1);
    for (int k = 0; k < 4; k++)
        out[k] = b.c[k][0];
}

void tern__philox(uint64_t seed, uint64_t counter, uint32_t out[4])
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t words[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    tern__philox_words(key, words, out);
}

/* The upper 53 of 64 bits. (Numbers below 2^53 go to f64 by way of i64, which takes one instruction.) */
static inline uint64_t bits53(uint32_t low, uint32_t high)
{
    return (((uint64_t)high << 32) | low) >> 11;
}

/* Block `counter` and those behind it: one, or as many as there is room for. */
static void fill_blocks(uint64_t seed, uint64_t counter, bool one, blocks *b)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int i = 0; i < (one ? 1 : BLOCKS); i++) {
        b->c[0][i] = (uint32_t)(counter + (uint64_t)i);
        b->c[1][i] = (uint32_t)((counter + (uint64_t)i) >> 32);
        b->c[2][i] = b->c[3][i] = 0;
    }
    if (one)
        all_rounds(key, b, 1);
    else
        all_rounds(key, b, BLOCKS); /* a constant: this loop is a vector's */
}

/* The two samples of a block. */
static inline void uniform_pair(const blocks *b, int i, double pair[2])
{
    pair[0] = (double)(int64_t)bits53(b->c[0][i], b->c[1][i]) * 0x1p-53;
    pair[1] = (double)(int64_t)bits53(b->c[2][i], b->c[3][i]) * 0x1p-53;
}

static inline void normal_pair(const blocks *b, int i, double pair[2])
{
    const double u =
        (double)(int64_t)(bits53(b->c[0][i], b->c[1][i]) + 1) * 0x1p-53; /* (0, 1]: its logarithm is finite */
    const double angle = (double)(int64_t)bits53(b->c[2][i], b->c[3][i]) * (0x1p-53 * 6.283185307179586);
    const double radius = sqrt(-2.0 * log(u));
    pair[0] = radius * cos(angle);
    pair[1] = radius * sin(angle);
}

/* Samples `first` to first + n - 1, which may begin and end inside a pair. */
#define SAMPLES(name, pair_of)                                                  \
    void name(uint64_t seed, uint64_t first, int64_t n, double *out)            \
    {                                                                           \
        blocks b;                                                               \
        double pair[2];                                                         \
        for (int64_t done = 0; done < n;) {                                     \
            const uint64_t at = first + (uint64_t)done, skip = at & 1;          \
            const int64_t left = n - done + (int64_t)skip;                      \
            const int count = left < 2 * BLOCKS ? (int)(left + 1) / 2 : BLOCKS; \
            fill_blocks(seed, at / 2, count == 1, &b);                          \
            for (int i = 0; i < count; i++) {                                   \
                pair_of(&b, i, pair);                                           \
                if (i > 0 || !skip)                                             \
                    out[done++] = pair[0];                                      \
                if (done < n)                                                   \
                    out[done++] = pair[1];                                      \
            }                                                                   \
        }                                                                       \
    }
SAMPLES(tern__random_uniforms, uniform_pair)
SAMPLES(tern__random_normals, normal_pair)

double tern__random_uniform(uint64_t seed, uint64_t i)
{
    double x;
    tern__random_uniforms(seed, i, 1, &x);
    return x;
}

double tern__random_normal(uint64_t seed, uint64_t i)
{
    double x;
    tern__random_normals(seed, i, 1, &x);
    return x;
}
