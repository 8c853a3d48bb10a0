/* memory_advice.c - what the record says could be saved. Each rule computes bytes from events and plans, compares them with what
 * they are a part of, and is silent below a hundredth of it: the advice changes when the data does. */
#include "measure/memory/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/units.h"

enum { LEAST_BYTES = 4096, LEAST_REGION = 8 << 20, ADVICE_MOST = 64, POOLED_FROM = 8, SIZE_SLACK = 64 };

typedef struct adviser {
    const tern__memory_story *story;
    tern_memory *memory;
    size_t n;
} adviser;

/* NULL: it is too little to speak of. `of` names `whole`. */
static tern_memory_advice *advise(adviser *a, tern_advice_kind kind, uint64_t bytes, const char *of,
                                  uint64_t whole)
{
    const double share = whole ? (double)bytes / (double)whole : 0;
    if (bytes < LEAST_BYTES || share < 0.01 || a->n == ADVICE_MOST)
        return NULL;
    tern_memory_advice *advice = &a->memory->advice[a->n++];
    *advice = (tern_memory_advice){.kind = kind,
                                   .priority = share >= 0.2    ? TERN_PRIORITY_HIGH
                                               : share >= 0.05 ? TERN_PRIORITY_MEDIUM
                                                               : TERN_PRIORITY_LOW,
                                   .saves_bytes = bytes,
                                   .of = of,
                                   .share = share};
    return advice;
}

static uint64_t peak_bytes(const adviser *a)
{
    return a->memory->peaks[TERN_MEMORY_IN_USE].bytes;
}

/* ---- leaks ---- */

static void advise_leaks(adviser *a)
{
    const tern_memory *m = a->memory;
    for (int i = 0; i < m->info.leaks && i < 8; i++) {
        const tern_memory_leak *l = &m->leaks[i];
        const uint64_t end = tern__memory_sum_of(&m->info.end, TERN_MEMORY_IN_USE);
        tern_memory_advice *it = advise(a, TERN_ADVICE_LEAK, l->bytes, "end", end);
        char bytes[TERN_UNIT_TEXT];
        if (!it)
            continue;
        tern_bytes_text((double)l->bytes, bytes, sizeof bytes);
        snprintf(it->what, sizeof it->what, "give back what %s allocates%s%s", l->site, l->tensor ? ": " : "",
                 l->tensor ? l->tensor : "");
        snprintf(it->evidence, sizeof it->evidence,
                 "%" PRIu64 " block%s (%s, %s) from %s on were still there at the end", l->blocks,
                 l->blocks == 1 ? "" : "s", bytes, l->kind, tern__time_of((double)l->first_ns).text);
    }
}

/* ---- the plan that ran at the peak ---- */

static const tern__watch_plan *plan_at_peak(const adviser *a)
{
    const uint32_t number = a->memory->peaks[TERN_MEMORY_IN_USE].program;
    for (uint32_t i = 0; number && i < a->story->log->n_plans; i++)
        if (a->story->log->plans[i].told.number == number)
            return &a->story->log->plans[i].told;
    return NULL;
}

/* With every result that could lie over an operand lying there, another step may be the fullest. */
static void advise_in_place(adviser *a, const tern__watch_plan *p)
{
    uint64_t now = 0, then = 0;
    uint32_t top = 0;
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const uint64_t live = p->steps[s].live_bytes, less = live - p->steps[s].in_place_bytes;
        if (live > now) {
            now = live;
            top = s;
        }
        then = less > then ? less : then;
    }
    tern_memory_advice *it = advise(a, TERN_ADVICE_IN_PLACE, now - then, "peak", peak_bytes(a));
    char before[TERN_UNIT_TEXT], after[TERN_UNIT_TEXT];
    if (!it)
        return;
    tern_bytes_text((double)now, before, sizeof before);
    tern_bytes_text((double)then, after, sizeof after);
    snprintf(it->what, sizeof it->what,
             "let step %u (%s) of program %u write over its operand: compile with pass 'inplace' on", top,
             p->steps[top].label, p->number);
    snprintf(it->evidence, sizeof it->evidence,
             "its arena has %s in use at step %u; operands that nobody reads afterwards could take results, "
             "and no step would have more than %s",
             before, top, after);
}

static void advise_packing(adviser *a, const tern__watch_plan *p)
{
    tern_memory_advice *it =
        advise(a, TERN_ADVICE_PACKING, p->arena_bytes - p->live_bytes, "peak", peak_bytes(a));
    char arena[TERN_UNIT_TEXT], live[TERN_UNIT_TEXT];
    if (!it)
        return;
    tern_bytes_text((double)p->arena_bytes, arena, sizeof arena);
    tern_bytes_text((double)p->live_bytes, live, sizeof live);
    snprintf(it->what, sizeof it->what, "compile program %u at level high, which searches for better offsets",
             p->number);
    snprintf(it->evidence, sizeof it->evidence,
             "its arena has %s, but never more than %s are in use at one step: the rest are gaps", arena,
             live);
}

/* ---- blocks alive at the peak ---- */

static const tern__watch_frame *frame_of(const adviser *a, const tern__memory_life *life)
{
    return &a->story->log->frames[a->story->log->events[life->made].frame].what;
}

static bool is_arena(const adviser *a, const tern__memory_life *life)
{
    const tern__memory_event *e = &a->story->log->events[life->made];
    return e->kind == TERN__WATCH_BLOCK && e->frame && strcmp(frame_of(a, life)->category, "arena") == 0;
}

static void advise_sharing(adviser *a)
{
    const tern__memory_story *s = a->story;
    uint64_t sum = 0, most = 0;
    int n = 0;
    for (size_t i = 0; i < s->n_lives; i++)
        if (is_arena(a, &s->lives[i]) && tern__life_spans(&s->lives[i], s->peaks[TERN_MEMORY_IN_USE].event)) {
            const uint64_t bytes = s->log->events[s->lives[i].made].bytes;
            sum += bytes;
            most = bytes > most ? bytes : most;
            n++;
        }
    if (n < 2 || a->memory->most_runs > 1)
        return;
    tern_memory_advice *it = advise(a, TERN_ADVICE_SHARING, sum - most, "peak", peak_bytes(a));
    char all[TERN_UNIT_TEXT], one[TERN_UNIT_TEXT];
    if (!it)
        return;
    tern_bytes_text((double)sum, all, sizeof all);
    tern_bytes_text((double)most, one, sizeof one);
    snprintf(it->what, sizeof it->what,
             "let %d programs share one arena: give them a range of batches, or one exec", n);
    snprintf(it->evidence, sizeof it->evidence,
             "at the peak %d arenas have %s, the largest %s, and no two programs ever ran at the same time",
             n, all, one);
}

/* Idle at the peak: used for the last time before it, but given back after it, or never. Arenas are in use as long as their
 * program has them. */
static bool is_idle(const adviser *a, const tern__memory_life *life)
{
    const size_t peak = a->story->peaks[TERN_MEMORY_IN_USE].event;
    const tern__memory_event *e = &a->story->log->events[life->made];
    return e->kind == TERN__WATCH_BLOCK && e->frame && !is_arena(a, life) && tern__life_spans(life, peak) &&
           life->used < peak && life->used != life->made;
}

static void advise_release(adviser *a)
{
    const tern__memory_story *s = a->story;
    uint64_t sum = 0, n = 0, largest = 0;
    const tern__memory_life *one = NULL;
    for (size_t i = 0; i < s->n_lives; i++) {
        if (!is_idle(a, &s->lives[i]))
            continue;
        const uint64_t bytes = s->log->events[s->lives[i].made].bytes;
        sum += bytes;
        n++;
        if (bytes > largest) {
            largest = bytes;
            one = &s->lives[i];
        }
    }
    tern_memory_advice *it = one ? advise(a, TERN_ADVICE_RELEASE, sum, "peak", peak_bytes(a)) : NULL;
    char bytes[TERN_UNIT_TEXT];
    if (!it)
        return;
    const tern__watch_frame *f = frame_of(a, one);
    tern_bytes_text((double)largest, bytes, sizeof bytes);
    snprintf(it->what, sizeof it->what, "release %" PRIu64 " tensor%s before the peak: first of all %s of %s",
             n, n == 1 ? "" : "s", f->tensor ? f->tensor : "the result", f->name);
    snprintf(it->evidence, sizeof it->evidence,
             "it has %s and was used for the last time at %s, the peak is at %s", bytes,
             tern__time_of((double)s->log->events[one->used].ns).text,
             tern__time_of((double)a->memory->peaks[TERN_MEMORY_IN_USE].time_ns).text);
}

/* ---- blocks asked for again and again ---- */

static int by_site_and_size(const void *a, const void *b)
{
    const tern__memory_event *x = *(const tern__memory_event *const *)a;
    const tern__memory_event *y = *(const tern__memory_event *const *)b;
    if (x->site != y->site)
        return (uintptr_t)x->site < (uintptr_t)y->site ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_time(const void *a, const void *b)
{
    const tern__memory_event *x = *(const tern__memory_event *const *)a;
    const tern__memory_event *y = *(const tern__memory_event *const *)b;
    return x < y ? -1 : x > y;
}

/* Blocks from `i` on that one line asked for, of one size: malloc may give some of them a few bytes more. */
static size_t end_of_group(const tern__memory_event *const *list, size_t n, size_t i)
{
    size_t next = i + 1;
    while (next < n && list[next]->site == list[i]->site && list[next]->bytes - list[i]->bytes <= SIZE_SLACK)
        next++;
    return next;
}

/* Of blocks made at list[0..n), how many were there at once at most. Frees are looked up in `freed` (by event). */
static uint64_t most_at_once(const tern__memory_event *events, const tern__memory_event *const *list,
                             size_t n, const size_t *freed, size_t *ends)
{
    uint64_t alive = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t made = (size_t)(list[i] - events);
        size_t kept = 0;
        for (size_t k = 0; k < alive; k++)
            if (ends[k] > made)
                ends[kept++] = ends[k];
        ends[kept++] = freed[made];
        alive = kept;
        most = alive > most ? alive : most;
        if (most * 4 > n) /* too many for a pool to help: no need to know how many */
            return most;
    }
    return most;
}

/* The line of the program above the library that the block was made for (tern_memory_enter); NULL: it has none. */
static const char *caller_of(const adviser *a, const tern__memory_event *e)
{
    const tern__memory_log *log = a->story->log;
    for (uint32_t f = e->frame; f; f = log->frames[f].parent)
        if (strcmp(log->frames[f].what.category, "user") == 0)
            return log->frames[f].what.name;
    return NULL;
}

/* Who called the library can have it asked less often. What the library does by itself nobody but its authors can change: it is told
 * last, and as theirs. */
static void advise_pool(adviser *a, const tern__memory_event *const *list, size_t n, uint64_t most)
{
    const uint64_t bytes = list[0]->bytes;
    tern_memory_advice *it =
        advise(a, TERN_ADVICE_POOLING, (n - most) * bytes, "allocated", a->memory->info.allocated_bytes);
    char each[TERN_UNIT_TEXT];
    if (!it)
        return;
    tern_bytes_text((double)bytes, each, sizeof each);
    const char *caller = caller_of(a, list[0]), *site = tern__memory_site_text(list[0]->site);
    if (caller) {
        snprintf(it->what, sizeof it->what,
                 "keep and reuse what %s has allocated (in %s), or take it from a pool", caller, site);
    } else {
        it->priority = TERN_PRIORITY_LOW;
        snprintf(it->what, sizeof it->what,
                 "Tern itself could reuse blocks (%s): nothing to do for those who use it", site);
    }
    snprintf(it->evidence, sizeof it->evidence,
             "%zu blocks of %s were asked for, never more than %" PRIu64 " at once: %zu of them were in vain",
             n, each, most, n - (size_t)most);
}

static tern_status advise_pooling(adviser *a)
{
    const tern__memory_story *s = a->story;
    const tern__memory_event **list = tern__alloc((s->n_lives + 1) * sizeof *list);
    size_t *freed = tern__alloc((s->n_events + 1) * sizeof *freed);
    size_t *ends = tern__alloc((s->n_lives + 1) * sizeof *ends), n = 0;
    for (size_t i = 0; list && freed && ends && i < s->n_lives; i++) {
        const tern__memory_event *e = &s->log->events[s->lives[i].made];
        freed[s->lives[i].made] = s->lives[i].freed;
        if (e->kind <= TERN__WATCH_PAGES && e->bytes >= LEAST_BYTES)
            list[n++] = e;
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_site_and_size);
    for (size_t i = 0, next; i < n; i = next) {
        next = end_of_group(list, n, i);
        qsort(list + i, next - i, sizeof *list, by_time);
        const uint64_t most =
            next - i >= POOLED_FROM ? most_at_once(s->log->events, list + i, next - i, freed, ends) : 0;
        if (most > 0 && most * 4 <= next - i)
            advise_pool(a, list + i, next - i, most);
    }
    const bool done = list && freed && ends;
    tern__free(list);
    tern__free(freed);
    tern__free(ends);
    return done ? TERN_OK : tern__out_of_memory(s->n_events * sizeof *freed);
}

static void advise_trim(adviser *a)
{
    const tern_memory_peak *p = &a->memory->peaks[TERN_MEMORY_HELD];
    const uint64_t idle = p->of.regions > p->of.blocks ? p->of.regions - p->of.blocks : 0;
    tern_memory_advice *it =
        idle >= LEAST_REGION ? advise(a, TERN_ADVICE_TRIM, idle, "held", p->bytes) : NULL;
    char free_text[TERN_UNIT_TEXT], all[TERN_UNIT_TEXT];
    if (!it)
        return;
    tern_bytes_text((double)idle, free_text, sizeof free_text);
    tern_bytes_text((double)p->of.regions, all, sizeof all);
    snprintf(it->what, sizeof it->what, "trim pools (tern_pool_trim), or give them a cap, before the peak");
    snprintf(it->evidence, sizeof it->evidence,
             "when most was held, at %s, pools had %s from the system and %s of it free",
             tern__time_of((double)p->time_ns).text, all, free_text);
}

/* ---- all of it ---- */

static int by_priority(const void *a, const void *b)
{
    const tern_memory_advice *x = a, *y = b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->saves_bytes != y->saves_bytes)
        return x->saves_bytes < y->saves_bytes ? 1 : -1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

tern_status tern__memory_make_advice(tern__memory_story *story)
{
    tern_memory *m = story->memory;
    adviser a = {.story = story, .memory = m};
    m->advice = tern__alloc_zero(ADVICE_MOST, sizeof *m->advice);
    if (!m->advice)
        return tern__out_of_memory(ADVICE_MOST * sizeof *m->advice);
    if (!m->has_peak)
        return TERN_OK;
    const tern__watch_plan *plan = plan_at_peak(&a);
    if (plan) {
        advise_in_place(&a, plan);
        advise_packing(&a, plan);
    }
    advise_leaks(&a);
    advise_sharing(&a);
    advise_release(&a);
    advise_trim(&a);
    TERN_TRY(advise_pooling(&a));
    if (a.n > 0)
        qsort(m->advice, a.n, sizeof *m->advice, by_priority);
    m->info.advice = (int)a.n;
    return TERN_OK;
}

const char *tern_advice_kind_name(tern_advice_kind kind)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_ADVICE_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)kind);
}

const char *tern_priority_name(tern_priority priority)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_PRIORITY_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)priority);
}
