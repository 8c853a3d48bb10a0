/* deferred.c - see deferred.h. The storage's addresses are reserved for all its life; pages behind them exist while it is pinned. */
#include "tensor/deferred.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct deferred {
    tern__source source;
    pthread_mutex_t lock; /* of what follows */
    uint32_t pins;
    bool held; /* one of the pins is for good */
} deferred;

/* Whole pages, at least one. */
static size_t mapped_bytes(size_t bytes)
{
    size_t mask = tern__page_size() - 1;
    return bytes ? (bytes + mask) & ~mask : mask + 1;
}

static void drop(void *user, void *host, size_t bytes)
{
    deferred *d = user;
    tern__pages_unmap(host, mapped_bytes(bytes));
    if (d->source.drop)
        d->source.drop(d->source.user);
    pthread_mutex_destroy(&d->lock);
    tern__free(d);
}

tern_status tern__storage_defer(size_t bytes, const tern__source *source, tern__storage **out)
{
    TERN__FAIL_IF(bytes > PTRDIFF_MAX, TERN_OVERFLOW,
                  "a constant of %zu bytes does not fit the address space", bytes);
    deferred *d = tern__alloc_zero(1, sizeof *d);
    void *pages = d ? tern__pages_map(mapped_bytes(bytes), true) : NULL;
    if (!pages) {
        tern__free(d);
        return tern__out_of_memory(bytes);
    }
    d->source = *source;
    tern_status status = pthread_mutex_init(&d->lock, NULL) == 0
                             ? tern__storage_borrow(pages, bytes, true, drop, d, out)
                             : tern__out_of_memory(sizeof *d);
    if (status != TERN_OK) {
        tern__pages_unmap(pages, mapped_bytes(bytes));
        tern__free(d);
        return status;
    }
    (*out)->deferred = true;
    (*out)->frozen = true;
    return TERN_OK;
}

tern_status tern__deferred_pin(const tern__storage *storage)
{
    deferred *d = storage->drop_user;
    pthread_mutex_lock(&d->lock);
    tern_status status =
        d->pins == 0 ? d->source.fill(d->source.user, 0, storage->host, storage->bytes) : TERN_OK;
    if (status == TERN_OK)
        d->pins++;
    else
        tern__pages_discard(storage->host, mapped_bytes(storage->bytes));
    pthread_mutex_unlock(&d->lock);
    return status;
}

void tern__deferred_unpin(const tern__storage *storage)
{
    deferred *d = storage->drop_user;
    pthread_mutex_lock(&d->lock);
    if (--d->pins == 0)
        tern__pages_discard(storage->host, mapped_bytes(storage->bytes));
    pthread_mutex_unlock(&d->lock);
}

size_t tern__deferred_step(const tern__storage *storage)
{
    return ((const deferred *)storage->drop_user)->source.step;
}

/* Can the source make just these bytes? */
static bool makes(const tern__storage *storage, size_t offset, size_t bytes)
{
    const size_t step = tern__deferred_step(storage);
    return (offset == 0 && bytes == storage->bytes) || (step > 0 && offset % step == 0 && bytes % step == 0);
}

tern_status tern__storage_copy(const tern__storage *storage, size_t offset, size_t bytes, void *to)
{
    if (storage->deferred && makes(storage, offset, bytes)) {
        deferred *d = storage->drop_user;
        pthread_mutex_lock(&d->lock);
        const bool fill = d->pins == 0;
        tern_status status = fill ? d->source.fill(d->source.user, offset, to, bytes) : TERN_OK;
        pthread_mutex_unlock(&d->lock);
        if (fill)
            return status;
    }
    TERN_TRY(tern__storage_pin(storage));
    memcpy(to, (const char *)storage->host + offset, bytes);
    tern__storage_unpin(storage);
    return TERN_OK;
}

tern_status tern__storage_hold(const tern__storage *storage)
{
    if (!storage->deferred)
        return TERN_OK;
    deferred *d = storage->drop_user;
    TERN_TRY(tern__deferred_pin(storage));
    pthread_mutex_lock(&d->lock);
    bool again = d->held;
    d->held = true;
    pthread_mutex_unlock(&d->lock);
    if (again)
        tern__deferred_unpin(storage);
    return TERN_OK;
}
