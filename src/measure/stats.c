/* stats.c - order statistics of samples. */
#include "measure/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of_sorted(const double *sorted, int n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* The median of |values[i] - median| of sorted values, without room for the distances: the k nearest to the median are a
 * run of neighbours, so the k-th smallest distance is the least, over all runs of k, of the run's farther end. */
static double nearest(const double *sorted, int n, double median, int k)
{
    double best = INFINITY;
    for (int i = 0; i + k <= n; i++)
        best = fmin(best, fmax(median - sorted[i], sorted[i + k - 1] - median));
    return best;
}

tern__stats tern__stats_of(double *values, int n)
{
    if (n <= 0)
        return (tern__stats){0};
    qsort(values, (size_t)n, sizeof *values, by_value);
    tern__stats s = {.n = n, .median = median_of_sorted(values, n), .min = values[0]};
    s.mad = nearest(values, n, s.median, n / 2 + 1);
    if (n % 2 == 0)
        s.mad = (s.mad + nearest(values, n, s.median, n / 2)) / 2;
    return s;
}
