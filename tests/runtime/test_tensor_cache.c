/* test_tensor_cache.c - the tensor cache against a clock that only moves when told to. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

static uint64_t read_clock(void *user)
{
    return *(uint64_t *)user;
}

static tern_tensor *vector(tern_ctx *ctx, int64_t n, float first)
{
    return tern_add(tern_arange(ctx, TERN_F32, 0, (double)n, 1), tern_scalar(ctx, TERN_F32, (double)first));
}

/* What the cache has under `key`: its first element, or -1. */
static float first_of(tern_cache *cache, tern_ctx *ctx, const char *key)
{
    tern_tensor *t = NULL;
    if (tern_cache_get(cache, ctx, key, &t) != TERN_OK)
        return -1;
    float value = tern_data_f32(t)[0];
    tern_release(t);
    return value;
}

static tern_cache_stats stats_of(tern_cache *cache)
{
    tern_cache_stats s;
    tern_cache_get_stats(cache, &s);
    return s;
}

/* Every entry is accounted for. */
static bool adds_up(tern_cache *cache)
{
    tern_cache_stats s = stats_of(cache);
    return s.puts == s.entries + s.replaced + s.removed + s.evicted + s.expired;
}

TEST(a_put_is_a_snapshot_and_a_get_a_constant)
{
    tern_ctx *ctx;
    tern_cache *cache;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_cache_create(NULL, &cache));
    tern_tensor *x = vector(ctx, 4, 10), *got = NULL;
    CHECK_OK(tern_cache_put(cache, "x", x));
    CHECK_OK(tern_fill_(x, 0));
    CHECK_OK(tern_cache_get(cache, ctx, "x", &got));
    CHECK_EQ(tern_data_f32(got)[3], 13);
    CHECK(tern_is_constant(got));
    CHECK_STATUS(tern_fill_(got, 1), TERN_STATE);
    /* A strided view is kept dense, a constant is shared, and what came out outlives the cache. */
    tern_tensor *m = tern_reshape(vector(ctx, 6, 0), 2, (int64_t[]){2, 3}), *t = NULL;
    CHECK_OK(tern_cache_put(cache, "t", tern_transpose(m, 0, 1)));
    CHECK_OK(tern_cache_get(cache, ctx, "t", &t));
    CHECK_EQ(tern_dim(t, 0), 3);
    CHECK_EQ(tern_data_f32(t)[1], 3);
    tern_tensor *w = vector(ctx, 4, 7), *shared = NULL;
    CHECK_OK(tern_freeze(w));
    CHECK_OK(tern_cache_put(cache, "w", w));
    CHECK_OK(tern_cache_get(cache, ctx, "w", &shared));
    CHECK(tern_data_f32(shared) == tern_data_f32(w));
    CHECK_EQ(stats_of(cache).hits, 3);
    tern_cache_free(cache);
    CHECK_EQ(tern_data_f32(got)[0], 10);
    CHECK_EQ(tern_data_f32(shared)[0], 7);
    tern_ctx_destroy(ctx);
}

TEST(least_recently_used_goes_first_and_a_get_is_a_use)
{
    tern_ctx *ctx;
    tern_cache *cache;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_cache_options options = tern_cache_options_default();
    options.max_bytes = 3 * 6000; /* three vectors of 4000 bytes with what belongs to them */
    CHECK_OK(tern_cache_create(&options, &cache));
    CHECK_OK(tern_cache_put(cache, "a", vector(ctx, 1000, 1)));
    CHECK_OK(tern_cache_put(cache, "b", vector(ctx, 1000, 2)));
    CHECK_OK(tern_cache_put(cache, "c", vector(ctx, 1000, 3)));
    CHECK_EQ(first_of(cache, ctx, "a"), 1); /* now b is the oldest by use */
    CHECK_OK(tern_cache_put(cache, "d", vector(ctx, 2000, 4)));
    CHECK_EQ(first_of(cache, ctx, "b"), -1);
    CHECK_EQ(first_of(cache, ctx, "a"), 1);
    CHECK_EQ(first_of(cache, ctx, "d"), 4);
    CHECK_EQ(stats_of(cache).evicted, 1);
    /* Too large for the cache: refused, and nothing was thrown out for it. */
    CHECK_STATUS(tern_cache_put(cache, "a", vector(ctx, 100000, 9)), TERN_LIMIT);
    CHECK_EQ(first_of(cache, ctx, "a"), 1);
    /* Replacing does not count the old one. */
    for (int i = 0; i < 50; i++)
        CHECK_OK(tern_cache_put(cache, "a", vector(ctx, 1000, (float)i)));
    CHECK_EQ(first_of(cache, ctx, "a"), 49);
    tern_cache_stats s = stats_of(cache);
    CHECK_EQ(s.replaced, 50);
    CHECK(s.bytes <= options.max_bytes && s.peak_bytes <= options.max_bytes);
    CHECK(adds_up(cache));
    tern_cache_clear(cache);
    CHECK_EQ(stats_of(cache).bytes, 0);
    CHECK(adds_up(cache));
    tern_cache_free(cache);
    tern_ctx_destroy(ctx);
}

TEST(entries_grow_old_and_are_swept)
{
    tern_ctx *ctx;
    tern_cache *cache;
    uint64_t clock = 1000;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_cache_options options = {.ttl_ns = 100, .clock = read_clock, .clock_user = &clock};
    CHECK_OK(tern_cache_create(&options, &cache));
    CHECK_OK(tern_cache_put(cache, "a", vector(ctx, 8, 1)));
    clock = 1060;
    CHECK_OK(tern_cache_put(cache, "b", vector(ctx, 8, 2)));
    CHECK_EQ(first_of(cache, ctx, "a"), 1); /* a use, which does not make it younger */
    clock = 1099;
    CHECK_EQ(first_of(cache, ctx, "a"), 1);
    clock = 1100;
    CHECK_EQ(first_of(cache, ctx, "b"), 2); /* looking for b sweeps a */
    CHECK_EQ(stats_of(cache).entries, 1);
    CHECK_EQ(stats_of(cache).expired, 1);
    CHECK_EQ(first_of(cache, ctx, "a"), -1);
    CHECK_OK(tern_cache_put(cache, "b", vector(ctx, 8, 3))); /* a put makes it young again */
    clock = 1199;
    CHECK_EQ(first_of(cache, ctx, "b"), 3);
    CHECK_EQ(tern_cache_sweep(cache), 0);
    clock = 1200;
    CHECK_EQ(tern_cache_sweep(cache), 1);
    CHECK_EQ(stats_of(cache).bytes, 0);
    CHECK(!tern_cache_remove(cache, "b"));
    CHECK(adds_up(cache));
    tern_cache_free(cache);
    tern_ctx_destroy(ctx);
}

typedef struct recipe {
    int made;
    int64_t n;
    tern_status status;
} recipe;

static tern_status make(void *user, tern_ctx *ctx, tern_tensor **out)
{
    recipe *r = user;
    r->made++;
    if (r->status != TERN_OK)
        return r->status;
    *out = vector(ctx, r->n, 5);
    return TERN_OK;
}

TEST(get_or_make_makes_once)
{
    tern_ctx *ctx;
    tern_cache *cache;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_cache_options options = {.max_bytes = 10000};
    CHECK_OK(tern_cache_create(&options, &cache));
    recipe small = {.n = 10}, large = {.n = 100000}, bad = {.status = TERN_IO};
    tern_tensor *t = NULL;
    for (int i = 0; i < 3; i++)
        CHECK_OK(tern_cache_get_or_make(cache, ctx, "small", make, &small, &t));
    CHECK_EQ(small.made, 1);
    CHECK_EQ(tern_data_f32(t)[9], 14);
    for (int i = 0; i < 2; i++) /* not kept, but made */
        CHECK_OK(tern_cache_get_or_make(cache, ctx, "large", make, &large, &t));
    CHECK_EQ(large.made, 2);
    CHECK_EQ(tern_numel(t), 100000);
    tern_tensor *before = t;
    CHECK_STATUS(tern_cache_get_or_make(cache, ctx, "bad", make, &bad, &t), TERN_IO);
    CHECK(t == before);
    tern_cache_free(cache);
    tern_ctx_destroy(ctx);
}

TEST(bad_calls_say_so)
{
    tern_ctx *ctx;
    tern_cache *cache;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_cache_create(NULL, &cache));
    tern_tensor *t = NULL;
    CHECK_STATUS(tern_cache_create(NULL, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_cache_put(NULL, "x", vector(ctx, 1, 1)), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_cache_put(cache, NULL, vector(ctx, 1, 1)), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_cache_put(cache, "x", NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_cache_get(cache, NULL, "x", &t), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_cache_get(cache, ctx, "x", NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_cache_get(cache, ctx, "x", &t), TERN_NOT_FOUND);
    CHECK_STATUS(tern_cache_get_or_make(cache, ctx, "x", NULL, NULL, &t), TERN_INVALID_ARGUMENT);
    CHECK(t == NULL);
    tern_tensor *error = tern_add(vector(ctx, 2, 0), vector(ctx, 3, 0));
    CHECK_STATUS(tern_cache_put(cache, "e", error), TERN_SHAPE);
    CHECK_EQ(stats_of(cache).entries, 0);
    tern_cache_free(NULL);
    tern_cache_free(cache);
    tern_ctx_destroy(ctx);
}

/* ---- against a plain model: a list in order of use ---- */

enum { KEYS = 40, ROUNDS = 4000 };

typedef struct model {
    int keys[KEYS];
    float values[KEYS];
    uint64_t born[KEYS];
    int n; /* keys[n - 1] was used last */
} model;

static int model_find(const model *m, int key)
{
    for (int i = 0; i < m->n; i++)
        if (m->keys[i] == key)
            return i;
    return -1;
}

static void model_remove(model *m, int at)
{
    m->n--;
    for (int i = at; i < m->n; i++) {
        m->keys[i] = m->keys[i + 1];
        m->values[i] = m->values[i + 1];
        m->born[i] = m->born[i + 1];
    }
}

static void model_add(model *m, int key, float value, uint64_t born)
{
    m->keys[m->n] = key;
    m->values[m->n] = value;
    m->born[m->n++] = born;
}

TEST(agrees_with_a_list_in_order_of_use)
{
    tern_ctx *ctx;
    tern_cache *cache;
    uint64_t clock = 0, state = harness_seed();
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_cache_options options = {.clock = read_clock, .clock_user = &clock, .ttl_ns = 300};
    CHECK_OK(tern_cache_create(&options, &cache));
    CHECK_OK(tern_cache_put(cache, "k00", vector(ctx, 64, 0)));
    options.max_bytes = (size_t)stats_of(cache).bytes * 10; /* every entry is as large: ten fit */
    tern_cache_free(cache);
    CHECK_OK(tern_cache_create(&options, &cache));
    model m = {.n = 0};
    for (int round = 0; round < ROUNDS; round++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int key = (int)(state >> 33) % KEYS, at;
        char name[8];
        snprintf(name, sizeof name, "k%02d", key);
        clock += state >> 60;
        for (int i = m.n; i-- > 0;)
            if (clock - m.born[i] >= options.ttl_ns)
                model_remove(&m, i);
        at = model_find(&m, key);
        if (state >> 40 & 1) {
            TERN_SCOPE(ctx) {
                CHECK_OK(tern_cache_put(cache, name, vector(ctx, 64, (float)round)));
            }
            if (at >= 0)
                model_remove(&m, at);
            else if (m.n == 10)
                model_remove(&m, 0);
            model_add(&m, key, (float)round, clock);
        } else {
            CHECK_EQ(first_of(cache, ctx, name), at < 0 ? -1 : m.values[at]);
            if (at >= 0) {
                float value = m.values[at];
                uint64_t born = m.born[at];
                model_remove(&m, at);
                model_add(&m, key, value, born);
            }
        }
        CHECK_EQ(stats_of(cache).entries, m.n);
        CHECK(adds_up(cache));
    }
    tern_cache_stats s = stats_of(cache);
    CHECK(s.hits > 100 && s.misses > 100 && s.evicted > 100 && s.expired > 20 && s.replaced > 100);
    tern_cache_free(cache);
    tern_ctx_destroy(ctx);
}

/* ---- threads ---- */

typedef struct worker {
    tern_cache *cache;
    int number;
    bool failed;
} worker;

static void *work(void *user)
{
    worker *w = user;
    tern_ctx *ctx;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 1;
    if (tern_ctx_create(&options, &ctx) != TERN_OK) {
        w->failed = true;
        return NULL;
    }
    for (int i = 0; i < 300 && !w->failed; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", (i * 7 + w->number) % 20);
        float first = (float)((i * 7 + w->number) % 20);
        TERN_SCOPE(ctx) {
            tern_tensor *t = NULL;
            tern_status status = i % 3 ? tern_cache_get(w->cache, ctx, key, &t)
                                       : tern_cache_put(w->cache, key, vector(ctx, 100, first));
            if (status == TERN_OK && t)
                w->failed = tern_data_f32(tern_neg(t))[0] != -first;
            else if (status != TERN_OK && status != TERN_NOT_FOUND)
                w->failed = true;
        }
    }
    tern_ctx_destroy(ctx);
    return NULL;
}

TEST(threads_with_contexts_of_their_own_share_a_cache)
{
    tern_cache *cache;
    tern_cache_options options = {.max_bytes = 8000};
    CHECK_OK(tern_cache_create(&options, &cache));
    worker workers[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){.cache = cache, .number = i};
        CHECK_EQ(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        CHECK(!workers[i].failed);
    CHECK(adds_up(cache));
    tern_cache_free(cache);
}
