/* bench_options.h - limits and defaults that benchmarks of suites, of models and of threads have in common. */
#ifndef TERN_MEASURE_BENCH_OPTIONS_H
#define TERN_MEASURE_BENCH_OPTIONS_H

#include <stdint.h>

#include <tern/status.h>

enum { TERN__BENCH_THREADS_MOST = 64 };

/* TERN_INVALID_ARGUMENT, in the words of `who` ("bench"): a number of threads that is none, or above TERN__BENCH_THREADS_MOST. */
tern_status tern__bench_check_threads(const char *who, int n, const int *threads);

/* As many as may be used, and be measured with. */
int tern__bench_threads_usual(void);

/* TERN_INVALID_ARGUMENT: below 0, or more than 16 GiB. */
tern_status tern__bench_check_memory(const char *who, int64_t bytes);

/* What a test of a model may take: `asked` seconds, or as many as usual if that is 0. */
double tern__bench_model_timeout_s(double asked);

#endif
