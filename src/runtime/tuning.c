/* tuning.c - the table of what is known, and the compiler's view of it. */
#include "runtime/tuning.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "graph/text_call.h"
#include "runtime/context.h"
#include "store/store.h"

enum {
    FIRST_BUCKETS = 64,
    ENOUGH_RUNS = 3, /* ordinary runs before their median counts: the first ones meet cold caches */
};

/* ---- keys ---- */

static void grow_table(tern__tuning *t)
{
    if (t->n_keys < t->n_buckets)
        return;
    size_t n = t->n_buckets ? t->n_buckets * 2 : FIRST_BUCKETS;
    tern__tuned_key **buckets = tern__alloc_zero(n, sizeof *buckets);
    if (!buckets)
        return; /* chains grow instead */
    for (size_t i = 0; i < t->n_buckets; i++)
        for (tern__tuned_key *k = t->buckets[i], *next; k; k = next) {
            next = k->chain;
            k->chain = buckets[k->hash & (n - 1)];
            buckets[k->hash & (n - 1)] = k;
        }
    tern__free(t->buckets);
    t->buckets = buckets;
    t->n_buckets = n;
}

static char *keep(tern__tuning *t, const char *text)
{
    return tern__arena_strndup(&t->arena, text, strlen(text));
}

static tern__tuned_key *add_key(tern__tuning *t, uint64_t hash, const char *op, const char *shapes,
                                const char *params)
{
    grow_table(t);
    tern__tuned_key *key = t->n_buckets ? tern__arena_alloc(&t->arena, sizeof *key) : NULL;
    if (!key)
        return NULL;
    *key = (tern__tuned_key){
        .hash = hash, .op = keep(t, op), .shapes = keep(t, shapes), .params = keep(t, params)};
    if (!key->op || !key->shapes || !key->params)
        return NULL;
    tern__tuned_key **at = &t->buckets[hash & (t->n_buckets - 1)];
    key->chain = *at;
    *at = key;
    t->n_keys++;
    return key;
}

tern__tuned_key *tern__tuning_key_text(tern__tuning *t, const char *op, const char *shapes,
                                       const char *params, bool add)
{
    uint64_t hash = tern__hash(op, strlen(op), 0);
    hash = tern__hash(shapes, strlen(shapes), hash);
    hash = tern__hash(params, strlen(params), hash);
    for (tern__tuned_key *k = t->n_buckets ? t->buckets[hash & (t->n_buckets - 1)] : NULL; k; k = k->chain)
        if (k->hash == hash && strcmp(k->op, op) == 0 && strcmp(k->shapes, shapes) == 0 &&
            strcmp(k->params, params) == 0)
            return k;
    return add ? add_key(t, hash, op, shapes, params) : NULL;
}

tern__tuned_key *tern__tuning_key(tern__tuning *t, const tern__call *call, bool add)
{
    tern__strbuf *s = &t->text;
    s->length = 0;
    tern__call_types_add(s, call);
    tern__strbuf_add_n(s, "", 1);
    size_t params = s->length;
    tern__call_params_add(s, call);
    tern__strbuf_add_n(s, "", 1);
    if (s->failed) { /* an empty buffer may have more luck next time */
        tern__strbuf_free(s);
        return NULL;
    }
    return tern__tuning_key_text(t, call->op->name, s->text, s->text + params, add);
}

/* ---- ways ---- */

tern__tuned *tern__tuned_find(const tern__tuned_key *key, const char *candidate, tern__tuned_source source)
{
    for (tern__tuned *w = key ? key->ways : NULL; w; w = w->next)
        if (w->source == source && strcmp(w->candidate, candidate) == 0)
            return w;
    return NULL;
}

tern__tuned *tern__tuned_add(tern__tuning *t, tern__tuned_key *key, const char *candidate,
                             tern__tuned_source source)
{
    tern__tuned *w = tern__tuned_find(key, candidate, source);
    if (w)
        return w;
    w = tern__arena_alloc(&t->arena, sizeof *w);
    char *name = keep(t, candidate);
    if (!w || !name)
        return NULL;
    *w = (tern__tuned){.next = key->ways, .candidate = name, .source = source};
    key->ways = w;
    return w;
}

tern__timing tern__tuned_timing(const tern__tuned_key *key, const char *candidate)
{
    const tern__tuned *run = tern__tuned_find(key, candidate, TERN__TUNED_RUN);
    const tern__tuned *tune = tern__tuned_find(key, candidate, TERN__TUNED_TUNE);
    if (tune && tune->status != TERN_OK)
        return (tern__timing){.failed = true};
    if (run && run->runs >= ENOUGH_RUNS)
        return (tern__timing){.ns = run->median_ns, .tuned_ns = tune ? tune->median_ns : 0, .in_runs = true};
    return (tern__timing){.ns = tune ? tune->median_ns : 0, .tuned_ns = tune ? tune->median_ns : 0};
}

void tern__tuned_sample(tern__tuning *t, tern__tuned *w, uint64_t ns)
{
    uint64_t sorted[TERN__TUNED_SAMPLES + 1];
    w->samples[w->n_samples++ % TERN__TUNED_SAMPLES] = ns;
    int n = w->n_samples < TERN__TUNED_SAMPLES ? w->n_samples : TERN__TUNED_SAMPLES;
    memcpy(sorted, w->samples, (size_t)n * sizeof *sorted);
    if (w->runs >= w->n_samples) /* earlier processes have a say too, until this one has seen enough */
        sorted[n++] = w->median_ns;
    w->median_ns = tern__median(sorted, n);
    w->min_ns = w->min_ns && w->min_ns < ns ? w->min_ns : ns;
    w->runs = w->runs < INT32_MAX ? w->runs + 1 : w->runs;
    w->dirty = w->runs >= ENOUGH_RUNS;
    t->dirty = t->dirty || w->dirty;
}

/* ---- the compiler's view ---- */

static bool any(const tern__timings *timings)
{
    tern__tuning *t = timings->owner; /* reads the file when it is first asked */
    tern__tuning_load(t);
    return t->n_keys > 0;
}

static bool find(const tern__timings *timings, const tern__call *call, int n,
                 const tern__candidate *candidates, tern__timing *out)
{
    const tern__tuned_key *key = tern__tuning_key(timings->owner, call, false);
    for (int i = 0; key && i < n; i++)
        out[i] = tern__tuned_timing(key, candidates[i].name);
    return key != NULL;
}

/* ---- making and freeing ---- */

/* Is it the place that is taken when nobody names one? */
static bool is_default_place(const char *path)
{
    char buffer[4096];
    const char *place = tern__env_tuning(buffer, sizeof buffer);
    return place == buffer && strcmp(place, path) == 0;
}

tern_status tern__tuning_create(const char *path, int threads, tern__isa_cap cap, tern__tuning **out)
{
    tern__tuning *t = tern__alloc_zero(1, sizeof *t);
    if (!t)
        return tern__out_of_memory(sizeof *t);
    t->timings = (tern__timings){.any = any, .find = find, .owner = t};
    t->threads = threads;
    char name[TERN__ISA_CAP_NAME];
    snprintf(t->cpu, sizeof t->cpu, "%s (%s)", tern__cpu()->model, tern__isa_cap_name(cap, name));
    tern__arena_init(&t->arena, 0);
    if (path && path[0] && tern__store_available()) {
        t->path = tern__strdup(path);
        if (!t->path) {
            tern__free(t);
            return tern__out_of_memory(strlen(path) + 1);
        }
        t->nobody_asked = is_default_place(path);
    }
    *out = t;
    return TERN_OK;
}

void tern__tuning_free(tern__tuning *tuning)
{
    if (!tuning)
        return;
    tern__tuning_save(tuning);
    tern__arena_free(&tuning->arena);
    tern__strbuf_free(&tuning->text);
    tern__free(tuning->buckets);
    tern__free(tuning->path);
    tern__free(tuning);
}
