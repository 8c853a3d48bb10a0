/* deferred.h - constants whose data are made when somebody needs them, and let go when nobody does: weights that are read from a
 * file only to be packed. */
#ifndef TERN_TENSOR_DEFERRED_H
#define TERN_TENSOR_DEFERRED_H

#include "tensor/storage.h"

/* How to make the data. `fill` writes all of it, the same each time it is called; it may be called by any thread, never by two
 * at once. `drop` (or NULL) is called when the storage goes. */
typedef struct tern__source {
    tern_status (*fill)(void *user, void *host, size_t bytes);
    void (*drop)(void *user);
    void *user;
} tern__source;

/* A frozen, read-only storage. It costs addresses until it is pinned. On failure `drop` is not called. */
tern_status tern__storage_defer(size_t bytes, const tern__source *source, tern__storage **out);

/* Between pin and unpin, `host` has the data. Any thread; other storages always have theirs. */
tern_status tern__deferred_pin(const tern__storage *storage);
void tern__deferred_unpin(const tern__storage *storage);

static inline tern_status tern__storage_pin(const tern__storage *storage)
{
    return storage->deferred ? tern__deferred_pin(storage) : TERN_OK;
}

static inline void tern__storage_unpin(const tern__storage *storage)
{
    if (storage->deferred)
        tern__deferred_unpin(storage);
}

/* Bytes [offset, offset + bytes) of any storage into `to`. Those of a deferred one that nobody has pinned are made there if all of
 * it is asked for: they need no pages of their own. */
tern_status tern__storage_copy(const tern__storage *storage, size_t offset, size_t bytes, void *to);

/* Pins it for good: its address was given away. */
tern_status tern__storage_hold(const tern__storage *storage);

#endif
