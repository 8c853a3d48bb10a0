/* test_memory.c - planted truths: a leak, extra allocations, peaks known by hand; sums that must agree with what the library, the
 * pools and the system count. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/tern.h>

#include "advice.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/threads.h"
#include "gate.h"
#include "harness.h"

static uint64_t live_bytes(void)
{
    tern_alloc_stats s;
    tern_alloc_get_stats(&s);
    return s.live_bytes;
}

static uint64_t held(const tern_memory_bytes *b)
{
    return b->heap + b->pages + b->regions;
}

static tern_memory_info info_of(const tern_memory *m)
{
    tern_memory_info info = {0};
    tern_memory_get_info(m, &info);
    return info;
}

static bool find_row(const tern_memory *m, tern_memory_by by, const char *part, tern_memory_row *out)
{
    for (int i = 0; tern_memory_get_row(m, by, i, out) == TERN_OK; i++)
        if (strstr(out->name, part))
            return true;
    return false;
}

/* What holds for every record, if nothing was lost: the sum of the events, the rows and the tree tell the same. */
static void check_sums(const tern_memory *m)
{
    const tern_memory_info i = info_of(m);
    CHECK_EQ(i.start_bytes + i.allocated_bytes - i.freed_bytes, i.end_bytes);
    CHECK_EQ(held(&i.start), i.start_bytes);
    CHECK_EQ(held(&i.end), i.end_bytes);
    tern_memory_peak peak, most;
    if (tern_memory_get_peak(m, TERN_MEMORY_IN_USE, &peak) != TERN_OK)
        return;
    CHECK_OK(tern_memory_get_peak(m, TERN_MEMORY_HELD, &most));
    CHECK_EQ(peak.bytes, peak.of.heap + peak.of.pages + peak.of.blocks);
    CHECK_EQ(most.bytes, held(&most.of));
    uint64_t ops = 0, sites = 0, live = 0, roots = 0, self = 0;
    tern_memory_row row;
    for (int k = 0; tern_memory_get_row(m, TERN_MEMORY_OPS, k, &row) == TERN_OK; k++) {
        CHECK(row.live_bytes <= row.most_bytes && row.peak_bytes <= row.most_bytes &&
              row.most_bytes <= row.allocated_bytes && row.frees <= row.allocations);
        ops += row.peak_bytes;
        live += row.live_bytes;
    }
    for (int k = 0; tern_memory_get_row(m, TERN_MEMORY_SITES, k, &row) == TERN_OK; k++)
        sites += row.peak_bytes;
    CHECK_EQ(ops, sites);
    tern_memory_frame f;
    static uint64_t children[100000];
    memset(children, 0, sizeof children);
    for (int k = i.frames - 1; k >= 0; k--) {
        CHECK_OK(tern_memory_get_frame(m, k, &f));
        CHECK(f.parent < k);
        CHECK_EQ(f.peak_bytes, f.self_peak_bytes + children[k]);
        self += f.self_peak_bytes;
        *(f.parent < 0 ? &roots : &children[f.parent]) += f.peak_bytes;
    }
    CHECK_EQ(roots, peak.bytes);
    CHECK_EQ(self, peak.bytes);
    tern_memory_point p;
    uint64_t last = 0, highest = 0;
    for (int k = 0; k < i.points; k++) {
        CHECK_OK(tern_memory_get_point(m, k, &p));
        CHECK(p.time_ns >= last);
        last = p.time_ns;
        highest = p.in_use_bytes > highest ? p.in_use_bytes : highest;
    }
    CHECK_EQ(highest, peak.bytes);
    if (i.leaks == 0 && i.start.blocks == i.end.blocks)
        CHECK(live >= i.leaked_bytes);
}

/* ---- sums ---- */

enum { THREADS = 4, ROUNDS = 4000, SLOTS = 64 };

typedef struct juggler {
    uint64_t seed;
    tern_pool *pool;
    bool failed;
} juggler;

/* Allocates, grows, frees and maps at random; in the end some are left for whoever comes after. */
static void *juggle(void *arg)
{
    juggler *j = arg;
    void *heap[SLOTS] = {0}, *blocks[SLOTS] = {0}, *pages[SLOTS] = {0};
    const size_t page = tern__page_size();
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const uint64_t r = tern__hash_mix(j->seed * 0x9e3779b97f4a7c15u, i + 1);
        const size_t at = r % SLOTS, bytes = (size_t)(r >> 8) % 5000;
        switch (r >> 40 & 7) {
        case 0:
        case 1:
            tern__free(heap[at]);
            heap[at] = tern__alloc(bytes);
            break;
        case 2:
            heap[at] = tern__realloc(heap[at], bytes + 1);
            break;
        case 3:
            tern__free(heap[at]);
            heap[at] = tern__alloc_aligned(bytes, 64);
            break;
        case 4:
        case 5:
            tern_pool_put(j->pool, blocks[at]);
            blocks[at] = NULL;
            j->failed |= tern_pool_get(j->pool, bytes * 20, r & 3, &blocks[at]) != TERN_OK;
            break;
        case 6:
            tern__pages_unmap(pages[at], page);
            pages[at] = tern__pages_map(page, false);
            break;
        default:
            tern_pool_put(j->pool, blocks[at]);
            blocks[at] = NULL;
            tern__free(heap[at]);
            heap[at] = NULL;
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        tern__free(heap[i]);
        tern_pool_put(j->pool, blocks[i]);
        tern__pages_unmap(pages[i], page);
    }
    return NULL;
}

/* `events` too few: the sums are right all the same. */
static void check_random(size_t events, bool may_lose)
{
    const uint64_t seed = harness_seed();
    tern_pool *pool;
    pthread_t threads[THREADS];
    juggler jugglers[THREADS];
    CHECK_OK(tern_pool_create(NULL, &pool));
    void *kept = NULL, *kept_heap = tern__alloc(12345);
    CHECK_OK(tern_pool_get(pool, 100000, 0, &kept));
    const uint64_t before = live_bytes();
    CHECK_OK(tern_memory_start(&(tern_memory_options){.events = events}));
    const uint64_t own = live_bytes() - before;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < THREADS; i++) {
            jugglers[i] = (juggler){.seed = seed + (uint64_t)(round * THREADS + i), .pool = pool};
            CHECK_EQ(pthread_create(&threads[i], NULL, juggle, &jugglers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        tern_memory_bytes now;
        tern_pool_stats stats;
        CHECK_OK(tern_memory_now(&now));
        CHECK_EQ(held(&now) + own, live_bytes());
        tern_pool_get_stats(pool, &stats);
        CHECK_EQ(now.blocks, stats.current_bytes);
        if (round == 0) { /* blocks from before the session go in it */
            tern_pool_put(pool, kept);
            tern__free(kept_heap);
        }
    }
    const uint64_t live = live_bytes() - own;
    tern_memory *m;
    CHECK_OK(tern_memory_stop(&m));
    const tern_memory_info info = info_of(m);
    CHECK_EQ(info.end_bytes, live);
    CHECK_EQ(info.lost > 0, may_lose);
    CHECK_EQ(info.start_bytes + info.allocated_bytes - info.freed_bytes, info.end_bytes);
    CHECK_EQ(info.leaks, 0); /* nothing is invented for frees that were lost */
    CHECK_EQ(info.leaked_bytes, 0);
    if (!may_lose) {
        check_sums(m);
    } else {
        tern_memory_peak peak;
        char *text = NULL;
        CHECK_STATUS(tern_memory_get_peak(m, TERN_MEMORY_IN_USE, &peak), TERN_UNAVAILABLE);
        CHECK_EQ(info.advice, 0);
        CHECK_OK(tern_memory_export(m, TERN_MEMORY_FORMAT_JSON, &text));
        CHECK(strstr(text, "\"peak\": null") != NULL && strstr(text, "\"leaked_bytes\": null") != NULL &&
              strstr(text, "\"recommendations\": null") != NULL && strstr(text, "events were lost") != NULL);
        tern_string_free(text);
    }
    tern_memory_free(m);
    tern_pool_destroy(pool);
    for (int i = 0; i < THREADS; i++)
        CHECK(!jugglers[i].failed);
}

TEST(sum_of_events_is_what_is_live)
{
    check_random(0, false);
}

TEST(lost_events_leave_the_sums_right)
{
    check_random(100, true);
}

TEST(on_and_off)
{
    tern_memory *m = NULL;
    tern_memory_bytes now;
    CHECK(!tern_memory_is_on());
    CHECK_STATUS(tern_memory_now(&now), TERN_STATE);
    CHECK_STATUS(tern_memory_stop(&m), TERN_STATE);
    CHECK(m == NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tern_memory_start(&(tern_memory_options){.title = "a title"}));
        CHECK(tern_memory_is_on());
        CHECK_STATUS(tern_memory_start(NULL), TERN_STATE);
        tern__free(tern__alloc((size_t)(1000 + i)));
        CHECK_OK(tern_memory_stop(&m));
        CHECK(!tern_memory_is_on());
        const tern_memory_info info = info_of(m);
        CHECK_STR(info.title, "a title");
        CHECK_EQ(info.allocations, 1);
        CHECK_EQ(info.frees, 1);
        check_sums(m);
        tern_memory_free(m);
    }
}

TEST(nothing_happened)
{
    tern_memory *m;
    tern_memory_peak peak;
    CHECK_OK(tern_memory_start(NULL));
    CHECK_OK(tern_memory_stop(&m));
    const tern_memory_info info = info_of(m);
    CHECK_EQ(info.events, 0);
    CHECK_EQ(info.start_bytes, info.end_bytes);
    CHECK_STATUS(tern_memory_get_peak(m, TERN_MEMORY_IN_USE, &peak), TERN_NOT_FOUND);
    for (int f = TERN_MEMORY_FORMAT_JSON; f <= TERN_MEMORY_FORMAT_COLLAPSED; f++) {
        char *text;
        CHECK_OK(tern_memory_export(m, (tern_memory_format)f, &text));
        tern_string_free(text);
    }
    tern_memory_free(m);
}

/* ---- leaks ---- */

static void *leak_here(size_t bytes)
{
    return tern__alloc(bytes);
}

TEST(a_planted_leak_is_found_with_its_call_site)
{
    tern_memory *m;
    tern_memory_leak leak;
    tern_memory_advice advice;
    void *leaked[3], *kept = tern__alloc(100000);
    CHECK_OK(tern_memory_start(NULL));
    for (int i = 0; i < 50; i++)
        tern__free(tern__alloc(4000));
    for (int i = 0; i < 3; i++)
        leaked[i] = leak_here(20000);
    CHECK_OK(tern_memory_stop(&m));
    const tern_memory_info info = info_of(m);
    CHECK_EQ(info.leaks, 1);
    CHECK_OK(tern_memory_get_leak(m, 0, &leak));
    CHECK(strstr(leak.site, "test_memory.c:") && strstr(leak.site, " leak_here"));
    CHECK_STR(leak.kind, "heap");
    CHECK_EQ(leak.blocks, 3);
    CHECK_EQ(info.leaked_blocks, 3);
    CHECK(leak.bytes >= 60000 && leak.bytes < 61000);
    CHECK_EQ(leak.bytes, info.leaked_bytes);
    CHECK_EQ(leak.bytes, info.end_bytes - info.start_bytes);
    CHECK(find_advice(m, TERN_ADVICE_LEAK, &advice));
    CHECK_EQ(advice.saves_bytes, leak.bytes);
    CHECK(strstr(advice.what, "leak_here"));
    tern_memory_free(m);
    for (int i = 0; i < 3; i++)
        tern__free(leaked[i]);
    tern__free(kept);
}

/* Two layers, the second of which is leaked or not. */
static tern_status compute(tern_ctx *ctx, tern_tensor **leaked)
{
    const int64_t shape[] = {64, 64};
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_randn(ctx, TERN_F32, 2, shape, 1);
        tern_origin_open(ctx, "layer 1");
        tern_tensor *y = tern_relu(tern_matmul(x, x, false, false));
        tern_origin_close(ctx);
        TERN_TRY(tern_eval(y));
        if (leaked)
            *leaked = tern_keep(y);
    }
    return TERN_OK;
}

TEST(a_clean_run_has_no_leaks)
{
    tern_memory *m;
    for (int round = 0; round < 2; round++) {
        tern_ctx *ctx;
        CHECK_OK(tern_memory_start(NULL));
        CHECK_OK(tern_ctx_create(NULL, &ctx));
        CHECK_OK(compute(ctx, NULL));
        tern_ctx_destroy(ctx);
        CHECK_OK(tern_memory_stop(&m));
        CHECK_EQ(info_of(m).leaks, 0);
        CHECK_EQ(info_of(m).leaked_bytes, 0);
        CHECK_EQ(info_of(m).start_bytes, info_of(m).end_bytes);
        check_sums(m);
        tern_memory_free(m);
    }
}

TEST(a_leaked_tensor_is_found_with_its_op_and_part)
{
    tern_ctx *ctx;
    tern_tensor *kept = NULL;
    tern_memory *m;
    tern_memory_leak leak;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(compute(ctx, NULL)); /* what the context keeps, programs and memory, is there already */
    CHECK_OK(tern_memory_start(NULL));
    CHECK_OK(compute(ctx, NULL));
    CHECK_OK(compute(ctx, &kept));
    CHECK_OK(tern_memory_stop(&m));
    CHECK_OK(tern_memory_get_leak(m, 0, &leak));
    CHECK_STR(leak.kind, "tensor");
    CHECK_EQ(leak.blocks, 1);
    CHECK(leak.bytes >= 64 * 64 * 4 && leak.bytes < 64 * 64 * 4 * 9 / 8 + 64);
    CHECK(leak.op && strstr(leak.op, "matmul"));
    CHECK_STR(leak.where, "layer 1");
    CHECK(leak.tensor && strstr(leak.tensor, "f32[64,64]"));
    check_sums(m);
    tern_memory_free(m);
    tern_release(kept);
    tern_ctx_destroy(ctx);
}

/* A caller that names its own work finds it in the path, whatever the library does below it. */
TEST(a_leak_tells_the_callers_own_place)
{
    tern_ctx *ctx;
    tern_tensor *kept = NULL;
    tern_memory *m;
    tern_memory_leak leak;
    char here[64];
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(compute(ctx, NULL));
    CHECK_EQ(tern_memory_enter("nobody listens"), 0);
    CHECK_OK(tern_memory_start(NULL));
    const uint64_t outer = tern_memory_enter("loader"), inner = tern_memory_enter(TERN_MEMORY_HERE);
    snprintf(here, sizeof here, "test_memory.c:%d > eval > run > ", __LINE__ - 1);
    CHECK_OK(compute(ctx, &kept));
    tern_memory_leave(inner);
    tern_memory_leave(outer);
    CHECK_OK(tern_memory_stop(&m));
    CHECK_OK(tern_memory_get_leak(m, 0, &leak));
    CHECK(strncmp(leak.path, "loader > ", 9) == 0 && strstr(leak.path, here) && strstr(leak.path, "matmul"));
    tern_memory_leave(inner); /* of a session that has ended: nothing happens */
    tern_memory_free(m);
    tern_release(kept);
    tern_ctx_destroy(ctx);
}

/* ---- peaks ---- */

/* At level none each op is a step. x is 1 KiB; a, 256 KiB; b, the sum, as much again: at step `b` both are there. Then c, one
 * KiB. The step that fills the arena is known by hand. */
static void check_peak(tern_level level, const char *const *disabled, int n_disabled, bool in_place)
{
    tern_ctx *ctx;
    tern_graph *graph;
    tern_program *program;
    tern_exec *exec;
    tern_memory *m;
    const char text[] = "graph peak {\n"
                        "  %x = input \"x\" f32[256,1]\n"
                        "  %y = input \"y\" f32[1,256]\n"
                        "  %a = matmul(%x, %y) from \"layer 7\"\n"
                        "  %b = exp(%a) from \"layer 8\"\n"
                        "  %c = sum(%b) {axes=[1]} from \"layer 9\"\n"
                        "  return %c as \"c\"\n"
                        "}\n";
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_graph_parse(ctx, text, strlen(text), &graph));
    CHECK_OK(tern_graph_compile(
        ctx, graph,
        &(tern_compile_options){.level = level, .disabled = disabled, .n_disabled = n_disabled, .threads = 1},
        &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    for (int warm = 1; warm >= 0; warm--)
        TERN_SCOPE(ctx) {
            if (!warm)
                CHECK_OK(tern_memory_start(NULL));
            tern_tensor *in[] = {tern_ones(ctx, TERN_F32, 2, (int64_t[]){256, 1}),
                                 tern_ones(ctx, TERN_F32, 2, (int64_t[]){1, 256})};
            tern_tensor *out[1];
            CHECK_OK(tern_exec_run(exec, 2, in, 1, out));
        }
    CHECK_OK(tern_memory_stop(&m));
    tern_program_info plan;
    tern_program_get_info(program, &plan);
    tern_memory_peak peak;
    tern_memory_advice advice;
    CHECK_OK(tern_memory_get_peak(m, TERN_MEMORY_IN_USE, &peak));
    CHECK_EQ(peak.arena_bytes, plan.arena_bytes);
    CHECK_EQ(peak.step_bytes, plan.live_bytes);
    CHECK_STR(peak.op, "arena");
    if (in_place) {
        CHECK(!find_advice(m, TERN_ADVICE_IN_PLACE, &advice));
    } else {
        CHECK_EQ(peak.step, 1);
        CHECK_STR(peak.step_op, "exp");
        CHECK_STR(peak.step_where, "layer 8");
        CHECK(find_advice(m, TERN_ADVICE_IN_PLACE, &advice));
        CHECK(advice.saves_bytes >= 250 * 1024 && advice.saves_bytes <= 256 * 1024);
        CHECK(strstr(advice.what, "step 1 (exp)"));
        CHECK_STR(advice.of, "peak");
    }
    tern_memory_plan told;
    CHECK_OK(tern_memory_get_plan(m, info_of(m).plans - 1, &told));
    CHECK_EQ(told.runs, 1);
    check_sums(m);
    tern_memory_free(m);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
}

TEST(the_step_that_causes_the_peak_is_known)
{
    check_peak(TERN_LEVEL_NONE, NULL, 0, false);
}

/* The advice goes when the pass does what it says. */
TEST(advice_to_work_in_place_goes_when_it_is_done)
{
    static const char *const fusion[] = {"fuse", "epilogue", "inplace"};
    check_peak(TERN_LEVEL_MEDIUM, fusion, 2, true);
    check_peak(TERN_LEVEL_MEDIUM, fusion, 3, false);
}

/* ---- planted allocations ---- */

static void *extra_here(size_t bytes)
{
    return tern__alloc(bytes);
}

TEST(planted_allocations_are_counted_at_their_site)
{
    tern_memory *m;
    tern_memory_row row;
    CHECK_OK(tern_memory_start(NULL));
    void *held_blocks[10];
    for (int i = 0; i < 10; i++)
        held_blocks[i] = extra_here(30000);
    for (int i = 0; i < 10; i++)
        tern__free(held_blocks[i]);
    for (int i = 0; i < 7; i++)
        tern__free(extra_here(30000));
    CHECK_OK(tern_memory_stop(&m));
    CHECK(find_row(m, TERN_MEMORY_SITES, " extra_here", &row));
    CHECK_EQ(row.allocations, 17);
    CHECK_EQ(row.frees, 17);
    CHECK(row.allocated_bytes >= 17 * 30000 && row.allocated_bytes < 17 * 31000);
    CHECK(row.most_bytes >= 300000 && row.most_bytes < 310000);
    CHECK_EQ(row.peak_bytes, row.most_bytes);
    CHECK_EQ(row.live_bytes, 0);
    CHECK_STR(row.category, "heap");
    tern_memory_free(m);
}

static void take_on_worker(void *arg, int worker, int workers)
{
    (void)workers;
    void **blocks = arg;
    if (worker == 1)
        blocks[0] = extra_here(50000);
}

TEST(memory_of_workers_belongs_to_whom_they_work_for)
{
    tern_memory *m;
    tern_memory_row row;
    tern__threads *pool;
    void *of_work, *of_none;
    CHECK_OK(tern__threads_create(2, &pool));
    CHECK_OK(tern_memory_start(NULL));
    const uint64_t scope = tern_memory_enter("planted work");
    tern__threads_run(pool, 2, take_on_worker, &of_work);
    tern_memory_leave(scope);
    tern__threads_run(pool, 2, take_on_worker, &of_none); /* the worker has left the frame, too */
    tern__free(of_work);
    tern__free(of_none);
    CHECK_OK(tern_memory_stop(&m));
    tern__threads_destroy(pool);
    CHECK(find_row(m, TERN_MEMORY_OPS, "planted work", &row));
    CHECK_EQ(row.allocations, 1);
    CHECK(row.allocated_bytes >= 50000 && row.allocated_bytes < 51000);
    tern_memory_free(m);
}

/* ---- the system ---- */

static uint64_t statm_rss(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (uint64_t)resident * tern__page_size();
}

/* What a pool takes from the system and what is written there is what RSS grows by. */
TEST(resident_memory_agrees_with_the_system)
{
    enum { BYTES = 48 << 20 };
    tern_pool *pool;
    void *block = NULL;
    tern_memory *m;
    tern_memory_system system = {0};
    tern_memory_peak peak;
    if (statm_rss() == 0)
        SKIP("there is no /proc/self/statm");
    if (HARNESS_TSAN)
        SKIP("TSan keeps several bytes for each one that is touched");
    CHECK_OK(tern_pool_create(NULL, &pool));
    CHECK_OK(tern_memory_start(NULL));
    const uint64_t before = statm_rss();
    CHECK_OK(tern_pool_get(pool, BYTES, 0, &block));
    memset(block, 1, BYTES);
    const uint64_t after = statm_rss();
    CHECK_OK(tern_memory_stop(&m));
    tern_memory_get_system(m, &system);
    CHECK(system.unavailable == NULL);
    const int64_t off = (int64_t)system.rss_bytes - (int64_t)after;
    CHECK(off < (4 << 20) && off > -(4 << 20));
    CHECK(system.rss_peak_bytes + (4 << 20) >= system.rss_bytes &&
          system.anonymous_bytes <= system.rss_bytes);
    CHECK(tern_memory_process_peak() + (4 << 20) >= after);
    CHECK_OK(tern_memory_get_peak(m, TERN_MEMORY_HELD, &peak));
    CHECK(peak.of.blocks >= BYTES && peak.of.regions >= peak.of.blocks);
    const int64_t grown = (int64_t)after - (int64_t)before;
    CHECK(grown >= BYTES && grown <= (int64_t)(peak.of.regions + peak.of.regions / 4) + (8 << 20));
    tern_memory_free(m);
    tern_pool_put(pool, block);
    tern_pool_destroy(pool);
}

/* ---- pools, copies, formats ---- */

/* Blocks of 1 MiB, every second of which is given back: what is free lies apart, and the free lists say so. */
TEST(fragmentation_is_that_of_the_free_lists)
{
    enum { N = 24 };
    tern_pool *pool;
    tern_memory *m;
    tern_memory_pool told;
    void *blocks[N] = {0}, *last = NULL;
    CHECK_OK(tern_pool_create(&(tern_pool_options){.large_region = 32 << 20}, &pool));
    CHECK_OK(tern_memory_start(NULL));
    for (int i = 0; i < N; i++)
        CHECK_OK(tern_pool_get(pool, 1 << 20, 0, &blocks[i]));
    for (int i = 0; i < N; i += 2) {
        tern_pool_put(pool, blocks[i]);
        blocks[i] = NULL;
    }
    for (int i = 0; i < 130; i++) { /* so many gets that the lists are walked */
        CHECK_OK(tern_pool_get(pool, 64, 0, &last));
        tern_pool_put(pool, last);
    }
    tern_pool_fragmentation now = {0};
    tern_pool_get_fragmentation(pool, &now);
    CHECK_OK(tern_memory_stop(&m));
    CHECK_OK(tern_memory_get_pool(m, 0, &told));
    CHECK_EQ(told.number, 1);
    CHECK(told.samples >= 3);
    CHECK_NEAR(told.last_ratio, now.ratio, 0.02);
    CHECK(told.free_bytes >= (N / 2) << 20 && told.free_blocks >= N / 2 && told.held_bytes == now.held_bytes);
    CHECK(told.ratio >= 0.3 && told.ratio < 1);
    tern_memory_free(m);
    for (int i = 1; i < N; i += 2)
        tern_pool_put(pool, blocks[i]);
    tern_pool_destroy(pool);
}

/* ---- copies, formats, failures ---- */

TEST(copies_are_told)
{
    tern_ctx *ctx;
    tern_memory *m;
    tern_memory_copy c;
    static float data[1000], back[1000];
    uint64_t in = 0, out = 0;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_memory_start(NULL));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){1000}, data);
        for (int i = 0; i < 3; i++)
            CHECK_OK(tern_read(x, back, sizeof back));
    }
    CHECK_OK(tern_memory_stop(&m));
    for (int i = 0; tern_memory_get_copy(m, i, &c) == TERN_OK; i++) {
        if (strcmp(c.direction, "in") == 0)
            in += c.bytes;
        if (strcmp(c.direction, "out") == 0) {
            out += c.bytes;
            CHECK_EQ(c.copies, 3);
        }
    }
    CHECK_EQ(in, 4000);
    CHECK_EQ(out, 12000);
    tern_memory_row row;
    CHECK(find_row(m, TERN_MEMORY_TENSORS, "f32[1000]", &row));
    tern_memory_free(m);
    tern_ctx_destroy(ctx);
}

TEST(formats)
{
    tern_ctx *ctx;
    tern_memory *m;
    char *text;
    tern_memory_format format;
    tern_memory_by by;
    CHECK_STATUS(tern_memory_format_parse("pdf", &format), TERN_NOT_FOUND);
    CHECK_STATUS(tern_memory_by_parse("colour", &by), TERN_NOT_FOUND);
    CHECK_OK(tern_memory_by_parse("site", &by));
    CHECK_EQ(by, TERN_MEMORY_SITES);
    CHECK_OK(tern_memory_start(&(tern_memory_options){.title = "<a \"b\" & c>"}));
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(compute(ctx, NULL));
    tern_ctx_destroy(ctx);
    CHECK_OK(tern_memory_stop(&m));
    CHECK_OK(tern_memory_format_parse("timeline", &format));
    CHECK_OK(tern_memory_export(m, format, &text));
    CHECK(strncmp(text, "<svg", 4) == 0 && strstr(text, "class=\"peak\"") && !strstr(text, "<a \"b\""));
    tern_string_free(text);
    CHECK_OK(tern_memory_export(m, TERN_MEMORY_FORMAT_SVG, &text));
    CHECK(strstr(text, "data-of=\"memory\"") && strstr(text, "matmul"));
    tern_string_free(text);
    CHECK_OK(tern_memory_export(m, TERN_MEMORY_FORMAT_COLLAPSED, &text));
    /* The stacks add up to the peak. */
    tern_memory_peak peak;
    uint64_t sum = 0;
    CHECK_OK(tern_memory_get_peak(m, TERN_MEMORY_IN_USE, &peak));
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n'), *number = end;
        while (number[-1] != ' ')
            number--;
        sum += strtoull(number, NULL, 10);
    }
    CHECK_EQ(sum, peak.bytes);
    tern_string_free(text);
    CHECK_STATUS(tern_memory_export(m, (tern_memory_format)9, &text), TERN_INVALID_ARGUMENT);
    tern_memory_free(m);
}

TEST(without_memory_it_says_so)
{
    tern_memory *m = NULL;
    const uint64_t before = live_bytes();
    bool done = false;
    for (long n = 1; n < 200 && !done; n++) {
        gate g = {.countdown = n};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = tern_memory_start(NULL);
        if (status == TERN_OK) {
            void *block = tern__alloc(100);
            tern__free(block);
            status = tern_memory_stop(&m);
        }
        tern_alloc_set_gate(NULL, NULL);
        CHECK(status == TERN_OK || status == TERN_OUT_OF_MEMORY);
        CHECK(!tern_memory_is_on());
        done = !g.fired;
        if (status == TERN_OK)
            tern_memory_free(m);
        CHECK_EQ(live_bytes(), before);
    }
    CHECK(done);
}
