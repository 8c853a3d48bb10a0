/* name_set.c - open addressing over names where they are. */
#include "base/name_set.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/status.h"

/* Where the name is, or the free place where it belongs. */
static struct tern__names_entry *look_up(const tern__names *names, const char *name, size_t length)
{
    size_t mask = names->capacity - 1, at = (size_t)tern__hash_foreign(name, length) & mask;
    struct tern__names_entry *e = &names->entries[at];
    while (e->name && (e->length != length || memcmp(e->name, name, length) != 0)) {
        at = (at + 1) & mask;
        e = &names->entries[at];
    }
    return e;
}

static tern_status grow(tern__names *names)
{
    tern__names larger = {.capacity = names->capacity ? names->capacity : 8};
    if (!tern__size_mul(larger.capacity, 2, &larger.capacity))
        return tern__out_of_memory(SIZE_MAX);
    larger.entries = tern__alloc_zero(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return tern__out_of_memory(larger.capacity * sizeof *larger.entries);
    struct tern__names_entry *old = names->entries;
    size_t n = names->capacity;
    names->entries = larger.entries;
    names->capacity = larger.capacity;
    for (size_t i = 0; i < n; i++)
        if (old[i].name)
            *look_up(names, old[i].name, old[i].length) = old[i];
    tern__free(old);
    return TERN_OK;
}

tern_status tern__names_add(tern__names *names, const char *name, size_t length, uint32_t number,
                            uint32_t *before)
{
    if (names->count >= names->capacity / 2)
        TERN_TRY(grow(names));
    struct tern__names_entry *e = look_up(names, name, length);
    *before = e->name ? e->number : TERN__NO_NUMBER;
    if (!e->name) {
        *e = (struct tern__names_entry){.name = name, .length = (uint32_t)length, .number = number};
        names->count++;
    }
    return TERN_OK;
}

uint32_t tern__names_find(const tern__names *names, const char *name, size_t length)
{
    if (names->count == 0)
        return TERN__NO_NUMBER;
    const struct tern__names_entry *e = look_up(names, name, length);
    return e->name ? e->number : TERN__NO_NUMBER;
}

void tern__names_free(tern__names *names)
{
    tern__free(names->entries);
    *names = (tern__names){0};
}
