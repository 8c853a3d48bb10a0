/* tree.h - trees that are kept in an array, for the frames of profiles and of memory. */
#ifndef TERN_MEASURE_TREE_H
#define TERN_MEASURE_TREE_H

#include <stddef.h>

/* The first member of each branch, whatever else it has. -1: none. */
typedef struct tern__links {
    int parent, first_child, next;
} tern__links;

static inline tern__links *tern__links_of(void *branches, size_t branch_bytes, int i)
{
    return (tern__links *)((char *)branches + (size_t)i * branch_bytes);
}

/* Links branch i below `parent` (-1: it is a root), before the children that are there. */
static inline void tern__tree_hang(void *branches, size_t branch_bytes, int i, int parent)
{
    tern__links *own = tern__links_of(branches, branch_bytes, i);
    *own = (tern__links){.parent = parent, .first_child = -1, .next = -1};
    if (parent < 0)
        return;
    tern__links *above = tern__links_of(branches, branch_bytes, parent);
    own->next = above->first_child;
    above->first_child = i;
}

/* The next one of a walk that sees parents first; -1: that was the last below its root. */
static inline int tern__tree_next(void *branches, size_t branch_bytes, int i)
{
    const tern__links *at = tern__links_of(branches, branch_bytes, i);
    if (at->first_child >= 0)
        return at->first_child;
    while (at->next < 0 && at->parent >= 0)
        at = tern__links_of(branches, branch_bytes, at->parent);
    return at->next;
}

#endif
