/* compare_results.h - two sets of results side by side: `tern compare A.json B.json`, `tern compare --program A B`. */
#ifndef TERN_CLI_COMPARE_RESULTS_H
#define TERN_CLI_COMPARE_RESULTS_H

#include <tern/compare.h>

#include "args.h"

/* Two files of `tern bench --format json`. */
int compare_files(const args *a, const tern_compare_options *o);

/* Two programs that understand `bench ops`: run in turns, each session of one next to a session of the other. */
int compare_programs(const args *a, const tern_compare_options *o);

/* "use B: it is 1.20 times as fast (1.15 to 1.25)" */
void add_recommendation(text *t, const tern_comparison *c);

#endif
