/* profile.h - what a profile consists of: spans in order of start, and the rows and frames that add them up. */
#ifndef TERN_MEASURE_PROFILE_H
#define TERN_MEASURE_PROFILE_H

#include <tern/profile.h>
#include <tern/trace.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "measure/profile/profile_counters.h"

/* Not only for trace events: category "part" is a part of a model, made around the steps that come from it. */
typedef struct tern__span {
    tern_trace_event
        event;      /* its names are interned: equal ones are one pointer; start_ns since the profile's */
    int64_t parent; /* span, or -1 */
    int depth;
    uint64_t children_ns; /* of spans that are directly inside */
    uint64_t events_ns;   /* of events that are inside, directly or in parts of models */
    int frame;
} tern__span;

typedef struct tern__profile_thread {
    char name[24];
    size_t first, n; /* spans */
    uint64_t work_ns, wait_ns;
} tern__profile_thread;

/* Where the data of a program are when it runs again: in the smallest of these that holds all its bytes. */
enum { TERN__IN_PRIVATE_CACHE, TERN__IN_LAST_CACHE, TERN__IN_MEMORY, TERN__PLACES };

typedef struct tern__profile_row {
    tern_profile_row row;
    uint64_t bytes[TERN__PLACES]; /* of row.bytes, by where they are */
    uint64_t int8;                /* of row.flops, those on int8 */
} tern__profile_row;

typedef struct tern__profile_rows {
    tern__profile_row *rows;
    int n;
} tern__profile_rows;

enum { TERN__PROFILE_BY_COUNT = TERN_PROFILE_PARTS + 1 };

struct tern_profile {
    tern_profile_info info;
    const char *step, *wait, *run, *part, *copy, *compile, *work; /* categories, interned */
    tern__span *spans; /* by thread, then by start; a block of its own */
    size_t n_spans, cap_spans;
    tern__profile_thread *threads; /* a block of its own */
    size_t cap_threads;
    tern_profile_frame *frames; /* a block of its own, and so are rows */
    tern__profile_rows by[TERN__PROFILE_BY_COUNT];
    int n_counters;
    tern__counter counters[TERN__COUNTERS];
    char title[256];
};

/* profile_spans.c: the visitor of tern_trace_stop, which puts each event in its place among the spans. */
typedef struct tern__span_builder {
    tern_profile *profile;
    uint64_t start_ns; /* of the profile */
    int64_t inside;    /* the innermost span that may hold the next event, or -1 */
    bool failed;       /* no memory */
} tern__span_builder;

void tern__span_add(tern__span_builder *builder, const tern_trace_event *event);
/* Once all are there. */
void tern__spans_finish(tern_profile *profile);

/* profile_places.c: where `bytes` are that so many threads go through again and again: TERN__IN_MEMORY if no cache is known that
 * holds them. */
int tern__place_in_caches(double bytes, int threads);
/* For each event of a step where its bytes are; (n_spans) for the caller to free. */
tern_status tern__profile_find_places(const tern_profile *profile, uint8_t **out);

/* profile_json.c */
void tern__profile_add_json(tern__strbuf *s, const tern_profile *p, const tern_profile_limits *limits);

/* profile_rows.c, profile_tree.c */
tern_status tern__profile_make_rows(tern_profile *profile);
tern_status tern__profile_make_tree(tern_profile *profile);

static inline bool tern__span_is_event(const tern_profile *p, const tern__span *s)
{
    return s->event.category != p->part;
}

#endif
