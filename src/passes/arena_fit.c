/* arena_fit.c - offsets for buffers with known lifetimes. */
#include "passes/arena_fit.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

/* ---- gaps: walking the steps ---- */

typedef struct gap {
    size_t offset, bytes;
} gap;

typedef struct gaps {
    gap *items; /* by offset, never touching each other */
    size_t n, capacity;
    size_t end; /* bytes in use so far; everything beyond is free */
} gaps;

static bool gaps_take(gaps *g, size_t bytes, size_t *offset)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < g->n; i++)
        if (g->items[i].bytes >= bytes && (best == SIZE_MAX || g->items[i].bytes < g->items[best].bytes))
            best = i;
    if (best != SIZE_MAX) {
        *offset = g->items[best].offset;
        g->items[best].offset += bytes;
        g->items[best].bytes -= bytes;
        if (g->items[best].bytes == 0)
            memmove(&g->items[best], &g->items[best + 1], (--g->n - best) * sizeof(gap));
        return true;
    }
    /* A gap at the very end is extended instead of left behind. */
    size_t start = g->end;
    if (g->n && g->items[g->n - 1].offset + g->items[g->n - 1].bytes == g->end)
        start = g->items[--g->n].offset;
    *offset = start;
    return tern__size_add(start, bytes, &g->end);
}

static bool gaps_give(gaps *g, size_t offset, size_t bytes)
{
    size_t low = 0, high = g->n; /* first gap behind `offset` */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (g->items[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    bool joins_left = low > 0 && g->items[low - 1].offset + g->items[low - 1].bytes == offset;
    bool joins_right = low < g->n && offset + bytes == g->items[low].offset;
    if (joins_left && joins_right) {
        g->items[low - 1].bytes += bytes + g->items[low].bytes;
        memmove(&g->items[low], &g->items[low + 1], (--g->n - low) * sizeof(gap));
    } else if (joins_left) {
        g->items[low - 1].bytes += bytes;
    } else if (joins_right) {
        g->items[low].offset = offset;
        g->items[low].bytes += bytes;
    } else {
        if (!tern__grow((void **)&g->items, &g->capacity, g->n + 1, sizeof(gap)))
            return false;
        memmove(&g->items[low + 1], &g->items[low], (g->n++ - low) * sizeof(gap));
        g->items[low] = (gap){offset, bytes};
    }
    return true;
}

/* Buffers by the step after which they are free. */
static int by_last(const void *a, const void *b)
{
    const tern__fit_item *x = *(tern__fit_item *const *)a, *y = *(tern__fit_item *const *)b;
    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Walks over time, taking and giving back; finds the lower bound on the way. */
static tern_status sweep(tern__fit_item *items, uint32_t n, tern__fit_item **ends, gaps *g,
                         size_t *lower_bound)
{
    size_t live = 0, most = 0;
    uint32_t freed = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (; ends[freed]->last < items[i].first; freed++) {
            live -= ends[freed]->bytes;
            if (!gaps_give(g, ends[freed]->offset, ends[freed]->bytes))
                return tern__out_of_memory(sizeof(gap));
        }
        if (!gaps_take(g, items[i].bytes, &items[i].offset) || !tern__size_add(live, items[i].bytes, &live))
            return tern__fail(TERN_OVERFLOW, "the program's intermediates do not fit the address space");
        if (live > most)
            most = live;
    }
    *lower_bound = most;
    return TERN_OK;
}

static tern_status by_time(tern__fit_item *items, uint32_t n, tern__fit_result *out)
{
    tern__fit_item **ends = tern__alloc((size_t)n * sizeof *ends);
    if (!ends)
        return tern__out_of_memory((size_t)n * sizeof *ends);
    for (uint32_t i = 0; i < n; i++)
        ends[i] = &items[i];
    qsort(ends, n, sizeof *ends, by_last);
    gaps g = {0};
    tern_status status = sweep(items, n, ends, &g, &out->lower_bound);
    tern__free(g.items);
    tern__free(ends);
    out->bytes = g.end;
    out->method = "best fit over time";
    return status;
}

/* ---- one buffer after another, each at the lowest offset where it meets no contemporary ---- */

static int larger_first(const void *a, const void *b)
{
    const tern__fit_item *x = *(tern__fit_item *const *)a, *y = *(tern__fit_item *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    uint32_t dx = x->last - x->first, dy = y->last - y->first;
    if (dx != dy)
        return dx > dy ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int larger_area_first(const void *a, const void *b)
{
    const tern__fit_item *x = *(tern__fit_item *const *)a, *y = *(tern__fit_item *const *)b;
    double ax = (double)x->bytes * (x->last - x->first + 1), ay = (double)y->bytes * (y->last - y->first + 1);
    if (ax != ay)
        return ax > ay ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* `placed` is kept by offset, so that one walk over it finds the lowest gap. */
static void place_one(tern__fit_item *item, tern__fit_item **placed, uint32_t n)
{
    size_t offset = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const tern__fit_item *other = placed[i];
        if (other->last < item->first || other->first > item->last)
            continue;
        if (other->offset >= offset + item->bytes)
            break;
        if (other->offset + other->bytes > offset)
            offset = other->offset + other->bytes;
    }
    item->offset = offset;
    while (at < n && placed[at]->offset <= offset)
        at++;
    memmove(&placed[at + 1], &placed[at], (n - at) * sizeof *placed);
    placed[at] = item;
}

/* An attempt is quadratic in the number of buffers: beyond TRY_MOST the walk over time has to do, below there are as
 * many as fit into TRY_WORK comparisons. */
enum { TRY_MOST = 1500, TRY_WORK = 200000, TRY_ATTEMPTS = 24 };

typedef struct attempt {
    tern__fit_item **order, **placed;
    size_t *best; /* (n) offsets of the best attempt so far */
} attempt;

/* Places everything in the order given; keeps the offsets if the whole is smaller than what we have. Returns the place in
 * the order of the buffer that reaches highest. */
static uint32_t try_order(tern__fit_item *items, uint32_t n, attempt *a, const char *method,
                          tern__fit_result *out)
{
    size_t end = 0;
    uint32_t top = 0;
    for (uint32_t i = 0; i < n; i++) {
        place_one(a->order[i], a->placed, i);
        if (a->order[i]->offset + a->order[i]->bytes > end) {
            end = a->order[i]->offset + a->order[i]->bytes;
            top = i;
        }
    }
    if (end < out->bytes) {
        out->bytes = end;
        out->method = method;
        for (uint32_t i = 0; i < n; i++)
            a->best[i] = items[i].offset;
    }
    return top;
}

/* Starting from an order by `compare`, the buffer that sticks out is placed first in the next attempt. */
static void try_orders(tern__fit_item *items, uint32_t n, attempt *a,
                       int (*compare)(const void *, const void *), const char *method, tern__fit_result *out)
{
    uint32_t attempts = 1 + TRY_WORK / n / n;
    for (uint32_t i = 0; i < n; i++)
        a->order[i] = &items[i];
    qsort(a->order, n, sizeof *a->order, compare);
    for (uint32_t k = 0; k < attempts && k < TRY_ATTEMPTS && out->bytes > out->lower_bound; k++) {
        uint32_t top = try_order(items, n, a, method, out);
        tern__fit_item *first = a->order[top];
        memmove(&a->order[1], &a->order[0], top * sizeof *a->order);
        a->order[0] = first;
    }
}

static tern_status improve(tern__fit_item *items, uint32_t n, tern__fit_result *out)
{
    attempt a = {tern__alloc((size_t)n * sizeof *a.order), tern__alloc((size_t)n * sizeof *a.placed),
                 tern__alloc((size_t)n * sizeof *a.best)};
    tern_status status = TERN_OK;
    if (a.order && a.placed && a.best) {
        for (uint32_t i = 0; i < n; i++)
            a.best[i] = items[i].offset;
        try_orders(items, n, &a, larger_first, "largest first", out);
        try_orders(items, n, &a, larger_area_first, "largest area first", out);
        for (uint32_t i = 0; i < n; i++)
            items[i].offset = a.best[i];
    } else {
        status = tern__out_of_memory((size_t)n * sizeof *a.order);
    }
    tern__free(a.order);
    tern__free(a.placed);
    tern__free(a.best);
    return status;
}

tern_status tern__arena_fit(tern__fit_item *items, uint32_t n, bool try_harder, tern__fit_result *out)
{
    *out = (tern__fit_result){.method = "nothing to place"};
    if (n == 0)
        return TERN_OK;
    TERN_TRY(by_time(items, n, out));
    if (try_harder && out->bytes > out->lower_bound && n <= TRY_MOST)
        TERN_TRY(improve(items, n, out));
    return TERN_OK;
}
