/* arena.h - a bump allocator for things that die together (a captured graph, a plan). One thread at a
 * time. */
#ifndef TERN_BASE_ARENA_H
#define TERN_BASE_ARENA_H

#include <stddef.h>

typedef struct tern__arena_chunk tern__arena_chunk;

typedef struct tern__arena {
    tern__arena_chunk *chunks; /* newest first */
    char *next, *end;          /* free space of the newest chunk */
    size_t chunk_bytes;        /* size of the next chunk */
} tern__arena;

/* No allocation happens until the first tern__arena_alloc. `chunk_bytes` 0 = 16 KiB; chunks double up to 1
 * MiB. */
void tern__arena_init(tern__arena *arena, size_t chunk_bytes);

/* `bytes` aligned to 16; NULL when out of memory (what was allocated before stays valid). */
void *tern__arena_alloc(tern__arena *arena, size_t bytes);
void *tern__arena_alloc_zero(tern__arena *arena, size_t count, size_t bytes_each); /* checked product */
char *tern__arena_strndup(tern__arena *arena, const char *text, size_t length);

/* Forgets everything but keeps the largest chunk for reuse. */
void tern__arena_reset(tern__arena *arena);

/* Gives all memory back; the arena may be used again. */
void tern__arena_free(tern__arena *arena);

#endif
