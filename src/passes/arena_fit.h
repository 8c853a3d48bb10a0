/* arena_fit.h - offsets for buffers with known lifetimes: two that live at the same time never share a byte, and the whole is as
 * small as we can make it. Knows nothing of graphs. */
#ifndef TERN_PASSES_ARENA_FIT_H
#define TERN_PASSES_ARENA_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/program.h>

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

/* How much time the offsets are worth: each does what the one before it does, and more if that missed the lower bound. */
typedef enum tern__fit_effort {
    TERN__FIT_WALK,   /* one walk over the steps with a list of gaps, best fit */
    TERN__FIT_ORDERS, /* buffers one after another, in orders that put what is hard to place first */
    TERN__FIT_SEARCH  /* changes the best of these orders at random, and keeps what is not worse */
} tern__fit_effort;

/* What a level spends. */
static inline tern__fit_effort tern__fit_effort_of(tern_level level)
{
    return level >= TERN_LEVEL_HIGH  ? TERN__FIT_SEARCH
           : level >= TERN_LEVEL_LOW ? TERN__FIT_ORDERS
                                     : TERN__FIT_WALK;
}

/* Deterministic. Time is bounded whatever comes: the walk is about linear; orders and search stop after so many comparisons (about
 * 0.6 and 1 ms, arena_fit.c), and leave inputs to the walk for which a single order takes longer. The search ends within 1/64 of the
 * lower bound. */
tern_status tern__arena_fit(tern__fit_item *items, uint32_t n, tern__fit_effort effort,
                            tern__fit_result *out);

#endif
