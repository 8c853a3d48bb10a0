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

static int longer_first(const void *a, const void *b)
{
    const tern__fit_item *x = *(tern__fit_item *const *)a, *y = *(tern__fit_item *const *)b;
    uint32_t dx = x->last - x->first, dy = y->last - y->first;
    if (dx != dy)
        return dx > dy ? -1 : 1;
    return larger_first(a, b);
}

static const struct {
    int (*compare)(const void *, const void *);
    const char *method;
} orders[] = {
    {larger_first, "largest first"},
    {larger_area_first, "largest area first"},
    {longer_first, "longest lived first"},
};

enum {
    TRY_MOST = 1500,       /* buffers; beyond, one order is too much and the walk has to do */
    TRY_ATTEMPTS = 24,     /* variants of one order */
    TRY_WORK = 200000,     /* comparisons for all variants of one order */
    SEARCH_WORK = 1000000, /* comparisons for the search: about a nanosecond each */
    SEARCH_NEAR =
        64 /* the search is content with 1/64 above the lower bound, and does not care for buffers below that */
};

typedef struct attempt {
    tern__fit_item *items;
    uint32_t n;
    tern__fit_item **order;      /* (n) as they are placed */
    tern__fit_item **best_order; /* (n) of the best attempt so far */
    tern__fit_item **placed;     /* (n) by offset, so that one walk over it finds the lowest gap */
    size_t *best;                /* (n) offsets of the best attempt so far */
    uint64_t work;               /* comparisons made */
} attempt;

/* Puts the item at the lowest offset where it meets none of the first n of `placed`, and among them. */
static void place_one(attempt *a, tern__fit_item *item, uint32_t n)
{
    size_t offset = 0;
    uint32_t at = 0;
    for (; at < n; at++) {
        const tern__fit_item *other = a->placed[at];
        if (other->last < item->first || other->first > item->last)
            continue;
        if (other->offset >= offset + item->bytes)
            break;
        if (other->offset + other->bytes > offset)
            offset = other->offset + other->bytes;
    }
    a->work += at + 1;
    item->offset = offset;
    while (at > 0 && a->placed[at - 1]->offset > offset)
        at--;
    while (at < n && a->placed[at]->offset <= offset)
        at++;
    memmove(&a->placed[at + 1], &a->placed[at], (n - at) * sizeof *a->placed);
    a->placed[at] = item;
}

/* Places buffers from .. to of the order behind those before them; stops as soon as one reaches beyond `limit`. Returns how far they
 * reach; *top is the place in the order of the one that reaches highest. */
static size_t place_some(attempt *a, uint32_t from, uint32_t to, size_t limit, uint32_t *top)
{
    size_t end = 0;
    for (uint32_t i = from; i < to && end <= limit; i++) {
        place_one(a, a->order[i], i);
        if (a->order[i]->offset + a->order[i]->bytes > end) {
            end = a->order[i]->offset + a->order[i]->bytes;
            *top = i;
        }
    }
    return end;
}

static void keep_offsets(attempt *a, size_t end, const char *method, tern__fit_result *out)
{
    out->bytes = end;
    out->method = method;
    for (uint32_t i = 0; i < a->n; i++)
        a->best[i] = a->items[i].offset;
}

/* Starting from an order by `compare`, the buffer that sticks out is placed first in the next attempt. *least: what the best
 * of all orders reaches. */
static void try_orders(attempt *a, int (*compare)(const void *, const void *), const char *method,
                       size_t *least, tern__fit_result *out)
{
    for (uint32_t i = 0; i < a->n; i++)
        a->order[i] = &a->items[i];
    qsort(a->order, a->n, sizeof *a->order, compare);
    const uint64_t enough = a->work + TRY_WORK;
    for (int k = 0; k < TRY_ATTEMPTS && (k == 0 || a->work < enough) && out->bytes > out->lower_bound; k++) {
        uint32_t top = 0;
        const size_t end = place_some(a, 0, a->n, SIZE_MAX, &top);
        if (end < *least) {
            *least = end;
            memcpy(a->best_order, a->order, a->n * sizeof *a->order);
        }
        if (end < out->bytes)
            keep_offsets(a, end, method, out);
        tern__fit_item *first = a->order[top];
        memmove(&a->order[1], &a->order[0], top * sizeof *a->order);
        a->order[0] = first;
    }
}

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 32) * n >> 32);
}

/* Of the first n, one comes earlier or two change places. */
static void change_order(attempt *a, uint32_t n, uint64_t *state)
{
    const uint32_t i = draw(state, n), k = draw(state, n);
    const uint32_t early = i < k ? i : k, late = i < k ? k : i;
    tern__fit_item *moved = a->order[late];
    if (draw(state, 2))
        a->order[late] = a->order[early];
    else
        memmove(&a->order[early + 1], &a->order[early], (late - early) * sizeof *a->order);
    a->order[early] = moved;
}

/* Puts the small ones behind the others, each in the order that they had; says how many others there are. */
static uint32_t large_ones_first(attempt *a, size_t small)
{
    uint32_t large = 0, rest = 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->best_order[i]->bytes > small)
            a->best_order[large++] = a->best_order[i];
        else
            a->placed[rest++] = a->best_order[i];
    memcpy(&a->best_order[large], a->placed, rest * sizeof *a->placed);
    return large;
}

/* Steps from the best order to others in which the large buffers do not reach higher: in random steps, the same for the same
 * input. Small buffers find a place afterwards: in the order they only cost time. */
static void search(attempt *a, tern__fit_result *out)
{
    const size_t small = out->lower_bound / SEARCH_NEAR;
    const uint64_t enough = a->work + SEARCH_WORK;
    const uint32_t large = large_ones_first(a, small);
    size_t end = SIZE_MAX;
    uint64_t state = 1;
    for (bool first = true; out->bytes > out->lower_bound + small && a->work < enough; first = false) {
        uint32_t top = 0;
        memcpy(a->order, a->best_order, a->n * sizeof *a->order);
        for (int changes = first || large == 0 ? 0 : 1 + (int)draw(&state, 2); changes > 0; changes--)
            change_order(a, large, &state);
        const size_t reached = place_some(a, 0, large, end, &top);
        if (reached > end)
            continue;
        end = reached;
        memcpy(a->best_order, a->order, large * sizeof *a->order);
        if (end >= out->bytes)
            continue;
        const size_t others = place_some(a, large, a->n, SIZE_MAX, &top);
        if (end < others)
            end = others; /* or it would not be left again */
        if (end < out->bytes)
            keep_offsets(a, end, "search", out);
    }
}

static tern_status improve(tern__fit_item *items, uint32_t n, tern__fit_effort effort, tern__fit_result *out)
{
    attempt a = {.items = items,
                 .n = n,
                 .order = tern__alloc((size_t)n * sizeof *a.order),
                 .best_order = tern__alloc((size_t)n * sizeof *a.best_order),
                 .placed = tern__alloc((size_t)n * sizeof *a.placed),
                 .best = tern__alloc((size_t)n * sizeof *a.best)};
    tern_status status = TERN_OK;
    if (a.order && a.best_order && a.placed && a.best) {
        size_t least = SIZE_MAX;
        for (uint32_t i = 0; i < n; i++)
            a.best[i] = items[i].offset;
        for (size_t i = 0; i < sizeof orders / sizeof *orders && out->bytes > out->lower_bound; i++)
            try_orders(&a, orders[i].compare, orders[i].method, &least, out);
        if (effort >= TERN__FIT_SEARCH)
            search(&a, out);
        for (uint32_t i = 0; i < n; i++)
            items[i].offset = a.best[i];
    } else {
        status = tern__out_of_memory((size_t)n * sizeof *a.order);
    }
    tern__free(a.order);
    tern__free(a.best_order);
    tern__free(a.placed);
    tern__free(a.best);
    return status;
}

tern_status tern__arena_fit(tern__fit_item *items, uint32_t n, tern__fit_effort effort, tern__fit_result *out)
{
    *out = (tern__fit_result){.method = "nothing to place"};
    if (n == 0)
        return TERN_OK;
    TERN_TRY(by_time(items, n, out));
    if (effort >= TERN__FIT_ORDERS && out->bytes > out->lower_bound && n <= TRY_MOST)
        TERN_TRY(improve(items, n, effort, out));
    return TERN_OK;
}
