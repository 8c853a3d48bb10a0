/* model_steps.h - what the steps of a model's programs tell: where the time goes, and how large the weights are that they read. */
#ifndef TERN_MEASURE_MODEL_STEPS_H
#define TERN_MEASURE_MODEL_STEPS_H

#include <tern/bench_model.h>

/* How often each program of a session has run. */
typedef struct tern__model_run_counts {
    uint64_t *runs; /* (n) free with tern__free */
    int n;
} tern__model_run_counts;
tern_status tern__model_runs(const tern_session *session, tern__model_run_counts *out);

/* The steps of one of `tests` equal tests that ran since `before`, of all programs that took part, the slowest kind first; free with
 * tern__free. Texts are the programs'. Times are the least of all runs, which the session must have kept
 * (tern_session_options.time_steps). */
tern_status tern__model_steps(const tern_session *session, const tern__model_run_counts *before, int tests,
                              tern_bench_step **out, int *n);

/* Bytes of the ternary weights that the program of the fewest rows reads, as that holds them; 0: it has none, or there is no program. */
uint64_t tern__model_ternary_bytes(const tern_session *session);

#endif
