/* pool.c - the memory pool's life and its two calls that matter: get and put.
 *
 * A hit takes the spin lock of one front, moves one entry of a stack and counts; everything else (refilling
 * a stack, making slabs and regions, the first use by a thread) happens under the pool's lock in the slow
 * halves. */
#include "tensor/pool.h"
#include "tensor/pool_internal.h"

#include <sched.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/log.h"
#include "base/status.h"

enum {
    LOOKS_BEFORE_YIELD = 100, /* then a waiting thread lets others run: the holder needs the processor too */
    KEY_LOOKS = 8,            /* newest entries of a stack that are searched for a key without a hint */
    REFILL = 32,              /* small blocks moved to a front at once */
};

/* ---- locks ---- */

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void tern__pool_front_wait(tern__pool_front *front)
{
    do {
        for (int looks = 0; atomic_load_explicit(&front->lock, memory_order_relaxed) != 0; looks++) {
            if (looks < LOOKS_BEFORE_YIELD)
                relax();
            else
                sched_yield();
        }
    } while (atomic_exchange_explicit(&front->lock, 1, memory_order_acquire) != 0);
}

static void lock_fronts(tern_pool *pool)
{
    for (int i = 0; i < TERN__POOL_FRONTS; i++)
        tern__pool_front_lock(&pool->fronts[i]);
}

static void unlock_fronts(tern_pool *pool)
{
    for (int i = 0; i < TERN__POOL_FRONTS; i++)
        tern__pool_front_unlock(&pool->fronts[i]);
}

void tern__pool_lock_all(tern_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    lock_fronts(pool);
}

void tern__pool_unlock_all(tern_pool *pool)
{
    unlock_fronts(pool);
    pthread_mutex_unlock(&pool->lock);
}

/* Threads are numbered as they come; a front serves every eighth. The model keeps the access one instruction
 * in the shared library too. */
static inline tern__pool_front *my_front(tern_pool *pool)
{
    static _Atomic(unsigned) next;
#if defined(__linux__)
    static _Thread_local unsigned mine __attribute__((tls_model("initial-exec")));
#else
    static _Thread_local unsigned mine;
#endif
    if (TERN__UNLIKELY(mine == 0))
        mine = 1 + atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % TERN__POOL_FRONTS;
    return &pool->fronts[mine - 1];
}

/* ---- options, create, destroy ---- */

tern_pool_options tern_pool_options_default(void)
{
    return (tern_pool_options){
        .small_max = 64 * 1024,
        .small_slab = (size_t)1 << 20,
        .large_region = (size_t)32 << 20,
        .cap_bytes = 0,
    };
}

/* Replaces zeros by the defaults and rounds sizes to what the pool works with. */
static tern_status normalise(tern_pool_options *options)
{
    tern_pool_options standard = tern_pool_options_default();
    if (options->small_max == 0)
        options->small_max = standard.small_max;
    if (options->small_slab == 0)
        options->small_slab =
            options->small_max > standard.small_slab ? options->small_max : standard.small_slab;
    if (options->large_region == 0)
        options->large_region = standard.large_region;

    size_t largest_small = tern__pool_class_bytes(TERN__POOL_SMALL_CLASSES - 1);
    TERN__FAIL_IF(options->small_max > largest_small, TERN_INVALID_ARGUMENT,
                  "pool: small_max is %zu, at most %zu is possible", options->small_max, largest_small);
    options->small_max = tern__pool_class_bytes(tern__pool_class_of(options->small_max));
    TERN__FAIL_IF(options->small_slab < options->small_max, TERN_INVALID_ARGUMENT,
                  "pool: small_slab is %zu, but must hold a block of small_max = %zu bytes",
                  options->small_slab, options->small_max);
    TERN__FAIL_IF(options->small_slab > TERN__POOL_BLOCK_MAX || options->large_region > TERN__POOL_BLOCK_MAX,
                  TERN_INVALID_ARGUMENT, "pool: small_slab and large_region can be at most %zu",
                  TERN__POOL_BLOCK_MAX);
    options->large_region = (options->large_region + TERN__POOL_UNIT - 1) & ~(TERN__POOL_UNIT - 1);
    return TERN_OK;
}

/* ---- when memory runs short (base/trim.h) ---- */

static size_t give_back(void *self, int level)
{
    tern_pool_fragmentation before, after;
    tern_pool_get_fragmentation(self, &before);
    tern_pool_pressure(self, level);
    tern_pool_get_fragmentation(self, &after);
    return (size_t)(before.held_bytes > after.held_bytes ? before.held_bytes - after.held_bytes : 0);
}

static uint64_t in_use(void *self)
{
    tern_pool_stats stats;
    tern_pool_get_stats(self, &stats);
    return stats.current_bytes;
}

tern_status tern_pool_create(const tern_pool_options *options, tern_pool **out)
{
    TERN__FAIL_IF(out == NULL, TERN_INVALID_ARGUMENT, "pool: no place for the result");
    tern_pool_options chosen = options != NULL ? *options : tern_pool_options_default();
    TERN_TRY(normalise(&chosen));

    /* Whole pages, because most of the stacks and of the root is never touched and so costs nothing. */
    size_t page = tern__page_size(), bytes = (sizeof(tern_pool) + page - 1) & ~(page - 1);
    tern_pool *pool = tern__pages_map(bytes, false);
    if (pool == NULL)
        return tern__out_of_memory(bytes);
    atomic_init(&pool->refs, 1);
    pool->pool_bytes = bytes;
    pool->options = chosen;
    pool->small_classes = tern__pool_class_of(chosen.small_max) + 1;
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        tern__pages_unmap(pool, bytes);
        return tern__fail(TERN_OUT_OF_MEMORY, "pool: the system has no room for a lock");
    }
    pool->trimmable = (tern__trimmable){.self = pool, .trim = give_back, .in_use = in_use};
    tern__trim_add(&pool->trimmable);
    *out = pool;
    return TERN_OK;
}

void tern__pool_retain(tern_pool *pool)
{
    atomic_fetch_add_explicit(&pool->refs, 1, memory_order_relaxed);
}

void tern_pool_destroy(tern_pool *pool)
{
    if (pool == NULL || atomic_fetch_sub_explicit(&pool->refs, 1, memory_order_acq_rel) != 1)
        return;
    tern__trim_remove(&pool->trimmable);
    tern_pool_stats stats;
    tern_pool_get_stats(pool, &stats);
    if (stats.allocations != stats.deallocations)
        tern__log(TERN_LOG_WARN, "pool: destroyed with %llu blocks (%llu bytes) still in use",
                  (unsigned long long)(stats.allocations - stats.deallocations),
                  (unsigned long long)stats.current_bytes);
    tern__pool_slabs_destroy(pool);
    tern__pool_regions_destroy(pool);
    pthread_mutex_destroy(&pool->lock);
    tern__pages_unmap(pool, pool->pool_bytes);
}

/* ---- counting ---- */

/* Gives `front` credit for `bytes` more, raising the peak if the pool has never had that much in use, and
 * shares what is left up to the peak among the active fronts. All fronts are locked. */
static void credit_share(tern_pool *pool, tern__pool_front *front, size_t bytes)
{
    uint64_t current = 0;
    for (int i = 0; i < TERN__POOL_FRONTS; i++)
        current += pool->fronts[i].granted - pool->fronts[i].credit;
    if (!front->active) {
        front->active = true;
        pool->active++;
    }
    if (current + bytes > pool->peak)
        pool->peak = current + bytes;
    uint64_t left = pool->peak - current - bytes, share = left / pool->active;
    for (int i = 0; i < TERN__POOL_FRONTS; i++) {
        tern__pool_front *f = &pool->fronts[i];
        uint64_t in_use = f->granted - f->credit;
        f->credit = !f->active ? 0 : f != front ? share : left - share * (pool->active - 1) + bytes;
        f->granted = in_use + f->credit;
    }
}

/* Locks `front` with credit for `bytes` more. The pool's lock is held. */
static void lock_with_credit(tern_pool *pool, tern__pool_front *front, size_t bytes)
{
    tern__pool_front_lock(front);
    if (front->active && bytes <= front->credit)
        return;
    tern__pool_front_unlock(front);
    lock_fronts(pool);
    if (!front->active || bytes > front->credit)
        credit_share(pool, front, bytes);
    for (int i = 0; i < TERN__POOL_FRONTS; i++) {
        if (&pool->fronts[i] != front)
            tern__pool_front_unlock(&pool->fronts[i]);
    }
}

/* ---- stacks ---- */

static inline uint8_t *hint_of(tern__pool_front *front, unsigned index, uint16_t tag)
{
    return &front->hints[((unsigned)tag / 2 + index * 37) % TERN__POOL_HINTS];
}

/* There is room. */
static inline void stack_push(tern__pool_front *front, unsigned index, const tern__pool_cached *entry,
                              uint16_t tag)
{
    unsigned count = front->counts[index];
    front->stacks[index][count] = *entry;
    front->counts[index] = (uint8_t)(count + 1);
    if (tag != 0)
        *hint_of(front, index, tag) = (uint8_t)count;
}

/* Pops the entry last used with the same tag, if the hint or the newest few know one, or the top. The stack
 * is not empty. */
static inline tern__pool_cached stack_pop(tern__pool_front *front, unsigned index, uint16_t tag)
{
    tern__pool_cached *stack = front->stacks[index];
    unsigned top = --front->counts[index];
    tern__pool_cached entry = stack[top];
    if (tag == 0 || *entry.tag_at == tag)
        return entry;
    unsigned at = *hint_of(front, index, tag);
    for (unsigned looks = 0; at >= top || *stack[at].tag_at != tag; looks++) {
        if (looks == KEY_LOOKS || looks == top)
            return entry;
        at = top - 1 - looks;
    }
    tern__pool_cached found = stack[at];
    stack[at] = entry;
    *hint_of(front, index, *entry.tag_at) = (uint8_t)at;
    return found;
}

/* Returns one free block to its slab or region. The pool's lock is held. */
static void entry_give(tern_pool *pool, const tern__pool_cached *entry)
{
    tern__pool_unit *unit = tern__pool_unit_of(pool, entry->block);
    if (unit->kind == TERN__POOL_SMALL)
        tern__pool_slab_give(pool, unit->small.slab, entry->block);
    else
        tern__pool_large_give(pool, unit);
}

/* Returns the `count` oldest entries of a stack. The pool's and the front's locks are held. */
static void stack_flush(tern_pool *pool, tern__pool_front *front, unsigned index, unsigned count)
{
    tern__pool_cached *stack = front->stacks[index];
    unsigned left = front->counts[index] - count;
    for (unsigned i = 0; i < count; i++)
        entry_give(pool, &stack[i]);
    for (unsigned i = 0; i < left; i++)
        stack[i] = stack[i + count];
    front->counts[index] = (uint8_t)left;
}

void tern__pool_reclaim(tern_pool *pool)
{
    for (int i = 0; i < TERN__POOL_FRONTS; i++) {
        tern__pool_front *front = &pool->fronts[i];
        tern__pool_front_lock(front);
        for (unsigned index = 0; front->active && index < TERN__POOL_CACHED; index++) {
            if (front->counts[index] > 0)
                stack_flush(pool, front, index, front->counts[index]);
        }
        tern__pool_front_unlock(front);
    }
    tern__pool_slabs_release(pool);
}

/* ---- get ---- */

/* A block of the class from slabs and bins. `least`: rather a slab of one block than none. */
static tern__pool_result take(tern_pool *pool, unsigned index, uint16_t tag, bool least,
                              tern__pool_cached *out)
{
    if (index < pool->small_classes) {
        if (tern__pool_slab_take(pool, index, out))
            return TERN__POOL_TAKEN;
        tern__pool_result made = tern__pool_slab_add(pool, index, false);
        if (made == TERN__POOL_NO_ROOM && least)
            made = tern__pool_slab_add(pool, index, true);
        if (made == TERN__POOL_TAKEN)
            tern__pool_slab_take(pool, index, out);
        return made;
    }
    tern__pool_unit *unit =
        tern__pool_large_take(pool, tern__pool_class_bytes(index) >> TERN__POOL_UNIT_SHIFT, tag);
    if (unit == NULL)
        return TERN__POOL_NO_ROOM;
    unit->kind = TERN__POOL_LARGE;
    unit->class_index = (uint16_t)index;
    *out = (tern__pool_cached){.block = tern__pool_unit_address(pool, unit), .tag_at = &unit->tag};
    return TERN__POOL_TAKEN;
}

/* As take, but takes from the system what is missing; `fresh` says whether it did. */
static tern_status obtain(tern_pool *pool, unsigned index, uint16_t tag, tern__pool_cached *out, bool *fresh)
{
    bool small = index < pool->small_classes;
    size_t bytes = tern__pool_class_bytes(index);
    tern__pool_result result = take(pool, index, tag, false, out);
    if (result == TERN__POOL_NO_ROOM) {
        /* What other threads have in their fronts, and empty slabs of other classes, may do. */
        tern__pool_reclaim(pool);
        result = take(pool, index, tag, false, out);
    }
    if (result == TERN__POOL_NO_ROOM) {
        tern_status status =
            tern__pool_region_add(pool, small ? tern__pool_slab_bytes(pool, index, false) : bytes);
        *fresh = status == TERN_OK;
        if (status != TERN_OK && (status != TERN_LIMIT || !small))
            return status;
        result = take(pool, index, tag, true, out);
    }
    if (result == TERN__POOL_NO_ROOM) {
        TERN_TRY(tern__pool_region_add(pool, tern__pool_slab_bytes(pool, index, true)));
        *fresh = true;
        result = take(pool, index, tag, true, out);
    }
    if (result != TERN__POOL_TAKEN)
        return tern__out_of_memory(bytes);
    return TERN_OK;
}

/* The front could not serve: its stack is empty, or the peak may be about to rise. `*zero`: the block reads as zeros. */
static __attribute__((noinline)) tern_status get_slow(tern_pool *pool, unsigned index, uint16_t tag,
                                                      void **out, bool *zero)
{
    tern__pool_front *front = my_front(pool);
    size_t bytes = tern__pool_class_bytes(index);
    tern__pool_cached entry;
    bool cached = index < TERN__POOL_CACHED, have = false, fresh = false;

    pthread_mutex_lock(&pool->lock);
    if (cached) {
        tern__pool_front_lock(front);
        have = front->counts[index] > 0;
        if (have)
            entry = stack_pop(front, index, tag);
        tern__pool_front_unlock(front);
    }
    if (!have) {
        uint64_t scope = tern__watch_enter("pool", "pool");
        tern_status status = obtain(pool, index, tag, &entry, &fresh);
        tern__watch_leave(scope);
        if (status != TERN_OK) {
            pthread_mutex_unlock(&pool->lock);
            return status;
        }
    }
    *zero = !have && index >= pool->small_classes && tern__pool_unit_of(pool, entry.block)->zero;
    lock_with_credit(pool, front, bytes);
    front->credit -= bytes;
    front->misses += fresh;
    front->hits += !fresh;
    if (index < pool->small_classes && cached) {
        /* The next gets of this class find their blocks here. */
        unsigned count = front->counts[index];
        while (count < REFILL && tern__pool_slab_take(pool, index, &front->stacks[index][count]))
            count++;
        front->counts[index] = (uint8_t)count;
    }
    tern__pool_front_unlock(front);
    pthread_mutex_unlock(&pool->lock);

    *entry.tag_at = tag | TERN__POOL_IN_USE;
    TERN__POOL_UNPOISON(entry.block, bytes);
    *out = entry.block;
    return TERN_OK;
}

static inline tern_status get(tern_pool *pool, size_t bytes, uint64_t key, void **out, bool *zero)
{
    *zero = false;
    TERN__FAIL_IF(pool == NULL || out == NULL, TERN_INVALID_ARGUMENT,
                  "pool: get needs a pool and a place for the block");
    if (TERN__UNLIKELY(bytes > pool->options.small_max)) {
        size_t rounded;
        if (!tern__size_round_up(bytes, TERN__POOL_UNIT, &rounded) || rounded > TERN__POOL_BLOCK_MAX)
            return tern__out_of_memory(bytes);
        bytes = rounded;
    }
    unsigned index = tern__pool_class_of(bytes + (bytes == 0));
    uint16_t tag = tern__pool_tag_of(key);
    if (TERN__UNLIKELY(index >= TERN__POOL_CACHED))
        return get_slow(pool, index, tag, out, zero);

    size_t block_bytes = tern__pool_class_bytes(index);
    tern__pool_front *front = my_front(pool);
    tern__pool_front_lock(front);
    bool raise = block_bytes > front->credit;
    if (TERN__UNLIKELY(front->counts[index] == 0 || (raise && (pool->active != 1 || !front->active)))) {
        tern__pool_front_unlock(front);
        return get_slow(pool, index, tag, out, zero);
    }
    if (TERN__UNLIKELY(raise)) {
        /* Alone in the pool, the front knows what is in use and raises the peak itself. */
        pool->peak += block_bytes - front->credit;
        front->granted += block_bytes - front->credit;
        front->credit = block_bytes;
    }
    tern__pool_cached entry = stack_pop(front, index, tag);
    front->credit -= block_bytes;
    front->hits++;
    tern__pool_front_unlock(front);

    *entry.tag_at = tag | TERN__POOL_IN_USE;
    TERN__POOL_UNPOISON(entry.block, block_bytes);
    *out = entry.block;
    return TERN_OK;
}

static __attribute__((noinline)) void tell(const tern__watcher *watcher, const tern_pool *pool,
                                           const void *block, const tern__call_site *site)
{
    watcher->made(TERN__WATCH_BLOCK, block, tern_pool_block_bytes(pool, block), site);
    watcher->sample(pool);
}

tern_status tern__pool_get_at(tern_pool *pool, size_t bytes, uint64_t key, void **out, bool *zero,
                              const tern__call_site *site)
{
    bool unasked;
    tern_status status = get(pool, bytes, key, out, zero ? zero : &unasked);
    const tern__watcher *watcher = tern__watch_on();
    if (watcher && status == TERN_OK)
        tell(watcher, pool, *out, site);
    return status;
}

tern_status tern_pool_get(tern_pool *pool, size_t bytes, uint64_t key, void **out)
{
    return tern__pool_get(pool, bytes, key, out);
}

/* ---- put ---- */

/* The place of the tag of a block that starts at `block`, and its unit; NULL if no block can start there. */
static inline uint16_t *tag_of_block(const tern_pool *pool, const void *block, tern__pool_unit **unit)
{
    uintptr_t address = (uintptr_t)block;
    tern__pool_unit *at = tern__pool_unit_of(pool, block);
    *unit = at;
    if (TERN__UNLIKELY(at == NULL || address % TERN__POOL_LINE != 0))
        return NULL;
    if (at->kind == TERN__POOL_SMALL)
        return &at->small.tags[address / TERN__POOL_LINE % (TERN__POOL_UNIT / TERN__POOL_LINE)];
    return at->kind == TERN__POOL_LARGE && address % TERN__POOL_UNIT == 0 ? &at->tag : NULL;
}

/* The front's stack is full or it has never been used, or the class has no stacks. */
static __attribute__((noinline)) void put_slow(tern_pool *pool, unsigned index,
                                               const tern__pool_cached *entry)
{
    tern__pool_front *front = my_front(pool);
    size_t bytes = tern__pool_class_bytes(index);
    pthread_mutex_lock(&pool->lock);
    lock_with_credit(pool, front, 0);
    front->credit += bytes;
    front->returns++;
    if (index < TERN__POOL_CACHED) {
        if (front->counts[index] == TERN__POOL_STACK)
            stack_flush(pool, front, index, TERN__POOL_STACK / 2);
        stack_push(front, index, entry, *entry->tag_at);
    } else {
        entry_give(pool, entry);
    }
    tern__pool_front_unlock(front);
    pthread_mutex_unlock(&pool->lock);
}

void tern_pool_put(tern_pool *pool, void *block)
{
    if (block == NULL || pool == NULL)
        return;
    tern__pool_unit *unit;
    uint16_t *tag_at = tag_of_block(pool, block, &unit);
    if (TERN__UNLIKELY(tag_at == NULL || (*tag_at & TERN__POOL_IN_USE) == 0)) {
        tern__log(TERN_LOG_ERROR,
                  "pool: put of %p ignored: it is not a block in use of this pool (returned twice?)", block);
        return;
    }
    uint16_t tag = *tag_at & (uint16_t)~TERN__POOL_IN_USE;
    tern__pool_cached entry = {.block = block, .tag_at = tag_at};
    unsigned index = unit->class_index;
    size_t block_bytes = tern__pool_class_bytes(index);
    tern__watch_freed(TERN__WATCH_BLOCK, block, block_bytes);
    *tag_at = tag;
    TERN__POOL_POISON(block, block_bytes);
    if (TERN__UNLIKELY(index >= TERN__POOL_CACHED)) {
        put_slow(pool, index, &entry);
        return;
    }
    tern__pool_front *front = my_front(pool);
    tern__pool_front_lock(front);
    if (TERN__UNLIKELY(front->counts[index] == TERN__POOL_STACK || !front->active)) {
        tern__pool_front_unlock(front);
        put_slow(pool, index, &entry);
        return;
    }
    stack_push(front, index, &entry, tag);
    front->credit += block_bytes;
    front->returns++;
    tern__pool_front_unlock(front);
}

size_t tern_pool_block_bytes(const tern_pool *pool, const void *block)
{
    tern__pool_unit *unit;
    if (pool == NULL || block == NULL)
        return 0;
    const uint16_t *tag_at = tag_of_block(pool, block, &unit);
    return tag_at == NULL || (*tag_at & TERN__POOL_IN_USE) == 0 ? 0
                                                                : tern__pool_class_bytes(unit->class_index);
}
