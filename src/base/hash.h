/* hash.h - 64-bit hashing (xxh3, header-only use of libxxhash). */
#ifndef TERN_BASE_HASH_H
#define TERN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t tern__hash(const void *data, size_t bytes, uint64_t seed);

/* For tables whose keys somebody else chose: names, tokens and texts from files. The seed is drawn at random once in a process, so
 * that nobody can prepare keys that share a slot, whose table would take time as the square of their number. Only to find things
 * by: what is written, or done in order, must not depend on it. Any thread may call. */
uint64_t tern__hash_foreign(const void *data, size_t bytes);

/* Folds one word into a running hash. */
static inline uint64_t tern__hash_mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdu;
    return h ^ (h >> 33);
}

#endif
