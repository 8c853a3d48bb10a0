/* cse.c - common subexpressions: of nodes that compute the same, the first stays.
 *
 * Which nodes those are is a property of their ops' rows, not of this file: equal op (TERN__PURE), equal attributes and
 * equal operands (in any order if TERN__COMMUTATIVE). Constants are equal if they are the same bytes of the same storage
 * in the same layout; equal ops on different weights are never merged. Two outputs never become one buffer (rewrite.h). */
#include <string.h>

#include "base/hash.h"
#include "base/status.h"
#include "passes/rewrite.h"

tern_status tern__pass_cse(tern__compilation *c);

typedef struct merger {
    tern__compilation *c;
    const tern_graph *g;
    tern__id *same;  /* (n_values) the value that stands for this one: itself, or an earlier one */
    uint32_t *table; /* (mask + 1) nodes by hash, open addressing; TERN__NO_ID = free */
    uint32_t mask;
    uint8_t *holds; /* NULL until two equal nodes were found */
} merger;

/* Operand i of an op that may exchange its two, smaller first. */
static tern__id operand(const merger *m, const tern__gnode *node, uint32_t i)
{
    if (node->n_in == 2 && (tern__ops[node->op].flags & TERN__COMMUTATIVE)) {
        tern__id a = m->same[node->in[0]], b = m->same[node->in[1]];
        return (i == 0) == (a < b) ? a : b;
    }
    return m->same[node->in[i]];
}

static uint64_t hash_node(const merger *m, const tern__gnode *node)
{
    uint64_t h = (uint64_t)node->op << 32 | node->n_in;
    if (node->leaf != TERN__NO_ID)
        return tern__hash_mix(h, (uint64_t)(uintptr_t)m->g->leaves[node->leaf].storage);
    for (uint32_t i = 0; i < node->n_in; i++)
        h = tern__hash_mix(h, operand(m, node, i));
    const tern__op *op = &tern__ops[node->op];
    for (int i = 0; i < op->n_attrs; i++) {
        if (op->attrs[i].kind == TERN__ATTR_INTS)
            for (uint32_t k = 0; k < node->attrs[i].count; k++)
                h = tern__hash_mix(h, (uint64_t)node->attrs[i].ints[k]);
        else if (op->attrs[i].kind != TERN__ATTR_TEXT)
            h = tern__hash_mix(h, (uint64_t)node->attrs[i].i);
    }
    return h;
}

static bool equal_leaves(const merger *m, const tern__gnode *a, const tern__gnode *b)
{
    const tern__leaf *x = &m->g->leaves[a->leaf], *y = &m->g->leaves[b->leaf];
    const tern__type *s = &m->g->values[a->out].type, *t = &m->g->values[b->out].type;
    return x->storage == y->storage && tern__type_equal(s, t) &&
           tern__layout_same(s, &x->layout, t, &y->layout);
}

static bool equal_nodes(const merger *m, const tern__gnode *a, const tern__gnode *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out)
        return false;
    if (a->leaf != TERN__NO_ID)
        return equal_leaves(m, a, b);
    for (uint32_t i = 0; i < a->n_in; i++)
        if (operand(m, a, i) != operand(m, b, i))
            return false;
    return tern__attrs_equal(&tern__ops[a->op], a->attrs, b->attrs);
}

/* Is the result no buffer of its own for sure? A reshape may have to copy. */
static bool is_sure_view(const tern_graph *g, const tern__gnode *node)
{
    if (node->leaf != TERN__NO_ID)
        return true;
    return (tern__ops[node->op].flags & TERN__VIEW) &&
           (node->op != TERN__OP_reshape || tern__lies_dense(g, node->in[0]));
}

/* May b's readers read a's results? Views of one buffer may always be one view, unless somebody writes through it. A
 * buffer of its own stays one if it is written, or if an output lies in it and another output in a's. */
static tern_status may_merge(merger *m, const tern__gnode *a, const tern__gnode *b, bool *out)
{
    if (!m->holds)
        TERN_TRY(tern__find_holds(m->c, m->g, &m->holds));
    unsigned here = 0, there = 0;
    for (uint32_t i = 0; i < a->n_out; i++) {
        here |= m->holds[a->out + i];
        there |= m->holds[b->out + i];
    }
    if (is_sure_view(m->g, a))
        *out = !((here | there) & TERN__HELD_TARGET);
    else
        *out = !((here | there) & TERN__HELD_WRITTEN) && !(here & there & TERN__HELD_OUTPUT);
    for (uint32_t i = 0; *out && i < a->n_out; i++)
        m->holds[a->out + i] |= m->holds[b->out + i];
    return TERN_OK;
}

static bool is_candidate(const tern_graph *g, const tern__gnode *node)
{
    if (node->leaf != TERN__NO_ID)
        return node->op == TERN__OP_constant && g->leaves[node->leaf].storage;
    return tern__ops[node->op].flags & TERN__PURE;
}

/* Enters node n, or merges it with an equal one that is there. */
static tern_status look_up(merger *m, tern__id n)
{
    const tern__gnode *node = &m->g->nodes[n];
    uint32_t at = (uint32_t)hash_node(m, node) & m->mask;
    for (; m->table[at] != TERN__NO_ID; at = (at + 1) & m->mask) {
        const tern__gnode *other = &m->g->nodes[m->table[at]];
        bool merges;
        if (!equal_nodes(m, other, node))
            continue;
        TERN_TRY(may_merge(m, other, node, &merges));
        if (!merges)
            continue;
        for (uint32_t i = 0; i < node->n_out; i++)
            m->same[node->out + i] = other->out + i;
        m->c->changes++;
        return TERN_OK;
    }
    m->table[at] = n;
    return TERN_OK;
}

static tern_status find_equal(merger *m)
{
    const tern_graph *g = m->g;
    uint32_t slots = 16;
    while (slots < g->n_nodes * 2)
        slots *= 2;
    m->mask = slots - 1;
    m->same = tern__arena_alloc(m->c->arena, g->n_values * sizeof *m->same);
    m->table = tern__arena_alloc(m->c->arena, slots * sizeof *m->table);
    if (!m->same || !m->table)
        return tern__out_of_memory(slots * sizeof *m->table);
    memset(m->table, 0xff, slots * sizeof *m->table);
    for (tern__id n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        for (uint32_t i = 0; i < node->n_out; i++)
            m->same[node->out + i] = node->out + i;
        if (is_candidate(g, node))
            TERN_TRY(look_up(m, n));
    }
    return TERN_OK;
}

tern_status tern__pass_cse(tern__compilation *c)
{
    merger m = {.c = c, .g = c->graph};
    TERN_TRY(find_equal(&m));
    if (c->changes == 0)
        return TERN_OK;
    tern__rewrite w;
    TERN_TRY(tern__rewrite_begin(c, &w));
    for (tern__id n = 0; n < w.from->n_nodes; n++) {
        const tern__gnode *node = &w.from->nodes[n];
        char one[TERN__VALUE_TEXT], other[TERN__VALUE_TEXT];
        if (node->n_out == 0 || m.same[node->out] == node->out) {
            TERN_TRY(tern__rewrite_copy(&w, n));
            continue;
        }
        for (uint32_t i = 0; i < node->n_out; i++)
            tern__rewrite_replace(&w, node->out + i, w.map[m.same[node->out + i]]);
        tern__note(c, "%s is %s again: %s of the same operands", tern__value_text(c, w.from, node->out, one),
                   tern__value_text(c, w.from, m.same[node->out], other), tern__ops[node->op].name);
    }
    return tern__rewrite_end(&w);
}
