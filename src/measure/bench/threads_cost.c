/* threads_cost.c - regions and barriers with nothing in them. */
#include "measure/bench/threads_cost.h"

#include <math.h>
#include <stdatomic.h>
#include <time.h>

#include <tern/measure.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/status.h"
#include "base/threads.h"
#include "measure/timing.h"
#include "measure/bench/bench_options.h"

enum { SAMPLES = TERN__THREADS_SAMPLES, REGIONS = 200, BARRIERS = 1000 };

/* Long enough that threads which wait have gone to sleep. */
static const struct timespec pause_time = {.tv_nsec = 2000000};

static void nothing(void *arg, int worker, int workers)
{
    (void)arg;
    (void)worker;
    (void)workers;
}

static void meet(void *arg, int worker, int workers)
{
    (void)worker;
    (void)workers;
    for (int i = 0; i < BARRIERS; i++)
        tern__threads_barrier(arg, NULL);
}

static double run_us(tern__threads *threads, int workers, tern__region_fn fn, int times)
{
    const uint64_t start = tern__now_ns();
    for (int i = 0; i < times; i++)
        tern__threads_run(threads, workers, fn, threads);
    return (double)(tern__now_ns() - start) * 1e-3 / times;
}

double tern__threads_barrier_us(const double *met, const double *empty, int n, int barriers)
{
    double costs[SAMPLES];
    int kept = 0;
    for (int i = 0; i < n && i < SAMPLES; i++)
        if (met[i] > empty[i])
            costs[kept++] = (met[i] - empty[i]) / barriers;
    return kept > 0 && 2 * kept >= n ? tern__stats_of(costs, kept).median : NAN;
}

/* ---- a line between two cores ---- */

enum { THROWS = 200, LINE_SAMPLES = 15 };
typedef struct ball {
    _Alignas(128) atomic_int count; /* whose turn it is: even the first's, odd the second's */
} ball;

static void throw_ball(void *arg, int worker, int workers)
{
    (void)workers;
    ball *b = arg;
    for (int i = worker; i < 2 * THROWS; i += 2) {
        while (atomic_load_explicit(&b->count, memory_order_acquire) != i) {
        }
        atomic_store_explicit(&b->count, i + 1, memory_order_release);
    }
}

double tern__threads_line_ns(tern__threads *threads)
{
    uint64_t least = UINT64_MAX;
    if (tern__threads_count(threads) < 2)
        return NAN;
    for (int i = 0; i < LINE_SAMPLES; i++) {
        ball b = {0};
        const uint64_t start = tern__now_ns();
        tern__threads_run(threads, 2, throw_ball, &b);
        const uint64_t ns = tern__now_ns() - start;
        least = ns < least ? ns : least;
    }
    return (double)least / (2 * THROWS);
}

tern_status tern_bench_threads(int threads, tern_threads_cost *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "bench_threads: the result is NULL");
    TERN__FAIL_IF(threads < 0 || threads > TERN__BENCH_THREADS_MOST, TERN_INVALID_ARGUMENT,
                  "bench_threads: %d threads; give 1 to %d, or 0", threads, TERN__BENCH_THREADS_MOST);
    const int usable = tern__cpu()->cores_usable, n = threads > 0 ? threads : usable;
    double awake[SAMPLES], asleep[SAMPLES], met[SAMPLES];
    tern__threads *pool;
    TERN_TRY(tern__threads_create(n < TERN__BENCH_THREADS_MOST ? n : TERN__BENCH_THREADS_MOST, &pool));
    const int workers = tern__threads_count(pool);
    for (int i = 0; i < SAMPLES; i++) {
        nanosleep(&pause_time, NULL);
        asleep[i] = run_us(pool, workers, nothing, 1);
        awake[i] = run_us(pool, workers, nothing, REGIONS);
        met[i] = run_us(pool, workers, meet, 1);
    }
    tern__threads_destroy(pool);
    const double barrier_us =
        tern__threads_barrier_us(met, awake, SAMPLES, BARRIERS); /* before they are sorted */
    *out = (tern_threads_cost){.threads = workers,
                               .region_us = tern__stats_of(awake, SAMPLES).median,
                               .wakeup_us = tern__stats_of(asleep, SAMPLES).median,
                               .barrier_us = barrier_us};
    return TERN_OK;
}
