/* memory.c - where buffers are. Results that leave the plan get blocks of their own; intermediates share one arena:
 * walking the steps, a buffer takes the best-fitting gap when its first step comes and gives it back after its last. */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "passes/pass.h"

tern_status tern__pass_memory(tern__compilation *c);

typedef struct gap {
    size_t offset, bytes;
} gap;

typedef struct gaps {
    gap *items;         /* by offset, never touching each other */
    size_t n, capacity;
    size_t end;         /* arena bytes in use so far; everything beyond is free */
} gaps;

static size_t padded(const tern__type *type)
{
    size_t bytes = tern__type_bytes(type), rounded;
    /* A type's bytes leave room for rounding: tern__type_make refuses sizes near the limit. */
    return tern__size_round_up(bytes ? bytes : 1, TERN__ALIGN, &rounded) ? rounded : bytes;
}

static bool gaps_take(gaps *g, size_t bytes, size_t *offset)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < g->n; i++)
        if (g->items[i].bytes >= bytes && (best == SIZE_MAX || g->items[i].bytes < g->items[best].bytes))
            best = i;
    if (best != SIZE_MAX) {
        *offset = g->items[best].offset;
        g->items[best].offset += bytes;
        g->items[best].bytes -= bytes;
        if (g->items[best].bytes == 0)
            memmove(&g->items[best], &g->items[best + 1], (--g->n - best) * sizeof(gap));
        return true;
    }
    /* A gap at the very end is extended instead of left behind. */
    size_t start = g->end;
    if (g->n && g->items[g->n - 1].offset + g->items[g->n - 1].bytes == g->end)
        start = g->items[--g->n].offset;
    *offset = start;
    return tern__size_add(start, bytes, &g->end);
}

static bool gaps_give(gaps *g, size_t offset, size_t bytes)
{
    size_t low = 0, high = g->n; /* first gap behind `offset` */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (g->items[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    bool joins_left = low > 0 && g->items[low - 1].offset + g->items[low - 1].bytes == offset;
    bool joins_right = low < g->n && offset + bytes == g->items[low].offset;
    if (joins_left && joins_right) {
        g->items[low - 1].bytes += bytes + g->items[low].bytes;
        memmove(&g->items[low], &g->items[low + 1], (--g->n - low) * sizeof(gap));
    } else if (joins_left) {
        g->items[low - 1].bytes += bytes;
    } else if (joins_right) {
        g->items[low].offset = offset;
        g->items[low].bytes += bytes;
    } else {
        if (!tern__grow((void **)&g->items, &g->capacity, g->n + 1, sizeof(gap)))
            return false;
        memmove(&g->items[low + 1], &g->items[low], (g->n++ - low) * sizeof(gap));
        g->items[low] = (gap){offset, bytes};
    }
    return true;
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

/* The buffers a step is the first, or the last, to touch. Results come first in the list of operands that may begin. */
static tern_status settle_step(tern__compilation *c, uint32_t number, gaps *free_gaps)
{
    const tern_graph *g = c->graph;
    const tern__gnode *node = &g->nodes[c->plan->steps[number].node];
    for (uint32_t i = 0; i < node->n_out; i++) {
        tern__id root = c->places[node->out + i].root;
        tern__home *home = &c->homes[root];
        if (home->space != TERN__SPACE_ARENA || home->bytes || c->places[root].first != number)
            continue;
        home->bytes = padded(&g->values[root].type);
        if (!gaps_take(free_gaps, home->bytes, &home->offset) ||
            !tern__size_add(c->plan->naive_bytes, home->bytes, &c->plan->naive_bytes))
            return tern__fail(TERN_OVERFLOW, "the program's intermediates do not fit the address space");
    }
    for (uint32_t i = 0; i < node->n_in + node->n_out; i++) {
        tern__id value = i < node->n_in ? node->in[i] : node->out + (i - node->n_in);
        tern__id root = c->places[value].root;
        tern__home *home = &c->homes[root];
        if (home->space != TERN__SPACE_ARENA || c->places[root].last != number)
            continue;
        c->places[root].last = UINT32_MAX; /* an operand used twice is given back once */
        if (!gaps_give(free_gaps, home->offset, home->bytes))
            return tern__out_of_memory(sizeof(gap));
    }
    return TERN_OK;
}

static void fill_operand(const tern__compilation *c, tern__id value, tern__operand *out)
{
    const tern__place *place = &c->places[value];
    const tern__home *home = &c->homes[place->root];
    const tern__type *type = &c->graph->values[value].type;
    *out = (tern__operand){
        .type = type, .strides = place->layout.strides, .space = home->space, .index = home->index,
        .byte_offset = home->offset + (size_t)place->layout.offset * tern__dtype_unit_bytes(type->dtype),
        .value = value};
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

static tern_status settle_scratch(tern__plan *plan, size_t arena_end)
{
    size_t most = 0;
    for (uint32_t s = 0; s < plan->n_steps; s++)
        if (plan->steps[s].scratch_bytes > most)
            most = plan->steps[s].scratch_bytes;
    plan->scratch_offset = arena_end;
    size_t all;
    if (!tern__size_round_up(most, TERN__ALIGN, &plan->scratch_stride) ||
        !tern__size_mul(plan->scratch_stride, (size_t)plan->workers, &all) ||
        !tern__size_add(arena_end, all, &plan->arena_bytes))
        return tern__fail(TERN_OVERFLOW, "the program's scratch memory does not fit the address space");
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
    gaps free_gaps = {0};
    tern_status status = TERN_OK;
    for (uint32_t s = 0; s < c->plan->n_steps && status == TERN_OK; s++)
        status = settle_step(c, s, &free_gaps);
    tern__free(free_gaps.items);
    TERN_TRY(status);
    TERN_TRY(settle_scratch(c->plan, free_gaps.end));
    return fill_operands(c);
}
