/* gate.h - allocation gates: one that refuses the Nth allocation, for tests that walk a program through all of them, and one that
 * refuses all; and how many blocks there are, which says whether the walk left any behind. Any thread may allocate. */
#ifndef TERN_TESTS_GATE_H
#define TERN_TESTS_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/alloc.h>

typedef struct gate {
    _Atomic long countdown; /* the allocation that fails; counts down */
    bool for_ever;          /* and all after it */
    _Atomic bool fired;
} gate;

static inline bool gate_allow(void *user, size_t size)
{
    (void)size;
    gate *g = user;
    if (g->for_ever && atomic_load(&g->fired))
        return false;
    if (atomic_fetch_sub(&g->countdown, 1) != 1)
        return true;
    atomic_store(&g->fired, true);
    return false;
}

static inline bool gate_refuse(void *user, size_t size)
{
    (void)user, (void)size;
    return false;
}

/* Of the library's, anywhere. */
static inline uint64_t live_blocks(void)
{
    tern_alloc_stats stats;
    tern_alloc_get_stats(&stats);
    return stats.allocations - stats.frees;
}

#endif
