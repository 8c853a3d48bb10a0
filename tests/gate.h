/* gate.h - an allocation gate that refuses the Nth allocation, for tests that walk a program through all of them. */
#ifndef TERN_TESTS_GATE_H
#define TERN_TESTS_GATE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gate {
    long countdown; /* the allocation that fails; counts down */
    bool for_ever;  /* and all after it */
    bool fired;
} gate;

static inline bool gate_allow(void *user, size_t size)
{
    (void)size;
    gate *g = user;
    if (g->fired && g->for_ever)
        return false;
    if (--g->countdown > 0 || g->fired)
        return true;
    g->fired = true;
    return false;
}

#endif
