/* gate.h - an allocation gate that refuses the Nth allocation, for tests that walk a program through all of them. Any thread may
 * allocate. */
#ifndef TERN_TESTS_GATE_H
#define TERN_TESTS_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

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

#endif
