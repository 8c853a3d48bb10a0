/* test_profile.c - planted truths: busy loops of known length, a hot spot, parts of a model, lost events; sums that must
 * agree. */
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/threads.h"
#include "base/trace.h"
#include "gate.h"
#include "base/cpu.h"
#include "harness.h"

static const uint64_t ms = 1000000;

/* The time is what the test says, while `planted`; else the system's, which threads need. */
static uint64_t now = 1000000;
static bool planted;

static uint64_t tell(void *user)
{
    (void)user;
    return now;
}

static void plant_clock(bool plant)
{
    planted = plant;
    tern__clock_set_source(plant ? tell : NULL, NULL);
}

static void busy(uint64_t ns)
{
    const uint64_t start = tern__now_ns();
    if (planted)
        now += ns;
    while (tern__now_ns() - start < ns)
        ;
}

static void event(const char *name, uint64_t ns)
{
    const uint64_t start = tern__trace_begin();
    busy(ns);
    tern__trace_end(start, name, "test", UINT32_MAX, 0, 0);
}

static bool find_row(const tern_profile *p, tern_profile_by by, const char *name, tern_profile_row *out)
{
    for (int i = 0; tern_profile_get_row(p, by, i, out) == TERN_OK; i++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

/* What holds for every profile: nesting, order, and sums that are the same however they are added up. */
static void check_sums(const tern_profile *p)
{
    tern_profile_info info;
    tern_profile_get_info(p, &info);
    tern_profile_row row;
    uint64_t self = 0, events = 0, last = UINT64_MAX;
    for (int i = 0; i < info.ops; i++) {
        CHECK_OK(tern_profile_get_row(p, TERN_PROFILE_OPS, i, &row));
        CHECK(row.self_ns <= row.total_ns && row.self_ns <= last);
        CHECK(row.min_ns <= row.p50_ns && row.p50_ns <= row.p90_ns && row.p90_ns <= row.p99_ns &&
              row.p99_ns <= row.max_ns);
        CHECK(row.threads >= 1 && row.threads <= info.threads);
        last = row.self_ns;
        self += row.self_ns;
        events += row.count;
    }
    CHECK_EQ(self, info.work_ns);
    uint64_t roots = 0, frame_self = 0;
    static uint64_t children[100000];
    memset(children, 0, sizeof children);
    for (int i = info.frames - 1; i >= 0; i--) {
        tern_profile_frame f;
        CHECK_OK(tern_profile_get_frame(p, i, &f));
        CHECK(f.parent < i && f.total_ns >= children[i]); /* a parent is at least its children */
        CHECK_EQ(f.self_ns, f.parent < 0 ? 0 : f.total_ns - children[i]);
        frame_self += f.self_ns;
        if (f.parent >= 0)
            children[f.parent] += f.total_ns;
        else
            roots += f.total_ns;
    }
    CHECK_EQ(roots, info.work_ns + info.wait_ns);
    CHECK_EQ(frame_self, roots);
    uint64_t spans = 0, waits = 0;
    for (int t = 0; t < info.threads; t++) {
        tern_profile_thread thread;
        CHECK_OK(tern_profile_get_thread(p, t, &thread));
        uint64_t start = 0;
        for (int i = 0; i < thread.spans; i++) {
            tern_profile_span s;
            CHECK_OK(tern_profile_get_span(p, t, i, &s));
            CHECK(s.start_ns >= start);
            start = s.start_ns;
            spans += strcmp(s.category, "part") != 0;
            waits += strcmp(s.category, "wait") == 0;
        }
    }
    CHECK_EQ(spans, info.events);
    CHECK_EQ(events + waits, info.events);
}

TEST(states)
{
    tern_profile *p = NULL;
    CHECK_STATUS(tern_profile_stop(&p), TERN_STATE);
    CHECK_OK(tern_profile_start(NULL));
    CHECK_STATUS(tern_profile_start(NULL), TERN_STATE);
    CHECK_STATUS(tern_profile_stop(NULL), TERN_INVALID_ARGUMENT);
    CHECK_OK(tern_profile_stop(&p));
    CHECK(!tern_trace_is_on());
    tern_profile_info info;
    tern_profile_get_info(p, &info);
    CHECK_EQ(info.events, 0);
    CHECK_EQ(info.threads, 0);
    CHECK_EQ(info.frames, 0);
    tern_profile_row row;
    CHECK_STATUS(tern_profile_get_row(p, TERN_PROFILE_OPS, 0, &row), TERN_OUT_OF_RANGE);
    tern_profile_free(p);
    CHECK_OK(tern_trace_start(NULL)); /* somebody else's */
    CHECK_STATUS(tern_profile_stop(&p), TERN_STATE);
    CHECK_OK(tern_trace_stop(NULL, NULL, NULL));
    tern_profile_by by;
    CHECK_OK(tern_profile_by_parse("part", &by));
    CHECK_EQ(by, TERN_PROFILE_PARTS);
    CHECK_STATUS(tern_profile_by_parse("colour", &by), TERN_NOT_FOUND);
}

TEST(planted_times_are_told)
{
    tern_profile *p;
    tern_profile_row row;
    plant_clock(true);
    CHECK_OK(tern_profile_start(NULL));
    const uint64_t outer = tern__trace_begin();
    busy(2 * ms);
    for (int i = 0; i < 10; i++)
        event("short", ms / 10);
    event("hot", 20 * ms);
    tern__trace_end(outer, "outer", "test", UINT32_MAX, 0, 0);
    CHECK_OK(tern_profile_stop(&p));
    plant_clock(false);
    check_sums(p);
    CHECK_OK(tern_profile_get_row(p, TERN_PROFILE_OPS, 0, &row));
    CHECK_STR(row.name, "hot"); /* the planted hot spot is first */
    CHECK(row.self_ns == 20 * ms && row.total_ns == row.self_ns && row.count == 1);
    CHECK(find_row(p, TERN_PROFILE_OPS, "short", &row));
    CHECK_EQ(row.count, 10);
    CHECK(row.total_ns == ms && row.min_ns == ms / 10 && row.max_ns == ms / 10 &&
          row.mean_ns == (double)ms / 10);
    CHECK(find_row(p, TERN_PROFILE_OPS, "outer", &row));
    CHECK(row.total_ns == 23 * ms && row.self_ns == 2 * ms);
    tern_profile_frame f;
    CHECK_OK(tern_profile_get_frame(p, 0, &f));
    CHECK_STR(f.name, "main");
    CHECK_STR(f.category, "thread");
    CHECK_OK(tern_profile_get_frame(p, 1, &f));
    CHECK_STR(f.name, "outer");
    CHECK_OK(tern_profile_get_frame(p, 2, &f)); /* the longest child first */
    CHECK_STR(f.name, "hot");
    CHECK_EQ(f.parent, 1);
    CHECK_EQ(f.depth, 2);
    tern_profile_info info;
    tern_profile_get_info(p, &info);
    CHECK(info.wall_ns == 23 * ms && info.work_ns == info.wall_ns && info.lost == 0);
    tern_profile_free(p);
}

TEST(percentiles)
{
    tern_profile *p;
    tern_profile_row row;
    plant_clock(true);
    CHECK_OK(tern_profile_start(NULL));
    for (int i = 0; i < 100; i++)
        event("event", i % 20 == 0 ? 2 * ms : ms / 50);
    CHECK_OK(tern_profile_stop(&p));
    plant_clock(false);
    CHECK(find_row(p, TERN_PROFILE_OPS, "event", &row));
    CHECK_EQ(row.count, 100);
    CHECK(row.p50_ns == ms / 50 && row.p99_ns == 2 * ms && row.max_ns == 2 * ms);
    tern_profile_free(p);
}

static void work_on_threads(void *arg, int worker, int workers)
{
    (void)arg, (void)workers;
    event(worker == 0 ? "first" : "second", ms);
}

TEST(threads_have_timelines_of_their_own)
{
    tern__threads *pool;
    tern_profile *p;
    tern_profile_thread t;
    tern_profile_info info;
    CHECK_OK(tern__threads_create(2, &pool));
    CHECK_OK(tern_profile_start(NULL));
    tern__threads_run(pool, 2, work_on_threads, NULL);
    CHECK_OK(tern_profile_stop(&p));
    tern__threads_destroy(pool);
    check_sums(p);
    tern_profile_get_info(p, &info);
    CHECK_EQ(info.threads, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tern_profile_get_thread(p, i, &t));
        CHECK_EQ(t.spans, 1);
        CHECK(t.work_ns >= ms && t.wait_ns == 0);
    }
    CHECK_STATUS(tern_profile_get_thread(p, 2, &t), TERN_OUT_OF_RANGE);
    tern_profile_free(p);
}

/* The caller is done at once, the other worker a while later. */
static void work_without_events(void *arg, int worker, int workers)
{
    (void)arg, (void)workers;
    const uint64_t start = tern__now_ns();
    while (worker == 1 && tern__now_ns() - start < 2 * ms)
        ;
}

TEST(parts_of_a_named_region_are_told_on_each_thread)
{
    tern__threads *pool;
    tern_profile *p;
    tern_profile_thread t;
    tern_profile_row row;
    CHECK_OK(tern__threads_create(2, &pool));
    CHECK_OK(tern_profile_start(NULL));
    tern__threads_run_as("planted", pool, 2, work_without_events, NULL);
    tern__threads_run_as("planted", NULL, 2, work_without_events, NULL);
    CHECK_OK(tern_profile_stop(&p));
    tern__threads_destroy(pool);
    check_sums(p);
    uint64_t waited = 0, worked = 0;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tern_profile_get_thread(p, i, &t));
        waited += t.wait_ns;
        worked += t.work_ns;
    }
    CHECK(worked >= 2 * ms);
    CHECK(waited >= ms / 2);
    CHECK_OK(tern_profile_get_row(p, TERN_PROFILE_OPS, 0, &row));
    CHECK(strcmp(row.name, "planted") == 0 && strcmp(row.category, "work") == 0);
    CHECK_EQ(row.count, 3);
    CHECK_EQ(row.threads, 2);
    CHECK_STATUS(tern_profile_get_row(p, TERN_PROFILE_STEPS, 0, &row),
                 TERN_OUT_OF_RANGE); /* the wait is of no step */
    tern_profile_free(p);
}

TEST(lost_events_are_counted)
{
    tern_profile *p;
    tern_profile_info info;
    CHECK_OK(tern_profile_start(&(tern_profile_options){.events_per_thread = 8}));
    for (int i = 0; i < 20; i++)
        event("event", 100);
    CHECK_OK(tern_profile_stop(&p));
    tern_profile_get_info(p, &info);
    CHECK_EQ(info.events, 8);
    CHECK_EQ(info.lost, 12);
    check_sums(p);
    tern_profile_free(p);
}

/* ---- programs ---- */

static tern_status run_model(tern_ctx *ctx)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){64, 256}, 1),
                    *w = tern_randn(ctx, TERN_F32, 2, (int64_t[]){256, 256}, 2);
        for (int i = 0; i < 2; i++) {
            tern_origin_open(ctx, i == 0 ? "layer 0" : "layer 1");
            tern_origin_open(ctx, "attention");
            x = tern_matmul(x, w, false, false);
            tern_origin_close(ctx);
            tern_origin_open(ctx, "feed-forward");
            x = tern_softmax(x, -1);
            tern_origin_close(ctx);
            tern_origin_close(ctx);
        }
        TERN_TRY(tern_eval(x));
    }
    return TERN_OK;
}

TEST(steps_are_told_by_the_part_that_they_come_from)
{
    tern_ctx_options o = tern_ctx_options_default();
    o.threads = 2;
    tern_ctx *ctx;
    tern_profile *p;
    CHECK_OK(tern_ctx_create(&o, &ctx));
    CHECK_OK(run_model(ctx));
    CHECK_OK(tern_profile_start(NULL));
    CHECK_OK(run_model(ctx));
    CHECK_OK(run_model(ctx));
    tern_ctx_destroy(ctx); /* the profile needs nothing of it */
    CHECK_OK(tern_profile_stop(&p));
    check_sums(p);
    tern_profile_row row;
    CHECK(find_row(p, TERN_PROFILE_PARTS, "layer 0/attention", &row));
    CHECK(row.count >= 2 && row.flops > 0 && row.bytes > 0);
    CHECK(find_row(p, TERN_PROFILE_PARTS, "layer 1/feed-forward", &row));
    CHECK(find_row(p, TERN_PROFILE_OPS, "matmul", &row));
    CHECK(row.kernel != NULL && strcmp(row.category, "step") == 0);
    bool layer = false, part = false, step = false;
    tern_profile_frame f, up;
    for (int i = 0; tern_profile_get_frame(p, i, &f) == TERN_OK; i++) {
        if (f.parent < 0)
            continue;
        CHECK_OK(tern_profile_get_frame(p, f.parent, &up));
        layer |= strcmp(f.name, "layer 0") == 0 && strcmp(up.name, "run") == 0;
        part |= strcmp(f.name, "attention") == 0 && strncmp(up.name, "layer", 5) == 0;
        step |= strcmp(f.name, "matmul") == 0 && strcmp(up.name, "attention") == 0;
    }
    CHECK(layer && part && step);
    for (int i = 0; tern_profile_get_row(p, TERN_PROFILE_STEPS, i, &row) == TERN_OK; i++)
        CHECK(row.program > 0 && row.step != UINT32_MAX && (row.where || strcmp(row.name, "randn") == 0));
    tern_profile_free(p);
}

TEST(origins_are_part_of_graphs)
{
    tern_ctx *ctx;
    tern_graph *g;
    char *text;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_tensor *x = tern_input(ctx, "x", TERN_F32, 1, (int64_t[]){4});
    tern_origin_close(ctx); /* nothing is open: nothing happens */
    tern_origin_open(ctx, "layer 3");
    tern_origin_open(ctx, "norm");
    tern_tensor *y = tern_relu(x);
    tern_origin_close(ctx);
    tern_tensor *z = tern_neg(y);
    tern_origin_close(ctx);
    tern_tensor *out = tern_exp(z);
    CHECK_OK(tern_graph_capture(ctx, 1, &out, NULL, &g));
    CHECK_OK(tern_graph_print(g, &text));
    CHECK(strstr(text, "from \"layer 3/norm\"") != NULL);
    CHECK(strstr(text, "from \"layer 3\"") != NULL);
    tern_string_free(text);
    tern_graph_free(g);
    tern_ctx_destroy(ctx);
}

TEST(without_memory)
{
    tern_profile *p = NULL;
    const uint64_t before = live_blocks();
    for (int n = 0; n < 200; n++) {
        CHECK_OK(tern_profile_start(&(tern_profile_options){.events_per_thread = 64}));
        event("outer", 10);
        event("inner", 10);
        gate g = {.countdown = n + 1};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = tern_profile_stop(&p);
        tern_alloc_set_gate(NULL, NULL);
        CHECK(!tern_trace_is_on());
        if (status == TERN_OK) {
            tern_profile_free(p);
            CHECK(n > 0);
            return;
        }
        CHECK_EQ(status, TERN_OUT_OF_MEMORY);
        CHECK_EQ(live_blocks(), before);
    }
    CHECK(false);
}

/* ---- hot spots ---- */

static const tern_profile_limits known = {
    .one = {1, 1e9, 2e9, 4e9, 1e9, 4e9},
    .all = {2, 2e9, 4e9, 8e9, 2e9, 8e9},
};

/* One step of a program that lasts at least `ns`. */
static void step(const char *name, uint32_t number, uint64_t ns, uint64_t flops, uint64_t bytes, bool int8)
{
    const uint64_t start = tern__trace_begin();
    busy(ns);
    tern__trace_record(start, &(tern__trace_what){.name = name,
                                                  .category = "step",
                                                  .kernel = "planted",
                                                  .program = 7,
                                                  .step = number,
                                                  .flops = flops,
                                                  .bytes = bytes,
                                                  .int8 = int8});
}

static tern_hot_spot hot_spot(const tern_profile *p, const char *name, const tern_profile_limits *limits)
{
    tern_hot_spot h = {0};
    for (int i = 0; tern_profile_get_hot_spot(p, TERN_PROFILE_OPS, i, limits, &h) == TERN_OK; i++)
        if (strcmp(h.row.name, name) == 0)
            return h;
    h.row.name = "none";
    return h;
}

TEST(what_holds_a_step_back)
{
    tern_profile *p;
    const uint64_t far = (uint64_t)1 << 40; /* bytes that no cache holds */
    plant_clock(true);
    CHECK_OK(tern_profile_start(NULL));
    step("memory", 0, 2 * ms, 0, 1500000, false);
    step("compute", 1, 2 * ms, 1500000, 0, false);
    step("int8", 2, 2 * ms, 6000000, 0, true);
    step("overhead", 3, 2 * ms, 1000, 1000, false);
    step("excess", 4, ms / 10, 0, far, false);
    step("alone", 5, 2 * ms, 0, 1500000, false);
    const uint64_t start = tern__trace_begin();
    busy(8 * ms);
    tern__trace_record(start,
                       &(tern__trace_what){.name = "idle", .category = "wait", .program = 7, .step = 5});
    event("other", 3 * ms);
    CHECK_OK(tern_profile_stop(&p));
    plant_clock(false);
    check_sums(p);
    tern_hot_spot h = hot_spot(p, "memory", &known);
    CHECK_NEAR(h.limit_share, 0.75, 1e-9);
    CHECK_EQ(h.bottleneck, TERN_BOTTLENECK_MEMORY);
    CHECK(strstr(h.evidence, "GB/s"));
    CHECK(h.saving_ns >= ms / 2 - 1 && h.saving_ns <= h.row.self_ns - 3 * ms / 2 + 1);
    h = hot_spot(p, "compute", &known);
    CHECK_EQ(h.bottleneck, TERN_BOTTLENECK_COMPUTE);
    CHECK(strstr(h.evidence, "in f32"));
    h = hot_spot(p, "int8", &known);
    CHECK_EQ(h.bottleneck, TERN_BOTTLENECK_COMPUTE);
    CHECK(strstr(h.evidence, "on int8"));
    h = hot_spot(p, "overhead", &known);
    CHECK_EQ(h.bottleneck, TERN_BOTTLENECK_OVERHEAD);
    CHECK(h.saving_ns > h.row.self_ns / 2);
    h = hot_spot(p, "excess", &known);
    CHECK(h.limit_share != h.limit_share && h.bottleneck == TERN_BOTTLENECK_UNKNOWN && h.saving_ns == 0);
    tern_profile_row row;
    bool waited = false;
    for (int i = 0; tern_profile_get_row(p, TERN_PROFILE_STEPS, i, &row) == TERN_OK; i++)
        waited |= row.step == 5 && row.wait_ns >= 8 * ms;
    CHECK(waited);
    for (int i = 0; tern_profile_get_hot_spot(p, TERN_PROFILE_STEPS, i, &known, &h) == TERN_OK; i++)
        if (h.row.step == 5)
            CHECK_EQ(h.bottleneck, TERN_BOTTLENECK_IMBALANCE);
    h = hot_spot(p, "memory", NULL);
    CHECK(h.limit_share != h.limit_share && h.bottleneck == TERN_BOTTLENECK_UNKNOWN);
    h = hot_spot(p, "other", &known);
    CHECK(h.limit_share != h.limit_share && h.bottleneck == TERN_BOTTLENECK_OVERHEAD);
    CHECK_STR(tern_bottleneck_name(TERN_BOTTLENECK_IMBALANCE), "imbalance");
    tern_profile_free(p);
}

/* Attention's cost is that of a full context: with a short one neither its bytes nor its arithmetic are known. */
TEST(work_that_depends_on_data_has_no_share)
{
    tern_ctx *ctx;
    tern_profile *p;
    const int32_t slots[] = {0}, positions[] = {1};
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 1; /* nobody waits for another */
    CHECK_OK(tern_ctx_create(&options, &ctx));
    tern_tensor *q = tern_randn(ctx, TERN_F32, 3, (int64_t[]){1, 4, 16}, 1),
                *k = tern_randn(ctx, TERN_F32, 4, (int64_t[]){1, 512, 2, 16}, 2);
    tern_tensor *y =
        tern_attention(q, k, k, tern_from_data(ctx, TERN_I32, 1, (int64_t[]){1}, slots),
                       tern_from_data(ctx, TERN_I32, 1, (int64_t[]){1}, positions), NULL, NULL, 0);
    CHECK_OK(tern_profile_start(NULL));
    CHECK_OK(tern_eval(y));
    CHECK_OK(tern_profile_stop(&p));
    /* Limits at which a full context would be believed, whatever the time was. */
    const tern_profile_limits fast = {.one = {1, 1e18, 1e18, 1e18, 1e18, 1e18},
                                      .all = {2, 1e18, 1e18, 1e18, 1e18, 1e18}};
    const tern_hot_spot h = hot_spot(p, "attention", &fast);
    CHECK_STR(h.row.name, "attention");
    CHECK(h.row.at_most && h.row.flops > 0 && h.saving_ns == 0);
    CHECK(h.limit_share != h.limit_share && strstr(h.evidence, "depends on data") != NULL);
    CHECK_EQ(h.bottleneck, TERN_BOTTLENECK_UNKNOWN);
    tern_profile_free(p);
    tern_ctx_destroy(ctx);
}

TEST(limits_are_measured)
{
    tern_profile_limits l;
    CHECK_STATUS(tern_profile_measure_limits(-1, &l), TERN_INVALID_ARGUMENT);
    CHECK_OK(tern_profile_measure_limits(2, &l));
    CHECK_EQ(l.one.threads, 1);
    CHECK_EQ(l.all.threads, tern__cpu()->cores_usable < 2 ? 1 : 2);
    CHECK(l.one.memory_bytes_per_s > 0 && l.one.cache_bytes_per_s > 0);
    CHECK((l.all.last_bytes_per_s > 0) == (tern__cpu()->l3_bytes / 2 >= 4096 + (128 << 10)));
    /* Both were measured: one is not reckoned from the other. */
    CHECK(l.all.threads == 1 || l.all.cache_bytes_per_s != 2 * l.one.cache_bytes_per_s);
    CHECK_OK(tern_profile_measure_limits(
        200, &l)); /* threads that could not run at once have no limit of their own */
    CHECK_EQ(l.all.threads, tern__cpu()->cores_usable);
}

TEST(counters_count_or_say_why_not)
{
    tern_profile *p;
    tern_profile_counter c;
    int n = 0;
    CHECK_OK(tern_profile_start(&(tern_profile_options){.counters = true}));
    busy(ms);
    CHECK_OK(tern_profile_stop(&p));
    for (; tern_profile_get_counter(p, n, &c) == TERN_OK; n++)
        CHECK(c.name && (c.unavailable ? strlen(c.unavailable) > 10 : c.value >= 0 && c.running > 0));
    CHECK(n > 3);
    tern_profile_free(p);
    CHECK_OK(tern_profile_start(NULL));
    CHECK_OK(tern_profile_stop(&p));
    CHECK_STATUS(tern_profile_get_counter(p, 0, &c), TERN_OUT_OF_RANGE);
    tern_profile_free(p);
}

TEST(formats)
{
    tern_profile *p;
    tern_profile_format format;
    char *text = NULL;
    CHECK_OK(tern_profile_format_parse("svg", &format));
    CHECK_EQ(format, TERN_PROFILE_FORMAT_SVG);
    CHECK_STATUS(tern_profile_format_parse("pdf", &format), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "collapsed, speedscope, chrome, svg and json") != NULL);
    for (int full = 0; full < 2; full++) {
        CHECK_OK(tern_profile_start(NULL));
        if (full)
            event("a;b\n\"<&\x01\xff", ms);
        CHECK_OK(tern_profile_stop(&p));
        for (int i = 0; i <= TERN_PROFILE_FORMAT_JSON; i++) {
            CHECK_OK(tern_profile_export(p, (tern_profile_format)i, NULL, &text));
            CHECK(i == TERN_PROFILE_FORMAT_COLLAPSED || strlen(text) > 50);
            CHECK(strchr(text, '\x01') == NULL &&
                  (i != TERN_PROFILE_FORMAT_SVG || strstr(text, "<&") == NULL));
            if (i == TERN_PROFILE_FORMAT_COLLAPSED && full)
                CHECK(strncmp(text, "main;a_b_", 9) == 0);
            tern_string_free(text);
        }
        CHECK_STATUS(tern_profile_export(p, (tern_profile_format)9, NULL, &text), TERN_INVALID_ARGUMENT);
        tern_profile_free(p);
    }
}
