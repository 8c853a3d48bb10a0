/* pool.h - a memory pool for tensor storage: blocks are kept when freed, because a fresh page costs much more
 * than a list operation. Every context has one; programs may create their own.
 *
 * Threading: all functions may be called from any thread, on the same pool at once. */
#ifndef TERN_POOL_H
#define TERN_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>

typedef struct tern_pool tern_pool;

/* Zeroed fields are the defaults. */
typedef struct tern_pool_options {
    size_t small_max;    /* requests up to this size use the small classes; 0 = 64 KiB, at most 1 MiB    */
    size_t small_slab;   /* most memory set aside at once for the blocks of one small class; 0 = 1 MiB   */
    size_t large_region; /* most memory taken from the system at once, unless one block needs more;
                               a new pool starts with 2 MiB and doubles; 0 = 32 MiB                         */
    size_t cap_bytes;    /* most bytes the pool may hold from the system, all classes; 0 = no cap        */
    bool no_huge_pages;  /* do not ask the system for huge pages                                         */
} tern_pool_options;

/* Counters. Always: allocations - deallocations = blocks in use; hits + misses = allocations. */
typedef struct tern_pool_stats {
    uint64_t allocations, deallocations;
    uint64_t hits;          /* served from memory that the pool already held  */
    uint64_t misses;        /* needed new pages from the system               */
    uint64_t current_bytes; /* in use by callers (block sizes, not requests)  */
    uint64_t peak_bytes;    /* highest current_bytes                          */
} tern_pool_stats;

/* What a walk over the real free lists finds at this moment. */
typedef struct tern_pool_fragmentation {
    uint64_t held_bytes; /* taken from the system: in use + free + slack   */
    uint64_t free_bytes;
    uint64_t slack_bytes; /* at the ends of slabs, too short for a block    */
    uint64_t free_blocks;
    uint64_t largest_free;
    double ratio; /* 1 - largest_free / free_bytes; 0 if none free  */
} tern_pool_fragmentation;

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_pool_options tern_pool_options_default(void);

TERN_API tern_status tern_pool_create(const tern_pool_options *options, tern_pool **out);

/* Gives everything back to the system. Blocks still in use become invalid: their number is logged as a
 * warning; tensors made from the pool (of a context) keep it until they are gone. NULL is fine. No other thread
 * may be using the pool. */
TERN_API void tern_pool_destroy(tern_pool *pool);

/* `bytes` (0 counts as 1), aligned to 64, contents undefined. `key` is any number that describes the block's
 * use (0 = none): among the recently returned blocks of the size, one last used with the same key is
 * preferred, so that its cache lines and pages are warm. TERN_LIMIT: the cap would be exceeded even after
 * trimming. TERN_OUT_OF_MEMORY: the system refused, even after trimming. */
TERN_API tern_status tern_pool_get(tern_pool *pool, size_t bytes, uint64_t key, void **out);

/* Returns a block from tern_pool_get, from any thread. NULL is fine. What is not a block in use of this pool
 * is left alone and logged as an error. */
TERN_API void tern_pool_put(tern_pool *pool, void *block);

/* The usable size of a block in use: at least what was asked for. 0 if it is not one. */
TERN_API size_t tern_pool_block_bytes(const tern_pool *pool, const void *block);

/* `out` stays as it is if there is no pool; the calls below do nothing then. */
TERN_API void tern_pool_get_stats(const tern_pool *pool, tern_pool_stats *out);
TERN_API void tern_pool_get_fragmentation(const tern_pool *pool, tern_pool_fragmentation *out);

/* Gives whole free regions back to the system until at most `keep_bytes` are held free; returns the bytes
 * given back. */
TERN_API size_t tern_pool_trim(tern_pool *pool, size_t keep_bytes);

/* Merges neighbouring free blocks; with `release_pages` also gives the physical pages of what is free back
 * (addresses stay reserved). Returns the number of merges. Blocks in use never move. */
TERN_API size_t tern_pool_defragment(tern_pool *pool, int release_pages);

/* Called by whoever learns of memory pressure: 0 none, 1 moderate (trim to half of what is free), 2 critical
 * (trim all, and give back the pages of what is free between blocks in use). */
TERN_API void tern_pool_pressure(tern_pool *pool, int level);

#ifdef __cplusplus
}
#endif
#endif
