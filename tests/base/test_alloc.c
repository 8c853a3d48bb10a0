/* test_alloc.c - the gate can refuse any allocation, the counters add up, pages behave as promised. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "harness.h"

static tern_alloc_stats stats(void)
{
    tern_alloc_stats s;
    tern_alloc_get_stats(&s);
    return s;
}

/* Refuses the allocation with number `at` (from 1), and all after it if `for_ever`. */
typedef struct refuse {
    int at, seen;
    bool for_ever;
    size_t last_bytes;
} refuse;

static bool refuse_gate(void *user, size_t bytes)
{
    refuse *r = user;
    r->seen++;
    r->last_bytes = bytes;
    return r->for_ever ? r->seen < r->at : r->seen != r->at;
}

TEST(counters_add_up)
{
    tern_alloc_stats before = stats();
    void *blocks[64];
    size_t asked = 0;
    for (size_t i = 0; i < 64; i++) {
        size_t bytes = i * i * 7;
        asked += bytes;
        blocks[i] = i % 3 == 0   ? tern__alloc(bytes)
                    : i % 3 == 1 ? tern__alloc_zero(i, i * 7)
                                 : tern__alloc_aligned(bytes, i % 2 == 0 ? 64 : 4096);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 0xa5, bytes);
    }
    tern_alloc_stats during = stats();
    CHECK_EQ(during.allocations - before.allocations, 64);
    CHECK_EQ(during.frees, before.frees);
    CHECK(during.live_bytes - before.live_bytes >= asked);
    for (size_t i = 0; i < 64; i++)
        tern__free(blocks[i]);
    tern__free(NULL);
    tern_alloc_stats after = stats();
    CHECK_EQ(after.frees - before.frees, 64);
    CHECK_EQ(after.live_bytes, before.live_bytes);
    CHECK_EQ(after.refused, before.refused);
}

TEST(alignment_and_empty_blocks)
{
    void *a = tern__alloc(0), *b = tern__alloc(0);
    CHECK(a != NULL && b != NULL && a != b);
    tern__free(a);
    tern__free(b);
    for (size_t alignment = 16; alignment <= 1 << 16; alignment *= 2) {
        void *block = tern__alloc_aligned(alignment == 64 ? 0 : 100, alignment);
        CHECK(block != NULL);
        CHECK_EQ((uintptr_t)block % alignment, 0);
        tern__free(block);
    }
    for (size_t bytes = 1; bytes < 300; bytes += 7) {
        void *block = tern__alloc(bytes);
        CHECK_EQ((uintptr_t)block % 16, 0);
        tern__free(block);
    }
}

TEST(zeroed_and_checked)
{
    unsigned char *block = tern__alloc_zero(100, 30);
    CHECK(block != NULL);
    for (int i = 0; i < 3000; i++)
        CHECK_EQ(block[i], 0);
    tern__free(block);
    tern_alloc_stats before = stats();
    CHECK(tern__alloc_zero(SIZE_MAX / 2, 3) == NULL);
    CHECK_EQ(stats().refused, before.refused + 1);
    CHECK_EQ(stats().allocations, before.allocations);
}

TEST(realloc_keeps_the_content_and_the_count)
{
    tern_alloc_stats before = stats();
    char *block = tern__realloc(NULL, 10);
    CHECK(block != NULL);
    memcpy(block, "012345678", 10);
    block = tern__realloc(block, 100000);
    CHECK_STR(block, "012345678");
    CHECK(stats().live_bytes - before.live_bytes >= 100000);

    refuse one = {.at = 1};
    tern_alloc_set_gate(refuse_gate, &one);
    void *grown = tern__realloc(block, 200000);
    tern_alloc_set_gate(NULL, NULL);
    CHECK(grown == NULL);
    CHECK_STR(block, "012345678");

    block = tern__realloc(block, 10);
    CHECK_STR(block, "012345678");
    tern__free(block);
    tern_alloc_stats after = stats();
    CHECK_EQ(after.live_bytes, before.live_bytes);
    CHECK_EQ(after.allocations - before.allocations, after.frees - before.frees);
}

/* Six allocations through every door; the mask of those that succeeded. */
static unsigned six_doors(void)
{
    char text[] = "text";
    void *blocks[6] = {
        tern__alloc(1),         tern__alloc_zero(2, 3), tern__alloc_aligned(5, 64),
        tern__realloc(NULL, 7), tern__strdup(text),     tern__pages_map(tern__page_size(), false)};
    unsigned mask = 0;
    for (int i = 0; i < 6; i++)
        mask |= (unsigned)(blocks[i] != NULL) << i;
    for (int i = 0; i < 5; i++)
        tern__free(blocks[i]);
    tern__pages_unmap(blocks[5], tern__page_size());
    return mask;
}

TEST(gate_refuses_the_nth_once)
{
    for (int at = 1; at <= 7; at++) {
        tern_alloc_stats before = stats();
        refuse r = {.at = at};
        tern_alloc_set_gate(refuse_gate, &r);
        unsigned mask = six_doors();
        tern_alloc_set_gate(NULL, NULL);
        CHECK_EQ(r.seen, 6);
        CHECK_EQ(mask, 63 & ~(1 << (at - 1)));
        CHECK_EQ(stats().refused - before.refused, at <= 6);
        CHECK_EQ(stats().live_bytes, before.live_bytes);
    }
}

TEST(gate_refuses_from_the_nth_on)
{
    for (int at = 1; at <= 7; at++) {
        tern_alloc_stats before = stats();
        refuse r = {.at = at, .for_ever = true};
        tern_alloc_set_gate(refuse_gate, &r);
        unsigned mask = six_doors();
        tern_alloc_set_gate(NULL, NULL);
        CHECK_EQ(mask, (1 << (at - 1)) - 1);
        CHECK_EQ(stats().refused - before.refused, 7 - at);
        CHECK_EQ(stats().live_bytes, before.live_bytes);
    }
}

TEST(gate_sees_the_bytes)
{
    refuse r = {.at = 1, .for_ever = true};
    tern_alloc_set_gate(refuse_gate, &r);
    tern__alloc_zero(6, 7);
    size_t zeroed = r.last_bytes;
    tern__strndup("abc", 2);
    size_t copied = r.last_bytes;
    tern_alloc_set_gate(NULL, NULL);
    CHECK_EQ(zeroed, 42);
    CHECK_EQ(copied, 3);
}

TEST(the_system_can_refuse_too)
{
    if (HARNESS_ASAN || HARNESS_TSAN)
        SKIP("the sanitizer reports impossible sizes instead of refusing them");
    tern_alloc_stats before = stats();
    volatile size_t too_much = SIZE_MAX / 2;
    CHECK(tern__alloc(too_much) == NULL);
    CHECK(tern__alloc_aligned(too_much, 64) == NULL);
    CHECK(tern__pages_map(too_much & ~(tern__page_size() - 1), true) == NULL);
    CHECK_EQ(stats().refused - before.refused, 3);
    CHECK_EQ(stats().live_bytes, before.live_bytes);
}

TEST(grow_doubles)
{
    void *items = NULL;
    size_t capacity = 0;
    CHECK(tern__grow(&items, &capacity, 5, 8));
    CHECK_EQ(capacity, 5);
    memset(items, 7, 40);
    CHECK(tern__grow(&items, &capacity, 6, 8));
    CHECK_EQ(capacity, 10);
    CHECK_EQ(((char *)items)[39], 7);
    void *same = items;
    CHECK(tern__grow(&items, &capacity, 10, 8));
    CHECK(items == same && capacity == 10);
    CHECK(!tern__grow(&items, &capacity, SIZE_MAX / 4, 8));
    CHECK(items == same && capacity == 10);
    refuse r = {.at = 1};
    tern_alloc_set_gate(refuse_gate, &r);
    bool grown = tern__grow(&items, &capacity, 11, 8);
    tern_alloc_set_gate(NULL, NULL);
    CHECK(!grown && items == same && capacity == 10);
    tern__free(items);
}

TEST(string_copies)
{
    char *whole = tern__strdup("ternary"), *part = tern__strndup("ternary", 4),
         *none = tern__strndup(NULL, 0);
    CHECK_STR(whole, "ternary");
    CHECK_STR(part, "tern");
    CHECK_STR(none, "");
    tern__free(whole);
    tern__free(part);
    tern__free(none);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 2000 };

static _Atomic(void *) exchanged[THREADS];

static void *churn(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    for (size_t i = 0; i < ROUNDS; i++) {
        void *block = tern__alloc(16 + (i * 37 + me) % 5000);
        tern__free(atomic_exchange(&exchanged[(me + i) % THREADS], block)); /* often somebody else's */
        if (i % 64 == 0) {
            tern_alloc_stats s = stats();
            if (s.allocations < s.frees || s.live_bytes > (uint64_t)1 << 40)
                return "a counter went below zero";
        }
    }
    return NULL;
}

TEST(counters_add_up_over_threads)
{
    tern_alloc_stats before = stats();
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    void *complaint = NULL;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        complaint = result != NULL ? result : complaint;
    }
    for (int i = 0; i < THREADS; i++)
        tern__free(exchanged[i]);
    CHECK_STR(complaint, NULL);
    tern_alloc_stats after = stats();
    CHECK_EQ(after.allocations - before.allocations, THREADS * ROUNDS);
    CHECK_EQ(after.frees - before.frees, THREADS * ROUNDS);
    CHECK_EQ(after.live_bytes, before.live_bytes);
}

enum { CROWD = 100 }; /* more threads than there are sets of counters */

static void *crowd_blocks[CROWD];
static tern__threads *crowd;

static void swap_blocks(void *arg, int worker, int workers)
{
    (void)arg;
    for (int round = 0; round < 3; round++) {
        crowd_blocks[worker] = tern__alloc(100);
        tern__threads_barrier(crowd, NULL);
        tern__free(crowd_blocks[(worker + 1) % workers]);
        tern__threads_barrier(crowd, NULL);
    }
}

TEST(counters_add_up_over_many_threads)
{
    tern_alloc_stats before = stats();
    for (int i = 0; i < 2; i++) { /* the second time with counters that ended threads gave back */
        CHECK_OK(tern__threads_create(CROWD, &crowd));
        tern__threads_run(crowd, CROWD, swap_blocks, NULL);
        tern__threads_destroy(crowd);
    }
    tern_alloc_stats after = stats();
    CHECK_EQ(after.live_bytes, before.live_bytes);
    CHECK_EQ(after.allocations - before.allocations, after.frees - before.frees);
    CHECK_EQ(after.allocations - before.allocations,
             2 * (3 * CROWD + CROWD - 1 + 2)); /* blocks, members, pool */
}

/* ---- pages ---- */

TEST(pages_are_zero_counted_and_reusable)
{
    size_t page = tern__page_size(), bytes = 16 * page;
    CHECK(page >= 4096 && (page & (page - 1)) == 0);
    tern_alloc_stats before = stats();
    unsigned char *pages = tern__pages_map(bytes, false);
    CHECK(pages != NULL);
    CHECK_EQ((uintptr_t)pages % page, 0);
    CHECK_EQ(stats().live_bytes - before.live_bytes, bytes);
    for (size_t i = 0; i < bytes; i++)
        CHECK_EQ(pages[i], 0);
    memset(pages, 0xff, bytes);

    /* Only whole pages inside the range go: 3 to 6, not the halves of 2 and 7. */
    tern__pages_discard(pages + 2 * page + page / 2, 5 * page);
    for (size_t i = 0; i < bytes; i++)
        CHECK_EQ(pages[i], i / page >= 3 && i / page <= 6 ? 0 : 0xff);
    pages[4 * page] = 1;
    CHECK_EQ(pages[4 * page], 1);
    tern__pages_discard(pages + 1, page); /* no whole page inside: nothing happens */
    CHECK_EQ(pages[1], 0xff);
    tern__pages_unmap(pages, bytes);
    tern__pages_unmap(NULL, 0);
    CHECK(tern__pages_map(0, false) == NULL);
    CHECK_EQ(stats().live_bytes, before.live_bytes);
    CHECK_EQ(stats().allocations - before.allocations, stats().frees - before.frees);
}

/* Pages that were asked for are there, and hold what they held. */
TEST(populated_pages_stay_as_they_were)
{
    const size_t page = tern__page_size();
    unsigned char *pages = tern__pages_map(8 * page, false);
    CHECK(pages != NULL);
    memset(pages + 3 * page, 7, page);
    tern__pages_populate(pages + 2 * page + 5, 3 * page);
    tern__pages_populate(pages, 0);
    for (size_t i = 0; i < 8 * page; i++)
        CHECK_EQ(pages[i], i / page == 3 ? 7 : 0);
    tern__pages_unmap(pages, 8 * page);
}

TEST(discarded_pages_leave_memory)
{
#if defined(__linux__)
    size_t page = tern__page_size();
    unsigned char resident[8] = {0};
    char *pages = tern__pages_map(8 * page, false);
    CHECK(pages != NULL);
    memset(pages, 1, 8 * page);
    CHECK_EQ(mincore(pages, 8 * page, resident), 0);
    CHECK_EQ(resident[5] & 1, 1);
    tern__pages_discard(pages + 4 * page, 4 * page);
    CHECK_EQ(mincore(pages, 8 * page, resident), 0);
    CHECK_EQ(resident[3] & 1, 1);
    CHECK_EQ(resident[4] & 1, 0);
    CHECK_EQ(resident[7] & 1, 0);
    tern__pages_unmap(pages, 8 * page);
#else
    SKIP("residency is asked with Linux's mincore");
#endif
}

#if defined(__linux__)
/* Has the mapping that holds `at` this flag of two letters, by /proc/self/smaps? -1: the system does not tell. */
static int has_flag(const void *at, const char *flag)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[1024];
    bool here = false;
    int found = -1;
    while (maps != NULL && found < 0 && fgets(line, sizeof line, maps) != NULL) {
        unsigned long long first, end;
        if (sscanf(line, "%llx-%llx ", &first, &end) == 2)
            here = (uintptr_t)at >= first && (uintptr_t)at < end;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, flag) != NULL;
    }
    if (maps != NULL)
        fclose(maps);
    return found;
}
#endif

/* Alignment alone would not make them huge: the system is asked. */
TEST(huge_blocks_ask_for_huge_pages)
{
    if (HARNESS_ASAN)
        SKIP("with AddressSanitizer pages are blocks of its heap");
#if defined(__linux__)
    const size_t bytes = 8 << 20;
    void *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(own != MAP_FAILED);
    const int told = madvise(own, bytes, MADV_HUGEPAGE) == 0 ? has_flag(own, " hg") : -1;
    munmap(own, bytes);
    if (told != 1)
        SKIP("this system has no transparent huge pages, or does not tell who asked for them");
    void *huge = tern__pages_map(bytes, true), *plain = tern__pages_map(bytes, false);
    CHECK_EQ(has_flag(huge, " hg"), 1);
    CHECK_EQ(has_flag(plain, " hg"), 0);
    tern__pages_unmap(huge, bytes);
    tern__pages_unmap(plain, bytes);
#else
    SKIP("what was asked of the system is read from Linux's /proc/self/smaps");
#endif
}

TEST(huge_blocks_start_on_a_huge_page)
{
    size_t huge = 2 << 20, page = tern__page_size();
    size_t sizes[] = {huge, huge + page, 5 * huge, 9 * huge + 3 * page};
    void *blocks[4];
    tern_alloc_stats before = stats();
    for (int i = 0; i < 4; i++) {
        blocks[i] = tern__pages_map(sizes[i], true);
        CHECK(blocks[i] != NULL);
        CHECK_EQ((uintptr_t)blocks[i] % huge, 0);
        memset(blocks[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(((char *)blocks[i])[0], i + 1);
        CHECK_EQ(((char *)blocks[i])[sizes[i] - 1], i + 1);
        tern__pages_unmap(blocks[i], sizes[i]);
    }
    CHECK_EQ(stats().live_bytes, before.live_bytes);
    void *small = tern__pages_map(page, true);
    CHECK(small != NULL);
    tern__pages_unmap(small, page);
}
