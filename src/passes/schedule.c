/* schedule.c - an order of the nodes in which less is live at once. Recorded order, a greedy order and, for small graphs,
 * the best of all orders are compared; recorded order wins ties, so the peak never gets worse.
 *
 * What counts is a model of the arena: every result that is neither a view nor an output takes its bytes from the node that
 * makes it until the last node that reads it, or a view of it. Graphs that update states keep their order: readers
 * and updates are tied to it. */
#include <string.h>

#include "base/status.h"
#include "passes/pass.h"

tern_status tern__pass_schedule(tern__compilation *c);

enum {
    EXHAUSTIVE_MOST = 16, /* nodes that are ordered by looking at all orders, at level high ... */
    EXHAUSTIVE_QUICK = 10 /* ... and below it */
};

typedef struct model {
    const tern_graph *g;
    tern__arena *arena;
    tern__id *base;   /* (n_values) the result whose buffer it lies in */
    size_t *bytes;    /* (n_values) of a base: what it takes; 0 for leaves and outputs */
    uint32_t *uses;   /* (n_values) of a base: nodes that read it or a view of it */
    uint32_t *left;   /* (n_values) uses to come, while an order is tried */
    uint32_t *waits;  /* (n_nodes) operands not computed yet, while an order is made */
    uint32_t *first;  /* (n_nodes + 1) readers of node n: reader[first[n]] .. */
    tern__id *reader; /* (edges) */
} model;

static bool alloc_model(model *m)
{
    const tern_graph *g = m->g;
    size_t edges = 1;
    for (uint32_t n = 0; n < g->n_nodes; n++)
        edges += g->nodes[n].n_in;
    m->base = tern__arena_alloc(m->arena, g->n_values * sizeof *m->base);
    m->bytes = tern__arena_alloc_zero(m->arena, g->n_values, sizeof *m->bytes);
    m->uses = tern__arena_alloc_zero(m->arena, g->n_values, sizeof *m->uses);
    m->left = tern__arena_alloc(m->arena, g->n_values * sizeof *m->left);
    m->waits = tern__arena_alloc(m->arena, g->n_nodes * sizeof *m->waits);
    m->first = tern__arena_alloc_zero(m->arena, (size_t)g->n_nodes + 2, sizeof *m->first);
    m->reader = tern__arena_alloc(m->arena, edges * sizeof *m->reader);
    return m->base && m->bytes && m->uses && m->left && m->waits && m->first && m->reader;
}

/* Readers by node, one entry per operand, in two passes: count, then fill. */
static void list_readers(model *m)
{
    const tern_graph *g = m->g;
    for (uint32_t n = 0; n < g->n_nodes; n++)
        for (uint32_t i = 0; i < g->nodes[n].n_in; i++)
            m->first[g->values[g->nodes[n].in[i]].node + 2]++;
    for (uint32_t n = 0; n < g->n_nodes; n++)
        m->first[n + 1] += m->first[n];
    for (uint32_t n = 0; n < g->n_nodes; n++)
        for (uint32_t i = 0; i < g->nodes[n].n_in; i++)
            m->reader[m->first[g->values[g->nodes[n].in[i]].node + 1]++] = n;
}

static tern_status make_model(tern__compilation *c, model *m)
{
    const tern_graph *g = c->graph;
    *m = (model){.g = g, .arena = c->arena};
    if (!alloc_model(m))
        return tern__out_of_memory(g->n_values * sizeof *m->base);
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        bool view = (tern__ops[node->op].flags & TERN__VIEW) != 0;
        for (uint32_t r = 0; r < node->n_out; r++) {
            tern__id value = node->out + r;
            m->base[value] = view ? m->base[node->in[0]] : value;
            if (!view && node->leaf == TERN__NO_ID)
                m->bytes[value] = tern__buffer_bytes(&g->values[value].type);
        }
        for (uint32_t i = 0; i < node->n_in; i++)
            m->uses[m->base[node->in[i]]]++;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        m->bytes[m->base[g->outputs[i].value]] = 0;
    list_readers(m);
    return TERN_OK;
}

/* Bytes that running `node` takes, and afterwards gives back, with m->left as it is before it. */
static void effect_of(const model *m, const tern__gnode *node, size_t *takes, size_t *gives)
{
    *takes = *gives = 0;
    for (uint32_t r = 0; r < node->n_out; r++) {
        tern__id value = node->out + r;
        if (m->base[value] != value)
            continue;
        *takes += m->bytes[value];
        if (m->uses[value] == 0)
            *gives += m->bytes[value];
    }
    for (uint32_t i = 0; i < node->n_in; i++) {
        tern__id base = m->base[node->in[i]];
        uint32_t here = 0; /* times this node reads it; counted at the first of them */
        for (uint32_t k = 0; k < node->n_in; k++)
            here += m->base[node->in[k]] == base ? (k < i ? node->n_in + 1 : 1) : 0;
        if (here <= node->n_in && m->left[base] == here)
            *gives += m->bytes[base];
    }
}

static void run_node(model *m, const tern__gnode *node, size_t *live, size_t *peak)
{
    size_t takes, gives;
    effect_of(m, node, &takes, &gives);
    *live += takes;
    if (*live > *peak)
        *peak = *live;
    *live -= gives;
    for (uint32_t i = 0; i < node->n_in; i++)
        m->left[m->base[node->in[i]]]--;
}

static size_t peak_of(model *m, const tern__id *order)
{
    size_t live = 0, peak = 0;
    memcpy(m->left, m->uses, m->g->n_values * sizeof *m->left);
    for (uint32_t i = 0; i < m->g->n_nodes; i++)
        run_node(m, &m->g->nodes[order[i]], &live, &peak);
    return peak;
}

/* ---- greedy: of the nodes that can run, the one after which least is live ---- */

typedef struct ready_list {
    tern__id *items;
    uint32_t n;
} ready_list;

static uint32_t best_ready(const model *m, const ready_list *ready)
{
    uint32_t best = 0;
    double best_growth = 0;
    for (uint32_t i = 0; i < ready->n; i++) {
        size_t takes, gives;
        effect_of(m, &m->g->nodes[ready->items[i]], &takes, &gives);
        double growth = (double)takes - (double)gives;
        if (i == 0 || growth < best_growth ||
            (growth == best_growth && ready->items[i] < ready->items[best])) {
            best = i;
            best_growth = growth;
        }
    }
    return best;
}

/* Looking at all ready nodes each time is quadratic on wide graphs: those keep recorded order. */
enum { READY_MOST = 64 };

static tern_status greedy(model *m, tern__id *order, bool *made)
{
    const tern_graph *g = m->g;
    ready_list ready = {tern__arena_alloc(m->arena, (g->n_nodes + 1u) * sizeof *ready.items), 0};
    if (!ready.items)
        return tern__out_of_memory(g->n_nodes * sizeof *ready.items);
    memcpy(m->left, m->uses, g->n_values * sizeof *m->left);
    uint32_t n = 0;
    *made = false;
    /* Leaves take nothing and go first, so that they do not crowd the list. */
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        m->waits[i] = g->nodes[i].n_in;
        if (g->nodes[i].leaf != TERN__NO_ID)
            order[n++] = i;
        else if (g->nodes[i].n_in == 0)
            ready.items[ready.n++] = i;
    }
    for (uint32_t i = 0, leaves = n; i < leaves; i++)
        for (uint32_t e = m->first[order[i]]; e < m->first[order[i] + 1]; e++)
            if (--m->waits[m->reader[e]] == 0)
                ready.items[ready.n++] = m->reader[e];
    while (ready.n > 0) {
        if (ready.n > READY_MOST)
            return TERN_OK;
        uint32_t at = best_ready(m, &ready);
        tern__id id = ready.items[at];
        ready.items[at] = ready.items[--ready.n];
        size_t live = SIZE_MAX / 2, peak = 0;
        run_node(m, &g->nodes[id], &live, &peak);
        order[n++] = id;
        for (uint32_t e = m->first[id]; e < m->first[id + 1]; e++)
            if (--m->waits[m->reader[e]] == 0)
                ready.items[ready.n++] = m->reader[e];
    }
    *made = n == g->n_nodes;
    return TERN_OK;
}

/* ---- exhaustive: the best way to every set of nodes that can have run ---- */

typedef struct small {
    tern__id node[EXHAUSTIVE_MOST];   /* those that are not leaves, in recorded order */
    uint32_t before[EXHAUSTIVE_MOST]; /* sets that must have run */
    uint32_t n;
} small;

static bool make_small(const model *m, uint32_t most, small *s)
{
    s->n = 0;
    for (uint32_t i = 0; i < m->g->n_nodes; i++) {
        if (m->g->nodes[i].leaf != TERN__NO_ID)
            continue;
        if (s->n == most)
            return false;
        s->node[s->n] = i;
        s->before[s->n] = 0;
        for (uint32_t k = 0; k < s->n; k++)
            for (uint32_t in = 0; in < m->g->nodes[i].n_in; in++)
                if (m->g->values[m->g->nodes[i].in[in]].node == s->node[k])
                    s->before[s->n] |= 1u << k;
        s->n++;
    }
    return true;
}

/* m->left as it is when the nodes of `set` have run; returns the bytes live then. */
static size_t enter_set(model *m, const small *s, uint32_t set)
{
    size_t live = 0, peak = 0;
    memcpy(m->left, m->uses, m->g->n_values * sizeof *m->left);
    for (uint32_t k = 0; k < s->n; k++)
        if (set & 1u << k)
            run_node(m, &m->g->nodes[s->node[k]], &live, &peak);
    return live;
}

static tern_status exhaustive(model *m, const small *s, size_t limit, tern__id *order, bool *better)
{
    size_t sets = (size_t)1 << s->n;
    size_t *best = tern__arena_alloc(m->arena, sets * sizeof *best); /* lowest peak on the way to each set */
    uint8_t *last = tern__arena_alloc(m->arena, sets);
    if (!best || !last)
        return tern__out_of_memory(sets * sizeof *best);
    memset(best, 0xff, sets * sizeof *best);
    best[0] = 0;
    for (uint32_t set = 0; set < sets; set++) {
        if (best[set] >= limit)
            continue;
        size_t live = enter_set(m, s, set);
        for (uint32_t k = 0; k < s->n; k++) {
            if ((set & 1u << k) || (s->before[k] & ~set))
                continue;
            size_t takes, gives;
            effect_of(m, &m->g->nodes[s->node[k]], &takes, &gives);
            size_t peak = live + takes > best[set] ? live + takes : best[set];
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
    uint32_t n = m->g->n_nodes, leaves = 0;
    for (uint32_t set = (uint32_t)sets - 1; set; set &= ~(1u << last[set]))
        order[--n] = s->node[last[set]];
    for (uint32_t i = 0; i < m->g->n_nodes; i++)
        if (m->g->nodes[i].leaf != TERN__NO_ID)
            order[leaves++] = i;
    return TERN_OK;
}

static void adopt(tern__compilation *c, const tern__id *order, size_t from, size_t to, const char *how)
{
    memcpy(c->order, order, c->graph->n_nodes * sizeof *order);
    c->changes++;
    tern__note(c, "%s order: at most %zu bytes of intermediates live at once instead of %zu", how, to, from);
}

tern_status tern__pass_schedule(tern__compilation *c)
{
    model m;
    if (c->graph->n_writes > 0 || c->graph->n_nodes < 3) {
        if (c->graph->n_writes > 0)
            tern__note(c, "recorded order is kept: the graph updates states");
        return TERN_OK;
    }
    TERN_TRY(make_model(c, &m));
    size_t peak = peak_of(&m, c->order);
    tern__id *order = tern__arena_alloc(c->arena, c->graph->n_nodes * sizeof *order);
    if (!order)
        return tern__out_of_memory(c->graph->n_nodes * sizeof *order);
    bool made = false;
    TERN_TRY(greedy(&m, order, &made));
    size_t other = made ? peak_of(&m, order) : peak;
    if (other < peak) {
        adopt(c, order, peak, other, "greedy");
        peak = other;
    }
    small s;
    if (make_small(&m, c->options.level >= TERN_LEVEL_HIGH ? EXHAUSTIVE_MOST : EXHAUSTIVE_QUICK, &s) &&
        s.n > 0) {
        bool better = false;
        TERN_TRY(exhaustive(&m, &s, peak, order, &better));
        if (better)
            adopt(c, order, peak, peak_of(&m, order), "the best");
    }
    return TERN_OK;
}
