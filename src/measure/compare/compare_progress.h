/* compare_progress.h - how much of all that will be known is known: what each look at samples may spend is shared out by it. */
#ifndef TERN_MEASURE_COMPARE_PROGRESS_H
#define TERN_MEASURE_COMPARE_PROGRESS_H

/* What share of all that will be known is known after `used_s` of `budget_s` and `n` of `rounds` samples? 1: it is the last look, since
 * another sample, which takes `next_s` with a look at it, would not fit into the budget. */
double tern__compare_progress(double used_s, double next_s, double budget_s, int n, int rounds);

#endif
