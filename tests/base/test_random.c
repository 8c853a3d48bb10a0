/* test_random.c - Philox against the known answers of its authors (Random123's kat_vectors), the
 * distributions against their moments; xxh3 against a known answer too. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"
#include "harness.h"

TEST(philox_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        tern__philox_words(known[i].key, known[i].counter, out);
        for (int word = 0; word < 4; word++)
            CHECK_EQ(out[word], known[i].answer[word]);
    }
}

TEST(seed_and_counter_fill_the_words_in_order)
{
    const uint32_t key[2] = {0x89abcdef, 0x01234567}, counter[4] = {0x76543210, 0xfedcba98, 0, 0};
    uint32_t want[4], got[4];
    tern__philox_words(key, counter, want);
    tern__philox(0x0123456789abcdefu, 0xfedcba9876543210u, got);
    CHECK_EQ(memcmp(want, got, sizeof want), 0);
}

/* Which words make which sample. A change here changes what every seeded program computes. */
TEST(samples_come_from_fixed_words)
{
    uint32_t word[4];
    tern__philox(42, 0, word);
    uint64_t first = ((uint64_t)word[1] << 32 | word[0]) >> 11,
             second = ((uint64_t)word[3] << 32 | word[2]) >> 11;
    CHECK(tern__random_uniform(42, 0) == (double)first / 9007199254740992.0);
    CHECK(tern__random_uniform(42, 1) == (double)second / 9007199254740992.0);
    double radius = sqrt(-2 * log((double)(first + 1) / 9007199254740992.0));
    double angle = 2 * 3.14159265358979323846 * (double)second / 9007199254740992.0;
    CHECK_NEAR(tern__random_normal(42, 0), radius * cos(angle), 1e-14);
    CHECK_NEAR(tern__random_normal(42, 1), radius * sin(angle), 1e-14);
}

/* However a run is cut, it has the samples that are made one by one. */
TEST(runs_are_the_single_samples)
{
    double run[200];
    for (uint64_t first = 0; first < 5; first++)
        for (int n = 0; n <= 150; n += n < 6 ? 1 : 47) {
            const uint64_t at = first + 0xfffffffeu; /* across the counter's lower word */
            run[n] = -1;
            tern__random_uniforms(7, at, n, run);
            for (int i = 0; i < n; i++)
                CHECK(run[i] == tern__random_uniform(7, at + (uint64_t)i));
            tern__random_normals(7, at, n, run);
            for (int i = 0; i < n; i++)
                CHECK(run[i] == tern__random_normal(7, at + (uint64_t)i));
            CHECK(run[n] == -1); /* nothing behind it */
        }
}

TEST(uniform_has_the_right_moments)
{
    enum { N = 200000 };
    uint64_t seed = harness_seed();
    double sum = 0, squares = 0, neighbours = 0, before = 0.5, low = 1, high = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = tern__random_uniform(seed, i);
        CHECK(u >= 0 && u < 1);
        low = u < low ? u : low;
        high = u > high ? u : high;
        sum += u - 0.5;
        squares += (u - 0.5) * (u - 0.5);
        neighbours += (u - 0.5) * (before - 0.5);
        before = u;
    }
    /* Bounds of six standard deviations. */
    CHECK_NEAR(sum / N, 0, 6 * sqrt(1.0 / 12 / N));
    CHECK_NEAR(squares / N, 1.0 / 12, 6 * sqrt(1.0 / 180 / N));
    CHECK_NEAR(neighbours / N, 0, 6 * (1.0 / 12) / sqrt(N));
    CHECK(low < 1e-4 && high > 1 - 1e-4);
}

TEST(normal_has_the_right_moments)
{
    enum { N = 200000 };
    uint64_t seed = harness_seed();
    double sum = 0, squares = 0, cubes = 0, fourths = 0, pairs = 0, before = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = tern__random_normal(seed, i);
        CHECK(isfinite(x));
        sum += x;
        squares += x * x;
        cubes += x * x * x;
        fourths += x * x * x * x;
        pairs += x * before;
        before = x;
    }
    CHECK_NEAR(sum / N, 0, 6 * sqrt(1.0 / N));
    CHECK_NEAR(squares / N, 1, 6 * sqrt(2.0 / N));
    CHECK_NEAR(cubes / N, 0, 6 * sqrt(15.0 / N));
    CHECK_NEAR(fourths / N, 3, 6 * sqrt(96.0 / N));
    CHECK_NEAR(pairs / N, 0, 6 * sqrt(1.0 / N));
}

TEST(seeds_and_positions_differ)
{
    CHECK(tern__random_uniform(1, 0) != tern__random_uniform(2, 0));
    CHECK(tern__random_uniform(1, 0) != tern__random_uniform(UINT64_C(1) << 32, 0));
    CHECK(tern__random_uniform(1, 0) != tern__random_uniform(1, 1));
    CHECK(tern__random_uniform(1, 0) != tern__random_uniform(1, UINT64_C(1) << 33));
    CHECK(tern__random_uniform(1, UINT64_MAX) == tern__random_uniform(1, UINT64_MAX));
}

TEST(hash_known_answers)
{
    CHECK(tern__hash("", 0, 0) == 0x2d06800538d394c2u);
    CHECK(tern__hash("tern", 4, 0) != tern__hash("tern", 4, 1));
    CHECK(tern__hash("tern", 4, 0) != tern__hash("terN", 4, 0));
    uint64_t h = tern__hash_mix(0, 1);
    CHECK(h != tern__hash_mix(0, 2) && h != tern__hash_mix(1, 1));
    CHECK(tern__hash_mix(tern__hash_mix(0, 1), 2) != tern__hash_mix(tern__hash_mix(0, 2), 1));
}
