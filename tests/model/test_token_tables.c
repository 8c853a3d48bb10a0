/* test_token_tables.c - tokens and merges that were chosen to collide do not: their tables are seeded at random. */
#include <stdio.h>

#include "base/hash.h"
#include "harness.h"
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/vocab.h"

enum { N = 4000, MASK = 8191, SLOTS = 64 };

TEST(tokens_made_to_collide_do_not)
{
    tern__vocab v = {0};
    char text[8];
    for (unsigned i = 0; v.n_symbols < N; i++) {
        snprintf(text, sizeof text, "%07x", i);
        if ((tern__hash(text, 7, 0) & MASK) < SLOTS)
            CHECK_OK(tern__vocab_add(&v, text, 7, TERN_TOKEN_NORMAL, true));
    }
    CHECK_EQ(v.n_slots, MASK + 1);
    size_t run = 0, longest = 0;
    for (size_t i = 0; i < v.n_slots; i++) {
        run = v.slots[i] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    CHECK(longest < N / 6); /* about 40 at random, N if they collide */
    tern__vocab_free(&v);
}

TEST(merges_made_to_collide_do_not)
{
    tern__pairs p = {0};
    for (uint32_t left = 0; p.count < N; left++)
        for (uint32_t right = 0; right < 4096 && p.count < N; right++)
            if ((tern__hash_mix(left, right) & MASK) < SLOTS)
                CHECK_OK(tern__pairs_add(&p, (tern__pair){.left = left, .right = right}));
    CHECK_EQ(p.n_slots, MASK + 1);
    size_t run = 0, longest = 0;
    for (size_t i = 0; i < p.n_slots; i++) {
        run = p.slots[i].left != TERN__NO_SYMBOL ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    CHECK(longest < N / 6);
    tern__pairs_free(&p);
}
