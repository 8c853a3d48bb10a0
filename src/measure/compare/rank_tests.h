/* rank_tests.h - is one sample larger than the other? Tests that ask for the order of values only, so that a few outliers
 * or a skewed distribution (times have both) do not mislead them.
 *
 * Probabilities are exact for small samples, ties included: all ways to deal the ranks that occur are counted. Larger ones
 * use the normal approximation, corrected for ties and for ranks being whole. */
#ifndef TERN_MEASURE_RANK_TESTS_H
#define TERN_MEASURE_RANK_TESTS_H

#include <tern/status.h>

/* Largest samples that are counted out: both together, and pairs. */
enum { TERN__EXACT_VALUES = 40, TERN__EXACT_PAIRS = 60 };

typedef struct tern__rank_test {
    double p;       /* two-sided: how likely such a difference or a larger one is if there is none */
    double greater; /* share of (a, b) with b > a, equal ones counting half: 0.5 if there is no difference */
} tern__rank_test;

/* Mann-Whitney's U test of independent samples a (n) and b (m), both at least 1. Values are finite. */
tern_status tern__mann_whitney(const double *a, int n, const double *b, int m, tern__rank_test *out);

/* Wilcoxon's signed-rank test of pairs: is the difference d[i] = b[i] - a[i] (or the logarithm of their ratio) positive as
 * often, and by as much, as negative? Zeros say nothing and are left out; `greater` is the share of positive ones. */
tern_status tern__signed_rank(const double *d, int n, tern__rank_test *out);

#endif
