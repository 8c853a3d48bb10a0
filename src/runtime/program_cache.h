/* program_cache.h - compiled graphs by structure, so that evaluating or compiling the same graph again costs a look-up.
 *
 * A hit is confirmed by comparing structure; hashes only find candidates. Bounded by number and bytes, least recently
 * used first out. Entries whose constants nobody else holds any more are dropped when the next graph is compiled. Belongs
 * to one context. */
#ifndef TERN_RUNTIME_PROGRAM_CACHE_H
#define TERN_RUNTIME_PROGRAM_CACHE_H

#include "devices/device.h"
#include "runtime/compiled.h"
#include "runtime/loaded.h"

enum {
    TERN__PROGRAM_CACHE_BUCKETS = 256,
    TERN__PROGRAM_CACHE_ENTRIES = 256,
    TERN__PROGRAM_CACHE_BYTES = 64 << 20
};

typedef struct tern__program_cache_entry {
    struct tern__program_cache_entry *chain;         /* same bucket */
    struct tern__program_cache_entry *newer, *older; /* by use */
    uint64_t hash;
    size_t bytes;
    tern__compiled *compiled;   /* one reference */
    const tern__target *target; /* that it was compiled for: a context whose device is lost has another */
    tern__loaded *loaded; /* what is ready for the context's device; NULL: nothing, or nobody has asked */
} tern__program_cache_entry;

typedef struct tern__program_cache {
    tern__program_cache_entry *buckets[TERN__PROGRAM_CACHE_BUCKETS];
    tern__program_cache_entry *newest, *oldest;
    size_t entries, bytes;
    uint64_t hits, misses, evictions;
    const tern__device_ops *device_ops; /* of the context: whom the entries are ready for */
    tern__device *device;
} tern__program_cache;

void tern__program_cache_clear(tern__program_cache *cache);

/* The compiled form of `graph`, from the cache or made now. *out carries a reference of the caller's. With `explain` only
 * an entry that has notes will do. If there is no memory to remember it, it is made and not remembered. */
tern_status tern__program_cache_get(tern__program_cache *cache, const tern_graph *graph,
                                    const tern__target *target, const tern__compile_options *options,
                                    bool explain, tern__compiled **out);

/* Where what is ready of what was got last is kept; NULL if it was not remembered. */
tern__loaded **tern__program_cache_loaded(tern__program_cache *cache, const tern__compiled *compiled);

#endif
