/* program_cache.c - compiled graphs by structure. */
#include "runtime/program_cache.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "runtime/recover.h"

static void unlink_use(tern__program_cache *cache, tern__program_cache_entry *e)
{
    *(e->newer ? &e->newer->older : &cache->newest) = e->older;
    *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
}

static void link_newest(tern__program_cache *cache, tern__program_cache_entry *e)
{
    e->newer = NULL;
    e->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
}

static void remove_entry(tern__program_cache *cache, tern__program_cache_entry *e)
{
    tern__program_cache_entry **at = &cache->buckets[e->hash % TERN__PROGRAM_CACHE_BUCKETS];
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    unlink_use(cache, e);
    cache->entries--;
    cache->bytes -= e->bytes;
    tern__loaded_free(cache->device_ops, cache->device, e->loaded);
    tern__compiled_release(e->compiled);
    tern__free(e);
}

void tern__program_cache_clear(tern__program_cache *cache)
{
    while (cache->newest)
        remove_entry(cache, cache->newest);
}

static bool matches(const tern__program_cache_entry *e, const tern_graph *graph, const tern__target *target,
                    const tern__compile_options *options, bool explain)
{
    return (e->compiled->report || !explain) && e->target == target &&
           tern__compile_options_equal(&e->compiled->options, options) &&
           tern__graph_equal(&e->compiled->source, graph, false);
}

static tern__program_cache_entry *find(tern__program_cache *cache, uint64_t hash, const tern_graph *graph,
                                       const tern__target *target, const tern__compile_options *options,
                                       bool explain)
{
    for (tern__program_cache_entry *e = cache->buckets[hash % TERN__PROGRAM_CACHE_BUCKETS]; e; e = e->chain)
        if (e->hash == hash && matches(e, graph, target, options, explain))
            return e;
    return NULL;
}

/* Does the entry keep a constant alive that is nobody else's? Its own references are one from the source graph and one from
 * the compiled one at most. */
static bool holds_the_last_constant(const tern__compiled *compiled)
{
    const tern_graph *g = &compiled->source;
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        const tern__storage *storage = g->leaves[i].storage;
        if (!storage || g->nodes[g->leaves[i].node].op != TERN__OP_constant)
            continue;
        uint32_t own = 1;
        for (uint32_t k = 0; k < compiled->graph.n_leaves; k++)
            own += compiled->graph.leaves[k].storage == storage;
        if (atomic_load_explicit(&storage->refs, memory_order_relaxed) <= own)
            return true;
    }
    return false;
}

static void make_room(tern__program_cache *cache)
{
    for (tern__program_cache_entry *e = cache->oldest, *next; e; e = next) {
        next = e->newer;
        if (holds_the_last_constant(e->compiled)) {
            remove_entry(cache, e);
            cache->evictions++;
        }
    }
    while (cache->oldest &&
           (cache->entries >= TERN__PROGRAM_CACHE_ENTRIES || cache->bytes > TERN__PROGRAM_CACHE_BYTES)) {
        remove_entry(cache, cache->oldest);
        cache->evictions++;
    }
}

tern__loaded **tern__program_cache_loaded(tern__program_cache *cache, const tern__compiled *compiled)
{
    return cache->newest && cache->newest->compiled == compiled ? &cache->newest->loaded : NULL;
}

tern_status tern__program_cache_get(tern__program_cache *cache, const tern_graph *graph,
                                    const tern__target *target, const tern__compile_options *options,
                                    bool explain, tern__compiled **out)
{
    /* The same as last time, in a loop, is known without its hash; another graph differs early as a rule. */
    uint64_t hash = 0;
    tern__program_cache_entry *e = cache->newest;
    if (!e || !matches(e, graph, target, options, explain)) {
        hash = tern__hash_mix(tern__graph_hash(graph), tern__compile_options_hash(options));
        e = find(cache, hash, graph, target, options, explain);
    }
    if (e) {
        cache->hits++;
        if (e != cache->newest) {
            unlink_use(cache, e);
            link_newest(cache, e);
        }
        tern__compiled_retain(e->compiled);
        *out = e->compiled;
        return TERN_OK;
    }
    cache->misses++;
    tern__compiled *compiled;
    TERN_TRY(tern__compiled_make(graph, target, options, explain, &compiled));
    *out = compiled;
    make_room(cache);
    e = tern__alloc(sizeof *e);
    if (!e)
        return TERN_OK;
    *e = (tern__program_cache_entry){
        .hash = hash, .bytes = tern__compiled_bytes(compiled), .compiled = compiled, .target = target};
    tern__compiled_retain(compiled);
    tern__program_cache_entry **bucket = &cache->buckets[hash % TERN__PROGRAM_CACHE_BUCKETS];
    e->chain = *bucket;
    *bucket = e;
    link_newest(cache, e);
    cache->entries++;
    cache->bytes += e->bytes;
    return TERN_OK;
}
