/* random.h - counter-based random numbers (Philox 4x32-10): number i of a seed is a pure function of (seed,
 * i), so any thread may compute any part and the sequence is the same everywhere. */
#ifndef TERN_BASE_RANDOM_H
#define TERN_BASE_RANDOM_H

#include <stdint.h>

/* Block `counter` of the stream `seed`: four independent 32-bit words. */
void tern__philox(uint64_t seed, uint64_t counter, uint32_t out[4]);

/* The bare function of the paper, with its full counter. */
void tern__philox_words(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* Sample i. uniform: f64 in [0, 1) with 53 random bits. normal: f64, mean 0, variance 1 (Box-Muller;
 * through libm's log, sin and cos, so another libm may differ in the last bit). */
double tern__random_uniform(uint64_t seed, uint64_t i);
double tern__random_normal(uint64_t seed, uint64_t i);

/* Samples first .. first + n - 1: the same numbers, in less than half of the time. */
void tern__random_uniforms(uint64_t seed, uint64_t first, int64_t n, double *out);
void tern__random_normals(uint64_t seed, uint64_t first, int64_t n, double *out);

#endif
