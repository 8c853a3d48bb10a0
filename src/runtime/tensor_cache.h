/* tensor_cache.h - the inside of the tensor cache of <tern/cache.h>: storages by name, for whoever derives constants and has
 * no context at hand. */
#ifndef TERN_RUNTIME_TENSOR_CACHE_H
#define TERN_RUNTIME_TENSOR_CACHE_H

#include <tern/cache.h>

#include "tensor/storage.h"
#include "tensor/type.h"

/* Remembers contiguous data that nobody writes to any more; takes a reference of its own. As tern_cache_put otherwise. */
tern_status tern__tensor_cache_put(tern_cache *cache, const char *key, const tern__type *type,
                                   tern__storage *storage);

/* *out carries a reference of the caller's. false: it is not there. */
bool tern__tensor_cache_get(tern_cache *cache, const char *key, tern__type *type, tern__storage **out);

#endif
