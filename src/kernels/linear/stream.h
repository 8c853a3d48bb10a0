/* stream.h - weights that come next, fetched while others are multiplied.
 *
 * Most memory gives more to many streams than to one or two: they keep more of its pages open, and more of the hardware's own
 * prefetchers busy. So what comes next is fetched in as many runs side by side, whatever the order in which it will be read
 * from the cache. Where memory gives most to what is read in order (TERN__FEATURE_ONE_STREAM), the stream runs a little
 * ahead of the reader instead. */
#ifndef TERN_KERNELS_LINEAR_STREAM_H
#define TERN_KERNELS_LINEAR_STREAM_H

#include <stdbool.h>
#include <stdint.h>

enum { TERN__STREAMS = 8, TERN__STREAM_LINE = 64, TERN__STREAM_AHEAD = 8192 };

typedef struct tern__stream {
    uintptr_t at;   /* the next line; addresses, as it may lie beyond what there is */
    uintptr_t end;  /* of the last run */
    uintptr_t step; /* from run to run */
    uintptr_t back; /* from beyond the last run to the next line of the first */
    bool soon;      /* the stream runs a little ahead of the reader */
} tern__stream;

/* `runs` runs from `from` on, `step` bytes apart, a multiple of a line. No step: lines follow each other. */
static inline __attribute__((always_inline)) tern__stream tern__stream_begin(const uint8_t *from, int runs,
                                                                             int64_t step)
{
    const uintptr_t at = (uintptr_t)from, all = (uintptr_t)(runs * step);
    return (tern__stream){
        .at = at, .end = at + all, .step = (uintptr_t)step, .back = all - TERN__STREAM_LINE};
}

/* As many bytes as these, in TERN__STREAMS runs. */
static inline __attribute__((always_inline)) tern__stream tern__stream_of(const uint8_t *from, int64_t bytes)
{
    const int64_t lines = bytes / TERN__STREAM_LINE + 1;
    return tern__stream_begin(from, TERN__STREAMS,
                              (lines + TERN__STREAMS - 1) / TERN__STREAMS * TERN__STREAM_LINE);
}

/* The next address of the stream. */
static inline __attribute__((always_inline)) const void *tern__stream_next(tern__stream *s)
{
    const uintptr_t at = s->at;
    s->at += s->step;
    s->at -= s->at >= s->end ? s->back : 0;
    return (const void *)at;
}

static inline __attribute__((always_inline)) void tern__stream_fetch(tern__stream *s, int64_t bytes)
{
    for (int64_t b = 0; b < bytes; b += TERN__STREAM_LINE)
        __builtin_prefetch(tern__stream_next(s));
}

/* Into the second-level cache only, for those who fetch what is read next from there themselves. */
static inline __attribute__((always_inline)) void tern__stream_fetch_far(tern__stream *s, int64_t bytes)
{
    for (int64_t b = 0; b < bytes; b += TERN__STREAM_LINE)
        __builtin_prefetch(tern__stream_next(s), 0, 2);
}

#endif
