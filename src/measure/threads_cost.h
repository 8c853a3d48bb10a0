/* threads_cost.h - what threads cost, from samples. */
#ifndef TERN_MEASURE_THREADS_COST_H
#define TERN_MEASURE_THREADS_COST_H

enum { TERN__THREADS_SAMPLES = 25 };

/* Microseconds of one barrier: the median of (met[i] - empty[i]) / barriers, where a region with so many barriers took met[i] and one
 * with none empty[i] (n, at most TERN__THREADS_SAMPLES). Samples in which the empty one took as long are lost in noise and left out;
 * NaN if fewer than half remain. */
double tern__threads_barrier_us(const double *met, const double *empty, int n, int barriers);

#endif
