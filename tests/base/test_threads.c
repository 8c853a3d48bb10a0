/* test_threads.c - regions and barriers: everybody takes part once, nobody runs ahead, writes are seen.
 *
 * Shared data is plain (not atomic) wherever the pool promises to order it, so that a thread sanitizer checks
 * the promise. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getcpu, CPU_COUNT */
#endif
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#endif

#include "base/alloc.h"
#include "base/status.h"
#include "base/places.h"
#include "base/threads.h"
#include "gate.h"
#include "harness.h"

enum { MOST = 8 };

TEST(count_is_checked)
{
    tern__threads *pool = NULL;
    CHECK_STATUS(tern__threads_create(0, &pool), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__threads_create(-1, &pool), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__threads_create(1000000, &pool), TERN_INVALID_ARGUMENT);
    CHECK(pool == NULL);
    tern__threads_destroy(NULL);
}

TEST(create_and_destroy_at_once)
{
    uint64_t before = live_blocks();
    for (int count = 1; count <= MOST; count++) {
        tern__threads *pool;
        CHECK_OK(tern__threads_create(count, &pool));
        CHECK_EQ(tern__threads_count(pool), count);
        tern__threads_destroy(pool);
    }
    CHECK_EQ(live_blocks(), before);
}

/* ---- regions ---- */

typedef struct roll_call {
    int calls[MOST], workers[MOST]; /* per worker */
    int input;
} roll_call;

static void answer(void *arg, int worker, int workers)
{
    roll_call *roll = arg;
    roll->calls[worker] += roll->input;
    roll->workers[worker] = workers;
}

TEST(every_worker_runs_once_per_region)
{
    for (int count = 1; count <= MOST; count++) {
        tern__threads *pool;
        CHECK_OK(tern__threads_create(count, &pool));
        for (int workers = 1; workers <= count; workers++) {
            roll_call roll = {.input = 3};
            tern__threads_run(pool, workers, answer, &roll);
            for (int w = 0; w < MOST; w++) {
                CHECK_EQ(roll.calls[w], w < workers ? 3 : 0);
                CHECK_EQ(roll.workers[w], w < workers ? workers : 0);
            }
        }
        tern__threads_destroy(pool);
    }
}

TEST(regions_of_changing_size_see_each_others_writes)
{
    enum { REGIONS = 3000 };
    static const int sizes[] = {2, 8, 1, 3, 8, 8, 2, 5};
    tern__threads *pool;
    roll_call roll = {0};
    int want[MOST] = {0};
    CHECK_OK(tern__threads_create(MOST, &pool));
    for (int r = 0; r < REGIONS; r++) {
        int workers = sizes[r % 8];
        roll.input = r;
        tern__threads_run(pool, workers, answer, &roll);
        for (int w = 0; w < workers; w++)
            want[w] += r;
    }
    tern__threads_destroy(pool);
    for (int w = 0; w < MOST; w++)
        CHECK_EQ(roll.calls[w], want[w]);
}

TEST(more_workers_than_there_are_become_all)
{
    tern__threads *pool;
    roll_call roll = {.input = 1};
    CHECK_OK(tern__threads_create(2, &pool));
    tern__threads_run(pool, MOST, answer, &roll);
    tern__threads_destroy(pool);
    CHECK_EQ(roll.calls[1], 1);
    CHECK_EQ(roll.calls[2], 0);
    CHECK_EQ(roll.workers[0], 2);
}

TEST(members_wake_from_sleep)
{
    tern__threads *pool;
    roll_call roll = {.input = 1};
    CHECK_OK(tern__threads_create(4, &pool));
    for (int i = 0; i < 5; i++) {
        usleep(3000); /* far longer than they spin */
        tern__threads_run(pool, 4, answer, &roll);
    }
    tern__threads_destroy(pool);
    for (int w = 0; w < 4; w++)
        CHECK_EQ(roll.calls[w], 5);
}

/* ---- barriers ---- */

typedef struct march {
    tern__threads *pool;
    int steps, slow_worker; /* that one sleeps a little before some barriers; -1 = none */
    struct {
        int step;
        char apart[60];
    } at[2][MOST];
    int mistakes[MOST];
} march;

/* Each worker writes where it is, all meet, each reads where the others are. The two halves of `at`
 * alternate: a slow reader of one step and a fast writer of the next are then one barrier apart. */
static void walk(void *arg, int worker, int workers)
{
    march *m = arg;
    for (int step = 1; step <= m->steps; step++) {
        m->at[step & 1][worker].step = step;
        if (worker == m->slow_worker && step % 10 == 0)
            usleep(500);
        tern__threads_barrier(m->pool, NULL);
        for (int other = 0; other < workers; other++)
            m->mistakes[worker] += m->at[step & 1][other].step != step;
    }
}

static void march_with(int count, int workers, int steps, int slow_worker)
{
    static march m;
    memset(&m, 0, sizeof m);
    m.steps = steps;
    m.slow_worker = slow_worker;
    CHECK_OK(tern__threads_create(count, &m.pool));
    tern__threads_run(m.pool, workers, walk, &m);
    tern__threads_run(m.pool, workers, walk, &m); /* the barrier is in a good state afterwards */
    tern__threads_destroy(m.pool);
    for (int w = 0; w < workers; w++) {
        CHECK_EQ(m.mistakes[w], 0);
        CHECK_EQ(m.at[steps & 1][w].step, steps);
    }
}

TEST(barriers_hold_for_any_number_of_workers)
{
    for (int workers = 1; workers <= MOST && !harness_failed(); workers++)
        march_with(workers, workers, 1001, -1);
}

TEST(ten_thousand_barriers)
{
    march_with(2, 2, 10000, -1);
    march_with(MOST, MOST, 10000, -1);
}

TEST(barriers_in_part_of_a_pool)
{
    march_with(MOST, 3, 500, -1);
}

TEST(barriers_survive_slow_workers)
{
    march_with(2, 2, 200, 0);
    march_with(2, 2, 200, 1);
    march_with(4, 4, 200, 3);
}

/* ---- places ---- */

#if defined(__linux__)

typedef struct whereabouts {
    int at[MOST];      /* the core that each worker runs on */
    int allowed[MOST]; /* how many it may run on */
} whereabouts;

static void look_around(void *arg, int worker, int workers)
{
    whereabouts *w = arg;
    cpu_set_t set;
    (void)workers;
    w->at[worker] = sched_getcpu();
    w->allowed[worker] = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

/* Linux by itself puts both workers of a machine with two cores on one in most of such regions. The caller is free, and others may
 * drive it away between the look of the pool and its own: so not every time. */
TEST(workers_that_fill_the_machine_have_a_core_each)
{
    enum { REGIONS = 100 };
    cpu_set_t before, after;
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    const int cores = CPU_COUNT(&before);
    if (cores < 2 || cores > MOST) {
        printf("skipped: %d cores; it takes 2 to %d\n", cores, MOST);
        return;
    }
    tern__threads *pool;
    int apart = 0;
    CHECK_OK(tern__threads_create(cores, &pool));
    for (int r = 0; r < REGIONS; r++) {
        whereabouts w;
        bool distinct = true;
        usleep(1000); /* they sleep, and have to be woken */
        tern__threads_run(pool, cores, look_around, &w);
        for (int i = 0; i < cores; i++)
            for (int k = 0; k < i; k++)
                distinct = distinct && w.at[i] != w.at[k];
        for (int i = 1; i < cores; i++)
            CHECK_EQ(w.allowed[i], 1);
        apart += distinct;
    }
    tern__threads_destroy(pool);
    CHECK(apart >= REGIONS * 3 / 4);
    CHECK_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    CHECK(CPU_EQUAL(&before, &after)); /* the caller's is as it was */
}

typedef struct sleeper {
    pthread_t thread;
    pthread_barrier_t *both;
    int allowed;
} sleeper;

static void *sleep_and_look(void *arg)
{
    sleeper *s = arg;
    cpu_set_t set;
    pthread_barrier_wait(s->both); /* all of them are there */
    pthread_barrier_wait(s->both); /* they have been placed */
    s->allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
    return NULL;
}

/* Threads that came since the list was made: bound if there are as many as was said, else left alone. */
static void check_new_threads(int cores, int said, int allowed)
{
    sleeper all[MOST];
    tern__thread_list before;
    pthread_barrier_t both;
    tern__threads_list(&before);
    CHECK(before.n > 0);
    CHECK_EQ(pthread_barrier_init(&both, NULL, (unsigned)cores + 1), 0);
    for (int i = 0; i < cores; i++) {
        all[i] = (sleeper){.both = &both};
        CHECK_EQ(pthread_create(&all[i].thread, NULL, sleep_and_look, &all[i]), 0);
    }
    pthread_barrier_wait(&both);
    CHECK(tern__places_give_new(&before, said) == (allowed == 1));
    pthread_barrier_wait(&both);
    for (int i = 0; i < cores; i++) {
        pthread_join(all[i].thread, NULL);
        CHECK_EQ(all[i].allowed, allowed);
    }
    pthread_barrier_destroy(&both);
}

TEST(threads_of_a_driver_have_a_core_each)
{
    cpu_set_t set;
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    const int cores = CPU_COUNT(&set);
    if (cores < 2 || cores > MOST) {
        printf("skipped: %d cores; it takes 2 to %d\n", cores, MOST);
        return;
    }
    check_new_threads(cores, cores, 1);
    check_new_threads(cores, cores + 1, cores);
}

TEST(workers_that_do_not_fill_the_machine_are_left_alone)
{
    cpu_set_t before;
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    const int cores = CPU_COUNT(&before), count = cores == 2 ? 3 : 2; /* fewer, or more */
    whereabouts w;
    tern__threads *pool;
    CHECK_OK(tern__threads_create(count, &pool));
    tern__threads_run(pool, count, look_around, &w);
    tern__threads_destroy(pool);
    for (int i = 0; i < count; i++)
        CHECK_EQ(w.allowed[i], cores);
}

/* The caller sleeps at barriers, bound to its core, and is free afterwards. */
TEST(a_caller_that_slept_is_free_again)
{
    cpu_set_t before, after;
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    const int cores = CPU_COUNT(&before);
    if (cores >= 2 && cores <= MOST)
        march_with(cores, cores, 100, 1);
    CHECK_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    CHECK(CPU_EQUAL(&before, &after));
}

#endif

/* ---- work for those who wait ---- */

typedef struct spare {
    tern__threads *pool;
    _Atomic(int) calls;
    int chunks, done;
} spare;

static bool do_chunk(void *arg)
{
    spare *s = arg;
    s->done += s->done < s->chunks;
    return atomic_fetch_add(&s->calls, 1) + 1 < s->chunks;
}

/* Worker 1 comes only when worker 0 has found something to do. */
static void wait_usefully(void *arg, int worker, int workers)
{
    spare *s = arg;
    (void)workers;
    while (worker == 1 && atomic_load(&s->calls) == 0)
        usleep(10);
    tern__threads_barrier(s->pool, worker == 0 ? &(tern__idle){.work = do_chunk, .arg = s} : NULL);
}

TEST(who_waits_does_something_useful)
{
    static const int chunks[] = {1, 3, 1000000};
    for (size_t i = 0; i < TERN__COUNT(chunks); i++) {
        spare s = {.chunks = chunks[i]};
        CHECK_OK(tern__threads_create(2, &s.pool));
        tern__threads_run(s.pool, 2, wait_usefully, &s);
        tern__threads_destroy(s.pool);
        CHECK(s.done >= 1 && s.done <= s.chunks);
    }
}

/* ---- failure ---- */

TEST(a_refused_allocation_undoes_what_was_started)
{
    uint64_t before = live_blocks();
    int tried = 0;
    for (int at = 1;; at++) {
        gate g = {.countdown = at};
        tern__threads *pool = NULL;
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = tern__threads_create(5, &pool);
        tern_alloc_set_gate(NULL, NULL);
        if (!g.fired) {
            CHECK_OK(status);
            tern__threads_destroy(pool);
            break;
        }
        tried++;
        CHECK_STATUS(status, TERN_OUT_OF_MEMORY);
        CHECK(pool == NULL);
        CHECK_EQ(live_blocks(), before);
    }
    CHECK_EQ(tried, 6); /* the pool, its list, four members */
    CHECK_EQ(live_blocks(), before);
}

TEST(a_refused_thread_undoes_what_was_started)
{
#if defined(__linux__)
    if (HARNESS_ASAN || HARNESS_TSAN)
        SKIP("a sanitizer cannot live with a limit on address space");
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);

    uint64_t before = live_blocks();
    struct rlimit old, tight;
    CHECK_EQ(getrlimit(RLIMIT_AS, &old), 0);
    tight = old;
    tight.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64 << 20);
    CHECK_EQ(setrlimit(RLIMIT_AS, &tight), 0);
    void *probe = mmap(NULL, 1 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tern__threads *pool = NULL;
    tern_status status = TERN_OK;
    if (probe == MAP_FAILED)
        status = tern__threads_create(500, &pool);
    CHECK_EQ(setrlimit(RLIMIT_AS, &old), 0);
    if (probe != MAP_FAILED) {
        munmap(probe, 1 << 30);
        SKIP("this system does not enforce a limit on address space");
    }
    CHECK_STATUS(status, TERN_LIMIT);
    CHECK(strstr(tern_last_error(), "of 500") != NULL);
    CHECK(pool == NULL);
    CHECK_EQ(live_blocks(), before);
#else
    SKIP("the limit on address space is set the Linux way");
#endif
}

/* ---- signals ---- */

static void look_at_mask(void *arg, int worker, int workers)
{
    int *blocked = arg;
    sigset_t mask;
    (void)workers;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    blocked[worker] = sigismember(&mask, SIGINT) + 2 * sigismember(&mask, SIGSEGV);
}

TEST(members_leave_signals_to_the_program)
{
    int blocked[2] = {-1, -1};
    tern__threads *pool;
    CHECK_OK(tern__threads_create(2, &pool));
    tern__threads_run(pool, 2, look_at_mask, blocked);
    tern__threads_destroy(pool);
    CHECK_EQ(blocked[0], 0);
    CHECK_EQ(blocked[1], 1);
}
