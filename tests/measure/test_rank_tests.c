/* test_rank_tests.c - probabilities of the rank tests against counting all cases by brute force, and intervals against
 * what is known of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "harness.h"
#include "measure/bootstrap.h"
#include "measure/compare/rank_tests.h"
#include "measure/stats.h"

/* Whole numbers below `kinds`: many ties. */
static void draw(double *out, int n, int kinds, uint64_t seed)
{
    for (int i = 0; i < n; i++)
        out[i] = floor(tern__random_uniform(seed, (uint64_t)i) * kinds);
}

/* Twice the number of (x, y) with y > x, equal ones counting one. */
static int wins(const double *x, int n, const double *y, int m)
{
    int twice = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            twice += (y[j] > x[i]) + (y[j] >= x[i]);
    return twice;
}

static void check_mann_whitney(int n, int m, int kinds, uint64_t seed)
{
    double all[16], a[16], b[16];
    draw(all, n + m, kinds, seed);
    const int got = wins(all, n, all + n, m);
    int low = 0, high = 0, total = 0;
    for (int set = 0; set < 1 << (n + m); set++) {
        if (__builtin_popcount((unsigned)set) != m)
            continue;
        int in_a = 0, in_b = 0;
        for (int i = 0; i < n + m; i++)
            if (set >> i & 1)
                b[in_b++] = all[i];
            else
                a[in_a++] = all[i];
        const int w = wins(a, n, b, m);
        low += w <= got;
        high += w >= got;
        total++;
    }
    tern__rank_test test;
    CHECK_OK(tern__mann_whitney(all, n, all + n, m, &test));
    CHECK_NEAR(test.greater, got / 2.0 / (n * m), 1e-12);
    CHECK_NEAR(test.p, fmin(1, 2.0 * (low < high ? low : high) / total), 1e-12);
}

TEST(mann_whitney_counts_all_cases)
{
    for (uint64_t i = 0; i < 40; i++)
        check_mann_whitney(1 + (int)(i % 5), 1 + (int)(i % 7), i % 2 ? 4 : 1000, harness_seed() + i);
}

static double rank_sum(const double *d, int n, int signs)
{
    double sum = 0; /* of the mean ranks of |d|, by pairwise comparison */
    for (int i = 0; i < n; i++) {
        double rank = 0.5;
        for (int j = 0; j < n; j++)
            rank += (fabs(d[j]) < fabs(d[i])) + 0.5 * (fabs(d[j]) == fabs(d[i]));
        sum += signs >> i & 1 ? rank : 0;
    }
    return sum;
}

TEST(signed_rank_counts_all_cases)
{
    for (uint64_t k = 0; k < 30; k++) {
        double d[10];
        const int n = 1 + (int)(k % 10);
        int signs = 0, low = 0, high = 0;
        draw(d, n, k % 2 ? 3 : 1000, harness_seed() + k);
        for (int i = 0; i < n; i++) {
            d[i] = (d[i] + 1) * (tern__random_uniform(k, (uint64_t)i) < 0.5 ? -1 : 1);
            signs |= (d[i] > 0) << i;
        }
        const double got = rank_sum(d, n, signs);
        for (int s = 0; s < 1 << n; s++) {
            low += rank_sum(d, n, s) <= got;
            high += rank_sum(d, n, s) >= got;
        }
        tern__rank_test test;
        CHECK_OK(tern__signed_rank(d, n, &test));
        CHECK_NEAR(test.p, fmin(1, 2.0 * (low < high ? low : high) / (1 << n)), 1e-12);
    }
}

TEST(signed_rank_leaves_out_zeros)
{
    tern__rank_test all, none;
    CHECK_OK(tern__signed_rank((double[]){1, 0, 2, 3, 0, 4, 5}, 7, &all));
    CHECK_NEAR(all.p, 2.0 / 32, 1e-12);
    CHECK_NEAR(all.greater, 6.0 / 7, 1e-12);
    CHECK_OK(tern__signed_rank((double[]){0, 0}, 2, &none));
    CHECK_NEAR(none.p, 1, 0);
    CHECK_NEAR(none.greater, 0.5, 0);
}

/* Where counting ends, the approximation takes over: a value that changes nothing else must not change much. */
TEST(approximations_continue_what_was_counted)
{
    enum { N = TERN__EXACT_PAIRS };
    double d[N + 1], a[N + 1];
    tern__rank_test exact, normal;
    for (int shift = -2; shift <= 2; shift++) {
        for (int i = 0; i <= N; i++)
            d[i] = tern__random_normal(harness_seed(), (uint64_t)i) + 0.2 * shift;
        CHECK_OK(tern__signed_rank(d, N, &exact));
        d[N] = d[0] > 0 ? -1e-9 : 1e-9; /* rank one */
        CHECK_OK(tern__signed_rank(d, N + 1, &normal));
        CHECK_NEAR(normal.p, exact.p, 0.02);
        memcpy(a, d, sizeof a);
        for (int i = 0; i < 20; i++)
            a[i] += 1;
        CHECK_OK(tern__mann_whitney(a, 20, a + 20, 20, &exact));
        CHECK_OK(tern__mann_whitney(a, 20, a + 20, 21, &normal));
        CHECK_NEAR(normal.p, exact.p, 0.1);
    }
}

/* If there is no difference, p is below x about x of the time. */
TEST(false_alarms_are_as_rare_as_they_say)
{
    enum { TRIES = 2000, N = 30, M = 25 };
    int alarms[2] = {0};
    for (uint64_t t = 0; t < TRIES; t++) {
        double x[N + M];
        tern__rank_test test;
        for (int i = 0; i < N + M; i++)
            x[i] = tern__random_normal(harness_seed() + t, (uint64_t)i);
        CHECK_OK(tern__mann_whitney(x, N, x + N, M, &test));
        alarms[0] += test.p < 0.05;
        CHECK_OK(tern__signed_rank(x, N + M, &test));
        alarms[1] += test.p < 0.05;
    }
    for (int i = 0; i < 2; i++) /* 100 expected, five standard deviations either way */
        CHECK(alarms[i] > 50 && alarms[i] < 150);
}

/* The interval of a median contains the true one about as often as it says. */
TEST(intervals_contain_the_truth)
{
    enum { TRIES = 1000, N = 40 };
    int median = 0, ratio = 0;
    for (uint64_t t = 0; t < TRIES; t++) {
        double x[2 * N];
        tern__interval bounds;
        for (int i = 0; i < 2 * N; i++)
            x[i] = exp(tern__random_normal(harness_seed() + t, (uint64_t)i)) * (i < N ? 1 : 3);
        CHECK_OK(tern__median_interval(x, N, 0.95, t, &bounds));
        median += bounds.low <= 1 && bounds.high >= 1;
        CHECK_OK(tern__bootstrap_ratio(x, N, x + N, N, 0.95, t, &bounds));
        ratio += bounds.low <= 3 && bounds.high >= 3;
    }
    CHECK(median > 0.92 * TRIES && median < 0.98 * TRIES);
    CHECK(ratio > 0.92 * TRIES && ratio < 0.99 * TRIES);
}

TEST(intervals_of_few_values_are_none)
{
    const double few[] = {1, 2, 3, 4, 5, 6};
    tern__interval bounds;
    CHECK_OK(tern__median_interval(few, 5, 0.95, 1, &bounds));
    CHECK(isnan(bounds.low) && isnan(bounds.high));
    CHECK_OK(tern__median_interval(few, 6, 0.95, 1, &bounds));
    CHECK(bounds.low >= 1 && bounds.low < bounds.high && bounds.high <= 6);
    CHECK_OK(tern__bootstrap_ratio(few, 6, few, 5, 0.95, 1, &bounds));
    CHECK(isnan(bounds.low) && isnan(bounds.high));
}

TEST(many_samples_do_not_overflow)
{
    enum { MANY = 50000 };
    double *x = malloc(2 * MANY * sizeof *x);
    tern__rank_test test = {.p = 0};
    CHECK(x != NULL);
    for (int i = 0; i < 2 * MANY; i++)
        x[i] = 1 + i % 1000;
    CHECK_OK(tern__mann_whitney(x, MANY, x + MANY, MANY, &test));
    CHECK(test.p > 0.99 && fabs(test.greater - 0.5) < 1e-9);
    for (int i = 0; i < 2 * MANY; i++)
        x[i] = i % 2 ? 1 + i / 2 : -1 - i / 2;
    CHECK_OK(tern__signed_rank(x, 2 * MANY, &test));
    CHECK(test.p > 0.9);
    free(x);
}
