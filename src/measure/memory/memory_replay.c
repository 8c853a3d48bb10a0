/* memory_replay.c - the log from its first event to its last: what the sums were at each, which was the highest, how long each block
 * lived, and which of them nobody gave back. */
#include "measure/memory/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/intern.h"

enum { POINTS = 512 };

/* ---- names and sums ---- */

const char *tern__memory_site_text(const tern__call_site *site)
{
    char text[160];
    if (!site)
        return NULL;
    snprintf(text, sizeof text, "%s:%d %s", site->file, site->line, site->function);
    return tern__intern(text);
}

const char *tern__memory_kind_name(int kind)
{
    static const char *const names[] = {"heap", "pages", "region", "tensor"};
    return names[kind];
}

void tern__memory_apply(const tern__memory_event *e, tern_memory_bytes *b)
{
    uint64_t *const sums[] = {&b->heap, &b->pages, &b->regions, &b->blocks};
    if (e->action == TERN__MEMORY_MADE)
        *sums[e->kind] += e->bytes;
    else if (e->action == TERN__MEMORY_FREED)
        *sums[e->kind] -= e->bytes;
}

uint64_t tern__memory_sum_of(const tern_memory_bytes *b, tern_memory_sum sum)
{
    return b->heap + b->pages + (sum == TERN_MEMORY_HELD ? b->regions : b->blocks);
}

/* ---- blocks by address ---- */

typedef struct open_run {
    uint16_t thread;
    uint32_t program;
} open_run;

typedef struct pending_use {
    uint16_t thread;
    uint32_t life;
} pending_use;

typedef struct walk {
    tern__memory_story *story;
    uint32_t *slots; /* open addressing; a life counted from 1, or 0 */
    size_t mask;
    open_run *runs;
    size_t n_runs, cap_runs;
    pending_use *uses;
    size_t n_uses, cap_uses;
    tern_memory_bytes bytes;
    uint64_t most[TERN__MEMORY_SUMS];
    tern_memory_point points[POINTS + 1];
} walk;

static const tern__memory_event *made_event(const walk *w, uint32_t life)
{
    return &w->story->log->events[w->story->lives[life].made];
}

static size_t home_of(const walk *w, uint64_t address, int kind)
{
    return (size_t)tern__hash_mix((uint64_t)kind + 1, address) & w->mask;
}

static size_t find_slot(const walk *w, uint64_t address, int kind)
{
    size_t at = home_of(w, address, kind);
    for (; w->slots[at]; at = (at + 1) & w->mask) {
        const tern__memory_event *e = made_event(w, w->slots[at] - 1);
        if (e->address == address && e->kind == kind)
            break;
    }
    return at;
}

/* Moves those up that were put further on because of this one. */
static void clear_slot(walk *w, size_t at)
{
    for (size_t next = (at + 1) & w->mask; w->slots[next]; next = (next + 1) & w->mask) {
        const tern__memory_event *e = made_event(w, w->slots[next] - 1);
        const size_t home = home_of(w, e->address, e->kind);
        if (((next - home) & w->mask) >= ((next - at) & w->mask)) {
            w->slots[at] = w->slots[next];
            at = next;
        }
    }
    w->slots[at] = 0;
}

/* ---- events ---- */

static void add_life(walk *w, size_t i)
{
    tern__memory_story *s = w->story;
    const tern__memory_event *e = &s->log->events[i];
    const size_t at = find_slot(w, e->address, e->kind);
    if (w->slots[at]) /* somebody freed it behind the library's back */
        s->lives[w->slots[at] - 1].freed = i;
    s->lives[s->n_lives++] = (tern__memory_life){.made = i, .freed = SIZE_MAX, .used = i};
    w->slots[at] = (uint32_t)s->n_lives;
}

static void end_life(walk *w, size_t i)
{
    const tern__memory_event *e = &w->story->log->events[i];
    const size_t at = find_slot(w, e->address, e->kind);
    if (!w->slots[at]) /* from before the session */
        return;
    w->story->lives[w->slots[at] - 1].freed = i;
    clear_slot(w, at);
}

/* A run uses what it was given until it ends. */
static bool note_use(walk *w, size_t i)
{
    const tern__memory_event *e = &w->story->log->events[i];
    size_t at = find_slot(w, e->address, TERN__WATCH_BLOCK);
    if (!w->slots[at]) /* without a pool, tensors lie on the heap */
        at = find_slot(w, e->address, TERN__WATCH_HEAP);
    if (!w->slots[at])
        return true;
    w->story->lives[w->slots[at] - 1].used = i;
    if (!tern__grow((void **)&w->uses, &w->cap_uses, w->n_uses + 1, sizeof *w->uses))
        return false;
    w->uses[w->n_uses++] = (pending_use){.thread = e->thread, .life = w->slots[at] - 1};
    return true;
}

static bool begin_run(walk *w, const tern__memory_event *e)
{
    if (!tern__grow((void **)&w->runs, &w->cap_runs, w->n_runs + 1, sizeof *w->runs))
        return false;
    w->runs[w->n_runs++] = (open_run){.thread = e->thread, .program = (uint32_t)e->bytes};
    if ((int)w->n_runs > w->story->memory->most_runs)
        w->story->memory->most_runs = (int)w->n_runs;
    return true;
}

static void end_run(walk *w, size_t i)
{
    const tern__memory_event *e = &w->story->log->events[i];
    for (size_t k = w->n_runs; k-- > 0;)
        if (w->runs[k].thread == e->thread && w->runs[k].program == (uint32_t)e->bytes) {
            memmove(&w->runs[k], &w->runs[k + 1], (w->n_runs - k - 1) * sizeof *w->runs);
            w->n_runs--;
            break;
        }
    size_t kept = 0;
    for (size_t k = 0; k < w->n_uses; k++) {
        if (w->uses[k].thread == e->thread)
            w->story->lives[w->uses[k].life].used = i;
        else
            w->uses[kept++] = w->uses[k];
    }
    w->n_uses = kept;
}

static uint32_t run_on(const walk *w, uint16_t thread)
{
    for (size_t k = w->n_runs; k-- > 0;)
        if (w->runs[k].thread == thread)
            return w->runs[k].program;
    return 0;
}

static void note_sums(walk *w, size_t i)
{
    const tern__memory_event *e = &w->story->log->events[i];
    const uint64_t wall = w->story->memory->info.wall_ns + 1;
    for (int sum = 0; sum < TERN__MEMORY_SUMS; sum++) {
        const uint64_t now = tern__memory_sum_of(&w->bytes, (tern_memory_sum)sum);
        tern_memory_peak *peak = &w->story->memory->peaks[sum];
        if (now == w->most[sum] && w->bytes.blocks > peak->of.blocks)
            peak->of = w->bytes; /* a pool holds no more than before, but it has handed out more of it */
        if (now <= w->most[sum] && w->story->peaks[sum].event != SIZE_MAX)
            continue;
        w->most[sum] = now;
        w->story->peaks[sum] = (tern__memory_peak_at){.event = i, .run = run_on(w, e->thread)};
        *peak = (tern_memory_peak){.bytes = now, .time_ns = e->ns, .of = w->bytes};
    }
    tern_memory_point *p =
        &w->points[1 + (e->ns < wall ? (size_t)((double)e->ns / (double)wall * POINTS) : POINTS - 1)];
    const uint64_t in_use = tern__memory_sum_of(&w->bytes, TERN_MEMORY_IN_USE);
    if (p->time_ns == 0 || in_use > p->in_use_bytes)
        *p = (tern_memory_point){.time_ns = e->ns + (e->ns == 0),
                                 .in_use_bytes = in_use,
                                 .held_bytes = tern__memory_sum_of(&w->bytes, TERN_MEMORY_HELD),
                                 .program = run_on(w, e->thread)};
}

static bool take(walk *w, size_t i)
{
    const tern__memory_event *e = &w->story->log->events[i];
    switch ((tern__memory_action)e->action) {
    case TERN__MEMORY_MADE:
        add_life(w, i);
        break;
    case TERN__MEMORY_FREED:
        end_life(w, i);
        break;
    case TERN__MEMORY_USED:
        return note_use(w, i);
    case TERN__MEMORY_RUN:
        return begin_run(w, e);
    case TERN__MEMORY_RAN:
        end_run(w, i);
        return true;
    case TERN__MEMORY_COPIED:
        return true;
    }
    tern__memory_apply(e, &w->bytes);
    note_sums(w, i);
    return true;
}

/* ---- what comes of it ---- */

/* The innermost frame that is more than the pool's own doings. */
static const tern__memory_frame *telling_frame(const tern__memory_log *log, uint32_t frame)
{
    while (frame && strcmp(log->frames[frame].what.category, "pool") == 0)
        frame = log->frames[frame].parent;
    return frame ? &log->frames[frame] : NULL;
}

static const char *place_of(const tern__memory_log *log, uint32_t frame)
{
    for (; frame; frame = log->frames[frame].parent)
        if (log->frames[frame].what.where)
            return log->frames[frame].what.where;
    return NULL;
}

/* "eval > run > matmul"; the outermost of very deep ones are left out. */
static const char *path_of(const tern__memory_log *log, uint32_t frame)
{
    char text[400];
    size_t at = sizeof text - 1;
    text[at] = '\0';
    for (; frame; frame = log->frames[frame].parent) {
        const char *name = log->frames[frame].what.name, *between = text[at] ? " > " : "";
        const size_t length = strlen(name), gap = strlen(between);
        if (length + gap > at)
            break;
        at -= gap;
        memcpy(text + at, between, gap);
        at -= length;
        memcpy(text + at, name, length);
    }
    return tern__intern(text + at);
}

static const tern_memory_plan *find_plan(const tern_memory *m, uint32_t number)
{
    for (int i = 0; i < m->info.plans; i++)
        if (m->plans[i].program == number)
            return &m->plans[i];
    return NULL;
}

static void finish_peak(const tern__memory_story *s, tern_memory_sum sum)
{
    const tern__memory_peak_at *at = &s->peaks[sum];
    tern_memory_peak *p = &s->memory->peaks[sum];
    p->step = UINT32_MAX;
    if (at->event == SIZE_MAX)
        return;
    const tern__memory_event *e = &s->log->events[at->event];
    const tern__memory_frame *f = telling_frame(s->log, e->frame);
    p->site = tern__memory_site_text(e->site);
    p->op = f ? f->what.name : NULL;
    p->category = f ? f->what.category : NULL;
    p->tensor = f ? f->what.tensor : NULL;
    p->where = place_of(s->log, e->frame);
    const tern_memory_plan *plan = at->run ? find_plan(s->memory, at->run) : NULL;
    p->program = at->run;
    if (plan && plan->live_bytes > 0) {
        p->step = plan->peak_step;
        p->step_op = plan->peak_op;
        p->step_where = plan->peak_where;
        p->step_bytes = plan->live_bytes;
        p->arena_bytes = plan->arena_bytes;
    } else if (plan && f && f->what.program == at->run && f->what.step != UINT32_MAX) {
        p->step = f->what.step; /* without an arena, results are all that it needs: this one was the last */
        p->step_op = f->what.name;
        p->step_where = f->what.where;
        p->step_bytes = e->bytes;
    }
}

static tern_status finish_points(const walk *w)
{
    tern_memory *m = w->story->memory;
    const tern__memory_log *log = w->story->log;
    m->points = tern__alloc_zero(POINTS + 2, sizeof *m->points);
    if (!m->points)
        return tern__out_of_memory(POINTS * sizeof *m->points);
    int n = 0;
    for (int i = 0; i <= POINTS; i++)
        if (i == 0 || w->points[i].time_ns)
            m->points[n++] = w->points[i];
    if (m->info.lost == 0) /* else nobody knows how it went on */
        m->points[n++] =
            (tern_memory_point){.time_ns = m->info.wall_ns,
                                .in_use_bytes = tern__memory_sum_of(&w->bytes, TERN_MEMORY_IN_USE),
                                .held_bytes = tern__memory_sum_of(&w->bytes, TERN_MEMORY_HELD)};
    for (size_t i = 0, r = 0; i < (size_t)n; i++) {
        while (r < log->n_rss && log->rss[r].ns <= m->points[i].time_ns)
            r++;
        m->points[i].rss_bytes = r > 0 ? log->rss[r - 1].bytes : 0;
    }
    m->info.points = n;
    return TERN_OK;
}

/* ---- leaks and copies: equal ones together ---- */

/* Blocks of a pool that somebody still has are leaks; what the pool has for itself goes with it. */
static bool is_leak(const tern__memory_log *log, const tern__memory_life *life)
{
    const tern__memory_event *e = &log->events[life->made];
    if (life->freed != SIZE_MAX || e->kind == TERN__WATCH_REGION)
        return false;
    return e->kind == TERN__WATCH_BLOCK || e->frame == 0 ||
           strcmp(log->frames[e->frame].what.category, "pool") != 0;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_place(const void *a, const void *b)
{
    const tern__memory_event *x = *(const tern__memory_event *const *)a;
    const tern__memory_event *y = *(const tern__memory_event *const *)b;
    const bool copies = x->action == TERN__MEMORY_COPIED;
    int c = compare(x->frame, y->frame);
    c = c ? c : compare((uintptr_t)x->site, (uintptr_t)y->site);
    c = c ? c : compare(x->kind, y->kind);
    c = c ? c : compare(copies ? x->address : 0, copies ? y->address : 0);
    return c ? c : compare(x->ns, y->ns);
}

static bool same_place(const tern__memory_event *x, const tern__memory_event *y)
{
    return x->frame == y->frame && x->site == y->site && x->kind == y->kind &&
           (x->action != TERN__MEMORY_COPIED || x->address == y->address);
}

static int leaks_by_bytes(const void *a, const void *b)
{
    const tern_memory_leak *x = a, *y = b;
    const int c = compare(y->bytes, x->bytes);
    return c ? c : compare(x->first_ns, y->first_ns);
}

static int copies_by_bytes(const void *a, const void *b)
{
    const tern_memory_copy *x = a, *y = b;
    const int c = compare(y->bytes, x->bytes);
    return c ? c : strcmp(x->site, y->site);
}

/* Strings are static or interned: what is equal has one address. */
static int copies_by_place(const void *a, const void *b)
{
    const tern_memory_copy *x = a, *y = b;
    int c = compare((uintptr_t)x->op, (uintptr_t)y->op);
    c = c ? c : compare((uintptr_t)x->site, (uintptr_t)y->site);
    return c ? c : compare((uintptr_t)x->direction, (uintptr_t)y->direction);
}

/* Those of one op and line, whichever parts of a model they are of. */
static void merge_copies(tern_memory *m)
{
    int n = 0;
    qsort(m->copies, (size_t)m->info.copies, sizeof *m->copies, copies_by_place);
    for (int i = 1; i < m->info.copies; i++)
        if (copies_by_place(&m->copies[n], &m->copies[i]) == 0) {
            m->copies[n].copies += m->copies[i].copies;
            m->copies[n].bytes += m->copies[i].bytes;
        } else {
            m->copies[++n] = m->copies[i];
        }
    m->info.copies = m->info.copies > 0 ? n + 1 : 0;
}

static tern_status add_leaks(tern__memory_story *s, const tern__memory_event **list, size_t n)
{
    tern_memory *m = s->memory;
    m->leaks = tern__alloc_zero(n + 1, sizeof *m->leaks);
    if (!m->leaks)
        return tern__out_of_memory(n * sizeof *m->leaks);
    for (size_t i = 0; i < n; i++) {
        const tern__memory_event *e = list[i];
        tern_memory_leak *leak = &m->leaks[m->info.leaks];
        if (i == 0 || !same_place(list[i - 1], e)) {
            const tern__memory_frame *f = telling_frame(s->log, e->frame);
            m->info.leaks++;
            *leak = (tern_memory_leak){.site = tern__memory_site_text(e->site),
                                       .op = f ? f->what.name : NULL,
                                       .where = place_of(s->log, e->frame),
                                       .tensor = f ? f->what.tensor : NULL,
                                       .path = path_of(s->log, e->frame),
                                       .kind = tern__memory_kind_name(e->kind),
                                       .first_ns = e->ns};
        } else {
            leak--;
        }
        leak->blocks++;
        leak->bytes += e->bytes;
        leak->last_ns = e->ns;
        m->info.leaked_blocks++;
        m->info.leaked_bytes += e->bytes;
    }
    if (m->info.leaks > 0)
        qsort(m->leaks, (size_t)m->info.leaks, sizeof *m->leaks, leaks_by_bytes);
    return TERN_OK;
}

static tern_status add_copies(tern__memory_story *s, const tern__memory_event **list, size_t n)
{
    tern_memory *m = s->memory;
    m->copies = tern__alloc_zero(n + 1, sizeof *m->copies);
    if (!m->copies)
        return tern__out_of_memory(n * sizeof *m->copies);
    for (size_t i = 0; i < n; i++) {
        const tern__memory_event *e = list[i];
        if (i == 0 || !same_place(list[i - 1], e)) {
            const tern__memory_frame *f = telling_frame(s->log, e->frame);
            m->copies[m->info.copies++] = (tern_memory_copy){.direction = (const char *)(uintptr_t)e->address,
                                                             .op = f ? f->what.name : NULL,
                                                             .site = tern__memory_site_text(e->site)};
        }
        m->copies[m->info.copies - 1].copies++;
        m->copies[m->info.copies - 1].bytes += e->bytes;
    }
    merge_copies(m);
    if (m->info.copies > 0)
        qsort(m->copies, (size_t)m->info.copies, sizeof *m->copies, copies_by_bytes);
    return TERN_OK;
}

static tern_status gather(tern__memory_story *s)
{
    const tern__memory_event **list = tern__alloc((s->n_events + 1) * sizeof *list);
    if (!list)
        return tern__out_of_memory(s->n_events * sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < s->n_lives; i++)
        if (s->memory->info.lost == 0 && is_leak(s->log, &s->lives[i])) /* frees may be among the lost */
            list[n++] = &s->log->events[s->lives[i].made];
    if (n > 0)
        qsort(list, n, sizeof *list, by_place);
    tern_status status = add_leaks(s, list, n);
    n = 0;
    for (size_t i = 0; i < s->n_events; i++)
        if (s->log->events[i].action == TERN__MEMORY_COPIED)
            list[n++] = &s->log->events[i];
    if (n > 0)
        qsort(list, n, sizeof *list, by_place);
    if (status == TERN_OK)
        status = add_copies(s, list, n);
    tern__free(list);
    return status;
}

static bool walk_through(walk *w)
{
    tern__memory_story *s = w->story;
    size_t n = 0, slots = 16;
    for (size_t i = 0; i < s->n_events; i++)
        n += s->log->events[i].action == TERN__MEMORY_MADE;
    while (slots < 2 * n)
        slots *= 2;
    s->lives = tern__alloc((n + 1) * sizeof *s->lives);
    w->slots = tern__alloc_zero(slots, sizeof *w->slots);
    if (!s->lives || !w->slots)
        return false;
    w->mask = slots - 1;
    for (size_t i = 0; i < s->n_events; i++)
        if (!take(w, i))
            return false;
    return true;
}

tern_status tern__memory_replay(tern__memory_story *s)
{
    walk *w = tern__alloc_zero(1, sizeof *w);
    if (!w)
        return tern__out_of_memory(sizeof *w);
    w->story = s;
    w->bytes = s->log->start;
    for (int sum = 0; sum < TERN__MEMORY_SUMS; sum++)
        s->peaks[sum].event = SIZE_MAX;
    w->points[0] = (tern_memory_point){.in_use_bytes = tern__memory_sum_of(&w->bytes, TERN_MEMORY_IN_USE),
                                       .held_bytes = tern__memory_sum_of(&w->bytes, TERN_MEMORY_HELD)};
    tern_status status = walk_through(w) ? finish_points(w) : tern__out_of_memory(sizeof *s->lives);
    for (int sum = 0; sum < TERN__MEMORY_SUMS; sum++)
        finish_peak(s, (tern_memory_sum)sum);
    s->memory->has_peak = s->peaks[TERN_MEMORY_IN_USE].event != SIZE_MAX;
    if (status == TERN_OK)
        status = gather(s);
    tern__free(w->slots);
    tern__free(w->runs);
    tern__free(w->uses);
    tern__free(w);
    return status;
}
