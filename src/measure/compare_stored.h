/* compare_stored.h - something that runs, compared with samples of another day: taken until it is clear, as tern_compare_run does. */
#ifndef TERN_MEASURE_COMPARE_STORED_H
#define TERN_MEASURE_COMPARE_STORED_H

#include <tern/compare.h>

#include "measure/timing.h"

/* `a` (n) are the samples that there are, in seconds; `samples` (options->rounds, which must be given) receives B's, out->n_b of
 * them. b->repeats is best what A's samples were taken with; 0: as many runs as make a sample last long enough. */
tern_status tern__compare_stored(const tern_compare_options *options, const double *a, int n,
                                 const tern__thing *b, double *samples, tern_comparison *out);

#endif
