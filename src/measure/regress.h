/* regress.h - the inside of a report of regressions. */
#ifndef TERN_MEASURE_REGRESS_H
#define TERN_MEASURE_REGRESS_H

#include <tern/regress.h>

#include "base/arena.h"
#include "base/strbuf.h"

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
    bool paired; /* sessions of both are next to each other */
};

/* Runs the tests of the baseline's rows of suite "model" again, each `repetitions` times, into `to`: of `family`, or all if it is NULL.
 * The file is what the condition "setting_model" says. */
tern_status tern__model_measure_again(const tern_results *base, const char *family, const char *cpu,
                                      int repetitions, tern_results *to);

/* Medians of the sessions, oldest first, into `medians` (from->n + 1); `now` (may be NULL) is the newest if it was measured.
 * Returns how many there are. */
int tern__regress_medians(const tern_results *from, const tern_result *key, const tern_result *now,
                          double *medians);

/* ---- regress_write.c ---- */

enum { TERN__STATES = TERN_REGRESS_CRITICAL + 1 };
void tern__regress_count(const tern_regress_report *p, int counts[TERN__STATES]);

/* "1 critical, 3 same of 4 benchmarks; threshold 10 %, critical from 30 %" */
void tern__regress_add_summary(tern__strbuf *to, const tern_regress_report *p);
/* "+12.3 % (10.1 to 14.9)"; nothing if there was no comparison. */
void tern__regress_add_change(tern__strbuf *to, const tern_comparison *c);
/* Steps and trends that the history shows; nothing if there are none. */
void tern__regress_add_history(tern__strbuf *to, const tern_history *h);
void tern__regress_add_text(tern__strbuf *to, const tern_regress_report *p);
void tern__regress_add_json(tern__strbuf *to, const tern_regress_report *p);

#endif
