/* advice.h - finds what a record of memory recommends. */
#ifndef TERN_TESTS_ADVICE_H
#define TERN_TESTS_ADVICE_H

#include <tern/memory.h>

static bool find_advice(const tern_memory *m, tern_advice_kind kind, tern_memory_advice *out)
{
    for (int i = 0; tern_memory_get_advice(m, i, out) == TERN_OK; i++)
        if (out->kind == kind)
            return true;
    return false;
}

#endif
