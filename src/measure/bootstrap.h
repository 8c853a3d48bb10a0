/* bootstrap.h - between which bounds does a median lie, as far as the samples tell? Of many samples, percentiles of the medians of many
 * others drawn, with replacement, from the ones there are; the same seed draws the same. Of few, which such draws are too sure of, two
 * of the samples themselves: how many of them lie below the median is a matter of coins, whatever they are samples of. */
#ifndef TERN_MEASURE_BOOTSTRAP_H
#define TERN_MEASURE_BOOTSTRAP_H

#include <stdint.h>

#include <tern/status.h>

/* Fewer samples have no two-sided 95 % interval of their median, whatever it is made of: all of them may lie on one side. */
enum { TERN__INTERVAL_LEAST = 6 };

/* From so many samples on, draws are right as often as they say. */
enum { TERN__INTERVAL_DRAWN = 20 };

enum { TERN__RESAMPLES = 1000 };

typedef struct tern__interval {
    double low, high;
} tern__interval;

/* Of the median of x (n >= 1); `confidence` such as 0.95. NaN: so few samples cannot be so sure. */
tern_status tern__median_interval(const double *x, int n, double confidence, uint64_t seed,
                                  tern__interval *out);

/* Of median(b) / median(a), which are drawn independently; values are above zero. */
tern_status tern__bootstrap_ratio(const double *a, int n, const double *b, int m, double confidence,
                                  uint64_t seed, tern__interval *out);

#endif
