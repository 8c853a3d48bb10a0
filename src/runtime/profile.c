/* profile.c - times of steps in ordinary runs. A step is known by what it computes, so that equal steps, of one program or of
 * several, share what is learnt. */
#include "runtime/profile.h"

#include "base/status.h"
#include "passes/select.h"

typedef struct entry {
    tern__tuned_key *key; /* NULL: there is only one way to run the step, or no memory */
    tern__tuned *way;
} entry;

struct tern__profile {
    tern_ctx *ctx;
    const tern_program *program;
    uint32_t generation; /* of the tuning that the entries point into */
    bool known;
    entry steps[]; /* (n_steps) */
};

tern__profile *tern__profile_make(tern_ctx *ctx, const tern_program *program, tern__arena *arena)
{
    tern__profile *p =
        tern__arena_alloc_zero(arena, 1, sizeof *p + program->compiled->plan.n_steps * sizeof *p->steps);
    if (!p)
        return NULL;
    p->ctx = ctx;
    p->program = program;
    return p;
}

/* What the step computes, and the candidate that it runs as: what timings chose, or the usual one. */
static tern_status find_entry(const tern__profile *p, const tern__step *step, tern__arena *memory, entry *out)
{
    tern__tuning *tuning = p->ctx->tuning;
    tern__call_room room;
    tern__call call;
    tern__candidate candidates[TERN__MAX_CANDIDATES];
    TERN_TRY(tern__call_of(&p->program->compiled->graph, step->node, &room, memory, &call));
    const tern__target *target = p->ctx->target;
    tern__step usual;
    TERN_TRY(tern__step_of(target, &call, NULL, memory, &usual));
    /* The times of a library say nothing about the usual kernel. */
    if (step->kernel_name != usual.kernel_name || tern__step_candidates(target, &call, step, candidates) < 2)
        return TERN_OK;
    const char *name = step->variant ? step->variant : candidates[0].name;
    out->key = tern__tuning_key(tuning, &call, true);
    out->way = out->key ? tern__tuned_add(tuning, out->key, name, TERN__TUNED_RUN) : NULL;
    return TERN_OK;
}

/* Times are filed under what the context has: those of a program that may use less of it would be taken for it. */
static bool is_comparable(const tern__profile *p)
{
    const tern__target *target = p->ctx->target;
    const tern__compiled *compiled = p->program->compiled;
    /* What another device took says nothing about the CPU. */
    return p->ctx->device == p->ctx->host && compiled->workers == target->workers &&
           compiled->isa_mask == target->isa_mask;
}

static void find_entries(tern__profile *p)
{
    const tern__plan *plan = &p->program->compiled->plan;
    tern__arena memory;
    tern__arena_init(&memory, 0);
    tern__tuning_load(p->ctx->tuning);
    const bool comparable = is_comparable(p);
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        p->steps[i] = (entry){0};
        if (!comparable)
            continue;
        find_entry(p, &plan->steps[i], &memory, &p->steps[i]); /* without memory a step is not followed */
        tern__arena_reset(&memory);
    }
    tern__arena_free(&memory);
    p->known = true;
    p->generation = p->ctx->tuning->generation;
}

void tern__profile_add(tern__profile *p, const uint64_t *ns)
{
    tern__tuning *tuning = p->ctx->tuning;
    bool changed = false;
    if (!p->known || p->generation != tuning->generation)
        find_entries(p);
    for (uint32_t i = 0; i < p->program->compiled->plan.n_steps; i++) {
        const entry *e = &p->steps[i];
        if (!e->way || !ns[i])
            continue;
        bool counted = tern__tuned_timing(e->key, e->way->candidate).in_runs;
        uint64_t before = e->way->median_ns;
        tern__tuned_sample(tuning, e->way, ns[i]);
        /* What is compiled already may have chosen by other numbers; small changes are not worth compiling again. */
        uint64_t now = e->way->median_ns, change = before > now ? before - now : now - before;
        bool counts = tern__tuned_timing(e->key, e->way->candidate).in_runs;
        changed = changed || (counts && (!counted || change > before / 8));
    }
    if (changed)
        tern__program_cache_clear(&p->ctx->cache);
}
