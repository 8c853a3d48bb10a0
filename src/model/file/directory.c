/* directory.c - finds metadata and tensors by name: open addressing over the names where they are. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "model/file/model_file.h"

struct tern__directory {
    const char *const *first;
    size_t stride, mask;
    uint32_t slots[]; /* (mask + 1) number + 1 of an item; 0 = free */
};

static const char *name_at(const struct tern__directory *names, size_t i)
{
    return *(const char *const *)(const void *)((const char *)(const void *)names->first + i * names->stride);
}

/* The slot that holds `name`, or the free one where it belongs. */
static uint32_t *slot_of(struct tern__directory *names, const char *name)
{
    size_t at = (size_t)tern__hash(name, strlen(name), 0) & names->mask;
    while (names->slots[at] && strcmp(name_at(names, names->slots[at] - 1), name) != 0)
        at = (at + 1) & names->mask;
    return &names->slots[at];
}

tern_status tern__directory_create(const char *path, const char *what, const char *const *first,
                                   size_t stride, size_t count, struct tern__directory **out)
{
    size_t room = 16;
    while (room < count * 2)
        room *= 2;
    struct tern__directory *names = tern__alloc_zero(1, sizeof *names + room * sizeof names->slots[0]);
    if (!names)
        return tern__out_of_memory(room * sizeof names->slots[0]);
    names->first = first;
    names->stride = stride;
    names->mask = room - 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t *slot = slot_of(names, name_at(names, i));
        if (*slot) {
            tern_status status =
                tern__fail(TERN_FORMAT, "%s: there are two %s called '%s'", path, what, name_at(names, i));
            tern__free(names);
            return status;
        }
        *slot = (uint32_t)i + 1;
    }
    *out = names;
    return TERN_OK;
}

bool tern__directory_find(const struct tern__directory *names, const char *name, int *out)
{
    uint32_t found = *slot_of((struct tern__directory *)(uintptr_t)names, name);
    if (found)
        *out = (int)found - 1;
    return found != 0;
}

void tern__directory_free(struct tern__directory *names)
{
    tern__free(names);
}
