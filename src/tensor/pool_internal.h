/* pool_internal.h - the inside of the memory pool: what its four files share.
 *
 *   pool.c         create and destroy, get and put: the path of a hit
 *   pool_small.c   slabs: many equal blocks and a bitmap
 *   pool_large.c   regions from the system, split into blocks, merged again; address -> block
 *   pool_upkeep.c  counters, fragmentation, trim, defragment, pressure
 *
 * Memory comes from the system in regions and is counted in units of 4 KiB. Regions are split into large
 * blocks by best fit; a slab of small blocks is one large block. Nothing is ever written into free memory,
 * and nothing of the pool's own stands beside a caller's data: what it knows about a unit is in a table next
 * to the region, and a radix tree leads from any address to its unit in two loads.
 *
 * In front of that stand the fronts: short stacks of free blocks, one per class, each front used by a few
 * threads. Get and put normally touch one front only. Its stacks are also where large blocks wait unmerged
 * because they will probably be wanted again; they are merged when a request finds nothing else, or on
 * request. (One front for all threads was measured too: two threads on two cores together then do 14 million
 * pairs per second, less than one thread alone; with fronts 59 million.)
 *
 * Locks: `tern_pool.lock` guards regions, slabs and bins; each front has a spin lock of its own for its
 * stacks and counters. Order: pool, then fronts by rising index. Whoever holds all sees a pool at rest. */
#ifndef TERN_TENSOR_POOL_INTERNAL_H
#define TERN_TENSOR_POOL_INTERNAL_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/pool.h>

#include "base/trim.h"

enum {
    TERN__POOL_LINE = 64,        /* every block starts on a cache line */
    TERN__POOL_UNIT_SHIFT = 12,  /* 4 KiB: the measure of large blocks */
    TERN__POOL_GROUP_SHIFT = 21, /* 2 MiB: a region starts on a multiple, as huge pages do */
    TERN__POOL_LEAF_SHIFT = 35,
    TERN__POOL_ADDRESS_BITS = 48, /* no system hands out higher addresses unless asked to */
    TERN__POOL_GROUP_UNITS = 1 << (TERN__POOL_GROUP_SHIFT - TERN__POOL_UNIT_SHIFT),
    TERN__POOL_LEAF_GROUPS = 1 << (TERN__POOL_LEAF_SHIFT - TERN__POOL_GROUP_SHIFT),
    TERN__POOL_ROOT_LEAVES = 1 << (TERN__POOL_ADDRESS_BITS - TERN__POOL_LEAF_SHIFT),

    TERN__POOL_CLASSES = 272, /* classes up to 4 TiB ... */
    TERN__POOL_CACHED = 144,  /* ... of which those up to 64 MiB have stacks in the fronts */
    TERN__POOL_STACK = 96,    /* free blocks in a stack at most */
    TERN__POOL_HINTS = 256,
    TERN__POOL_SMALL_CLASSES = 96, /* slabs may serve blocks up to 1 MiB */
    TERN__POOL_FRONTS = 8,
};

#define TERN__POOL_UNIT ((size_t)1 << TERN__POOL_UNIT_SHIFT)
#define TERN__POOL_GROUP ((size_t)1 << TERN__POOL_GROUP_SHIFT)
#define TERN__POOL_BLOCK_MAX ((size_t)1 << 42) /* the largest block: 4 TiB */

typedef enum tern__pool_kind {
    TERN__POOL_INSIDE = 0, /* not the first unit of a block, or no block at all */
    TERN__POOL_FREE,
    TERN__POOL_LARGE,
    TERN__POOL_SMALL, /* any unit of a slab */
} tern__pool_kind;

typedef struct tern__pool_slab tern__pool_slab;

/* What is known about 4 KiB. `units` and `before` are valid in the first unit of a block (free, large,
 * slab). */
typedef struct tern__pool_unit tern__pool_unit;
struct tern__pool_unit {
    uint32_t units;       /* length of this block */
    uint32_t before;      /* length of the block before it, 0 at the start of the region */
    uint16_t region;      /* tern_pool.regions[region] */
    uint16_t tag;         /* large, free: see tags below */
    uint16_t class_index; /* large, small */
    uint8_t kind;         /* tern__pool_kind */
    bool zero;            /* nobody was given any of it before it was taken: its pages are as they came */
    union {
        struct {
            tern__pool_unit *next, *prev; /* free: its bin */
        } link;
        struct {
            tern__pool_slab *slab;
            uint16_t *tags; /* (64) small: of the block that starts at each cache line */
        } small;
    };
};

typedef struct tern__pool_leaf {
    _Atomic(tern__pool_unit *) groups[TERN__POOL_LEAF_GROUPS]; /* the units of each 2 MiB, or NULL */
} tern__pool_leaf;

typedef struct tern__pool_region {
    char *base;             /* on a multiple of 2 MiB */
    size_t bytes;           /* usable from there */
    tern__pool_unit *table; /* one per unit, whole groups */
    size_t table_bytes;
    void *mapped; /* as it came from the system */
    size_t mapped_bytes;
    uint32_t units;
    uint32_t given; /* from this unit on nobody was ever given one: they read as zeros */
    uint16_t index;
} tern__pool_region;

struct tern__pool_slab {
    tern__pool_slab *next, *prev; /* slabs of the class that have free blocks, if `listed` */
    tern__pool_slab *all_next, *all_prev;
    tern__pool_unit *head;
    char *base;
    size_t block_bytes, bytes;
    uint32_t blocks, free;
    uint32_t hint; /* no word of `bits` before this one has a bit set */
    uint16_t class_index;
    bool listed;
    uint64_t *bits; /* (ceil(blocks / 64)) 1 = free and here, not in a front */
    uint16_t *tags; /* (bytes / 64) */
};

/* A free block in a front, or one on its way to the caller. */
typedef struct tern__pool_cached {
    void *block;
    uint16_t *tag_at; /* where its tag is kept */
} tern__pool_cached;

/* Counters are per front; allocations = hits + misses. The pool's peak is shared out among the fronts:
 * `granted` is a front's share and `credit` what is left of it, so that it has granted - credit bytes in use
 * (which may be "negative": a block may return through another front). The sum of `granted` is the peak, the
 * sum of `credit` what could be handed out without passing it. So both current bytes and peak are exact
 * although the fronts share no counter; when one runs out of credit, the shares are drawn anew. */
typedef struct tern__pool_front {
    alignas(128) _Atomic(uint32_t) lock;
    bool active; /* has been used; inactive ones have no credit */
    uint64_t granted, credit;
    uint64_t hits, misses, returns;
    uint8_t counts[TERN__POOL_CACHED];
    uint8_t hints[TERN__POOL_HINTS]; /* by class and tag: where in the stack such a block was put last */
    tern__pool_cached stacks[TERN__POOL_CACHED][TERN__POOL_STACK]; /* the last returned at the top */
} tern__pool_front;

struct tern_pool {
    tern_pool_options options; /* with the defaults filled in */
    unsigned small_classes;    /* classes below this are small */
    size_t pool_bytes;         /* of this description, in whole pages */
    _Atomic(uint64_t) refs;    /* the creator's and those of tern__pool_retain */
    tern__trimmable trimmable;

    alignas(128) pthread_mutex_t lock; /* away from the options, which every get reads */
    tern__pool_region **regions;       /* entries may be NULL */
    size_t region_count, region_capacity;
    size_t held;                               /* bytes of all regions */
    uint64_t merges;                           /* of free blocks, ever */
    tern__pool_unit *bins[TERN__POOL_CLASSES]; /* free blocks of at least this class and less than the next */
    uint64_t bin_bits[(TERN__POOL_CLASSES + 63) / 64];
    tern__pool_slab *partial[TERN__POOL_SMALL_CLASSES];
    tern__pool_slab *slabs;

    /* Written with all fronts locked, or by the only active front under its own lock. */
    alignas(128) uint64_t peak;
    unsigned active;

    tern__pool_front fronts[TERN__POOL_FRONTS];
    _Atomic(tern__pool_leaf *) root[TERN__POOL_ROOT_LEAVES];
};

/* ---- classes: eight per doubling, so that at most an eighth of a block is unused ---- */

/* 1 <= bytes <= 2^42 -> the smallest class that holds it. */
static inline unsigned tern__pool_class_of(size_t bytes)
{
    size_t lines = (bytes - 1) >> 6;
    if (lines < 8)
        return (unsigned)lines;
    unsigned shift = 60u - (unsigned)__builtin_clzll((unsigned long long)lines);
    return shift * 8 + (unsigned)(lines >> shift);
}

static inline size_t tern__pool_class_bytes(unsigned index)
{
    if (index < 8)
        return ((size_t)index + 1) << 6;
    return (size_t)(9 + (index & 7)) << (5 + index / 8);
}

/* The last class that a free block of `units` can serve. */
static inline unsigned tern__pool_bin_of(size_t units)
{
    size_t bytes = units << TERN__POOL_UNIT_SHIFT;
    unsigned index = tern__pool_class_of(bytes);
    return tern__pool_class_bytes(index) > bytes ? index - 1 : index;
}

/* ---- tags: the key of a block's last use in 15 bits, and whether it is in use. Two keys may share a tag;
 * then a block is merely less warm than hoped ---- */

enum { TERN__POOL_IN_USE = 1 };

/* Of a free block that was used with this key; 0 without a key. */
static inline uint16_t tern__pool_tag_of(uint64_t key)
{
    return (uint16_t)((key ^ key >> 15 ^ key >> 30 ^ key >> 45 ^ key >> 60) << 1);
}

/* ---- addresses ---- */

/* Units of one group are rotated by the group's number: tables of blocks that lie a power of two apart would
 * otherwise compete for the same few cache sets. */
static inline size_t tern__pool_unit_slot(uintptr_t address)
{
    uintptr_t unit = address >> TERN__POOL_UNIT_SHIFT;
    uintptr_t group = address >> TERN__POOL_GROUP_SHIFT;
    return (unit + group * 37) & (TERN__POOL_GROUP_UNITS - 1);
}

/* NULL if the address is not in any region of the pool. Needs no lock for a block in use: what leads to it
 * does not change before it is returned. */
static inline tern__pool_unit *tern__pool_unit_of(const tern_pool *pool, const void *at)
{
    uintptr_t address = (uintptr_t)at;
    if (address >> TERN__POOL_ADDRESS_BITS != 0)
        return NULL;
    tern__pool_leaf *leaf =
        atomic_load_explicit(&pool->root[address >> TERN__POOL_LEAF_SHIFT], memory_order_acquire);
    if (leaf == NULL)
        return NULL;
    size_t index = (address >> TERN__POOL_GROUP_SHIFT) & (TERN__POOL_LEAF_GROUPS - 1);
    tern__pool_unit *group = atomic_load_explicit(&leaf->groups[index], memory_order_acquire);
    return group == NULL ? NULL : group + tern__pool_unit_slot(address);
}

/* ---- fronts ---- */

void tern__pool_front_wait(tern__pool_front *front);

static inline void tern__pool_front_lock(tern__pool_front *front)
{
    if (__builtin_expect(atomic_exchange_explicit(&front->lock, 1, memory_order_acquire) != 0, 0))
        tern__pool_front_wait(front);
}

static inline void tern__pool_front_unlock(tern__pool_front *front)
{
    atomic_store_explicit(&front->lock, 0, memory_order_release);
}

/* The pool at rest: its lock and those of all fronts. */
void tern__pool_lock_all(tern_pool *pool);
void tern__pool_unlock_all(tern_pool *pool);

/* All that follows expects the pool's lock to be held. */

/* Empties all stacks into slabs and bins and returns slabs without a block in use to the bins. */
void tern__pool_reclaim(tern_pool *pool);

/* pool_large.c: a block of exactly `units` from held memory, or NULL; the same tag is preferred among blocks
 * of equal size. Its kind is still FREE: the caller sets it; `zero` is set. */
tern__pool_unit *tern__pool_large_take(tern_pool *pool, size_t units, uint16_t tag);
void tern__pool_large_give(tern_pool *pool, tern__pool_unit *unit); /* merges with free neighbours */
char *tern__pool_unit_address(const tern_pool *pool, const tern__pool_unit *unit);
tern__pool_unit *tern__pool_region_unit(const tern__pool_region *region, size_t index);

/* Takes a region from the system that can hold a block of `bytes`, and that much at least is free in one
 * piece afterwards. TERN_LIMIT, TERN_OUT_OF_MEMORY: the cap forbids it, or the system refuses, even without the
 * regions that are wholly free (they have been given back then). */
tern_status tern__pool_region_add(tern_pool *pool, size_t bytes);

/* Gives wholly free regions back while more than `keep` of the bytes in bins remain; returns the bytes given
 * back. */
size_t tern__pool_regions_trim(tern_pool *pool, size_t keep);
void tern__pool_regions_destroy(tern_pool *pool);

/* pool_small.c */
typedef enum tern__pool_result {
    TERN__POOL_TAKEN,
    TERN__POOL_NO_ROOM,
    TERN__POOL_NO_MEMORY,
} tern__pool_result;

/* Of one slab, in whole units; `least`: of one that holds a single block. */
size_t tern__pool_slab_bytes(const tern_pool *pool, unsigned index, bool least);

/* A block from a slab that has one. */
bool tern__pool_slab_take(tern_pool *pool, unsigned index, tern__pool_cached *out);

/* Makes a slab out of held memory. NO_ROOM: no free block is large enough; NO_MEMORY: for its description. */
tern__pool_result tern__pool_slab_add(tern_pool *pool, unsigned index, bool least);
void tern__pool_slab_give(tern_pool *pool, tern__pool_slab *slab, void *block);
void tern__pool_slabs_release(tern_pool *pool); /* those without a block in use or in a front */
void tern__pool_slabs_destroy(tern_pool *pool);

/* ---- the address sanitizer knows free blocks, so that it catches use after put ---- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TERN__POOL_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TERN__POOL_ASAN 1
#endif

#if defined(TERN__POOL_ASAN)
#include <sanitizer/asan_interface.h>
#define TERN__POOL_POISON(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define TERN__POOL_UNPOISON(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#else
#define TERN__POOL_POISON(at, bytes) ((void)(at), (void)(bytes))
#define TERN__POOL_UNPOISON(at, bytes) ((void)(at), (void)(bytes))
#endif

#endif
