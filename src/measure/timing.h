/* timing.h - the one way to time things: several of them in turns, round by round, after a warm-up.
 *
 * A machine that others use, or that changes its frequency, is fast in one second and slow in the next. What is to be
 * compared is therefore run alternately, and compared within a round (measure.h does so with a thing and its limit). */
#ifndef TERN_MEASURE_TIMING_H
#define TERN_MEASURE_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/status.h>

#include "measure/stats.h"

/* Something that can be run again and again. A status other than TERN_OK ends the measurement. */
typedef struct tern__thing {
    tern_status (*run)(void *user);
    void *user;
    int64_t repeats; /* runs in one sample; 0: as many as make a sample last tern__turns.sample_s */
} tern__thing;

/* Zeroed fields are the defaults. */
typedef struct tern__turns {
    int warmups;     /* runs of each thing before it counts; 0: one, -1: none */
    int rounds;      /* samples of each; 0: TERN__ROUNDS */
    double budget_s; /* no further round begins after this time, but three are made; 0: no such limit */
    double sample_s; /* how long a sample lasts at least; 0: TERN__SAMPLE_S */
    /* (things, rounds) receives the seconds of tern__measure's things; NULL: they are not wanted */
    double *samples;
    const double *work; /* (things) tern__measure: what a run asks, in runs of the limit's probe; NULL: one */
    double *cpu_samples; /* likewise, the seconds that all threads of the process computed meanwhile */
} tern__turns;

enum { TERN__ROUNDS = 9, TERN__ROUNDS_MOST = 1000, TERN__ROUNDS_LEAST = 3 };
#define TERN__SAMPLE_S 1e-3

/* What may be asked for; TERN_INVALID_ARGUMENT says what may not. */
tern_status tern__turns_settle(tern__turns *turns);

/* Warms up, and finds `repeats` where it is 0. */
tern_status tern__thing_ready(tern__thing *thing, const tern__turns *turns);

/* Seconds of one run, the mean of a sample's. */
tern_status tern__thing_time(const tern__thing *thing, double *seconds);

/* `n` things in turns: samples[i * turns->rounds + r] is thing i in round r, and so is cpu (may be NULL) with the processor's time;
 * *rounds receives how many rounds there were. `turns` is settled and things are ready. */
tern_status tern__time_turns(const tern__thing *things, int n, const tern__turns *turns, double *samples,
                             double *cpu, int *rounds);

/* Of such samples: the median over the rounds of (time of thing a / time of thing b in the same round). */
double tern__turns_ratio(const double *samples, const tern__turns *turns, int rounds, int a, int b);

/* What a second thread gives to a probe on registers at least, where nobody else has one of the two cores. */
#define TERN__TWO_CORES 1.7
enum { TERN__TRIES = 3 };

/* Things timed beside such a probe, whose `*scaling` is two threads / one in the same rounds; NAN: there is one thread. */
typedef tern_status (*tern__rounds_run)(void *user, double *scaling);

/* Runs the rounds again, TERN__TRIES times at most, until the probe had `least`: what else runs has a core for a while, and things
 * that were timed then say nothing. That is asked of the probe, never of the things, and the last try counts, so that trying
 * cannot raise a figure. *undisturbed: whether the probe had it then; if not, there is no figure for two threads. */
tern_status tern__time_undisturbed(tern__rounds_run run, void *user, double least, bool *undisturbed);

#endif
