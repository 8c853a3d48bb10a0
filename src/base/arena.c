/* arena.c - a bump allocator: chunks in a list, the newest one is cut from the front. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"

enum { ARENA_ALIGN = 16, FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 1 << 20 };

struct tern__arena_chunk {
    tern__arena_chunk *older;
    size_t bytes; /* of data */
    alignas(ARENA_ALIGN) char data[];
};

void tern__arena_init(tern__arena *arena, size_t chunk_bytes)
{
    *arena = (tern__arena){.chunk_bytes = chunk_bytes != 0 ? chunk_bytes : FIRST_CHUNK};
}

/* A chunk of its own for `need` bytes or more becomes the newest. */
static bool add_chunk(tern__arena *arena, size_t need)
{
    size_t bytes = need > arena->chunk_bytes ? need : arena->chunk_bytes;
    size_t total;
    if (!tern__size_round_up(bytes, ARENA_ALIGN, &bytes) ||
        !tern__size_add(bytes, sizeof(tern__arena_chunk), &total))
        return false;
    tern__arena_chunk *chunk = tern__alloc(total);
    if (chunk == NULL)
        return false;
    chunk->bytes = bytes;
    chunk->older = arena->chunks;
    arena->chunks = chunk;
    arena->next = chunk->data;
    arena->end = chunk->data + bytes;
    if (arena->chunk_bytes < LARGEST_CHUNK)
        arena->chunk_bytes *= 2;
    return true;
}

void *tern__arena_alloc(tern__arena *arena, size_t bytes)
{
    size_t need;
    if (!tern__size_round_up(bytes != 0 ? bytes : 1, ARENA_ALIGN, &need))
        return NULL;
    if (need > (size_t)(arena->end - arena->next) && !add_chunk(arena, need))
        return NULL;
    void *block = arena->next;
    arena->next += need;
    return block;
}

void *tern__arena_alloc_zero(tern__arena *arena, size_t count, size_t bytes_each)
{
    size_t bytes;
    if (!tern__size_mul(count, bytes_each, &bytes))
        return NULL;
    void *block = tern__arena_alloc(arena, bytes);
    if (block != NULL)
        memset(block, 0, bytes);
    return block;
}

char *tern__arena_strndup(tern__arena *arena, const char *text, size_t length)
{
    size_t bytes;
    if (!tern__size_add(length, 1, &bytes))
        return NULL;
    char *copy = tern__arena_alloc(arena, bytes);
    if (copy == NULL)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void tern__arena_reset(tern__arena *arena)
{
    tern__arena_chunk *kept = NULL;
    for (tern__arena_chunk *chunk = arena->chunks, *older; chunk != NULL; chunk = older) {
        older = chunk->older;
        tern__arena_chunk *dropped = chunk;
        if (kept == NULL || chunk->bytes > kept->bytes) {
            dropped = kept;
            kept = chunk;
        }
        tern__free(dropped);
    }
    arena->chunks = kept;
    arena->next = kept != NULL ? kept->data : NULL;
    arena->end = kept != NULL ? kept->data + kept->bytes : NULL;
    if (kept != NULL)
        kept->older = NULL;
}

void tern__arena_free(tern__arena *arena)
{
    for (tern__arena_chunk *chunk = arena->chunks, *older; chunk != NULL; chunk = older) {
        older = chunk->older;
        tern__free(chunk);
    }
    arena->chunks = NULL;
    arena->next = arena->end = NULL;
}
