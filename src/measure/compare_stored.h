/* compare_stored.h - something that runs, compared with samples of another day: taken until it is clear, as tern_compare_run does. */
#ifndef TERN_MEASURE_COMPARE_STORED_H
#define TERN_MEASURE_COMPARE_STORED_H

#include <tern/compare.h>

#include "measure/timing.h"

/* `a` (n) are the samples that there are, in seconds; `samples` (options->rounds, which must be given) receives B's, out->n_b of
 * them. b->repeats is best what A's samples were taken with; 0: as many runs as make a sample last long enough. */
tern_status tern__compare_stored(const tern_compare_options *options, const double *a, int n,
                                 const tern__thing *b, double *samples, tern_comparison *out);

/* What share of all that will be known is known after `used_s` of `budget_s` and `n` of `rounds` samples? 1: it is the last look, since
 * another sample, which takes `next_s` with a look at it, would not fit into the budget. */
double tern__compare_progress(double used_s, double next_s, double budget_s, int n, int rounds);

#endif
