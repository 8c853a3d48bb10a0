/* hash.c - xxh3 compiled into the library, so that nothing has to be linked. */
#include "base/hash.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t tern__hash(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

static _Atomic uint64_t process_seed; /* 0: not drawn yet */

static uint64_t draw_seed(void)
{
    uint64_t drawn, none = 0;
    if (getentropy(&drawn, sizeof drawn) !=
        0) /* an old kernel, or a sandbox: what a file cannot know either */
        drawn =
            tern__hash_mix(tern__hash_mix(tern__now_ns(), (uint64_t)(uintptr_t)&drawn), (uint64_t)getpid());
    drawn += drawn == 0;
    /* of threads that draw at the same time the first has it */
    return atomic_compare_exchange_strong(&process_seed, &none, drawn) ? drawn : none;
}

uint64_t tern__hash_foreign(const void *data, size_t bytes)
{
    uint64_t seed = atomic_load_explicit(&process_seed, memory_order_relaxed);
    return XXH3_64bits_withSeed(data, bytes, seed ? seed : draw_seed());
}
