/* test_history.c - steps and trends in series of medians: found where they are, and nowhere else. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tern/regress.h>

#include "base/random.h"
#include "harness.h"

TEST(steps_are_found_where_they_are_and_which_way_they_go)
{
    const uint64_t seed = harness_seed();
    int found = 0, false_alarms = 0;
    enum { SERIES = 100, LENGTH = 30 };
    for (int s = 0; s < SERIES; s++) {
        double x[LENGTH];
        tern_history h;
        const double factor = s % 2 ? 1.1 : 1 / 1.1;
        const int at = 8 + s % 14;
        for (int i = 0; i < LENGTH; i++)
            x[i] = 50 * exp(0.02 * tern__random_normal(seed, (uint64_t)(s * LENGTH + i)));
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        false_alarms += h.n_changes > 0;
        for (int i = at; i < LENGTH; i++)
            x[i] *= factor;
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        for (int k = 0; k < h.n_changes; k++)
            found += abs(h.changes[k].at - at) <= 1 && (h.changes[k].ratio > 1) == (factor > 1);
    }
    printf("steps of 10 %% found: %d of %d; in series without any: %d\n", found, SERIES, false_alarms);
    CHECK(found >= 85); /* about 93, with a deviation of 2.5 */
    CHECK(false_alarms <= 4);
}

/* Four sessions behind a change it is told, if it is far beyond the noise, however few were before it. */
TEST(steps_are_found_four_sessions_later)
{
    const uint64_t seed = harness_seed();
    static const struct {
        int before, after;
        double factor;
    } cases[] = {{4, 4, 5}, {8, 4, 5}, {8, 4, 1.08}, {6, 6, 1.08}, {8, 4, 1 / 1.08}, {30, 4, 1.08}};
    enum { SERIES = 50, MOST = 34 };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int found = 0;
        for (int s = 0; s < SERIES; s++) {
            double x[MOST];
            tern_history h;
            const int n = cases[c].before + cases[c].after;
            for (int i = 0; i < n; i++)
                x[i] = 50 * exp(0.005 * tern__random_normal(seed ^ 11, (uint64_t)(s * MOST + i))) *
                       (i < cases[c].before ? 1 : cases[c].factor);
            CHECK_OK(tern_history_read(x, n, &h));
            found += h.n_changes == 1 && h.changes[0].at == cases[c].before &&
                     (h.changes[0].ratio > 1) == (cases[c].factor > 1);
        }
        CHECK(found >= SERIES - 3);
    }
}

/* Short series without a step, of independent sessions and of a machine that keeps its mood. */
TEST(short_series_have_no_steps)
{
    const uint64_t seed = harness_seed();
    enum { SERIES = 500, BEFORE = 20, MOST = 16 };
    for (int length = 8; length <= MOST; length += 4)
        for (int moody = 0; moody < 2; moody++) {
            int steps = 0;
            for (int s = 0; s < SERIES; s++) {
                double x[MOST], mood = 0;
                tern_history h;
                for (int i = -BEFORE; i < length; i++) {
                    mood = 0.5 * moody * mood +
                           tern__random_normal(seed ^ 13, (uint64_t)(s * (MOST + BEFORE) + i + BEFORE));
                    if (i >= 0)
                        x[i] = 50 * exp(0.02 * mood);
                }
                CHECK_OK(tern_history_read(x, length, &h));
                steps += h.n_changes > 0;
            }
            CHECK(steps <= (moody ? 15 : 5)); /* below 1 % and below 0.1 % */
        }
}

/* A machine that keeps its mood: each session resembles the one before it (an autoregressive series, phi 0.5). */
TEST(moods_of_a_machine_are_no_steps)
{
    const uint64_t seed = harness_seed();
    enum { SERIES = 300, LENGTH = 30, BEFORE = 20 };
    int steps = 0, trends = 0;
    for (int s = 0; s < SERIES; s++) {
        double x[LENGTH], mood = 0;
        tern_history h;
        for (int i = -BEFORE; i < LENGTH; i++) {
            mood = 0.5 * mood + tern__random_normal(seed ^ 7, (uint64_t)(s * (LENGTH + BEFORE) + i + BEFORE));
            if (i >= 0)
                x[i] = 50 * exp(0.02 * mood);
        }
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        steps += h.n_changes > 0;
        trends += h.trend_p < 0.01;
    }
    printf("of %d series without a step: %d steps, %d trends\n", SERIES, steps, trends);
    CHECK(steps <= 15); /* 1 %, as it should be; 10 % as if sessions were independent */
    CHECK(trends <= 15);
}

TEST(trends_have_the_right_sign)
{
    const uint64_t seed = harness_seed();
    int right = 0, alarms = 0;
    enum { SERIES = 100, LENGTH = 20 };
    for (int s = 0; s < SERIES; s++) {
        double x[LENGTH];
        tern_history h;
        const double each = s % 2 ? 0.01 : -0.01;
        for (int i = 0; i < LENGTH; i++)
            x[i] = 50 * exp(0.02 * tern__random_normal(seed, (uint64_t)(s * LENGTH + i)));
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        alarms += h.trend_p < 0.01;
        for (int i = 0; i < LENGTH; i++)
            x[i] *= exp(each * i);
        CHECK_OK(tern_history_read(x, LENGTH, &h));
        right += h.trend_p < 0.01 && (h.trend > 0) == (each > 0) && fabs(h.trend - each) < 0.005;
    }
    CHECK(right >= 95);
    CHECK(alarms <= 5);
    tern_history h = {.n = 77};
    const double some[] = {3, 2, 0};
    CHECK_STATUS(tern_history_read(some, 3, &h), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_history_read(some, 0, &h), TERN_INVALID_ARGUMENT);
    CHECK_EQ(h.n, 77);
    CHECK_OK(tern_history_read(some, 2, &h));
    CHECK(h.n == 2 && h.noise > 0 && h.n_changes == 0 && h.trend == 0);
}
