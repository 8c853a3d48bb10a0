/* tensor_cache.c - the tensor cache: a hash table whose entries are also linked by use (for eviction) and by age (for
 * expiry). One lock; whatever is dropped under it is freed after it, so that foreign drop functions may call back. */
#include "runtime/tensor_cache.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/trim.h"
#include "runtime/context.h"

typedef struct entry {
    struct entry *chain;           /* same bucket; or the next of those that were dropped */
    struct entry *newer, *older;   /* by use */
    struct entry *younger, *elder; /* by age */
    uint64_t hash, born_ns;
    size_t bytes;
    tern__type type;
    tern__storage *storage; /* one reference; contiguous from its start */
    char key[];
} entry;

struct tern_cache {
    pthread_mutex_t lock;
    tern_cache_options options;
    entry **buckets;
    size_t n_buckets; /* a power of two */
    entry *newest, *oldest;
    entry *youngest, *eldest;
    tern_cache_stats stats;
    tern__trimmable trimmable;
};

enum { FIRST_BUCKETS = 64, MAX_KEY = 1 << 16 };

/* ---- entries (the lock is held) ---- */

static entry **bucket_of(const tern_cache *c, uint64_t hash)
{
    return &c->buckets[hash & (c->n_buckets - 1)];
}

static entry *find(const tern_cache *c, uint64_t hash, const char *key)
{
    for (entry *e = *bucket_of(c, hash); e; e = e->chain)
        if (e->hash == hash && strcmp(e->key, key) == 0)
            return e;
    return NULL;
}

static void unlink_use(tern_cache *c, entry *e)
{
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void link_newest(tern_cache *c, entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

/* Takes the entry out and puts it on the list of those to be freed. */
static void drop(tern_cache *c, entry *e, uint64_t *counter, entry **dropped)
{
    entry **at = bucket_of(c, e->hash);
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    unlink_use(c, e);
    *(e->younger ? &e->younger->elder : &c->youngest) = e->elder;
    *(e->elder ? &e->elder->younger : &c->eldest) = e->younger;
    c->stats.entries--;
    c->stats.bytes -= e->bytes;
    ++*counter;
    e->chain = *dropped;
    *dropped = e;
}

static void free_dropped(entry *dropped)
{
    while (dropped) {
        entry *next = dropped->chain;
        tern__storage_release(dropped->storage);
        tern__free(dropped);
        dropped = next;
    }
}

static uint64_t now(const tern_cache *c)
{
    return c->options.clock ? c->options.clock(c->options.clock_user) : tern__now_ns();
}

/* All entries live equally long, so the eldest go first. */
static size_t sweep(tern_cache *c, uint64_t time, entry **dropped)
{
    size_t count = 0;
    while (c->options.ttl_ns && c->eldest && time - c->eldest->born_ns >= c->options.ttl_ns) {
        drop(c, c->eldest, &c->stats.expired, dropped);
        count++;
    }
    return count;
}

/* More buckets when there are as many entries; without memory for them chains grow instead. */
static void grow_table(tern_cache *c)
{
    if (c->stats.entries < c->n_buckets)
        return;
    size_t n = c->n_buckets * 2;
    entry **buckets = tern__alloc_zero(n, sizeof *buckets);
    if (!buckets)
        return;
    tern__free(c->buckets);
    c->buckets = buckets;
    c->n_buckets = n;
    for (entry *e = c->newest; e; e = e->older) {
        entry **at = bucket_of(c, e->hash);
        e->chain = *at;
        *at = e;
    }
}

static void add(tern_cache *c, entry *e)
{
    grow_table(c);
    entry **at = bucket_of(c, e->hash);
    e->chain = *at;
    *at = e;
    link_newest(c, e);
    e->younger = NULL;
    e->elder = c->youngest;
    *(c->youngest ? &c->youngest->younger : &c->eldest) = e;
    c->youngest = e;
    c->stats.entries++;
    c->stats.puts++;
    c->stats.bytes += e->bytes;
    if (c->stats.bytes > c->stats.peak_bytes)
        c->stats.peak_bytes = c->stats.bytes;
}

/* ---- storages by name ---- */

static tern_status check_key(const char *who, const char *key)
{
    TERN__FAIL_IF(!key, TERN_INVALID_ARGUMENT, "%s: the key is NULL", who);
    TERN__FAIL_IF(strlen(key) > MAX_KEY, TERN_INVALID_ARGUMENT,
                  "%s: the key has %zu bytes, at most %d are kept", who, strlen(key), MAX_KEY);
    return TERN_OK;
}

static uint64_t hash_of(const char *key)
{
    return tern__hash(key, strlen(key), 0);
}

tern_status tern__tensor_cache_put(tern_cache *cache, const char *key, const tern__type *type,
                                   tern__storage *storage)
{
    size_t length = strlen(key) + 1, bytes = sizeof(entry) + length;
    size_t most = cache->options.max_bytes;
    TERN__FAIL_IF(!tern__size_add(bytes, tern__type_bytes(type), &bytes) || bytes > most, TERN_LIMIT,
                  "cache_put: '%s' takes %zu bytes, the whole cache may have %zu", key, bytes, most);
    entry *e = tern__alloc(sizeof *e + length);
    if (!e)
        return tern__out_of_memory(sizeof *e + length);
    *e = (entry){.hash = hash_of(key), .bytes = bytes, .type = *type, .storage = storage};
    memcpy(e->key, key, length);
    tern__storage_retain(storage);
    entry *dropped = NULL;
    pthread_mutex_lock(&cache->lock);
    e->born_ns = now(cache);
    sweep(cache, e->born_ns, &dropped);
    entry *before = find(cache, e->hash, key);
    if (before)
        drop(cache, before, &cache->stats.replaced, &dropped);
    while (cache->oldest && cache->stats.bytes + bytes > most)
        drop(cache, cache->oldest, &cache->stats.evicted, &dropped);
    add(cache, e);
    pthread_mutex_unlock(&cache->lock);
    free_dropped(dropped);
    return TERN_OK;
}

bool tern__tensor_cache_get(tern_cache *cache, const char *key, tern__type *type, tern__storage **out)
{
    uint64_t hash = hash_of(key);
    entry *dropped = NULL;
    pthread_mutex_lock(&cache->lock);
    sweep(cache, now(cache), &dropped);
    entry *e = find(cache, hash, key);
    ++*(e ? &cache->stats.hits : &cache->stats.misses);
    if (e) {
        unlink_use(cache, e);
        link_newest(cache, e);
        tern__storage_retain(e->storage);
        *type = e->type;
        *out = e->storage;
    }
    pthread_mutex_unlock(&cache->lock);
    free_dropped(dropped);
    return e != NULL;
}

/* ---- tensors by name ---- */

tern_cache_options tern_cache_options_default(void)
{
    return (tern_cache_options){.max_bytes = (size_t)256 << 20};
}

/* Memory runs short: half goes, the least recently used first, or all. */
static size_t trim(void *self, int level)
{
    tern_cache *c = self;
    entry *dropped = NULL;
    pthread_mutex_lock(&c->lock);
    const uint64_t before = c->stats.bytes, keep = level == 1 ? before / 2 : 0;
    while (level > 0 && c->oldest && c->stats.bytes > keep)
        drop(c, c->oldest, &c->stats.evicted, &dropped);
    const uint64_t given = before - c->stats.bytes;
    pthread_mutex_unlock(&c->lock);
    free_dropped(dropped);
    return (size_t)given;
}

tern_status tern_cache_create(const tern_cache_options *options, tern_cache **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "cache: out is NULL");
    tern_cache *c = tern__alloc_zero(1, sizeof *c);
    entry **buckets = c ? tern__alloc_zero(FIRST_BUCKETS, sizeof *buckets) : NULL;
    if (!buckets) {
        tern__free(c);
        return tern__out_of_memory(sizeof *c + FIRST_BUCKETS * sizeof *buckets);
    }
    const tern_cache_options usual = tern_cache_options_default();
    c->options = options ? *options : usual;
    c->options.max_bytes = c->options.max_bytes ? c->options.max_bytes : usual.max_bytes;
    c->buckets = buckets;
    c->n_buckets = FIRST_BUCKETS;
    if (pthread_mutex_init(&c->lock, NULL) != 0) {
        tern__free(buckets);
        tern__free(c);
        return tern__fail(TERN_UNAVAILABLE, "cache: the system gave no lock");
    }
    c->trimmable = (tern__trimmable){.self = c, .trim = trim};
    tern__trim_add(&c->trimmable);
    *out = c;
    return TERN_OK;
}

void tern_cache_free(tern_cache *cache)
{
    if (!cache)
        return;
    tern__trim_remove(&cache->trimmable);
    tern_cache_clear(cache);
    pthread_mutex_destroy(&cache->lock);
    tern__free(cache->buckets);
    tern__free(cache);
}

/* A storage of the heap, so that it does not hold on to the pool of a context. */
static tern_status snapshot(tern_tensor *t, tern__storage **out)
{
    size_t bytes = tern__type_bytes(&t->type);
    tern__storage *storage = NULL;
    TERN_TRY(tern__storage_create(NULL, bytes, 0, &storage));
    tern_status status = tern_read(t, storage->host, bytes);
    if (status != TERN_OK) {
        tern__storage_release(storage);
        return status;
    }
    storage->frozen = true;
    *out = storage;
    return TERN_OK;
}

tern_status tern_cache_put(tern_cache *cache, const char *key, tern_tensor *t)
{
    TERN__FAIL_IF(!cache || !t, TERN_INVALID_ARGUMENT, "cache_put: needs a cache and a tensor");
    TERN_TRY(check_key("cache_put", key));
    TERN_TRY(tern_eval(t));
    tern__storage *storage = t->storage;
    if (storage->frozen && t->layout.offset == 0 && tern__layout_is_contiguous(&t->type, &t->layout))
        tern__storage_retain(storage);
    else
        TERN_TRY(snapshot(t, &storage));
    tern_status status = tern__tensor_cache_put(cache, key, &t->type, storage);
    tern__storage_release(storage);
    return status;
}

static void drop_shared(void *user, void *host, size_t bytes)
{
    (void)host, (void)bytes;
    tern__storage_release(user);
}

/* Contexts list the handles that share a storage, each its own: every get has a storage of its own over the same bytes. */
static tern_status wrap(tern_ctx *ctx, const tern__type *type, tern__storage *shared, tern_tensor **out)
{
    tern__storage *storage = NULL;
    tern_status status =
        tern__storage_borrow(shared->host, shared->bytes, true, drop_shared, shared, &storage);
    if (status != TERN_OK) {
        tern__storage_release(shared);
        return status;
    }
    storage->frozen = true;
    tern__layout layout;
    tern__layout_contiguous(type, &layout);
    tern_tensor *t = tern__tensor_wrap(ctx, type, storage, &layout);
    TERN_TRY(tern__tensor_check(t));
    t->constant = true;
    *out = t;
    return TERN_OK;
}

tern_status tern_cache_get(tern_cache *cache, tern_ctx *ctx, const char *key, tern_tensor **out)
{
    TERN__FAIL_IF(!cache || !ctx || !out, TERN_INVALID_ARGUMENT,
                  "cache_get: needs a cache, a context and room for a tensor");
    TERN_TRY(check_key("cache_get", key));
    tern__type type;
    tern__storage *storage;
    TERN__FAIL_IF(!tern__tensor_cache_get(cache, key, &type, &storage), TERN_NOT_FOUND,
                  "cache_get: there is no '%s'", key);
    return wrap(ctx, &type, storage, out);
}

tern_status tern_cache_get_or_make(tern_cache *cache, tern_ctx *ctx, const char *key, tern_cache_make make,
                                   void *user, tern_tensor **out)
{
    TERN__FAIL_IF(!make, TERN_INVALID_ARGUMENT, "cache_get_or_make: make is NULL");
    tern_status status = tern_cache_get(cache, ctx, key, out);
    if (status != TERN_NOT_FOUND)
        return status;
    tern_tensor *made = NULL;
    TERN_TRY(make(user, ctx, &made));
    status = tern_cache_put(cache, key, made);
    if (status != TERN_OK && status != TERN_LIMIT)
        return status;
    *out = made;
    return TERN_OK;
}

/* ---- upkeep ---- */

bool tern_cache_remove(tern_cache *cache, const char *key)
{
    if (!cache || !key)
        return false;
    uint64_t hash = hash_of(key);
    entry *dropped = NULL;
    pthread_mutex_lock(&cache->lock);
    sweep(cache, now(cache), &dropped);
    entry *e = find(cache, hash, key);
    if (e)
        drop(cache, e, &cache->stats.removed, &dropped);
    pthread_mutex_unlock(&cache->lock);
    free_dropped(dropped);
    return e != NULL;
}

void tern_cache_clear(tern_cache *cache)
{
    if (!cache)
        return;
    entry *dropped = NULL;
    pthread_mutex_lock(&cache->lock);
    while (cache->newest)
        drop(cache, cache->newest, &cache->stats.removed, &dropped);
    pthread_mutex_unlock(&cache->lock);
    free_dropped(dropped);
}

size_t tern_cache_sweep(tern_cache *cache)
{
    if (!cache)
        return 0;
    entry *dropped = NULL;
    pthread_mutex_lock(&cache->lock);
    size_t count = sweep(cache, now(cache), &dropped);
    pthread_mutex_unlock(&cache->lock);
    free_dropped(dropped);
    return count;
}

void tern_cache_get_stats(tern_cache *cache, tern_cache_stats *out)
{
    if (!cache || !out)
        return;
    pthread_mutex_lock(&cache->lock);
    *out = cache->stats;
    pthread_mutex_unlock(&cache->lock);
}
