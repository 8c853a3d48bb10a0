/* rank_tests.c - see rank_tests.h. Ranks are kept doubled: the mean rank of equal values then is a whole number. */
#include "measure/compare/rank_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct ranked {
    double value;
    int rank;    /* doubled: 2, 4, 6, ... without ties */
    bool chosen; /* belongs to b, or is positive */
} ranked;

static int by_value(const void *a, const void *b)
{
    const double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
    return (x > y) - (x < y);
}

/* Puts values in order and ranks them. Returns the sum of t^3 - t over the runs of t equal values. */
static double rank(ranked *values, int n)
{
    double ties = 0;
    qsort(values, (size_t)n, sizeof *values, by_value);
    for (int first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && values[end].value == values[first].value; end++)
            ;
        for (int i = first; i < end; i++)
            values[i].rank = first + end + 1;
        const double t = end - first;
        ties += t * t * t - t;
    }
    return ties;
}

static int64_t chosen_sum(const ranked *values, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i].chosen ? values[i].rank : 0;
    return sum;
}

static double two_sided(double low, double high)
{
    return fmin(1, 2 * fmin(low, high));
}

/* Of a sum of ranks with this mean and variance; `step` is the distance of two neighbouring sums. */
static double normal_p(double sum, double mean, double variance, double step)
{
    const double distance = fmax(0, fabs(sum - mean) - step / 2);
    return variance > 0 ? erfc(distance / sqrt(2 * variance)) : 1;
}

/* How likely are sums <= and >= `sum` when any `take` of the ranks are chosen (take < 0: any number of them)?
 * ways[k * (most + 1) + s]: chance to have chosen k of those seen so far, with sum s. */
static tern_status count_sums(const ranked *values, int n, int take, int64_t sum, double *p)
{
    const int rows = take < 0 ? 1 : take + 1, most = n * (n + 1);
    double *ways = tern__alloc_zero((size_t)rows * ((size_t)most + 1), sizeof *ways);
    if (!ways)
        return tern__out_of_memory((size_t)rows * ((size_t)most + 1) * sizeof *ways);
    ways[0] = 1;
    for (int i = 0, reached = 0; i < n; i++) {
        const int r = values[i].rank;
        reached += r;
        for (int k = rows - 1; k >= 0; k--) {
            double *to = ways + (size_t)k * ((size_t)most + 1);
            const double *from = take < 0 ? to : k > 0 ? to - (most + 1) : NULL;
            for (int s = reached; s >= 0; s--) {
                const double with = from && s >= r ? from[s - r] : 0;
                to[s] = take < 0 ? (to[s] + with) / 2 : to[s] + with;
            }
        }
    }
    const double *all = ways + (size_t)(rows - 1) * ((size_t)most + 1);
    double low = 0, high = 0, total = 0;
    for (int s = 0; s <= most; s++) {
        total += all[s];
        low += s <= sum ? all[s] : 0;
        high += s >= sum ? all[s] : 0;
    }
    *p = two_sided(low / total, high / total);
    tern__free(ways);
    return TERN_OK;
}

tern_status tern__mann_whitney(const double *a, int n, const double *b, int m, tern__rank_test *out)
{
    const int both = n + m;
    ranked *values = tern__alloc_zero((size_t)both, sizeof *values);
    if (!values)
        return tern__out_of_memory((size_t)both * sizeof *values);
    for (int i = 0; i < both; i++)
        values[i] = (ranked){.value = i < n ? a[i] : b[i - n], .chosen = i >= n};
    const double ties = rank(values, both);
    const int64_t sum = chosen_sum(values, both);
    const double N = both, nm = (double)n * m;
    tern__rank_test test = {.greater = ((double)sum - (double)m * (m + 1)) / 2 / nm};
    tern_status status = TERN_OK;
    if (both <= TERN__EXACT_VALUES)
        status = count_sums(values, both, m, sum, &test.p);
    else /* the usual variance, times four because ranks are doubled */
        test.p = normal_p((double)sum, m * (N + 1), nm / 3 * (N + 1 - ties / (N * (N - 1))), 2);
    tern__free(values);
    if (status == TERN_OK)
        *out = test;
    return status;
}

tern_status tern__signed_rank(const double *d, int n, tern__rank_test *out)
{
    ranked *values = tern__alloc_zero((size_t)n + 1, sizeof *values);
    if (!values)
        return tern__out_of_memory((size_t)n * sizeof *values);
    int used = 0, positive = 0;
    for (int i = 0; i < n; i++)
        if (d[i] != 0) {
            positive += d[i] > 0;
            values[used++] = (ranked){.value = fabs(d[i]), .chosen = d[i] > 0};
        }
    tern__rank_test test = {.p = 1, .greater = n > 0 ? (positive + (n - used) / 2.0) / n : 0.5};
    tern_status status = TERN_OK;
    if (used > 0) {
        const double ties = rank(values, used), u = used;
        const int64_t sum = chosen_sum(values, used);
        if (used <= TERN__EXACT_PAIRS)
            status = count_sums(values, used, -1, sum, &test.p);
        else
            test.p = normal_p((double)sum, u * (u + 1) / 2, u * (u + 1) * (2 * u + 1) / 6 - ties / 12, 2);
    }
    tern__free(values);
    if (status == TERN_OK)
        *out = test;
    return status;
}
