/* test_memory_advice.c - what to do about memory: each piece of advice comes and goes with the data. */
#include <string.h>

#include <tern/tern.h>

#include "base/alloc.h"
#include "advice.h"
#include "harness.h"

static void make_often(size_t times, size_t at_once, bool is_users)
{
    void *blocks[64] = {0};
    const uint64_t scope = is_users ? tern_memory_enter("mine.c:12") : 0;
    for (size_t i = 0; i < times; i++) {
        tern__free(blocks[i % at_once]);
        blocks[i % at_once] = tern__alloc(64 << 10);
    }
    for (size_t i = 0; i < at_once; i++)
        tern__free(blocks[i]);
    tern_memory_leave(scope);
}

TEST(advice_to_pool_flips_with_the_data)
{
    tern_memory *m;
    tern_memory_advice advice;
    CHECK_OK(tern_memory_start(NULL));
    make_often(64, 2, true);
    CHECK_OK(tern_memory_stop(&m));
    CHECK(find_advice(m, TERN_ADVICE_POOLING, &advice));
    CHECK(advice.saves_bytes >= 62 * (64 << 10) && advice.saves_bytes < 62 * (65 << 10));
    CHECK(strstr(advice.what, "what mine.c:12 has allocated") && strstr(advice.what, "make_often") &&
          strstr(advice.evidence, "more than 2 at once"));
    CHECK_EQ(advice.priority, TERN_PRIORITY_HIGH);
    tern_memory_free(m);
    CHECK_OK(tern_memory_start(NULL));
    make_often(64, 2, false); /* what the library does by itself is nobody else's to mend */
    CHECK_OK(tern_memory_stop(&m));
    CHECK(find_advice(m, TERN_ADVICE_POOLING, &advice));
    CHECK(strstr(advice.what, "Tern itself") && strstr(advice.evidence, "more than 2 at once"));
    CHECK_EQ(advice.priority, TERN_PRIORITY_LOW);
    tern_memory_free(m);
    CHECK_OK(tern_memory_start(NULL));
    make_often(64, 64, true); /* as many as there are: nothing could be reused */
    CHECK_OK(tern_memory_stop(&m));
    CHECK(!find_advice(m, TERN_ADVICE_POOLING, &advice));
    tern_memory_free(m);
}

/* A tensor that was used for the last time before the peak, released before it or after it. */
static void check_release(bool early, bool expected)
{
    const int64_t shape[] = {256, 1024};
    tern_ctx *ctx;
    tern_memory *m;
    tern_memory_advice advice;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_memory_start(NULL));
    tern_tensor *x = tern_ones(ctx, TERN_F32, 2, shape), *y = tern_relu(x);
    CHECK_OK(tern_eval(x));
    CHECK_OK(tern_eval(y));
    if (early)
        tern_release(x);
    tern_tensor *z = tern_zeros(ctx, TERN_F32, 2, (int64_t[]){512, 1024});
    CHECK_OK(tern_eval(z));
    if (!early)
        tern_release(x);
    tern_release(y);
    tern_release(z);
    CHECK_OK(tern_memory_stop(&m));
    CHECK_EQ(find_advice(m, TERN_ADVICE_RELEASE, &advice), expected);
    if (expected) {
        CHECK(advice.saves_bytes >= 1 << 20 && advice.saves_bytes <= (1 << 20) + (1 << 18));
        CHECK(strstr(advice.what, "f32[256,1024]"));
    }
    tern_memory_free(m);
    tern_ctx_destroy(ctx);
}

TEST(advice_to_release_flips_with_the_data)
{
    check_release(false, true);
    check_release(true, false);
}

TEST(advice_to_trim_flips_with_the_data)
{
    for (int trimmed = 0; trimmed < 2; trimmed++) {
        tern_pool *pool;
        tern_memory *m;
        tern_memory_advice advice;
        void *block = NULL;
        CHECK_OK(tern_pool_create(NULL, &pool));
        CHECK_OK(tern_memory_start(NULL));
        CHECK_OK(tern_pool_get(pool, 40 << 20, 0, &block));
        tern_pool_put(pool, block);
        if (trimmed)
            tern_pool_trim(pool, 0);
        CHECK_OK(tern_pool_get(pool, 60 << 20, 0, &block));
        tern_pool_put(pool, block);
        CHECK_OK(tern_memory_stop(&m));
        CHECK_EQ(find_advice(m, TERN_ADVICE_TRIM, &advice), !trimmed);
        if (!trimmed)
            CHECK(advice.saves_bytes >= 40 << 20);
        tern_memory_free(m);
        tern_pool_destroy(pool);
    }
}

/* A plan as the runtime would tell it: its arena has gaps or not. */
static void check_packing(uint64_t arena, uint64_t live, bool expected)
{
    tern_memory *m;
    tern_memory_advice advice;
    tern_memory_peak peak;
    tern_pool *pool;
    void *block = NULL;
    CHECK_OK(tern_pool_create(NULL, &pool));
    CHECK_OK(tern_memory_start(NULL));
    const tern__watcher *w = tern__watch_on();
    CHECK(!w->knows(900));
    tern__watch_step *steps =
        w->plan(&(tern__watch_plan){.number = 900, .n_steps = 2, .arena_bytes = arena, .live_bytes = live});
    CHECK(steps != NULL);
    steps[0] = (tern__watch_step){.label = "first", .live_bytes = live / 2};
    steps[1] = (tern__watch_step){.label = "second", .where = "layer 2", .live_bytes = live};
    CHECK(w->knows(900));
    w->run(900, true);
    CHECK_OK(tern_pool_get(pool, arena, 0, &block));
    w->run(900, false);
    tern_pool_put(pool, block);
    CHECK_OK(tern_memory_stop(&m));
    CHECK_OK(tern_memory_get_peak(m, TERN_MEMORY_IN_USE, &peak));
    CHECK_EQ(peak.program, 900);
    CHECK_EQ(peak.step, 1);
    CHECK_STR(peak.step_where, "layer 2");
    CHECK_EQ(find_advice(m, TERN_ADVICE_PACKING, &advice), expected);
    if (expected)
        CHECK_EQ(advice.saves_bytes, arena - live);
    tern_memory_free(m);
    tern_pool_destroy(pool);
}

TEST(advice_to_pack_flips_with_the_data)
{
    check_packing(16 << 20, 12 << 20, true);
    check_packing(16 << 20, 16 << 20, false);
}

/* Two arenas at once, of programs that run one after the other, or side by side. */
static void check_sharing(bool side_by_side, bool expected)
{
    static const char arena[] = "arena";
    tern_memory *m;
    tern_memory_advice advice;
    tern_pool *pool;
    void *blocks[2] = {0};
    CHECK_OK(tern_pool_create(NULL, &pool));
    CHECK_OK(tern_memory_start(NULL));
    const tern__watcher *w = tern__watch_on();
    for (uint32_t i = 0; i < 2; i++) {
        w->run(1000 + i, true);
        const uint64_t scope = tern__watch_enter(arena, arena);
        CHECK_OK(tern_pool_get(pool, (i + 1) << 20, 0, &blocks[i]));
        tern__watch_leave(scope);
        if (!side_by_side)
            w->run(1000 + i, false);
    }
    for (uint32_t i = 0; i < 2; i++)
        tern_pool_put(pool, blocks[i]);
    CHECK_OK(tern_memory_stop(&m));
    CHECK_EQ(find_advice(m, TERN_ADVICE_SHARING, &advice), expected);
    if (expected)
        CHECK(advice.saves_bytes >= 1 << 20 && advice.saves_bytes < 9 << 17);
    tern_memory_free(m);
    tern_pool_destroy(pool);
}

TEST(advice_to_share_flips_with_the_data)
{
    check_sharing(false, true);
    check_sharing(true, false);
}

/* ---- fragmentation ---- */
