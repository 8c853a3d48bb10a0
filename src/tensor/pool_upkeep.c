/* pool_upkeep.c - looking at the pool as a whole: counters, fragmentation, trim, defragment, pressure. */
#include "tensor/pool_internal.h"

#include "base/alloc.h"
#include "base/status.h"

/* ---- looking ---- */

/* Counters are summed with everything locked, so they belong to one moment. */
void tern_pool_get_stats(const tern_pool *pool, tern_pool_stats *out)
{
    if (pool == NULL || out == NULL)
        return;
    tern_pool *locked = (tern_pool *)pool; /* looking needs the locks, nothing else changes */
    tern_pool_stats sum = {0};
    tern__pool_lock_all(locked);
    for (int i = 0; i < TERN__POOL_FRONTS; i++) {
        const tern__pool_front *front = &pool->fronts[i];
        sum.allocations += front->hits + front->misses;
        sum.deallocations += front->returns;
        sum.hits += front->hits;
        sum.misses += front->misses;
        sum.current_bytes += front->granted - front->credit;
    }
    sum.peak_bytes = pool->peak;
    tern__pool_unlock_all(locked);
    *out = sum;
}

static void count_free(tern_pool_fragmentation *sum, uint64_t blocks, uint64_t bytes_each)
{
    if (blocks == 0)
        return;
    sum->free_blocks += blocks;
    sum->free_bytes += blocks * bytes_each;
    if (bytes_each > sum->largest_free)
        sum->largest_free = bytes_each;
}

void tern_pool_get_fragmentation(const tern_pool *pool, tern_pool_fragmentation *out)
{
    if (pool == NULL || out == NULL)
        return;
    tern_pool *locked = (tern_pool *)pool;
    tern_pool_fragmentation sum = {0};
    tern__pool_lock_all(locked);
    sum.held_bytes = pool->held;
    for (int i = 0; i < TERN__POOL_FRONTS; i++) {
        for (unsigned index = 0; index < TERN__POOL_CACHED; index++)
            count_free(&sum, pool->fronts[i].counts[index], tern__pool_class_bytes(index));
    }
    for (unsigned bin = 0; bin < TERN__POOL_CLASSES; bin++) {
        for (const tern__pool_unit *unit = pool->bins[bin]; unit != NULL; unit = unit->link.next)
            count_free(&sum, 1, (uint64_t)unit->units << TERN__POOL_UNIT_SHIFT);
    }
    for (const tern__pool_slab *slab = pool->slabs; slab != NULL; slab = slab->all_next) {
        uint64_t here = 0;
        for (size_t word = 0; word < (slab->blocks + 63u) / 64; word++)
            here += (uint64_t)__builtin_popcountll(slab->bits[word]);
        count_free(&sum, here, slab->block_bytes);
        sum.slack_bytes += slab->bytes - slab->blocks * slab->block_bytes;
    }
    tern__pool_unlock_all(locked);
    if (sum.free_bytes > 0)
        sum.ratio = 1.0 - (double)sum.largest_free / (double)sum.free_bytes;
    *out = sum;
}

/* ---- giving back ---- */

/* Free bytes outside slabs are what regions_trim counts; those inside slabs stay whatever is trimmed. */
static size_t free_in_slabs(const tern_pool *pool)
{
    size_t bytes = 0;
    for (const tern__pool_slab *slab = pool->slabs; slab != NULL; slab = slab->all_next)
        bytes += slab->free * slab->block_bytes;
    return bytes;
}

size_t tern_pool_trim(tern_pool *pool, size_t keep_bytes)
{
    if (pool == NULL)
        return 0;
    tern_pool_fragmentation now;
    tern_pool_get_fragmentation(pool, &now);
    if (now.free_bytes <= keep_bytes)
        return 0; /* and the fronts keep their blocks */
    pthread_mutex_lock(&pool->lock);
    tern__pool_reclaim(pool);
    size_t fixed = free_in_slabs(pool);
    size_t given = tern__pool_regions_trim(pool, keep_bytes > fixed ? keep_bytes - fixed : 0);
    pthread_mutex_unlock(&pool->lock);
    return given;
}

static void discard(char *start, size_t bytes)
{
    TERN__POOL_UNPOISON(start, bytes);
    tern__pages_discard(start, bytes);
    TERN__POOL_POISON(start, bytes);
}

/* The whole pages inside runs of free blocks. */
static void discard_in_slab(const tern__pool_slab *slab)
{
    for (size_t block = 0; block < slab->blocks;) {
        size_t first = block;
        while (block < slab->blocks && (slab->bits[block / 64] >> block % 64 & 1) != 0)
            block++;
        if (block > first)
            discard(slab->base + first * slab->block_bytes, (block - first) * slab->block_bytes);
        block++;
    }
}

size_t tern_pool_defragment(tern_pool *pool, int release_pages)
{
    if (pool == NULL)
        return 0;
    pthread_mutex_lock(&pool->lock);
    uint64_t before = pool->merges;
    tern__pool_reclaim(pool);
    size_t merges = (size_t)(pool->merges - before);
    if (release_pages) {
        for (unsigned bin = 0; bin < TERN__POOL_CLASSES; bin++) {
            for (const tern__pool_unit *unit = pool->bins[bin]; unit != NULL; unit = unit->link.next)
                discard(tern__pool_unit_address(pool, unit), (size_t)unit->units << TERN__POOL_UNIT_SHIFT);
        }
        for (const tern__pool_slab *slab = pool->slabs; slab != NULL; slab = slab->all_next)
            discard_in_slab(slab);
    }
    pthread_mutex_unlock(&pool->lock);
    return merges;
}

void tern_pool_pressure(tern_pool *pool, int level)
{
    if (pool == NULL || level <= 0)
        return;
    if (level == 1) {
        tern_pool_fragmentation now;
        tern_pool_get_fragmentation(pool, &now);
        tern_pool_trim(pool, (size_t)(now.free_bytes / 2));
        return;
    }
    tern_pool_trim(pool, 0);
    tern_pool_defragment(pool, 1);
}
