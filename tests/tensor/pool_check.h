/* pool_check.h - for the tests of the memory pool: short ways to make and ask one, and a walk over everything
 * that it knows about itself. */
#ifndef TERN_TESTS_POOL_CHECK_H
#define TERN_TESTS_POOL_CHECK_H

#include "harness.h"
#include "tensor/pool_internal.h"

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

static inline uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline uint64_t random_next(uint64_t *state)
{
    return mix(*state += 0x9E3779B97F4A7C15u);
}

static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

/* A pool with these options; 0 = default, region and cap in bytes. */
static inline tern_pool *pool_with(size_t small_max, size_t small_slab, size_t region, size_t cap, int huge)
{
    tern_pool_options options = {.small_max = small_max,
                                 .small_slab = small_slab,
                                 .large_region = region,
                                 .cap_bytes = cap,
                                 .no_huge_pages = !huge};
    tern_pool *pool = NULL;
    if (tern_pool_create(&options, &pool) != TERN_OK)
        harness_fail(__FILE__, __LINE__, "pool_create: %s", tern_last_error());
    return pool;
}

static inline tern_pool_stats stats_of(const tern_pool *pool)
{
    tern_pool_stats stats;
    tern_pool_get_stats(pool, &stats);
    return stats;
}

static inline tern_pool_fragmentation fragmentation_of(const tern_pool *pool)
{
    tern_pool_fragmentation fragmentation;
    tern_pool_get_fragmentation(pool, &fragmentation);
    return fragmentation;
}

/* ---- the walk ---- */

#define POOL_EXPECT(condition) \
    do {                       \
        if (!(condition))      \
            return #condition; \
    } while (0)

typedef struct pool_sums {
    uint64_t held, handed_out; /* bytes that have left slabs and bins: in use, or in a front */
    uint64_t free_units_seen, slabs_seen;
} pool_sums;

/* Every unit of a slab leads to it; the others behind the first unit of a block lead nowhere. */
static inline const char *pool_check_inside(const tern__pool_region *region, size_t index)
{
    const tern__pool_unit *head = tern__pool_region_unit(region, index);
    for (size_t i = 1; i < head->units; i++) {
        const tern__pool_unit *unit = tern__pool_region_unit(region, index + i);
        if (head->kind != TERN__POOL_SMALL) {
            POOL_EXPECT(unit->kind == TERN__POOL_INSIDE);
            continue;
        }
        POOL_EXPECT(unit->kind == TERN__POOL_SMALL && unit->small.slab == head->small.slab);
        POOL_EXPECT(unit->small.tags == head->small.slab->tags + i * (TERN__POOL_UNIT / TERN__POOL_LINE));
        POOL_EXPECT(unit->class_index == head->small.slab->class_index);
    }
    return NULL;
}

static inline const char *pool_check_region(const tern_pool *pool, const tern__pool_region *region,
                                            pool_sums *sums)
{
    uint32_t before = 0;
    bool before_free = false;
    POOL_EXPECT((uintptr_t)region->base % TERN__POOL_GROUP == 0);
    POOL_EXPECT(pool->regions[region->index] == region);
    for (size_t index = 0; index < region->units;) {
        const tern__pool_unit *unit = tern__pool_region_unit(region, index);
        char *address = region->base + (index << TERN__POOL_UNIT_SHIFT);
        size_t bytes = (size_t)unit->units << TERN__POOL_UNIT_SHIFT;
        POOL_EXPECT(unit == tern__pool_unit_of(pool, address));
        POOL_EXPECT(address == tern__pool_unit_address(pool, unit));
        POOL_EXPECT(unit->before == before && unit->region == region->index && unit->units > 0);
        POOL_EXPECT(!(before_free && unit->kind == TERN__POOL_FREE)); /* neighbours are merged */
        const char *wrong = pool_check_inside(region, index);
        if (wrong != NULL)
            return wrong;
        if (unit->kind == TERN__POOL_FREE) {
            sums->free_units_seen++;
        } else if (unit->kind == TERN__POOL_LARGE) {
            POOL_EXPECT(tern__pool_class_bytes(unit->class_index) == bytes);
            sums->handed_out += bytes;
        } else {
            POOL_EXPECT(unit->kind == TERN__POOL_SMALL);
            POOL_EXPECT(unit->small.slab->head == unit && unit->small.slab->base == address);
            POOL_EXPECT(unit->small.slab->bytes == bytes);
            sums->slabs_seen++;
        }
        before = unit->units;
        before_free = unit->kind == TERN__POOL_FREE;
        index += unit->units;
        POOL_EXPECT(index <= region->units);
    }
    sums->held += region->bytes;
    return NULL;
}

static inline const char *pool_check_bins(const tern_pool *pool, const pool_sums *sums)
{
    uint64_t found = 0;
    for (unsigned bin = 0; bin < TERN__POOL_CLASSES; bin++) {
        POOL_EXPECT((pool->bins[bin] != NULL) == (pool->bin_bits[bin / 64] >> bin % 64 & 1));
        const tern__pool_unit *prev = NULL;
        for (const tern__pool_unit *unit = pool->bins[bin]; unit != NULL;
             prev = unit, unit = unit->link.next) {
            POOL_EXPECT(unit->kind == TERN__POOL_FREE && unit->link.prev == prev);
            POOL_EXPECT(tern__pool_bin_of(unit->units) == bin);
            found++;
        }
    }
    POOL_EXPECT(found == sums->free_units_seen);
    return NULL;
}

static inline const char *pool_check_slabs(const tern_pool *pool, pool_sums *sums)
{
    uint64_t count = 0, listed = 0, in_lists = 0;
    for (const tern__pool_slab *slab = pool->slabs; slab != NULL; slab = slab->all_next) {
        uint32_t bits = 0;
        for (size_t i = 0; i < slab->blocks; i++) {
            bool here = slab->bits[i / 64] >> i % 64 & 1;
            bits += here;
            POOL_EXPECT(!here || i / 64 >= slab->hint);
            POOL_EXPECT(!here ||
                        (slab->tags[i * slab->block_bytes / TERN__POOL_LINE] & TERN__POOL_IN_USE) == 0);
        }
        POOL_EXPECT(bits == slab->free && slab->listed == (slab->free > 0));
        POOL_EXPECT(slab->block_bytes == tern__pool_class_bytes(slab->class_index));
        sums->handed_out += (slab->blocks - slab->free) * slab->block_bytes;
        listed += slab->listed;
        count++;
    }
    for (unsigned index = 0; index < TERN__POOL_SMALL_CLASSES; index++) {
        for (const tern__pool_slab *slab = pool->partial[index]; slab != NULL; slab = slab->next) {
            POOL_EXPECT(slab->class_index == index && slab->listed);
            in_lists++;
        }
    }
    POOL_EXPECT(count == sums->slabs_seen && listed == in_lists);
    return NULL;
}

static inline const char *pool_check_fronts(const tern_pool *pool, const pool_sums *sums)
{
    uint64_t cached = 0, current = 0, credit = 0;
    unsigned active = 0;
    for (int i = 0; i < TERN__POOL_FRONTS; i++) {
        const tern__pool_front *front = &pool->fronts[i];
        for (unsigned index = 0; index < TERN__POOL_CACHED; index++) {
            POOL_EXPECT(front->counts[index] <= TERN__POOL_STACK);
            for (unsigned j = 0; j < front->counts[index]; j++) {
                const tern__pool_cached *entry = &front->stacks[index][j];
                POOL_EXPECT((*entry->tag_at & TERN__POOL_IN_USE) == 0);
                POOL_EXPECT(tern__pool_unit_of(pool, entry->block)->class_index == index);
            }
            cached += front->counts[index] * tern__pool_class_bytes(index);
        }
        current += front->granted - front->credit;
        credit += front->credit;
        active += front->active;
        POOL_EXPECT(front->active || front->credit == 0);
    }
    POOL_EXPECT(active == pool->active);
    POOL_EXPECT(current + cached == sums->handed_out);
    POOL_EXPECT(current + credit == pool->peak);
    return NULL;
}

/* NULL, or the expectation that does not hold. Takes all locks of the pool. */
static inline const char *pool_check(tern_pool *pool)
{
    pool_sums sums = {0};
    const char *wrong = NULL;
    tern__pool_lock_all(pool);
    for (size_t i = 0; i < pool->region_count && wrong == NULL; i++) {
        if (pool->regions[i] != NULL)
            wrong = pool_check_region(pool, pool->regions[i], &sums);
    }
    if (wrong == NULL && sums.held != pool->held)
        wrong = "held bytes are the sum of the regions";
    if (wrong == NULL && pool->options.cap_bytes != 0 && pool->held > pool->options.cap_bytes)
        wrong = "held bytes are within the cap";
    if (wrong == NULL)
        wrong = pool_check_bins(pool, &sums);
    if (wrong == NULL)
        wrong = pool_check_slabs(pool, &sums);
    if (wrong == NULL)
        wrong = pool_check_fronts(pool, &sums);
    tern__pool_unlock_all(pool);
    return wrong;
}

#endif
