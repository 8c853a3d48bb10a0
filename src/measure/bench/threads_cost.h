/* threads_cost.h - what threads cost, from samples. */
#ifndef TERN_MEASURE_THREADS_COST_H
#define TERN_MEASURE_THREADS_COST_H

#include "base/threads.h"

enum { TERN__THREADS_SAMPLES = 25 };

/* Microseconds of one barrier: the median of (met[i] - empty[i]) / barriers, where a region with so many barriers took met[i] and one
 * with none empty[i] (n, at most TERN__THREADS_SAMPLES). Samples in which the empty one took as long are lost in noise and left out;
 * NaN if fewer than half remain. */
double tern__threads_barrier_us(const double *met, const double *empty, int n, int barriers);

/* Nanoseconds that a line written by the pool's first thread takes to the core of its second, the least of some samples; NaN if there is no
 * second. Cores that share a last-level cache take some 30 ns, others 100 and more. Virtual cores may be moved from one to the other while a
 * program runs, and what two threads read from memory changes with it. */
double tern__threads_line_ns(tern__threads *threads);

#endif
