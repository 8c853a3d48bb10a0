/* profile_rows.c - events that belong together, added up: by op, by step, by part of a model. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "measure/profile/profile.h"

/* What is the same for all events of a row. */
typedef struct key {
    const char *name, *category, *kernel, *where; /* interned */
    uint32_t program, step;
} key;

typedef struct table {
    tern_profile *p;
    tern_profile_by by;
    tern__profile_row *rows;
    const uint8_t *places; /* (n_spans) */
    size_t n, cap;
    int *slots; /* (n_slots) row, or -1 */
    size_t n_slots;
    int *row_of; /* (n_spans) or -1 */
} table;

/* false: such events are in no row of this kind. */
static bool key_of(const tern_profile *p, tern_profile_by by, const tern_trace_event *e, key *out)
{
    /* Waits at the end of what is no step belong to none. */
    const bool step = e->category == p->step || (e->category == p->wait && e->step != UINT32_MAX);
    *out = (key){.step = UINT32_MAX};
    if (by == TERN_PROFILE_OPS) {
        *out = (key){.name = e->name, .category = e->category, .kernel = e->kernel, .step = UINT32_MAX};
        return e->category != p->part && e->category != p->wait;
    }
    if (by == TERN_PROFILE_STEPS) {
        out->program = e->program;
        out->step = e->step;
    } else {
        out->where = e->where;
    }
    return step;
}

static key key_of_row(const tern_profile_row *r, tern_profile_by by)
{
    if (by == TERN_PROFILE_OPS)
        return (key){.name = r->name, .category = r->category, .kernel = r->kernel, .step = UINT32_MAX};
    if (by == TERN_PROFILE_STEPS)
        return (key){.program = r->program, .step = r->step};
    return (key){.where = r->where, .step = UINT32_MAX};
}

static bool same_key(const key *a, const key *b)
{
    return a->name == b->name && a->category == b->category && a->kernel == b->kernel &&
           a->where == b->where && a->program == b->program && a->step == b->step;
}

static uint64_t hash_key(const key *k)
{
    uint64_t h = tern__hash_mix((uint64_t)k->program << 32 | k->step, (uint64_t)(uintptr_t)k->name);
    h = tern__hash_mix(h, (uint64_t)(uintptr_t)k->kernel);
    h = tern__hash_mix(h, (uint64_t)(uintptr_t)k->category);
    return tern__hash_mix(h, (uint64_t)(uintptr_t)k->where);
}

static int *find_slot(const table *t, const key *k)
{
    size_t at = (size_t)hash_key(k) & (t->n_slots - 1);
    for (; t->slots[at] >= 0; at = (at + 1) & (t->n_slots - 1)) {
        const key other = key_of_row(&t->rows[t->slots[at]].row, t->by);
        if (same_key(k, &other))
            break;
    }
    return &t->slots[at];
}

static bool grow_slots(table *t)
{
    if (t->n * 2 < t->n_slots)
        return true;
    const size_t n = t->n_slots ? t->n_slots * 2 : 64;
    int *slots = tern__alloc(n * sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0xff, n * sizeof *slots);
    tern__free(t->slots);
    t->slots = slots;
    t->n_slots = n;
    for (size_t i = 0; i < t->n; i++) {
        const key k = key_of_row(&t->rows[i].row, t->by);
        *find_slot(t, &k) = (int)i;
    }
    return true;
}

/* The row of a span, made if need be; -1: none. */
static tern_status find_row(table *t, const tern__span *s, int *out)
{
    key k;
    *out = -1;
    if (!key_of(t->p, t->by, &s->event, &k))
        return TERN_OK;
    if (!grow_slots(t) || !tern__grow((void **)&t->rows, &t->cap, t->n + 1, sizeof *t->rows))
        return tern__out_of_memory(sizeof *t->rows);
    int *slot = find_slot(t, &k);
    if (*slot < 0) {
        const tern_trace_event *e = &s->event;
        *slot = (int)t->n;
        t->rows[t->n++] = (tern__profile_row){.row = {.name = e->name,
                                                      .category = e->category,
                                                      .kernel = e->kernel,
                                                      .where = e->where,
                                                      .program = k.program,
                                                      .step = k.step,
                                                      .min_ns = UINT64_MAX,
                                                      .int8 = e->int8}};
        if (t->by == TERN_PROFILE_PARTS)
            t->rows[t->n - 1].row.name = e->where ? e->where : "(no part)";
    }
    *out = *slot;
    return TERN_OK;
}

static void add_event(const table *t, tern_profile_row *r, const tern__span *s)
{
    const tern_trace_event *e = &s->event;
    if (e->category == t->p->wait) {
        r->wait_ns += e->duration_ns;
        return;
    }
    /* A row may have begun with a wait. */
    if (t->by != TERN_PROFILE_PARTS)
        r->name = e->name;
    r->category = e->category;
    r->kernel = r->count == 0 || r->kernel == e->kernel ? e->kernel : NULL;
    r->where = r->count == 0 || r->where == e->where ? e->where : NULL;
    r->int8 |= e->int8;
    r->at_most |= e->at_most;
    r->count++;
    r->total_ns += e->duration_ns;
    r->self_ns += e->duration_ns - s->events_ns;
    r->min_ns = e->duration_ns < r->min_ns ? e->duration_ns : r->min_ns;
    r->max_ns = e->duration_ns > r->max_ns ? e->duration_ns : r->max_ns;
    r->flops += e->flops;
    r->bytes += e->bytes;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The least of the values that `percent` of them do not exceed. */
static uint64_t percentile(const uint64_t *sorted, uint64_t n, unsigned percent)
{
    return sorted[(n * percent + 99) / 100 - 1];
}

/* Durations row by row, in order. */
static tern_status find_percentiles(const table *t)
{
    uint64_t *durations = tern__alloc((t->p->n_spans + 1) * sizeof *durations);
    size_t *ends = tern__alloc_zero(t->n + 1, sizeof *ends), at = 0;
    if (!durations || !ends) {
        tern__free(durations);
        tern__free(ends);
        return tern__out_of_memory(t->p->n_spans * sizeof *durations);
    }
    for (size_t i = 0; i < t->n; i++) {
        ends[i] = at;
        at += (size_t)t->rows[i].row.count;
    }
    for (size_t i = 0; i < t->p->n_spans; i++)
        if (t->row_of[i] >= 0 && t->p->spans[i].event.category != t->p->wait)
            durations[ends[t->row_of[i]]++] = t->p->spans[i].event.duration_ns;
    for (size_t i = 0; i < t->n; i++) {
        tern_profile_row *r = &t->rows[i].row;
        uint64_t *sorted = durations + ends[i] - r->count;
        if (r->count == 0) {
            r->min_ns = 0;
            continue;
        }
        qsort(sorted, (size_t)r->count, sizeof *sorted, by_number);
        r->mean_ns = (double)r->total_ns / (double)r->count;
        r->p50_ns = percentile(sorted, r->count, 50);
        r->p90_ns = percentile(sorted, r->count, 90);
        r->p99_ns = percentile(sorted, r->count, 99);
    }
    tern__free(durations);
    tern__free(ends);
    return TERN_OK;
}

/* Spans stand by thread, so a row meets each thread once. */
static tern_status count_threads(const table *t)
{
    uint32_t *last = tern__alloc(t->n * sizeof *last + 1);
    if (!last)
        return tern__out_of_memory(t->n * sizeof *last);
    memset(last, 0xff, t->n * sizeof *last);
    for (size_t i = 0; i < t->p->n_spans; i++) {
        const tern_trace_event *e = &t->p->spans[i].event;
        const int row = t->row_of[i];
        if (row < 0 || e->category == t->p->wait || last[row] == e->thread)
            continue;
        last[row] = e->thread;
        t->rows[row].row.threads++;
    }
    tern__free(last);
    return TERN_OK;
}

static int by_self(const void *a, const void *b)
{
    const tern_profile_row *x = &((const tern__profile_row *)a)->row,
                           *y = &((const tern__profile_row *)b)->row;
    if (x->self_ns != y->self_ns)
        return x->self_ns < y->self_ns ? 1 : -1;
    if (x->program != y->program)
        return x->program < y->program ? -1 : 1;
    return x->step != y->step ? (x->step < y->step ? -1 : 1) : strcmp(x->name, y->name);
}

static tern_status fill(table *t)
{
    t->row_of = tern__alloc((t->p->n_spans + 1) * sizeof *t->row_of);
    if (!t->row_of)
        return tern__out_of_memory(t->p->n_spans * sizeof *t->row_of);
    for (size_t i = 0; i < t->p->n_spans; i++) {
        TERN_TRY(find_row(t, &t->p->spans[i], &t->row_of[i]));
        if (t->row_of[i] < 0)
            continue;
        add_event(t, &t->rows[t->row_of[i]].row, &t->p->spans[i]);
        t->rows[t->row_of[i]].bytes[t->places[i]] += t->p->spans[i].event.bytes;
        t->rows[t->row_of[i]].int8 += t->p->spans[i].event.int8 ? t->p->spans[i].event.flops : 0;
    }
    TERN_TRY(find_percentiles(t));
    TERN_TRY(count_threads(t));
    if (t->n > 0)
        qsort(t->rows, t->n, sizeof *t->rows, by_self);
    return TERN_OK;
}

static tern_status make_rows(tern_profile *p, const uint8_t *places)
{
    for (int by = 0; by < TERN__PROFILE_BY_COUNT; by++) {
        table t = {.p = p, .by = (tern_profile_by)by, .places = places};
        tern_status status = fill(&t);
        tern__free(t.slots);
        tern__free(t.row_of);
        p->by[by] = (tern__profile_rows){t.rows, (int)t.n};
        TERN_TRY(status);
    }
    return TERN_OK;
}

tern_status tern__profile_make_rows(tern_profile *p)
{
    uint8_t *places;
    TERN_TRY(tern__profile_find_places(p, &places));
    tern_status status = make_rows(p, places);
    tern__free(places);
    p->info.ops = p->by[TERN_PROFILE_OPS].n;
    p->info.steps = p->by[TERN_PROFILE_STEPS].n;
    p->info.parts = p->by[TERN_PROFILE_PARTS].n;
    return status;
}
