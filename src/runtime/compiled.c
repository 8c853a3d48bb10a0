/* compiled.c - making and sharing compiled graphs. */
#include "runtime/compiled.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/trace.h"
#include "graph/region.h"
#include "tensor/deferred.h"

/* What is bound anew at every run must not be kept alive: only constants are part of what was compiled. */
static void forget_data(tern_graph *g)
{
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        tern__leaf *leaf = &g->leaves[i];
        if (g->nodes[leaf->node].op == TERN__OP_constant)
            continue;
        tern__storage_release(leaf->storage);
        leaf->storage = NULL;
    }
}

/* What the plan reads is there as long as the plan is. */
static tern_status pin_constants(tern__compiled *p)
{
    for (; p->n_pinned < p->graph.n_leaves; p->n_pinned++) {
        const tern__storage *storage = p->graph.leaves[p->n_pinned].storage;
        if (storage)
            TERN_TRY(tern__storage_pin(storage));
    }
    return TERN_OK;
}

static void unpin_constants(tern__compiled *p)
{
    while (p->n_pinned > 0) {
        const tern__storage *storage = p->graph.leaves[--p->n_pinned].storage;
        if (storage)
            tern__storage_unpin(storage);
    }
}

static const tern__region *region_of(const tern__step *step)
{
    return step->op == TERN__OP_fused ? step->attrs[TERN__ATTR_fused_body].region : NULL;
}

int tern__step_ops(const tern__step *step)
{
    const tern__region *region = region_of(step);
    return region ? region->n_ops : 1;
}

static tern_status name_region(tern__arena *arena, const tern__region *region, const char *const **out)
{
    size_t n = (size_t)region->n_ops;
    const char **names = tern__arena_alloc(arena, n * sizeof *names);
    if (!names)
        return tern__out_of_memory(n * sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = tern__ops[region->ops[i].op].name;
    *out = names;
    return TERN_OK;
}

static tern_status name_ops(tern__compiled *p)
{
    size_t n = p->plan.n_steps;
    p->ops = tern__arena_alloc(&p->arena, n * sizeof *p->ops);
    if (!p->ops)
        return tern__out_of_memory(n * sizeof *p->ops);
    for (size_t i = 0; i < n; i++) {
        const tern__region *region = region_of(&p->plan.steps[i]);
        p->ops[i] = &tern__ops[p->plan.steps[i].op].name;
        if (region)
            TERN_TRY(name_region(&p->arena, region, &p->ops[i]));
    }
    return TERN_OK;
}

static void count_ops(tern__plan *plan)
{
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        const int n = tern__step_ops(&plan->steps[i]);
        *(n > 1 ? &plan->fused_ops : &plan->single_ops) += (uint64_t)n;
    }
}

static tern_status make(const tern_graph *graph, const tern__target *target, bool explain, tern__compiled *p)
{
    uint64_t start = tern__now_ns();
    TERN_TRY(tern__graph_clone(graph, &p->source));
    TERN_TRY(tern__graph_clone(graph, &p->graph));
    if (explain) {
        p->report = tern__alloc(sizeof *p->report);
        if (!p->report)
            return tern__out_of_memory(sizeof *p->report);
        tern__report_init(p->report);
    }
    tern__target within;
    TERN_TRY(tern__compile_options_narrow(&p->options, target, &within));
    p->device = within.name;
    p->workers = within.workers;
    p->isa_mask = within.isa_mask;
    TERN_TRY(tern__compile(&p->graph, &within, &p->options, &p->arena, &p->plan, p->report));
    count_ops(&p->plan);
    forget_data(&p->source);
    forget_data(&p->graph);
    TERN_TRY(pin_constants(p));
    if (explain)
        TERN_TRY(name_ops(p));
    static _Atomic(uint32_t) plans;
    p->plan.number = atomic_fetch_add_explicit(&plans, 1, memory_order_relaxed) + 1;
    p->compile_ns = tern__now_ns() - start;
    return TERN_OK;
}

static tern_status make_for(const tern_graph *graph, const tern__target *target,
                            const tern__compile_options *options, bool explain, tern__compiled **out)
{
    tern__compiled *p = tern__alloc_zero(1, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    atomic_init(&p->refs, 1);
    p->options = *options;
    tern__compile_options_keep(options);
    tern__graph_init(&p->source);
    tern__graph_init(&p->graph);
    tern__arena_init(&p->arena, 0);
    uint64_t start = tern__trace_begin(), scope = tern__watch_enter("compile", "compile");
    const tern_status status = make(graph, target, explain, p);
    tern__watch_leave(scope);
    tern__trace_end(start, "compile", "compile", UINT32_MAX, 0, 0);
    if (status != TERN_OK) {
        tern__compiled_release(p);
        return status;
    }
    *out = p;
    return TERN_OK;
}

/* Predictions are no better than this: a plan has to promise more to be preferred to that of the target itself. */
static const double gain = 0.9;

/* A target that cannot run the graph is out; want of memory is everybody's. */
static tern_status try_rival(const tern_graph *graph, const tern__target *rival,
                             const tern__compile_options *options, bool explain, tern__compiled **best,
                             double *least)
{
    tern__compiled *other = NULL;
    const tern_status status = make_for(graph, rival, options, explain, &other);
    if (status != TERN_OK)
        return status == TERN_OUT_OF_MEMORY ? status : TERN_OK;
    const bool wins = other->plan.predicted_ns >= 0 && other->plan.predicted_ns < *least;
    tern__compiled_release(wins ? *best : other);
    if (wins) {
        *best = other;
        *least = other->plan.predicted_ns;
    }
    return TERN_OK;
}

tern_status tern__compiled_make(const tern_graph *graph, const tern__target *target,
                                const tern__compile_options *options, bool explain, tern__compiled **out)
{
    tern__compiled *best = NULL;
    TERN_TRY(make_for(graph, target, options, explain, &best));
    double least = best->plan.predicted_ns * gain;
    for (int i = 0; i < target->n_rivals && best->plan.predicted_ns >= 0; i++) {
        const tern_status status = try_rival(graph, target->rivals[i], options, explain, &best, &least);
        if (status != TERN_OK) {
            tern__compiled_release(best);
            return status;
        }
    }
    best->device = target->name; /* whoever runs it: the plan knows */
    *out = best;
    return TERN_OK;
}

void tern__compiled_retain(tern__compiled *compiled)
{
    atomic_fetch_add_explicit(&compiled->refs, 1, memory_order_relaxed);
}

void tern__compiled_release(tern__compiled *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    unpin_constants(p);
    tern__graph_clear(&p->source);
    tern__graph_clear(&p->graph);
    tern__arena_free(&p->arena);
    if (p->report)
        tern__report_free(p->report);
    tern__free(p->report);
    tern__compile_options_drop(&p->options);
    tern__free(p);
}

static uint32_t count_leaves(const tern_graph *g, const tern__storage *storage)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_leaves; i++)
        n += g->leaves[i].storage == storage;
    return n;
}

/* Data of constants that passes made and nobody else holds: what was folded, but not weights that were packed, which stay with
 * the constant that they were made of. */
static size_t own_data(const tern__compiled *p)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < p->graph.n_leaves; i++) {
        const tern__storage *storage = p->graph.leaves[i].storage;
        if (!storage || p->graph.nodes[p->graph.leaves[i].node].op != TERN__OP_constant)
            continue;
        if (atomic_load_explicit(&storage->refs, memory_order_relaxed) <= count_leaves(&p->graph, storage))
            bytes += storage->bytes;
    }
    return bytes;
}

size_t tern__compiled_bytes(const tern__compiled *p)
{
    size_t nodes = (size_t)p->source.cap_nodes + p->graph.cap_nodes;
    size_t values = (size_t)p->source.cap_values + p->graph.cap_values;
    return own_data(p) + sizeof *p + nodes * (sizeof(tern__gnode) + 2 * sizeof(tern__step)) +
           values * (sizeof(tern__value) + sizeof(tern__place) + sizeof(tern__home));
}
