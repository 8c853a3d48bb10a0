/* f16 and bf16 against a slow reference that knows only the formats: it finds the neighbours by value. */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "tensor/half.h"
#include "tensor/reference.h"

static bool same_f32(float a, float b)
{
    return tern__f32_bits(a) == tern__f32_bits(b);
}

TEST(every_pattern_widens_and_comes_back)
{
    for (uint32_t u = 0; u <= 0xffff; u++) {
        uint16_t h = (uint16_t)u;
        double f16 = reference_value(h, 10), bf16 = reference_value(h, 7);
        if (isnan(f16)) {
            CHECK(isnan(tern__f16_to_f32(h)));
            CHECK_EQ(tern__f32_to_f16(tern__f16_to_f32(h)), h | 0x200); /* quiet; sign and payload kept */
            CHECK_EQ(tern__f64_to_f16((double)tern__f16_to_f32(h)), h | 0x200);
        } else {
            CHECK(same_f32(tern__f16_to_f32(h), (float)f16));
            CHECK_EQ(tern__f32_to_f16((float)f16), h);
            CHECK_EQ(tern__f64_to_f16(f16), h);
        }
        if (isnan(bf16)) {
            CHECK(isnan(tern__bf16_to_f32(h)));
            CHECK_EQ(tern__f32_to_bf16(tern__bf16_to_f32(h)), h | 0x40);
            CHECK_EQ(tern__f64_to_bf16((double)tern__bf16_to_f32(h)), h | 0x40);
        } else {
            CHECK(same_f32(tern__bf16_to_f32(h), (float)bf16));
            CHECK_EQ(tern__f32_to_bf16((float)bf16), h);
            CHECK_EQ(tern__f64_to_bf16(bf16), h);
        }
    }
}

static bool f32_agrees(uint32_t bits)
{
    float f = tern__f32_from_bits(bits);
    if (isnan(f)) {
        /* quiet, sign kept, upper payload bits kept */
        uint16_t f16 = (uint16_t)((bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff));
        uint16_t bf16 = (uint16_t)(bits >> 16 | 0x40);
        return tern__f32_to_f16(f) == f16 && tern__f32_to_bf16(f) == bf16;
    }
    return tern__f32_to_f16(f) == reference_round((double)f, 10) &&
           tern__f32_to_bf16(f) == reference_round((double)f, 7);
}

TEST(f32_at_every_boundary)
{
    /* each 16-bit value, each midpoint, and the f32 neighbours of both, for both formats and signs */
    for (uint32_t h = 0; h < 0x8000; h++) {
        uint32_t f16 = tern__f32_bits(tern__f16_to_f32((uint16_t)h));
        double next = reference_value((uint16_t)(h + 1), 10);
        uint32_t middle = f16;
        if (h < 0x7c00 - 1)
            middle = tern__f32_bits((float)((reference_value((uint16_t)h, 10) + next) / 2));
        uint32_t places[4] = {f16, middle, h << 16, h << 16 | 0x8000};
        for (int i = 0; i < 4; i++) {
            for (uint32_t d = 0; d < 5; d++) {
                uint32_t bits = (places[i] + d - 2) & 0x7fffffff;
                CHECK(f32_agrees(bits));
                CHECK(f32_agrees(bits | 0x80000000u));
            }
        }
    }
    /* where f16 ends: 65519.996, 65520, 65536 */
    CHECK_EQ(tern__f32_to_f16(65519.996f), 0x7bff);
    CHECK_EQ(tern__f32_to_f16(65520.0f), 0x7c00);
    CHECK_EQ(tern__f32_to_f16(-65536.0f), 0xfc00);
    CHECK_EQ(tern__f32_to_f16(INFINITY), 0x7c00);
    CHECK_EQ(tern__f32_to_bf16(3.4028235e38f), 0x7f80);
}

TEST(f32_random_sample)
{
    uint64_t seed = harness_seed();
    for (uint64_t i = 0; i < 100000; i++) {
        uint32_t words[4];
        tern__philox(seed, i, words);
        for (int k = 0; k < 4; k++) {
            CHECK(f32_agrees(words[k]));
            /* and in the range where f16 has subnormals and normals */
            CHECK(f32_agrees((words[k] & 0x807fffffu) | (0x65u + (words[k] >> 23) % 43u) << 23));
        }
    }
}

/* The reference for all floats in ascending order: the answer only ever moves to the next pattern. */
typedef struct cursor {
    int mantissa;
    uint16_t answer;
    double midpoint; /* between the answer and the next pattern; infinity has none */
} cursor;

static void cursor_set(cursor *c, uint16_t answer)
{
    uint16_t infinity = (uint16_t)(0x7fff >> c->mantissa << c->mantissa);
    double here = reference_value(answer, c->mantissa);
    double step = answer + 1 == infinity ? here - reference_value((uint16_t)(answer - 1), c->mantissa)
                                         : reference_value((uint16_t)(answer + 1), c->mantissa) - here;
    c->answer = answer;
    c->midpoint = answer == infinity ? INFINITY : here + step / 2;
}

static uint16_t cursor_round(cursor *c, double x)
{
    while (x > c->midpoint || (x == c->midpoint && !isinf(x) && c->answer % 2 == 1))
        cursor_set(c, (uint16_t)(c->answer + 1));
    return c->answer;
}

TEST(f32_exhaustive)
{
    if (getenv("TERN_TEST_LONG") == NULL)
        SKIP("all 2^32 floats take a minute: set TERN_TEST_LONG=1");
    cursor f16 = {.mantissa = 10}, bf16 = {.mantissa = 7};
    cursor_set(&f16, 0);
    cursor_set(&bf16, 0);
    uint32_t bits = 0;
    for (; bits <= 0x7f800000u; bits++) {
        float f = tern__f32_from_bits(bits);
        uint16_t want_f16 = cursor_round(&f16, (double)f), want_bf16 = cursor_round(&bf16, (double)f);
        CHECK(tern__f32_to_f16(f) == want_f16);
        CHECK(tern__f32_to_f16(-f) == (want_f16 | 0x8000));
        CHECK(tern__f32_to_bf16(f) == want_bf16);
        CHECK(tern__f32_to_bf16(-f) == (want_bf16 | 0x8000));
    }
    CHECK_EQ(f16.answer, 0x7c00);
    CHECK_EQ(bf16.answer, 0x7f80);
    for (; bits <= 0x7fffffffu; bits++)
        CHECK(f32_agrees(bits) && f32_agrees(bits | 0x80000000u));
}

static bool f64_agrees(double d)
{
    return tern__f64_to_f16(d) == reference_round(d, 10) && tern__f64_to_bf16(d) == reference_round(d, 7) &&
           tern__f64_to_f16(-d) == reference_round(-d, 10) && tern__f64_to_bf16(-d) == reference_round(-d, 7);
}

TEST(f64_ties_round_once)
{
    /* every midpoint, one f64 step below it and one above: through f32 the two would be ties as well */
    for (int format = 0; format < 2; format++) {
        int mantissa = format == 0 ? 10 : 7, infinity = 0x7fff >> mantissa << mantissa;
        for (int h = 0; h < infinity - 1; h++) {
            double middle =
                (reference_value((uint16_t)h, mantissa) + reference_value((uint16_t)(h + 1), mantissa)) / 2;
            CHECK(f64_agrees(middle));
            CHECK(f64_agrees(nextafter(middle, 0)));
            CHECK(f64_agrees(nextafter(middle, INFINITY)));
        }
    }
    /* the case that rounding twice gets wrong: f32 makes a tie of it, and ties go to even */
    CHECK_EQ(tern__f64_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
    CHECK_EQ(tern__f32_to_f16((float)(1 + 0x1p-11 + 0x1p-40)), 0x3c00);
    CHECK_EQ(tern__f64_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
}

TEST(f64_extremes)
{
    double cases[] = {0.0,        0x1p-1074,    1e-300,       0x1p-149,       0x1p-150,     0x1p-134,
                      0x1.8p-134, 0x1p-133,     0x1p-25,      0x1.000001p-25, 65519.999999, 65520,
                      1e30,       3.4028234e38, 3.4028236e38, 0x1p128,        1e300,        INFINITY};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!f64_agrees(cases[i]))
            printf("at %a\n", cases[i]);
        CHECK(f64_agrees(cases[i]));
    }
    double nan = -(double)tern__f32_from_bits(0x7fc12345u);
    CHECK(isnan(tern__f16_to_f32(tern__f64_to_f16(nan))));
    CHECK(isnan(tern__bf16_to_f32(tern__f64_to_bf16(nan))));
    CHECK_EQ(tern__f64_to_bf16(nan) >> 15, 1);
}

TEST(f64_random_sample)
{
    uint64_t seed = harness_seed();
    for (uint64_t i = 0; i < 50000; i++) {
        uint32_t words[4];
        tern__philox(seed + 1, i, words);
        double unit = (words[0] + words[1] * 0x1p-32) * 0x1p-32 + 1;
        CHECK(f64_agrees(ldexp(unit, (int)(words[2] % 46u) - 28)));   /* around f16's range */
        CHECK(f64_agrees(ldexp(unit, (int)(words[3] % 290u) - 150))); /* around bf16's range */
    }
}
