/* pool_large.c - the pool's regions: taken from the system, split into blocks by best fit, merged again.
 *
 * Free blocks hang in bins by class, with a bitmap of the bins that are not empty, so that finding,
 * splitting and merging take a handful of steps whatever the size. Lengths of a block and of its predecessor
 * stand in the region's table (boundary tags, kept apart from the memory they describe). */
#include "tensor/pool_internal.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

/* Best fit looks at this many blocks of a bin; longer bins are the mark of a pool with plenty to choose
 * from. */
enum { LOOKS_MAX = 64, REGIONS_MAX = UINT16_MAX };

/* ---- units ---- */

tern__pool_unit *tern__pool_region_unit(const tern__pool_region *region, size_t index)
{
    uintptr_t address = (uintptr_t)region->base + (index << TERN__POOL_UNIT_SHIFT);
    size_t group = index & ~(size_t)(TERN__POOL_GROUP_UNITS - 1);
    return region->table + group + tern__pool_unit_slot(address);
}

static tern__pool_region *region_of(const tern_pool *pool, const tern__pool_unit *unit)
{
    return pool->regions[unit->region];
}

/* Undoes the rotation of tern__pool_unit_slot. */
static size_t unit_index(const tern__pool_region *region, const tern__pool_unit *unit)
{
    size_t mask = TERN__POOL_GROUP_UNITS - 1;
    size_t at = (size_t)(unit - region->table);
    size_t group = at & ~mask;
    uintptr_t start = (uintptr_t)region->base + (group << TERN__POOL_UNIT_SHIFT);
    return group + ((at - tern__pool_unit_slot(start)) & mask);
}

char *tern__pool_unit_address(const tern_pool *pool, const tern__pool_unit *unit)
{
    const tern__pool_region *region = region_of(pool, unit);
    return region->base + (unit_index(region, unit) << TERN__POOL_UNIT_SHIFT);
}

/* ---- bins ---- */

static void bin_insert(tern_pool *pool, tern__pool_unit *unit)
{
    unsigned bin = tern__pool_bin_of(unit->units);
    tern__pool_unit *next = pool->bins[bin];
    unit->kind = TERN__POOL_FREE;
    unit->link.prev = NULL;
    unit->link.next = next;
    if (next != NULL)
        next->link.prev = unit;
    pool->bins[bin] = unit;
    pool->bin_bits[bin / 64] |= (uint64_t)1 << bin % 64;
}

static void bin_remove(tern_pool *pool, tern__pool_unit *unit)
{
    unsigned bin = tern__pool_bin_of(unit->units);
    tern__pool_unit *next = unit->link.next, *prev = unit->link.prev;
    if (next != NULL)
        next->link.prev = prev;
    if (prev != NULL)
        prev->link.next = next;
    else
        pool->bins[bin] = next;
    if (pool->bins[bin] == NULL)
        pool->bin_bits[bin / 64] &= ~((uint64_t)1 << bin % 64);
}

/* The first bin from `bin` on that is not empty, or TERN__POOL_CLASSES. */
static unsigned bin_find(const tern_pool *pool, unsigned bin)
{
    unsigned words = sizeof pool->bin_bits / sizeof pool->bin_bits[0];
    if (bin >= TERN__POOL_CLASSES)
        return TERN__POOL_CLASSES;
    uint64_t bits = pool->bin_bits[bin / 64] & ~(uint64_t)0 << bin % 64;
    for (unsigned word = bin / 64;;) {
        if (bits != 0)
            return word * 64 + (unsigned)__builtin_ctzll(bits);
        if (++word == words)
            return TERN__POOL_CLASSES;
        bits = pool->bin_bits[word];
    }
}

/* The smallest block of the bin that holds `units`, or NULL. */
static tern__pool_unit *bin_best(const tern_pool *pool, unsigned bin, size_t units, uint16_t tag)
{
    tern__pool_unit *best = NULL;
    int looks = LOOKS_MAX;
    for (tern__pool_unit *unit = pool->bins[bin]; unit != NULL && looks-- > 0; unit = unit->link.next) {
        if (unit->units < units)
            continue;
        if (unit->units == units && (tag == 0 || unit->tag == tag))
            return unit;
        if (best == NULL || unit->units < best->units)
            best = unit;
    }
    return best;
}

/* ---- split and merge ---- */

/* Tells the block after `unit`, if there is one, how long `unit` is now. */
static void tell_next(const tern__pool_region *region, size_t index, const tern__pool_unit *unit)
{
    size_t next = index + unit->units;
    if (next < region->units)
        tern__pool_region_unit(region, next)->before = unit->units;
}

tern__pool_unit *tern__pool_large_take(tern_pool *pool, size_t units, uint16_t tag)
{
    unsigned bin = tern__pool_bin_of(units);
    tern__pool_unit *unit = bin_best(pool, bin, units, tag);
    if (unit == NULL) {
        bin = bin_find(pool, bin + 1);
        if (bin == TERN__POOL_CLASSES)
            return NULL;
        unit = bin_best(pool, bin, units, tag);
    }
    bin_remove(pool, unit);
    tern__pool_region *region = region_of(pool, unit);
    const size_t index = unit_index(region, unit);
    unit->zero = index >= region->given;
    if (index + units > region->given)
        region->given = (uint32_t)(index + units);
    if (unit->units > units) {
        tern__pool_unit *rest = tern__pool_region_unit(region, index + units);
        *rest = (tern__pool_unit){
            .units = unit->units - (uint32_t)units,
            .before = (uint32_t)units,
            .region = region->index,
            .tag = unit->tag,
        };
        unit->units = (uint32_t)units;
        tell_next(region, index + units, rest);
        bin_insert(pool, rest);
    }
    return unit;
}

void tern__pool_large_give(tern_pool *pool, tern__pool_unit *unit)
{
    const tern__pool_region *region = region_of(pool, unit);
    size_t index = unit_index(region, unit);
    size_t next_index = index + unit->units;
    if (next_index < region->units) {
        tern__pool_unit *next = tern__pool_region_unit(region, next_index);
        if (next->kind == TERN__POOL_FREE) {
            bin_remove(pool, next);
            next->kind = TERN__POOL_INSIDE;
            unit->units += next->units;
            pool->merges++;
        }
    }
    if (unit->before != 0) {
        tern__pool_unit *prev = tern__pool_region_unit(region, index - unit->before);
        if (prev->kind == TERN__POOL_FREE) {
            bin_remove(pool, prev);
            unit->kind = TERN__POOL_INSIDE;
            index -= unit->before;
            prev->units += unit->units;
            unit = prev;
            pool->merges++;
        }
    }
    tell_next(region, index, unit);
    bin_insert(pool, unit);
}

/* ---- the way from an address to its unit ---- */

/* Makes sure that the leaves for [base, base + bytes) exist; false: out of memory (those made stay). */
static bool leaves_make(tern_pool *pool, uintptr_t base, size_t bytes)
{
    uintptr_t last = (base + bytes - 1) >> TERN__POOL_LEAF_SHIFT;
    for (uintptr_t leaf = base >> TERN__POOL_LEAF_SHIFT; leaf <= last; leaf++) {
        if (atomic_load_explicit(&pool->root[leaf], memory_order_relaxed) != NULL)
            continue;
        tern__pool_leaf *made = tern__alloc_zero(1, sizeof *made);
        if (made == NULL)
            return false;
        atomic_store_explicit(&pool->root[leaf], made, memory_order_release);
    }
    return true;
}

static void groups_set(tern_pool *pool, const tern__pool_region *region, bool present)
{
    uintptr_t base = (uintptr_t)region->base;
    for (size_t offset = 0; offset < region->bytes; offset += TERN__POOL_GROUP) {
        uintptr_t address = base + offset;
        tern__pool_leaf *leaf =
            atomic_load_explicit(&pool->root[address >> TERN__POOL_LEAF_SHIFT], memory_order_relaxed);
        size_t index = (address >> TERN__POOL_GROUP_SHIFT) & (TERN__POOL_LEAF_GROUPS - 1);
        tern__pool_unit *group = present ? region->table + (offset >> TERN__POOL_UNIT_SHIFT) : NULL;
        atomic_store_explicit(&leaf->groups[index], group, memory_order_release);
    }
}

/* ---- regions ---- */

static bool region_is_free(const tern__pool_region *region)
{
    const tern__pool_unit *first = tern__pool_region_unit(region, 0);
    return first->kind == TERN__POOL_FREE && first->units == region->units;
}

/* How much to ask the system for when `need` bytes (whole pages) are missing: as much as is held already,
 * within [2 MiB, large_region], so that a pool doubles while it is young; and never beyond the cap. */
static size_t region_want(const tern_pool *pool, size_t need, size_t room)
{
    size_t want = pool->held > TERN__POOL_GROUP ? pool->held : TERN__POOL_GROUP;
    if (want > pool->options.large_region)
        want = pool->options.large_region;
    if (want < need)
        want = need;
    if (want > TERN__POOL_GROUP)
        want = (want + TERN__POOL_GROUP - 1) & ~(TERN__POOL_GROUP - 1);
    if (want > room)
        want = room;
    return want & ~(tern__page_size() - 1) & ~(TERN__POOL_UNIT - 1);
}

/* Pages that start on a multiple of 2 MiB. Huge pages usually come like that; others are cut out of more. */
static bool region_map(const tern_pool *pool, tern__pool_region *region)
{
    bool huge = !pool->options.no_huge_pages && region->bytes >= TERN__POOL_GROUP;
    for (size_t slack = huge ? 0 : TERN__POOL_GROUP;; slack = TERN__POOL_GROUP) {
        size_t bytes = region->bytes + slack;
        char *pages = tern__region_map(bytes, huge);
        if (pages == NULL)
            return false;
        size_t before = (0 - (uintptr_t)pages) & (TERN__POOL_GROUP - 1);
        if (before <= slack) {
            region->base = pages + before;
            region->mapped = pages;
            region->mapped_bytes = bytes;
            return true;
        }
        tern__region_unmap(pages, bytes);
    }
}

static void region_free(tern__pool_region *region)
{
    if (region->mapped != NULL) {
        TERN__POOL_UNPOISON(region->base, region->bytes);
        tern__region_unmap(region->mapped, region->mapped_bytes);
    }
    tern__pages_unmap(region->table, region->table_bytes);
    tern__free(region);
}

/* A region of `bytes` from the system, not known to the pool yet; NULL: out of memory. */
static tern__pool_region *region_make(tern_pool *pool, size_t bytes, size_t index)
{
    tern__pool_region *region = tern__alloc_zero(1, sizeof *region);
    if (region == NULL)
        return NULL;
    size_t page = tern__page_size();
    size_t groups = (bytes + TERN__POOL_GROUP - 1) >> TERN__POOL_GROUP_SHIFT;
    size_t table_bytes = groups * TERN__POOL_GROUP_UNITS * sizeof(tern__pool_unit);
    region->bytes = bytes;
    region->units = (uint32_t)(bytes >> TERN__POOL_UNIT_SHIFT);
    region->index = (uint16_t)index;
    region->table_bytes = (table_bytes + page - 1) & ~(page - 1);
    region->table = tern__pages_map(region->table_bytes, false);
    if (region->table == NULL || !region_map(pool, region) ||
        ((uintptr_t)region->base + bytes) >> TERN__POOL_ADDRESS_BITS != 0 ||
        !leaves_make(pool, (uintptr_t)region->base, bytes)) {
        region_free(region);
        return NULL;
    }
    return region;
}

/* An unused place in the list of regions; REGIONS_MAX: none can be had. */
static size_t region_slot(tern_pool *pool)
{
    for (size_t i = 0; i < pool->region_count; i++) {
        if (pool->regions[i] == NULL)
            return i;
    }
    size_t need = pool->region_count + 1;
    if (need > REGIONS_MAX ||
        !tern__grow((void **)&pool->regions, &pool->region_capacity, need, sizeof *pool->regions))
        return REGIONS_MAX;
    pool->regions[pool->region_count] = NULL;
    return pool->region_count++;
}

/* Bytes that may still be taken. */
static size_t cap_room(const tern_pool *pool)
{
    size_t cap = pool->options.cap_bytes;
    return cap == 0 ? SIZE_MAX : cap > pool->held ? cap - pool->held : 0;
}

tern_status tern__pool_region_add(tern_pool *pool, size_t bytes)
{
    size_t need, page = tern__page_size();
    if (!tern__size_round_up(bytes, page > TERN__POOL_UNIT ? page : TERN__POOL_UNIT, &need))
        return tern__out_of_memory(bytes);
    if (need > cap_room(pool))
        tern__pool_regions_trim(pool, 0);
    if (need > cap_room(pool))
        return tern__fail(TERN_LIMIT, "pool: %zu more bytes would exceed the cap of %zu (%zu held)", need,
                          pool->options.cap_bytes, pool->held);

    size_t index = region_slot(pool);
    if (index == REGIONS_MAX)
        return tern__out_of_memory(need);
    tern__pool_region *region = region_make(pool, region_want(pool, need, cap_room(pool)), index);
    /* Regions that lie idle, too small for this block, may be what the system lacks: they go back, and it is
     * asked once more, for no more than is needed. */
    if (region == NULL && tern__pool_regions_trim(pool, 0) > 0)
        region = region_make(pool, region_want(pool, need, need), index);
    if (region == NULL)
        return tern__out_of_memory(need);
    TERN__POOL_POISON(region->base, region->bytes);
    pool->regions[index] = region;
    pool->held += region->bytes;
    groups_set(pool, region, true);
    tern__pool_unit *first = tern__pool_region_unit(region, 0);
    *first = (tern__pool_unit){.units = region->units, .region = region->index};
    bin_insert(pool, first);
    return TERN_OK;
}

size_t tern__pool_regions_trim(tern_pool *pool, size_t keep)
{
    size_t free_bytes = 0, given = 0;
    for (unsigned bin = bin_find(pool, 0); bin < TERN__POOL_CLASSES; bin = bin_find(pool, bin + 1)) {
        for (const tern__pool_unit *unit = pool->bins[bin]; unit != NULL; unit = unit->link.next)
            free_bytes += (size_t)unit->units << TERN__POOL_UNIT_SHIFT;
    }
    for (size_t i = 0; i < pool->region_count && free_bytes > keep; i++) {
        tern__pool_region *region = pool->regions[i];
        if (region == NULL || !region_is_free(region))
            continue;
        bin_remove(pool, tern__pool_region_unit(region, 0));
        groups_set(pool, region, false);
        pool->regions[i] = NULL;
        pool->held -= region->bytes;
        free_bytes -= region->bytes;
        given += region->bytes;
        region_free(region);
    }
    return given;
}

void tern__pool_regions_destroy(tern_pool *pool)
{
    for (size_t i = 0; i < pool->region_count; i++) {
        if (pool->regions[i] != NULL)
            region_free(pool->regions[i]);
    }
    tern__free(pool->regions);
    for (size_t i = 0; i < TERN__POOL_ROOT_LEAVES; i++)
        tern__free(atomic_load_explicit(&pool->root[i], memory_order_relaxed));
}
