/* pool_small.c - the pool's slabs: one large block cut into equal small ones, and a bitmap of those that are
 * free.
 *
 * A bitmap gives blocks out in order of address, so that a slab in light use fills from one end, and costs
 * nothing inside the blocks. Slabs whose blocks are all back return to the regions, except the last of a
 * class. */
#include "tensor/pool_internal.h"

#include "base/alloc.h"
#include "base/status.h"

/* A slab holds about this many blocks, within [64 KiB, small_slab]. */
enum { SLAB_BLOCKS = 32, SLAB_LEAST = 64 * 1024 };

size_t tern__pool_slab_bytes(const tern_pool *pool, unsigned index, bool least)
{
    size_t block = tern__pool_class_bytes(index);
    size_t bytes = block * SLAB_BLOCKS;
    if (bytes < SLAB_LEAST)
        bytes = SLAB_LEAST;
    if (bytes > pool->options.small_slab)
        bytes = pool->options.small_slab;
    if (least || bytes < block)
        bytes = block;
    bytes = bytes / block * block; /* so that less than a unit is left over at the end */
    return (bytes + TERN__POOL_UNIT - 1) & ~(TERN__POOL_UNIT - 1);
}

/* ---- lists ---- */

static void list(tern_pool *pool, tern__pool_slab *slab)
{
    tern__pool_slab **first = &pool->partial[slab->class_index];
    slab->listed = true;
    slab->prev = NULL;
    slab->next = *first;
    if (*first != NULL)
        (*first)->prev = slab;
    *first = slab;
}

static void unlist(tern_pool *pool, tern__pool_slab *slab)
{
    slab->listed = false;
    if (slab->next != NULL)
        slab->next->prev = slab->prev;
    if (slab->prev != NULL)
        slab->prev->next = slab->next;
    else
        pool->partial[slab->class_index] = slab->next;
}

/* ---- slabs come and go ---- */

/* Makes every unit of the slab lead to it (kind SMALL), or to nothing (INSIDE). */
static void mark_units(tern_pool *pool, const tern__pool_slab *slab, uint8_t kind)
{
    for (size_t offset = 0; offset < slab->bytes; offset += TERN__POOL_UNIT) {
        tern__pool_unit *unit = tern__pool_unit_of(pool, slab->base + offset);
        unit->kind = kind;
        unit->class_index = slab->class_index;
        unit->region = slab->head->region;
        unit->small.slab = (tern__pool_slab *)slab;
        unit->small.tags = slab->tags + offset / TERN__POOL_LINE;
    }
}

static tern__pool_slab *describe(unsigned index, size_t bytes)
{
    size_t block = tern__pool_class_bytes(index), blocks = bytes / block, words = (blocks + 63) / 64;
    size_t lines = bytes / TERN__POOL_LINE;
    tern__pool_slab *slab =
        tern__alloc_zero(1, sizeof *slab + words * sizeof *slab->bits + lines * sizeof *slab->tags);
    if (slab == NULL)
        return NULL;
    slab->block_bytes = block;
    slab->bytes = bytes;
    slab->blocks = slab->free = (uint32_t)blocks;
    slab->class_index = (uint16_t)index;
    slab->bits = (uint64_t *)(slab + 1);
    slab->tags = (uint16_t *)(slab->bits + words);
    for (size_t i = 0; i < words; i++)
        slab->bits[i] = ~(uint64_t)0;
    if (blocks % 64 != 0)
        slab->bits[words - 1] = ((uint64_t)1 << blocks % 64) - 1;
    return slab;
}

tern__pool_result tern__pool_slab_add(tern_pool *pool, unsigned index, bool least)
{
    size_t bytes = tern__pool_slab_bytes(pool, index, least);
    tern__pool_unit *head = tern__pool_large_take(pool, bytes >> TERN__POOL_UNIT_SHIFT, 0);
    if (head == NULL)
        return TERN__POOL_NO_ROOM;
    tern__pool_slab *slab = describe(index, bytes);
    if (slab == NULL) {
        tern__pool_large_give(pool, head);
        return TERN__POOL_NO_MEMORY;
    }
    slab->head = head;
    slab->base = tern__pool_unit_address(pool, head);
    slab->all_next = pool->slabs;
    if (pool->slabs != NULL)
        pool->slabs->all_prev = slab;
    pool->slabs = slab;
    mark_units(pool, slab, TERN__POOL_SMALL);
    list(pool, slab);
    return TERN__POOL_TAKEN;
}

/* Of a slab whose blocks are all here. */
static void release(tern_pool *pool, tern__pool_slab *slab)
{
    unlist(pool, slab);
    if (slab->all_next != NULL)
        slab->all_next->all_prev = slab->all_prev;
    if (slab->all_prev != NULL)
        slab->all_prev->all_next = slab->all_next;
    else
        pool->slabs = slab->all_next;
    mark_units(pool, slab, TERN__POOL_INSIDE);
    pool->merges += slab->blocks > 1;
    slab->head->tag = 0;
    tern__pool_large_give(pool, slab->head);
    tern__free(slab);
}

void tern__pool_slabs_release(tern_pool *pool)
{
    for (tern__pool_slab *slab = pool->slabs, *next; slab != NULL; slab = next) {
        next = slab->all_next;
        if (slab->free == slab->blocks)
            release(pool, slab);
    }
}

void tern__pool_slabs_destroy(tern_pool *pool)
{
    for (tern__pool_slab *slab = pool->slabs, *next; slab != NULL; slab = next) {
        next = slab->all_next;
        tern__free(slab);
    }
    pool->slabs = NULL;
}

/* ---- blocks ---- */

bool tern__pool_slab_take(tern_pool *pool, unsigned index, tern__pool_cached *out)
{
    tern__pool_slab *slab = pool->partial[index];
    if (slab == NULL)
        return false;
    uint32_t word = slab->hint;
    while (slab->bits[word] == 0)
        word++;
    slab->hint = word;
    size_t block = (size_t)word * 64 + (unsigned)__builtin_ctzll(slab->bits[word]);
    slab->bits[word] &= slab->bits[word] - 1;
    if (--slab->free == 0)
        unlist(pool, slab);
    size_t offset = block * slab->block_bytes;
    *out = (tern__pool_cached){
        .block = slab->base + offset,
        .tag_at = &slab->tags[offset / TERN__POOL_LINE],
    };
    return true;
}

void tern__pool_slab_give(tern_pool *pool, tern__pool_slab *slab, void *block)
{
    size_t index = (size_t)((char *)block - slab->base) / slab->block_bytes;
    uint32_t word = (uint32_t)(index / 64);
    slab->bits[word] |= (uint64_t)1 << index % 64;
    if (word < slab->hint)
        slab->hint = word;
    slab->free++;
    if (!slab->listed)
        list(pool, slab);
    if (slab->free == slab->blocks && (slab->next != NULL || slab->prev != NULL))
        release(pool, slab);
}
