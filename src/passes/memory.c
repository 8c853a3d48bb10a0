/* memory.c - where buffers are. Results that leave the plan get blocks of their own; intermediates share one arena, so
 * that two buffers overlap in bytes only if they never live at the same time (arena_fit.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "passes/arena_fit.h"
#include "passes/pass.h"

tern_status tern__pass_memory(tern__compilation *c);

size_t tern__buffer_bytes(const tern__type *type)
{
    size_t bytes = tern__type_bytes(type), rounded;
    /* A type's bytes leave room for rounding: tern__type_make refuses sizes near the limit. */
    return tern__size_round_up(bytes ? bytes : 1, TERN__ALIGN, &rounded) ? rounded : bytes;
}

/* Leaves and outputs: homes that do not depend on time. */
static tern_status settle_fixed(tern__compilation *c)
{
    const tern_graph *g = c->graph;
    tern__plan *plan = c->plan;
    plan->block_bytes = tern__arena_alloc(c->arena, g->n_outputs * sizeof *plan->block_bytes);
    if (!plan->block_bytes)
        return tern__out_of_memory(g->n_outputs * sizeof *plan->block_bytes);
    for (uint32_t i = 0; i < g->n_leaves; i++)
        c->homes[g->nodes[g->leaves[i].node].out] = (tern__home){.space = TERN__SPACE_LEAF, .index = i};
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        tern__id root = c->places[g->outputs[i].value].root;
        if (g->nodes[g->values[root].node].leaf != TERN__NO_ID || c->homes[root].space == TERN__SPACE_OUTPUT)
            continue;
        c->homes[root] = (tern__home){.space = TERN__SPACE_OUTPUT, .index = plan->n_blocks};
        plan->block_bytes[plan->n_blocks++] = tern__type_bytes(&g->values[root].type);
    }
    return TERN_OK;
}

tern_status tern__scratch_bytes(tern__step *step, size_t *all)
{
    if (!tern__size_round_up(step->scratch_bytes, TERN__ALIGN, &step->scratch_bytes) ||
        !tern__size_round_up(step->shared_bytes, TERN__ALIGN, &step->shared_bytes) ||
        !tern__size_mul(step->scratch_bytes, (size_t)step->parts, all) ||
        !tern__size_add(*all, step->shared_bytes, all))
        return tern__fail(TERN_OVERFLOW, "the program's scratch memory does not fit the address space");
    return TERN_OK;
}

/* Scratch is in use during its step only: it may lie where nothing else lives then. */
static tern_status add_scratch(tern__step *step, uint32_t number, tern__fit_item *item)
{
    *item = (tern__fit_item){.first = number, .last = number};
    return tern__scratch_bytes(step, &item->bytes);
}

/* The buffers that live in the arena, in order of their first step. Scratch has no root. */
static tern_status list_buffers(tern__compilation *c, tern__fit_item **items, tern__id **roots,
                                uint32_t *count)
{
    const tern_graph *g = c->graph;
    size_t most = (size_t)g->n_values + c->plan->n_steps;
    *items = tern__arena_alloc(c->arena, most * sizeof **items);
    *roots = tern__arena_alloc(c->arena, most * sizeof **roots);
    if (!*items || !*roots)
        return tern__out_of_memory(most * sizeof **items);
    uint32_t n = 0;
    for (uint32_t s = 0; s < c->plan->n_steps; s++) {
        const tern__gnode *node = &g->nodes[c->plan->steps[s].node];
        if (c->plan->steps[s].scratch_bytes > 0 || c->plan->steps[s].shared_bytes > 0) {
            (*roots)[n] = TERN__NO_ID;
            TERN_TRY(add_scratch(&c->plan->steps[s], s, &(*items)[n++]));
        }
        for (uint32_t i = 0; i < node->n_out; i++) {
            tern__id root = node->out + i;
            const tern__place *place = &c->places[root];
            if (c->homes[place->root].space != TERN__SPACE_ARENA)
                continue;
            if (!tern__size_add(c->plan->naive_bytes, tern__buffer_bytes(&g->values[root].type),
                                &c->plan->naive_bytes))
                return tern__fail(TERN_OVERFLOW, "the program's intermediates do not fit the address space");
            if (place->root != root)
                continue;
            (*roots)[n] = root;
            (*items)[n++] = (tern__fit_item){.bytes = tern__buffer_bytes(&g->values[root].type),
                                             .first = place->first,
                                             .last = place->last};
        }
    }
    *count = n;
    return TERN_OK;
}

static int by_offset(const void *a, const void *b)
{
    const tern__buffer_plan *x = *(tern__buffer_plan *const *)a, *y = *(tern__buffer_plan *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Buffers in a row, each reaching into the next, are a group; groups are counted in order of first use. */
static tern_status find_groups(const tern__compilation *c, tern__buffer_plan *buffers, uint32_t n)
{
    tern__buffer_plan **row = tern__arena_alloc(c->arena, (n + 1) * sizeof *row);
    uint32_t *number = tern__arena_alloc(c->arena, (n + 1) * sizeof *number);
    if (!row || !number)
        return tern__out_of_memory(n * sizeof *row);
    for (uint32_t i = 0; i < n; i++) {
        row[i] = &buffers[i];
        number[i] = UINT32_MAX;
    }
    if (n > 0)
        qsort(row, n, sizeof *row, by_offset);
    size_t end = 0;
    uint32_t interval = 0, groups = 0;
    for (uint32_t i = 0; i < n; i++) {
        interval += i > 0 && row[i]->offset >= end;
        row[i]->group = interval;
        if (row[i]->offset + row[i]->bytes > end)
            end = row[i]->offset + row[i]->bytes;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *at = &number[buffers[i].group];
        if (*at == UINT32_MAX)
            *at = groups++;
        buffers[i].group = *at;
    }
    return TERN_OK;
}

/* The plan is beyond the limit: steps whose scratch does not fit beside what lives then run on fewer workers, each of which
 * has scratch of its own; results do not depend on that. Says whether any does. */
static tern_status spare_workers(tern__compilation *c, tern__fit_item *items, const tern__id *roots,
                                 uint32_t n, bool *spared)
{
    const uint32_t n_steps = c->plan->n_steps;
    size_t *live = tern__arena_alloc_zero(c->arena, (size_t)n_steps + 1, sizeof *live);
    if (!live)
        return tern__out_of_memory(n_steps * sizeof *live);
    *spared = false;
    for (uint32_t i = 0; i < n; i++)
        if (roots[i] != TERN__NO_ID) { /* wraps below zero and back */
            live[items[i].first] += items[i].bytes;
            live[items[i].last + 1] -= items[i].bytes;
        }
    for (uint32_t s = 1; s < n_steps; s++)
        live[s] += live[s - 1];
    for (uint32_t i = 0; i < n; i++) {
        tern__step *step = &c->plan->steps[items[i].first];
        if (roots[i] != TERN__NO_ID || step->parts == 1 || step->scratch_bytes == 0)
            continue;
        const size_t other = live[items[i].first] + step->shared_bytes, limit = c->options.memory_limit;
        const size_t fit = limit > other ? (limit - other) / step->scratch_bytes : 0;
        if (fit >= (size_t)step->parts)
            continue;
        tern__note(c, "step %u (%s) runs on %zu of %d threads: scratch for more is beyond the limit",
                   items[i].first, tern__ops[step->op].name, fit ? fit : 1, step->parts);
        step->parts = fit ? (int)fit : 1;
        TERN_TRY(add_scratch(step, items[i].first, &items[i]));
        *spared = true;
    }
    return TERN_OK;
}

static tern_status fit_arena(tern__compilation *c, tern__fit_item *items, const tern__id *roots, uint32_t n,
                             tern__fit_result *out)
{
    const tern__fit_effort effort = tern__fit_effort_of(c->options.level);
    TERN_TRY(tern__arena_fit(items, n, effort, out));
    if (!c->options.memory_limit || out->bytes <= c->options.memory_limit)
        return TERN_OK;
    bool spared = false;
    TERN_TRY(spare_workers(c, items, roots, n, &spared));
    return spared ? tern__arena_fit(items, n, effort, out) : TERN_OK;
}

static tern_status settle_arena(tern__compilation *c)
{
    tern__plan *plan = c->plan;
    tern__fit_item *items = NULL;
    tern__id *roots = NULL;
    uint32_t n = 0, n_buffers = 0;
    TERN_TRY(list_buffers(c, &items, &roots, &n));
    tern__fit_result fit;
    TERN_TRY(fit_arena(c, items, roots, n, &fit));
    plan->buffers = tern__arena_alloc(c->arena, (n + 1) * sizeof *plan->buffers);
    if (!plan->buffers)
        return tern__out_of_memory(n * sizeof *plan->buffers);
    for (uint32_t i = 0; i < n; i++) {
        if (roots[i] == TERN__NO_ID) {
            plan->steps[items[i].first].scratch_offset = items[i].offset;
            plan->scratch_bytes = items[i].bytes > plan->scratch_bytes ? items[i].bytes : plan->scratch_bytes;
            continue;
        }
        c->homes[roots[i]].offset = items[i].offset;
        c->homes[roots[i]].bytes = items[i].bytes;
        plan->buffers[n_buffers++] = (tern__buffer_plan){.value = roots[i],
                                                         .offset = items[i].offset,
                                                         .bytes = items[i].bytes,
                                                         .first = items[i].first,
                                                         .last = items[i].last};
    }
    plan->n_buffers = n_buffers;
    if (c->log)
        TERN_TRY(find_groups(c, plan->buffers, n_buffers));
    plan->live_bytes = fit.lower_bound;
    plan->arena_bytes = fit.bytes;
    if (!tern__size_add(plan->naive_bytes, plan->scratch_bytes, &plan->naive_bytes))
        return tern__fail(TERN_OVERFLOW, "the program's intermediates do not fit the address space");
    char scratch[64] = "";
    if (plan->scratch_bytes > 0)
        snprintf(scratch, sizeof scratch, " and %zu bytes of scratch", plan->scratch_bytes);
    tern__note(
        c,
        "%u intermediate%s%s in %zu bytes (%s); at least %zu are in use at once, apart they would take %zu",
        n_buffers, n_buffers == 1 ? "" : "s", scratch, fit.bytes, fit.method, fit.lower_bound,
        plan->naive_bytes);
    return TERN_OK;
}

static void fill_operand(const tern__compilation *c, tern__id value, tern__operand *out)
{
    const tern__place *place = &c->places[value];
    const tern__home *home = &c->homes[place->root];
    const tern__type *type = &c->graph->values[value].type;
    const tern__opcode maker = c->graph->nodes[c->graph->values[place->root].node].op;
    *out = (tern__operand){.type = type,
                           .strides = place->layout.strides,
                           .space = home->space,
                           .index = home->index,
                           .byte_offset = home->offset +
                                          (size_t)place->layout.offset * tern__dtype_unit_bytes(type->dtype),
                           .value = value,
                           .constant = maker == TERN__OP_constant};
}

static tern_status fill_operands(tern__compilation *c)
{
    const tern_graph *g = c->graph;
    tern__plan *plan = c->plan;
    plan->operands = tern__arena_alloc(c->arena, plan->n_operands * sizeof *plan->operands);
    plan->results = tern__arena_alloc(c->arena, g->n_outputs * sizeof *plan->results);
    if (!plan->operands || !plan->results)
        return tern__out_of_memory(plan->n_operands * sizeof *plan->operands);
    uint32_t n = 0;
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        const tern__gnode *node = &g->nodes[plan->steps[s].node];
        plan->steps[s].operands = n;
        for (uint32_t i = 0; i < node->n_in; i++)
            fill_operand(c, node->in[i], &plan->operands[n++]);
        for (uint32_t i = 0; i < node->n_out; i++)
            fill_operand(c, node->out + i, &plan->operands[n++]);
    }
    plan->n_results = g->n_outputs;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        tern__id value = g->outputs[i].value;
        fill_operand(c, value, &plan->results[i].at);
        plan->results[i].layout = c->places[value].layout;
        plan->results[i].name = g->outputs[i].name;
    }
    return TERN_OK;
}

tern_status tern__pass_memory(tern__compilation *c)
{
    const tern_graph *g = c->graph;
    c->homes = tern__arena_alloc(c->arena, g->n_values * sizeof *c->homes);
    if (!c->homes)
        return tern__out_of_memory(g->n_values * sizeof *c->homes);
    for (uint32_t v = 0; v < g->n_values; v++)
        c->homes[v] = (tern__home){.space = TERN__SPACE_ARENA};
    TERN_TRY(settle_fixed(c));
    TERN_TRY(settle_arena(c));
    return fill_operands(c);
}
