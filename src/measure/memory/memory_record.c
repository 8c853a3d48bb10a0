/* memory_record.c - writes down what it is told. A writer takes a place in the log by one addition and fills it; nobody waits, and
 * nothing is allocated: the log was mapped before. What does not fit is counted, so that the sums are right in any case. */
#include "measure/memory/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tern/alloc.h>
#include <tern/pool.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/trim.h"

enum {
    EVENTS_DEFAULT = 1 << 20,
    FRAMES = 1 << 16,
    SLOTS = FRAMES * 2,
    PLANS = 1 << 13,
    STEPS = 1 << 18,
    GETS_A_SAMPLE = 64, /* the lists of a pool are walked after so many gets, or after this time */
};
static const uint64_t sample_ns = 5000000, rss_ns = 5000000;

static tern__memory_log *current;                        /* changed while nobody is inside */
static _Atomic(uint32_t) inside;                         /* writers */
static _Atomic(uint32_t) session;                        /* from 1 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of frames, plans, RSS */

static _Thread_local struct {
    uint32_t session, frame;
    uint16_t thread;
} mine;

/* ---- coming and going ---- */

static tern__memory_log *come_in(void)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&tern__watching)) {
        const uint32_t now = atomic_load_explicit(&session, memory_order_relaxed);
        if (mine.session != now) {
            mine.session = now;
            mine.frame = 0;
            mine.thread = (uint16_t)atomic_fetch_add(&current->threads, 1);
        }
        return current;
    }
    atomic_fetch_sub(&inside, 1);
    return NULL;
}

static void go_out(void)
{
    atomic_fetch_sub(&inside, 1);
}

static void sample_rss(tern__memory_log *log, uint64_t ns)
{
    if (ns < atomic_load_explicit(&log->rss_next_ns, memory_order_relaxed) ||
        pthread_mutex_trylock(&lock) != 0)
        return;
    if (log->n_rss == TERN__MEMORY_RSS) { /* every second one will do */
        for (size_t i = 0; i < TERN__MEMORY_RSS / 2; i++)
            log->rss[i] = log->rss[2 * i + 1];
        log->n_rss /= 2;
        log->rss_every_ns *= 2;
    }
    log->rss[log->n_rss++] = (tern__memory_rss){.ns = ns, .bytes = tern__memory_statm_rss(log->statm)};
    atomic_store_explicit(&log->rss_next_ns, ns + log->rss_every_ns, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static void write_event(tern__memory_log *log, tern__memory_event *e)
{
    e->ns = tern__now_ns() - log->start_ns;
    e->frame = mine.frame;
    e->thread = mine.thread;
    const uint64_t at = atomic_fetch_add_explicit(&log->n_events, 1, memory_order_relaxed);
    if (at < log->cap_events)
        log->events[at] = *e;
    if (log->statm >= 0)
        sample_rss(log, e->ns);
}

/* ---- what is told ---- */

static void made(tern__watch_kind kind, const void *block, size_t bytes, const tern__call_site *site)
{
    tern__memory_log *log = come_in();
    if (!log)
        return;
    atomic_fetch_add_explicit(&log->made[kind], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&log->made_bytes[kind], bytes, memory_order_relaxed);
    write_event(log, &(tern__memory_event){.action = TERN__MEMORY_MADE,
                                           .kind = (uint8_t)kind,
                                           .address = (uintptr_t)block,
                                           .bytes = bytes,
                                           .site = site});
    go_out();
}

static void freed(tern__watch_kind kind, const void *block, size_t bytes)
{
    tern__memory_log *log = come_in();
    if (!log)
        return;
    atomic_fetch_add_explicit(&log->freed[kind], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&log->freed_bytes[kind], bytes, memory_order_relaxed);
    write_event(log, &(tern__memory_event){.action = TERN__MEMORY_FREED,
                                           .kind = (uint8_t)kind,
                                           .address = (uintptr_t)block,
                                           .bytes = bytes});
    if (kind == TERN__WATCH_PAGES) /* perhaps a pool: its address may become another's */
        for (int i = 0; i < atomic_load(&log->n_pools); i++) {
            const void *gone = block;
            atomic_compare_exchange_strong(&log->pools[i].pool, &gone, NULL);
        }
    go_out();
}

static void used(const void *block)
{
    tern__memory_log *log = come_in();
    if (!log)
        return;
    write_event(log, &(tern__memory_event){.action = TERN__MEMORY_USED,
                                           .kind = TERN__WATCH_BLOCK,
                                           .address = (uintptr_t)block});
    go_out();
}

static void copied(size_t bytes, const char *direction, const tern__call_site *site)
{
    tern__memory_log *log = come_in();
    if (!log)
        return;
    write_event(log, &(tern__memory_event){.action = TERN__MEMORY_COPIED,
                                           .address = (uintptr_t)direction,
                                           .bytes = bytes,
                                           .site = site});
    go_out();
}

static bool same_frame(const tern__memory_frame *f, const tern__watch_frame *what, uint32_t parent)
{
    return f->parent == parent && f->what.name == what->name && f->what.category == what->category &&
           f->what.where == what->where && f->what.tensor == what->tensor &&
           f->what.program == what->program && f->what.step == what->step;
}

/* The number of such a frame inside `parent`; that one's own if there is no room for more. */
static uint32_t find_frame(tern__memory_log *log, const tern__watch_frame *what, uint32_t parent)
{
    uint64_t h = tern__hash_mix(parent, (uintptr_t)what->name);
    h = tern__hash_mix(tern__hash_mix(h, (uintptr_t)what->where), (uintptr_t)what->tensor);
    h = tern__hash_mix(h, (uint64_t)what->program << 32 | what->step);
    pthread_mutex_lock(&lock);
    size_t at = (size_t)h & (SLOTS - 1);
    while (log->slots[at] && !same_frame(&log->frames[log->slots[at]], what, parent))
        at = (at + 1) & (SLOTS - 1);
    uint32_t frame = log->slots[at];
    if (!frame && log->n_frames < FRAMES) {
        frame = log->slots[at] = log->n_frames++;
        log->frames[frame] = (tern__memory_frame){.what = *what, .parent = parent};
    }
    pthread_mutex_unlock(&lock);
    return frame ? frame : parent;
}

static uint64_t enter(const tern__watch_frame *frame)
{
    tern__memory_log *log = come_in();
    if (!log)
        return 0;
    const uint64_t scope = (uint64_t)mine.session << 32 | mine.frame;
    mine.frame = find_frame(log, frame, mine.frame);
    go_out();
    return scope;
}

static uint64_t here(void)
{
    if (!come_in())
        return 0;
    go_out();
    return (uint64_t)mine.session << 32 | mine.frame;
}

static uint64_t join(uint64_t frame)
{
    const uint64_t scope = here();
    if (frame >> 32 != scope >> 32) /* of an earlier session, or none is on any more */
        return 0;
    mine.frame = (uint32_t)frame;
    return scope;
}

static void leave(uint64_t scope)
{
    if (scope >> 32 == mine.session) /* else it was opened in an earlier session */
        mine.frame = (uint32_t)scope;
}

static tern__memory_plan *find_plan(tern__memory_log *log, uint32_t number)
{
    for (uint32_t i = log->n_plans; i-- > 0;)
        if (log->plans[i].told.number == number)
            return &log->plans[i];
    return NULL;
}

static bool knows(uint32_t number)
{
    tern__memory_log *log = come_in();
    if (!log)
        return true;
    pthread_mutex_lock(&lock);
    const bool known = find_plan(log, number) || log->n_plans == PLANS;
    pthread_mutex_unlock(&lock);
    go_out();
    return known;
}

/* Two threads may tell of one plan at once: the second is told to others in vain. The room is good until the stop: nobody may be
 * inside a run then. */
static tern__watch_step *plan(const tern__watch_plan *told)
{
    tern__memory_log *log = come_in();
    tern__watch_step *steps = NULL;
    if (!log)
        return NULL;
    pthread_mutex_lock(&lock);
    if (log->n_plans < PLANS && log->n_steps + told->n_steps <= STEPS && !find_plan(log, told->number)) {
        steps = log->steps + log->n_steps;
        log->n_steps += told->n_steps;
        log->plans[log->n_plans] = (tern__memory_plan){.told = *told};
        log->plans[log->n_plans++].told.steps = steps;
    }
    pthread_mutex_unlock(&lock);
    go_out();
    return steps;
}

static void run(uint32_t number, bool begins)
{
    tern__memory_log *log = come_in();
    if (!log)
        return;
    if (begins) {
        pthread_mutex_lock(&lock);
        tern__memory_plan *p = find_plan(log, number);
        if (p)
            p->runs++;
        pthread_mutex_unlock(&lock);
    }
    write_event(
        log, &(tern__memory_event){.action = begins ? TERN__MEMORY_RUN : TERN__MEMORY_RAN, .bytes = number});
    go_out();
}

/* ---- free lists ---- */

/* The lock of samples is never waited for, because the locks of pools are taken while it is held. */
static pthread_mutex_t sampling = PTHREAD_MUTEX_INITIALIZER;

static tern__memory_pool *pool_of(tern__memory_log *log, const void *pool)
{
    const int n = atomic_load(&log->n_pools);
    for (int i = 0; i < n; i++)
        if (atomic_load(&log->pools[i].pool) == pool)
            return &log->pools[i];
    if (n == TERN__MEMORY_POOLS)
        return NULL;
    tern__memory_pool *p = &log->pools[n];
    p->told.number = n + 1;
    atomic_store(&p->pool, pool);
    atomic_store(&log->n_pools, n + 1);
    return p;
}

static void take_sample(const tern_pool *pool, tern__memory_pool *p, uint64_t ns)
{
    tern_pool_fragmentation f;
    tern_pool_get_fragmentation(pool, &f);
    p->gets = 0;
    p->sampled_ns = ns;
    p->told.last_ratio = f.ratio;
    const bool worse = f.free_bytes - f.largest_free > p->told.free_bytes - p->told.largest_free;
    if (p->told.samples++ > 0 && !worse)
        return;
    p->told.time_ns = ns;
    p->told.held_bytes = f.held_bytes;
    p->told.free_bytes = f.free_bytes;
    p->told.slack_bytes = f.slack_bytes;
    p->told.free_blocks = f.free_blocks;
    p->told.largest_free = f.largest_free;
    p->told.ratio = f.ratio;
}

/* The caller has just been given a block of the pool, so that it cannot go away. */
static void sample(const void *pool)
{
    tern__memory_log *log = come_in();
    if (!log)
        return;
    if (pthread_mutex_trylock(&sampling) == 0) {
        tern__memory_pool *p = pool_of(log, pool);
        const uint64_t ns = tern__now_ns() - log->start_ns;
        if (p && (p->told.samples == 0 || ++p->gets >= GETS_A_SAMPLE || ns - p->sampled_ns >= sample_ns))
            take_sample(pool, p, ns);
        pthread_mutex_unlock(&sampling);
    }
    go_out();
}

static const tern__watcher watcher = {
    .made = made,
    .freed = freed,
    .used = used,
    .copied = copied,
    .enter = enter,
    .leave = leave,
    .here = here,
    .join = join,
    .knows = knows,
    .plan = plan,
    .run = run,
    .sample = sample,
};

/* ---- the log ---- */

/* Cuts `bytes` off the pages, in whole lines. */
static void *cut(char *pages, size_t *at, size_t bytes)
{
    void *block = pages ? pages + *at : NULL;
    *at += (bytes + 63) & ~(size_t)63;
    return block;
}

/* With `pages` NULL only adds up. */
static size_t lay_out(tern__memory_log *log, char *pages, size_t events)
{
    size_t at = 0;
    cut(pages, &at, sizeof *log);
    tern__memory_log places = {.events = cut(pages, &at, events * sizeof *log->events),
                               .frames = cut(pages, &at, FRAMES * sizeof *log->frames),
                               .slots = cut(pages, &at, SLOTS * sizeof *log->slots),
                               .plans = cut(pages, &at, PLANS * sizeof *log->plans),
                               .steps = cut(pages, &at, STEPS * sizeof *log->steps)};
    if (log) {
        log->events = places.events;
        log->frames = places.frames;
        log->slots = places.slots;
        log->plans = places.plans;
        log->steps = places.steps;
    }
    return at;
}

tern_status tern__memory_log_create(const tern_memory_options *options, tern__memory_log **out)
{
    const size_t events = options && options->events ? options->events : EVENTS_DEFAULT;
    const size_t page = tern__page_size();
    size_t bytes;
    TERN__FAIL_IF(events > SIZE_MAX / 4 / sizeof(tern__memory_event), TERN_OVERFLOW,
                  "memory: a log of %zu events does not fit in memory", events);
    if (!tern__size_round_up(lay_out(NULL, NULL, events), page, &bytes))
        return tern__fail(TERN_OVERFLOW, "memory: a log of %zu events does not fit in memory", events);
    char *pages = tern__pages_map(bytes, false);
    if (!pages)
        return tern__out_of_memory(bytes);
    tern__memory_log *log = (tern__memory_log *)(void *)pages;
    lay_out(log, pages, events);
    log->mapped_bytes = bytes;
    log->cap_events = events;
    log->n_frames = 1;
    log->rss_every_ns = rss_ns;
    log->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    snprintf(log->title, sizeof log->title, "%s", options && options->title ? options->title : "");
    *out = log;
    return TERN_OK;
}

void tern__memory_log_free(tern__memory_log *log)
{
    if (!log)
        return;
    if (log->statm >= 0)
        close(log->statm);
    tern__pages_unmap(log, log->mapped_bytes);
}

void tern__memory_record(tern__memory_log *log)
{
    tern_alloc_stats stats;
    current = log;
    atomic_fetch_add(&session, 1);
    tern_alloc_get_stats(&stats);
    const uint64_t pages = tern__pages_mapped(TERN__WATCH_PAGES);
    log->start.regions = tern__pages_mapped(TERN__WATCH_REGION);
    log->start.heap = stats.live_bytes - pages - log->start.regions;
    log->start.pages = pages - log->mapped_bytes;
    log->start.blocks = tern__trim_in_use();
    log->start_ns = tern__now_ns();
    atomic_store(&tern__watching, &watcher);
}

tern__memory_log *tern__memory_record_end(void)
{
    if (!atomic_exchange(&tern__watching, NULL))
        return NULL;
    while (atomic_load(&inside))
        sched_yield();
    tern__memory_log *log = current;
    current = NULL;
    return log;
}

tern_memory_bytes tern__memory_log_sum(const tern__memory_log *log)
{
    uint64_t sum[TERN__MEMORY_KINDS];
    /* Frees first, so that the differences are never below zero while others work. */
    for (int k = 0; k < TERN__MEMORY_KINDS; k++)
        sum[k] = 0 - atomic_load(&log->freed_bytes[k]);
    for (int k = 0; k < TERN__MEMORY_KINDS; k++)
        sum[k] += atomic_load(&log->made_bytes[k]);
    return (tern_memory_bytes){.heap = log->start.heap + sum[TERN__WATCH_HEAP],
                               .pages = log->start.pages + sum[TERN__WATCH_PAGES],
                               .regions = log->start.regions + sum[TERN__WATCH_REGION],
                               .blocks = log->start.blocks + sum[TERN__WATCH_BLOCK]};
}

bool tern__memory_log_now(tern_memory_bytes *out)
{
    const tern__memory_log *log = come_in();
    if (!log)
        return false;
    *out = tern__memory_log_sum(log);
    go_out();
    return true;
}
