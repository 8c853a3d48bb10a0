/* memory_json.c - all that was recorded as one JSON object; docs/memory.md describes it. */
#include <inttypes.h>

#include "base/json_text.h"
#include "measure/memory_export.h"

/* ---- members ---- */

static void add_key(tern__strbuf *s, const char *key, bool *first)
{
    tern__strbuf_addf(s, "%s\"%s\": ", *first ? "" : ", ", key);
    *first = false;
}

static void add_uint(tern__strbuf *s, const char *key, uint64_t value, bool *first)
{
    add_key(s, key, first);
    tern__strbuf_addf(s, "%" PRIu64, value);
}

/* NULL: null. */
static void add_text(tern__strbuf *s, const char *key, const char *value, bool *first)
{
    add_key(s, key, first);
    if (value)
        tern__json_add_text(s, value);
    else
        tern__strbuf_add(s, "null");
}

static void add_real(tern__strbuf *s, const char *key, double value, bool *first)
{
    add_key(s, key, first);
    tern__json_add_real(s, value);
}

/* A number, or null where `unavailable` says why there is none. */
static void add_known(tern__strbuf *s, const char *key, uint64_t value, const char *unavailable, bool *first)
{
    if (unavailable)
        add_text(s, key, NULL, first);
    else
        add_uint(s, key, value, first);
}

static void add_bytes(tern__strbuf *s, const char *key, const tern_memory_bytes *b, bool *first)
{
    bool none = true;
    add_key(s, key, first);
    tern__strbuf_add(s, "{");
    add_uint(s, "heap", b->heap, &none);
    add_uint(s, "pages", b->pages, &none);
    add_uint(s, "regions", b->regions, &none);
    add_uint(s, "blocks", b->blocks, &none);
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
    add_uint(s, "bytes", p.bytes, &first);
    add_uint(s, "time_ns", p.time_ns, &first);
    add_bytes(s, "of", &p.of, &first);
    add_text(s, "op", p.op, &first);
    add_text(s, "where", p.where, &first);
    add_text(s, "tensor", p.tensor, &first);
    add_text(s, "site", p.site, &first);
    if (p.step == UINT32_MAX) {
        add_text(s, "step", NULL, &first);
    } else {
        bool none = true;
        add_key(s, "step", &first);
        tern__strbuf_add(s, "{");
        add_uint(s, "program", p.program, &none);
        add_uint(s, "step", p.step, &none);
        add_text(s, "op", p.step_op, &none);
        add_text(s, "where", p.step_where, &none);
        add_uint(s, "bytes", p.step_bytes, &none);
        add_uint(s, "arena_bytes", p.arena_bytes, &none);
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
    add_text(s, "unavailable", y->unavailable, &first);
    add_text(s, "heap_unavailable", y->heap_unavailable, &first);
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
        add_text(s, "source", tern_pressure_source_name((tern_pressure_source)i), &first);
        add_text(s, "level", g->available ? tern_pressure_name(g->level) : NULL, &first);
        add_text(s, g->available ? "text" : "unavailable", g->text, &first);
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
        add_uint(s, "time_ns", p->time_ns, &first);
        add_uint(s, "in_use_bytes", p->in_use_bytes, &first);
        add_uint(s, "held_bytes", p->held_bytes, &first);
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
        add_text(s, "name", r->name, &first);
        add_text(s, "category", r->category, &first);
        add_uint(s, "allocations", r->allocations, &first);
        add_uint(s, "frees", r->frees, &first);
        add_uint(s, "allocated_bytes", r->allocated_bytes, &first);
        add_uint(s, "live_bytes", r->live_bytes, &first);
        add_uint(s, "most_bytes", r->most_bytes, &first);
        add_uint(s, "peak_bytes", r->peak_bytes, &first);
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
        add_text(s, "name", f->name, &first);
        add_text(s, "category", f->category, &first);
        add_key(s, "parent", &first);
        tern__strbuf_addf(s, "%d", f->parent);
        add_uint(s, "allocations", f->allocations, &first);
        add_uint(s, "allocated_bytes", f->allocated_bytes, &first);
        add_uint(s, "peak_bytes", f->peak_bytes, &first);
        add_uint(s, "self_peak_bytes", f->self_peak_bytes, &first);
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
        add_text(s, "direction", c->direction, &first);
        add_text(s, "op", c->op, &first);
        add_text(s, "site", c->site, &first);
        add_uint(s, "copies", c->copies, &first);
        add_uint(s, "bytes", c->bytes, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_leaks(tern__strbuf *s, const tern_memory *m)
{
    tern__strbuf_addf(s, ",\n \"leaked_bytes\": %" PRIu64 ", \"leaked_blocks\": %" PRIu64,
                      m->info.leaked_bytes, m->info.leaked_blocks);
    open_list(s, "leaks");
    for (int i = 0; i < m->info.leaks; i++) {
        const tern_memory_leak *l = &m->leaks[i];
        bool first = open_item(s, i);
        add_text(s, "site", l->site, &first);
        add_text(s, "op", l->op, &first);
        add_text(s, "where", l->where, &first);
        add_text(s, "tensor", l->tensor, &first);
        add_text(s, "path", l->path, &first);
        add_text(s, "kind", l->kind, &first);
        add_uint(s, "blocks", l->blocks, &first);
        add_uint(s, "bytes", l->bytes, &first);
        add_uint(s, "first_ns", l->first_ns, &first);
        add_uint(s, "last_ns", l->last_ns, &first);
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
        add_uint(s, "number", (uint64_t)p->number, &first);
        add_uint(s, "samples", p->samples, &first);
        add_uint(s, "time_ns", p->time_ns, &first);
        add_uint(s, "held_bytes", p->held_bytes, &first);
        add_uint(s, "free_bytes", p->free_bytes, &first);
        add_uint(s, "slack_bytes", p->slack_bytes, &first);
        add_uint(s, "free_blocks", p->free_blocks, &first);
        add_uint(s, "largest_free_bytes", p->largest_free, &first);
        add_real(s, "fragmentation", p->ratio, &first);
        add_real(s, "last_fragmentation", p->last_ratio, &first);
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
        add_uint(s, "program", p->program, &first);
        add_uint(s, "runs", p->runs, &first);
        add_uint(s, "arena_bytes", p->arena_bytes, &first);
        add_uint(s, "live_bytes", p->live_bytes, &first);
        add_uint(s, "naive_bytes", p->naive_bytes, &first);
        add_uint(s, "result_bytes", p->result_bytes, &first);
        add_uint(s, "steps", p->steps, &first);
        add_known(s, "peak_step", p->peak_step, p->peak_step == UINT32_MAX ? "" : NULL, &first);
        add_text(s, "peak_op", p->peak_op, &first);
        add_text(s, "peak_where", p->peak_where, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

static void add_advice(tern__strbuf *s, const tern_memory *m)
{
    open_list(s, "recommendations");
    for (int i = 0; i < m->info.advice; i++) {
        const tern_memory_advice *a = &m->advice[i];
        bool first = open_item(s, i);
        add_text(s, "kind", tern_advice_kind_name(a->kind), &first);
        add_text(s, "priority", tern_priority_name(a->priority), &first);
        add_uint(s, "saves_bytes", a->saves_bytes, &first);
        add_text(s, "of", a->of, &first);
        add_real(s, "share", a->share, &first);
        add_text(s, "what", a->what, &first);
        add_text(s, "evidence", a->evidence, &first);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]");
}

void tern__memory_add_json(tern__strbuf *s, const tern_memory *m)
{
    const tern_memory_info *i = &m->info;
    bool first = true;
    tern__strbuf_add(s, "{");
    add_text(s, "title", i->title, &first);
    add_uint(s, "wall_ns", i->wall_ns, &first);
    add_uint(s, "events", i->events, &first);
    add_uint(s, "lost", i->lost, &first);
    add_uint(s, "threads", (uint64_t)i->threads, &first);
    tern__strbuf_add(s, ",\n ");
    first = true;
    add_uint(s, "allocations", i->allocations, &first);
    add_uint(s, "frees", i->frees, &first);
    add_uint(s, "allocated_bytes", i->allocated_bytes, &first);
    add_uint(s, "freed_bytes", i->freed_bytes, &first);
    add_uint(s, "start_bytes", i->start_bytes, &first);
    add_uint(s, "end_bytes", i->end_bytes, &first);
    add_uint(s, "own_bytes", i->own_bytes, &first);
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
