/* compare.c - rank tests, intervals and noise of two samples, put together to a verdict; and the taking of more samples. */
#include <tern/compare.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/status.h"
#include "measure/bootstrap.h"
#include "measure/compare/compare_progress.h"
#include "measure/compare/rank_tests.h"
#include "measure/stats.h"
#include "measure/timing.h"

enum {
    FIRST_LOOK = 10, /* pairs; with fewer no test can be sure enough */
    PAIRS_MOST = 10000,
    SAMPLES_MOST = 1 << 20,
};
static const double confidence = 0.95;

const char *tern_verdict_name(tern_verdict verdict)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_VERDICT_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)verdict);
}

/* ---- what is asked ---- */

tern_compare_options tern_compare_options_default(void)
{
    return (tern_compare_options){0};
}

static tern_status settle(const tern_compare_options *options, tern_compare_options *o)
{
    *o = options ? *options : tern_compare_options_default();
    TERN__FAIL_IF(!(o->threshold >= 0 && o->threshold < 10), TERN_INVALID_ARGUMENT,
                  "compare: a threshold of %g; 0.05 is five per cent", o->threshold);
    TERN__FAIL_IF(!(o->alpha >= 0 && o->alpha < 0.5), TERN_INVALID_ARGUMENT,
                  "compare: a chance of %g of a false alarm; give less than 0.5", o->alpha);
    TERN__FAIL_IF(!(o->spend >= 0 && o->spend <= 1), TERN_INVALID_ARGUMENT,
                  "compare: a look that spends %g of the chance of a false alarm; give at most 1", o->spend);
    TERN__FAIL_IF(!(o->noise >= 0), TERN_INVALID_ARGUMENT, "compare: noise of %g", o->noise);
    TERN__FAIL_IF(!(o->budget_s >= 0 && isfinite(o->budget_s)), TERN_INVALID_ARGUMENT,
                  "compare: a time budget of %g s", o->budget_s);
    TERN__FAIL_IF(o->rounds < 0 || o->rounds > PAIRS_MOST, TERN_INVALID_ARGUMENT,
                  "compare: %d rounds; 1 to %d can be made", o->rounds, PAIRS_MOST);
    o->threshold = o->threshold > 0 ? o->threshold : 0.05;
    o->alpha = o->alpha > 0 ? o->alpha : 0.01;
    o->spend = o->spend > 0 ? o->spend : 1;
    o->budget_s = o->budget_s > 0 ? o->budget_s : 5;
    o->rounds = o->rounds > 0 ? o->rounds : 200;
    return TERN_OK;
}

static tern_status check_samples(const char *whose, const double *x, int n)
{
    TERN__FAIL_IF(!x || n < 1 || n > SAMPLES_MOST, TERN_INVALID_ARGUMENT,
                  "compare: %s has %d samples; give 1 to %d", whose, n, SAMPLES_MOST);
    for (int i = 0; i < n; i++)
        TERN__FAIL_IF(!(isfinite(x[i]) && x[i] > 0), TERN_INVALID_ARGUMENT,
                      "compare: sample %d of %s is %g; all must be above zero", i, whose, x[i]);
    return TERN_OK;
}

/* ---- what samples say ---- */

static tern_status median_of(const double *x, int n, double *out)
{
    double *sorted = tern__alloc_zero((size_t)n, sizeof *sorted);
    if (!sorted)
        return tern__out_of_memory((size_t)n * sizeof *sorted);
    memcpy(sorted, x, (size_t)n * sizeof *x);
    *out = tern__stats_of(sorted, n).median;
    tern__free(sorted);
    return TERN_OK;
}

/* How far can a thing seem to be from itself? Neighbouring samples of A, and of B, differ by noise alone: this is how far the
 * median of so many such differences may be from none. Infinite if there are too few to tell. */
static tern_status noise_of(const double *a, int n, const double *b, int m, uint64_t seed, double *out)
{
    const int pairs = n / 2 + m / 2;
    *out = INFINITY;
    if (pairs < TERN__INTERVAL_LEAST)
        return TERN_OK;
    double *d = tern__alloc_zero((size_t)pairs, sizeof *d);
    if (!d)
        return tern__out_of_memory((size_t)pairs * sizeof *d);
    int k = 0;
    for (int i = 0; i + 1 < n; i += 2)
        d[k++] = log(a[i + 1] / a[i]);
    for (int i = 0; i + 1 < m; i += 2)
        d[k++] = log(b[i + 1] / b[i]);
    tern__interval bounds;
    tern_status status = tern__median_interval(d, pairs, confidence, seed, &bounds);
    tern__free(d);
    if (status == TERN_OK)
        *out = expm1(fmax(fabs(bounds.low), fabs(bounds.high)));
    return status;
}

/* Does the interval lie within the threshold? Not one that there is none of. */
static bool is_within(const tern_compare_options *o, tern__interval ratio)
{
    return ratio.low > 1 / (1 + o->threshold) && ratio.high < 1 + o->threshold;
}

/* How sure an interval must be for "same" at this look: what 95 % leave open is shared out over the looks, as alpha is. */
static double confidence_of(const tern_compare_options *o, double alpha)
{
    return 1 - (1 - confidence) * fmin(1, alpha / o->alpha);
}

/* Is there no other look? Then the interval that is told is the one that counts. */
static bool is_only(const tern_compare_options *o, double alpha)
{
    return alpha >= o->alpha;
}

/* `alpha` is what this look may use up of o->alpha; `sure` is the ratio's interval of confidence_of it. */
static tern_verdict decide(const tern_compare_options *o, const tern_comparison *c, tern__interval sure)
{
    const double change = fmax(c->ratio, 1 / c->ratio) - 1;
    /* Against many samples of A a few of B are significant at once, though they may all be of one bad moment. */
    const bool enough = c->n_a >= TERN__INTERVAL_LEAST && c->n_b >= TERN__INTERVAL_LEAST;
    if (enough && c->p <= c->alpha && change > o->threshold && change > c->noise)
        return c->ratio > 1 ? TERN_VERDICT_SLOWER : TERN_VERDICT_FASTER;
    return is_within(o, sure) ? TERN_VERDICT_SAME : TERN_VERDICT_UNDECIDED;
}

static tern_status look_at_pairs(const tern_compare_options *o, const double *a, const double *b, int n,
                                 double alpha, tern_comparison *c)
{
    double *d = tern__alloc_zero((size_t)n, sizeof *d);
    if (!d)
        return tern__out_of_memory((size_t)n * sizeof *d);
    for (int i = 0; i < n; i++)
        d[i] = log(b[i] / a[i]);
    tern__rank_test test = {0};
    tern__interval bounds = {0}, sure = {0};
    double middle = 0;
    tern_status status = tern__signed_rank(d, n, &test);
    if (status == TERN_OK)
        status = tern__median_interval(d, n, confidence, o->seed, &bounds);
    sure = bounds;
    if (status == TERN_OK && !is_only(o, alpha))
        status = tern__median_interval(d, n, confidence_of(o, alpha), o->seed, &sure);
    if (status == TERN_OK)
        status = median_of(d, n, &middle);
    tern__free(d);
    TERN_TRY(status);
    TERN_TRY(median_of(a, n, &c->median_a));
    TERN_TRY(median_of(b, n, &c->median_b));
    TERN_TRY(noise_of(a, n, b, n, o->seed + 1, &c->noise));
    c->noise = fmax(c->noise, o->noise);
    c->n_a = c->n_b = n;
    c->looks++;
    c->ratio = exp(middle);
    c->ratio_low = exp(bounds.low);
    c->ratio_high = exp(bounds.high);
    c->p = test.p;
    c->alpha = alpha;
    c->verdict = decide(o, c, (tern__interval){exp(sure.low), exp(sure.high)});
    return TERN_OK;
}

tern_status tern_compare_pairs(const tern_compare_options *options, const double *a, const double *b, int n,
                               tern_comparison *out)
{
    tern_compare_options o;
    tern_comparison c = {0};
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "compare_pairs: an argument is NULL");
    TERN_TRY(settle(options, &o));
    TERN_TRY(check_samples("A", a, n));
    TERN_TRY(check_samples("B", b, n));
    TERN_TRY(look_at_pairs(&o, a, b, n, o.alpha * o.spend, &c));
    *out = c;
    return TERN_OK;
}

static tern_status look_at_samples(const tern_compare_options *o, const double *a, int n, const double *b,
                                   int m, double alpha, tern_comparison *c)
{
    tern__rank_test test;
    tern__interval bounds, sure;
    TERN_TRY(median_of(a, n, &c->median_a));
    TERN_TRY(median_of(b, m, &c->median_b));
    TERN_TRY(tern__mann_whitney(a, n, b, m, &test));
    TERN_TRY(tern__bootstrap_ratio(a, n, b, m, confidence, o->seed, &bounds));
    sure = bounds;
    if (!is_only(o, alpha))
        TERN_TRY(tern__bootstrap_ratio(a, n, b, m, confidence_of(o, alpha), o->seed, &sure));
    TERN_TRY(noise_of(a, n, b, m, o->seed + 1, &c->noise));
    c->noise = fmax(c->noise, o->noise);
    c->n_a = n;
    c->n_b = m;
    c->looks++;
    c->ratio = c->median_b / c->median_a;
    c->ratio_low = bounds.low;
    c->ratio_high = bounds.high;
    c->p = test.p;
    c->alpha = alpha;
    c->verdict = decide(o, c, sure);
    return TERN_OK;
}

tern_status tern_compare_samples(const tern_compare_options *options, const double *a, int n, const double *b,
                                 int m, tern_comparison *out)
{
    tern_compare_options o;
    tern_comparison c = {0};
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "compare_samples: an argument is NULL");
    TERN_TRY(settle(options, &o));
    TERN_TRY(check_samples("A", a, n));
    TERN_TRY(check_samples("B", b, m));
    TERN_TRY(look_at_samples(&o, a, n, b, m, o.alpha * o.spend, &c));
    *out = c;
    return TERN_OK;
}

/* ---- taking samples until it is clear ---- */

typedef struct race {
    tern_compare_options o;
    tern__thing a, b;
    double *samples_a, *samples_b; /* (o.rounds) */
    int n;                         /* taken so far */
    uint64_t start;
    double longest_s, look_s; /* the longest pair, and the last look at them */
    double used;              /* share of alpha that former looks had */
} race;

static tern_status take_pair(race *r)
{
    const bool b_first = r->n % 2;
    if (b_first)
        TERN_TRY(tern__thing_time(&r->b, &r->samples_b[r->n]));
    TERN_TRY(tern__thing_time(&r->a, &r->samples_a[r->n]));
    if (!b_first)
        TERN_TRY(tern__thing_time(&r->b, &r->samples_b[r->n]));
    TERN__FAIL_IF(!(r->samples_a[r->n] > 0 && r->samples_b[r->n] > 0), TERN_STATE,
                  "compare: a sample took no time that the clock can see");
    r->n++;
    return TERN_OK;
}

static double seconds_since(uint64_t start)
{
    return (double)(tern__now_ns() - start) * 1e-9;
}

static tern_status take_sample(race *r)
{
    const uint64_t start = tern__now_ns();
    TERN_TRY(take_pair(r));
    r->longest_s = fmax(r->longest_s, seconds_since(start));
    return TERN_OK;
}

static tern_status look(race *r, double alpha, tern_comparison *c)
{
    const uint64_t start = tern__now_ns();
    tern_status status = look_at_pairs(&r->o, r->samples_a, r->samples_b, r->n, alpha, c);
    r->look_s = seconds_since(start);
    return status;
}

double tern__compare_progress(double used_s, double next_s, double budget_s, int n, int rounds)
{
    return used_s + next_s > budget_s ? 1 : fmin(1, fmax(used_s / budget_s, (double)n / rounds));
}

static double progress(const race *r)
{
    return tern__compare_progress(seconds_since(r->start), r->longest_s + r->look_s, r->o.budget_s, r->n,
                                  r->o.rounds);
}

static tern_status run_race(race *r, tern_comparison *c)
{
    const tern__turns turns = {.warmups = 1, .sample_s = r->o.budget_s / r->o.rounds / 2.5};
    TERN_TRY(tern__thing_ready(&r->a, &turns));
    TERN_TRY(tern__thing_ready(&r->b, &turns));
    /* The same number of runs in a sample of either: what a sample costs besides them is the same then. */
    r->a.repeats = r->b.repeats = r->a.repeats < r->b.repeats ? r->a.repeats : r->b.repeats;
    for (int next = FIRST_LOOK;; next += next / 2) {
        double known;
        do {
            TERN_TRY(take_sample(r));
            known = progress(r);
        } while (r->n < next && known < 1);
        /* Each look gets the share of alpha by which knowledge has grown: however often it is looked at, the sum is alpha. */
        TERN_TRY(look(r, r->o.alpha * r->o.spend * (known - r->used), c));
        r->used = known;
        if (c->verdict != TERN_VERDICT_UNDECIDED || known >= 1)
            return TERN_OK;
    }
}

tern_status tern_compare_run(const tern_compare_options *options, const tern_contender *a,
                             const tern_contender *b, tern_comparison *out)
{
    race r = {0};
    tern_comparison c = {0};
    TERN__FAIL_IF(!a || !b || !out || !a->run || !b->run, TERN_INVALID_ARGUMENT,
                  "compare_run: an argument is NULL");
    TERN_TRY(settle(options, &r.o));
    r.a = (tern__thing){.run = a->run, .user = a->user};
    r.b = (tern__thing){.run = b->run, .user = b->user};
    r.samples_a = tern__alloc_zero((size_t)r.o.rounds, sizeof(double));
    r.samples_b = tern__alloc_zero((size_t)r.o.rounds, sizeof(double));
    r.start = tern__now_ns();
    tern_status status = r.samples_a && r.samples_b
                             ? run_race(&r, &c)
                             : tern__out_of_memory((size_t)r.o.rounds * 2 * sizeof(double));
    c.seconds = seconds_since(r.start);
    tern__free(r.samples_a);
    tern__free(r.samples_b);
    if (status == TERN_OK)
        *out = c;
    return status;
}
