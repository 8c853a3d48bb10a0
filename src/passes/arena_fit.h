/* arena_fit.h - offsets for buffers with known lifetimes: two that live at the same time never share a byte, and the whole is as
 * small as we can make it. Knows nothing of graphs. */
#ifndef TERN_PASSES_ARENA_FIT_H
#define TERN_PASSES_ARENA_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/status.h>

typedef struct tern__fit_item {
    size_t bytes;         /* > 0; offsets are sums of these, so equal alignment of all is kept */
    uint32_t first, last; /* steps that first and last touch it; first ascends over the array */
    size_t offset;        /* result */
} tern__fit_item;

typedef struct tern__fit_result {
    size_t bytes;       /* of all together */
    size_t lower_bound; /* most bytes live at one step: no plan can be smaller */
    const char *method; /* which attempt won; static */
} tern__fit_result;

/* Walks the steps once with a list of gaps, best fit. If that misses the lower bound and `try_harder`, tries placing the
 * largest first, and the largest area (bytes x lifetime) first, and keeps the best; on large inputs only within a budget, so that time grows
 * about linearly. Deterministic. */
tern_status tern__arena_fit(tern__fit_item *items, uint32_t n, bool try_harder, tern__fit_result *out);

#endif
