/* memory_rows.c - lives of blocks, added up: by op, site, tensor and part, and as a tree of what led to them. */
#include "measure/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/intern.h"
#include "measure/profile/tree.h"

/* ---- numbers for pairs of things ---- */

typedef struct pair {
    uint64_t a, b;
    uint32_t number; /* counted from 1; 0: empty */
} pair;

typedef struct numbers {
    pair *pairs;
    size_t cap, n;
} numbers;

static pair *find_pair(const numbers *t, uint64_t a, uint64_t b)
{
    size_t at = (size_t)tern__hash_mix(a, b) & (t->cap - 1);
    while (t->pairs[at].number && (t->pairs[at].a != a || t->pairs[at].b != b))
        at = (at + 1) & (t->cap - 1);
    return &t->pairs[at];
}

static bool grow_numbers(numbers *t)
{
    numbers larger = {.cap = t->cap ? t->cap * 2 : 256, .n = t->n};
    larger.pairs = tern__alloc_zero(larger.cap, sizeof *larger.pairs);
    if (!larger.pairs)
        return false;
    for (size_t i = 0; i < t->cap; i++)
        if (t->pairs[i].number)
            *find_pair(&larger, t->pairs[i].a, t->pairs[i].b) = t->pairs[i];
    tern__free(t->pairs);
    *t = larger;
    return true;
}

/* The number of the pair, counted from 0; `*is_new`: it had none. -1: no memory. */
static int64_t number_of(numbers *t, uint64_t a, uint64_t b, bool *is_new)
{
    if (2 * (t->n + 1) > t->cap && !grow_numbers(t))
        return -1;
    pair *p = find_pair(t, a, b);
    *is_new = p->number == 0;
    if (*is_new)
        *p = (pair){.a = a, .b = b, .number = (uint32_t)++t->n};
    return (int64_t)p->number - 1;
}

/* ---- rows ---- */

static const char outside[] = "the program itself";

typedef struct adder {
    tern__memory_story *story;
    numbers numbers[TERN__MEMORY_BY_COUNT];
} adder;

/* What a block counts as; false: nothing. */
static bool key_of(const tern__memory_log *log, const tern__memory_event *e, int by, const char **name,
                   const char **category)
{
    uint32_t frame = e->frame;
    while (frame && strcmp(log->frames[frame].what.category, "pool") == 0)
        frame = log->frames[frame].parent;
    const tern__watch_frame *f = &log->frames[frame].what;
    *category = tern__memory_kind_name(e->kind);
    switch (by) {
    case TERN_MEMORY_OPS:
        *name = frame ? f->name : outside;
        *category = frame ? f->category : "program";
        return true;
    case TERN_MEMORY_SITES:
        *name = tern__memory_site_text(e->site);
        return true;
    case TERN_MEMORY_TENSORS:
        *name = frame ? f->tensor : NULL;
        return *name != NULL;
    default:
        for (*name = NULL; frame && !*name; frame = log->frames[frame].parent)
            *name = log->frames[frame].what.where;
        return *name != NULL;
    }
}

/* The row of a block, made if there is none; NULL with `*failed` false: it counts in none of this kind. */
static tern_memory_row *row_of(adder *a, const tern__memory_event *e, int by, uint64_t **live, bool *failed)
{
    tern__memory_rows *rows = &a->story->memory->by[by];
    const char *name, *category;
    bool is_new;
    if (!key_of(a->story->log, e, by, &name, &category))
        return NULL;
    name = tern__intern(name);
    category = tern__intern(category);
    const int64_t i = number_of(&a->numbers[by], (uintptr_t)name, (uintptr_t)category, &is_new);
    *failed =
        i < 0 ||
        (is_new && (!tern__grow((void **)&rows->rows, &rows->cap, rows->n + 1, sizeof *rows->rows) ||
                    !tern__grow((void **)&rows->live, &rows->cap_live, rows->n + 1, sizeof *rows->live)));
    if (*failed)
        return NULL;
    if (is_new) {
        rows->rows[rows->n] = (tern_memory_row){.name = name, .category = category};
        rows->live[rows->n++] = 0;
    }
    *live = &rows->live[i];
    return &rows->rows[i];
}

static bool count(adder *a, const tern__memory_event *made, bool freed)
{
    for (int by = 0; by < TERN__MEMORY_BY_COUNT; by++) {
        uint64_t *live;
        bool failed = false;
        tern_memory_row *row = row_of(a, made, by, &live, &failed);
        if (failed)
            return false;
        if (!row)
            continue;
        if (freed) {
            row->frees++;
            *live -= made->bytes;
            continue;
        }
        row->allocations++;
        row->allocated_bytes += made->bytes;
        *live += made->bytes;
        row->most_bytes = *live > row->most_bytes ? *live : row->most_bytes;
    }
    return true;
}

static void take_peak(tern_memory *m)
{
    for (int by = 0; by < TERN__MEMORY_BY_COUNT; by++)
        for (size_t i = 0; i < m->by[by].n; i++)
            m->by[by].rows[i].peak_bytes = m->by[by].live[i];
}

static int by_bytes(const void *a, const void *b)
{
    const tern_memory_row *x = a, *y = b;
    if (x->peak_bytes != y->peak_bytes)
        return x->peak_bytes < y->peak_bytes ? 1 : -1;
    if (x->most_bytes != y->most_bytes)
        return x->most_bytes < y->most_bytes ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* For each event its life, counted from 1. */
static bool add_up(adder *a, uint32_t *life_of)
{
    tern__memory_story *s = a->story;
    for (size_t i = 0; i < s->n_lives; i++) {
        life_of[s->lives[i].made] = (uint32_t)i + 1;
        if (s->lives[i].freed != SIZE_MAX)
            life_of[s->lives[i].freed] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < s->n_events; i++) {
        const tern__memory_event *made = life_of[i] ? &s->log->events[s->lives[life_of[i] - 1].made] : NULL;
        if (made && made->kind != TERN__WATCH_REGION && !count(a, made, s->lives[life_of[i] - 1].freed == i))
            return false;
        if (i == s->peaks[TERN_MEMORY_IN_USE].event)
            take_peak(s->memory);
    }
    return true;
}

tern_status tern__memory_make_rows(tern__memory_story *s)
{
    adder a = {.story = s};
    tern_memory *m = s->memory;
    uint32_t *life_of = tern__alloc_zero(s->n_events + 1, sizeof *life_of);
    const bool done = life_of && add_up(&a, life_of);
    tern__free(life_of);
    for (int by = 0; by < TERN__MEMORY_BY_COUNT; by++) {
        tern__memory_rows *rows = &m->by[by];
        tern__free(a.numbers[by].pairs);
        for (size_t i = 0; i < rows->n; i++)
            rows->rows[i].live_bytes = rows->live[i];
        if (rows->n > 0)
            qsort(rows->rows, rows->n, sizeof *rows->rows, by_bytes);
    }
    m->info.ops = (int)m->by[TERN_MEMORY_OPS].n;
    m->info.sites = (int)m->by[TERN_MEMORY_SITES].n;
    m->info.tensors = (int)m->by[TERN_MEMORY_TENSORS].n;
    m->info.parts = (int)m->by[TERN_MEMORY_PARTS].n;
    return done ? TERN_OK : tern__out_of_memory(s->n_events * sizeof *life_of);
}

/* ---- the tree ---- */

/* While the tree grows. Branch 0 is all of it, branch 1 what was there before; then come the log's frames but for its first, then
 * the sites. */
typedef struct branch {
    tern__links links;
    tern_memory_frame frame;
} branch;

enum { ALL, BEFORE, FRAMES_FROM }; /* frame f of the log is branch f + 1 */

typedef struct tree {
    branch *branches;
    size_t n, cap;
    numbers sites;
} tree;

static bool add_branch(tree *t, const char *name, const char *category, int parent)
{
    if (!tern__grow((void **)&t->branches, &t->cap, t->n + 1, sizeof *t->branches))
        return false;
    t->branches[t->n] = (branch){.frame = {.name = name, .category = category, .parent = parent}};
    tern__tree_hang(t->branches, sizeof *t->branches, (int)t->n++, parent);
    return true;
}

static int branch_of(uint32_t frame)
{
    return frame ? (int)frame + FRAMES_FROM - 1 : ALL;
}

static bool plant(tree *t, const tern__memory_log *log)
{
    bool done = add_branch(t, "all", "all", -1) && add_branch(t, "before", "before", ALL);
    for (uint32_t i = 1; i < log->n_frames && done; i++) {
        const tern__watch_frame *f = &log->frames[i].what;
        done = add_branch(t, f->name, f->category, branch_of(log->frames[i].parent));
    }
    return done;
}

static bool hang(tree *t, const tern__memory_event *e, bool at_peak)
{
    bool is_new;
    const int64_t number = number_of(&t->sites, e->frame, (uintptr_t)e->site, &is_new);
    if (number < 0 ||
        (is_new && !add_branch(t, tern__memory_site_text(e->site), "site", branch_of(e->frame))))
        return false;
    for (int at = (int)(t->n - t->sites.n) + (int)number, own = 1; at >= 0;
         at = t->branches[at].frame.parent, own = 0) {
        tern_memory_frame *f = &t->branches[at].frame;
        f->allocations++;
        f->allocated_bytes += e->bytes;
        f->peak_bytes += at_peak ? e->bytes : 0;
        f->self_peak_bytes += at_peak && own ? e->bytes : 0;
    }
    return true;
}

/* The largest first, of equals the one that was met first. */
static void sort_children(tree *t, int parent)
{
    int sorted = -1;
    for (int c = t->branches[parent].links.first_child, next; c >= 0; c = next) {
        const tern_memory_frame *f = &t->branches[c].frame;
        int *at = &sorted;
        next = t->branches[c].links.next;
        while (*at >= 0 && (t->branches[*at].frame.peak_bytes > f->peak_bytes ||
                            (t->branches[*at].frame.peak_bytes == f->peak_bytes &&
                             t->branches[*at].frame.allocated_bytes > f->allocated_bytes)))
            at = &t->branches[*at].links.next;
        t->branches[c].links.next = *at;
        *at = c;
    }
    t->branches[parent].links.first_child = sorted;
}

/* Parents first; branches under which nothing was allocated are left out. */
static tern_status put_in_order(tree *t, tern_memory *m)
{
    int *position = tern__alloc_zero(t->n, sizeof *position), written = 0;
    m->frames = tern__alloc(t->n * sizeof *m->frames);
    if (!position || !m->frames) {
        tern__free(position);
        return tern__out_of_memory(t->n * sizeof *m->frames);
    }
    for (size_t i = 0; i < t->n; i++)
        sort_children(t, (int)i);
    for (int i = ALL; i >= 0; i = tern__tree_next(t->branches, sizeof *t->branches, i)) {
        tern_memory_frame *f = &m->frames[written];
        *f = t->branches[i].frame;
        if (f->allocations == 0 && f->peak_bytes == 0)
            continue;
        position[i] = written++;
        f->depth = f->parent < 0 ? 0 : m->frames[position[f->parent]].depth + 1;
        f->parent = f->parent < 0 ? -1 : position[f->parent];
    }
    m->info.frames = written;
    tern__free(position);
    return TERN_OK;
}

tern_status tern__memory_make_tree(tern__memory_story *s)
{
    tree t = {0};
    bool done = plant(&t, s->log);
    for (size_t i = 0; i < s->n_lives && done; i++) {
        const tern__memory_event *e = &s->log->events[s->lives[i].made];
        if (e->kind != TERN__WATCH_REGION)
            done = hang(&t, e, tern__life_spans(&s->lives[i], s->peaks[TERN_MEMORY_IN_USE].event));
    }
    tern_status status = TERN_OK;
    if (done) {
        tern_memory_frame *all = &t.branches[ALL].frame, *before = &t.branches[BEFORE].frame;
        const uint64_t peak = s->memory->peaks[TERN_MEMORY_IN_USE].bytes;
        before->peak_bytes = before->self_peak_bytes = s->memory->has_peak ? peak - all->peak_bytes : 0;
        all->peak_bytes += before->peak_bytes;
        status = put_in_order(&t, s->memory);
    } else {
        status = tern__out_of_memory(sizeof *t.branches);
    }
    tern__free(t.branches);
    tern__free(t.sites.pairs);
    return status;
}
