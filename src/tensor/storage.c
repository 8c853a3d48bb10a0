/* storage.c - where the bytes of tensors come from: a pool, the heap, the caller, or a mapped file. */
#include "tensor/storage.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "tensor/derived.h"
#include "base/file.h"
#include "tensor/pool.h"

/* A small block carries its storage header in front: one pool operation instead of two allocations. For
 * larger blocks the header is apart, because it would push sizes such as 1 MiB into the next class. */
enum { HEADER_BYTES = 64, INLINE_MAX = 2048 };

_Static_assert(sizeof(tern__storage) <= HEADER_BYTES, "the header fits in front of a 64-byte aligned block");
_Static_assert(HEADER_BYTES % TERN__ALIGN == 0, "data after the header stays aligned");

/* On failure `*out` stays as it is: NULL. */
static tern_status get_block(tern_pool *pool, size_t bytes, uint64_t key, void **out, bool *zero,
                             const tern__call_site *site)
{
    *zero = false;
    if (pool) {
        TERN_TRY(tern__pool_get_at(pool, bytes, key, out, zero, site));
        tern__pool_retain(pool);
        return TERN_OK;
    }
    void *block = tern__alloc_aligned_at(bytes, TERN__ALIGN, site);
    if (!block)
        return tern__out_of_memory(bytes);
    *out = block;
    return TERN_OK;
}

static void put_block(tern_pool *pool, void *block)
{
    if (pool) {
        tern_pool_put(pool, block);
        tern_pool_destroy(pool); /* our reference */
    } else {
        tern__free(block);
    }
}

/* Versions of different storages are 2^32 writes apart, so that one names the bytes that a device has a copy of. */
static void header_init(tern__storage *storage, void *host, size_t bytes)
{
    static _Atomic(uint64_t) made;
    const uint64_t number = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1;
    *storage = (tern__storage){.bytes = bytes, .host = host, .version = number << 32};
    atomic_init(&storage->refs, 1);
}

/* `*zero`: what is there reads as zeros. */
static tern_status create(tern_pool *pool, size_t bytes, uint64_t key, tern__storage **out, bool *zero,
                          const tern__call_site *site)
{
    tern__storage *storage = NULL;
    void *block = NULL;
    if (bytes <= INLINE_MAX) {
        tern_status status = get_block(pool, bytes + HEADER_BYTES, key, &block, zero, site);
        if (!block)
            return status;
        storage = block;
        header_init(storage, (char *)block + HEADER_BYTES, bytes);
        storage->inline_header = true;
    } else {
        storage = tern__alloc_at(sizeof *storage, site);
        if (!storage)
            return tern__out_of_memory(sizeof *storage);
        tern_status status = get_block(pool, bytes, key, &block, zero, site);
        if (!block) {
            tern__free(storage);
            return status;
        }
        header_init(storage, block, bytes);
    }
    storage->pool = pool;
    *out = storage;
    return TERN_OK;
}

tern_status tern__storage_create_at(tern_pool *pool, size_t bytes, uint64_t key, tern__storage **out,
                                    const tern__call_site *site)
{
    bool zero;
    return create(pool, bytes, key, out, &zero, site);
}

tern_status tern__storage_create_zero_at(tern_pool *pool, size_t bytes, tern__storage **out,
                                         const tern__call_site *site)
{
    bool zero;
    TERN_TRY(create(pool, bytes, 0, out, &zero, site));
    if (!zero)
        memset((*out)->host, 0, bytes);
    return TERN_OK;
}

tern_status tern__storage_borrow(void *host, size_t bytes, bool read_only,
                                 void (*drop)(void *user, void *host, size_t bytes), void *drop_user,
                                 tern__storage **out)
{
    static _Alignas(TERN__ALIGN) char nothing[TERN__ALIGN];
    TERN__FAIL_IF(!host && bytes > 0, TERN_INVALID_ARGUMENT, "borrow: the memory is NULL");
    tern__storage *storage = tern__alloc(sizeof *storage);
    if (!storage)
        return tern__out_of_memory(sizeof *storage);
    header_init(storage, host ? host : nothing, bytes);
    storage->read_only = read_only;
    storage->borrowed = true;
    storage->drop = drop;
    storage->drop_user = drop_user;
    *out = storage;
    return TERN_OK;
}

/* ---- mapped files -------------------------------------------------------------------------------------- */

/* The mapping starts on a page, the data somewhere inside it. */
static void unmap(void *user, void *host, size_t bytes)
{
    (void)user;
    size_t delta = (uintptr_t)host & (tern__page_size() - 1);
    munmap((char *)host - delta, bytes + delta);
}

tern_status tern__storage_map_open(const tern__file *file, uint64_t offset, size_t bytes, bool writable_copy,
                                   tern__storage **out)
{
    TERN__FAIL_IF(!tern__range_fits(offset, bytes, file->bytes), TERN_IO,
                  "%s: the file has %llu bytes, but %zu bytes from %llu on are needed: it is cut short",
                  file->path, (unsigned long long)file->bytes, bytes, (unsigned long long)offset);
    if (bytes == 0)
        return tern__storage_borrow(NULL, 0, !writable_copy, NULL, NULL,
                                    out); /* a mapping cannot have 0 bytes */

    size_t delta = (size_t)(offset & (tern__page_size() - 1)), length;
    TERN__FAIL_IF(!tern__size_add(bytes, delta, &length), TERN_OVERFLOW, "%s: %zu bytes cannot be mapped",
                  file->path, bytes);
    int protection = writable_copy ? PROT_READ | PROT_WRITE : PROT_READ;
    char *pages = mmap(NULL, length, protection, writable_copy ? MAP_PRIVATE : MAP_SHARED, file->fd,
                       (off_t)(offset - delta));
    TERN__FAIL_IF(pages == MAP_FAILED, TERN_IO, "%s: cannot map %zu bytes: %s", file->path, length,
                  strerror(errno));
    tern_status status = tern__storage_borrow(pages + delta, bytes, !writable_copy, unmap, NULL, out);
    if (status != TERN_OK)
        munmap(pages, length);
    return status;
}

tern_status tern__storage_map_file(const char *path, uint64_t offset, size_t bytes, bool writable_copy,
                                   tern__storage **out)
{
    tern__file file;
    TERN_TRY(tern__file_open(path, &file));
    tern_status status = tern__storage_map_open(&file, offset, bytes, writable_copy, out);
    tern__file_close(&file); /* the mapping stays */
    return status;
}

/* ---- reference counts ---------------------------------------------------------------------------------- */

void tern__storage_retain(tern__storage *storage)
{
    atomic_fetch_add_explicit(&storage->refs, 1, memory_order_relaxed);
}

void tern__storage_release(tern__storage *storage)
{
    if (!storage)
        return;
    /* A reference that is the only one cannot be joined by another, so it goes without a locked operation.
     * Acquire: what other holders wrote happens before the block is reused. */
    if (atomic_load_explicit(&storage->refs, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&storage->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (TERN__UNLIKELY(atomic_load_explicit(&storage->has_derived, memory_order_acquire)))
        tern__derived_drop(storage);
    if (storage->inline_header) {
        put_block(storage->pool, storage);
        return;
    }
    if (storage->drop)
        storage->drop(storage->drop_user, storage->host, storage->bytes);
    else if (!storage->borrowed)
        put_block(storage->pool, storage->host);
    tern__free(storage);
}
