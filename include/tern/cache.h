/* cache.h - tensors by name, for what is costly to make and may be thrown away: decoded
 * files, preprocessed inputs.
 *
 * Bounded by bytes (least recently used goes first, and a get is a use) and by age (time to live since the
 * put; a get does not prolong it). What is cached never changes: a put takes a snapshot, and what a get
 * gives is a constant.
 *
 * Threading: all functions may be called from any thread, on one cache at once; tensors that go in and
 * come out belong to the calling thread's context. Tensors that came out stay valid when their entry, or
 * the whole cache, is gone. */
#ifndef TERN_CACHE_H
#define TERN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/status.h>

typedef struct tern_cache tern_cache;

/* Nanoseconds from any start that never go back. Called with the cache locked: must not call it. */
typedef uint64_t (*tern_cache_clock)(void *user);

/* Zeroed fields are the defaults. */
typedef struct tern_cache_options {
    size_t max_bytes;       /* of all entries: data, keys and bookkeeping; 0 = 256 MiB, SIZE_MAX = no limit */
    uint64_t ttl_ns;        /* an entry older than this is gone; 0 = it may grow old    */
    tern_cache_clock clock; /* NULL = the machine's monotonic clock               */
    void *clock_user;
} tern_cache_options;

/* hits + misses = gets. Every entry that was put and is not there any more was replaced, removed, evicted
 * or expired. */
typedef struct tern_cache_stats {
    uint64_t hits, misses;
    uint64_t puts;     /* that succeeded, replacements included         */
    uint64_t replaced; /* by a put with the same key                    */
    uint64_t removed;  /* by tern_cache_remove or tern_cache_clear      */
    uint64_t evicted;  /* to make room                                  */
    uint64_t expired;  /* too old                                       */
    uint64_t entries;  /* now                                           */
    uint64_t bytes, peak_bytes;
} tern_cache_stats;

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_cache_options tern_cache_options_default(void); /* 256 MiB, no age limit */

/* `options` NULL = defaults. */
TERN_API tern_status tern_cache_create(const tern_cache_options *options, tern_cache **out);
TERN_API void tern_cache_free(tern_cache *cache); /* NULL is fine */

/* Evaluates `t` and remembers its value, in place of what `key` stood for. A contiguous constant is
 * shared, anything else is copied. TERN_LIMIT, and the cache is as it was, if it alone is larger than the
 * cache may be. */
TERN_API tern_status tern_cache_put(tern_cache *cache, const char *key, tern_tensor *t);

/* A new tensor of `ctx`, a constant without a copy of the data, owned like any other. TERN_NOT_FOUND: it
 * is not there. */
TERN_API tern_status tern_cache_get(tern_cache *cache, tern_ctx *ctx, const char *key, tern_tensor **out);

/* Makes the value of a key that is not there: a tensor of `ctx`. */
typedef tern_status (*tern_cache_make)(void *user, tern_ctx *ctx, tern_tensor **out);

/* tern_cache_get, or what `make` makes, which is put. The cache is not locked meanwhile: threads that miss
 * at the same time each make one, and the last stays. A value too large to be kept is still handed out. A
 * failure of `make` is returned. */
TERN_API tern_status tern_cache_get_or_make(tern_cache *cache, tern_ctx *ctx, const char *key,
                                            tern_cache_make make, void *user, tern_tensor **out);

TERN_API bool tern_cache_remove(tern_cache *cache, const char *key); /* was it there? */
TERN_API void tern_cache_clear(tern_cache *cache);

/* Drops what is too old, which every put and get does too; returns how many entries. */
TERN_API size_t tern_cache_sweep(tern_cache *cache);

TERN_API void tern_cache_get_stats(tern_cache *cache, tern_cache_stats *out);

#ifdef __cplusplus
}
#endif
#endif
