/* pool.h - what the library itself asks of a pool beyond <tern/pool.h>. */
#ifndef TERN_TENSOR_POOL_H
#define TERN_TENSOR_POOL_H

#include <tern/pool.h>

#include "base/watch.h"

/* Keeps the pool until one more tern_pool_destroy: a storage may outlive the context whose pool it came from. */
void tern__pool_retain(tern_pool *pool);

/* tern_pool_get, which knows where the call stands. */
#define tern__pool_get(pool, bytes, key, out) \
    tern__pool_get_at((pool), (bytes), (key), (out), NULL, TERN__HERE)

/* `*zero`, or NULL: every byte of the block is 0, as the system gave it, and its pages have not been touched. */
tern_status tern__pool_get_at(tern_pool *pool, size_t bytes, uint64_t key, void **out, bool *zero,
                              const tern__call_site *site);

#endif
