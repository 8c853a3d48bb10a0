/* model_steps.h - where the time of a program goes: its steps, those of one kind together. */
#ifndef TERN_MEASURE_MODEL_STEPS_H
#define TERN_MEASURE_MODEL_STEPS_H

#include <tern/bench_model.h>

/* The steps of the session's program for `rows` rows, or the largest below, the slowest kind first; free with tern__free. Texts are the
 * program's. Times are
 * the least of all runs, which the session must have kept (tern_session_options.time_steps). */
tern_status tern__model_steps(const tern_session *session, int64_t rows, tern_bench_step **out, int *n);

#endif
