/* npz.h - NumPy's .npz: a zip archive whose members are .npy files. The key of an array is its member's name
 * without ".npy"; a key is never used as a path.
 *
 * Archives are trusted as little as .npy files are. A member must be exactly a header and its array, so what
 * it unpacks to is bounded by a shape that is known before anything is allocated. */
#ifndef TERN_TENSOR_NPZ_H
#define TERN_TENSOR_NPZ_H

#include "tensor/npy.h"

typedef struct tern__npz tern__npz;

/* Maps the archive and reads its directory. Names that are empty, contain control characters or occur twice
 * are TERN_FORMAT. */
tern_status tern__npz_open(const char *path, tern__npz **out);

/* The same for an archive in memory, which must stay until the archive is closed and mapped arrays are
 * gone. */
tern_status tern__npz_open_memory(const char *who, const void *data, size_t bytes, tern__npz **out);

void tern__npz_close(tern__npz *npz); /* NULL is fine; arrays live on */

/* An open archive does not change: the functions below may be called by several threads at once. */
size_t tern__npz_count(const tern__npz *npz);
const char *tern__npz_name(const tern__npz *npz, size_t i); /* lives as long as the archive */
tern_status tern__npz_find(const tern__npz *npz, const char *name, size_t *out);

/* Type, order and size of an array without reading it. */
tern_status tern__npz_inspect(const tern__npz *npz, size_t i, tern__npy_header *out);

/* Copies an array into memory of the pool (NULL: the heap) and checks its CRC. Deflated members need zlib:
 * TERN_UNAVAILABLE in builds without it. */
tern_status tern__npz_read(const tern__npz *npz, size_t i, tern_pool *pool, tern__type *type,
                           tern__layout *layout, tern__storage **storage);

/* The array in place, read-only: nothing is read until it is touched, and no CRC is checked. TERN_UNSUPPORTED
 * if it is deflated, in the other byte order or not aligned to its elements: read those. Archives that tern
 * wrote can always be mapped. */
tern_status tern__npz_map(const tern__npz *npz, size_t i, tern__type *type, tern__layout *layout,
                          tern__storage **storage);

/* ---- writing ------------------------------------------------------------------------------------------- */

typedef struct tern__npz_item {
    const char *name; /* without ".npy" */
    const tern__type *type;
    const tern__layout *layout;
    const void *host; /* start of the storage */
} tern__npz_item;

/* Writes stored members, as numpy.savez does, each array aligned to 64 bytes in the file. Atomic: on failure
 * the old file is as it was. The same items give the same bytes. */
tern_status tern__npz_write(const char *path, size_t count, const tern__npz_item *items);

/* For tests: 64-bit records for every number from `zip64_from` on, instead of those that need them. */
tern_status tern__npz_write_from(const char *path, size_t count, const tern__npz_item *items,
                                 uint64_t zip64_from);

#endif
