/* guarded.h - memory for what a kernel writes, with guard bytes directly before its first and behind its last byte.
 *
 *     guarded y;
 *     float *to = guarded_make(&y, bytes, 4 * dice_below(&d, 16));
 *     ...
 *     CHECK(guarded_is_intact(&y));
 *     guarded_free(&y); */
#ifndef TERN_TESTS_KERNELS_GUARDED_H
#define TERN_TESTS_KERNELS_GUARDED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum { GUARDED_BYTE = 0xa5, GUARDED_MARGIN = 256 };

typedef struct guarded {
    uint8_t *block;
    size_t before, bytes;
} guarded;

/* `bytes` bytes, `shift` bytes behind a multiple of TERN__ALIGN; all of them guard bytes too. */
static inline void *guarded_make(guarded *g, size_t bytes, size_t shift)
{
    const size_t all = GUARDED_MARGIN + shift + bytes + GUARDED_MARGIN;
    *g = (guarded){tern__alloc_aligned(all, TERN__ALIGN), GUARDED_MARGIN + shift, bytes};
    memset(g->block, GUARDED_BYTE, all);
    return g->block + g->before;
}

/* Is all around it as it was? */
static inline bool guarded_is_intact(const guarded *g)
{
    size_t changed = 0;
    for (size_t i = 0; i < g->before; i++)
        changed += g->block[i] != GUARDED_BYTE;
    for (size_t i = 0; i < GUARDED_MARGIN; i++)
        changed += g->block[g->before + g->bytes + i] != GUARDED_BYTE;
    return changed == 0;
}

static inline void guarded_free(guarded *g)
{
    tern__free(g->block);
}

#endif
