/* alloc.c - the heap and the pages of the library, counted and gated.
 *
 * A block's size is asked from the system's allocator (malloc_usable_size) when it is freed, so plain and
 * aligned blocks need no header: tern__free undoes both, and a sanitizer sees the exact bounds of each block.
 * Each thread counts for itself; the sums are made when somebody asks. */
#include "base/alloc.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <malloc/malloc.h>
#define usable_size(block) malloc_size(block)
#else
#include <malloc.h>
#define usable_size(block) malloc_usable_size(block)
#endif

#include "base/checked.h"
#include "base/status.h"

enum { SHARDS = 64, HUGE_PAGE = TERN__HUGE_PAGE };

/* ---- counters ---- */

/* Belongs to one thread at a time, which then counts without locked instructions (5 ns each, four per block).
 * The first one is for all threads that found none free. */
typedef struct shard {
    alignas(64) _Atomic(uint64_t) allocations;
    _Atomic(uint64_t) allocated_bytes;
    _Atomic(uint64_t) frees;
    _Atomic(uint64_t) freed_bytes;
    _Atomic(bool) taken;
} shard;

static shard shards[SHARDS];
static _Atomic(uint64_t) refused;
static _Atomic(uint64_t)
    mapped[2]; /* pages, and those that are regions; few and large, so that one counter each will do */
static _Thread_local shard *mine;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor tells us that a thread ends */
static bool key_exists;

static void give_back(void *value)
{
    shard *s = value;
    mine = NULL;
    atomic_store_explicit(&s->taken, false, memory_order_release);
}

static void make_key(void)
{
    key_exists = pthread_key_create(&key, give_back) == 0;
}

/* The library may be unloaded before its threads end. */
__attribute__((destructor)) static void drop_key(void)
{
    if (key_exists)
        pthread_key_delete(key);
}

static shard *take_shard(void)
{
    mine = &shards[0];
    pthread_once(&key_once, make_key);
    for (int i = 1; i < SHARDS && key_exists; i++) {
        shard *s = &shards[i];
        if (atomic_load_explicit(&s->taken, memory_order_relaxed) ||
            atomic_exchange_explicit(&s->taken, true, memory_order_acquire))
            continue;
        if (pthread_setspecific(key, s) == 0)
            mine = s;
        else
            atomic_store_explicit(&s->taken, false, memory_order_release);
        break;
    }
    return mine;
}

static inline void add(const shard *s, _Atomic(uint64_t) *counter, uint64_t amount)
{
    /* Release: whoever sees a free counted also sees its allocation counted, wherever that happened. */
    if (TERN__UNLIKELY(s == &shards[0])) {
        atomic_fetch_add_explicit(counter, amount, memory_order_release);
        return;
    }
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + amount, memory_order_release);
}

static void count_allocation(size_t bytes)
{
    shard *s = TERN__LIKELY(mine != NULL) ? mine : take_shard();
    add(s, &s->allocations, 1);
    add(s, &s->allocated_bytes, bytes);
}

static void count_free(size_t bytes)
{
    shard *s = TERN__LIKELY(mine != NULL) ? mine : take_shard();
    add(s, &s->frees, 1);
    add(s, &s->freed_bytes, bytes);
}

static void *count_refusal(void)
{
    atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
    return NULL;
}

/* Frees are read before allocations, so that the differences cannot go below zero while others work. */
void tern_alloc_get_stats(tern_alloc_stats *out)
{
    if (out == NULL)
        return;
    uint64_t allocations = 0, allocated_bytes = 0, frees = 0, freed_bytes = 0;
    for (int i = 0; i < SHARDS; i++) {
        frees += atomic_load_explicit(&shards[i].frees, memory_order_acquire);
        freed_bytes += atomic_load_explicit(&shards[i].freed_bytes, memory_order_acquire);
    }
    for (int i = 0; i < SHARDS; i++) {
        allocations += atomic_load_explicit(&shards[i].allocations, memory_order_relaxed);
        allocated_bytes += atomic_load_explicit(&shards[i].allocated_bytes, memory_order_relaxed);
    }
    *out = (tern_alloc_stats){
        .allocations = allocations,
        .frees = frees,
        .refused = atomic_load_explicit(&refused, memory_order_relaxed),
        .live_bytes = allocated_bytes - freed_bytes,
    };
}

/* ---- gate ---- */

static _Atomic(tern_alloc_gate) gate;
static void *gate_user; /* written while no other thread is inside the library, like the gate */

static bool gate_refuses(size_t bytes)
{
    tern_alloc_gate ask = atomic_load_explicit(&gate, memory_order_relaxed);
    return TERN__UNLIKELY(ask != NULL) && !ask(gate_user, bytes);
}

void tern_alloc_set_gate(tern_alloc_gate new_gate, void *user)
{
    gate_user = user;
    atomic_store_explicit(&gate, new_gate, memory_order_relaxed);
}

/* ---- heap ---- */

/* The common end of every allocation: counts it, or the refusal. */
static void *counted(void *block, const tern__call_site *site)
{
    if (TERN__UNLIKELY(block == NULL))
        return count_refusal();
    size_t bytes = usable_size(block);
    count_allocation(bytes);
    tern__watch_made(TERN__WATCH_HEAP, block, bytes, site);
    return block;
}

void *tern__alloc_at(size_t bytes, const tern__call_site *site)
{
    if (gate_refuses(bytes))
        return count_refusal();
    return counted(malloc(bytes != 0 ? bytes : 1), site);
}

void *tern__alloc_zero_at(size_t count, size_t bytes_each, const tern__call_site *site)
{
    size_t bytes;
    if (!tern__size_mul(count, bytes_each, &bytes) || gate_refuses(bytes))
        return count_refusal();
    return counted(calloc(1, bytes != 0 ? bytes : 1), site);
}

void *tern__realloc_at(void *block, size_t bytes, const tern__call_site *site)
{
    if (block == NULL)
        return tern__alloc_at(bytes, site);
    if (gate_refuses(bytes))
        return count_refusal();
    size_t old_bytes = usable_size(block);
    /* Told before it happens: once the old block is gone, another thread may be given its address. */
    tern__watch_freed(TERN__WATCH_HEAP, block, old_bytes);
    void *moved = realloc(block, bytes != 0 ? bytes : 1);
    if (moved == NULL) {
        tern__watch_made(TERN__WATCH_HEAP, block, old_bytes, site);
        return count_refusal();
    }
    size_t new_bytes = usable_size(moved);
    count_allocation(new_bytes);
    count_free(old_bytes);
    tern__watch_made(TERN__WATCH_HEAP, moved, new_bytes, site);
    return moved;
}

void *tern__alloc_aligned_at(size_t bytes, size_t alignment, const tern__call_site *site)
{
    void *block;
    if (gate_refuses(bytes))
        return count_refusal();
    if (posix_memalign(&block, alignment, bytes != 0 ? bytes : 1) != 0)
        return count_refusal();
    return counted(block, site);
}

void tern__free(void *block)
{
    if (block == NULL)
        return;
    size_t bytes = usable_size(block);
    count_free(bytes);
    tern__watch_freed(TERN__WATCH_HEAP, block, bytes);
    free(block);
}

bool tern__grow_at(void **items, size_t *capacity, size_t need, size_t bytes_each,
                   const tern__call_site *site)
{
    if (need <= *capacity)
        return true;
    size_t wanted, bytes;
    if (!tern__size_mul(*capacity, 2, &wanted) || wanted < need)
        wanted = need;
    if (!tern__size_mul(wanted, bytes_each, &bytes))
        return false;
    void *grown = tern__realloc_at(*items, bytes, site);
    if (grown == NULL)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

char *tern__strndup_at(const char *text, size_t length, const tern__call_site *site)
{
    size_t bytes;
    if (!tern__size_add(length, 1, &bytes))
        return count_refusal();
    char *copy = tern__alloc_at(bytes, site);
    if (copy == NULL)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *tern__strdup_at(const char *text, const tern__call_site *site)
{
    return tern__strndup_at(text, strlen(text), site);
}

/* ---- pages ---- */

size_t tern__page_size(void)
{
    static _Atomic(size_t) known;
    size_t size = atomic_load_explicit(&known, memory_order_relaxed);
    if (size == 0) {
        size = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&known, size, memory_order_relaxed);
    }
    return size;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PAGES_FROM_HEAP 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define PAGES_FROM_HEAP 1
#endif

#if defined(PAGES_FROM_HEAP)

/* A sanitizer knows nothing about mapped pages: neither a leak of them, nor a write past their end, nor that
 * they hold pointers to other blocks. So its builds take them from the heap. */
static void *map_pages(size_t bytes, bool huge)
{
    void *pages;
    if (posix_memalign(&pages, huge && bytes >= HUGE_PAGE ? HUGE_PAGE : tern__page_size(), bytes) != 0)
        return NULL;
    memset(pages, 0, bytes);
    return pages;
}

static void unmap_pages(void *pages, size_t bytes)
{
    (void)bytes;
    free(pages);
}

#else

static void *map_raw(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static void unmap_pages(void *pages, size_t bytes)
{
    if (bytes > 0)
        munmap(pages, bytes);
}

/* Huge pages exist only at addresses that are multiples of their size: map more, cut both ends off. */
static void *map_pages(size_t bytes, bool huge)
{
    size_t with_slack;
    if (!huge || bytes < HUGE_PAGE || !tern__size_add(bytes, HUGE_PAGE, &with_slack))
        return map_raw(bytes);
    char *raw = map_raw(with_slack);
    if (raw == NULL)
        return NULL;
    size_t before = (HUGE_PAGE - ((uintptr_t)raw & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
    unmap_pages(raw, before);
    unmap_pages(raw + before + bytes, HUGE_PAGE - before);
#if defined(MADV_HUGEPAGE)
    madvise(raw + before, bytes, MADV_HUGEPAGE); /* a wish: without it the pages are small */
#endif
    return raw + before;
}

#endif

void *tern__pages_map_at(size_t bytes, bool huge, tern__watch_kind kind, const tern__call_site *site)
{
    if (bytes == 0 || gate_refuses(bytes))
        return count_refusal();
    void *pages = map_pages(bytes, huge);
    if (pages == NULL)
        return count_refusal();
    count_allocation(bytes);
    atomic_fetch_add_explicit(&mapped[kind == TERN__WATCH_REGION], bytes, memory_order_relaxed);
    tern__watch_made(kind, pages, bytes, site);
    return pages;
}

void tern__pages_unmap_as(void *pages, size_t bytes, tern__watch_kind kind)
{
    if (pages == NULL)
        return;
    count_free(bytes);
    atomic_fetch_sub_explicit(&mapped[kind == TERN__WATCH_REGION], bytes, memory_order_relaxed);
    tern__watch_freed(kind, pages, bytes);
    unmap_pages(pages, bytes);
}

uint64_t tern__pages_mapped(tern__watch_kind kind)
{
    return atomic_load_explicit(&mapped[kind == TERN__WATCH_REGION], memory_order_relaxed);
}

void tern__pages_populate(void *start, size_t bytes)
{
#if defined(MADV_POPULATE_WRITE)
    const size_t before = (uintptr_t)start & (tern__page_size() - 1);
    if (bytes > 0)
        madvise((char *)start - before, bytes + before, MADV_POPULATE_WRITE); /* older kernels refuse it */
#else
    (void)start, (void)bytes;
#endif
}

void tern__pages_discard(void *start, size_t bytes)
{
    uintptr_t mask = (uintptr_t)tern__page_size() - 1;
    uintptr_t from = ((uintptr_t)start + mask) & ~mask;
    uintptr_t to = ((uintptr_t)start + bytes) & ~mask;
    if (from >= to)
        return;
    char *pages = (char *)start + (from - (uintptr_t)start);
#if defined(__linux__)
    int result = madvise(pages, to - from, MADV_DONTNEED);
#elif defined(PAGES_FROM_HEAP)
    int result = -1;
#else
    /* MADV_FREE elsewhere may leave the old content; a fresh mapping over the old one is zero at once. */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    int result = mmap(pages, to - from, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ? -1 : 0;
#endif
    if (result != 0) /* locked pages cannot be given back, but they read as zero all the same */
        memset(pages, 0, to - from);
}
