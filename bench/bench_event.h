/* bench_event.h - what a trace event costs while nobody records. A single one disappears between the instructions around it,
 * so many in a row are timed. */
#ifndef TERN_BENCH_EVENT_H
#define TERN_BENCH_EVENT_H

#include "base/trace.h"
#include "bench_json.h"
#include "measure/timing.h"

enum { BENCH_EVENTS = 1 << 20, BENCH_EVENT_ROUNDS = 31 };

static inline __attribute__((always_inline)) void bench_one_event(void)
{
    uint64_t event = tern__trace_begin();
    __asm__ volatile("" : "+r"(event) : : "memory");
    tern__trace_end(event, "x", "bench", 0, 0, 0);
}

#define BENCH_EVENTS_4() bench_one_event(), bench_one_event(), bench_one_event(), bench_one_event()
#define BENCH_EVENTS_16() BENCH_EVENTS_4(), BENCH_EVENTS_4(), BENCH_EVENTS_4(), BENCH_EVENTS_4()

typedef struct bench_event_cost {
    double ns;    /* of one begin and end, switched off */
    bool bounded; /* too little to tell from the loop around it: `ns` is what loop and event take together */
} bench_event_cost;

static inline tern_status bench_events(void *user)
{
    (void)user;
    for (int i = 0; i < BENCH_EVENTS / 16; i++)
        BENCH_EVENTS_16();
    return TERN_OK;
}

static inline tern_status bench_no_events(void *user)
{
    (void)user;
    for (int i = 0; i < BENCH_EVENTS / 16; i++)
        __asm__ volatile("" : : "r"((uint64_t)i) : "memory");
    return TERN_OK;
}

/* Sixteen events per turn of a loop, minus the loop without them. */
static inline bench_event_cost bench_event_off(void)
{
    double with[BENCH_EVENT_ROUNDS], difference[BENCH_EVENT_ROUNDS];
    for (int r = 0; r < BENCH_EVENT_ROUNDS; r++) {
        double all = 0, loop = 0; /* these two cannot fail */
        (void)tern__thing_time(&(tern__thing){bench_events, NULL, 1}, &all);
        (void)tern__thing_time(&(tern__thing){bench_no_events, NULL, 1}, &loop);
        with[r] = all * 1e9 / BENCH_EVENTS;
        difference[r] = (all - loop) * 1e9 / BENCH_EVENTS;
    }
    qsort(difference, BENCH_EVENT_ROUNDS, sizeof *difference, bench_by_value);
    double ns = difference[BENCH_EVENT_ROUNDS / 2];
    double spread = difference[BENCH_EVENT_ROUNDS * 3 / 4] - difference[BENCH_EVENT_ROUNDS / 4];
    if (ns > spread)
        return (bench_event_cost){.ns = ns};
    return (bench_event_cost){.ns = bench_median(with, BENCH_EVENT_ROUNDS), .bounded = true};
}

#endif
