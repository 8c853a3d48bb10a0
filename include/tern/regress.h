/* regress.h - has anything become worse since a baseline was taken? And when, and which way is it going?
 *
 * Times: the baseline's samples are compared with new ones (Mann-Whitney's U test, an interval of the ratio of medians by
 * resampling). A benchmark is called slower only if that is significant, beyond the threshold, beyond the noise of the samples, and
 * beyond its noise floor: how much its median differs between sessions in which nothing had changed. New samples are taken until the
 * answer is clear or the budget has been used (each look spends its part of alpha), what seems slower or faster is measured once more when
 * all others are done, on a machine that other programs leave alone, and what stays unclear is "undecided". alpha is the chance of a false alarm in the whole report: it is shared out
 * over the rows.
 *
 * Where the old build is at hand both are run in turns instead (tern_regress_pairs), which tells smaller changes on a machine that
 * others use. Models (suite "model", <tern/bench_model.h>) are measured ten times and looked at once.
 *
 * Memory (peak_bytes and allocations) and accuracy (accuracy_error) are no samples but numbers: memory is worse if it grew by more than the
 * threshold, accuracy if the error is more than twice the baseline's and above 1e-7. What differs from its reference now, or fails where
 * it did not, is critical, though it be in one of
 * several sessions. Missing is only what this tern does not have, what cannot be had here, and what took too long.
 *
 * Ownership: a report owns its texts; what tern_regress_at gives is valid as long as the report. Threading: these calls keep
 * nothing; a report belongs to one thread at a time. */
#ifndef TERN_REGRESS_H
#define TERN_REGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/compare.h>
#include <tern/export.h>
#include <tern/measure.h>
#include <tern/results.h>
#include <tern/status.h>

/* X(enumerator, number, name, meaning), from good to bad. */
#define TERN_REGRESS_LIST(X)                                                                   \
    X(BETTER, 0, "better", "takes less, by more than threshold and noise")                     \
    X(SAME, 1, "same", "no change beyond the threshold")                                       \
    X(UNDECIDED, 2, "undecided", "the samples allow no answer")                                \
    X(MISSING, 3, "missing", "it could not be measured again, or the baseline has no samples") \
    X(REGRESSION, 4, "regression", "takes more, by more than threshold and noise")             \
    X(CRITICAL, 5, "critical", "a regression by at least the critical factor times the threshold")

typedef enum tern_regress_state {
#define TERN_REGRESS_ENUM(id, number, name, meaning) TERN_REGRESS_##id = number,
    TERN_REGRESS_LIST(TERN_REGRESS_ENUM)
#undef TERN_REGRESS_ENUM
} tern_regress_state;

/* Zeroed fields are the defaults. */
typedef struct tern_regress_options {
    double threshold; /* 0.1: a change by less than 10 % is none; 0 = 0.1 */
    double critical;  /* a regression of so many thresholds is critical; at least 1; 0 = 3 */
    double alpha;     /* chance of a false alarm in the report; 0 = 0.01 */
    double spend; /* share of it for this look, where the samples are looked at several times; 0 = 1, all */
    double budget_s; /* most time for a row's samples; 0 = four times what a session of the baseline took */
    int rounds;      /* most samples of a row; 0 = four times as many as such a session's, at most 1000 */
    bool any_host;   /* compare although the machines differ */
    uint64_t seed;   /* of the resampling */
    void (*progress)(void *user, int done, int total); /* rows of what is measured; NULL: nobody is told */
    void *progress_user;
} tern_regress_options;

/* Where a series of medians stepped from one level to another (Pettitt's test, applied again to both parts, with as many sessions as they
 * are worth if neighbours resemble each other). */
typedef struct tern_change {
    int at;       /* first value of the new level */
    double ratio; /* median after it / median before it: above 1, it became slower */
    double p;
} tern_change;

enum { TERN_CHANGES_MOST = 8 };

/* What a series of a benchmark's medians tells, oldest first. */
typedef struct tern_history {
    int n; /* values */
    /* floor: relative change that one more session may show when nothing changed; NaN: fewer than 2 values */
    double noise;
    /* change for each session, relative (Theil and Sen): above 0, it becomes slower; 0: fewer than 3 values */
    double trend;
    double trend_p; /* of no trend (Mann and Kendall) */
    int n_changes;
    tern_change changes[TERN_CHANGES_MOST]; /* by place */
} tern_history;

typedef struct tern_regress_report tern_regress_report;

typedef struct tern_regress_row {
    /* Of several sessions: `base` is the first that was measured, `now` the first that failed, else the first that was measured; of both
     * peak_bytes, allocations and accuracy_error are the largest of all that were measured. */
    tern_result base;                          /* without samples */
    tern_result now;                           /* as measured; rounds 0: it was not */
    int runs;                                  /* sessions of the baseline */
    tern_regress_state state;                  /* the worst of the three */
    tern_regress_state time, memory, accuracy; /* MISSING where there are no numbers */
    tern_comparison comparison;                /* of the times; n_b 0: there was none */
    /* between sessions; NaN: there is one session, and nothing is called slower; or there are pairs, which need none */
    double noise_floor;
    tern_history history;
    const char *reason; /* one sentence; never NULL */
} tern_regress_row;

/* X(enumerator, number, name). */
#define TERN_REGRESS_FORMAT_LIST(X) \
    X(TEXT, 0, "text")              \
    X(JSON, 1, "json")              \
    X(HTML, 2, "html")

typedef enum tern_regress_format {
#define TERN_REGRESS_FORMAT_ENUM(id, number, name) TERN_REGRESS_AS_##id = number,
    TERN_REGRESS_FORMAT_LIST(TERN_REGRESS_FORMAT_ENUM)
#undef TERN_REGRESS_FORMAT_ENUM
} tern_regress_format;

#ifdef __cplusplus
extern "C" {
#endif

/* "regression"; "unknown" for numbers that are no states. Static. */
TERN_API const char *tern_regress_state_name(tern_regress_state state);

TERN_API tern_regress_options tern_regress_options_default(void);

/* Measures the benchmarks of the baseline again. Of `bench` (may be NULL), `family` leaves out all others; cpu and memory are those
 * that the baseline was taken with (tern_bench_note_settings) where they are not given; timeout_s (60; 600 for a test of a model) is for each row, warmups before
 * its first sample. Suites and threads are the baseline's own, and so is how samples are taken: in turns with the limit, as many runs in each,
 * in parts as long as its sessions took for a row; `options` say how many of them. budget_s and rounds of `bench` are not read. `history` (may be NULL) is
 * the baseline with the checks since. TERN_STATE: the baseline is of another machine, and any_host is false. TERN_CANCELLED: bench->stop
 * said so, and *out is a report all the same, in which what was not measured is missing. */
TERN_API tern_status tern_regress_run(const tern_regress_options *options, const tern_bench_options *bench,
                                      const tern_results *base, const tern_results *history,
                                      tern_regress_report **out);

/* The same with results that were measured before: one look at the samples there are, of all their sessions. What sessions of
 * either differ by is the noise floor. Nothing is measured again here, so what one session shows alone is undecided, better or worse:
 * every one of two or more has to show it; and so are samples of more than twice as many runs, or less than half. */
TERN_API tern_status tern_regress_compare(const tern_regress_options *options, const tern_results *base,
                                          const tern_results *history, const tern_results *now,
                                          tern_regress_report **out);

/* Of two builds that were run in turns: session i of `old` (`run` of its rows) was next to session i of `now`, so that what slowed the
 * machine down slowed down both. What one of the two could not measure is left out of both. The medians of sessions are compared in pairs (Wilcoxon's signed-rank test), and need no noise floor. One look at the pairs
 * there are: with fewer than tern_regress_pairs_needed nothing can be called slower. */
TERN_API tern_status tern_regress_pairs(const tern_regress_options *options, const tern_results *old,
                                        const tern_results *now, tern_regress_report **out);

/* How many pairs it takes at least for a change of one among so many rows to be significant; 0: the options are nonsense. */
TERN_API int tern_regress_pairs_needed(const tern_regress_options *options, int rows);

TERN_API void tern_regress_free(tern_regress_report *report); /* NULL is fine */

TERN_API int tern_regress_rows(const tern_regress_report *report); /* 0 for NULL */
/* TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_regress_at(const tern_regress_report *report, int i, tern_regress_row *out);
/* The worst of all rows but for missing ones: TERN_REGRESS_SAME if there is nothing else. */
TERN_API tern_regress_state tern_regress_worst(const tern_regress_report *report);
/* What was measured, with the conditions, to be kept (tern_baseline_add_check); the report's. NULL for NULL. */
TERN_API const tern_results *tern_regress_results(const tern_regress_report *report);

/* "text", "json" or "html"; TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_regress_format_parse(const char *name, tern_regress_format *out);
/* Free with tern_string_free. HTML is one page that needs nothing else. */
TERN_API tern_status tern_regress_write(const tern_regress_report *report, tern_regress_format format,
                                        char **text);

/* What a series of medians (n >= 1, all above zero), oldest first, tells. */
TERN_API tern_status tern_history_read(const double *medians, int n, tern_history *out);

#ifdef __cplusplus
}
#endif
#endif
