/* stats.h - what samples say: the middle, the spread, the best. */
#ifndef TERN_MEASURE_STATS_H
#define TERN_MEASURE_STATS_H

typedef struct tern__stats {
    int n;         /* samples; 0: none, and the numbers are 0 */
    double median; /* of an even number the mean of the two in the middle */
    double mad;    /* median distance from the median: a spread that a few bad samples do not move */
    double min;
} tern__stats;

/* `values` (n) are put in order. */
tern__stats tern__stats_of(double *values, int n);

#endif
