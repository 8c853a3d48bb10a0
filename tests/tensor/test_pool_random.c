/* test_pool_random.c - random histories of the memory pool against a shadow model: blocks do not overlap and
 * keep their contents, counters and walked lists agree with what happened. */
#include "harness.h"

#include <tern/pool.h>

#include "pool_check.h"

static uint64_t state;

enum { MODEL_MAX = 400 };

typedef struct model_block {
    unsigned char *at;
    size_t bytes, usable;
    unsigned char fill;
} model_block;

typedef struct model {
    model_block blocks[MODEL_MAX];
    size_t count;
    uint64_t allocations, deallocations, current, peak, limits;
} model;

/* Writes the block's pattern, or says whether it is still there. Of a long block only the ends and some bytes
 * between take part, to keep the test quick. */
static bool pattern(const model_block *b, bool write)
{
    for (size_t i = 0; i < b->bytes; i++) {
        if (i >= 256 && i + 256 + 1021 < b->bytes)
            i += 1020;
        unsigned char want = (unsigned char)(b->fill + i);
        if (write)
            b->at[i] = want;
        else if (b->at[i] != want)
            return false;
    }
    return true;
}

static size_t model_size(size_t largest)
{
    size_t bits = 1 + random_below(&state, (uint64_t)(63 - __builtin_clzll(largest)));
    size_t bytes =
        random_below(&state, 4) == 0 ? (size_t)1 << bits : random_below(&state, (uint64_t)2 << bits);
    return bytes < largest ? bytes : largest;
}

static void model_get(model *m, tern_pool *pool, size_t largest)
{
    size_t bytes = model_size(largest);
    void *block = NULL;
    tern_status status = tern_pool_get(pool, bytes, random_below(&state, 50), &block);
    if (status == TERN_LIMIT && pool->options.cap_bytes != 0) {
        m->limits++;
        return;
    }
    CHECK_OK(status);
    model_block b = {.at = block,
                     .bytes = bytes,
                     .usable = tern_pool_block_bytes(pool, block),
                     .fill = (unsigned char)random_next(&state)};
    CHECK((uintptr_t)block % 64 == 0 && b.usable >= bytes);
    for (size_t i = 0; i < m->count; i++)
        CHECK(b.at + b.usable <= m->blocks[i].at || m->blocks[i].at + m->blocks[i].usable <= b.at);
    pattern(&b, true);
    m->blocks[m->count++] = b;
    m->allocations++;
    m->current += b.usable;
    if (m->current > m->peak)
        m->peak = m->current;
}

static void model_put(model *m, tern_pool *pool, size_t i)
{
    CHECK(pattern(&m->blocks[i], false));
    tern_pool_put(pool, m->blocks[i].at);
    m->deallocations++;
    m->current -= m->blocks[i].usable;
    m->blocks[i] = m->blocks[--m->count];
}

static void model_compare(const model *m, tern_pool *pool)
{
    tern_pool_stats stats = stats_of(pool);
    tern_pool_fragmentation found = fragmentation_of(pool);
    CHECK_EQ(stats.allocations, m->allocations);
    CHECK_EQ(stats.deallocations, m->deallocations);
    CHECK_EQ(stats.hits + stats.misses, m->allocations);
    CHECK_EQ(stats.current_bytes, m->current);
    CHECK_EQ(stats.peak_bytes, m->peak);
    CHECK_EQ(found.held_bytes, found.free_bytes + found.slack_bytes + m->current);
    CHECK(found.largest_free <= found.free_bytes && found.ratio >= 0 && found.ratio < 1);
    CHECK_STR(pool_check(pool), NULL);
}

static void model_upkeep(model *m, tern_pool *pool)
{
    uint64_t held = fragmentation_of(pool).held_bytes;
    switch (random_below(&state, 4)) {
    case 0: {
        size_t keep = random_below(&state, 32 * MIB);
        size_t given = tern_pool_trim(pool, keep);
        CHECK_EQ(fragmentation_of(pool).held_bytes, held - given);
        break;
    }
    case 1:
    case 2:
        tern_pool_defragment(pool, (int)random_below(&state, 2));
        CHECK_EQ(fragmentation_of(pool).held_bytes, held);
        break;
    default:
        tern_pool_pressure(pool, (int)random_below(&state, 3));
    }
    model_compare(m, pool);
}

/* Returns how often the cap was met. */
static uint64_t random_history(tern_pool *pool, size_t largest, int steps)
{
    static model m;
    m = (model){0};
    size_t target = MODEL_MAX / 2;
    for (int step = 0; step < steps && !harness_failed(); step++) {
        if (step % 500 == 0)
            target = random_below(&state, MODEL_MAX);
        bool get =
            m.count == 0 || (m.count < MODEL_MAX && random_below(&state, 10) < (m.count < target ? 7u : 3u));
        if (get)
            model_get(&m, pool, largest);
        else
            model_put(&m, pool, random_below(&state, m.count));
        if (random_below(&state, 500) == 0)
            model_upkeep(&m, pool);
    }
    while (m.count > 0 && !harness_failed())
        model_put(&m, pool, m.count - 1);
    if (!harness_failed())
        model_compare(&m, pool);
    tern_pool_trim(pool, 0);
    if (!harness_failed() && fragmentation_of(pool).held_bytes != 0)
        harness_fail(__FILE__, __LINE__, "trim leaves memory in a pool without blocks in use");
    tern_pool_destroy(pool);
    return m.limits;
}

TEST(random_history_with_defaults)
{
    state = harness_seed();
    random_history(pool_with(0, 0, 0, 0, 1), MIB, 20000);
}

TEST(random_history_with_large_blocks)
{
    state = harness_seed() + 1;
    random_history(pool_with(4096, 16 * KIB, 8 * MIB, 0, 1), 4 * MIB, 4000);
}

TEST(random_history_with_small_regions)
{
    state = harness_seed() + 2;
    random_history(pool_with(100, 4096, 100 * KIB, 0, 0), 200 * KIB, 20000);
}

TEST(random_history_with_wide_small_classes)
{
    state = harness_seed() + 3;
    random_history(pool_with(MIB, 3 * MIB, 0, 0, 0), 2 * MIB, 4000);
}

TEST(random_history_under_a_cap)
{
    state = harness_seed() + 4;
    CHECK(random_history(pool_with(0, 0, 0, 10 * MIB + 12345, 1), 512 * KIB, 20000) > 100);
    CHECK(random_history(pool_with(0, 0, 0, 300 * KIB, 1), 64 * KIB, 20000) > 100);
}
