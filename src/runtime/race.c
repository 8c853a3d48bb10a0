/* race.c - measuring several ways to do one thing. */
#include <string.h>

#include "base/clock.h"
#include "runtime/tuning.h"

tern_tune_options tern_tune_options_default(void)
{
    return (tern_tune_options){.runs = 7, .budget_ns = 250 * 1000000ull};
}

tern_tune_options tern__race_options(const tern_tune_options *asked)
{
    const tern_tune_options usual = tern_tune_options_default();
    tern_tune_options o = *asked;
    o.runs = o.runs > 0 ? o.runs : usual.runs;
    o.runs = o.runs < TERN__RACE_RUNS ? o.runs : TERN__RACE_RUNS;
    o.budget_ns = o.budget_ns ? o.budget_ns : usual.budget_ns;
    return o;
}

uint64_t tern__median(uint64_t *samples, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && samples[k] < samples[k - 1]; k--) {
            uint64_t swap = samples[k];
            samples[k] = samples[k - 1];
            samples[k - 1] = swap;
        }
    return n % 2 ? samples[n / 2] : samples[n / 2 - 1] / 2 + samples[n / 2] / 2;
}

static uint64_t run_once(tern__racer *racer, int i, tern_tune_run run, void *user)
{
    uint64_t ns = 0, start = tern__now_ns();
    racer->status = run(user, i, &ns);
    uint64_t passed = tern__now_ns() - start;
    racer->spent_ns += passed;
    ns = ns ? ns : passed;
    return ns ? ns : 1; /* 0 means unknown everywhere else */
}

/* A way whose best of four runs is three times slower than the best of all will not win. Fewer runs would not do: others
 * may use the machine just then. */
static bool is_hopeless(const tern__racer *racer, uint64_t best)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < racer->n; i++)
        least = racer->samples[i] < least ? racer->samples[i] : least;
    return racer->n >= 4 && least / 3 > best;
}

void tern__race(int n, tern__racer *racers, tern_tune_run run, void *user, const tern_tune_options *options,
                uint64_t *runs)
{
    const tern_tune_options o = tern__race_options(options);
    uint64_t best = UINT64_MAX;
    memset(racers, 0, (size_t)n * sizeof *racers);
    for (int i = 0; i < n; i++)
        run_once(&racers[i], i, run, user); /* warms up */
    for (int round = 0; round < o.runs; round++)
        for (int i = 0; i < n; i++) {
            tern__racer *r = &racers[i];
            if (r->status != TERN_OK || is_hopeless(r, best) || (r->n >= 2 && r->spent_ns > o.budget_ns))
                continue;
            uint64_t ns = run_once(r, i, run, user);
            ++*runs;
            if (r->status != TERN_OK)
                continue;
            r->samples[r->n++] = ns;
            best = ns < best ? ns : best;
        }
}
