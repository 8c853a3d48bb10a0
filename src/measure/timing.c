/* timing.c - warm-up, samples long enough for the clock, rounds. */
#include "measure/timing.h"

#include "base/clock.h"
#include "base/status.h"

/* More runs in a sample than this are never needed: a run costs a call at least. */
static const int64_t repeats_most = 1 << 24;

tern_status tern__turns_settle(tern__turns *turns)
{
    TERN__FAIL_IF(turns->rounds < 0 || turns->rounds > TERN__ROUNDS_MOST, TERN_INVALID_ARGUMENT,
                  "measure: %d rounds; 1 to %d can be made", turns->rounds, TERN__ROUNDS_MOST);
    TERN__FAIL_IF(!(turns->budget_s >= 0) || !(turns->sample_s >= 0), TERN_INVALID_ARGUMENT,
                  "measure: a time budget is below zero");
    turns->warmups = turns->warmups == 0 ? 1 : turns->warmups < 0 ? 0 : turns->warmups;
    turns->rounds = turns->rounds == 0 ? TERN__ROUNDS : turns->rounds;
    turns->sample_s = turns->sample_s > 0 ? turns->sample_s : TERN__SAMPLE_S;
    return TERN_OK;
}

static double seconds_since(uint64_t start)
{
    return (double)(tern__now_ns() - start) * 1e-9;
}

static tern_status run_times(const tern__thing *thing, int64_t times)
{
    for (int64_t i = 0; i < times; i++)
        TERN_TRY(thing->run(thing->user));
    return TERN_OK;
}

tern_status tern__thing_time(const tern__thing *thing, double *seconds)
{
    const int64_t times = thing->repeats > 0 ? thing->repeats : 1;
    const uint64_t start = tern__now_ns();
    TERN_TRY(run_times(thing, times));
    *seconds = seconds_since(start) / (double)times;
    return TERN_OK;
}

tern_status tern__thing_ready(tern__thing *thing, const tern__turns *turns)
{
    TERN_TRY(run_times(thing, turns->warmups));
    if (thing->repeats > 0)
        return TERN_OK;
    int64_t times = 1;
    for (;;) {
        thing->repeats = times;
        double seconds;
        TERN_TRY(tern__thing_time(thing, &seconds));
        if (seconds * (double)times >= turns->sample_s || times >= repeats_most)
            return TERN_OK;
        /* A little more than seems necessary, but no more than eightfold: the first runs may be slow ones. */
        const double wanted = seconds > 0 ? turns->sample_s / seconds * 1.1 + 1 : (double)repeats_most;
        times = wanted < (double)(times * 8) ? (int64_t)wanted : times * 8;
    }
}

/* The same, with what the process computed. The processor's clock costs a system call, so it is read outside. */
static tern_status time_both(const tern__thing *thing, double *seconds, double *cpu)
{
    const int64_t times = thing->repeats > 0 ? thing->repeats : 1;
    const uint64_t start = tern__cpu_time_ns();
    TERN_TRY(tern__thing_time(thing, seconds));
    *cpu = (double)(tern__cpu_time_ns() - start) * 1e-9 / (double)times;
    return TERN_OK;
}

tern_status tern__time_turns(const tern__thing *things, int n, const tern__turns *turns, double *samples,
                             double *cpu, int *rounds)
{
    const uint64_t start = tern__now_ns();
    int done = 0;
    for (; done < turns->rounds; done++) {
        if (turns->budget_s > 0 && done >= TERN__ROUNDS_LEAST && seconds_since(start) >= turns->budget_s)
            break;
        for (int i = 0; i < n; i++) {
            const int at = i * turns->rounds + done;
            TERN_TRY(cpu ? time_both(&things[i], &samples[at], &cpu[at])
                         : tern__thing_time(&things[i], &samples[at]));
        }
    }
    *rounds = done;
    return TERN_OK;
}

double tern__turns_ratio(const double *samples, const tern__turns *turns, int rounds, int a, int b)
{
    double ratios[TERN__ROUNDS_MOST];
    for (int r = 0; r < rounds; r++)
        ratios[r] = samples[a * turns->rounds + r] / samples[b * turns->rounds + r];
    return tern__stats_of(ratios, rounds).median;
}

tern_status tern__time_undisturbed(tern__rounds_run run, void *user, double least, bool *undisturbed)
{
    *undisturbed = false;
    for (int i = 0; i < TERN__TRIES && !*undisturbed; i++) {
        double scaling = 0;
        TERN_TRY(run(user, &scaling));
        *undisturbed = !(scaling < least);
    }
    return TERN_OK;
}
