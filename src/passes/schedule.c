/* schedule.c - an order of the nodes in which less is live at once. Recorded order, a greedy order, one that runs what frees memory
 * as soon as it can (gradients of weights, whose operands are larger) and, for small graphs, the best of all orders are compared by a
 * model of the arena; one is taken only if the plan that comes of it, scratch included, really has less live and no larger an arena.
 *
 * The model knows what `place` makes of recorded order: every buffer takes its bytes from the node that
 * makes it until the last one that uses it, views and updates included; outputs and leaves take none. If
 * `inplace` is on, a result that may be written over an operand takes nothing where that operand is read for
 * the last time. Overwrites
 * that their operands' producer does for them stay behind that producer: they are one unit here.
 * Units run after those whose results they read, and updates after whatever reads the old value (order.h). */
#include <string.h>

#include "base/status.h"
#include "passes/arena_fit.h"
#include "passes/order.h"
#include "passes/place.h"
#include "passes/select.h"

tern_status tern__pass_schedule(tern__compilation *c);

enum {
    EXHAUSTIVE_MOST = 16, /* units that are ordered by looking at all orders, at level high ... */
    EXHAUSTIVE_QUICK = 10 /* ... and below it */
};

/* Lists by unit: item[first[u]] .. item[first[u + 1]]. */
typedef struct lists {
    uint32_t *first; /* (n_units + 2) one more while they are filled */
    tern__id *item;
} lists;

typedef struct model {
    const tern_graph *g;
    tern__arena *arena;
    const tern__place *places; /* of recorded order */
    uint32_t n_units, n_leaves;
    lists nodes;      /* of a unit; units in recorded order, leaves first */
    uint32_t *unit;   /* (n_nodes) */
    lists reads;      /* buffers that it reads, each once */
    lists over;       /* pairs: a result, and the buffer of an operand that it may be written over */
    lists readers;    /* units that must run after it */
    lists needs;      /* units that must run before it, not all of them once */
    size_t *bytes;    /* (n_values) of a buffer: what it takes */
    uint32_t *uses;   /* (n_values) of a buffer: units that read it */
    uint32_t *left;   /* (n_values) uses to come, while an order is tried */
    uint32_t *waits;  /* (n_units) needs that have not run, while an order is made */
    size_t *takes;    /* (n_units) bytes of the buffers that it makes */
    size_t *drops;    /* (n_units) bytes of those that nobody reads */
    bool *over_taken; /* (pairs of `over`) while a unit is looked at: the result is written there */
    size_t *scratch;  /* (n_nodes) NULL: nobody had to know yet */
    uint32_t *seen;   /* (n_values) the last unit that listed the buffer, and one more */
} model;

/* ---- units ---- */

/* Is order[i] an overwrite that `producer` does on its way? */
static bool is_done_by(const tern__compilation *c, const tern__gnode *producer, uint32_t i)
{
    const tern_graph *g = c->graph;
    if (i >= g->n_nodes || c->needs_step[c->order[i]])
        return false;
    const tern__gnode *update = &g->nodes[c->order[i]];
    return update->op == TERN__OP_overwrite && update->in[1] >= producer->out &&
           update->in[1] < producer->out + producer->n_out;
}

/* Adds order[i] to the last unit. */
static void add_node(const tern__compilation *c, model *m, uint32_t i)
{
    m->unit[c->order[i]] = m->n_units;
    m->nodes.item[m->nodes.first[m->n_units + 1]++] = c->order[i];
}

static void end_unit(model *m)
{
    m->n_units++;
    m->nodes.first[m->n_units + 1] = m->nodes.first[m->n_units];
}

static void make_units(const tern__compilation *c, model *m)
{
    const tern_graph *g = c->graph;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[c->order[i]].leaf != TERN__NO_ID) {
            add_node(c, m, i);
            end_unit(m);
        }
    m->n_leaves = m->n_units;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const tern__gnode *node = &g->nodes[c->order[i]];
        if (node->leaf != TERN__NO_ID)
            continue;
        add_node(c, m, i);
        while (is_done_by(c, node, i + 1))
            add_node(c, m, ++i);
        end_unit(m);
    }
}

/* ---- lists ---- */

static bool alloc_lists(const model *m, lists *l, size_t items)
{
    l->first = tern__arena_alloc_zero(m->arena, (size_t)m->g->n_nodes + 2, sizeof *l->first);
    l->item = tern__arena_alloc(m->arena, (items + 1) * sizeof *l->item);
    return l->first && l->item;
}

/* Buffers that unit u reads and has not listed yet go to the end of its list. */
static void list_reads(model *m, uint32_t u, uint32_t *n)
{
    for (uint32_t k = m->nodes.first[u]; k < m->nodes.first[u + 1]; k++) {
        const tern__gnode *node = &m->g->nodes[m->nodes.item[k]];
        for (uint32_t i = 0; i < node->n_in; i++) {
            const tern__id root = m->places[node->in[i]].root;
            if (m->seen[root] == u + 1)
                continue;
            m->seen[root] = u + 1;
            m->reads.item[(*n)++] = root;
            m->uses[root]++;
        }
    }
}

/* Results of unit u, of its first node, and operands that they may be written over. */
static void list_over(const tern__compilation *c, model *m, uint32_t u, uint32_t *n)
{
    const tern__gnode *node = &m->g->nodes[m->nodes.item[m->nodes.first[u]]];
    if (!tern__pass_is_on(&c->options, TERN__PASS_inplace))
        return;
    for (uint32_t r = 0; r < node->n_out; r++)
        for (uint32_t i = 0; i < node->n_in; i++)
            if (tern__may_reuse(c, node, i, r)) {
                m->over.item[(*n)++] = node->out + r;
                m->over.item[(*n)++] = m->places[node->in[i]].root;
            }
}

static void list_needs(const model *m, const tern__before *before, uint32_t u, uint32_t *n)
{
    for (uint32_t k = m->nodes.first[u]; k < m->nodes.first[u + 1]; k++) {
        const tern__id id = m->nodes.item[k];
        const tern__gnode *node = &m->g->nodes[id];
        for (uint32_t i = 0; i < node->n_in; i++)
            if (m->unit[m->g->values[node->in[i]].node] != u)
                m->needs.item[(*n)++] = m->unit[m->g->values[node->in[i]].node];
        for (uint32_t e = before->first ? before->first[id] : 0; before->first && e < before->first[id + 1];
             e++)
            if (m->unit[before->node[e]] != u)
                m->needs.item[(*n)++] = m->unit[before->node[e]];
    }
}

/* The other way round, in two passes: count, then fill. */
static void turn_needs(model *m)
{
    const uint32_t n = m->needs.first[m->n_units];
    for (uint32_t e = 0; e < n; e++)
        m->readers.first[m->needs.item[e] + 2]++;
    for (uint32_t u = 0; u < m->n_units; u++)
        m->readers.first[u + 1] += m->readers.first[u];
    for (uint32_t u = 0; u < m->n_units; u++)
        for (uint32_t e = m->needs.first[u]; e < m->needs.first[u + 1]; e++)
            m->readers.item[m->readers.first[m->needs.item[e] + 1]++] = u;
}

static void weigh(model *m)
{
    const tern_graph *g = m->g;
    for (tern__id v = 0; v < g->n_values; v++)
        if (m->places[v].root == v && g->nodes[g->values[v].node].leaf == TERN__NO_ID &&
            !m->places[v].is_output)
            m->bytes[v] = tern__buffer_bytes(&g->values[v].type);
    for (tern__id v = 0; v < g->n_values; v++) {
        const uint32_t u = m->unit[g->values[v].node];
        m->takes[u] += m->bytes[v];
        if (m->uses[v] == 0)
            m->drops[u] += m->bytes[v];
    }
}

static bool alloc_model(model *m, size_t reads, size_t over, size_t needs)
{
    const size_t nodes = (size_t)m->g->n_nodes + 1, values = m->g->n_values;
    m->unit = tern__arena_alloc(m->arena, nodes * sizeof *m->unit);
    m->waits = tern__arena_alloc(m->arena, nodes * sizeof *m->waits);
    m->takes = tern__arena_alloc_zero(m->arena, nodes, sizeof *m->takes);
    m->drops = tern__arena_alloc_zero(m->arena, nodes, sizeof *m->drops);
    m->bytes = tern__arena_alloc_zero(m->arena, values, sizeof *m->bytes);
    m->uses = tern__arena_alloc_zero(m->arena, values, sizeof *m->uses);
    m->left = tern__arena_alloc(m->arena, values * sizeof *m->left);
    m->seen = tern__arena_alloc_zero(m->arena, values, sizeof *m->seen);
    m->over_taken = tern__arena_alloc(m->arena, over / 2 + 1);
    return m->unit && m->waits && m->takes && m->drops && m->bytes && m->uses && m->left && m->seen &&
           m->over_taken && alloc_lists(m, &m->nodes, nodes) && alloc_lists(m, &m->reads, reads) &&
           alloc_lists(m, &m->over, over) && alloc_lists(m, &m->needs, needs) &&
           alloc_lists(m, &m->readers, needs);
}

static tern_status make_model(tern__compilation *c, model *m)
{
    const tern_graph *g = c->graph;
    tern__before before;
    size_t edges = 0, over = 0;
    TERN_TRY(tern__find_before(c, &before));
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        edges += g->nodes[n].n_in;
        over += 2 * (size_t)g->nodes[n].n_in * g->nodes[n].n_out;
    }
    *m = (model){.g = g, .arena = c->arena, .places = c->places};
    if (!alloc_model(m, edges, over, edges + (before.first ? before.first[g->n_nodes] : 0)))
        return tern__out_of_memory(edges * sizeof *m->needs.item);
    make_units(c, m);
    uint32_t n_reads = 0, n_over = 0, n_needs = 0;
    for (uint32_t u = 0; u < m->n_units; u++) {
        list_reads(m, u, &n_reads);
        list_over(c, m, u, &n_over);
        list_needs(m, &before, u, &n_needs);
        m->reads.first[u + 1] = n_reads;
        m->over.first[u + 1] = n_over;
        m->needs.first[u + 1] = n_needs;
    }
    turn_needs(m);
    weigh(m);
    return TERN_OK;
}

/* ---- what an order costs ---- */

/* Bytes that running u gives back, with m->left as it is before it. */
static size_t gives(const model *m, uint32_t u)
{
    size_t bytes = m->drops[u];
    for (uint32_t e = m->reads.first[u]; e < m->reads.first[u + 1]; e++)
        if (m->left[m->reads.item[e]] == 1)
            bytes += m->bytes[m->reads.item[e]];
    return bytes;
}

/* Bytes that u makes and that nobody had, with m->left as it is before it: results that cannot be written over an operand. Like
 * `inplace`, result after result takes the first operand that nobody else takes. */
static size_t needs_more(const model *m, uint32_t u)
{
    const tern__id *pair = m->over.item;
    const uint32_t first = m->over.first[u], end = m->over.first[u + 1];
    size_t bytes = m->takes[u];
    tern__id done = TERN__NO_ID; /* the result that has an operand */
    for (uint32_t e = first; e < end; e += 2) {
        bool taken = pair[e] == done || m->left[pair[e + 1]] != 1;
        for (uint32_t k = first; k < e && !taken; k += 2)
            taken = m->over_taken[k / 2] && pair[k + 1] == pair[e + 1];
        m->over_taken[e / 2] = !taken;
        if (taken)
            continue;
        done = pair[e];
        bytes -= m->bytes[done];
    }
    return bytes;
}

static void run_unit(model *m, uint32_t u, size_t *live, size_t *peak)
{
    const size_t high = *live + needs_more(m, u);
    if (high > *peak)
        *peak = high;
    *live += m->takes[u];
    *live -= gives(m, u);
    for (uint32_t e = m->reads.first[u]; e < m->reads.first[u + 1]; e++)
        m->left[m->reads.item[e]]--;
}

static size_t peak_of(model *m, const uint32_t *order)
{
    size_t live = 0, peak = 0;
    memcpy(m->left, m->uses, m->g->n_values * sizeof *m->left);
    for (uint32_t i = 0; i < m->n_units; i++)
        run_unit(m, order[i], &live, &peak);
    return peak;
}

/* ---- greedy: of the units that can run, the one after which least is live ---- */

typedef struct ready_list {
    uint32_t *items;
    uint32_t n;
} ready_list;

static uint32_t best_ready(const model *m, const ready_list *ready)
{
    uint32_t best = 0;
    double best_growth = 0;
    for (uint32_t i = 0; i < ready->n; i++) {
        double growth = (double)m->takes[ready->items[i]] - (double)gives(m, ready->items[i]);
        if (i == 0 || growth < best_growth ||
            (growth == best_growth && ready->items[i] < ready->items[best])) {
            best = i;
            best_growth = growth;
        }
    }
    return best;
}

static void release(model *m, uint32_t u, ready_list *ready)
{
    for (uint32_t e = m->readers.first[u]; e < m->readers.first[u + 1]; e++)
        if (--m->waits[m->readers.item[e]] == 0)
            ready->items[ready->n++] = m->readers.item[e];
}

/* Looking at all ready units each time is quadratic on wide graphs: those keep recorded order. */
enum { READY_MOST = 64 };

static tern_status greedy(model *m, uint32_t *order, bool *made)
{
    ready_list ready = {tern__arena_alloc(m->arena, (m->n_units + 1u) * sizeof *ready.items), 0};
    if (!ready.items)
        return tern__out_of_memory(m->n_units * sizeof *ready.items);
    memcpy(m->left, m->uses, m->g->n_values * sizeof *m->left);
    *made = false;
    for (uint32_t u = 0; u < m->n_units; u++) {
        m->waits[u] = m->needs.first[u + 1] - m->needs.first[u];
        if (u >= m->n_leaves && m->waits[u] == 0)
            ready.items[ready.n++] = u;
    }
    /* Leaves take nothing and go first, so that they do not crowd the list. */
    uint32_t n = 0;
    for (; n < m->n_leaves; n++) {
        order[n] = n;
        release(m, n, &ready);
    }
    while (ready.n > 0) {
        if (ready.n > READY_MOST)
            return TERN_OK;
        uint32_t at = best_ready(m, &ready);
        const uint32_t u = ready.items[at];
        ready.items[at] = ready.items[--ready.n];
        size_t live = SIZE_MAX / 2, peak = 0;
        run_unit(m, u, &live, &peak);
        order[n++] = u;
        release(m, u, &ready);
    }
    *made = n == m->n_units;
    return TERN_OK;
}

/* ---- prompt: recorded order, but what leaves less behind than it found runs as soon as it can ---- */

/* Such a unit among the newest that are ready, or TERN__NO_ID. Those that have run leave the list. */
static uint32_t find_relief(const model *m, const bool *ran, ready_list *ready)
{
    const uint32_t end = ready->n > READY_MOST ? ready->n - READY_MOST : 0;
    for (uint32_t i = ready->n; i-- > end;) {
        const uint32_t u = ready->items[i];
        if (ran[u]) {
            memmove(ready->items + i, ready->items + i + 1, (ready->n - i - 1) * sizeof *ready->items);
            ready->n--;
        } else if (gives(m, u) > m->takes[u]) {
            return u;
        }
    }
    return TERN__NO_ID;
}

static tern_status prompt(model *m, uint32_t *order)
{
    ready_list ready = {tern__arena_alloc(m->arena, (m->n_units + 1u) * sizeof *ready.items), 0};
    bool *ran = tern__arena_alloc_zero(m->arena, m->n_units + 1u, sizeof *ran);
    if (!ready.items || !ran)
        return tern__out_of_memory(m->n_units * sizeof *ready.items);
    memcpy(m->left, m->uses, m->g->n_values * sizeof *m->left);
    for (uint32_t u = 0; u < m->n_units; u++)
        m->waits[u] = m->needs.first[u + 1] - m->needs.first[u];
    uint32_t n = 0;
    for (uint32_t recorded = 0; recorded < m->n_units; recorded++)
        for (uint32_t u = recorded; u != TERN__NO_ID && !ran[u]; u = find_relief(m, ran, &ready)) {
            size_t live = SIZE_MAX / 2, peak = 0;
            run_unit(m, u, &live, &peak);
            ran[u] = true;
            order[n++] = u;
            release(m, u, &ready);
        }
    return TERN_OK;
}

/* ---- exhaustive: the best way to every set of units that can have run ---- */

/* m->left as it is when the units of `set` (counted behind the leaves) have run; returns the bytes live
 * then. */
static size_t enter_set(model *m, uint32_t n, uint32_t set)
{
    size_t live = 0, peak = 0;
    memcpy(m->left, m->uses, m->g->n_values * sizeof *m->left);
    for (uint32_t k = 0; k < n; k++)
        if (set & 1u << k)
            run_unit(m, m->n_leaves + k, &live, &peak);
    return live;
}

static tern_status exhaustive(model *m, size_t limit, uint32_t *order, bool *better)
{
    const uint32_t n = m->n_units - m->n_leaves;
    const size_t sets = (size_t)1 << n;
    uint32_t before[EXHAUSTIVE_MOST] = {0};                          /* sets that must have run */
    size_t *best = tern__arena_alloc(m->arena, sets * sizeof *best); /* lowest peak on the way to each set */
    uint8_t *last = tern__arena_alloc(m->arena, sets);
    if (!best || !last)
        return tern__out_of_memory(sets * sizeof *best);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = m->needs.first[m->n_leaves + k]; e < m->needs.first[m->n_leaves + k + 1]; e++)
            if (m->needs.item[e] >= m->n_leaves)
                before[k] |= 1u << (m->needs.item[e] - m->n_leaves);
    memset(best, 0xff, sets * sizeof *best);
    best[0] = 0;
    for (uint32_t set = 0; set < sets; set++) {
        if (best[set] >= limit)
            continue;
        size_t live = enter_set(m, n, set);
        for (uint32_t k = 0; k < n; k++) {
            if ((set & 1u << k) || (before[k] & ~set))
                continue;
            size_t high = live + needs_more(m, m->n_leaves + k);
            size_t peak = high > best[set] ? high : best[set];
            uint32_t to = set | 1u << k;
            if (peak < best[to]) {
                best[to] = peak;
                last[to] = (uint8_t)k;
            }
        }
    }
    *better = best[sets - 1] < limit;
    if (!*better)
        return TERN_OK;
    uint32_t at = m->n_units;
    for (uint32_t set = (uint32_t)sets - 1; set; set &= ~(1u << last[set]))
        order[--at] = m->n_leaves + last[set];
    for (uint32_t u = 0; u < m->n_leaves; u++)
        order[u] = u;
    return TERN_OK;
}

/* ---- the plan that comes of an order ---- */

/* Scratch of each node's kernel, of all workers; it is in use beside what lives then. Elementwise work needs none: it stays in the
 * caches. */
static tern_status find_scratch(tern__compilation *c, model *m)
{
    const tern_graph *g = c->graph;
    m->scratch = tern__arena_alloc_zero(c->arena, g->n_nodes, sizeof *m->scratch);
    if (!m->scratch)
        return tern__out_of_memory(g->n_nodes * sizeof *m->scratch);
    for (tern__id n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        tern__call_room room;
        tern__call call;
        tern__step step;
        if (node->leaf != TERN__NO_ID || node->op == TERN__OP_fused ||
            (tern__ops[node->op].flags & (TERN__VIEW | TERN__ELEMENTWISE)))
            continue;
        TERN_TRY(tern__call_of(g, n, &room, c->arena, &call));
        TERN_TRY(tern__step_of(c->target, &call, NULL, c->arena, &step));
        TERN_TRY(tern__scratch_bytes(&step, &m->scratch[n]));
    }
    return TERN_OK;
}

/* The arena of c->order, as `place`, `inplace` and `memory` make it. */
static tern_status fit_order(tern__compilation *c, const model *m, tern__fit_effort effort,
                             tern__fit_result *out)
{
    const tern_graph *g = c->graph;
    TERN_TRY(tern__place_values(c));
    if (tern__pass_is_on(&c->options, TERN__PASS_inplace))
        tern__reuse_operands(c, false); /* it is not the plan yet */
    tern__fit_item *items =
        tern__arena_alloc(c->arena, ((size_t)g->n_values + g->n_nodes + 1) * sizeof *items);
    if (!items)
        return tern__out_of_memory(g->n_values * sizeof *items);
    uint32_t n = 0, step = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const tern__id id = c->order[i];
        if (!c->needs_step[id])
            continue;
        if (m->scratch[id] > 0)
            items[n++] = (tern__fit_item){.bytes = m->scratch[id], .first = step, .last = step};
        for (tern__id v = g->nodes[id].out; v < g->nodes[id].out + g->nodes[id].n_out; v++)
            if (c->places[v].root == v && !c->places[v].is_output)
                items[n++] = (tern__fit_item){.bytes = tern__buffer_bytes(&g->values[v].type),
                                              .first = c->places[v].first,
                                              .last = c->places[v].last};
        step++;
    }
    return tern__arena_fit(items, n, effort, out);
}

static tern_status nodes_of(const model *m, const uint32_t *units, tern__id **out)
{
    tern__id *order = *out = tern__arena_alloc(m->arena, m->g->n_nodes * sizeof *order);
    if (!order)
        return tern__out_of_memory(m->g->n_nodes * sizeof *order);
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_units; i++)
        for (uint32_t k = m->nodes.first[units[i]]; k < m->nodes.first[units[i] + 1]; k++)
            order[n++] = m->nodes.item[k];
    return TERN_OK;
}

/* Takes the order if less is live at once than with c->order, and its arena is no larger. */
static tern_status try_order(tern__compilation *c, model *m, const uint32_t *units, const char *how)
{
    tern__id *const before = c->order, *order;
    tern__fit_result old, new;
    if (!m->scratch)
        TERN_TRY(find_scratch(c, m));
    TERN_TRY(nodes_of(m, units, &order));
    TERN_TRY(fit_order(c, m, TERN__FIT_WALK, &old));
    c->order = order;
    TERN_TRY(fit_order(c, m, TERN__FIT_ORDERS, &new));
    /* Where the bound does not settle it the plans are made, as `memory` makes them. */
    bool better = new.lower_bound < old.lower_bound;
    if (better && new.bytes > old.lower_bound) {
        const tern__fit_effort effort = tern__fit_effort_of(c->options.level);
        tern__fit_result planned;
        TERN_TRY(fit_order(c, m, effort, &new));
        c->order = before;
        TERN_TRY(fit_order(c, m, effort, &planned));
        better = new.bytes <= planned.bytes;
    }
    c->order = better ? order : before;
    if (!better)
        return TERN_OK;
    c->changes++;
    tern__note(c, "%s order: at most %zu bytes in use at once instead of %zu", how, new.lower_bound,
               old.lower_bound);
    return TERN_OK;
}

tern_status tern__pass_schedule(tern__compilation *c)
{
    if (c->graph->n_nodes < 3)
        return TERN_OK;
    model m;
    TERN_TRY(tern__place_values(c));
    TERN_TRY(make_model(c, &m));
    uint32_t *order = tern__arena_alloc(c->arena, m.n_units * sizeof *order);
    if (!order)
        return tern__out_of_memory(m.n_units * sizeof *order);
    for (uint32_t u = 0; u < m.n_units; u++)
        order[u] = u;
    size_t peak = peak_of(&m, order);
    bool made = false, better = false;
    TERN_TRY(greedy(&m, order, &made));
    const size_t other = made ? peak_of(&m, order) : peak;
    if (other < peak) {
        TERN_TRY(try_order(c, &m, order, "greedy"));
        peak = other;
    }
    TERN_TRY(prompt(&m, order));
    const size_t early = peak_of(&m, order);
    if (early < peak) {
        TERN_TRY(try_order(c, &m, order, "prompt"));
        peak = early;
    }
    const uint32_t most = c->options.level >= TERN_LEVEL_HIGH ? EXHAUSTIVE_MOST : EXHAUSTIVE_QUICK;
    if (m.n_units - m.n_leaves <= most && m.n_units > m.n_leaves)
        TERN_TRY(exhaustive(&m, peak, order, &better));
    return better ? try_order(c, &m, order, "the best") : TERN_OK;
}
