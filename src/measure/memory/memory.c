/* memory.c - the memory tracker from its start to its end: records, makes a story of the record, tells. */
#include "measure/memory/memory.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/names.h"

/* ---- making ---- */

static _Atomic(bool) on;

tern_memory_options tern_memory_options_default(void)
{
    return (tern_memory_options){0};
}

tern_status tern_memory_start(const tern_memory_options *options)
{
    tern__memory_log *log;
    TERN__FAIL_IF(atomic_exchange(&on, true), TERN_STATE, "memory: recording is on already; stop it first");
    tern_status status = tern__memory_log_create(options, &log);
    if (status != TERN_OK) {
        atomic_store(&on, false);
        return status;
    }
    tern_pressure_read(NULL, NULL, &log->pressure);
    tern__memory_record(log);
    return TERN_OK;
}

bool tern_memory_is_on(void)
{
    return tern__watch_on() != NULL;
}

tern_status tern_memory_now(tern_memory_bytes *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "memory_now: the place for the bytes is NULL");
    TERN__FAIL_IF(!tern__memory_log_now(out), TERN_STATE, "memory_now: recording is not on");
    return TERN_OK;
}

uint64_t tern_memory_enter(const char *name)
{
    const tern__watcher *w = name ? tern__watch_on() : NULL;
    return w ? w->enter(
                   &(tern__watch_frame){.name = tern__intern(name), .category = "user", .step = UINT32_MAX})
             : 0;
}

void tern_memory_leave(uint64_t scope)
{
    tern__watch_leave(scope);
}

static uint64_t count(const _Atomic(uint64_t) *counters)
{
    uint64_t sum = 0;
    for (int k = TERN__WATCH_HEAP; k <= TERN__WATCH_REGION; k++) /* blocks lie in regions */
        sum += atomic_load(&counters[k]);
    return sum;
}

static uint64_t held(const tern_memory_bytes *b)
{
    return tern__memory_sum_of(b, TERN_MEMORY_HELD);
}

static void fill_info(const tern__memory_log *log, size_t kept, tern_memory *m)
{
    const uint64_t written = atomic_load(&log->n_events);
    memcpy(m->title, log->title, sizeof m->title);
    m->info = (tern_memory_info){.wall_ns = tern__now_ns() - log->start_ns,
                                 .events = kept,
                                 .lost = written - kept,
                                 .allocations = count(log->made),
                                 .frees = count(log->freed),
                                 .allocated_bytes = count(log->made_bytes),
                                 .freed_bytes = count(log->freed_bytes),
                                 .start = log->start,
                                 .end = tern__memory_log_sum(log),
                                 .own_bytes = log->mapped_bytes,
                                 .threads = (int)atomic_load(&log->threads),
                                 .title = m->title};
    m->info.start_bytes = held(&m->info.start);
    m->info.end_bytes = held(&m->info.end);
}

static tern_status copy_plans(const tern__memory_log *log, tern_memory *m)
{
    m->plans = tern__alloc_zero((size_t)log->n_plans + 1, sizeof *m->plans);
    m->pools = tern__alloc_zero(TERN__MEMORY_POOLS, sizeof *m->pools);
    if (!m->plans || !m->pools)
        return tern__out_of_memory(log->n_plans * sizeof *m->plans);
    m->info.plans = (int)log->n_plans;
    for (uint32_t i = 0; i < log->n_plans; i++) {
        const tern__watch_plan *p = &log->plans[i].told;
        uint32_t top = UINT32_MAX;
        for (uint32_t s = 0; s < p->n_steps; s++)
            if (top == UINT32_MAX || p->steps[s].live_bytes > p->steps[top].live_bytes)
                top = s;
        m->plans[i] = (tern_memory_plan){.program = p->number,
                                         .runs = log->plans[i].runs,
                                         .arena_bytes = p->arena_bytes,
                                         .live_bytes = p->live_bytes,
                                         .naive_bytes = p->naive_bytes,
                                         .result_bytes = p->result_bytes,
                                         .steps = p->n_steps,
                                         .peak_step = top,
                                         .peak_op = top == UINT32_MAX ? NULL : p->steps[top].label,
                                         .peak_where = top == UINT32_MAX ? NULL : p->steps[top].where};
    }
    m->info.pools = atomic_load(&log->n_pools);
    for (int i = 0; i < m->info.pools; i++)
        m->pools[i] = log->pools[i].told;
    return TERN_OK;
}

static tern_status make(const tern__memory_log *log, tern_memory *m)
{
    const uint64_t written = atomic_load(&log->n_events);
    tern__memory_story story = {
        .log = log, .n_events = written < log->cap_events ? written : log->cap_events, .memory = m};
    fill_info(log, story.n_events, m);
    tern_status status = copy_plans(log, m);
    if (status == TERN_OK)
        status = tern__memory_replay(&story);
    if (m->info.lost > 0)
        m->has_peak = false; /* what came later is not known */
    if (status == TERN_OK)
        status = tern__memory_make_rows(&story);
    if (status == TERN_OK)
        status = tern__memory_make_tree(&story);
    if (status == TERN_OK && m->info.lost == 0)
        status = tern__memory_make_advice(&story);
    tern__free(story.lives);
    return status;
}

tern_status tern_memory_stop(tern_memory **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "memory_stop: the place for the result is NULL");
    tern_memory_system system;
    tern__memory_system_read(&system);
    tern__memory_log *log = tern__memory_record_end();
    TERN__FAIL_IF(!log, TERN_STATE, "memory_stop: recording is not on");
    tern_pressure_reading pressure = {0};
    tern_pressure_read(NULL, &log->pressure, &pressure);
    tern_memory *m = tern__alloc_zero(1, sizeof *m);
    tern_status status = m ? make(log, m) : tern__out_of_memory(sizeof *m);
    tern__memory_log_free(log);
    atomic_store(&on, false);
    if (status != TERN_OK) {
        tern_memory_free(m);
        return status;
    }
    m->system = system;
    m->pressure = pressure;
    *out = m;
    return TERN_OK;
}

void tern_memory_free(tern_memory *memory)
{
    if (!memory)
        return;
    for (int by = 0; by < TERN__MEMORY_BY_COUNT; by++) {
        tern__free(memory->by[by].rows);
        tern__free(memory->by[by].live);
    }
    tern__free(memory->frames);
    tern__free(memory->points);
    tern__free(memory->leaks);
    tern__free(memory->copies);
    tern__free(memory->pools);
    tern__free(memory->plans);
    tern__free(memory->advice);
    tern__free(memory);
}

/* ---- telling ---- */

void tern_memory_get_info(const tern_memory *memory, tern_memory_info *out)
{
    if (memory && out)
        *out = memory->info;
}

void tern_memory_get_system(const tern_memory *memory, tern_memory_system *out)
{
    if (memory && out)
        *out = memory->system;
}

void tern_memory_get_pressure(const tern_memory *memory, tern_pressure_reading *out)
{
    if (memory && out)
        *out = memory->pressure;
}

tern_status tern_memory_get_peak(const tern_memory *memory, tern_memory_sum sum, tern_memory_peak *out)
{
    TERN__FAIL_IF(!memory || !out, TERN_INVALID_ARGUMENT, "memory: an argument is NULL");
    TERN__FAIL_IF((unsigned)sum >= TERN__MEMORY_SUMS, TERN_INVALID_ARGUMENT, "memory: there is no sum %d",
                  (int)sum);
    TERN__FAIL_IF(memory->info.lost > 0, TERN_UNAVAILABLE, "unavailable: %" PRIu64 " events were lost",
                  memory->info.lost);
    TERN__FAIL_IF(!memory->has_peak, TERN_NOT_FOUND, "memory: nothing was allocated, so there is no peak");
    *out = memory->peaks[sum];
    return TERN_OK;
}

static tern_status check(const tern_memory *m, const void *out, const char *what, int i, int n)
{
    TERN__FAIL_IF(!m || !out, TERN_INVALID_ARGUMENT, "memory: an argument is NULL");
    TERN__FAIL_IF(i < 0 || i >= n, TERN_OUT_OF_RANGE, "memory: %s %d: there are %d", what, i, n);
    return TERN_OK;
}

tern_status tern_memory_get_row(const tern_memory *memory, tern_memory_by by, int i, tern_memory_row *out)
{
    TERN__FAIL_IF((unsigned)by >= TERN__MEMORY_BY_COUNT, TERN_INVALID_ARGUMENT,
                  "memory: there are no rows of kind %d", (int)by);
    TERN_TRY(check(memory, out, "row", i, memory ? (int)memory->by[by].n : 0));
    *out = memory->by[by].rows[i];
    return TERN_OK;
}

#define GETTER(name, type, array)                                                   \
    tern_status tern_memory_get_##name(const tern_memory *memory, int i, type *out) \
    {                                                                               \
        TERN_TRY(check(memory, out, #name, i, memory ? memory->info.array : 0));    \
        *out = memory->array[i];                                                    \
        return TERN_OK;                                                             \
    }
GETTER(frame, tern_memory_frame, frames)
GETTER(point, tern_memory_point, points)
GETTER(leak, tern_memory_leak, leaks)
GETTER(copy, tern_memory_copy, copies)
GETTER(pool, tern_memory_pool, pools)
GETTER(plan, tern_memory_plan, plans)
GETTER(advice, tern_memory_advice, advice)
#undef GETTER

tern_status tern_memory_by_parse(const char *name, tern_memory_by *out)
{
    static const char *const names[] = {
#define NAME(id, number, text, meaning) [number] = text,
        TERN_MEMORY_BY_LIST(NAME)
#undef NAME
    };
    int number = 0;
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "memory rows: an argument is NULL");
    TERN_TRY(tern__name_find(names, TERN__COUNT(names), "memory rows", name, &number));
    *out = (tern_memory_by)number;
    return TERN_OK;
}
