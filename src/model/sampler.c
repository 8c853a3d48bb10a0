/* sampler.c - chooses a token from logits. Everything is a function of its arguments: no state, no clock. */
#include <math.h>

#include <tern/generate.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/sequence.h"

tern_sampling tern_sampling_default(void)
{
    return (tern_sampling){.temperature = TERN_SAMPLING_TEMPERATURE,
                           .top_k = TERN_SAMPLING_TOP_K,
                           .top_p = TERN_SAMPLING_TOP_P,
                           .min_p = TERN_SAMPLING_MIN_P,
                           .repeat_penalty = TERN_SAMPLING_REPEAT_PENALTY,
                           .repeat_last = TERN_SAMPLING_REPEAT_LAST};
}

typedef struct candidate {
    float logit;
    int32_t token;
} candidate;

/* Likelier first, then the lower number. */
static bool before(candidate a, candidate b)
{
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

static bool behind(candidate a, candidate b)
{
    return before(b, a);
}

/* Puts c into the heap of n at the free place `at`, from which it sinks: above(x, y) says that x is nearer the top than y. */
static void sink(candidate *heap, int64_t n, int64_t at, candidate c, bool (*above)(candidate, candidate))
{
    while (2 * at + 1 < n) {
        int64_t child = 2 * at + 1;
        if (child + 1 < n && above(heap[child + 1], heap[child]))
            child++;
        if (!above(heap[child], c))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = c;
}

static void make_heap(candidate *heap, int64_t n, bool (*above)(candidate, candidate))
{
    for (int64_t at = n / 2 - 1; at >= 0; at--)
        sink(heap, n, at, heap[at], above);
}

/* Candidates that are sorted as far as somebody looks: the likeliest come from a heap one by one, and those that came stand behind it,
 * the first of them last. To sort all of 128,256 tokens would take about half as long as computing one with a 2B model. */
typedef struct ranking {
    candidate *c; /* (n) */
    int64_t n, in_heap;
} ranking;

/* The k likeliest of n logits. `c` has room for k. */
static ranking rank(int64_t n, const float *logits, int64_t k, candidate *c)
{
    for (int64_t i = 0; i < k; i++)
        c[i] = (candidate){logits[i], (int32_t)i};
    if (k < n)
        make_heap(c, k, behind); /* the least likely of the best so far is at the top */
    for (int64_t i = k; i < n; i++) {
        const candidate next = {logits[i], (int32_t)i};
        if (before(next, c[0]))
            sink(c, k, 0, next, behind);
    }
    make_heap(c, k, before);
    return (ranking){c, k, k};
}

/* The i-th likeliest, from 0 on. */
static candidate ranked(ranking *r, int64_t i)
{
    while (r->n - r->in_heap <= i) {
        const candidate top = r->c[0], last = r->c[--r->in_heap];
        sink(r->c, r->in_heap, 0, last, before);
        r->c[r->in_heap] = top;
    }
    return r->c[r->n - 1 - i];
}

static int32_t likeliest(int64_t n, const float *logits)
{
    candidate best = {logits[0], 0};
    for (int64_t i = 1; i < n; i++)
        if (before((candidate){logits[i], (int32_t)i}, best))
            best = (candidate){logits[i], (int32_t)i};
    return best.token;
}

/* Logits that are not numbers come from damaged weights: a token chosen from them would be made up. */
static tern_status check_logits(const char *who, int64_t n, const float *logits)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad += isnan(logits[i]);
    TERN__FAIL_IF(
        bad > 0, TERN_STATE,
        "%s: %lld of %lld logits are not numbers (NaN): the model's weights are damaged, or overflow", who,
        (long long)bad, (long long)n);
    return TERN_OK;
}

/* A number in [0, 1) from (seed, index): two rounds of a 64-bit finaliser over a Weyl sequence. Not
 * base/random.h's: a seed gives the text that it always gave. */
static double uniform(uint64_t seed, uint64_t index)
{
    uint64_t x = seed;
    for (int round = 0; round < 2; round++) {
        x += 0x9E3779B97F4A7C15u * (index + 1);
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        x ^= x >> 31;
    }
    return (double)(x >> 11) * 0x1p-53;
}

/* Once for each token, however often it was there: they may be as many as a context holds. */
static tern_status penalise(const tern_sampling *s, int64_t n, float *logits, int64_t n_recent,
                            const int32_t *recent)
{
    int64_t first = n_recent > s->repeat_last ? n_recent - s->repeat_last : 0;
    if (first == n_recent)
        return TERN_OK;
    bool *seen = tern__alloc_zero((size_t)n, sizeof *seen);
    if (!seen)
        return tern__out_of_memory((size_t)n * sizeof *seen);
    for (int64_t i = first; i < n_recent; i++) {
        if (recent[i] < 0 || recent[i] >= n || seen[recent[i]])
            continue;
        seen[recent[i]] = true;
        float *logit = &logits[recent[i]];
        *logit = *logit > 0 ? *logit / (float)s->repeat_penalty : *logit * (float)s->repeat_penalty;
    }
    tern__free(seen);
    return TERN_OK;
}

/* How many of the candidates stay by top_p and min_p. */
static int64_t cut(const tern_sampling *s, ranking *r)
{
    const double best = (double)ranked(r, 0).logit;
    double sum = INFINITY, reached = 0;
    int64_t kept = 0;
    if (s->top_p >= 1 && s->min_p <= 0)
        return r->n;
    if (s->top_p < 1) {
        sum = 0;
        for (int64_t i = 0; i < r->n; i++)
            sum += exp((double)r->c[i].logit - best);
    }
    for (; kept < r->n && reached < s->top_p * sum; kept++) {
        const double weight = exp((double)ranked(r, kept).logit - best);
        if (kept > 0 && weight < s->min_p)
            break;
        reached += weight;
    }
    return kept;
}

/* One of the n likeliest, which stand at the end: in their order if they are not all, else in that of the heap, which is as good. */
static int32_t draw(const tern_sampling *s, int64_t n, ranking *r, uint64_t index)
{
    const double best = (double)ranked(r, 0).logit;
    double sum = 0;
    for (int64_t i = r->n; i-- > r->n - n;)
        sum += exp(((double)r->c[i].logit - best) / s->temperature);
    double at = uniform(s->seed, index) * sum;
    int32_t token = ranked(r, 0).token;
    for (int64_t i = r->n; i-- > r->n - n;) {
        const double weight = exp(((double)r->c[i].logit - best) / s->temperature);
        if (weight > 0) /* whatever rounding leaves of `at` at the end: nothing that is forbidden */
            token = r->c[i].token;
        if (at < weight)
            break;
        at -= weight;
    }
    return token;
}

tern_status tern__sampling_check(const tern_sampling *s)
{
    TERN__FAIL_IF(!(s->temperature >= 0) || !isfinite(s->temperature), TERN_INVALID_ARGUMENT,
                  "sampling: a temperature of %g: it is 0 or more", s->temperature);
    TERN__FAIL_IF(s->top_k < 0, TERN_INVALID_ARGUMENT, "sampling: top_k %d is negative; 0 keeps all",
                  s->top_k);
    TERN__FAIL_IF(!(s->top_p > 0 && s->top_p <= 1), TERN_INVALID_ARGUMENT,
                  "sampling: top_p %g is not in (0, 1]; 1 keeps all", s->top_p);
    TERN__FAIL_IF(!(s->min_p >= 0 && s->min_p <= 1), TERN_INVALID_ARGUMENT,
                  "sampling: min_p %g is not in [0, 1]", s->min_p);
    TERN__FAIL_IF(!(s->repeat_penalty > 0) || !isfinite(s->repeat_penalty) || s->repeat_last < 0,
                  TERN_INVALID_ARGUMENT, "sampling: a repetition penalty of %g over %d tokens",
                  s->repeat_penalty, s->repeat_last);
    TERN__FAIL_IF(s->n_bias < 0 || (s->n_bias > 0 && !s->bias), TERN_INVALID_ARGUMENT,
                  "sampling: %d biases were given at NULL", s->n_bias);
    return TERN_OK;
}

tern_status tern_sample(const tern_sampling *sampling, int64_t n, float *logits, int64_t n_recent,
                        const int32_t *recent, uint64_t index, int32_t *out)
{
    TERN__FAIL_IF(!sampling || n < 1 || !logits || n_recent < 0 || (n_recent > 0 && !recent) || !out,
                  TERN_INVALID_ARGUMENT, "sample: an argument is NULL, or there are no logits");
    const tern_sampling *s = sampling;
    TERN_TRY(tern__sampling_check(s));
    for (int i = 0; i < s->n_bias; i++) {
        TERN__FAIL_IF(s->bias[i].token < 0 || s->bias[i].token >= n, TERN_OUT_OF_RANGE,
                      "sampling: a bias for token %d: there are %lld", (int)s->bias[i].token, (long long)n);
        TERN__FAIL_IF(!(s->bias[i].bias < INFINITY), TERN_INVALID_ARGUMENT,
                      "sampling: the bias of token %d is %g: a number, or -inf to forbid it",
                      (int)s->bias[i].token, (double)s->bias[i].bias);
        logits[s->bias[i].token] += s->bias[i].bias;
    }
    if (s->repeat_penalty != 1)
        TERN_TRY(penalise(s, n, logits, n_recent, recent));
    TERN_TRY(check_logits("sample", n, logits));
    const int32_t best = likeliest(n, logits);
    TERN__FAIL_IF(
        !isfinite(logits[best]), TERN_STATE,
        "sample: the best of %lld logits is %g: every token is forbidden, or one is infinitely likely",
        (long long)n, (double)logits[best]);
    if (s->temperature == 0 || s->top_k == 1) {
        *out = best;
        return TERN_OK;
    }
    const int64_t k = s->top_k > 0 && s->top_k < n ? s->top_k : n;
    candidate *candidates = tern__alloc((size_t)k * sizeof *candidates);
    if (!candidates)
        return tern__out_of_memory((size_t)k * sizeof *candidates);
    ranking r = rank(n, logits, k, candidates);
    *out = draw(s, cut(s, &r), &r, index);
    tern__free(candidates);
    return TERN_OK;
}

/* log(sum(exp(logits))). */
static double log_sum(int64_t n, const float *logits)
{
    double highest = (double)logits[likeliest(n, logits)], sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - highest);
    return highest + log(sum);
}

tern_status tern_logprob_of(int64_t n, const float *logits, int32_t token, float *out)
{
    TERN__FAIL_IF(n < 1 || !logits || !out, TERN_INVALID_ARGUMENT, "logprob_of: an argument is NULL");
    TERN__FAIL_IF(token < 0 || token >= n, TERN_OUT_OF_RANGE, "logprob_of: token %d: there are %lld",
                  (int)token, (long long)n);
    TERN_TRY(check_logits("logprob_of", n, logits));
    *out = (float)((double)logits[token] - log_sum(n, logits));
    return TERN_OK;
}

tern_status tern_logprobs(int64_t n, const float *logits, int k, tern_token_logprob *out, int *count)
{
    TERN__FAIL_IF(n < 1 || !logits || k < 1 || !out || !count, TERN_INVALID_ARGUMENT,
                  "logprobs: an argument is NULL, or none are asked for");
    TERN_TRY(check_logits("logprobs", n, logits));
    int64_t most = k < n ? k : n;
    candidate *top = tern__alloc((size_t)most * sizeof *top);
    if (!top)
        return tern__out_of_memory((size_t)most * sizeof *top);
    double all = log_sum(n, logits);
    ranking r = rank(n, logits, most, top);
    *count = (int)most;
    for (int i = 0; i < *count; i++) {
        const candidate c = ranked(&r, i);
        out[i] = (tern_token_logprob){c.token, (float)((double)c.logit - all)};
    }
    tern__free(top);
    return TERN_OK;
}
