/* trace.h - recording of timed events. When off, an event costs one load and one predicted branch. */
#ifndef TERN_BASE_TRACE_H
#define TERN_BASE_TRACE_H

#include <stdatomic.h>

#include <tern/trace.h>

#include "base/clock.h"
#include "base/status.h"

/* Hidden, so that the load below needs no detour through the linkage table of a shared library. */
extern _Atomic(bool) tern__trace_enabled __attribute__((visibility("hidden")));

static inline bool tern__trace_on(void)
{
    return TERN__UNLIKELY(atomic_load_explicit(&tern__trace_enabled, memory_order_relaxed));
}

/* Start time of an event, or 0 when tracing is off. */
static inline uint64_t tern__trace_begin(void)
{
    return tern__trace_on() ? tern__now_ns() : 0;
}

/* What an event is about; fields as in tern_trace_event. */
typedef struct tern__trace_what {
    const char *name, *category, *kernel, *where;
    uint32_t program, step;
    bool int8, at_most;
    uint64_t flops, bytes;
} tern__trace_what;

/* Records an event that began at `start_ns` and ends now; returns the end, where the next may begin. A thread's ring is
 * allocated at its first event; if that fails the event counts as lost. Events of one thread may be nested. */
uint64_t tern__trace_record(uint64_t start_ns, const tern__trace_what *what);

/* A line of events beside those of threads: what a device did, by its own clock. Zeroed at first; one thread at a time uses it. */
typedef struct tern__trace_track {
    uint64_t session; /* that `ring` is good for */
    struct tern__trace_ring *ring;
} tern__trace_track;

/* Records an event that is over on a track. */
void tern__trace_record_on(tern__trace_track *track, uint64_t start_ns, uint64_t end_ns,
                           const tern__trace_what *what);
/* The same on the calling thread's own. */
void tern__trace_record_past(uint64_t start_ns, uint64_t end_ns, const tern__trace_what *what);

/* tern__trace_record for a start from tern__trace_begin; nothing happens if that was 0. */
static inline void tern__trace_end(uint64_t start_ns, const char *name, const char *category, uint32_t step,
                                   uint64_t flops, uint64_t bytes)
{
    if (TERN__UNLIKELY(start_ns != 0))
        tern__trace_record(
            start_ns, &(tern__trace_what){
                          .name = name, .category = category, .step = step, .flops = flops, .bytes = bytes});
}

#endif
