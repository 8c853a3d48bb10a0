/* regress.h - the inside of a report of regressions. */
#ifndef TERN_MEASURE_REGRESS_H
#define TERN_MEASURE_REGRESS_H

#include <tern/regress.h>

#include "base/arena.h"

/* Errors below are the rounding of sums, not inaccuracy; and how much an error may grow. */
#define TERN__ACCURACY_FLOOR 1e-7
#define TERN__ACCURACY_FACTOR 2.0

struct tern_regress_report {
    tern_regress_options o; /* settled */
    tern_results *results;  /* what was measured */
    tern_regress_row *rows; /* (n) */
    int n;
    size_t capacity;
    tern__arena arena;                  /* reasons */
    const tern_results *base, *history; /* the caller's, while the report is made */
    char base_host[32], host[32];
};

#endif
