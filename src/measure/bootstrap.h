/* bootstrap.h - between which bounds does a median lie, as far as the samples tell? Percentiles of the medians of many
 * samples drawn, with replacement, from the one there is. The same seed draws the same. */
#ifndef TERN_MEASURE_BOOTSTRAP_H
#define TERN_MEASURE_BOOTSTRAP_H

#include <stdint.h>

#include <tern/status.h>

/* Fewer samples have no two-sided 95 % interval of their median, whatever it is made of: all of them may lie on one side. */
enum { TERN__INTERVAL_LEAST = 6 };

enum { TERN__RESAMPLES = 1000 };

typedef struct tern__interval {
    double low, high;
} tern__interval;

/* Of the median of x (n >= 1); `confidence` such as 0.95. */
tern_status tern__bootstrap_median(const double *x, int n, double confidence, uint64_t seed,
                                   tern__interval *out);

/* Of median(b) / median(a), which are drawn independently; values are above zero. */
tern_status tern__bootstrap_ratio(const double *a, int n, const double *b, int m, double confidence,
                                  uint64_t seed, tern__interval *out);

#endif
