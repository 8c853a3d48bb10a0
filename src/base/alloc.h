/* alloc.h - all memory of the library comes from here, so that one gate can refuse it and one counter sees
 * it. */
#ifndef TERN_BASE_ALLOC_H
#define TERN_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include <tern/alloc.h>

#include "base/watch.h"

enum { TERN__ALIGN = 64 }; /* a cache line; every tensor buffer starts on one */

/* NULL when refused; the caller reports it (tern__out_of_memory). Blocks are aligned to 16 bytes.
 * tern__alloc of 0 bytes returns a unique pointer that must be freed.
 *
 * These are macros over the functions below, which are told where the call stands. */
#define tern__alloc(bytes) tern__alloc_at((bytes), TERN__HERE)
#define tern__alloc_zero(count, bytes_each) \
    tern__alloc_zero_at((count), (bytes_each), TERN__HERE) /* checks count * bytes_each */
#define tern__realloc(block, bytes) \
    tern__realloc_at((block), (bytes), TERN__HERE) /* on failure `block` stays valid */
#define tern__alloc_aligned(bytes, alignment) \
    tern__alloc_aligned_at((bytes), (alignment), TERN__HERE) /* a power of two >= 16; free with tern__free */
void tern__free(void *block);                                /* NULL is fine */

/* Grows the array `*items` of `bytes_each` so that it holds at least `need` items; doubles capacity.
 * false: out of memory, nothing changed. */
#define tern__grow(items, capacity, need, bytes_each) \
    tern__grow_at((items), (capacity), (need), (bytes_each), TERN__HERE)

#define tern__strdup(text) tern__strdup_at((text), TERN__HERE)
#define tern__strndup(text, length) tern__strndup_at((text), (length), TERN__HERE)

/* Whole pages straight from the system, zeroed, for blocks that are kept and reused. `huge` asks for
 * transparent huge pages; from 2 MiB on the block then starts at a multiple of 2 MiB. `bytes` is a multiple
 * of the page size, not 0. NULL when refused. */
#define tern__pages_map(bytes, huge) tern__pages_map_at((bytes), (huge), TERN__WATCH_PAGES, TERN__HERE)
#define tern__pages_unmap(pages, bytes) \
    tern__pages_unmap_as((pages), (bytes), TERN__WATCH_PAGES) /* exactly what one map gave; NULL is fine */

/* The same for pages that others cut into blocks, which are what is in use. */
#define tern__region_map(bytes, huge) tern__pages_map_at((bytes), (huge), TERN__WATCH_REGION, TERN__HERE)
#define tern__region_unmap(pages, bytes) tern__pages_unmap_as((pages), (bytes), TERN__WATCH_REGION)

void *tern__alloc_at(size_t bytes, const tern__call_site *site);
void *tern__alloc_zero_at(size_t count, size_t bytes_each, const tern__call_site *site);
void *tern__realloc_at(void *block, size_t bytes, const tern__call_site *site);
void *tern__alloc_aligned_at(size_t bytes, size_t alignment, const tern__call_site *site);
bool tern__grow_at(void **items, size_t *capacity, size_t need, size_t bytes_each,
                   const tern__call_site *site);
char *tern__strdup_at(const char *text, const tern__call_site *site);
char *tern__strndup_at(const char *text, size_t length, const tern__call_site *site);
void *tern__pages_map_at(size_t bytes, bool huge, tern__watch_kind kind, const tern__call_site *site);
void tern__pages_unmap_as(void *pages, size_t bytes, tern__watch_kind kind);

/* Bytes of all pages, or of all regions, that are mapped now. */
uint64_t tern__pages_mapped(tern__watch_kind kind);

/* Gives the whole physical pages inside [start, start+bytes) back; their addresses stay valid and read as
 * zero. Parts of pages at the ends are left alone. */
void tern__pages_discard(void *start, size_t bytes);
/* Has the system get the pages that [start, start+bytes) lies in, as a first write to each would, but nothing in them changes. A hint:
 * where a system knows no such thing, pages come when they are written. */
void tern__pages_populate(void *start, size_t bytes);
size_t tern__page_size(void);
enum { TERN__HUGE_PAGE = 2 << 20 }; /* bytes, and where it may begin */

#endif
