/* bench_options.c - see bench_options.h. */
#include "measure/bench/bench_options.h"

#include "base/cpu.h"
#include "base/status.h"

static const int64_t memory_most = (int64_t)1 << 34;
static const double model_timeout_s = 600;

tern_status tern__bench_check_threads(const char *who, int n, const int *threads)
{
    TERN__FAIL_IF(n < 0 || n > TERN__BENCH_THREADS_MOST || (n > 0 && !threads), TERN_INVALID_ARGUMENT,
                  "%s: %d numbers of threads", who, n);
    for (int i = 0; i < n; i++)
        TERN__FAIL_IF(threads[i] < 1 || threads[i] > TERN__BENCH_THREADS_MOST, TERN_INVALID_ARGUMENT,
                      "%s: %d threads; give 1 to %d", who, threads[i], TERN__BENCH_THREADS_MOST);
    return TERN_OK;
}

int tern__bench_threads_usual(void)
{
    const int usable = tern__cpu()->cores_usable;
    return usable < TERN__BENCH_THREADS_MOST ? usable : TERN__BENCH_THREADS_MOST;
}

tern_status tern__bench_check_memory(const char *who, int64_t bytes)
{
    TERN__FAIL_IF(bytes < 0 || bytes > memory_most, TERN_INVALID_ARGUMENT,
                  "%s: %lld bytes of memory; give at most %lld", who, (long long)bytes,
                  (long long)memory_most);
    return TERN_OK;
}

double tern__bench_model_timeout_s(double asked)
{
    return asked > 0 ? asked : model_timeout_s;
}
