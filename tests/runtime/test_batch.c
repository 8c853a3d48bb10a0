/* test_batch.c - batch sizes with planted costs and limits; items in order, with a tail, with failures. */
#include <string.h>

#include <tern/tern.h>

#include "gate.h"
#include "harness.h"

/* ---- finding ---- */

typedef struct plan {
    const double *ns_per_item; /* by log2 of the batch */
    int64_t tried[8];          /* the first ones */
    int n_tried;
    int64_t fails_at;
} plan;

/* relu(x @ w) for `batch` rows. */
static tern_status compile(void *user, tern_ctx *ctx, int64_t batch, tern_program **out)
{
    plan *p = user;
    if (p && p->fails_at && batch >= p->fails_at)
        return TERN_UNSUPPORTED;
    tern_status status = TERN_OK;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){batch, 3});
        tern_tensor *w = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){3, 2}, (float[]){1, 0, 0, 1, 1, -1});
        tern_tensor *y = tern_relu(tern_matmul(x, w, false, false));
        status = tern_compile(ctx, 1, &y, NULL, NULL, out);
    }
    return status;
}

static tern_status planted(void *user, tern_ctx *ctx, int64_t batch, const tern_program *program,
                           uint64_t *ns)
{
    plan *p = user;
    int log = 0;
    (void)ctx, (void)program;
    while ((int64_t)1 << log < batch)
        log++;
    if (p->n_tried < 8 && (p->n_tried == 0 || p->tried[p->n_tried - 1] != batch))
        p->tried[p->n_tried++] = batch;
    *ns = (uint64_t)(p->ns_per_item[log] * (double)batch);
    return TERN_OK;
}

TEST(the_planted_best_size_is_found)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    plan p = {.ns_per_item = (const double[]){1000, 600, 400, 250, 240, 600, 700, 10}};
    tern_batch_work work = {.compile = compile, .run = planted, .user = &p};
    tern_batch_options options = tern_batch_options_default();
    tern_batch_trial trials[TERN_BATCH_TRIALS];
    int64_t best = 0;
    int n = 0;
    CHECK_OK(tern_batch_find(ctx, &work, &options, &best, trials, &n));
    CHECK_EQ(best, 16);
    CHECK_EQ(n, 7); /* 32 and 64 were much worse: 128 was not tried any more */
    for (int i = 0; i < n; i++) {
        CHECK_EQ(trials[i].batch, (int64_t)1 << i);
        CHECK_STATUS(trials[i].status, TERN_OK);
        CHECK_NEAR(trials[i].items_per_second, 1e9 / p.ns_per_item[i], 1e9 / p.ns_per_item[i] * 1e-2);
        CHECK(trials[i].bytes >= (size_t)trials[i].batch * 5 * sizeof(float)); /* x and y at least */
    }
    /* A range that is not made of powers of two; its end is tried. */
    p.n_tried = 0;
    options.least = 3;
    options.most = 10;
    CHECK_OK(tern_batch_find(ctx, &work, &options, &best, NULL, NULL));
    CHECK_EQ(p.n_tried, 3);
    CHECK_EQ(p.tried[0], 3);
    CHECK_EQ(p.tried[1], 6);
    CHECK_EQ(p.tried[2], 10);
    CHECK_EQ(best, 10);
    tern_ctx_destroy(ctx);
}

TEST(limits_of_memory_and_latency_hold)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    plan p = {.ns_per_item = (const double[]){1000, 600, 400, 300, 200, 150, 120, 100, 90}};
    tern_batch_work work = {.compile = compile, .run = planted, .user = &p};
    tern_batch_options options = tern_batch_options_default();
    tern_batch_trial trials[TERN_BATCH_TRIALS];
    int64_t best = 0;
    int n = 0;
    CHECK_OK(tern_batch_find(ctx, &work, &options, &best, trials, &n));
    CHECK_EQ(best, 256);
    options.memory_limit = trials[3].bytes; /* that of 8 items */
    CHECK_OK(tern_batch_find(ctx, &work, &options, &best, trials, &n));
    CHECK_EQ(best, 8);
    CHECK_EQ(n, 5);
    CHECK_EQ(trials[4].status, TERN_LIMIT);
    CHECK_EQ(trials[4].median_ns, 0); /* it was not run */
    options.memory_limit = 0;
    options.latency_limit_ns = 3300; /* 16 items take 3200 */
    CHECK_OK(tern_batch_find(ctx, &work, &options, &best, trials, &n));
    CHECK_EQ(best, 16);
    options.memory_limit = 1;
    best = -1;
    CHECK_STATUS(tern_batch_find(ctx, &work, &options, &best, trials, &n), TERN_LIMIT);
    CHECK_EQ(best, -1);
    CHECK_EQ(n, 1);
    options = tern_batch_options_default();
    p.fails_at = 4;
    CHECK_OK(tern_batch_find(ctx, &work, &options, &best, trials, &n));
    CHECK_EQ(best, 2);
    CHECK_EQ(trials[2].status, TERN_UNSUPPORTED);
    p.fails_at = 1;
    CHECK_STATUS(tern_batch_find(ctx, &work, &options, &best, NULL, NULL), TERN_UNSUPPORTED);
    options.least = 9;
    options.most = 8;
    CHECK_STATUS(tern_batch_find(ctx, &work, &options, &best, NULL, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_batch_find(NULL, &work, NULL, &best, NULL, NULL), TERN_INVALID_ARGUMENT);
    tern_ctx_destroy(ctx);
}

TEST(real_programs_are_measured)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_batch_work work = {.compile = compile};
    tern_batch_options options = {.most = 8, .runs = 2};
    tern_batch_trial trials[TERN_BATCH_TRIALS];
    int64_t best = 0;
    int n = 0;
    CHECK_OK(tern_batch_find(ctx, &work, &options, &best, trials, &n));
    CHECK(best >= 1 && best <= 8 && n >= 1);
    for (int i = 0; i < n; i++)
        CHECK(trials[i].status == TERN_OK && trials[i].median_ns > 0);
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(stats.nodes_live, 0);
    tern_ctx_destroy(ctx);
}

/* ---- processing ---- */

typedef struct log {
    int64_t firsts[64], counts[64];
    int calls;
    int64_t fails_from; /* item */
} log_of_calls;

static tern_status square(void *user, int64_t first, int64_t count, void *const *items, void **results)
{
    log_of_calls *l = user;
    l->firsts[l->calls] = first;
    l->counts[l->calls++] = count;
    if (l->fails_from >= 0 && first + count > l->fails_from)
        return TERN_IO;
    for (int64_t i = 0; results && i < count; i++)
        *(int *)results[i] = *(const int *)items[i] * *(const int *)items[i];
    return TERN_OK;
}

TEST(every_item_once_in_order_with_its_tail)
{
    enum { MOST = 41 };
    int in[MOST], out[MOST];
    void *items[MOST], *results[MOST];
    for (int n = 0; n <= MOST; n++)
        for (int batch = 1; batch <= 50; batch += 7) {
            for (int i = 0; i < MOST; i++) {
                in[i] = i + 1;
                out[i] = -1;
                items[i] = &in[i];
                results[i] = &out[i];
            }
            log_of_calls l = {.fails_from = -1};
            int64_t done = -1, at = 0;
            CHECK_OK(tern_batch_process(n, items, results, batch, square, &l, &done));
            CHECK_EQ(done, n);
            CHECK_EQ(l.calls, (n + batch - 1) / batch);
            for (int i = 0; i < l.calls; i++) {
                CHECK_EQ(l.firsts[i], at);
                CHECK(l.counts[i] == batch || i == l.calls - 1);
                at += l.counts[i];
            }
            CHECK_EQ(at, n);
            for (int i = 0; i < MOST; i++)
                CHECK_EQ(out[i], i < n ? (i + 1) * (i + 1) : -1);
        }
    log_of_calls l = {.fails_from = 17};
    int64_t done = -1;
    CHECK_STATUS(tern_batch_process(40, NULL, NULL, 8, square, &l, &done), TERN_IO);
    CHECK_EQ(done, 16);
    CHECK_EQ(l.calls, 3);
    CHECK_STATUS(tern_batch_process(4, NULL, NULL, 0, square, &l, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_batch_process(-1, NULL, NULL, 1, square, &l, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_batch_process(4, NULL, NULL, 1, NULL, &l, NULL), TERN_INVALID_ARGUMENT);
}

static void run_program(bool scoped)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_program *program;
    tern_exec *exec;
    CHECK_OK(compile(NULL, ctx, 4, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    enum { N = 11 };
    tern_tensor *items[N], *results[N];
    if (scoped)
        tern_scope_open(ctx);
    for (int i = 0; i < N; i++)
        items[i] = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){3}, (float[]){(float)i, 1, 2});
    int64_t done = 0;
    CHECK_OK(tern_batch_run(exec, N, items, results, &done));
    CHECK_EQ(done, N);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(tern_rank(results[i]), 1);
        CHECK_EQ(tern_data_f32(results[i])[0], (float)i + 2);
        CHECK_EQ(tern_data_f32(results[i])[1], 0); /* relu(1 - 2) */
    }
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(stats.nodes_live, 2 * N); /* items and results, nothing else */
    /* An item of another shape stops it; what was there before stays. */
    tern_tensor *odd = items[9], *bad = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){2}, (float[]){1, 2});
    items[9] = bad;
    for (int i = 0; !scoped && i < N; i++)
        tern_release(results[i]);
    CHECK_STATUS(tern_batch_run(exec, N, items, results, &done), TERN_SHAPE);
    CHECK(strstr(tern_last_error(), "item 9") != NULL);
    CHECK_EQ(done, 8);
    CHECK_EQ(tern_data_f32(results[7])[0], 9);
    if (scoped) {
        tern_scope_close(ctx);
    } else {
        for (int i = 0; i < 8; i++)
            tern_release(results[i]);
        for (int i = 0; i < N; i++)
            tern_release(i == 9 ? odd : items[i]);
        tern_release(bad);
    }
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(stats.nodes_live, 0);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

TEST(tensors_go_through_a_program_in_batches)
{
    run_program(false);
}

TEST(results_belong_to_the_scope_that_is_open)
{
    run_program(true);
}

/* ---- without memory ---- */

static tern_status whole(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    options.threads = 1;
    tern_ctx *ctx;
    TERN_TRY(tern_ctx_create(&options, &ctx));
    tern_cache *cache = NULL;
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    tern_batch_work work = {.compile = compile};
    tern_batch_options sizes = {.most = 2, .runs = 1};
    int64_t best = 0;
    tern_status status = tern_batch_find(ctx, &work, &sizes, &best, NULL, NULL);
    if (status == TERN_OK)
        status = compile(NULL, ctx, 2, &program);
    if (status == TERN_OK)
        status = tern_exec_create(ctx, program, &exec);
    if (status == TERN_OK)
        status = tern_cache_create(NULL, &cache);
    TERN_SCOPE(ctx) {
        tern_tensor *items[3], *results[3], *back = NULL;
        for (int i = 0; i < 3; i++)
            items[i] = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){3}, (float[]){(float)i, 1, 2});
        if (status == TERN_OK)
            status = tern_batch_run(exec, 3, items, results, NULL);
        if (status == TERN_OK)
            status = tern_cache_put(cache, "r", results[2]);
        if (status == TERN_OK)
            status = tern_cache_get(cache, ctx, "r", &back);
        if (status == TERN_OK && tern_data_f32(back)[0] != 4)
            status = TERN_INTERNAL;
    }
    tern_cache_free(cache);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
    return status;
}

TEST(every_allocation_may_fail)
{
    CHECK_OK(whole());
    tern_alloc_stats before, after;
    tern_alloc_get_stats(&before);
    long failures = 0;
    for (long nth = 1;; nth++) {
        gate g = {.countdown = nth};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = whole();
        tern_alloc_set_gate(NULL, NULL);
        tern_alloc_get_stats(&after);
        CHECK_EQ(after.allocations - after.frees, before.allocations - before.frees);
        if (!g.fired) {
            CHECK_OK(status);
            break;
        }
        if (status != TERN_OK) {
            failures++;
            CHECK_STATUS(status, TERN_OUT_OF_MEMORY);
        }
    }
    CHECK(failures > 20);
}
