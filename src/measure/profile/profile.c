/* profile.c - a profile from its start to its end: records events, adds them up, tells. */
#include "measure/profile/profile.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/names.h"
#include "base/status.h"

enum { EVENTS_DEFAULT = 262144 };

static struct {
    _Atomic(bool) on; /* the trace was started here */
    uint64_t start_ns;
    bool counts;
    tern__counter counters[TERN__COUNTERS];
    char title[256];
} session;

/* ---- making ---- */

tern_profile_options tern_profile_options_default(void)
{
    return (tern_profile_options){0};
}

tern_status tern_profile_start(const tern_profile_options *options)
{
    const tern_profile_options o = options ? *options : tern_profile_options_default();
    tern_status status = tern_trace_start(&(tern_trace_options){
        .events_per_thread = o.events_per_thread ? o.events_per_thread : EVENTS_DEFAULT});
    if (status != TERN_OK)
        return tern__fail_in(status, "profile_start");
    session.counts = o.counters;
    snprintf(session.title, sizeof session.title, "%s", o.title ? o.title : "");
    if (session.counts)
        tern__counters_open(session.counters);
    session.start_ns = tern__now_ns();
    atomic_store(&session.on, true);
    return TERN_OK;
}

static void visit(void *user, const tern_trace_event *event)
{
    tern__span_add(user, event);
}

static tern_status collect(tern_profile *p)
{
    tern__span_builder builder = {.profile = p, .start_ns = session.start_ns, .inside = -1};
    p->step = tern__intern("step");
    p->wait = tern__intern("wait");
    p->run = tern__intern("run");
    p->part = tern__intern("part");
    p->copy = tern__intern("copy");
    p->compile = tern__intern("compile");
    p->work = tern__intern("work");
    p->info.wall_ns = tern__now_ns() - session.start_ns;
    memcpy(p->title, session.title, sizeof p->title);
    p->info.title = p->title;
    TERN_TRY(tern_trace_stop(visit, &builder, &p->info.lost));
    if (builder.failed)
        return tern__out_of_memory(p->n_spans * sizeof *p->spans);
    tern__spans_finish(p);
    TERN_TRY(tern__profile_make_rows(p));
    return tern__profile_make_tree(p);
}

tern_status tern_profile_stop(tern_profile **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "profile_stop: the place for the profile is NULL");
    TERN__FAIL_IF(!atomic_exchange(&session.on, false), TERN_STATE, "profile_stop: no profile was started");
    if (session.counts)
        tern__counters_close(session.counters);
    tern_profile *p = tern__alloc_zero(1, sizeof *p);
    if (!p) {
        tern_trace_stop(NULL, NULL, NULL);
        return tern__out_of_memory(sizeof *p);
    }
    p->n_counters = session.counts ? TERN__COUNTERS : 0;
    memcpy(p->counters, session.counters, sizeof p->counters);
    tern_status status = collect(p);
    if (status != TERN_OK) {
        tern_profile_free(p);
        return status;
    }
    *out = p;
    return TERN_OK;
}

void tern_profile_free(tern_profile *profile)
{
    if (!profile)
        return;
    tern__free(profile->spans);
    tern__free(profile->threads);
    tern__free(profile->frames);
    for (int by = 0; by < TERN__PROFILE_BY_COUNT; by++)
        tern__free(profile->by[by].rows);
    tern__free(profile);
}

/* ---- telling ---- */

tern_status tern_profile_by_parse(const char *name, tern_profile_by *out)
{
    static const char *const names[] = {
#define NAME(id, number, text, meaning) [number] = text,
        TERN_PROFILE_BY_LIST(NAME)
#undef NAME
    };
    int number = 0;
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "profile rows: an argument is NULL");
    TERN_TRY(tern__name_find(names, TERN__COUNT(names), "profile rows", name, &number));
    *out = (tern_profile_by)number;
    return TERN_OK;
}

void tern_profile_get_info(const tern_profile *profile, tern_profile_info *out)
{
    if (profile && out)
        *out = profile->info;
}

static tern_status check(const tern_profile *p, const void *out, const char *what, int i, size_t n)
{
    TERN__FAIL_IF(!p || !out, TERN_INVALID_ARGUMENT, "profile: an argument is NULL");
    TERN__FAIL_IF(i < 0 || (size_t)i >= n, TERN_OUT_OF_RANGE, "profile: %s %d: there are %zu", what, i, n);
    return TERN_OK;
}

tern_status tern_profile_get_row(const tern_profile *profile, tern_profile_by by, int i,
                                 tern_profile_row *out)
{
    TERN__FAIL_IF((unsigned)by >= TERN__PROFILE_BY_COUNT, TERN_INVALID_ARGUMENT,
                  "profile: there are no rows of kind %d", (int)by);
    TERN_TRY(check(profile, out, "row", i, profile ? (size_t)profile->by[by].n : 0));
    *out = profile->by[by].rows[i].row;
    return TERN_OK;
}

tern_status tern_profile_get_frame(const tern_profile *profile, int i, tern_profile_frame *out)
{
    TERN_TRY(check(profile, out, "frame", i, profile ? (size_t)profile->info.frames : 0));
    *out = profile->frames[i];
    return TERN_OK;
}

tern_status tern_profile_get_thread(const tern_profile *profile, int i, tern_profile_thread *out)
{
    TERN_TRY(check(profile, out, "thread", i, profile ? (size_t)profile->info.threads : 0));
    const tern__profile_thread *t = &profile->threads[i];
    *out = (tern_profile_thread){
        .name = t->name, .spans = (int)t->n, .work_ns = t->work_ns, .wait_ns = t->wait_ns};
    return TERN_OK;
}

tern_status tern_profile_get_span(const tern_profile *profile, int thread, int i, tern_profile_span *out)
{
    TERN_TRY(check(profile, out, "thread", thread, profile ? (size_t)profile->info.threads : 0));
    TERN_TRY(check(profile, out, "span", i, profile->threads[thread].n));
    const tern__span *s = &profile->spans[profile->threads[thread].first + (size_t)i];
    const tern_trace_event *e = &s->event;
    *out = (tern_profile_span){.name = e->name,
                               .category = e->category,
                               .kernel = e->kernel,
                               .where = e->where,
                               .start_ns = e->start_ns,
                               .duration_ns = e->duration_ns,
                               .depth = s->depth,
                               .program = e->program,
                               .step = e->step,
                               .flops = e->flops,
                               .bytes = e->bytes};
    return TERN_OK;
}

tern_status tern_profile_get_counter(const tern_profile *profile, int i, tern_profile_counter *out)
{
    TERN_TRY(check(profile, out, "counter", i, profile ? (size_t)profile->n_counters : 0));
    const tern__counter *c = &profile->counters[i];
    *out = (tern_profile_counter){.name = tern__counter_name(i),
                                  .value = c->value,
                                  .running = c->running,
                                  .unavailable = c->why[0] ? c->why : NULL};
    return TERN_OK;
}
