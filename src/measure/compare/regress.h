/* regress.h - the inside of a report of regressions. It is begun with a baseline (regress.c), filled from results that there are
 * (regress.c) or from the benchmarks themselves (regress_measure.c), judged row by row (regress_judge.c), and written
 * (report/regress_write.c). */
#ifndef TERN_MEASURE_REGRESS_H
#define TERN_MEASURE_REGRESS_H

#include <tern/regress.h>

#include "base/arena.h"
#include "base/strbuf.h"

/* Errors below are the rounding of sums, not inaccuracy; and how much an error may grow. */
#define TERN__ACCURACY_FLOOR 1e-7
#define TERN__ACCURACY_FACTOR 2.0

enum { TERN__REGRESS_ROUNDS_MOST = 1000 };

struct tern_regress_report {
    tern_regress_options o; /* settled */
    tern_results *results;  /* what was measured */
    tern_regress_row *rows; /* (n) */
    int n;
    int n_compared; /* rows over which alpha is shared out */
    int n_done;     /* of them, as far as it is measured */
    size_t capacity;
    tern__arena arena;                  /* reasons */
    const tern_results *base, *history; /* the caller's, while the report is made */
    char base_host[32], host[32];
    double base_load, load; /* of the machine when they were measured; NaN: unknown */
    bool paired;            /* sessions of both are next to each other */
    int holders;            /* a page may hold it too: who frees it last takes it away */
};

/* ---- regress.c ---- */

/* A report with a row for each benchmark of `base`, all of them missing. The caller's results are used until it is finished. */
tern_status tern__regress_begin(const tern_regress_options *options, const tern_results *base,
                                const tern_results *history, tern_regress_report **out);
/* Hands the report out, or frees it if `status` says that something failed. */
tern_status tern__regress_finish(tern_regress_report *p, tern_status status, tern_regress_report **out);
/* TERN_STATE: base and results are of two machines, and that was not asked for. */
tern_status tern__regress_check_host(tern_regress_report *p);

/* All samples of a benchmark in all sessions, seconds; *out (tern__free) is NULL if there are none. */
tern_status tern__regress_samples(const tern_results *from, const tern_result *key, double **out, int *n);
/* Medians of the sessions, oldest first, into `medians` (from->n + 1); `now` (may be NULL) is the newest if it was measured
 * and is not among them already. Returns how many there are. Microseconds. */
int tern__regress_medians(const tern_results *from, const tern_result *key, const tern_result *now,
                          double *medians);
/* What they tell; n is 0 if there are none. */
tern_status tern__regress_history(const tern_results *from, const tern_result *key, const tern_result *now,
                                  tern_history *out);

/* Sets the row's noise floor by the baseline's sessions and those since; `now` (may be NULL): by its sessions as well. */
tern_status tern__regress_set_floor(const tern_regress_report *p, tern_regress_row *row,
                                    const tern_results *now);
/* How the row's times are compared. */
tern_compare_options tern__regress_look(const tern_regress_report *p, const tern_regress_row *row);
/* One look at all samples of `now`. */
tern_status tern__regress_compare_row(tern_regress_report *p, tern_regress_row *row, const tern_results *now);

/* Holds the report: tern_regress_free has to be called once more. */
const tern_regress_report *tern__regress_hold(const tern_regress_report *p);

/* ---- regress_judge.c ---- */

/* Sets the states, the history and the reason from `comparison`, `base` and `now`. */
tern_status tern__regress_judge(tern_regress_report *p, tern_regress_row *row);
/* Does its time seem slower or faster? */
bool tern__regress_has_changed(const tern_regress_row *row);
/* Does its time seem to have changed the same way as `first` says? */
bool tern__regress_shows(const tern_regress_row *row, tern_regress_state first);
/* After a second measurement of what seemed slower or faster, which `first` says: it must be so again. */
tern_status tern__regress_confirm(tern_regress_report *p, tern_regress_row *row, tern_regress_state first);
/* Where both have shares of a limit: a change that the limit shows, too, is the machine's, and becomes undecided. */
tern_status tern__regress_blame_machine(tern_regress_report *p, tern_regress_row *row,
                                        const tern_results *now);
struct tern__occupancy;
/* Slower, but only while others had the machine: undecided. */
tern_status tern__regress_blame_others(tern_regress_report *p, tern_regress_row *row,
                                       const struct tern__occupancy *others);
/* A look at results that were measured before, of which there is no second one: samples of other sizes cannot be compared, and one
 * session alone is no proof. Such times become undecided. */
tern_status tern__regress_doubt(tern_regress_report *p, tern_regress_row *row, const tern_results *now);
/* Measuring it ended with `status`, and tern_last_error says why: missing if it is not there, cannot be had or took too long; but
 * slower if it was given up after `allowed_s` (0: not so) and all that the baseline measured of it took less. All else is critical, a wrong result above all. TERN_OUT_OF_MEMORY is passed on. */
tern_status tern__regress_judge_failure(tern_regress_report *p, tern_regress_row *row, tern_status status,
                                        double allowed_s);
tern_status tern__regress_set_reason(tern_regress_report *p, tern_regress_row *row, const char *text);

/* Runs in a sample, in the middle of the sessions; 0: there are none. */
double tern__regress_repeats(const tern_results *from, const tern_result *key);

/* Were they measured while the machine was occupied very differently? */
bool tern__regress_loads_differ(const tern_regress_report *p);

/* ---- regress_measure.c ---- */

struct tern__bench;
/* Measures the rows of the bench's suite and family; what seems slower or faster, a second time. */
tern_status tern__regress_measure_on(tern_regress_report *p, const struct tern__bench *bench);

/* ---- history.c ---- */

/* From so many sessions on a history is not misled by a few of them, and steps and trends can be told. */
enum { TERN__HISTORY_LONG = 8 };
/* The noise floor of medians (above zero) of two sets of sessions, between which something may have changed; NaN: neither has two. */
tern_status tern__history_noise(const double *a, int n, const double *b, int m, double *out);
/* Does it move steadily? */
bool tern__history_has_trend(const tern_history *h);

#endif
