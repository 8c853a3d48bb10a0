/* test_trace.c - what is recorded, in which order it is visited, what counts as lost. */
#include <string.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "base/trace.h"
#include "gate.h"
#include "harness.h"

enum { SEEN_MAX = 20000 };

typedef struct seen {
    int count;
    tern_trace_event events[SEEN_MAX];
} seen;

static seen all;

static void keep(void *user, const tern_trace_event *event)
{
    seen *s = user;
    if (s->count < SEEN_MAX)
        s->events[s->count] = *event;
    s->count++;
}

static void record(const char *name, uint32_t step)
{
    tern__trace_end(tern__trace_begin(), name, "test", step, 0, 0);
}

static void wait_for_the_clock(void)
{
    uint64_t now = tern__now_ns();
    while (tern__now_ns() == now)
        ;
}

/* Stops, collects into `all`, and checks what holds for every recording: by thread, then by start. */
static void stop_and_check(int want_events, uint64_t want_lost)
{
    uint64_t lost = 99;
    all.count = 0;
    CHECK_OK(tern_trace_stop(keep, &all, &lost));
    CHECK_EQ(all.count, want_events);
    CHECK_EQ(lost, want_lost);
    for (int i = 1; i < all.count; i++) {
        const tern_trace_event *a = &all.events[i - 1], *b = &all.events[i];
        CHECK(a->thread < b->thread || (a->thread == b->thread && a->start_ns <= b->start_ns));
    }
}

TEST(off_records_nothing)
{
    uint64_t before = live_blocks();
    CHECK(!tern_trace_is_on());
    CHECK_EQ(tern__trace_begin(), 0);
    record("ignored", 0);
    CHECK_EQ(live_blocks(), before);
    uint64_t lost = 7;
    CHECK_STATUS(tern_trace_stop(keep, &all, &lost), TERN_STATE);
    CHECK_EQ(lost, 7);
}

TEST(an_event_carries_everything)
{
    CHECK_OK(tern_trace_start(NULL));
    CHECK(tern_trace_is_on());
    CHECK_STATUS(tern_trace_start(NULL), TERN_STATE);
    uint64_t start = tern__trace_begin();
    wait_for_the_clock();
    tern__trace_end(start, "matmul", "step", 12, 1000, 2000);
    stop_and_check(1, 0);
    CHECK(!tern_trace_is_on());
    const tern_trace_event *event = &all.events[0];
    CHECK_STR(event->name, "matmul");
    CHECK_STR(event->category, "step");
    CHECK_EQ(event->step, 12);
    CHECK_EQ(event->flops, 1000);
    CHECK_EQ(event->bytes, 2000);
    CHECK_EQ(event->thread, 0);
    CHECK_EQ(event->start_ns, start);
    CHECK(event->duration_ns > 0 && event->duration_ns <= tern__now_ns() - start);
}

TEST(nested_events_come_after_what_encloses_them)
{
    CHECK_OK(tern_trace_start(NULL));
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t outer = tern__trace_begin();
        wait_for_the_clock();
        uint64_t middle = tern__trace_begin();
        wait_for_the_clock();
        record("inner", 10 * i + 2);
        wait_for_the_clock();
        record("inner", 10 * i + 3);
        tern__trace_end(middle, "middle", "test", 10 * i + 1, 0, 0);
        tern__trace_end(outer, "outer", "test", 10 * i, 0, 0);
        wait_for_the_clock();
    }
    stop_and_check(12, 0);
    for (int i = 0; i < 12; i++)
        CHECK_EQ(all.events[i].step, i / 4 * 10 + i % 4);
}

TEST(an_event_that_began_while_off_is_not_recorded)
{
    uint64_t start = tern__trace_begin();
    CHECK_OK(tern_trace_start(NULL));
    tern__trace_end(start, "early", "test", 0, 0, 0);
    uint64_t late = tern__trace_begin();
    stop_and_check(0, 0);
    tern__trace_end(late, "late", "test", 0, 0, 0);
    CHECK_OK(tern_trace_start(NULL));
    stop_and_check(0, 0);
}

TEST(a_full_ring_keeps_the_newest_and_counts_the_rest)
{
    static const uint32_t totals[] = {0, 1, 7, 8, 9, 15, 16, 17, 20, 1000};
    for (size_t t = 0; t < sizeof totals / sizeof totals[0]; t++) {
        uint32_t total = totals[t], kept = total < 8 ? total : 8;
        CHECK_OK(tern_trace_start(&(tern_trace_options){.events_per_thread = 5})); /* becomes 8 */
        for (uint32_t i = 0; i < total; i++)
            record("event", i);
        stop_and_check((int)kept, total - kept);
        for (uint32_t i = 0; i < kept; i++)
            CHECK_EQ(all.events[i].step, total - kept + i);
    }
    CHECK_OK(tern_trace_start(&(tern_trace_options){.events_per_thread = 1}));
    record("a", 1);
    record("b", 2);
    stop_and_check(1, 1);
    CHECK_STR(all.events[0].name, "b");
}

TEST(a_wrapped_ring_is_still_sorted)
{
    CHECK_OK(tern_trace_start(&(tern_trace_options){.events_per_thread = 4}));
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t outer = tern__trace_begin();
        wait_for_the_clock();
        record("inner", 2 * i + 1);
        tern__trace_end(outer, "outer", "test", 2 * i, 0, 0);
        wait_for_the_clock();
    }
    stop_and_check(4, 6);
    for (uint32_t i = 0; i < 4; i++)
        CHECK_EQ(all.events[i].step, 6 + i);
}

/* ---- threads and sessions ---- */

static void record_many(void *arg, int worker, int workers)
{
    const int *events = arg;
    (void)workers;
    for (int i = 0; i < *events; i++)
        record(worker == 0 ? "caller" : "member", (uint32_t)(worker * 10000 + i));
}

TEST(threads_record_side_by_side)
{
    enum { WORKERS = 4, EVENTS = 1000 };
    int events = EVENTS;
    tern__threads *pool;
    CHECK_OK(tern__threads_create(WORKERS, &pool));
    CHECK_OK(tern_trace_start(NULL));
    tern__threads_run(pool, WORKERS, record_many, &events);
    stop_and_check(WORKERS * EVENTS, 0);
    bool present[WORKERS] = {false};
    for (int thread = 0; thread < WORKERS; thread++) {
        const tern_trace_event *first = &all.events[thread * EVENTS];
        uint32_t worker = first->step / 10000;
        CHECK(worker < WORKERS && !present[worker]);
        present[worker] = true;
        for (uint32_t i = 0; i < EVENTS; i++) {
            CHECK_EQ(first[i].thread, thread);
            CHECK_EQ(first[i].step, worker * 10000 + i);
        }
    }
    tern__threads_destroy(pool);
}

TEST(sessions_do_not_mix)
{
    uint64_t before = live_blocks();
    int events = 10;
    tern__threads *pool;
    CHECK_OK(tern__threads_create(3, &pool));
    for (int session = 0; session < 5; session++) {
        int workers = session == 2 ? 1 : 3; /* members keep a stale ring over session 2 */
        CHECK_OK(tern_trace_start(&(tern_trace_options){.events_per_thread = session % 2 == 0 ? 4 : 64}));
        tern__threads_run(pool, workers, record_many, &events);
        int kept = session % 2 == 0 ? 4 : 10;
        stop_and_check(workers * kept, (uint64_t)(workers * (10 - kept)));
        CHECK_EQ(all.events[0].thread, 0);
        CHECK_EQ(all.events[all.count - 1].thread, workers - 1);
    }
    tern__threads_destroy(pool);
    CHECK_EQ(live_blocks(), before);
}

TEST(events_outlive_their_thread)
{
    int events = 10;
    tern__threads *pool;
    CHECK_OK(tern__threads_create(3, &pool));
    CHECK_OK(tern_trace_start(NULL));
    tern__threads_run(pool, 3, record_many, &events);
    tern__threads_destroy(pool);
    CHECK_OK(tern__threads_create(3, &pool));
    tern__threads_run(pool, 3, record_many, &events);
    tern__threads_destroy(pool);
    stop_and_check(60, 0);
    CHECK_EQ(all.events[59].thread, 4); /* the caller has one ring, the four members one each */
}

/* ---- failure ---- */

TEST(without_memory_events_are_lost_and_counted)
{
    uint64_t before = live_blocks();
    CHECK_OK(tern_trace_start(NULL));
    tern_alloc_set_gate(gate_refuse, NULL);
    for (uint32_t i = 0; i < 5; i++)
        record("lost", i);
    tern_alloc_set_gate(NULL, NULL);
    record("kept", 5);
    stop_and_check(1, 5);
    CHECK_STR(all.events[0].name, "kept");
    CHECK_EQ(live_blocks(), before);
}

TEST(absurd_capacities_are_refused)
{
    CHECK_STATUS(tern_trace_start(&(tern_trace_options){.events_per_thread = SIZE_MAX}), TERN_OVERFLOW);
    CHECK_STATUS(tern_trace_start(&(tern_trace_options){.events_per_thread = SIZE_MAX / 64}), TERN_OVERFLOW);
    CHECK(!tern_trace_is_on());
}

TEST(stop_needs_no_visitor)
{
    CHECK_OK(tern_trace_start(NULL));
    record("unseen", 0);
    CHECK_OK(tern_trace_stop(NULL, NULL, NULL));
    CHECK(!tern_trace_is_on());
}
