/* history.c - a benchmark's medians over the sessions: how much they differ when nothing changed, where they stepped, where they go.
 * All on logarithms, so that twice as fast and twice as slow are the same distance. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <tern/regress.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "measure/compare/regress.h"
#include "measure/stats.h"

enum {
    VALUES_MOST = 4096,
    PART_LEAST = 4, /* sessions of a level */
};
static const double change_p = 0.01;
/* How much more surely distances have to tell a step than ranks: they take sessions for normal and independent ones. By simulation. */
static const double levels_strict = 100;
static const double resolution = 1e-6; /* that of clocks: no two medians are more equal than that */

/* Two-sided 99 % quantile of Student's t. */
static double t_quantile(int freedom)
{
    static const double table[] = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169};
    return freedom <= (int)TERN__COUNT(table) ? table[freedom - 1] : 2.576 + 6.2 / freedom;
}

static double mean_of(const double *x, int n)
{
    double mean = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    return mean;
}

/* Standard deviation of few values, among which nothing changed. */
static double deviation(const double *x, int n)
{
    const double mean = mean_of(x, n);
    double squares = 0;
    for (int i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return sqrt(squares / (n - 1));
}

/* Of many, among which some things changed: neighbours differ by noise alone but for the few between which one did, and those do not
 * move a median. */
static double deviation_of_neighbours(const double *x, int n, double *room)
{
    for (int i = 0; i + 1 < n; i++)
        room[i] = fabs(x[i + 1] - x[i]);
    return tern__stats_of(room, n - 1).median / 0.6745 / sqrt(2);
}

/* How much values differ, and how many independent differences say so: 0 of fewer than two. */
static double spread_of(const double *x, int n, double *room, int *freedom)
{
    const bool few = n < TERN__HISTORY_LONG;
    /* Differences of neighbours share values, and so know less than their number says. */
    *freedom = n < 2 ? 0 : few ? n - 1 : 2 * (n - 1) / 3;
    return n < 2 ? 0 : few ? deviation(x, n) : deviation_of_neighbours(x, n, room);
}

/* How far one more value may be from the middle of n such: a prediction interval. */
static double noise_floor(double spread, int freedom, int n)
{
    return freedom < 1 ? NAN : expm1(t_quantile(freedom) * spread * sqrt(1 + 1.0 / n));
}

/* Each set differs from itself by noise alone, whatever lies between the two. */
tern_status tern__history_noise(const double *a, int n, const double *b, int m, double *out)
{
    const int most = n > m ? n : m;
    double *x = tern__alloc_zero(2 * (size_t)most + 1, sizeof *x), spread[2];
    const double *const sets[] = {a, b};
    const int sizes[] = {n, m};
    int freedom[2];
    if (!x)
        return tern__out_of_memory(2 * (size_t)most * sizeof *x);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < sizes[k]; i++)
            x[i] = log(sets[k][i]);
        spread[k] = spread_of(x, sizes[k], x + most, &freedom[k]);
    }
    tern__free(x);
    const int all = freedom[0] + freedom[1];
    const double squares = freedom[0] * spread[0] * spread[0] + freedom[1] * spread[1] * spread[1];
    *out = noise_floor(all > 0 ? sqrt(squares / all) : 0, all, n > 0 ? n : 1);
    return TERN_OK;
}

/* Sessions that follow each other resemble each other: a machine keeps its mood. So many of them know as much as `n` / this of
 * independent ones, by the correlation of neighbours in `x`, from which what is to be told (a line, two levels) was taken away, and whose
 * places `at` - 1 and `at` are no neighbours (0: all are). What was taken away took some of the correlation with it, which is put back. */
static double dependence(const double *x, int n, int at)
{
    double squares = 0, products = 0;
    for (int i = 0; i < n; i++) {
        squares += x[i] * x[i];
        if (i > 0 && i != at)
            products += x[i - 1] * x[i];
    }
    const double seen = squares > 0 ? products / squares : 0;
    const double r = fmin(0.95, fmax(0, seen + (1 + 3 * fmax(0, seen)) / n));
    return (1 + r) / (1 - r);
}

static void read_trend(const double *x, int n, double *room, tern_history *h)
{
    double score = 0, ties = 0;
    int pairs = 0;
    for (int i = 0; i < n; i++) {
        int equal = 1, before = 0;
        for (int j = 0; j < n; j++) {
            if (j > i) {
                room[pairs++] = (x[j] - x[i]) / (j - i);
                score += (x[j] > x[i]) - (x[j] < x[i]);
            }
            equal += j > i && x[j] == x[i];
            before += j < i && x[j] == x[i];
        }
        if (before == 0)
            ties += (double)equal * (equal - 1) * (2.0 * equal + 5);
    }
    const double slope = tern__stats_of(room, pairs).median;
    for (int i = 0; i < n; i++)
        room[i] = x[i] - slope * i;
    const double middle = mean_of(room, n);
    for (int i = 0; i < n; i++)
        room[i] -= middle;
    const double variance = ((double)n * (n - 1) * (2.0 * n + 5) - ties) / 18 *
                            (n >= TERN__HISTORY_LONG ? dependence(room, n, 0) : 1);
    const double distance = fmax(0, fabs(score) - 1);
    h->trend = expm1(slope);
    h->trend_p = variance > 0 ? erfc(distance / sqrt(2 * variance)) : 1;
}

/* How much less the n values x know than their number says, if they have two levels, the second from `at` on. */
static double dependence_of_levels(const double *x, int n, int at, double *room)
{
    const double before = mean_of(x, at), after = mean_of(x + at, n - at);
    for (int i = 0; i < n; i++)
        room[i] = x[i] - (i < at ? before : after);
    return dependence(room, n, at);
}

/* Pettitt: the split of x[first..end) after which values rank highest or lowest most clearly. */
static double find_step(const double *x, int first, int end, double *room, int *at)
{
    const double n = end - first;
    double u = 0, best = 0;
    for (int t = first; t + 1 < end; t++) {
        for (int j = first; j < end; j++)
            u += (x[j] > x[t]) - (x[j] < x[t]);
        const bool fits = t + 1 - first >= PART_LEAST && end - (t + 1) >= PART_LEAST;
        if (fits && fabs(u) > best) {
            best = fabs(u);
            *at = t + 1;
        }
    }
    if (best == 0)
        return 1;
    const double less = dependence_of_levels(x + first, end - first, *at - first, room);
    return fmin(1, 2 * exp(-6 * best * best / (n * n * n + n * n) / less));
}

/* The chance that Student's t of so many degrees of freedom is farther from 0 than `t`. */
static double t_tail(double t, int freedom)
{
    const double angle = atan(t / sqrt(freedom)), c = cos(angle);
    const bool odd = freedom % 2 != 0;
    double term = odd ? c : 1, sum = freedom == 1 ? 0 : term;
    for (int k = odd ? 3 : 2; k <= freedom - 2; k += 2) {
        term *= c * c * (k - 1) / k;
        sum += term;
    }
    const double inside = odd ? 2 / acos(-1) * (angle + sin(angle) * sum) : sin(angle) * sum;
    return fmax(0, 1 - inside);
}

/* Two levels that have no value in common: the split of x[first..end) at which they are farthest apart, beside how much values differ
 * within them. Ranks of so few sessions as follow a change at first cannot be significant, however large it is; distances can. */
static double find_levels(const double *x, int first, int end, double *room, int *at)
{
    const int n = end - first;
    double best = 0;
    for (int t = first + PART_LEAST; t + PART_LEAST <= end; t++) {
        const double before = mean_of(x + first, t - first), after = mean_of(x + t, end - t);
        double squares = 0, low = INFINITY, high = -INFINITY; /* of the upper level, of the lower one */
        for (int i = first; i < end; i++) {
            const double mean = i < t ? before : after;
            squares += (x[i] - mean) * (x[i] - mean);
            low = mean == fmax(before, after) ? fmin(low, x[i]) : low;
            high = mean == fmin(before, after) ? fmax(high, x[i]) : high;
        }
        const double error = sqrt(squares / (n - 2) * (1.0 / (t - first) + 1.0 / (end - t)));
        const double distance = fabs(after - before) / fmax(error, resolution);
        if (low > high && distance > best) {
            best = distance;
            *at = t;
        }
    }
    if (best == 0)
        return 1;
    const double less = dependence_of_levels(x + first, n, *at - first, room);
    const int splits = n - 2 * PART_LEAST + 1;
    return fmin(1, levels_strict * splits * t_tail(best / sqrt(less), n - 2));
}

static double median_between(const double *x, int first, int end, double *room)
{
    memcpy(room, x + first, (size_t)(end - first) * sizeof *x);
    return tern__stats_of(room, end - first).median;
}

/* Parts that are still to be looked at wait on a stack: each step makes two of one. */
static void find_changes(const double *x, int n, double *room, tern_history *h)
{
    int parts[TERN_CHANGES_MOST + 1][2] = {{0, n}}, waiting = 1;
    while (waiting > 0 && h->n_changes < TERN_CHANGES_MOST) {
        const int first = parts[--waiting][0], end = parts[waiting][1];
        int at = 0;
        if (end - first < TERN__HISTORY_LONG)
            continue;
        double p = find_step(x, first, end, room, &at);
        if (p > change_p)
            p = find_levels(x, first, end, room, &at);
        if (p > change_p)
            continue;
        int place = h->n_changes++;
        for (; place > 0 && h->changes[place - 1].at > at; place--)
            h->changes[place] = h->changes[place - 1];
        h->changes[place] = (tern_change){.at = at, .p = p};
        parts[waiting][0] = at, parts[waiting++][1] = end;
        parts[waiting][0] = first, parts[waiting++][1] = at;
    }
    for (int i = 0; i < h->n_changes; i++) {
        const int first = i > 0 ? h->changes[i - 1].at : 0, at = h->changes[i].at;
        const int end = i + 1 < h->n_changes ? h->changes[i + 1].at : n;
        h->changes[i].ratio = exp(median_between(x, at, end, room) - median_between(x, first, at, room));
    }
}

bool tern__history_has_trend(const tern_history *h)
{
    return h->n >= TERN__HISTORY_LONG && h->trend_p <= change_p;
}

tern_status tern_history_read(const double *medians, int n, tern_history *out)
{
    TERN__FAIL_IF(!medians || !out, TERN_INVALID_ARGUMENT, "history_read: an argument is NULL");
    TERN__FAIL_IF(n < 1, TERN_INVALID_ARGUMENT, "history: there are no values");
    if (n > VALUES_MOST) { /* what is older says little about today */
        medians += n - VALUES_MOST;
        n = VALUES_MOST;
    }
    for (int i = 0; i < n; i++)
        TERN__FAIL_IF(!(isfinite(medians[i]) && medians[i] > 0), TERN_INVALID_ARGUMENT,
                      "history: value %d is %g; all must be above zero", i, medians[i]);
    const size_t pairs = (size_t)n * (size_t)n / 2 + 1;
    double *x = tern__alloc_zero((size_t)n + pairs, sizeof *x);
    if (!x)
        return tern__out_of_memory(((size_t)n + pairs) * sizeof *x);
    tern_history h = {.n = n, .trend_p = 1};
    for (int i = 0; i < n; i++)
        x[i] = log(medians[i]);
    int freedom;
    const double spread = spread_of(x, n, x + n, &freedom);
    h.noise = noise_floor(spread, freedom, n);
    if (n >= 3)
        read_trend(x, n, x + n, &h);
    find_changes(x, n, x + n, &h);
    tern__free(x);
    *out = h;
    return TERN_OK;
}
