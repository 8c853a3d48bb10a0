/* trim.h - whoever holds memory that it could give back: pools and caches. They put themselves on a list while they live, so that
 * one call reaches all of them when memory runs short. */
#ifndef TERN_BASE_TRIM_H
#define TERN_BASE_TRIM_H

#include <stddef.h>
#include <stdint.h>

/* Part of what it is about; zeroed until tern__trim_add. */
typedef struct tern__trimmable {
    struct tern__trimmable *next, *prev;
    void *self;
    size_t (*trim)(void *self, int level); /* as tern_pool_pressure; returns bytes given back. Any thread */
    uint64_t (*in_use)(void *self);        /* bytes of blocks handed out; NULL: it hands out none */
} tern__trimmable;

/* Any thread. What is on the list is not called any more once it was removed. */
void tern__trim_add(tern__trimmable *it);
void tern__trim_remove(tern__trimmable *it);

/* Everybody on the list; the bytes that all gave back, and how many were asked (or NULL). */
size_t tern__trim_all(int level, int *asked);
uint64_t tern__trim_in_use(void);

#endif
