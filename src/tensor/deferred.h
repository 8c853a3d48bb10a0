/* deferred.h - constants whose data are made when somebody needs them, and let go when nobody does: weights that are read from a
 * file only to be packed. */
#ifndef TERN_TENSOR_DEFERRED_H
#define TERN_TENSOR_DEFERRED_H

#include "tensor/storage.h"

/* How to make the data: tern_constant_source says it. */
typedef struct tern__source {
    tern_status (*fill)(void *user, size_t offset, void *to, size_t bytes);
    void (*drop)(void *user);
    void *user;
    size_t step; /* of pieces that can be made, or 0 */
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

/* Bytes [offset, offset + bytes) of any storage into `to`. Those of a deferred one that nobody has pinned are made there if its
 * source can make them, or if all are asked for: they need no pages of their own. */
tern_status tern__storage_copy(const tern__storage *storage, size_t offset, size_t bytes, void *to);

/* The step of a deferred storage's source; 0: it is made whole. */
size_t tern__deferred_step(const tern__storage *storage);

/* Pins it for good: its address was given away. */
tern_status tern__storage_hold(const tern__storage *storage);

#endif
