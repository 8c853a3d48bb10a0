/* trace.c - one ring of events per thread, or track of a device, and recording session.
 *
 * A thread reaches its ring through a thread-local track, whose pointer is good for one session; the session's number
 * stands beside it, so a pointer left over from an earlier session is never followed. All rings of a session
 * are in one list (pushed without a lock, taken apart by tern_trace_stop), which frees them even if their
 * thread is gone. */
#include "base/trace.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/signpost.h"

enum { EVENTS_DEFAULT = 65536 };

typedef struct tern__trace_ring {
    struct tern__trace_ring *next;
    uint32_t thread;
    uint64_t mask;             /* capacity - 1 */
    _Atomic(uint64_t) written; /* events ever recorded here; event i is at i & mask */
    tern_trace_event events[];
} ring;

_Atomic(bool) tern__trace_enabled;

static struct {
    _Atomic(uint64_t) number;   /* of the session, from 1 */
    _Atomic(ring *) rings;      /* newest first */
    _Atomic(uint32_t) threads;  /* that have a ring */
    _Atomic(uint64_t) homeless; /* events for which no ring could be had */
    size_t capacity;
} session;

static _Thread_local tern__trace_track mine;

/* The track's ring in session `number`, made at its first event; NULL when out of memory. */
static ring *attach(tern__trace_track *track, uint64_t number)
{
    size_t bytes;
    if (!tern__size_mul(session.capacity, sizeof(tern_trace_event), &bytes) ||
        !tern__size_add(bytes, sizeof(ring), &bytes))
        return NULL;
    ring *r = tern__alloc(bytes);
    if (r == NULL)
        return NULL;
    r->thread = atomic_fetch_add_explicit(&session.threads, 1, memory_order_relaxed);
    r->mask = session.capacity - 1;
    atomic_init(&r->written, 0);
    r->next = atomic_load_explicit(&session.rings, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&session.rings, &r->next, r, memory_order_release,
                                                  memory_order_relaxed))
        ;
    track->session = number;
    track->ring = r;
    return r;
}

void tern__trace_record_on(tern__trace_track *track, uint64_t start_ns, uint64_t end_ns,
                           const tern__trace_what *what)
{
    /* Acquire: a thread that sees the session on sees its number and capacity. */
    if (!atomic_load_explicit(&tern__trace_enabled, memory_order_acquire))
        return;
    tern__signpost(what->name, what->kernel, end_ns - start_ns);
    uint64_t number = atomic_load_explicit(&session.number, memory_order_relaxed);
    ring *r = track->session == number ? track->ring : attach(track, number);
    if (r == NULL) {
        atomic_fetch_add_explicit(&session.homeless, 1, memory_order_relaxed);
        return;
    }
    uint64_t at = atomic_load_explicit(&r->written, memory_order_relaxed);
    r->events[at & r->mask] = (tern_trace_event){
        .name = what->name,
        .category = what->category,
        .kernel = what->kernel,
        .where = what->where,
        .start_ns = start_ns,
        .duration_ns = end_ns - start_ns,
        .thread = r->thread,
        .program = what->program,
        .step = what->step,
        .int8 = what->int8,
        .at_most = what->at_most,
        .flops = what->flops,
        .bytes = what->bytes,
    };
    atomic_store_explicit(&r->written, at + 1, memory_order_release);
}

void tern__trace_record_past(uint64_t start_ns, uint64_t end_ns, const tern__trace_what *what)
{
    tern__trace_record_on(&mine, start_ns, end_ns, what);
}

uint64_t tern__trace_record(uint64_t start_ns, const tern__trace_what *what)
{
    if (!atomic_load_explicit(&tern__trace_enabled, memory_order_relaxed))
        return 0;
    const uint64_t end_ns = tern__now_ns();
    tern__trace_record_on(&mine, start_ns, end_ns, what);
    return end_ns;
}

bool tern_trace_is_on(void)
{
    return atomic_load_explicit(&tern__trace_enabled, memory_order_relaxed);
}

tern_trace_options tern_trace_options_default(void)
{
    return (tern_trace_options){0};
}

tern_status tern_trace_start(const tern_trace_options *options)
{
    size_t wanted = options != NULL ? options->events_per_thread : 0;
    size_t capacity = wanted != 0 ? 1 : EVENTS_DEFAULT;
    TERN__FAIL_IF(tern_trace_is_on(), TERN_STATE, "trace: recording is on already; stop it first");
    TERN__FAIL_IF(wanted > SIZE_MAX / 2 / sizeof(tern_trace_event) / 2, TERN_OVERFLOW,
                  "trace: a ring of %zu events does not fit in memory", wanted);
    while (capacity < wanted)
        capacity *= 2;
    session.capacity = capacity;
    atomic_store_explicit(&session.threads, 0, memory_order_relaxed);
    atomic_store_explicit(&session.homeless, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&session.number, 1, memory_order_relaxed);
    atomic_store_explicit(&tern__trace_enabled, true, memory_order_release);
    return TERN_OK;
}

/* ---- reading the rings ---- */

static bool comes_before(const tern_trace_event *a, const tern_trace_event *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    return a->duration_ns > b->duration_ns;
}

/* Events stand in the order of their ends; this puts the kept ones, [first, written), in order of their
 * starts. An event moves past those nested in it and no others, so insertion costs events x depth of
 * nesting. */
static void sort_by_start(ring *r, uint64_t first, uint64_t written)
{
    for (uint64_t i = first + 1; i < written; i++) {
        tern_trace_event event = r->events[i & r->mask];
        uint64_t at = i;
        for (; at > first && comes_before(&event, &r->events[(at - 1) & r->mask]); at--)
            r->events[at & r->mask] = r->events[(at - 1) & r->mask];
        if (at != i)
            r->events[at & r->mask] = event;
    }
}

/* Visits what the ring kept; returns how many events it lost. */
static uint64_t visit_ring(ring *r, tern_trace_visit visit, void *user)
{
    uint64_t written = atomic_load_explicit(&r->written, memory_order_acquire);
    uint64_t first = written > r->mask ? written - r->mask - 1 : 0;
    if (visit != NULL) {
        sort_by_start(r, first, written);
        for (uint64_t i = first; i < written; i++)
            visit(user, &r->events[i & r->mask]);
    }
    return first;
}

/* The list with its rings in order of their threads' numbers. They were pushed nearly in that order, so the
 * place is found at once. */
static ring *sorted_by_thread(ring *list)
{
    ring *sorted = NULL;
    while (list != NULL) {
        ring *r = list;
        list = r->next;
        ring **at = &sorted;
        while (*at != NULL && (*at)->thread < r->thread)
            at = &(*at)->next;
        r->next = *at;
        *at = r;
    }
    return sorted;
}

tern_status tern_trace_stop(tern_trace_visit visit, void *user, uint64_t *lost)
{
    TERN__FAIL_IF(!atomic_exchange_explicit(&tern__trace_enabled, false, memory_order_acq_rel), TERN_STATE,
                  "trace: recording is not on");
    ring *rings = atomic_exchange_explicit(&session.rings, NULL, memory_order_acquire);
    uint64_t missing = atomic_load_explicit(&session.homeless, memory_order_relaxed);
    rings = sorted_by_thread(rings);
    while (rings != NULL) {
        ring *r = rings;
        rings = r->next;
        missing += visit_ring(r, visit, user);
        tern__free(r);
    }
    if (lost != NULL)
        *lost = missing;
    return TERN_OK;
}
