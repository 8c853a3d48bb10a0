/* test_arena.c - blocks of an arena do not overlap, survive growth, and all come back. */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "gate.h"
#include "harness.h"

TEST(nothing_is_allocated_before_use)
{
    uint64_t before = live_blocks();
    tern__arena arena;
    tern__arena_init(&arena, 0);
    CHECK_EQ(live_blocks(), before);
    tern__arena_reset(&arena);
    tern__arena_free(&arena);
    CHECK_EQ(live_blocks(), before);
}

TEST(blocks_are_aligned_and_apart)
{
    enum { BLOCKS = 2000 };
    static unsigned char *blocks[BLOCKS];
    tern__arena arena;
    tern__arena_init(&arena, 256);
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t bytes = i % 97;
        blocks[i] = tern__arena_alloc(&arena, bytes);
        CHECK(blocks[i] != NULL);
        CHECK_EQ((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i & 0xff), bytes);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t j = 0; j < i % 97; j++)
            CHECK_EQ(blocks[i][j], i & 0xff);
    CHECK(tern__arena_alloc(&arena, 0) != tern__arena_alloc(&arena, 0));
    tern__arena_free(&arena);
}

TEST(large_blocks_and_overflow)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    char *large = tern__arena_alloc(&arena, 5 << 20);
    CHECK(large != NULL);
    memset(large, 1, 5 << 20);
    CHECK(tern__arena_alloc(&arena, SIZE_MAX) == NULL);
    CHECK(tern__arena_alloc(&arena, SIZE_MAX - 15) == NULL);
    CHECK(tern__arena_alloc_zero(&arena, SIZE_MAX / 2, 3) == NULL);
    CHECK(tern__arena_strndup(&arena, "", SIZE_MAX) == NULL);
    char *zero = tern__arena_alloc_zero(&arena, 10, 10);
    CHECK(zero != NULL);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(zero[i], 0);
    CHECK_STR(tern__arena_strndup(&arena, "ternary", 4), "tern");
    CHECK_STR(tern__arena_strndup(&arena, NULL, 0), "");
    tern__arena_free(&arena);
}

TEST(chunks_double_so_that_they_stay_few)
{
    uint64_t before = live_blocks();
    tern__arena arena;
    tern__arena_init(&arena, 1024);
    for (int i = 0; i < 4096; i++)
        CHECK(tern__arena_alloc(&arena, 1024) != NULL);
    CHECK(live_blocks() - before <= 16); /* 1 KiB doubling to 1 MiB: 10 chunks, then 1 MiB each */
    tern__arena_free(&arena);
    CHECK_EQ(live_blocks(), before);
}

TEST(reset_keeps_the_largest_chunk)
{
    uint64_t before = live_blocks();
    tern__arena arena;
    tern__arena_init(&arena, 64);
    for (int i = 0; i < 100; i++)
        CHECK(tern__arena_alloc(&arena, 100) != NULL);
    CHECK(tern__arena_alloc(&arena, 300000) != NULL);
    CHECK(tern__arena_alloc(&arena, 100000) != NULL);
    tern__arena_reset(&arena);
    CHECK_EQ(live_blocks() - before, 1);
    char *again = tern__arena_alloc(&arena, 290000);
    CHECK(again != NULL);
    memset(again, 1, 290000);
    CHECK_EQ(live_blocks() - before, 1);
    tern__arena_free(&arena);
    CHECK_EQ(live_blocks(), before);
    CHECK(tern__arena_alloc(&arena, 10) != NULL); /* and may be used again */
    tern__arena_free(&arena);
    CHECK_EQ(live_blocks(), before);
}

TEST(out_of_memory_leaves_the_rest_valid)
{
    tern__arena arena;
    tern__arena_init(&arena, 64);
    char *first = tern__arena_strndup(&arena, "still here", 10);
    tern_alloc_set_gate(gate_refuse, NULL);
    void *second = tern__arena_alloc(&arena, 1000);
    void *small = tern__arena_alloc(&arena, 16); /* fits into what there is */
    tern_alloc_set_gate(NULL, NULL);
    CHECK(second == NULL);
    CHECK(small != NULL);
    CHECK_STR(first, "still here");
    CHECK(tern__arena_alloc(&arena, 1000) != NULL);
    tern__arena_free(&arena);
}
