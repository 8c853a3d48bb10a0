/* test_pool.c - the memory pool: single calls, cap, trim, defragment, pressure, refusals. Random histories
 * are in test_pool_random.c, threads in test_pool_threads.c. */
#include "harness.h"

#include <string.h>

#include <tern/alloc.h>
#include <tern/log.h>
#include <tern/pool.h>

#include "base/alloc.h"
#include "pool_check.h"

/* ---- single calls ---- */

TEST(classes_are_tight_and_ordered)
{
    size_t last = 0;
    for (unsigned i = 0; i < TERN__POOL_CLASSES; i++) {
        size_t bytes = tern__pool_class_bytes(i);
        CHECK(bytes > last && bytes % 64 == 0);
        CHECK_EQ(tern__pool_class_of(bytes), i);
        CHECK_EQ(tern__pool_class_of(last + 1), i);
        CHECK(bytes <= 512 ? bytes - last == 64 : (bytes - last) * 8 <= bytes);
        last = bytes;
    }
    CHECK_EQ(last, TERN__POOL_BLOCK_MAX);
    CHECK_EQ(tern__pool_class_bytes(TERN__POOL_CACHED - 1), 64 * MIB);
    CHECK_EQ(tern__pool_class_bytes(TERN__POOL_SMALL_CLASSES - 1), MIB);
    for (size_t units = 1; units < 5000; units++) {
        unsigned bin = tern__pool_bin_of(units);
        CHECK(tern__pool_class_bytes(bin) <= units * 4096 && tern__pool_class_bytes(bin + 1) > units * 4096);
    }
}

TEST(options_have_defaults_and_limits)
{
    tern_pool_options options = tern_pool_options_default();
    CHECK_EQ(options.small_max, 64 * KIB);
    CHECK_EQ(options.small_slab, MIB);
    CHECK_EQ(options.large_region, 32 * MIB);
    CHECK_EQ(options.cap_bytes, 0);
    CHECK(!options.no_huge_pages);

    tern_pool *pool = NULL;
    options.small_max = 2 * MIB;
    CHECK_STATUS(tern_pool_create(&options, &pool), TERN_INVALID_ARGUMENT);
    options.small_max = 64 * KIB;
    options.small_slab = 32 * KIB;
    CHECK_STATUS(tern_pool_create(&options, &pool), TERN_INVALID_ARGUMENT);
    options.small_slab = 0;
    options.large_region = SIZE_MAX;
    CHECK_STATUS(tern_pool_create(&options, &pool), TERN_INVALID_ARGUMENT);
    CHECK(pool == NULL);
    CHECK_STATUS(tern_pool_create(NULL, NULL), TERN_INVALID_ARGUMENT);
    CHECK_OK(tern_pool_create(NULL, &pool));
    tern_pool_destroy(pool);
    tern_pool_destroy(NULL);
}

TEST(blocks_of_every_size_are_aligned_and_usable)
{
    tern_pool *pool = pool_with(0, 0, 0, 0, 1);
    static const size_t extra[] = {0, 65536, 65537, MIB, 3 * MIB + 1, 16 * MIB, 33 * MIB, 80 * MIB};
    for (size_t i = 0; i < 2200; i++) {
        size_t bytes = i < 8 ? extra[i] : i < 1100 ? i - 8 : (i - 1000) * 97;
        void *block = NULL;
        CHECK_OK(tern_pool_get(pool, bytes, i, &block));
        CHECK_EQ((uintptr_t)block % 64, 0);
        size_t usable = tern_pool_block_bytes(pool, block);
        CHECK(usable >= bytes && usable >= 64 &&
              usable <= (bytes < 4096 ? bytes + 512 : bytes + bytes / 8 + 4096));
        memset(block, 0x5A, usable < 64 * KIB ? usable : 64 * KIB);
        memset((char *)block + usable - 64, 0x5A, 64);
        tern_pool_put(pool, block);
        CHECK_EQ(tern_pool_block_bytes(pool, block), 0);
    }
    tern_pool_put(pool, NULL);
    CHECK_STR(pool_check(pool), NULL);
    CHECK_EQ(stats_of(pool).current_bytes, 0);
    tern_pool_destroy(pool);
}

TEST(impossible_sizes_are_refused)
{
    tern_pool *pool = pool_with(0, 0, 0, 0, 1);
    void *block = &pool;
    CHECK_STATUS(tern_pool_get(pool, SIZE_MAX, 0, &block), TERN_OUT_OF_MEMORY);
    CHECK_STATUS(tern_pool_get(pool, SIZE_MAX - 4096, 0, &block), TERN_OUT_OF_MEMORY);
    CHECK_STATUS(tern_pool_get(pool, (size_t)1 << 60, 0, &block), TERN_OUT_OF_MEMORY);
    CHECK(block == &pool);
    CHECK_STATUS(tern_pool_get(pool, 8, 0, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_pool_get(NULL, 8, 0, &block), TERN_INVALID_ARGUMENT);
    CHECK_EQ(stats_of(pool).allocations, 0);
    CHECK_STR(pool_check(pool), NULL);
    tern_pool_destroy(pool);
}

TEST(hits_and_misses_say_where_memory_came_from)
{
    tern_pool *pool = pool_with(0, 0, 2 * MIB, 0, 1);
    void *a, *b;
    CHECK_OK(tern_pool_get(pool, 2 * MIB, 0, &a)); /* a region of its own */
    CHECK_EQ(stats_of(pool).misses, 1);
    tern_pool_put(pool, a);
    CHECK_OK(tern_pool_get(pool, 2 * MIB, 0, &b));
    CHECK(a == b);
    CHECK_EQ(stats_of(pool).hits, 1);
    CHECK_OK(tern_pool_get(pool, 2 * MIB, 0, &a));
    tern_pool_stats stats = stats_of(pool);
    CHECK_EQ(stats.misses, 2);
    CHECK_EQ(stats.allocations, 3);
    CHECK_EQ(stats.deallocations, 1);
    CHECK_EQ(stats.current_bytes, 4 * MIB);
    CHECK_EQ(stats.peak_bytes, 4 * MIB);
    tern_pool_put(pool, a);
    tern_pool_put(pool, b);
    CHECK_EQ(stats_of(pool).peak_bytes, 4 * MIB);
    tern_pool_destroy(pool);
}

/* Blocks return in one order and are asked for in another; each comes back to its key. */
TEST(a_key_finds_its_block)
{
    static const size_t sizes[] = {64, 1000, 40 * KIB, 512 * KIB};
    tern_pool *pool = pool_with(0, 0, 0, 0, 1);
    uint64_t state = harness_seed();
    for (size_t s = 0; s < 4; s++) {
        void *of_key[64], *block;
        for (uint64_t key = 0; key < 64; key++)
            CHECK_OK(tern_pool_get(pool, sizes[s], 1000 * s + key + 1, &of_key[key]));
        for (int round = 0; round < 20; round++) {
            uint64_t step = 2 * random_below(&state, 32) + 1, start = random_below(&state, 64);
            for (uint64_t i = 0; i < 64; i++)
                tern_pool_put(pool, of_key[(start + i * step) % 64]);
            start = random_below(&state, 64);
            for (uint64_t i = 0; i < 64; i++) {
                uint64_t key = (start + i * 5) % 64;
                CHECK_OK(tern_pool_get(pool, sizes[s], 1000 * s + key + 1, &block));
                CHECK(block == of_key[key]);
            }
        }
        for (int i = 0; i < 64; i++)
            tern_pool_put(pool, of_key[i]);
        /* A key that nobody used still gets a block, and none of them is a miss. */
        uint64_t misses = stats_of(pool).misses;
        CHECK_OK(tern_pool_get(pool, sizes[s], 999999, &block));
        CHECK_EQ(stats_of(pool).misses, misses);
        tern_pool_put(pool, block);
    }
    /* The key of a large block survives the way through the regions, if the block does. */
    void *a, *wall, *b, *block;
    CHECK_OK(tern_pool_get(pool, MIB, 11, &a));
    CHECK_OK(tern_pool_get(pool, MIB, 0, &wall));
    CHECK_OK(tern_pool_get(pool, MIB, 12, &b));
    CHECK_STR(pool_check(pool), NULL);
    tern_pool_put(pool, b);
    tern_pool_put(pool, a);
    CHECK_OK(tern_pool_get(pool, MIB, 12, &block));
    CHECK(block == b);
    tern_pool_put(pool, block);
    tern_pool_put(pool, wall);
    tern_pool_destroy(pool);
}

static int errors_logged, warnings_logged;

static void count_messages(void *user, tern_log_level level, const char *message)
{
    (void)user, (void)message;
    errors_logged += level == TERN_LOG_ERROR;
    warnings_logged += level == TERN_LOG_WARN;
}

TEST(what_is_not_a_block_is_left_alone)
{
    tern_pool *pool = pool_with(0, 0, 0, 0, 1), *other = pool_with(0, 0, 0, 0, 1);
    char *small, *large, *foreign;
    static char own[128];
    CHECK_OK(tern_pool_get(pool, 256, 0, (void **)&small));
    CHECK_OK(tern_pool_get(pool, MIB, 0, (void **)&large));
    CHECK_OK(tern_pool_get(other, 256, 0, (void **)&foreign));
    errors_logged = warnings_logged = 0;
    tern_log_set(TERN_LOG_DEBUG, count_messages, NULL);
    tern_pool_put(pool, own);
    tern_pool_put(pool, small + 1);
    tern_pool_put(pool, small + 64);
    tern_pool_put(pool, large + 64);
    tern_pool_put(pool, large + 4096);
    tern_pool_put(pool, foreign);
    tern_pool_put(pool, (void *)(UINTPTR_MAX - 63));
    tern_pool_put(pool, small);
    tern_pool_put(pool, small);
    tern_pool_put(pool, large);
    tern_pool_put(pool, large);
    CHECK_EQ(errors_logged, 9);
    CHECK_EQ(tern_pool_block_bytes(pool, own), 0);
    CHECK_EQ(stats_of(pool).deallocations, 2);
    CHECK_STR(pool_check(pool), NULL);
    tern_pool_destroy(pool);
    CHECK_EQ(warnings_logged, 0);
    tern_pool_destroy(other); /* with a block in use */
    CHECK_EQ(warnings_logged, 1);
    tern_log_set(TERN_LOG_ERROR, NULL, NULL);
}

/* ---- cap, trim, defragment, pressure ---- */

TEST(the_cap_holds_and_trimming_makes_room)
{
    tern_pool *pool = pool_with(0, 0, 0, 8 * MIB, 1);
    void *blocks[8], *block = NULL;
    for (int i = 0; i < 8; i++)
        CHECK_OK(tern_pool_get(pool, MIB, 0, &blocks[i]));
    CHECK_STATUS(tern_pool_get(pool, 64, 0, &block), TERN_LIMIT);
    CHECK_STATUS(tern_pool_get(pool, MIB, 0, &block), TERN_LIMIT);
    CHECK(strstr(tern_last_error(), "cap") != NULL && block == NULL);
    for (int i = 0; i < 8; i++)
        tern_pool_put(pool, blocks[i]);
    /* All of it is free now, but in regions of 2, 2 and 4 MiB: only without them does 8 MiB fit. */
    CHECK_OK(tern_pool_get(pool, 8 * MIB, 0, &block));
    CHECK_EQ(fragmentation_of(pool).held_bytes, 8 * MIB);
    tern_pool_put(pool, block);
    CHECK_STATUS(tern_pool_get(pool, 8 * MIB + 1, 0, &block), TERN_LIMIT);
    /* Small blocks get by with what is left, down to the last page. */
    CHECK_OK(tern_pool_get(pool, 7 * MIB, 0, &block));
    size_t taken = 0;
    void *small;
    while (tern_pool_get(pool, 64, 0, &small) == TERN_OK)
        taken += 64;
    CHECK_EQ(taken, MIB);
    CHECK_STR(pool_check(pool), NULL);
    tern_pool_destroy(pool);
}

TEST(a_cap_below_everything_else_still_serves)
{
    tern_pool *pool = pool_with(0, 0, 0, 64 * KIB, 1);
    void *a, *b, *c;
    CHECK_OK(tern_pool_get(pool, 64, 0, &a));
    tern_pool_put(pool, a);
    CHECK_OK(tern_pool_get(pool, 5000, 0, &a)); /* the slab of the other class makes room */
    CHECK_OK(tern_pool_get(pool, 5000, 0, &b));
    CHECK_STATUS(tern_pool_get(pool, 100 * KIB, 0, &c), TERN_LIMIT);
    CHECK(fragmentation_of(pool).held_bytes <= 64 * KIB);
    CHECK_STR(pool_check(pool), NULL);
    tern_pool_put(pool, a);
    tern_pool_put(pool, b);
    tern_pool_destroy(pool);
    pool = pool_with(0, 0, 0, 100, 1);
    CHECK_STATUS(tern_pool_get(pool, 64, 0, &a), TERN_LIMIT);
    tern_pool_destroy(pool);
}

TEST(trim_gives_free_regions_back_and_keeps_the_rest)
{
    tern_pool *pool = pool_with(0, 0, 2 * MIB, 0, 1);
    unsigned char *blocks[10];
    for (int i = 0; i < 10; i++) {
        CHECK_OK(tern_pool_get(pool, 2 * MIB, 0, (void **)&blocks[i])); /* one region each */
        memset(blocks[i], i, 2 * MIB);
    }
    CHECK_EQ(tern_pool_trim(pool, 0), 0);
    for (int i = 0; i < 10; i += 2)
        tern_pool_put(pool, blocks[i]);
    CHECK_EQ(tern_pool_trim(pool, 10 * MIB), 0);
    CHECK_EQ(tern_pool_trim(pool, 7 * MIB), 4 * MIB); /* whole regions: 6 MiB stay */
    CHECK_EQ(fragmentation_of(pool).free_bytes, 6 * MIB);
    CHECK_EQ(fragmentation_of(pool).held_bytes, 16 * MIB);
    CHECK_EQ(tern_pool_trim(pool, 0), 6 * MIB);
    CHECK_EQ(fragmentation_of(pool).free_blocks, 0);
    CHECK(fragmentation_of(pool).ratio == 0);
    for (int i = 1; i < 10; i += 2) {
        CHECK(blocks[i][0] == i && blocks[i][2 * MIB - 1] == i);
        tern_pool_put(pool, blocks[i]);
    }
    CHECK_STR(pool_check(pool), NULL);
    tern_pool_destroy(pool);
}

TEST(defragment_merges_neighbours)
{
    tern_pool *pool = pool_with(0, 0, 16 * MIB, 0, 1);
    void *blocks[16], *block;
    CHECK_OK(tern_pool_get(pool, 16 * MIB, 0, &block)); /* one region for all that follows */
    tern_pool_put(pool, block);
    tern_pool_defragment(pool, 0);
    for (int i = 0; i < 16; i++)
        CHECK_OK(tern_pool_get(pool, MIB, 0, &blocks[i]));
    for (int i = 0; i < 16; i += 2)
        tern_pool_put(pool, blocks[i]);
    tern_pool_fragmentation found = fragmentation_of(pool);
    CHECK_EQ(found.free_blocks, 8);
    CHECK_EQ(found.largest_free, MIB);
    CHECK_NEAR(found.ratio, 1 - 1.0 / 8, 1e-12);
    CHECK_EQ(tern_pool_defragment(pool, 0), 0); /* no two are neighbours */
    for (int i = 1; i < 16; i += 2)
        tern_pool_put(pool, blocks[i]);
    CHECK_EQ(tern_pool_defragment(pool, 0), 15);
    found = fragmentation_of(pool);
    CHECK_EQ(found.free_blocks, 1);
    CHECK_EQ(found.largest_free, 16 * MIB);
    CHECK(found.ratio == 0);
    CHECK_STR(pool_check(pool), NULL);
    /* Without being asked, the same happens when a request would otherwise miss. */
    for (int i = 0; i < 16; i++)
        CHECK_OK(tern_pool_get(pool, MIB, 0, &blocks[i]));
    for (int i = 0; i < 16; i++)
        tern_pool_put(pool, blocks[i]);
    uint64_t misses = stats_of(pool).misses;
    CHECK_OK(tern_pool_get(pool, 16 * MIB, 0, &block));
    CHECK_EQ(stats_of(pool).misses, misses);
    tern_pool_put(pool, block);
    tern_pool_destroy(pool);
}

TEST(best_fit_takes_the_smallest_hole)
{
    tern_pool *pool = pool_with(0, 0, 32 * MIB, 0, 1);
    /* Every third block is a wall that keeps the holes apart; the last two holes fall into the same class. */
    static const size_t sizes[] = {2 * MIB,  MIB,      65 * KIB, MIB,      MIB,      65 * KIB, 3 * MIB, MIB,
                                   65 * KIB, 72 * KIB, MIB,      65 * KIB, 80 * KIB, MIB,      65 * KIB};
    void *blocks[15], *block;
    CHECK_OK(tern_pool_get(pool, 32 * MIB, 0, &block));
    tern_pool_put(pool, block);
    for (int i = 0; i < 15; i++)
        CHECK_OK(tern_pool_get(pool, sizes[i], 0, &blocks[i]));
    for (int i = 0; i < 15; i++) {
        if (i % 3 != 2)
            tern_pool_put(pool, blocks[i]);
    }
    tern_pool_defragment(pool, 0);
    CHECK_OK(tern_pool_get(pool, MIB + 512 * KIB, 0, &block));
    CHECK(block == blocks[3]); /* the hole of 2 MiB, not 3, 4, or the rest of the region */
    tern_pool_put(pool, block);
    tern_pool_defragment(pool, 0);
    CHECK_OK(tern_pool_get(pool, MIB, 0, &block));
    CHECK(block == blocks[9]); /* 1096 KiB, not 1104 */
    tern_pool_put(pool, block);
    for (int i = 2; i < 15; i += 3)
        tern_pool_put(pool, blocks[i]);
    tern_pool_destroy(pool);
}

/* Pages that were given back read as zero; those of blocks in use are untouched. */
TEST(defragment_gives_pages_back)
{
    tern_pool *pool = pool_with(0, 0, 4 * MIB, 0, 1);
    unsigned char *large[3], *small[64], *again;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tern_pool_get(pool, MIB, 0, (void **)&large[i]));
        memset(large[i], 0xA0 + i, MIB);
    }
    for (int i = 0; i < 64; i++) {
        CHECK_OK(tern_pool_get(pool, 16 * KIB, 0, (void **)&small[i]));
        memset(small[i], 0x55, 16 * KIB);
    }
    tern_pool_put(pool, large[1]);
    for (int i = 1; i < 64; i++)
        tern_pool_put(pool, small[i]);
    uint64_t held = fragmentation_of(pool).held_bytes;
    tern_pool_defragment(pool, 1);
    CHECK_EQ(fragmentation_of(pool).held_bytes, held);
    for (size_t i = 0; i < MIB; i++)
        CHECK(large[0][i] == 0xA0 && large[2][i] == 0xA2);
    for (size_t i = 0; i < 16 * KIB; i++)
        CHECK(small[0][i] == 0x55);
    uint64_t misses = stats_of(pool).misses;
    CHECK_OK(tern_pool_get(pool, MIB, 0, (void **)&again));
    CHECK(again == large[1]);
    for (size_t i = 0; i < MIB; i++)
        CHECK_EQ(again[i], 0);
    for (int i = 1; i < 32; i++) {
        CHECK_OK(tern_pool_get(pool, 16 * KIB, 0, (void **)&again));
        for (size_t j = 0; tern__page_size() <= 4096 && j < 16 * KIB; j++)
            CHECK_EQ(again[j], 0);
    }
    CHECK_EQ(stats_of(pool).misses, misses);
    CHECK_STR(pool_check(pool), NULL);
    tern_pool_destroy(pool);
}

TEST(pressure_trims_half_or_all)
{
    tern_pool *pool = pool_with(0, 0, 2 * MIB, 0, 1);
    void *blocks[9];
    for (int i = 0; i < 9; i++)
        CHECK_OK(tern_pool_get(pool, 2 * MIB, 0, &blocks[i]));
    for (int i = 0; i < 8; i++)
        tern_pool_put(pool, blocks[i]);
    tern_pool_pressure(pool, 0);
    CHECK_EQ(fragmentation_of(pool).free_bytes, 16 * MIB);
    tern_pool_pressure(pool, 1);
    CHECK_EQ(fragmentation_of(pool).free_bytes, 8 * MIB);
    tern_pool_pressure(pool, 2);
    CHECK_EQ(fragmentation_of(pool).free_bytes, 0);
    CHECK_EQ(fragmentation_of(pool).held_bytes, 2 * MIB);
    tern_pool_put(pool, blocks[8]);
    tern_pool_destroy(pool);
}

/* ---- refusals of the system ---- */

typedef struct failing {
    uint64_t seen, from, count; /* requests from..from+count-1 fail */
} failing;

static bool fail_some(void *user, size_t bytes)
{
    failing *f = user;
    (void)bytes;
    uint64_t number = f->seen++;
    return number < f->from || number - f->from >= f->count;
}

/* A system that has no more than `most` bytes in all. */
typedef struct budget {
    uint64_t most;
    uint64_t refusals;
} budget;

static bool within_budget(void *user, size_t bytes)
{
    budget *b = user;
    tern_alloc_stats stats;
    tern_alloc_get_stats(&stats);
    bool fits = stats.live_bytes + bytes <= b->most;
    b->refusals += !fits;
    return fits;
}

/* Where idle regions are what the system lacks, they go back and the request succeeds; blocks in use stay. */
TEST(a_refused_region_is_asked_for_again_without_the_idle_ones)
{
    tern_pool *pool = pool_with(0, 0, 4 * MIB, 0, 1);
    void *kept = NULL, *idle[4], *block = &pool;
    CHECK_OK(tern_pool_get(pool, 2 * MIB, 0, &kept));
    memset(kept, 7, 2 * MIB);
    for (int i = 0; i < 4; i++)
        CHECK_OK(tern_pool_get(pool, 4 * MIB, 0, &idle[i]));
    for (int i = 0; i < 4; i++)
        tern_pool_put(pool, idle[i]);
    uint64_t held = fragmentation_of(pool).held_bytes;
    CHECK(held >= 18 * MIB);

    tern_alloc_stats now;
    tern_alloc_get_stats(&now);
    budget b = {.most = now.live_bytes + MIB};
    tern_alloc_set_gate(within_budget, &b);
    tern_status fits = tern_pool_get(pool, 12 * MIB, 0, &block);
    bool refused_first = b.refusals > 0;
    void *none = &pool;
    tern_status too_much = tern_pool_get(pool, 64 * MIB, 0, &none);
    tern_alloc_set_gate(NULL, NULL);
    CHECK_OK(fits);
    CHECK(refused_first);
    CHECK(block != &pool && tern_pool_block_bytes(pool, block) == 12 * MIB);
    CHECK(fragmentation_of(pool).held_bytes < held);
    CHECK_STATUS(too_much, TERN_OUT_OF_MEMORY);
    CHECK(none == &pool);
    for (size_t i = 0; i < 2 * MIB; i++)
        CHECK(((char *)kept)[i] == 7);
    CHECK_STR(pool_check(pool), NULL);
    tern_pool_put(pool, block);
    tern_pool_put(pool, kept);
    tern_pool_destroy(pool);
}

/* Create, gets of many sizes, puts, a second life, destroy; every refusal is an error and nothing is lost. */
static void use_pool(uint64_t *errors)
{
    static const size_t sizes[] = {64, 3000, 64, 65536, 100000, 3 * MIB, 5 * MIB, 500, 12 * MIB, 64};
    tern_pool *pool = NULL;
    tern_status status = tern_pool_create(NULL, &pool);
    if (status != TERN_OK) {
        CHECK_EQ(status, TERN_OUT_OF_MEMORY);
        ++*errors;
        return;
    }
    for (int round = 0; round < 2; round++) {
        void *blocks[10] = {0};
        uint64_t in_use = 0;
        for (int i = 0; i < 10; i++) {
            status = tern_pool_get(pool, sizes[i], 1, &blocks[i]);
            if (status == TERN_OK) {
                in_use++;
                memset(blocks[i], 1, 64);
            } else {
                CHECK_EQ(status, TERN_OUT_OF_MEMORY);
                CHECK(blocks[i] == NULL);
                ++*errors;
            }
            CHECK_STR(pool_check(pool), NULL);
        }
        tern_pool_stats stats = stats_of(pool);
        CHECK_EQ(stats.allocations - stats.deallocations, in_use);
        for (int i = 0; i < 10; i++)
            tern_pool_put(pool, blocks[i]);
        CHECK_EQ(stats_of(pool).current_bytes, 0);
        tern_pool_trim(pool, 0);
        CHECK_STR(pool_check(pool), NULL);
    }
    tern_pool_destroy(pool);
}

TEST(every_refused_allocation_is_an_error_and_nothing_leaks)
{
    tern_alloc_stats before, after;
    tern_alloc_get_stats(&before);
    uint64_t requests = UINT64_MAX;
    for (int forever = 0; forever < 2; forever++) {
        for (uint64_t n = 0; n <= requests && !harness_failed(); n++) {
            failing f = {.from = n, .count = forever ? UINT64_MAX : 1};
            uint64_t errors = 0;
            tern_alloc_set_gate(fail_some, &f);
            use_pool(&errors);
            tern_alloc_set_gate(NULL, NULL);
            if (f.seen <= n) {
                requests = n;
                CHECK_EQ(errors, 0);
            } else if (errors == 0) {
                harness_fail(__FILE__, __LINE__, "refusing allocation %llu went unnoticed",
                             (unsigned long long)n);
            }
        }
    }
    CHECK(requests > 10 && requests < 1000);
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.allocations - after.frees, before.allocations - before.frees);
    CHECK_EQ(after.live_bytes, before.live_bytes);
}

#if HARNESS_ASAN
#include <sanitizer/asan_interface.h>

TEST(the_sanitizer_knows_free_blocks)
{
    tern_pool *pool = pool_with(0, 0, 0, 0, 1);
    static const size_t sizes[] = {64, 1000, 64 * KIB, 3 * MIB};
    for (int i = 0; i < 4; i++) {
        char *block;
        CHECK_OK(tern_pool_get(pool, sizes[i], 0, (void **)&block));
        size_t usable = tern_pool_block_bytes(pool, block);
        CHECK(__asan_region_is_poisoned(block, usable) == NULL);
        CHECK(__asan_address_is_poisoned(block + usable)); /* the next block is not ours */
        tern_pool_put(pool, block);
        CHECK(__asan_address_is_poisoned(block) && __asan_address_is_poisoned(block + usable - 1));
        tern_pool_defragment(pool, 1);
        CHECK(__asan_address_is_poisoned(block));
    }
    tern_pool_destroy(pool);
}
#endif
