/* bootstrap.c - see bootstrap.h. Where there are draws, samples are sorted once; a draw then is a count for each place of the order, and its median
 * is found by walking the counts. */
#include "measure/bootstrap.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/status.h"
#include "measure/stats.h"

typedef struct sample {
    double *sorted; /* (n) */
    int *drawn;     /* (n) how often each was drawn */
    int n;
    uint64_t seed, next; /* random block */
} sample;

static tern_status sample_create(const double *x, int n, uint64_t seed, sample *out)
{
    *out = (sample){tern__alloc_zero((size_t)n, sizeof(double)), tern__alloc_zero((size_t)n, sizeof(int)), n,
                    seed, 0};
    if (!out->sorted || !out->drawn)
        return tern__out_of_memory((size_t)n * (sizeof(double) + sizeof(int)));
    memcpy(out->sorted, x, (size_t)n * sizeof *x);
    tern__stats_of(out->sorted, n); /* puts them in order */
    return TERN_OK;
}

static void sample_free(sample *s)
{
    tern__free(s->sorted);
    tern__free(s->drawn);
}

static double drawn_median(sample *s)
{
    memset(s->drawn, 0, (size_t)s->n * sizeof *s->drawn);
    for (int i = 0; i < s->n; i += 4) {
        uint32_t words[4];
        tern__philox(s->seed, s->next++, words);
        for (int k = 0; k < 4 && i + k < s->n; k++)
            s->drawn[(uint64_t)words[k] * (uint64_t)s->n >> 32]++;
    }
    const int middle = (s->n - 1) / 2; /* of an even number, the lower one of the two */
    int place = 0, seen = s->drawn[0];
    while (seen <= middle)
        seen += s->drawn[++place];
    const double lower = s->sorted[place];
    if (s->n % 2)
        return lower;
    while (seen <= middle + 1)
        seen += s->drawn[++place];
    return (lower + s->sorted[place]) / 2;
}

/* Sorts medians (TERN__RESAMPLES). */
static tern__interval middle_part(double *medians, double confidence)
{
    const double outside = (1 - confidence) / 2 * TERN__RESAMPLES;
    int low = (int)outside;
    low = low < 0 ? 0 : low >= TERN__RESAMPLES / 2 ? TERN__RESAMPLES / 2 - 1 : low;
    tern__stats_of(medians, TERN__RESAMPLES);
    return (tern__interval){medians[low], medians[TERN__RESAMPLES - 1 - low]};
}

/* The inmost pair of samples, as many from either end, between which the median lies surely enough. */
static tern__interval between_samples(const double *sorted, int n, double confidence)
{
    double chance = pow(0.5, n), outside = 0; /* of k samples below the median, and of fewer */
    int k = 0;
    for (; k < n / 2 && 2 * (outside + chance) <= 1 - confidence; k++) {
        outside += chance;
        chance *= (double)(n - k) / (k + 1);
    }
    return k > 0 ? (tern__interval){sorted[k - 1], sorted[n - k]} : (tern__interval){NAN, NAN};
}

tern_status tern__median_interval(const double *x, int n, double confidence, uint64_t seed,
                                  tern__interval *out)
{
    double medians[TERN__RESAMPLES];
    sample s;
    *out = (tern__interval){NAN, NAN};
    if (n < TERN__INTERVAL_LEAST)
        return TERN_OK;
    tern_status status = sample_create(x, n, seed, &s);
    if (status == TERN_OK && n < TERN__INTERVAL_DRAWN) {
        *out = between_samples(s.sorted, n, confidence);
    } else if (status == TERN_OK) {
        for (int i = 0; i < TERN__RESAMPLES; i++)
            medians[i] = drawn_median(&s);
        *out = middle_part(medians, confidence);
    }
    sample_free(&s);
    return status;
}

tern_status tern__bootstrap_ratio(const double *a, int n, const double *b, int m, double confidence,
                                  uint64_t seed, tern__interval *out)
{
    double ratios[TERN__RESAMPLES];
    sample first, second = {0};
    *out = (tern__interval){NAN, NAN};
    if (n < TERN__INTERVAL_LEAST || m < TERN__INTERVAL_LEAST)
        return TERN_OK;
    tern_status status = sample_create(a, n, seed, &first);
    if (status == TERN_OK)
        status = sample_create(b, m, seed ^ 0x9e3779b97f4a7c15u, &second);
    if (status == TERN_OK) {
        for (int i = 0; i < TERN__RESAMPLES; i++) {
            const double below = drawn_median(&first);
            ratios[i] = drawn_median(&second) / below;
        }
        *out = middle_part(ratios, confidence);
    }
    sample_free(&first);
    sample_free(&second);
    return status;
}
