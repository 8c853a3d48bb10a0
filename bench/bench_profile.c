/* bench_profile.c - what a profile costs: a step of a decoder (one token), with four layers of the width of BitNet 2B-4T.
 *
 * profiler_on_overhead_pct    time of a step while it is profiled / time of one that is not - 1; samples in turns (off on, on
 *                             off, ...), the median of the ratios of neighbours: as many as it takes until its 95 % interval
 *                             is NARROW to either side, or the time is up. The detail tells the interval
 * profiler_off_overhead_pct   cost of a disabled event x events of a step, of all its threads / time of a step
 *
 * A negative overhead is noise: the machine's own, which the interval tells. */
#include <tern/tern.h>

#include "base/clock.h"
#include "bench_decoder.h"
#include "bench_event.h"
#include "measure/bootstrap.h"

enum { WARMUPS = 12, STEPS = 2, PAIRS_FIRST = 60, PAIRS_MOST = 4000 };
static const double narrow = 0.002, most_s = 40;

/* The same while it is profiled; tells how many events a step has, and on how many threads. */
static tern_status decode_profiled(decoder *d, double *ns, double *events, int *threads)
{
    tern_profile *profile;
    tern_profile_info info;
    TERN_TRY(tern_profile_start(NULL));
    tern_status status = decode(d, STEPS, ns);
    TERN_TRY(tern_profile_stop(&profile));
    tern_profile_get_info(profile, &info);
    tern_profile_free(profile);
    *events = (double)info.events / STEPS;
    *threads = info.threads;
    return info.lost ? TERN_STATE : status;
}

static tern_status record_event(void *user)
{
    (void)user;
    bench_one_event();
    return TERN_OK;
}

/* An event that is recorded, alone: two looks at the clock and a line in the ring. */
static tern_status event_on(double *ns)
{
    enum { EVENTS = 100000, ROUNDS = 9 };
    double rounds[ROUNDS];
    TERN_TRY(tern_trace_start(NULL));
    for (int r = 0; r < ROUNDS; r++)
        TERN_TRY(tern__thing_time(&(tern__thing){record_event, NULL, EVENTS}, &rounds[r]));
    *ns = bench_median(rounds, ROUNDS) * 1e9;
    return tern_trace_stop(NULL, NULL, NULL);
}

typedef struct pairs {
    double off[PAIRS_MOST], ratio[PAIRS_MOST];
    int n;
    double events; /* of a step */
    int threads;
} pairs;

static tern_status take_pair(decoder *d, pairs *p)
{
    const int i = p->n++;
    double on = 0;
    if (i % 2)
        TERN_TRY(decode_profiled(d, &on, &p->events, &p->threads));
    TERN_TRY(decode(d, STEPS, &p->off[i]));
    if (i % 2 == 0)
        TERN_TRY(decode_profiled(d, &on, &p->events, &p->threads));
    p->ratio[i] = on / p->off[i];
    return TERN_OK;
}

/* Looks again whenever there are half as many more. */
static tern_status take_pairs(decoder *d, pairs *p, tern__interval *sure)
{
    const uint64_t start = tern__now_ns();
    for (int next = PAIRS_FIRST;; next += next / 2) {
        while (p->n < next && p->n < PAIRS_MOST)
            TERN_TRY(take_pair(d, p));
        TERN_TRY(tern__median_interval(p->ratio, p->n, 0.95, 1, sure));
        if (sure->high - sure->low <= 2 * narrow || p->n == PAIRS_MOST ||
            (double)(tern__now_ns() - start) * 1e-9 > most_s)
            return TERN_OK;
    }
}

static tern_status measure(decoder *d, bench_output *out)
{
    static pairs p;
    tern__interval sure;
    double ignored;
    TERN_TRY(decode(d, WARMUPS, &ignored));
    TERN_TRY(take_pairs(d, &p, &sure));
    const double step = bench_median(p.off, p.n), cost = bench_median(p.ratio, p.n) - 1, events = p.events;
    const int threads = p.threads;
    double event_ns;
    TERN_TRY(event_on(&event_ns));
    bench_row(
        out, "profiler_on_overhead_pct", 100 * cost, "%", "lower",
        "a step of %.0f us, %d threads, %.0f events of each; median of %d pairs of %d steps, 95 %% interval "
        "%.2f to %.2f %%; recording an event takes %.0f ns by itself, those of a thread %.2f %% of the step",
        step * 1e-3, threads, events / threads, p.n, STEPS, 100 * (sure.low - 1), 100 * (sure.high - 1),
        event_ns, 100 * event_ns * events / threads / step);
    const bench_event_cost event = bench_event_off();
    bench_row(out, "profiler_off_overhead_pct", 100 * event.ns * events / step, "%", "lower",
              "disabled event %s%.3f ns x %.0f events of %d threads / %.0f us for a step",
              event.bounded ? "at most " : "", event.ns, events, threads, step * 1e-3);
    return TERN_OK;
}

int main(int argc, char **argv)
{
    return decoder_main("bench_profile", argc, argv, measure);
}
