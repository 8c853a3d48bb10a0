/* profile_json.c - all that a profile tells as one JSON object, which `tern report` reads; docs/profiling.md describes it. */
#include <math.h>

#include "measure/documents.h"
#include "measure/json_members.h"
#include "measure/profile/profile.h"

/* ---- hot spots ---- */

static void add_row(tern__strbuf *s, const tern_hot_spot *h)
{
    const tern_profile_row *r = &h->row;
    bool first = true;
    tern__strbuf_add(s, "{");
    tern__member_string(s, "name", r->name, &first);
    tern__member_string(s, "category", r->category, &first);
    tern__member_string(s, "kernel", r->kernel, &first);
    tern__member_string(s, "where", r->where, &first);
    if (r->step != UINT32_MAX) {
        tern__member_uint(s, "program", r->program, &first);
        tern__member_uint(s, "step", r->step, &first);
    }
    tern__member_int(s, "threads", r->threads, &first);
    tern__member_uint(s, "count", r->count, &first);
    tern__member_uint(s, "total_ns", r->total_ns, &first);
    tern__member_uint(s, "self_ns", r->self_ns, &first);
    tern__member_number(s, "mean_ns", r->mean_ns, &first);
    tern__member_uint(s, "min_ns", r->min_ns, &first);
    tern__member_uint(s, "p50_ns", r->p50_ns, &first);
    tern__member_uint(s, "p90_ns", r->p90_ns, &first);
    tern__member_uint(s, "p99_ns", r->p99_ns, &first);
    tern__member_uint(s, "max_ns", r->max_ns, &first);
    tern__member_uint(s, "wait_ns", r->wait_ns, &first);
    tern__member_uint(s, "flops", r->flops, &first);
    tern__member_uint(s, "bytes", r->bytes, &first);
    tern__member_bool(s, "int8", r->int8, &first);
    tern__member_bool(s, "at_most", r->at_most, &first);
    tern__member_number(s, "share", h->share, &first);
    tern__member_number(s, "limit_share", h->limit_share, &first);
    tern__member_uint(s, "saving_ns", h->saving_ns, &first);
    tern__member_string(s, "bottleneck", tern_bottleneck_name(h->bottleneck), &first);
    tern__member_string(s, "evidence", h->evidence, &first);
    tern__strbuf_add(s, "}");
}

static void add_rows(tern__strbuf *s, const char *key, const tern_profile *p, tern_profile_by by,
                     const tern_profile_limits *limits)
{
    tern_hot_spot h;
    tern__strbuf_addf(s, ",\n \"%s\": [", key);
    for (int i = 0; tern_profile_get_hot_spot(p, by, i, limits, &h) == TERN_OK; i++) {
        tern__strbuf_add(s, i ? ",\n  " : "\n  ");
        add_row(s, &h);
    }
    tern__strbuf_add(s, "]");
}

/* ---- threads, the call tree ---- */

static void add_threads(tern__strbuf *s, const tern_profile *p)
{
    tern_profile_thread t;
    tern__strbuf_add(s, ",\n \"threads\": [");
    for (int i = 0; tern_profile_get_thread(p, i, &t) == TERN_OK; i++) {
        bool first = true;
        tern__strbuf_add(s, i ? ",\n  {" : "\n  {");
        tern__member_string(s, "name", t.name, &first);
        tern__member_int(s, "spans", t.spans, &first);
        tern__member_uint(s, "work_ns", t.work_ns, &first);
        tern__member_uint(s, "wait_ns", t.wait_ns, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_frames(tern__strbuf *s, const tern_profile *p)
{
    tern_profile_frame f;
    tern__strbuf_add(s, ",\n \"frames\": [");
    for (int i = 0; tern_profile_get_frame(p, i, &f) == TERN_OK; i++) {
        bool first = true;
        tern__strbuf_add(s, i ? ",\n  {" : "\n  {");
        tern__member_string(s, "name", f.name, &first);
        tern__member_string(s, "category", f.category, &first);
        tern__member_int(s, "parent", f.parent, &first);
        tern__member_int(s, "thread", f.thread, &first);
        tern__member_uint(s, "count", f.count, &first);
        tern__member_uint(s, "total_ns", f.total_ns, &first);
        tern__member_uint(s, "self_ns", f.self_ns, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

/* ---- the machine ---- */

static void add_counters(tern__strbuf *s, const tern_profile *p)
{
    tern_profile_counter c;
    tern__strbuf_add(s, ",\n \"counters\": [");
    for (int i = 0; tern_profile_get_counter(p, i, &c) == TERN_OK; i++) {
        bool first = true;
        tern__strbuf_add(s, i ? ",\n  {" : "\n  {");
        tern__member_string(s, "name", c.name, &first);
        tern__member_number(s, "value", c.unavailable ? NAN : c.value, &first);
        if (c.unavailable)
            tern__member_string(s, "unavailable", c.unavailable, &first);
        else
            tern__member_number(s, "running", c.running, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

/* 0: there is no probe. */
static double known(double rate)
{
    return rate > 0 ? rate : NAN;
}

static void add_rates(tern__strbuf *s, const tern_profile_rates *r)
{
    bool first = true;
    tern__strbuf_add(s, "\n  {");
    tern__member_int(s, "threads", r->threads, &first);
    tern__member_number(s, "memory_bytes_per_s", r->memory_bytes_per_s, &first);
    tern__member_number(s, "last_bytes_per_s", known(r->last_bytes_per_s), &first);
    tern__member_number(s, "cache_bytes_per_s", r->cache_bytes_per_s, &first);
    tern__member_number(s, "f32_per_s", known(r->f32_per_s), &first);
    tern__member_number(s, "int8_per_s", known(r->int8_per_s), &first);
    tern__strbuf_add(s, "}");
}

static void add_limits(tern__strbuf *s, const tern_profile_limits *limits)
{
    tern__strbuf_add(s, ",\n \"limits\": [");
    if (limits)
        add_rates(s, &limits->one);
    if (limits && limits->all.threads > 1) {
        tern__strbuf_add(s, ",");
        add_rates(s, &limits->all);
    }
    tern__strbuf_add(s, "]");
}

void tern__profile_add_json(tern__strbuf *s, const tern_profile *p, const tern_profile_limits *limits)
{
    bool first = true;
    tern__strbuf_add(s, "{");
    tern__member_format(s, TERN__PROFILE_DOCUMENT, 1, &first);
    tern__member_string(s, "title", p->title, &first);
    tern__member_uint(s, "wall_ns", p->info.wall_ns, &first);
    tern__member_uint(s, "work_ns", p->info.work_ns, &first);
    tern__member_uint(s, "wait_ns", p->info.wait_ns, &first);
    tern__member_uint(s, "compile_ns", p->info.compile_ns, &first);
    tern__member_uint(s, "events", p->info.events, &first);
    tern__member_uint(s, "lost", p->info.lost, &first);
    add_rows(s, "ops", p, TERN_PROFILE_OPS, limits);
    add_rows(s, "steps", p, TERN_PROFILE_STEPS, limits);
    add_rows(s, "parts", p, TERN_PROFILE_PARTS, limits);
    add_threads(s, p);
    add_frames(s, p);
    add_counters(s, p);
    add_limits(s, limits);
    tern__strbuf_add(s, "}\n");
}
