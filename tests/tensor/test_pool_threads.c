/* test_pool_threads.c - the memory pool used by many threads at once. */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <tern/pool.h>

#include "pool_check.h"

enum { THREADS = 8, MAILBOXES = 64 };

/* ---- eight threads hand blocks to each other through mailboxes; a ninth watches the counters ---- */

typedef struct crowd {
    tern_pool *pool;
    _Atomic(uint64_t *) mailboxes[MAILBOXES]; /* a block of which word 0 is its size, or NULL */
    _Atomic(int) running;
    _Atomic(int) wrong; /* line of the first violation, 0 = none */
    int steps;
    bool upkeep;
    uint64_t seed;
} crowd;

typedef struct crowd_member {
    crowd *crowd;
    int number;
    uint64_t gets, puts, limits;
    pthread_t thread;
} crowd_member;

#define EXPECT(condition)                                               \
    do {                                                                \
        int none = 0;                                                   \
        if (!(condition))                                               \
            atomic_compare_exchange_strong(&c->wrong, &none, __LINE__); \
    } while (0)

/* Writes or verifies the first and last words of a block. */
static uint64_t *block_fill(uint64_t *block, uint64_t bytes)
{
    block[0] = bytes;
    for (uint64_t i = 1; i < bytes / 8; i += i < 8 || i + 8 >= bytes / 8 ? 1 : bytes / 8 - 8 - i)
        block[i] = mix(bytes + i);
    return block;
}

static bool block_intact(const uint64_t *block)
{
    uint64_t bytes = block[0];
    for (uint64_t i = 1; i < bytes / 8; i += i < 8 || i + 8 >= bytes / 8 ? 1 : bytes / 8 - 8 - i) {
        if (block[i] != mix(bytes + i))
            return false;
    }
    return true;
}

static void *crowd_work(void *arg)
{
    crowd_member *me = arg;
    crowd *c = me->crowd;
    uint64_t state = c->seed + (uint64_t)me->number * 0x9E3779B97F4A7C15u;
    for (int step = 0; step < c->steps; step++) {
        uint64_t r = random_next(&state);
        uint64_t *mine = NULL;
        if (r % 8 < 6) {
            size_t bytes = (size_t)64 << (r >> 8) % (r % 16 == 0 ? 16 : 9);
            void *block = NULL;
            tern_status status = tern_pool_get(c->pool, bytes, (r >> 16) % 4, &block);
            EXPECT(status == TERN_OK || (status == TERN_LIMIT && c->pool->options.cap_bytes != 0));
            me->limits += status == TERN_LIMIT;
            if (status == TERN_OK) {
                EXPECT((uintptr_t)block % 64 == 0);
                mine = block_fill(block, bytes);
                me->gets++;
            }
        }
        uint64_t *theirs = atomic_exchange(&c->mailboxes[(r >> 32) % MAILBOXES], mine);
        if (theirs != NULL) {
            EXPECT(block_intact(theirs));
            EXPECT(tern_pool_block_bytes(c->pool, theirs) >= theirs[0]);
            tern_pool_put(c->pool, theirs);
            me->puts++;
        }
        if (c->upkeep && r % 1024 == 7)
            tern_pool_defragment(c->pool, (int)(r >> 20 & 1));
        if (c->upkeep && r % 1024 == 15)
            tern_pool_trim(c->pool, MIB);
    }
    atomic_fetch_sub(&c->running, 1);
    return NULL;
}

static void *crowd_watch(void *arg)
{
    crowd_member *me = arg;
    crowd *c = me->crowd;
    uint64_t peak = 0;
    while (atomic_load(&c->running) > 0) {
        tern_pool_stats s;
        tern_pool_fragmentation f;
        tern_pool_get_stats(c->pool, &s);
        EXPECT(s.hits + s.misses == s.allocations);
        EXPECT(s.deallocations <= s.allocations);
        EXPECT((s.current_bytes == 0) == (s.allocations == s.deallocations));
        EXPECT(s.current_bytes <= s.peak_bytes && peak <= s.peak_bytes);
        EXPECT(s.allocations - s.deallocations <= MAILBOXES + THREADS);
        peak = s.peak_bytes;
        tern_pool_get_fragmentation(c->pool, &f);
        EXPECT(f.free_bytes + f.slack_bytes <= f.held_bytes);
        EXPECT(pool_check(c->pool) == NULL);
        sched_yield();
    }
    return NULL;
}

static void run_crowd(const tern_pool_options *options, int steps, bool upkeep)
{
    static crowd c;
    c = (crowd){.steps = steps, .upkeep = upkeep, .seed = harness_seed()};
    CHECK_OK(tern_pool_create(options, &c.pool));
    atomic_store(&c.running, THREADS);
    crowd_member members[THREADS + 1];
    uint64_t gets = 0, puts = 0, limits = 0;
    for (int i = 0; i <= THREADS; i++) {
        members[i] = (crowd_member){.crowd = &c, .number = i};
        int error =
            pthread_create(&members[i].thread, NULL, i < THREADS ? crowd_work : crowd_watch, &members[i]);
        CHECK_EQ(error, 0);
    }
    for (int i = 0; i <= THREADS; i++) {
        pthread_join(members[i].thread, NULL);
        gets += members[i].gets;
        puts += members[i].puts;
        limits += members[i].limits;
    }
    if (atomic_load(&c.wrong) != 0)
        harness_fail(__FILE__, atomic_load(&c.wrong), "a thread saw a violation here");
    CHECK_STR(pool_check(c.pool), NULL);
    tern_pool_stats stats;
    tern_pool_get_stats(c.pool, &stats);
    CHECK_EQ(stats.allocations, gets);
    CHECK_EQ(stats.deallocations, puts);
    CHECK(options == NULL || options->cap_bytes == 0 || limits > 0);

    uint64_t left = 0;
    for (int i = 0; i < MAILBOXES; i++) {
        uint64_t *block = atomic_load(&c.mailboxes[i]);
        if (block != NULL) {
            CHECK(block_intact(block));
            left += tern_pool_block_bytes(c.pool, block);
        }
        if (i == MAILBOXES - 1)
            CHECK_EQ(stats.current_bytes, left);
    }
    for (int i = 0; i < MAILBOXES; i++)
        tern_pool_put(c.pool, atomic_load(&c.mailboxes[i]));
    tern_pool_get_stats(c.pool, &stats);
    CHECK_EQ(stats.current_bytes, 0);
    CHECK_EQ(stats.allocations, stats.deallocations);
    tern_pool_trim(c.pool, 0);
    CHECK_STR(pool_check(c.pool), NULL);
    CHECK_EQ(c.pool->held, 0);
    tern_pool_destroy(c.pool);
}

TEST(eight_threads_exchange_blocks)
{
    run_crowd(NULL, HARNESS_TSAN ? 5000 : 30000, false);
}

TEST(eight_threads_while_others_tidy_up)
{
    tern_pool_options options = {.large_region = 2 * MIB, .no_huge_pages = true};
    run_crowd(&options, HARNESS_TSAN ? 3000 : 15000, true);
}

TEST(eight_threads_under_a_cap)
{
    tern_pool_options options = {.cap_bytes = 3 * MIB};
    run_crowd(&options, HARNESS_TSAN ? 3000 : 15000, true);
}

/* ---- one operation after the other, each by another thread: every number is known ---- */

typedef struct errand {
    tern_pool *pool;
    size_t bytes; /* get so much, or 0: put `block` */
    void *block;
    tern_status status;
} errand;

static void *run_errand(void *arg)
{
    errand *e = arg;
    if (e->bytes != 0)
        e->status = tern_pool_get(e->pool, e->bytes, 0, &e->block);
    else
        tern_pool_put(e->pool, e->block);
    return NULL;
}

static bool send(errand *e)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_errand, e) != 0)
        return false;
    pthread_join(thread, NULL);
    return e->status == TERN_OK;
}

TEST(counters_are_exact_across_threads)
{
    static const size_t sizes[] = {64, 640, 8 * KIB, 256 * KIB, MIB};
    tern_pool *pool;
    CHECK_OK(tern_pool_create(NULL, &pool));
    void *live[40];
    uint64_t live_bytes[40], current = 0, peak = 0, gets = 0, puts = 0, state = harness_seed();
    int count = 0;
    for (int step = 0; step < 1500; step++) {
        uint64_t r = random_next(&state);
        errand e = {.pool = pool};
        if (count == 0 || (count < 40 && r % 100 < (step / 100 % 2 == 0 ? 65u : 35u))) {
            e.bytes = sizes[(r >> 8) % 5];
            CHECK(send(&e));
            gets++;
            live[count] = e.block;
            live_bytes[count++] = e.bytes;
            current += e.bytes;
            peak = current > peak ? current : peak;
        } else {
            int i = (int)((r >> 8) % (uint64_t)count);
            e.block = live[i];
            CHECK(send(&e));
            puts++;
            current -= live_bytes[i];
            live[i] = live[--count];
            live_bytes[i] = live_bytes[count];
        }
        tern_pool_stats stats;
        tern_pool_get_stats(pool, &stats);
        CHECK_EQ(stats.allocations, gets);
        CHECK_EQ(stats.deallocations, puts);
        CHECK_EQ(stats.hits + stats.misses, gets);
        CHECK_EQ(stats.current_bytes, current);
        CHECK_EQ(stats.peak_bytes, peak);
    }
    CHECK_STR(pool_check(pool), NULL);
    while (count > 0)
        tern_pool_put(pool, live[--count]);
    tern_pool_destroy(pool);
}

/* What one thread returned, another gets before the system is asked or the cap is in the way. */
TEST(memory_returned_by_one_thread_serves_another)
{
    tern_pool_options options = {.cap_bytes = 8 * MIB};
    tern_pool *pool;
    CHECK_OK(tern_pool_create(&options, &pool));
    void *blocks[64];
    for (int i = 0; i < 64; i++) {
        errand e = {.pool = pool, .bytes = 64 * KIB};
        CHECK(send(&e));
        blocks[i] = e.block;
    }
    for (int i = 0; i < 64; i++) {
        errand e = {.pool = pool, .block = blocks[i]};
        CHECK(send(&e));
    }
    tern_pool_stats before, after;
    tern_pool_get_stats(pool, &before);
    for (int i = 0; i < 64; i++)
        CHECK_OK(tern_pool_get(pool, 64 * KIB, 0, &blocks[i]));
    tern_pool_get_stats(pool, &after);
    CHECK_EQ(after.misses, before.misses);
    for (int i = 0; i < 64; i++)
        tern_pool_put(pool, blocks[i]);
    errand whole = {.pool = pool, .bytes = 8 * MIB};
    CHECK(send(&whole));
    tern_pool_put(pool, whole.block);
    CHECK_STR(pool_check(pool), NULL);
    tern_pool_destroy(pool);
}
