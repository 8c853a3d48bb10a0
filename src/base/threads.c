/* threads.c - the pool: mailboxes start a region, a central barrier synchronises it inside and at its end.
 *
 * Each thread of the pool waits at a mailbox of its own, so a region on two workers wakes one thread and
 * leaves the others asleep. All waiting follows one pattern: spin while the answer may come within the time
 * that sleeping and waking would cost, then announce the sleep in the very word that is waited for (a
 * compare-exchange), and sleep on it. Whoever changes the word learns from its old value whether somebody
 * must be woken, so no wake-up can fall between check and sleep, and a wake-up that nobody needs costs no
 * system call.
 *
 * Orderings are acquire and release only, on the words themselves; thread sanitizers can follow them. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pthread_setname_np, syscall */
#endif
#include "base/threads.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__linux__) && !defined(TERN__NO_FUTEX) /* defined to try the other way here */
#define USE_FUTEX
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/places.h"
#include "base/status.h"
#include "base/trace.h"
#include "base/watch.h"

enum { WORKERS_MAX = 4096, FEW_WORKERS = 4 };

/* A sleep and its wake-up cost tens of microseconds together; waiting longer than that awake is a loss. */
static const uint64_t spin_limit_ns = 50000;

/* After this, or at once when there are more workers than cores, each look at the word is followed by a
 * sched_yield: the one we wait for may be queued on our own core (where workers are not bound to one each the
 * system likes to put the two ends of a wake-up together; and other programs have threads, too), and spinning
 * alone would hold him up until we give up, every time. */
static const uint64_t quiet_spin_ns = 4000;

/* States of a mailbox. */
enum { MAIL_EMPTY, MAIL_SLEEPING, MAIL_RUN, MAIL_QUIT };

/* The barrier's phase counts in steps of two; the lowest bit says that somebody sleeps until it ends. */
enum { PHASE_SLEEPS = 1, PHASE_STEP = 2 };

typedef struct member {
    alignas(64) _Atomic(uint32_t) mail;
    int worker;
    pthread_t thread;
    tern__threads *pool;
} member;

struct tern__threads {
    /* Written by the caller before the mail goes out, read by the members it goes to. */
    int count, workers;
    uint64_t quiet_spin_ns; /* 0 on too few cores */
    tern__region_fn fn;
    void *arg;
    const char *name; /* of the region's events; NULL: it records its own */
    uint64_t frame;   /* that the caller is in */
    member **members; /* (count); [0] is the caller and stays NULL */
    tern__places *places;
    pthread_t caller; /* of the region that runs */

    /* The barrier's phase, one of the two below. Few workers meet faster when everything is on one cache line
     * (two workers: 100 ns against 165); many that spin on the line of the arrivals would hold up each
     * arrival. */
    _Atomic(uint32_t) *phase;
    alignas(64) _Atomic(uint32_t) arrived; /* workers at the barrier in this phase */
    _Atomic(uint32_t) phase_near;
    alignas(64) _Atomic(uint32_t) phase_far;

#if !defined(USE_FUTEX)
    pthread_mutex_t mutex; /* stands for the kernel's queue of sleepers */
    pthread_cond_t changed;
#endif
};

/* ---- sleeping and spinning ---- */

#if defined(USE_FUTEX)

/* Returns at a wake-up, when the word is not `expected`, or for no reason. */
static void sleep_while(tern__threads *pool, _Atomic(uint32_t) *word, uint32_t expected)
{
    (void)pool;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void wake(tern__threads *pool, _Atomic(uint32_t) *word, int count)
{
    (void)pool;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static bool queue_init(tern__threads *pool)
{
    (void)pool;
    return true;
}

static void queue_destroy(tern__threads *pool)
{
    (void)pool;
}

#else

static void sleep_while(tern__threads *pool, _Atomic(uint32_t) *word, uint32_t expected)
{
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load_explicit(word, memory_order_relaxed) == expected)
        pthread_cond_wait(&pool->changed, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

/* The word has changed already; taking the mutex means that a sleeper either saw that or is in the wait. */
static void wake(tern__threads *pool, _Atomic(uint32_t) *word, int count)
{
    (void)word, (void)count;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
}

static bool queue_init(tern__threads *pool)
{
    if (pthread_mutex_init(&pool->mutex, NULL) != 0)
        return false;
    if (pthread_cond_init(&pool->changed, NULL) == 0)
        return true;
    pthread_mutex_destroy(&pool->mutex);
    return false;
}

static void queue_destroy(tern__threads *pool)
{
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->mutex);
}

#endif

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    /* `yield` does nothing on most cores; this takes about as long as an x86 pause. */
    __asm__ volatile("isb");
#endif
}

static bool works_meanwhile(const tern__idle *idle)
{
    return idle && idle->work(idle->arg);
}

/* Spins while the word, without the bit `ignored`, is `value`, for a bounded time; returns what it saw
 * last. */
static uint32_t spin_while(const tern__threads *pool, _Atomic(uint32_t) *word, uint32_t value,
                           uint32_t ignored, const tern__idle *idle)
{
    uint32_t seen = atomic_load_explicit(word, memory_order_acquire);
    if ((seen & ~ignored) != value)
        return seen;
    uint64_t start = tern__now_ns(), now = start;
    do {
        bool quiet = now - start < pool->quiet_spin_ns;
        for (int looks = quiet ? 32 : 1; looks > 0; looks--) {
            if (works_meanwhile(idle))
                ;
            else if (quiet)
                pause_briefly();
            else
                sched_yield();
            seen = atomic_load_explicit(word, memory_order_acquire);
            if ((seen & ~ignored) != value)
                return seen;
        }
        now = tern__now_ns();
    } while (now - start < spin_limit_ns);
    return seen;
}

/* `*seen` -> `sleeping`, or false and the newer value in `*seen`. */
static bool announce_sleep(_Atomic(uint32_t) *word, uint32_t *seen, uint32_t sleeping)
{
    return atomic_compare_exchange_strong_explicit(word, seen, sleeping, memory_order_acquire,
                                                   memory_order_acquire);
}

/* ---- barrier ---- */

/* Counts the worker in; the last one ends the phase. Returns the phase it belongs to, or says that it is
 * over. */
static bool arrive(tern__threads *pool, int workers, uint32_t *phase)
{
    /* The phase cannot end without us, so what we read here is its number. */
    uint32_t mine = atomic_load_explicit(pool->phase, memory_order_relaxed) & ~(uint32_t)PHASE_SLEEPS;
    *phase = mine;
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) != (uint32_t)workers - 1)
        return false;
    atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
    uint32_t before = atomic_exchange_explicit(pool->phase, mine + PHASE_STEP, memory_order_release);
    if ((before & PHASE_SLEEPS) != 0)
        wake(pool, pool->phase, INT_MAX);
    return true;
}

void tern__threads_barrier(tern__threads *pool, const tern__idle *idle)
{
    uint32_t mine;
    int workers = pool->workers;
    if (workers == 1 || arrive(pool, workers, &mine))
        return;
    _Atomic(uint32_t) *phase = pool->phase;
    uint32_t seen = spin_while(pool, phase, mine, PHASE_SLEEPS, idle);
    if ((seen & ~(uint32_t)PHASE_SLEEPS) == mine && pthread_equal(pthread_self(), pool->caller))
        tern__places_stay(pool->places);
    if (seen == mine && announce_sleep(phase, &seen, mine | PHASE_SLEEPS))
        seen = mine | PHASE_SLEEPS;
    while (seen == (mine | PHASE_SLEEPS)) {
        sleep_while(pool, phase, seen);
        seen = atomic_load_explicit(phase, memory_order_acquire);
    }
}

/* ---- members ---- */

static uint32_t wait_for_mail(member *m)
{
    uint32_t mail = spin_while(m->pool, &m->mail, MAIL_EMPTY, 0, NULL);
    if (mail == MAIL_EMPTY && announce_sleep(&m->mail, &mail, MAIL_SLEEPING))
        mail = MAIL_SLEEPING;
    while (mail == MAIL_SLEEPING) {
        sleep_while(m->pool, &m->mail, MAIL_SLEEPING);
        mail = atomic_load_explicit(&m->mail, memory_order_acquire);
    }
    return mail;
}

static void send_mail(member *m, uint32_t mail)
{
    if (atomic_exchange_explicit(&m->mail, mail, memory_order_acq_rel) == MAIL_SLEEPING)
        wake(m->pool, &m->mail, 1);
}

/* One worker's part of the region. */
static void take_part(const char *name, tern__region_fn fn, void *arg, int worker, int workers)
{
    const uint64_t start = name ? tern__trace_begin() : 0;
    fn(arg, worker, workers);
    tern__trace_end(start, name, "work", UINT32_MAX, 0, 0);
}

static void *member_main(void *arg)
{
    member *m = arg;
    tern__threads *pool = m->pool;
#if defined(__linux__)
    char name[16];
    snprintf(name, sizeof name, "tern-%d", m->worker);
    pthread_setname_np(pthread_self(), name);
#endif
    while (wait_for_mail(m) == MAIL_RUN) {
        uint32_t phase;
        const uint64_t scope = tern__watch_join(pool->frame);
        take_part(pool->name, pool->fn, pool->arg, m->worker, pool->workers);
        tern__watch_leave(scope);
        /* Before arriving: afterwards the caller may send the next mail at once. Only the caller waits for
         * the end of the region; the members wait at their mailboxes. */
        atomic_store_explicit(&m->mail, MAIL_EMPTY, memory_order_relaxed);
        arrive(pool, pool->workers, &phase);
    }
    return NULL;
}

/* Starts the thread of `worker`. */
static tern_status start_member(tern__threads *pool, int worker)
{
    member *m = tern__alloc_aligned(sizeof *m, alignof(member));
    if (m == NULL)
        return tern__out_of_memory(sizeof *m);
    atomic_init(&m->mail, MAIL_EMPTY);
    m->worker = worker;
    m->pool = pool;
    int error = pthread_create(&m->thread, NULL, member_main, m);
    if (error != 0) {
        tern__free(m);
        return tern__fail(TERN_LIMIT, "threads: the system gave %d of %d (%s); ask for fewer", worker,
                          pool->count, strerror(error));
    }
    pool->members[worker] = m;
    tern__places_give(pool->places, worker, m->thread);
    return TERN_OK;
}

/* The program's signals are for the program's threads: members are born with them blocked, but for those that
 * a thread raises itself and the profiler's. */
static tern_status start_members(tern__threads *pool)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < TERN__COUNT(own); i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    tern_status status = TERN_OK;
    for (int worker = 1; worker < pool->count && status == TERN_OK; worker++)
        status = start_member(pool, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* ---- the pool ---- */

tern_status tern__threads_create(int count, tern__threads **out)
{
    TERN__FAIL_IF(count < 1 || count > WORKERS_MAX, TERN_INVALID_ARGUMENT,
                  "threads: %d workers asked for; it takes 1 to %d", count, WORKERS_MAX);
    tern__threads *pool = tern__alloc_aligned(sizeof *pool, alignof(tern__threads));
    if (pool == NULL)
        return tern__out_of_memory(sizeof *pool);
    memset(pool, 0, sizeof *pool);
    pool->count = count;
    pool->workers = 1;
    pool->phase = count <= FEW_WORKERS ? &pool->phase_near : &pool->phase_far;
    pool->quiet_spin_ns = count <= tern__cpu()->cores_usable ? quiet_spin_ns : 0;
    pool->members = tern__alloc_zero((size_t)count, sizeof *pool->members);
    if (pool->members == NULL) {
        tern__free(pool);
        return tern__out_of_memory((size_t)count * sizeof *pool->members);
    }
    if (!queue_init(pool)) {
        tern__free(pool->members);
        tern__free(pool);
        return tern__fail(TERN_LIMIT, "threads: the system gave no mutex");
    }
    pool->places = tern__places_create(count);
    tern_status status = start_members(pool);
    if (status != TERN_OK) {
        tern__threads_destroy(pool);
        return status;
    }
    *out = pool;
    return TERN_OK;
}

/* Also for a pool of which only the first members were started. */
void tern__threads_destroy(tern__threads *pool)
{
    if (pool == NULL)
        return;
    for (int worker = 1; worker < pool->count && pool->members[worker] != NULL; worker++)
        send_mail(pool->members[worker], MAIL_QUIT);
    for (int worker = 1; worker < pool->count && pool->members[worker] != NULL; worker++) {
        pthread_join(pool->members[worker]->thread, NULL);
        tern__free(pool->members[worker]);
    }
    queue_destroy(pool);
    tern__places_free(pool->places);
    tern__free(pool->members);
    tern__free(pool);
}

int tern__threads_count(const tern__threads *pool)
{
    return pool->count;
}

void tern__threads_run(tern__threads *pool, int workers, tern__region_fn fn, void *arg)
{
    tern__threads_run_as(NULL, pool, workers, fn, arg);
}

void tern__threads_run_as(const char *name, tern__threads *pool, int workers, tern__region_fn fn, void *arg)
{
    if (pool && workers > pool->count)
        workers = pool->count;
    if (!pool || workers <= 1) {
        if (pool)
            pool->workers = 1;
        take_part(name, fn, arg, 0, 1);
        return;
    }
    pool->name = name;
    pool->frame = tern__watch_here();
    pool->fn = fn;
    pool->arg = arg;
    pool->workers = workers;
    pool->caller = pthread_self();
    tern__places_begin(pool->places);
    for (int worker = 1; worker < workers; worker++)
        send_mail(pool->members[worker], MAIL_RUN);
    take_part(name, fn, arg, 0, workers);
    const uint64_t waits = name ? tern__trace_begin() : 0;
    tern__threads_barrier(pool, NULL);
    tern__trace_end(waits, "barrier", "wait", UINT32_MAX, 0, 0);
    tern__places_end(pool->places);
}
