/* memory_json.c - all that was recorded as one JSON object; docs/memory.md describes it. */
#include <inttypes.h>

#include "measure/documents.h"
#include "measure/json_members.h"
#include "measure/memory/memory_export.h"

/* ---- members ---- */

/* A number, or null where `unavailable` says why there is none. */
static void add_known(tern__strbuf *s, const char *key, uint64_t value, const char *unavailable, bool *first)
{
    if (unavailable)
        tern__member_string(s, key, NULL, first);
    else
        tern__member_uint(s, key, value, first);
}

static void add_bytes(tern__strbuf *s, const char *key, const tern_memory_bytes *b, bool *first)
{
    bool none = true;
    tern__member_key(s, key, first);
    tern__strbuf_add(s, "{");
    tern__member_uint(s, "heap", b->heap, &none);
    tern__member_uint(s, "pages", b->pages, &none);
    tern__member_uint(s, "regions", b->regions, &none);
    tern__member_uint(s, "blocks", b->blocks, &none);
    tern__strbuf_add(s, "}");
}

/* ---- parts ---- */

static void add_peak(tern__strbuf *s, const char *key, const tern_memory *m, tern_memory_sum sum)
{
    tern_memory_peak p;
    bool first = true;
    tern__strbuf_addf(s, ",\n \"%s\": ", key);
    if (tern_memory_get_peak(m, sum, &p) != TERN_OK) {
        tern__strbuf_add(s, "null");
        return;
    }
    tern__strbuf_add(s, "{");
    tern__member_uint(s, "bytes", p.bytes, &first);
    tern__member_uint(s, "time_ns", p.time_ns, &first);
    add_bytes(s, "of", &p.of, &first);
    tern__member_string(s, "op", p.op, &first);
    tern__member_string(s, "category", p.category, &first);
    tern__member_string(s, "where", p.where, &first);
    tern__member_string(s, "tensor", p.tensor, &first);
    tern__member_string(s, "site", p.site, &first);
    if (p.step == UINT32_MAX) {
        tern__member_string(s, "step", NULL, &first);
    } else {
        bool none = true;
        tern__member_key(s, "step", &first);
        tern__strbuf_add(s, "{");
        tern__member_uint(s, "program", p.program, &none);
        tern__member_uint(s, "step", p.step, &none);
        tern__member_string(s, "op", p.step_op, &none);
        tern__member_string(s, "where", p.step_where, &none);
        tern__member_uint(s, "bytes", p.step_bytes, &none);
        tern__member_uint(s, "arena_bytes", p.arena_bytes, &none);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "}");
}

static void add_system(tern__strbuf *s, const tern_memory_system *y)
{
    bool first = true;
    tern__strbuf_add(s, ",\n \"system\": {");
    add_known(s, "rss_bytes", y->rss_bytes, y->unavailable, &first);
    add_known(s, "rss_peak_bytes", y->rss_peak_bytes, y->unavailable, &first);
    add_known(s, "anonymous_bytes", y->anonymous_bytes, y->unavailable, &first);
    add_known(s, "heap_held_bytes", y->heap_held_bytes, y->heap_unavailable, &first);
    add_known(s, "heap_free_bytes", y->heap_free_bytes, y->heap_unavailable, &first);
    tern__member_string(s, "unavailable", y->unavailable, &first);
    tern__member_string(s, "heap_unavailable", y->heap_unavailable, &first);
    tern__strbuf_add(s, "}");
}

static void add_pressure(tern__strbuf *s, const tern_pressure_reading *p)
{
    tern__strbuf_addf(s, ",\n \"pressure\": {\"level\": \"%s\", \"signals\": [",
                      p->known ? tern_pressure_name(p->level) : "unknown");
    for (int i = 0; i < TERN_PRESSURE_SOURCES; i++) {
        const tern_pressure_signal *g = &p->signals[i];
        bool first = true;
        tern__strbuf_add(s, i ? ",\n  {" : "\n  {");
        tern__member_string(s, "source", tern_pressure_source_name((tern_pressure_source)i), &first);
        tern__member_string(s, "level", g->available ? tern_pressure_name(g->level) : NULL, &first);
        tern__member_string(s, g->available ? "text" : "unavailable", g->text, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]}");
}

/* An array of objects, one a line. */
static void open_list(tern__strbuf *s, const char *key)
{
    tern__strbuf_addf(s, ",\n \"%s\": [", key);
}

static bool open_item(tern__strbuf *s, int i)
{
    tern__strbuf_add(s, i ? ",\n  {" : "\n  {");
    return true;
}

static void add_timeline(tern__strbuf *s, const tern_memory *m)
{
    open_list(s, "timeline");
    for (int i = 0; i < m->info.points; i++) {
        const tern_memory_point *p = &m->points[i];
        bool first = open_item(s, i);
        tern__member_uint(s, "time_ns", p->time_ns, &first);
        tern__member_uint(s, "in_use_bytes", p->in_use_bytes, &first);
        tern__member_uint(s, "held_bytes", p->held_bytes, &first);
        add_known(s, "rss_bytes", p->rss_bytes, p->rss_bytes ? NULL : "", &first);
        add_known(s, "program", p->program, p->program ? NULL : "", &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_rows(tern__strbuf *s, const char *key, const tern__memory_rows *rows)
{
    open_list(s, key);
    for (size_t i = 0; i < rows->n; i++) {
        const tern_memory_row *r = &rows->rows[i];
        bool first = open_item(s, (int)i);
        tern__member_string(s, "name", r->name, &first);
        tern__member_string(s, "category", r->category, &first);
        tern__member_uint(s, "allocations", r->allocations, &first);
        tern__member_uint(s, "frees", r->frees, &first);
        tern__member_uint(s, "allocated_bytes", r->allocated_bytes, &first);
        tern__member_uint(s, "live_bytes", r->live_bytes, &first);
        tern__member_uint(s, "most_bytes", r->most_bytes, &first);
        tern__member_uint(s, "peak_bytes", r->peak_bytes, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_frames(tern__strbuf *s, const tern_memory *m)
{
    open_list(s, "frames");
    for (int i = 0; i < m->info.frames; i++) {
        const tern_memory_frame *f = &m->frames[i];
        bool first = open_item(s, i);
        tern__member_string(s, "name", f->name, &first);
        tern__member_string(s, "category", f->category, &first);
        tern__member_key(s, "parent", &first);
        tern__strbuf_addf(s, "%d", f->parent);
        tern__member_uint(s, "allocations", f->allocations, &first);
        tern__member_uint(s, "allocated_bytes", f->allocated_bytes, &first);
        tern__member_uint(s, "peak_bytes", f->peak_bytes, &first);
        tern__member_uint(s, "self_peak_bytes", f->self_peak_bytes, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_copies(tern__strbuf *s, const tern_memory *m)
{
    open_list(s, "copies");
    for (int i = 0; i < m->info.copies; i++) {
        const tern_memory_copy *c = &m->copies[i];
        bool first = open_item(s, i);
        tern__member_string(s, "direction", c->direction, &first);
        tern__member_string(s, "op", c->op, &first);
        tern__member_string(s, "site", c->site, &first);
        tern__member_uint(s, "copies", c->copies, &first);
        tern__member_uint(s, "bytes", c->bytes, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_leaks(tern__strbuf *s, const tern_memory *m)
{
    if (m->info.lost > 0) { /* what was not seen to be freed may have been */
        tern__strbuf_add(s, ",\n \"leaked_bytes\": null, \"leaked_blocks\": null, \"leaks\": null");
        return;
    }
    tern__strbuf_addf(s, ",\n \"leaked_bytes\": %" PRIu64 ", \"leaked_blocks\": %" PRIu64,
                      m->info.leaked_bytes, m->info.leaked_blocks);
    open_list(s, "leaks");
    for (int i = 0; i < m->info.leaks; i++) {
        const tern_memory_leak *l = &m->leaks[i];
        bool first = open_item(s, i);
        tern__member_string(s, "site", l->site, &first);
        tern__member_string(s, "op", l->op, &first);
        tern__member_string(s, "where", l->where, &first);
        tern__member_string(s, "tensor", l->tensor, &first);
        tern__member_string(s, "path", l->path, &first);
        tern__member_string(s, "kind", l->kind, &first);
        tern__member_uint(s, "blocks", l->blocks, &first);
        tern__member_uint(s, "bytes", l->bytes, &first);
        tern__member_uint(s, "first_ns", l->first_ns, &first);
        tern__member_uint(s, "last_ns", l->last_ns, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_pools(tern__strbuf *s, const tern_memory *m)
{
    open_list(s, "pools");
    for (int i = 0; i < m->info.pools; i++) {
        const tern_memory_pool *p = &m->pools[i];
        bool first = open_item(s, i);
        tern__member_uint(s, "number", (uint64_t)p->number, &first);
        tern__member_uint(s, "samples", p->samples, &first);
        tern__member_uint(s, "time_ns", p->time_ns, &first);
        tern__member_uint(s, "held_bytes", p->held_bytes, &first);
        tern__member_uint(s, "free_bytes", p->free_bytes, &first);
        tern__member_uint(s, "slack_bytes", p->slack_bytes, &first);
        tern__member_uint(s, "free_blocks", p->free_blocks, &first);
        tern__member_uint(s, "largest_free_bytes", p->largest_free, &first);
        tern__member_number(s, "fragmentation", p->ratio, &first);
        tern__member_number(s, "last_fragmentation", p->last_ratio, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_plans(tern__strbuf *s, const tern_memory *m)
{
    open_list(s, "programs");
    for (int i = 0; i < m->info.plans; i++) {
        const tern_memory_plan *p = &m->plans[i];
        bool first = open_item(s, i);
        tern__member_uint(s, "program", p->program, &first);
        tern__member_uint(s, "runs", p->runs, &first);
        tern__member_uint(s, "arena_bytes", p->arena_bytes, &first);
        tern__member_uint(s, "live_bytes", p->live_bytes, &first);
        tern__member_uint(s, "naive_bytes", p->naive_bytes, &first);
        tern__member_uint(s, "result_bytes", p->result_bytes, &first);
        tern__member_uint(s, "steps", p->steps, &first);
        add_known(s, "peak_step", p->peak_step, p->peak_step == UINT32_MAX ? "" : NULL, &first);
        tern__member_string(s, "peak_op", p->peak_op, &first);
        tern__member_string(s, "peak_where", p->peak_where, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_advice(tern__strbuf *s, const tern_memory *m)
{
    if (m->info.lost > 0) {
        tern__strbuf_add(s, ",\n \"recommendations\": null");
        return;
    }
    open_list(s, "recommendations");
    for (int i = 0; i < m->info.advice; i++) {
        const tern_memory_advice *a = &m->advice[i];
        bool first = open_item(s, i);
        tern__member_string(s, "kind", tern_advice_kind_name(a->kind), &first);
        tern__member_string(s, "priority", tern_priority_name(a->priority), &first);
        tern__member_uint(s, "saves_bytes", a->saves_bytes, &first);
        tern__member_string(s, "of", a->of, &first);
        tern__member_number(s, "share", a->share, &first);
        tern__member_string(s, "what", a->what, &first);
        tern__member_string(s, "evidence", a->evidence, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

void tern__memory_add_json(tern__strbuf *s, const tern_memory *m)
{
    const tern_memory_info *i = &m->info;
    bool first = true;
    tern__strbuf_add(s, "{");
    tern__member_format(s, TERN__MEMORY_DOCUMENT, 1, &first);
    tern__member_string(s, "title", i->title, &first);
    tern__member_uint(s, "wall_ns", i->wall_ns, &first);
    tern__member_uint(s, "events", i->events, &first);
    tern__member_uint(s, "lost", i->lost, &first);
    tern__member_uint(s, "threads", (uint64_t)i->threads, &first);
    if (i->lost > 0)
        tern__member_string(s, "unavailable",
                            "events were lost: peaks, leaks and recommendations are not known", &first);
    tern__strbuf_add(s, ",\n ");
    first = true;
    tern__member_uint(s, "allocations", i->allocations, &first);
    tern__member_uint(s, "frees", i->frees, &first);
    tern__member_uint(s, "allocated_bytes", i->allocated_bytes, &first);
    tern__member_uint(s, "freed_bytes", i->freed_bytes, &first);
    tern__member_uint(s, "start_bytes", i->start_bytes, &first);
    tern__member_uint(s, "end_bytes", i->end_bytes, &first);
    tern__member_uint(s, "own_bytes", i->own_bytes, &first);
    add_bytes(s, "start", &i->start, &first);
    add_bytes(s, "end", &i->end, &first);
    add_peak(s, "peak", m, TERN_MEMORY_IN_USE);
    add_peak(s, "held_peak", m, TERN_MEMORY_HELD);
    add_system(s, &m->system);
    add_pressure(s, &m->pressure);
    add_advice(s, m);
    add_leaks(s, m);
    add_timeline(s, m);
    add_rows(s, "ops", &m->by[TERN_MEMORY_OPS]);
    add_rows(s, "sites", &m->by[TERN_MEMORY_SITES]);
    add_rows(s, "tensors", &m->by[TERN_MEMORY_TENSORS]);
    add_rows(s, "parts", &m->by[TERN_MEMORY_PARTS]);
    add_copies(s, m);
    add_plans(s, m);
    add_pools(s, m);
    add_frames(s, m);
    tern__strbuf_add(s, "}\n");
}
