/* test_arena_fit.c - buffers with lifetimes get offsets: nothing that lives together overlaps, and the whole stays small. */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "passes/arena_fit.h"

static bool live_together(const tern__fit_item *a, const tern__fit_item *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Checks the promise of arena_fit.h on the result of one call. */
static bool is_sound(const tern__fit_item *items, uint32_t n, const tern__fit_result *result)
{
    size_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (items[i].offset + items[i].bytes > end)
            end = items[i].offset + items[i].bytes;
        for (uint32_t k = 0; k < i; k++)
            if (live_together(&items[i], &items[k]) && items[i].offset < items[k].offset + items[k].bytes &&
                items[k].offset < items[i].offset + items[i].bytes)
                return false;
    }
    return end <= result->bytes && result->bytes >= result->lower_bound;
}

TEST(nothing_takes_nothing)
{
    tern__fit_result result;
    CHECK_OK(tern__arena_fit(NULL, 0, TERN__FIT_SEARCH, &result));
    CHECK_EQ(result.bytes, 0);
}

TEST(a_chain_takes_two_buffers)
{
    tern__fit_item items[100];
    for (uint32_t i = 0; i < 100; i++)
        items[i] = (tern__fit_item){.bytes = 64, .first = i, .last = i + 1};
    tern__fit_result result;
    CHECK_OK(tern__arena_fit(items, 100, TERN__FIT_WALK, &result));
    CHECK(is_sound(items, 100, &result));
    CHECK_EQ(result.bytes, 128);
    CHECK_EQ(result.lower_bound, 128);
}

TEST(trying_harder_finds_what_the_walk_over_time_misses)
{
    /* a small buffer taken early sits in the middle of what a large one could use later */
    tern__fit_item items[] = {{.bytes = 64, .first = 0, .last = 1},
                              {.bytes = 64, .first = 1, .last = 3},
                              {.bytes = 128, .first = 2, .last = 3}};
    tern__fit_result lazy, hard;
    CHECK_OK(tern__arena_fit(items, 3, TERN__FIT_WALK, &lazy));
    CHECK(is_sound(items, 3, &lazy));
    CHECK_EQ(lazy.bytes, 256);
    CHECK_OK(tern__arena_fit(items, 3, TERN__FIT_ORDERS, &hard));
    CHECK(is_sound(items, 3, &hard));
    CHECK_EQ(hard.bytes, 192);
    CHECK_EQ(hard.lower_bound, 192);
}

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static int ascending(const void *a, const void *b)
{
    const tern__fit_item *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

TEST(random_lifetimes_are_sound_and_close_to_the_bound)
{
    enum { ROUNDS = 1000, MOST = 60 };
    uint64_t state = harness_seed();
    double ratios[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        tern__fit_item items[MOST];
        uint32_t n = 1 + next(&state) % MOST;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t first = next(&state) % 50;
            items[i] = (tern__fit_item){.bytes = 64 * (size_t)(1 + next(&state) % 64),
                                        .first = first,
                                        .last = first + next(&state) % 6};
        }
        qsort(items, n, sizeof *items, ascending);
        tern__fit_result result;
        CHECK_OK(tern__arena_fit(items, n, TERN__FIT_SEARCH, &result));
        CHECK(is_sound(items, n, &result));
        ratios[round] = (double)result.bytes / (double)result.lower_bound;
    }
    int over = 0;
    for (int round = 0; round < ROUNDS; round++)
        over += ratios[round] > 1.10;
    printf("random lifetimes: %d of %d over 1.10 of the lower bound\n", over, ROUNDS);
    CHECK(over <= ROUNDS / 100);
}
