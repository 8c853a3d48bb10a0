/* derived.c - one table for the process, locked: it is asked when programs are compiled, not when they run. */
#include "tensor/derived.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { BUCKETS = 256 };

typedef struct entry {
    struct entry *next;
    const tern__storage *of;
    tern__storage *made;
    size_t key_bytes;
    char key[];
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *buckets[BUCKETS];

static entry **bucket_of(const tern__storage *of)
{
    return &buckets[tern__hash_mix(0, (uint64_t)(uintptr_t)of) % BUCKETS];
}

static entry *find(const tern__storage *of, const void *key, size_t key_bytes)
{
    for (entry *e = *bucket_of(of); e; e = e->next)
        if (e->of == of && e->key_bytes == key_bytes && memcmp(e->key, key, key_bytes) == 0)
            return e;
    return NULL;
}

tern__storage *tern__derived_get(const tern__storage *of, const void *key, size_t key_bytes)
{
    if (!atomic_load_explicit(&of->has_derived, memory_order_acquire))
        return NULL;
    pthread_mutex_lock(&lock);
    entry *e = find(of, key, key_bytes);
    tern__storage *made = e ? e->made : NULL;
    if (made)
        tern__storage_retain(made);
    pthread_mutex_unlock(&lock);
    return made;
}

bool tern__derived_put(tern__storage *of, const void *key, size_t key_bytes, tern__storage *made)
{
    entry *e = tern__alloc(sizeof *e + key_bytes);
    if (!e)
        return false;
    *e = (entry){.of = of, .made = made, .key_bytes = key_bytes};
    memcpy(e->key, key, key_bytes);
    pthread_mutex_lock(&lock);
    const bool is_new = !find(of, key, key_bytes);
    if (is_new) {
        entry **bucket = bucket_of(of);
        e->next = *bucket;
        *bucket = e;
        tern__storage_retain(made);
        atomic_store_explicit(&of->has_derived, true, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    if (!is_new)
        tern__free(e);
    return is_new;
}

void tern__derived_drop(const tern__storage *of)
{
    entry *dropped = NULL;
    pthread_mutex_lock(&lock);
    for (entry **at = bucket_of(of); *at;) {
        entry *e = *at;
        if (e->of != of) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        e->next = dropped;
        dropped = e;
    }
    pthread_mutex_unlock(&lock);
    while (dropped) { /* outside the lock: what was made may have something made of it */
        entry *e = dropped;
        dropped = e->next;
        tern__storage_release(e->made);
        tern__free(e);
    }
}
