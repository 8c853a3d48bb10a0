/* select.c - a kernel for every step, how many workers share it, and what it is estimated to cost. Where several ways to run
 * a step have been measured, the fastest is taken; they all compute the same bits. */
#include "passes/select.h"

#include <stdio.h>
#include <string.h>

#include "base/intern.h"
#include "base/status.h"
#include "graph/region.h"
#include "graph/text.h"
#include "passes/pass.h"
#include "passes/assign.h"

tern_status tern__pass_select(tern__compilation *c);

/* A kernel may look at all of its first operand in every call (products prepare their rows). Where that is next to nothing,
 * items can be handed out in many calls. */
static bool is_claimed(const tern__call *call, double bytes)
{
    const double calls = 16, most = 1. / 16;
    return call->n_in > 0 && calls * (double)tern__type_bytes(call->in[0]) <= most * bytes;
}

tern_status tern__step_of(const tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__step *out)
{
    tern__choice choice;
    TERN_TRY(target->choose(target, call, candidate, arena, &choice));
    double flops = call->op->cost(call, call->op->cost_factor), bytes = tern__step_bytes(call);
    int64_t work = choice.work >= 0 ? choice.work : call->op->work(call);
    int parts =
        candidate && candidate->parts ? candidate->parts : tern__target_parts(target, work, flops, bytes);
    *out = (tern__step){.op = tern__op_code(call->op),
                        .n_in = (uint32_t)call->n_in,
                        .n_out = (uint32_t)call->n_out,
                        .attrs = call->attrs,
                        .kernel = choice.kernel,
                        .kernel_name = choice.name,
                        .isa_name = choice.isa,
                        .reference = choice.reference,
                        .rows = choice.rows,
                        .on_device = choice.on_device,
                        .program = choice.program,
                        .work = work,
                        .parts = parts,
                        .claimed = is_claimed(call, bytes),
                        .streamed = choice.streamed,
                        .scratch_bytes = choice.scratch_bytes,
                        .shared_bytes = choice.shared_bytes,
                        .flops = (uint64_t)flops,
                        .bytes = (uint64_t)bytes};
    return TERN_OK;
}

/* ---- ways to run a step ---- */

/* Numbers of workers worth trying, the usual one first. A step far too small to share is not shared in order to see. */
static int list_parts(const tern__target *target, const tern__step *usual, int out[4])
{
    const uint64_t least = 32768; /* flops or bytes: a quarter of what makes two workers share it */
    int n = 0, most = usual->work < target->workers ? (int)usual->work : target->workers;
    const int others[] = {1, most, most / 2};
    out[n++] = usual->parts;
    if (usual->parts == 1 && usual->flops < least && usual->bytes < least)
        return n;
    for (size_t i = 0; i < TERN__COUNT(others); i++) {
        bool is_new = others[i] >= 1;
        for (int k = 0; k < n; k++)
            is_new = is_new && out[k] != others[i];
        if (is_new)
            out[n++] = others[i];
    }
    return n;
}

int tern__step_candidates(const tern__target *target, const tern__call *call, const tern__step *usual,
                          tern__candidate out[TERN__MAX_CANDIDATES])
{
    tern__candidate own[TERN__MAX_CANDIDATES];
    int n_own = target->candidates ? target->candidates(target, call, TERN__MAX_CANDIDATES, own) : 0;
    if (n_own == 0) {
        own[0] = (tern__candidate){.name = ""};
        n_own = 1;
    }
    int parts[4], n_parts = list_parts(target, usual, parts), n = 0;
    for (int p = 0; p < n_parts; p++)
        for (int i = 0; i < n_own && n < TERN__MAX_CANDIDATES; i++) {
            out[n] = own[i];
            size_t length = strlen(own[i].name);
            snprintf(out[n].name + length, sizeof out[n].name - length, "%sthreads=%d", length ? " " : "",
                     parts[p]);
            out[n++].parts = parts[p];
        }
    return n;
}

/* How much longer something takes in programs than when it is tuned, where both are known: steps find other data in the caches
 * there. 1 if nothing tells. More than half as much again is the fault of that candidate, and no others take as long. */
static double program_factor(int n, const tern__timing *timings)
{
    const double most = 1.5;
    for (int i = 0; i < n; i++)
        if (timings[i].in_runs && timings[i].tuned_ns && timings[i].ns) {
            double factor = (double)timings[i].ns / (double)timings[i].tuned_ns;
            return factor < most ? factor : most;
        }
    return 1;
}

int tern__fastest_timing(int n, const tern__timing *timings)
{
    double factor = program_factor(n, timings), least = 0;
    int best = -1;
    for (int i = 0; i < n; i++) {
        double ns = timings[i].in_runs ? (double)timings[i].ns : (double)timings[i].ns * factor;
        if (timings[i].failed || !timings[i].ns || (best >= 0 && ns >= least))
            continue;
        best = i;
        least = ns;
    }
    return best;
}

/* Times of both ways by one clock: that of programs if it has seen both, else the tuner's. */
static void explain(tern__compilation *c, tern__id node, const tern__candidate *candidates,
                    const tern__timing *timings, int best)
{
    if (!c->log)
        return;
    tern__strbuf head = TERN__STRBUF_EMPTY;
    tern__node_head_add(&head, c->graph, NULL, node);
    const char *what = head.text ? head.text : "a step", *name = candidates[best].name;
    const tern__timing *a = &timings[best], *b = &timings[0];
    if (a->in_runs && b->in_runs)
        tern__note(
            c, "%s: runs with %s, which took %.1f us in earlier runs; %s, the usual way, took %.1f us there",
            what, name, (double)a->ns / 1e3, candidates[0].name, (double)b->ns / 1e3);
    else if (b->failed)
        tern__note(c, "%s: runs with %s, the fastest that was measured (%.1f us); %s failed", what, name,
                   (double)a->ns / 1e3, candidates[0].name);
    else if (a->tuned_ns && b->tuned_ns) {
        char runs[64] = ""; /* the other clock, where one of them has it */
        if (a->in_runs || b->in_runs)
            snprintf(runs, sizeof runs, "; %s took %.1f us in earlier runs", a->in_runs ? "it" : "that way",
                     (double)(a->in_runs ? a : b)->ns / 1e3);
        tern__note(
            c,
            "%s: runs with %s, which took %.1f us when it was tuned; %s, the usual way, took %.1f us then%s",
            what, name, (double)a->tuned_ns / 1e3, candidates[0].name, (double)b->tuned_ns / 1e3, runs);
    } else
        tern__note(c, "%s: runs with %s, the fastest that was measured (%.1f us %s)", what, name,
                   (double)a->ns / 1e3, a->in_runs ? "in earlier runs" : "when it was tuned");
    tern__strbuf_free(&head);
}

/* Replaces the usual step by one that was measured to be faster. One that cannot be made any more is left alone. */
static tern_status use_timings(tern__compilation *c, const tern__call *call, tern__id node, tern__step *step,
                               uint32_t *usual)
{
    tern__candidate candidates[TERN__MAX_CANDIDATES];
    tern__timing timings[TERN__MAX_CANDIDATES] = {{0}};
    int n = tern__step_candidates(c->target, call, step, candidates);
    if (n < 2 || !c->target->timings->find(c->target->timings, call, n, candidates, timings))
        return TERN_OK;
    if (!timings[0].ns && !timings[0].failed) /* too little is known to leave the usual way */
        return TERN_OK;
    int best = tern__fastest_timing(n, timings);
    *usual += best == 0;
    if (best <= 0)
        return TERN_OK;
    tern__step faster;
    tern_status status = tern__step_of(c->target, call, &candidates[best], c->arena, &faster);
    if (status != TERN_OK)
        return status == TERN_OUT_OF_MEMORY ? status : TERN_OK;
    faster.variant = tern__arena_strndup(c->arena, candidates[best].name, strlen(candidates[best].name));
    if (!faster.variant)
        return tern__out_of_memory(TERN__CANDIDATE_NAME);
    *step = faster;
    c->changes++;
    explain(c, node, candidates, timings, best);
    return TERN_OK;
}

/* ---- what trace events call a step ---- */

/* "ternary_matmul+dequantise+mul+2": the first few of what is fused, and how many more. */
static const char *fused_label(const tern__region *region)
{
    enum { MOST = 4 };
    char label[MOST * 32 + 16];
    int used = 0, shown = 0, more = 0;
    for (int i = 0; i < region->n_ops; i++) {
        const char *name = tern__ops[region->ops[i].op].name;
        if (region->ops[i].op == TERN__OP_full)
            continue; /* a number */
        if (shown == MOST)
            more++;
        else
            used += snprintf(label + used, sizeof label - (size_t)used, "%s%.31s", shown++ ? "+" : "", name);
    }
    if (more > 0)
        snprintf(label + used, sizeof label - (size_t)used, "+%d", more);
    return shown ? tern__intern(label) : tern__ops[TERN__OP_fused].name;
}

static void describe_step(const tern__gnode *node, const tern__call *call, tern__step *step)
{
    const tern__region *region =
        node->op == TERN__OP_fused ? node->attrs[TERN__ATTR_fused_body].region : NULL;
    step->where = tern__intern(node->origin);
    step->at_most = false;
    if (region) {
        const tern__region_op *first = &region->ops[0];
        step->label = fused_label(region);
        step->int8 = tern__region_has_product(region) && region->types[first->in[0]].dtype == TERN_I8;
        for (int i = 0; i < region->n_ops; i++)
            step->at_most |= (tern__ops[region->ops[i].op].flags & TERN__AT_MOST) != 0;
    } else {
        step->label = tern__ops[node->op].name;
        step->int8 = call->n_in > 0 && call->in[0]->dtype == TERN_I8;
        step->at_most = (tern__ops[node->op].flags & TERN__AT_MOST) != 0;
    }
}

/* ---- the pass ---- */

/* `usual` counts steps of which times tell that the usual way is the fastest; NULL: there are none. */
static tern_status select_step(tern__compilation *c, tern__id id, tern__side side, uint32_t *usual,
                               tern__step *step)
{
    tern__call_room room;
    tern__call call;
    tern__target target = *c->target;
    target.side = side;
    TERN_TRY(tern__call_of(c->graph, id, &room, c->arena, &call));
    TERN_TRY(tern__step_of(&target, &call, NULL, c->arena, step));
    if (usual)
        TERN_TRY(use_timings(c, &call, id, step, usual));
    step->node = id;
    describe_step(&c->graph->nodes[id], &call, step);
    return TERN_OK;
}

/* Steps in a row on one device become a partition. */
static tern_status find_partitions(tern__compilation *c)
{
    tern__plan *plan = c->plan;
    plan->partitions = tern__arena_alloc(c->arena, plan->n_steps * sizeof *plan->partitions);
    if (!plan->partitions)
        return tern__out_of_memory(plan->n_steps * sizeof *plan->partitions);
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        const bool on_device = plan->steps[s].on_device;
        if (s == 0 || plan->partitions[plan->n_partitions - 1].on_device != on_device)
            plan->partitions[plan->n_partitions++] =
                (tern__partition){.first = s, .on_device = on_device, .predicted_ns = -1};
        plan->partitions[plan->n_partitions - 1].end = s + 1;
    }
    return TERN_OK;
}

tern_status tern__pass_select(tern__compilation *c)
{
    tern__plan *plan = c->plan;
    const tern__timings *timings = c->target->timings;
    bool measured = timings && c->options.level > TERN_LEVEL_NONE && timings->any(timings);
    plan->steps = tern__arena_alloc(c->arena, plan->n_steps * sizeof *plan->steps);
    if (!plan->steps)
        return tern__out_of_memory(plan->n_steps * sizeof *plan->steps);
    plan->workers = 1;
    plan->device = c->target->name;
    plan->predicted_ns = c->target->prediction ? 0 : -1;
    tern__assignment assigned = {0};
    if (c->target->prediction)
        TERN_TRY(tern__assign_steps(c, &assigned));
    uint32_t n = 0, usual = 0;
    for (uint32_t i = 0; i < c->graph->n_nodes; i++) {
        if (!c->needs_step[c->order[i]])
            continue;
        tern__step *step = &plan->steps[n];
        const tern__side side = assigned.sides ? assigned.sides[n] : TERN__SIDE_ANY;
        TERN_TRY(select_step(c, c->order[i], side, measured ? &usual : NULL, step));
        n++;
        plan->flops += step->flops;
        plan->bytes += step->bytes;
        if (step->parts > plan->workers)
            plan->workers = step->parts;
    }
    if (usual > 0)
        tern__note(c, "measured times were consulted: the usual way is the fastest for %u step%s", usual,
                   usual == 1 ? "" : "s");
    TERN_TRY(find_partitions(c));
    return c->target->prediction ? tern__predict_partitions(c, &assigned) : TERN_OK;
}
