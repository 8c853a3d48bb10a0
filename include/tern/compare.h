/* compare.h - is B slower than A? An answer with a stated chance of being wrong, or "undecided".
 *
 * A difference is reported only if it is significant (a rank test, whose chance of a false alarm is shared out over all the
 * times that the samples were looked at), larger than what the caller calls a difference at all, and larger than the noise
 * that the same samples show between runs of one and the same thing. Two things are called the same only if the interval of
 * their ratio lies within the threshold, whose chance of being wrong (5 %) is shared out over the looks as well. All else is undecided, and more samples are taken as long as the budget lasts.
 *
 * Times are the usual subject, but any quantity above zero will do of which less is better: bytes, errors.
 * Threading: these calls keep nothing; what they run belongs to the caller. */
#ifndef TERN_COMPARE_H
#define TERN_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>

/* X(enumerator, number, name, meaning). B is what is compared, A what it is compared with. */
#define TERN_VERDICT_LIST(X)                                                         \
    X(UNDECIDED, 0, "undecided", "the samples allow no answer")                      \
    X(SAME, 1, "same", "the difference is smaller than the threshold")               \
    X(FASTER, 2, "faster", "B takes less, by more than the threshold and the noise") \
    X(SLOWER, 3, "slower", "B takes more, by more than the threshold and the noise")

typedef enum tern_verdict {
#define TERN_VERDICT_ENUM(id, number, name, meaning) TERN_VERDICT_##id = number,
    TERN_VERDICT_LIST(TERN_VERDICT_ENUM)
#undef TERN_VERDICT_ENUM
} tern_verdict;

/* Zeroed fields are the defaults. */
typedef struct tern_compare_options {
    double threshold; /* 0.05: a change by less than 5 % is none; 0 = 0.05 */
    double alpha;     /* chance of a difference being reported where there is none; 0 = 0.01 */
    double spend; /* share of it, and of the 5 % of "same", for this look, if there are others; 0 = 1, all */
    double
        noise; /* relative noise between sessions; the larger of it and the samples' own counts. 0: there are no
                     sessions; INFINITY: it is not known, and nothing is called a difference */
    double budget_s; /* how long tern_compare_run may take; 0 = 5 */
    int rounds;      /* how many pairs of samples it takes at most; 0 = 200 */
    uint64_t seed;   /* of the resampling */
} tern_compare_options;

typedef struct tern_comparison {
    tern_verdict verdict;
    int n_a, n_b;              /* samples */
    int looks;                 /* how often the samples were looked at */
    double seconds;            /* that measuring took; 0 for samples that were there */
    double median_a, median_b; /* seconds of a run, or what the samples are in */
    double ratio;              /* of B to A: above 1, B takes more */
    double ratio_low,
        ratio_high; /* its 95 % interval, by resampling; NaN with fewer than 6 samples of each */
    double p;       /* of the rank test at the last look */
    double alpha;   /* that p had to stay below, then */
    /* what a change must exceed to be more than noise: 0.01 is 1 %; INFINITY: it is not known */
    double noise;
} tern_comparison;

/* What can be run again and again; a status other than TERN_OK ends the comparison. */
typedef struct tern_contender {
    tern_status (*run)(void *user);
    void *user;
} tern_contender;

#ifdef __cplusplus
extern "C" {
#endif

/* "slower"; "unknown" for numbers that are no verdicts. Static. */
TERN_API const char *tern_verdict_name(tern_verdict verdict);

TERN_API tern_compare_options tern_compare_options_default(void);

/* Samples that were taken independently (another day, another process): Mann-Whitney's U test. At least one of each; all
 * finite and above zero. */
TERN_API tern_status tern_compare_samples(const tern_compare_options *options, const double *a, int n,
                                          const double *b, int m, tern_comparison *out);

/* Samples a[i] and b[i] (n) that were taken next to each other, so that what slows the machine down slows down both:
 * Wilcoxon's signed-rank test. */
TERN_API tern_status tern_compare_pairs(const tern_compare_options *options, const double *a, const double *b,
                                        int n, tern_comparison *out);

/* Runs A and B in turns (A B, B A, A B, ...) and looks at the pairs now and then, until the answer is clear or the budget
 * has been used. */
TERN_API tern_status tern_compare_run(const tern_compare_options *options, const tern_contender *a,
                                      const tern_contender *b, tern_comparison *out);

#ifdef __cplusplus
}
#endif
#endif
