/* name_set.h - sets of names that come from files and texts: each is found by hash, and nobody can prepare names that collide. */
#ifndef TERN_BASE_NAME_SET_H
#define TERN_BASE_NAME_SET_H

#include <stddef.h>
#include <stdint.h>

#include <tern/status.h>

#define TERN__NO_NUMBER UINT32_MAX /* what graph/graph.h calls TERN__NO_ID */

struct tern__names_entry {
    const char *name; /* NULL: free */
    uint32_t length, number;
};

/* A set of names, each with a number. Names are not copied. Zeroed = empty. */
typedef struct tern__names {
    struct tern__names_entry *entries;
    size_t capacity, count;
} tern__names;

/* Adds `name` and leaves TERN__NO_NUMBER in *before; or, if it is there already, leaves the number it was
 * added with. */
tern_status tern__names_add(tern__names *names, const char *name, size_t length, uint32_t number,
                            uint32_t *before);
uint32_t tern__names_find(const tern__names *names, const char *name, size_t length); /* or TERN__NO_NUMBER */
void tern__names_free(tern__names *names);

#endif
