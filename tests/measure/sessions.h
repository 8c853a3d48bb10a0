/* sessions.h - sessions of benchmarks on a machine that is made up, for tests of what is told of them. */
#ifndef TERN_TESTS_SESSIONS_H
#define TERN_TESTS_SESSIONS_H

#include <math.h>

#include <tern/results.h>

#include "base/random.h"
#include "harness.h"

/* A machine: noise of samples, and of sessions, which shift all samples of a benchmark alike. */
typedef struct machine {
    uint64_t seed, next;
    double sample_noise, session_noise;
} machine;

static double normal(machine *m)
{
    return tern__random_normal(m->seed, m->next++);
}

enum { SAMPLES = 60 };

static void add_session(machine *m, tern_results *r, int run, const char *name, double us)
{
    double samples[SAMPLES];
    tern_result row = tern_result_default();
    const double session = exp(m->session_noise * normal(m));
    for (int i = 0; i < SAMPLES; i++) {
        const bool late = tern__random_uniform(m->seed ^ 1, m->next) < 0.05;
        samples[i] = us * session * exp(m->sample_noise * normal(m)) * (late ? 1.3 : 1);
    }
    row.suite = "ops", row.family = "f", row.name = name, row.threads = 1, row.run = run;
    row.rounds = SAMPLES, row.samples_us = samples;
    row.peak_bytes = 1000, row.accuracy_error = 1e-8;
    CHECK_OK(tern_results_add(r, &row));
}

static tern_results *new_set(const char *host)
{
    tern_results *r = NULL;
    if (tern_results_create(&r) == TERN_OK)
        tern_results_set_condition(r, "host", host);
    return r;
}

static tern_results *five_sessions(machine *m, double us)
{
    tern_results *r = new_set("here");
    for (int run = 0; run < 5; run++)
        add_session(m, r, run, "a", us);
    return r;
}

#endif
