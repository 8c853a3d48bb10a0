/* test_schedule.c - the rate of every step. */
#include <math.h>

#include <tern/train.h>

#include "harness.h"

static tern_schedule_options of(tern_schedule_kind kind)
{
    return (tern_schedule_options){.kind = kind, .rate = 1, .least = 0.1, .warmup = 10, .steps = 111};
}

TEST(warm_up)
{
    for (int kind = TERN_SCHEDULE_COSINE; kind <= TERN_SCHEDULE_CONSTANT; kind++) {
        const tern_schedule_options s = of((tern_schedule_kind)kind);
        CHECK_NEAR(tern_schedule_rate(&s, 0), 0.1, 1e-12);
        CHECK_NEAR(tern_schedule_rate(&s, 4), 0.5, 1e-12);
        CHECK_NEAR(tern_schedule_rate(&s, 9), 1, 1e-12);
        CHECK_NEAR(tern_schedule_rate(&s, 10), 1, 1e-12);
        CHECK(tern_schedule_rate(&s, -5) == tern_schedule_rate(&s, 0));
    }
}

TEST(ends)
{
    const tern_schedule_options cosine = of(TERN_SCHEDULE_COSINE), linear = of(TERN_SCHEDULE_LINEAR),
                                constant = of(TERN_SCHEDULE_CONSTANT);
    CHECK_NEAR(tern_schedule_rate(&cosine, 110), 0.1, 1e-12);
    CHECK_NEAR(tern_schedule_rate(&linear, 110), 0.1, 1e-12);
    CHECK(tern_schedule_rate(&constant, 110) == 1);
    CHECK_NEAR(tern_schedule_rate(&cosine, 1000000), 0.1, 1e-12);
    CHECK_NEAR(tern_schedule_rate(&linear, 60), 0.55, 1e-12); /* half way */
    CHECK_NEAR(tern_schedule_rate(&cosine, 60), 0.55, 1e-12);
    CHECK_NEAR(tern_schedule_rate(&linear, 35), 0.775, 1e-12); /* a quarter */
    CHECK_NEAR(tern_schedule_rate(&cosine, 35), 0.1 + 0.9 * (1 + sqrt(0.5)) / 2, 1e-12);
}

TEST(rates_fall)
{
    for (int kind = TERN_SCHEDULE_COSINE; kind <= TERN_SCHEDULE_CONSTANT; kind++) {
        const tern_schedule_options s = of((tern_schedule_kind)kind);
        for (int i = 10; i < 200; i++)
            CHECK(tern_schedule_rate(&s, i + 1) <= tern_schedule_rate(&s, i));
    }
}

TEST(odd_ones)
{
    tern_schedule_options s = of(TERN_SCHEDULE_COSINE);
    s.warmup = 0;
    CHECK(tern_schedule_rate(&s, 0) == 1);
    s.steps = 1;
    CHECK(isfinite(tern_schedule_rate(&s, 0)) && isfinite(tern_schedule_rate(&s, 1)));
    s.warmup = 50; /* longer than the whole */
    CHECK_NEAR(tern_schedule_rate(&s, 49), 1, 1e-12);
    CHECK_NEAR(tern_schedule_rate(&s, 50), 0.1, 1e-12);
    CHECK_STR(tern_schedule_name(TERN_SCHEDULE_LINEAR), "linear");
    CHECK_STR(tern_schedule_name((tern_schedule_kind)7), "unknown");
}
