/* test_name_set.c - sets of names, and that names chosen to collide do not: tables of foreign keys are seeded at random. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/name_set.h"
#include "harness.h"

TEST(names_have_the_number_they_came_with)
{
    tern__names names = {0};
    uint32_t before;
    CHECK_EQ(tern__names_find(&names, "a", 1), TERN__NO_NUMBER);
    CHECK_OK(tern__names_add(&names, "abc", 1, 7, &before));
    CHECK_EQ(before, TERN__NO_NUMBER);
    CHECK_OK(tern__names_add(&names, "abc", 3, 8, &before));
    CHECK_EQ(before, TERN__NO_NUMBER);
    CHECK_OK(tern__names_add(&names, "a", 1, 9, &before));
    CHECK_EQ(before, 7);
    CHECK_EQ(tern__names_find(&names, "a", 1), 7);
    CHECK_EQ(tern__names_find(&names, "abc", 3), 8);
    CHECK_EQ(tern__names_find(&names, "ab", 2), TERN__NO_NUMBER);
    CHECK_EQ(names.count, 2);
    tern__names_free(&names);
    CHECK_EQ(tern__names_find(&names, "a", 1), TERN__NO_NUMBER);
}

/* With a seed that is known these are in one run of slots, and a search walks through half of them. */
TEST(names_made_to_collide_do_not)
{
    enum { N = 3000, ROOM = 8, MASK = 8191, SLOTS = 64 };
    static char texts[N][ROOM];
    tern__names names = {0};
    uint32_t before;
    for (unsigned i = 0, n = 0; n < N; i++) {
        snprintf(texts[n], ROOM, "%07x", i);
        if ((tern__hash(texts[n], 7, 0) & MASK) >= SLOTS)
            continue;
        CHECK_OK(tern__names_add(&names, texts[n], 7, n, &before));
        CHECK_EQ(before, TERN__NO_NUMBER);
        n++;
    }
    CHECK_EQ(names.capacity, MASK + 1);
    size_t run = 0, longest = 0;
    for (size_t i = 0; i < names.capacity; i++) {
        run = names.entries[i].name ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    CHECK(longest < N / 6); /* about 20 at random */
    for (uint32_t n = 0; n < N; n++)
        CHECK_EQ(tern__names_find(&names, texts[n], 7), n);
    tern__names_free(&names);
}

TEST(foreign_hashes_stay_the_same_in_a_process)
{
    const uint64_t h = tern__hash_foreign("tern", 4);
    CHECK(tern__hash_foreign("tern", 4) == h);
    CHECK(tern__hash_foreign("terN", 4) != h);
    CHECK(tern__hash("tern", 4, 0) != h);
}
