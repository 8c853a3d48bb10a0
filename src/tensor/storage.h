/* storage.h - a reference-counted block of bytes that tensors share. */
#ifndef TERN_TENSOR_STORAGE_H
#define TERN_TENSOR_STORAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/pool.h>
#include <tern/status.h>

#include "base/watch.h"

typedef struct tern__storage {
    _Atomic(uint32_t) refs;    /* atomic: storages travel between contexts and through DLPack */
    bool read_only : 1;        /* mapped without write permission, or imported as read-only */
    bool frozen : 1;           /* data of a constant: no tensor that shares it may be written */
    bool exposed : 1;          /* others were given its address and may write without saying so */
    bool borrowed : 1;         /* `host` belongs to somebody else; `drop` tells them */
    bool inline_header : 1;    /* this header and `host` are one block of the pool */
    bool deferred : 1;         /* `host` has the data only while it is pinned (deferred.h) */
    _Atomic(bool) has_derived; /* something is kept with it (derived.h) */
    size_t bytes;
    void *host; /* 64-byte aligned when owned; borrowed and mapped blocks as they come */
    /* one more with every in-place write; no two storages of a process ever have the same */
    uint64_t version;
    void (*drop)(void *user, void *host, size_t bytes); /* called when the last reference goes; or NULL */
    union {
        tern_pool *pool; /* not borrowed: owner of `host`; NULL is the heap */
        void *drop_user; /* borrowed: for `drop` */
    };
    /* Kept by graph/node.h: handles of the owning context that share it and have pending readers (frozen storages,
     * which travel between contexts and are never written, keep none), and the write into it that is recorded but has not run. */
    struct tern_tensor *tensors;
    struct tern__node *pending_write;
} tern__storage;

/* A block of the pool (NULL: of the heap), aligned to 64; contents undefined. The pool outlives the
 * storage. */
#define tern__storage_create(pool, bytes, key, out) \
    tern__storage_create_at((pool), (bytes), (key), (out), TERN__HERE)
tern_status tern__storage_create_at(tern_pool *pool, size_t bytes, uint64_t key, tern__storage **out,
                                    const tern__call_site *site);

/* The same, all bytes 0. Pages that come fresh from the system are not touched: they are zero already. */
#define tern__storage_create_zero(pool, bytes, out) \
    tern__storage_create_zero_at((pool), (bytes), (out), TERN__HERE)
tern_status tern__storage_create_zero_at(tern_pool *pool, size_t bytes, tern__storage **out,
                                         const tern__call_site *site);

/* Wraps memory of the caller's; `drop` may be NULL. On failure nothing is dropped. Without bytes the memory
 * may be NULL; the storage's `host` is not, even then. */
tern_status tern__storage_borrow(void *host, size_t bytes, bool read_only,
                                 void (*drop)(void *user, void *host, size_t bytes), void *drop_user,
                                 tern__storage **out);

/* Maps [offset, offset+bytes) of a file read-only (or copy-on-write); only the pages touched are read. `host`
 * is aligned as `offset` is. TERN_IO with the file's name if it is shorter than that, TERN_NOT_FOUND if there
 * is none. A file that somebody cuts short while it is mapped raises SIGBUS when the lost part is touched:
 * files that others rewrite in place should be read, not mapped (tern's own writers replace files by
 * renaming). */
tern_status tern__storage_map_file(const char *path, uint64_t offset, size_t bytes, bool writable_copy,
                                   tern__storage **out);

/* The same of a file that is open; it may be closed afterwards. */
struct tern__file;
tern_status tern__storage_map_open(const struct tern__file *file, uint64_t offset, size_t bytes,
                                   bool writable_copy, tern__storage **out);

/* For whoever watches memory: its data are about to be read or written. */
static inline void tern__storage_note_use(const tern__storage *storage)
{
    tern__watch_used(storage->inline_header ? (const void *)storage : storage->host);
}

/* Any thread. */
void tern__storage_retain(tern__storage *storage);
void tern__storage_release(tern__storage *storage); /* NULL is fine */

#endif
