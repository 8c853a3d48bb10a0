/* profile_spans.c - events of a thread, nested: which is inside which, and parts of models around the steps that come from
 * them. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "measure/profile/profile.h"

static uint64_t end_of(const tern__span *s)
{
    return s->event.start_ns + s->event.duration_ns;
}

static tern__span *span_at(tern__span_builder *b, int64_t i)
{
    return &b->profile->spans[i];
}

static void append(tern__span_builder *b, const tern_trace_event *event)
{
    tern_profile *p = b->profile;
    if (!tern__grow((void **)&p->spans, &p->cap_spans, p->n_spans + 1, sizeof *p->spans)) {
        b->failed = true;
        return;
    }
    const int depth = b->inside < 0 ? 0 : span_at(b, b->inside)->depth + 1;
    p->spans[p->n_spans] = (tern__span){.event = *event, .parent = b->inside, .depth = depth, .frame = -1};
    b->inside = (int64_t)p->n_spans++;
    p->threads[p->info.threads - 1].n++;
}

static void begin_thread(tern__span_builder *b)
{
    tern_profile *p = b->profile;
    const size_t n = (size_t)p->info.threads;
    b->inside = -1;
    if (!tern__grow((void **)&p->threads, &p->cap_threads, n + 1, sizeof *p->threads)) {
        b->failed = true;
        return;
    }
    p->threads[n] = (tern__profile_thread){.first = p->n_spans};
    snprintf(p->threads[n].name, sizeof p->threads[n].name, n == 0 ? "main" : "thread %d", p->info.threads);
    p->info.threads++;
}

/* ---- parts of models ---- */

/* The first name of a path, and what follows. "a + b" is where two parts meet: one name. */
static size_t first_name(const char *path)
{
    return strstr(path, " + ") ? strlen(path) : strcspn(path, "/");
}

/* How many of the parts that are open around `b->inside` begin the path: closes the others, and returns the rest of it. */
static const char *close_parts(tern__span_builder *b, const char *path)
{
    int64_t open[64];
    int n = 0, same = 0;
    for (int64_t i = b->inside; i >= 0 && !tern__span_is_event(b->profile, span_at(b, i)) && n < 64;
         i = span_at(b, i)->parent)
        open[n++] = i;
    while (path && same < n) {
        const char *name = span_at(b, open[n - 1 - same])->event.name;
        const size_t length = first_name(path);
        if (strlen(name) != length || strncmp(name, path, length) != 0)
            break;
        path += length + (path[length] == '/');
        same++;
    }
    for (int i = same; i < n; i++)
        b->inside = span_at(b, b->inside)->parent;
    return path;
}

static void open_parts(tern__span_builder *b, const char *path, const tern_trace_event *event)
{
    char name[512];
    while (path && *path && !b->failed) {
        const size_t length = first_name(path);
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        append(b, &(tern_trace_event){.name = tern__intern(name),
                                      .category = b->profile->part,
                                      .start_ns = event->start_ns,
                                      .thread = event->thread,
                                      .step = UINT32_MAX});
        path += length + (path[length] == '/');
    }
}

/* A part lasts as long as what is in it. */
static void stretch_parts(tern__span_builder *b, uint64_t end)
{
    for (int64_t i = b->inside; i >= 0 && !tern__span_is_event(b->profile, span_at(b, i));
         i = span_at(b, i)->parent)
        span_at(b, i)->event.duration_ns = end - span_at(b, i)->event.start_ns;
}

/* ---- events ---- */

/* The innermost event that is not over when another starts. Parts around it stay open if it is one of their steps. */
static void leave_finished(tern__span_builder *b, uint64_t start)
{
    while (b->inside >= 0) {
        const tern__span *s = span_at(b, b->inside);
        int64_t event = b->inside;
        while (event >= 0 && !tern__span_is_event(b->profile, span_at(b, event)))
            event = span_at(b, event)->parent;
        if (tern__span_is_event(b->profile, s) ? end_of(s) > start
                                               : event < 0 || end_of(span_at(b, event)) > start)
            return;
        b->inside = s->parent;
    }
}

static void keep_inside(tern__span_builder *b, tern_trace_event *event)
{
    int64_t i = b->inside;
    while (i >= 0 && !tern__span_is_event(b->profile, span_at(b, i)))
        i = span_at(b, i)->parent;
    if (i >= 0 && event->start_ns + event->duration_ns > end_of(span_at(b, i)))
        event->duration_ns = end_of(span_at(b, i)) - event->start_ns;
}

/* Who shares work beside programs, and has no name that says more. */
static void name_helper(tern_profile *p)
{
    static const char unknown[] = "thread ";
    tern__profile_thread *t = &p->threads[p->info.threads - 1];
    int number = 1;
    if (strncmp(t->name, unknown, strlen(unknown)) != 0)
        return;
    for (int i = 0; i < p->info.threads; i++)
        number += strncmp(p->threads[i].name, "helper ", strlen("helper ")) == 0;
    snprintf(t->name, sizeof t->name, "helper %d", number);
}

static bool is_compiling(const tern_profile *p, const tern__span *s)
{
    return s->event.category == p->compile;
}

/* Is it inside a compilation? Folding constants compiles again. */
static bool is_inside_compiling(const tern_profile *p, const tern__span *s)
{
    while (s->parent >= 0) {
        s = &p->spans[s->parent];
        if (is_compiling(p, s))
            return true;
    }
    return false;
}

void tern__span_add(tern__span_builder *b, const tern_trace_event *event)
{
    tern_profile *p = b->profile;
    tern_trace_event e = *event;
    p->info.events++;
    if (b->failed)
        return;
    while (!b->failed && (uint32_t)p->info.threads <= e.thread)
        begin_thread(b);
    if (b->failed)
        return;
    e.start_ns = e.start_ns > b->start_ns ? e.start_ns - b->start_ns : 0;
    e.name = tern__intern(e.name);
    e.category = tern__intern(e.category);
    e.kernel = tern__intern(e.kernel);
    leave_finished(b, e.start_ns);
    keep_inside(b, &e);
    open_parts(b, close_parts(b, e.where), &e);
    stretch_parts(b, e.start_ns + e.duration_ns);
    if (!b->failed)
        append(b, &e);
    if (e.category == p->run && e.step > 0)
        snprintf(p->threads[p->info.threads - 1].name, sizeof p->threads->name, "worker %u", e.step);
    if (e.category == p->work && e.thread > 0)
        name_helper(p);
    if (e.category == p->copy && e.thread > 0)
        snprintf(p->threads[p->info.threads - 1].name, sizeof p->threads->name, "copies %u", e.thread);
}

/* Parents come before their children, so that one way back adds up. */
void tern__spans_finish(tern_profile *p)
{
    for (size_t i = p->n_spans; i-- > 0;) {
        const tern__span *s = &p->spans[i];
        const bool is_event = tern__span_is_event(p, s);
        const uint64_t events = is_event ? s->event.duration_ns : s->events_ns;
        tern__profile_thread *t = &p->threads[s->event.thread];
        if (is_event && s->event.category == p->wait)
            t->wait_ns += s->event.duration_ns;
        else if (is_event)
            t->work_ns += s->event.duration_ns - s->events_ns;
        if (is_compiling(p, s) && !is_inside_compiling(p, s))
            p->info.compile_ns += s->event.duration_ns;
        if (s->parent < 0)
            continue;
        p->spans[s->parent].children_ns += s->event.duration_ns;
        p->spans[s->parent].events_ns += events;
    }
    for (int t = 0; t < p->info.threads; t++) {
        p->info.work_ns += p->threads[t].work_ns;
        p->info.wait_ns += p->threads[t].wait_ns;
    }
}
