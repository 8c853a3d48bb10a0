/* alloc.h - all memory of the library comes from here, so that one gate can refuse it and one counter sees
 * it. */
#ifndef TERN_BASE_ALLOC_H
#define TERN_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include <tern/alloc.h>

enum { TERN__ALIGN = 64 }; /* a cache line; every tensor buffer starts on one */

/* NULL when refused; the caller reports it (tern__out_of_memory). Blocks are aligned to 16 bytes.
 * tern__alloc of 0 bytes returns a unique pointer that must be freed. */
void *tern__alloc(size_t bytes);
void *tern__alloc_zero(size_t count, size_t bytes_each);   /* checks count * bytes_each */
void *tern__realloc(void *block, size_t bytes);            /* on failure `block` stays valid */
void *tern__alloc_aligned(size_t bytes, size_t alignment); /* a power of two >= 16; free with tern__free */
void tern__free(void *block);                              /* NULL is fine */

/* Grows the array `*items` of `bytes_each` so that it holds at least `need` items; doubles capacity.
 * false: out of memory, nothing changed. */
bool tern__grow(void **items, size_t *capacity, size_t need, size_t bytes_each);

char *tern__strdup(const char *text);
char *tern__strndup(const char *text, size_t length);

/* Whole pages straight from the system, zeroed, for blocks that are kept and reused. `huge` asks for
 * transparent huge pages; from 2 MiB on the block then starts at a multiple of 2 MiB. `bytes` is a multiple
 * of the page size, not 0. NULL when refused. */
void *tern__pages_map(size_t bytes, bool huge);
void tern__pages_unmap(void *pages, size_t bytes); /* exactly what one tern__pages_map gave; NULL is fine */
/* Gives the whole physical pages inside [start, start+bytes) back; their addresses stay valid and read as
 * zero. Parts of pages at the ends are left alone. */
void tern__pages_discard(void *start, size_t bytes);
size_t tern__page_size(void);

#endif
