/* images.c - NCHW or NHWC.
 *
 * Ops on images that are joined by edges, directly or through elementwise ops on images, form a group. A
 * group can run in the other layout: what enters it is permuted and copied, what leaves it is permuted and
 * copied back. The target says what calls cost in either layout and what the copies cost; a group moves if
 * that saves a fifth. No bit changes: kernels sum a window in ascending (channel, row, column) in both. */
#include "passes/images.h"

#include <string.h>

#include "base/status.h"
#include "graph/call.h"
#include "passes/rewrite.h"

enum { IMAGE_RANK = 4 };
static const double worth = 0.8; /* of the cost as recorded: less is worth the conversions */

/* axes[i] of the operand becomes axis i. */
static const int64_t to_nhwc[IMAGE_RANK] = {0, 2, 3, 1}, to_nchw[IMAGE_RANK] = {0, 3, 1, 2};

static const int64_t *axes_to(bool nhwc)
{
    return nhwc ? to_nhwc : to_nchw;
}

typedef struct group {
    double before, after; /* estimated cost */
    bool moves;
    uint32_t n_ops; /* on images */
    tern__id first; /* of them */
} group;

typedef struct images {
    tern__compilation *c;
    const tern_graph *g;
    uint32_t *parent; /* (n_nodes) a node of the same group, towards the first; TERN__NO_ID: in none */
    bool *nhwc;       /* (n_nodes) layout of the group, as recorded */
    group *groups;    /* (n_nodes) at the group's first node */
    bool *left;       /* (n_values) read outside its group, or an output */
    tern__id *turned
        [2]; /* (n_values) the value as NCHW, as NHWC where it was the other, of the new graph; TERN__NO_ID: none */
    uint32_t *counted; /* (n_values) the group whose cost has its conversion, and one more */
} images;

/* ---- groups ---- */

/* The place of attribute `nhwc` in the op's row; -1: no op on images. */
static int layout_attr(tern__opcode op)
{
    switch (op) {
    case TERN__OP_conv2d:
        return TERN__ATTR_conv2d_nhwc;
    case TERN__OP_max_pool2d:
        return TERN__ATTR_max_pool2d_nhwc;
    case TERN__OP_avg_pool2d:
        return TERN__ATTR_avg_pool2d_nhwc;
    default:
        return -1;
    }
}

static uint32_t root_of(const images *m, tern__id n)
{
    while (m->parent[n] != n)
        n = m->parent[n] = m->parent[m->parent[n]];
    return n;
}

static bool in_group(const images *m, tern__id value)
{
    return m->parent[m->g->values[value].node] != TERN__NO_ID;
}

static void join(images *m, tern__id n, tern__id value)
{
    uint32_t a = root_of(m, n), b = root_of(m, m->g->values[value].node);
    if (m->nhwc[a] != m->nhwc[b])
        return;
    m->parent[a > b ? a : b] = a > b ? b : a;
}

/* Elementwise on images: every operand is one, or a single number, and some operand is of a group. */
static bool goes_along(const images *m, const tern__gnode *node)
{
    bool any = false;
    if (!(tern__ops[node->op].flags & TERN__ELEMENTWISE) || node->n_out != 1 ||
        m->g->values[node->out].type.rank != IMAGE_RANK)
        return false;
    for (uint32_t i = 0; i < node->n_in; i++) {
        const tern__type *type = &m->g->values[node->in[i]].type;
        if (type->rank != IMAGE_RANK && tern__type_numel(type) != 1)
            return false;
        any = any || in_group(m, node->in[i]);
    }
    return any;
}

/* Operands that change with the layout: of ops on images the image, of elementwise ops all images. */
static bool is_image(const images *m, const tern__gnode *node, uint32_t operand)
{
    if (layout_attr(node->op) >= 0)
        return operand == 0;
    return m->g->values[node->in[operand]].type.rank == IMAGE_RANK;
}

static void find_groups(images *m)
{
    const tern_graph *g = m->g;
    for (tern__id n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        const int at = layout_attr(node->op);
        m->parent[n] = TERN__NO_ID;
        if (at < 0 && !goes_along(m, node))
            continue;
        m->parent[n] = n;
        m->nhwc[n] = at >= 0 && node->attrs[at].i != 0;
        for (uint32_t i = 0; at < 0 && i < node->n_in; i++)
            if (in_group(m, node->in[i]))
                m->nhwc[n] = m->nhwc[root_of(m, g->values[node->in[i]].node)];
        for (uint32_t i = 0; i < node->n_in; i++)
            if (is_image(m, node, i) && in_group(m, node->in[i]))
                join(m, n, node->in[i]);
    }
}

static void find_left(images *m)
{
    const tern_graph *g = m->g;
    for (tern__id n = 0; n < g->n_nodes; n++)
        for (uint32_t i = 0; i < g->nodes[n].n_in; i++) {
            const tern__id value = g->nodes[n].in[i];
            if (in_group(m, value) && (m->parent[n] == TERN__NO_ID || !is_image(m, &g->nodes[n], i) ||
                                       root_of(m, n) != root_of(m, g->values[value].node)))
                m->left[value] = true;
        }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        m->left[g->outputs[i].value] = true;
}

/* ---- costs ---- */

static tern__type turned_type(const tern__type *type, bool nhwc)
{
    tern__type out = *type;
    for (int i = 0; i < IMAGE_RANK && type->rank == IMAGE_RANK; i++)
        out.shape[i] = type->shape[axes_to(nhwc)[i]];
    return out;
}

static double cost_of_copy(const images *m, const tern__type *type)
{
    const tern__type *in[] = {type};
    tern__type out = *type;
    const tern__call call = {
        .op = &tern__ops[TERN__OP_contiguous], .n_in = 1, .n_out = 1, .in = in, .out = &out};
    return m->c->target->cost(m->c->target, &call);
}

/* The node as recorded, or in the other layout. */
static double cost_of_node(const images *m, const tern__gnode *node, bool nhwc, bool turned)
{
    tern__call_room room;
    tern__type types[TERN__MAX_INPUTS_FIXED];
    tern__attr attrs[TERN__MAX_ATTRS];
    tern__call call = tern__small_call(m->g, node, &room);
    if (turned) {
        memcpy(attrs, node->attrs, (size_t)call.op->n_attrs * sizeof *attrs);
        if (layout_attr(node->op) >= 0)
            attrs[layout_attr(node->op)].i = !nhwc;
        for (int i = 0; i < call.n_in; i++)
            if (is_image(m, node, (uint32_t)i)) {
                types[i] = turned_type(room.in[i], !nhwc);
                room.in[i] = &types[i];
            }
        room.out[0] = turned_type(&room.out[0], !nhwc);
        call.attrs = attrs;
    }
    return m->c->target->cost(m->c->target, &call);
}

static void weigh(images *m)
{
    const tern_graph *g = m->g;
    for (tern__id n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        if (m->parent[n] == TERN__NO_ID)
            continue;
        const uint32_t root = root_of(m, n);
        group *to = &m->groups[root];
        if (layout_attr(node->op) >= 0) {
            to->before += cost_of_node(m, node, m->nhwc[root], false);
            to->after += cost_of_node(m, node, m->nhwc[root], true);
            to->first = to->n_ops++ == 0 ? n : to->first;
        }
        for (uint32_t i = 0; i < node->n_in; i++) {
            const tern__id value = node->in[i];
            const bool inside = in_group(m, value) && root_of(m, g->values[value].node) == root;
            if (!is_image(m, node, i) || inside || m->counted[value] == root + 1)
                continue;
            m->counted[value] = root + 1;
            to->after += cost_of_copy(m, &g->values[value].type);
        }
        if (m->left[node->out])
            to->after += cost_of_copy(m, &g->values[node->out].type);
    }
}

static bool decide(images *m)
{
    bool any = false;
    for (tern__id n = 0; n < m->g->n_nodes; n++) {
        group *it = &m->groups[n];
        it->moves = it->n_ops > 0 && it->after < worth * it->before;
        any = any || it->moves;
    }
    return any;
}

/* ---- moving ---- */

/* A view of a new value with its axes in the order of the layout. */
static tern_status permute(tern__rewrite *w, tern__id value, bool nhwc, tern__id *out)
{
    int64_t axes[IMAGE_RANK];
    memcpy(axes, axes_to(nhwc), sizeof axes);
    const tern__attr attr = {.ints = axes, .count = IMAGE_RANK};
    return tern__rewrite_emit(w, TERN__OP_permute, 1, &value, &attr, out);
}

/* Operand `old` of a node of a group that moves to layout `nhwc`. */
static tern_status turned_operand(images *m, tern__rewrite *w, tern__id old, bool nhwc, tern__id *out)
{
    tern__id *turned = &m->turned[nhwc][old], view;
    if (*turned == TERN__NO_ID) {
        TERN_TRY(permute(w, w->map[old], nhwc, &view));
        TERN_TRY(tern__rewrite_emit(w, TERN__OP_contiguous, 1, &view, NULL, turned));
    }
    *out = *turned;
    return TERN_OK;
}

/* The value as recorded, for readers outside. */
static tern_status turn_back(tern__rewrite *w, tern__id n, tern__id turned, bool nhwc)
{
    tern__id view;
    TERN_TRY(permute(w, turned, nhwc, &view));
    return tern__rewrite_become(w, n, TERN__OP_contiguous, 1, &view, NULL);
}

static tern_status move_node(images *m, tern__rewrite *w, tern__id n)
{
    const tern__gnode *node = &m->g->nodes[n];
    const bool nhwc = !m->nhwc[root_of(m, n)];
    w->origin = node->origin;
    tern__id in[TERN__MAX_INPUTS_FIXED];
    tern__attr attrs[TERN__MAX_ATTRS];
    for (int i = 0; i < tern__ops[node->op].n_attrs; i++)
        attrs[i] = node->attrs[i];
    if (layout_attr(node->op) >= 0)
        attrs[layout_attr(node->op)].i = nhwc;
    for (uint32_t i = 0; i < node->n_in; i++) {
        in[i] = w->map[node->in[i]];
        if (is_image(m, node, i))
            TERN_TRY(turned_operand(m, w, node->in[i], nhwc, &in[i]));
    }
    tern__id *turned = &m->turned[nhwc][node->out];
    TERN_TRY(tern__rewrite_emit(w, node->op, node->n_in, in, attrs, turned));
    if (m->left[node->out])
        return turn_back(w, n, *turned, !nhwc);
    w->to->values[*turned].name = m->g->values[node->out].name;
    return TERN_OK;
}

static void note(images *m)
{
    for (tern__id n = 0; n < m->g->n_nodes; n++) {
        const group *it = &m->groups[n];
        char text[TERN__VALUE_TEXT];
        if (!it->moves)
            continue;
        m->c->changes++;
        if (m->c->log)
            tern__note(m->c,
                       "%u op%s on images from %s on run in %s: estimated %.3g us with conversions, %.3g us "
                       "as recorded",
                       it->n_ops, it->n_ops == 1 ? "" : "s",
                       tern__value_text(m->c, m->g, m->g->nodes[it->first].out, text),
                       m->nhwc[n] ? "NCHW" : "NHWC", it->after / 1e3, it->before / 1e3);
    }
}

static tern_status alloc(images *m)
{
    tern__arena *arena = m->c->arena;
    m->parent = tern__arena_alloc(arena, m->g->n_nodes * sizeof *m->parent);
    m->nhwc = tern__arena_alloc_zero(arena, m->g->n_nodes, sizeof *m->nhwc);
    m->groups = tern__arena_alloc_zero(arena, m->g->n_nodes, sizeof *m->groups);
    m->left = tern__arena_alloc_zero(arena, m->g->n_values, sizeof *m->left);
    m->counted = tern__arena_alloc_zero(arena, m->g->n_values, sizeof *m->counted);
    const size_t values = m->g->n_values * sizeof *m->turned[0];
    m->turned[0] = tern__arena_alloc(arena, 2 * values);
    if (!m->parent || !m->nhwc || !m->groups || !m->left || !m->counted || !m->turned[0])
        return tern__out_of_memory(m->g->n_nodes * sizeof *m->groups);
    m->turned[1] = m->turned[0] + m->g->n_values;
    memset(m->turned[0], 0xff, 2 * values);
    return TERN_OK;
}

tern_status tern__layout_images(tern__compilation *c)
{
    tern__op_set present;
    tern__ops_present(c->graph, &present);
    if (!c->target->cost ||
        !(tern__op_in(&present, TERN__OP_conv2d) || tern__op_in(&present, TERN__OP_max_pool2d) ||
          tern__op_in(&present, TERN__OP_avg_pool2d)))
        return TERN_OK;
    images m = {.c = c, .g = c->graph};
    TERN_TRY(alloc(&m));
    find_groups(&m);
    find_left(&m);
    weigh(&m);
    if (!decide(&m))
        return TERN_OK;
    note(&m);
    tern__rewrite w;
    TERN_TRY(tern__rewrite_begin(c, &w));
    m.g = w.from;
    for (tern__id n = 0; n < w.from->n_nodes; n++) {
        const bool moves = m.parent[n] != TERN__NO_ID && m.groups[root_of(&m, n)].moves;
        TERN_TRY(moves ? move_node(&m, &w, n) : tern__rewrite_copy(&w, n));
    }
    return tern__rewrite_end(&w);
}
