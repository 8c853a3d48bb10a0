/* random.c - Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC11)
 * and the two distributions built on it.
 *
 * Key = the seed (low word first), counter = (low, high, 0, 0). One block of four words serves two samples:
 * sample i takes words 0-1 (i even) or 2-3 (i odd) of block i / 2. The normal samples 2k and 2k+1 are the
 * cosine and the sine of one Box-Muller pair from block k. */
#include "base/random.h"

#include <math.h>

static inline uint32_t multiply(uint32_t a, uint32_t b, uint32_t *high)
{
    uint64_t product = (uint64_t)a * b;
    *high = (uint32_t)(product >> 32);
    return (uint32_t)product;
}

void tern__philox_words(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint32_t high0, high1;
        uint32_t low0 = multiply(0xd2511f53u, c0, &high0);
        uint32_t low1 = multiply(0xcd9e8d57u, c2, &high1);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void tern__philox(uint64_t seed, uint64_t counter, uint32_t out[4])
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t words[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    tern__philox_words(key, words, out);
}

/* The upper 53 of 64 bits. */
static inline uint64_t bits53(uint32_t low, uint32_t high)
{
    return (((uint64_t)high << 32) | low) >> 11;
}

double tern__random_uniform(uint64_t seed, uint64_t i)
{
    uint32_t word[4];
    tern__philox(seed, i / 2, word);
    uint64_t bits = (i & 1) == 0 ? bits53(word[0], word[1]) : bits53(word[2], word[3]);
    return (double)bits * 0x1p-53;
}

double tern__random_normal(uint64_t seed, uint64_t i)
{
    uint32_t word[4];
    tern__philox(seed, i / 2, word);
    double u = (double)(bits53(word[0], word[1]) + 1) * 0x1p-53; /* (0, 1]: its logarithm is finite */
    double angle = (double)bits53(word[2], word[3]) * (0x1p-53 * 6.283185307179586);
    double radius = sqrt(-2.0 * log(u));
    return radius * ((i & 1) == 0 ? cos(angle) : sin(angle));
}
