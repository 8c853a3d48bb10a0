/* profile_limits.c - what the machine gives at most: reading, arithmetic in f32 and on int8, with one thread and with all. */
#include <string.h>

#include <tern/profile.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/status.h"
#include "measure/limits.h"

enum { ROUNDS_LEAST = 2, CACHE_PASSES = 256 };
static const uint64_t budget_ns = 40000000; /* of each limit */

static const size_t memory_least = (size_t)128 << 20, memory_most = (size_t)512 << 20,
                    cache_piece = 128 << 10;
static const double operations = 2e8; /* of each thread: some milliseconds */

typedef struct probe {
    tern__threads *pool;
    int workers;
} probe;

/* The least time of all ways, tried in turns. Twice at least: the first finds cold caches. */
static double best_seconds(tern__limit *limit)
{
    const uint64_t begin = tern__now_ns();
    double best = 0;
    for (int round = 0; round < ROUNDS_LEAST || tern__now_ns() - begin < budget_ns; round++)
        for (int way = 0; way < tern__limit_ways(limit); way++) {
            const uint64_t start = tern__now_ns();
            tern__limit_run(limit, way);
            const double s = (double)(tern__now_ns() - start) * 1e-9;
            best = best == 0 || s < best ? s : best;
        }
    return best * tern__limit_scale(limit);
}

/* How much of the work is done in a second; 0 if these instructions have no probe for it. */
static tern_status rate_of(const probe *p, const tern__limit_work *work, double amount, double *out)
{
    tern__limit *limit;
    *out = 0;
    tern_status status = tern__limit_create(p->pool, p->workers, work, &limit);
    if (status == TERN_UNAVAILABLE)
        return TERN_OK;
    TERN_TRY(status);
    const double seconds = best_seconds(limit);
    tern__limit_destroy(limit);
    *out = seconds > 0 ? amount / seconds : 0;
    return TERN_OK;
}

/* Half of the last cache, which others use too; at most what a probe reads in a millisecond. 0: nobody knows how large it is. */
static size_t last_piece(void)
{
    const size_t most = (size_t)16 << 20, half = (size_t)tern__cpu()->l3_bytes / 2;
    return (half < most ? half : most) / 4096 * 4096;
}

static tern_status measure_rates(const probe *p, const void *memory, size_t bytes, tern_profile_rates *out)
{
    tern_profile_rates r = {.threads = p->workers};
    const tern__limit_work memory_work = {
        .kind = TERN_LIMIT_READ_BW, .read_bytes = (int64_t)bytes, .memory = memory};
    /* Each worker reads a piece of its own, again and again: giving them work takes longer than reading it once. */
    const size_t pieces = cache_piece * (size_t)p->workers;
    const tern__limit_work cache_work = {
        .kind = TERN_LIMIT_READ_BW, .read_bytes = (int64_t)pieces, .memory = memory, .passes = CACHE_PASSES};
    const tern__limit_work last_work = {
        .kind = TERN_LIMIT_READ_BW, .read_bytes = (int64_t)last_piece(), .memory = memory};
    tern__limit_work peak = {.kind = TERN_LIMIT_FMA, .operations = operations * p->workers};
    TERN_TRY(rate_of(p, &memory_work, (double)bytes, &r.memory_bytes_per_s));
    TERN_TRY(rate_of(p, &cache_work, (double)pieces * CACHE_PASSES, &r.cache_bytes_per_s));
    if (last_piece() > cache_piece)
        TERN_TRY(rate_of(p, &last_work, (double)last_piece(), &r.last_bytes_per_s));
    TERN_TRY(rate_of(p, &peak, peak.operations, &r.f32_per_s));
    peak.kind = TERN_LIMIT_INT8_DOT;
    TERN_TRY(rate_of(p, &peak, peak.operations, &r.int8_per_s));
    *out = r;
    return TERN_OK;
}

static tern_status measure_all(tern__threads *pool, tern_profile_limits *out)
{
    const tern__cpu_info *cpu = tern__cpu();
    size_t bytes = 2 * (size_t)(cpu->l3_bytes > 0 ? cpu->l3_bytes : 0);
    bytes = bytes < memory_least ? memory_least : bytes > memory_most ? memory_most : bytes;
    bytes -= bytes % ((size_t)2 << 20);
    char *memory = tern__pages_map(bytes, true);
    if (!memory)
        return tern__out_of_memory(bytes);
    memset(memory, 1, bytes); /* pages that nobody wrote are all the same one, in the cache */
    tern_profile_limits l = {0};
    const probe one = {pool, 1}, all = {pool, tern__threads_count(pool)};
    tern_status status = measure_rates(&all, memory, bytes, &l.all);
    if (status == TERN_OK && all.workers > 1)
        status = measure_rates(&one, memory, bytes, &l.one);
    else
        l.one = l.all;
    tern__pages_unmap(memory, bytes);
    if (status == TERN_OK)
        *out = l;
    return status;
}

tern_status tern_profile_measure_limits(int threads, tern_profile_limits *out)
{
    enum { THREADS_MOST = 256 };
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "profile_measure_limits: the result is NULL");
    TERN__FAIL_IF(threads < 0 || threads > THREADS_MOST, TERN_INVALID_ARGUMENT,
                  "profile_measure_limits: %d threads; give 1 to %d, or 0", threads, THREADS_MOST);
    const int usable = tern__cpu()->cores_usable;
    tern__threads *pool;
    /* More threads than cores would only wait for each other. */
    TERN_TRY(tern__threads_create(threads > 0 && threads < usable ? threads : usable, &pool));
    tern_status status = measure_all(pool, out);
    tern__threads_destroy(pool);
    return status;
}
