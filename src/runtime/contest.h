/* contest.h - one thing and several ways to do it: what is remembered is used, the rest is measured and remembered. */
#ifndef TERN_RUNTIME_CONTEST_H
#define TERN_RUNTIME_CONTEST_H

#include "runtime/tuning.h"

typedef struct tern__contest {
    tern__tuning *tuning;
    tern__tuned_key *key; /* NULL: no memory to remember anything */
    const char *op, *shapes, *params;
    int n_ops;
    const char *const *ops; /* as in tern_tune_row */
    int n;
    const char *const *names; /* (n) of the ways */
    bool first_is_usual;      /* the first is what would run if nothing were known */
    int step;                 /* for the report, or -1 */
    tern_tune_run run;
    void *user;
    const tern_tune_options *options;
    tern_tune_report *report; /* or NULL */
    int done, total;          /* for the progress: ways before these, and in all */
} tern__contest;

/* *best: the fastest, -1 if none runs; *status: of the first, if none does. Only lack of memory fails. */
tern_status tern__contest_hold(const tern__contest *contest, int *best, tern_status *status);

#endif
