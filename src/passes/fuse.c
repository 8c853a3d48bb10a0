/* fuse.c - vertical fusion: neighbouring ops that work row by row become one node, whose intermediate
 * results never leave the cache.
 *
 * Nodes are taken in order; each joins the groups of its operands where it can. Two groups can become one
 * if their domains agree (region.h) and no cycle comes of it. For that every group has a position in the
 * order in which groups will run, the invariant being that whoever reads from another group stands behind
 * it. A node joins a group either by moving the group back to where the node is, if no reader of the group
 * has come before that, or by moving forward to where the group is, if the node's other operands are known
 * there. Either test looks at direct neighbours only, so the pass is linear. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "graph/call.h"
#include "graph/region.h"
#include "passes/rewrite.h"

tern_status tern__pass_fuse(tern__compilation *c);

enum {
    LONG_ROW =
        1 << 15, /* fewer rows than workers: elementwise work on long ones is better shared by elements */
};

typedef struct group {
    tern__id head, tail; /* members, linked by `next` */
    uint32_t n_members;
    uint32_t position;   /* index of the node where it runs */
    uint32_t first_use;  /* at most the first position of a reader outside */
    tern__row_role role; /* the strongest of its members'; NONE: it cannot grow */
    tern__type domain;
} group;

/* Why a node that works row by row stays alone. X(enumerator, sentence). */
#define REASONS(X)                                                                          \
    X(NO_INSTRUCTION, "no row instruction for these types, it runs on a kernel of its own") \
    X(ROWS, "its rows are too long, or fewer than threads")                                 \
    X(OVERWRITTEN, "it reads what is overwritten later, and stays where it is")             \
    X(SHAPES, "what it reads has rows of another shape")                                    \
    X(LIMITS, "one step would read or hold too much, or need its own result")

typedef enum reason {
    REASON_NONE,
#define REASON_ENUM(id, sentence) REASON_##id,
    REASONS(REASON_ENUM)
#undef REASON_ENUM
        REASON_COUNT
} reason;

typedef struct fusion {
    tern__compilation *c;
    const tern_graph *g;
    tern__id *parent; /* (n_nodes) union-find: towards the group's own node */
    tern__id *next;   /* (n_nodes) the next member of the group */
    group *groups;    /* (n_nodes) of nodes that stand for groups */
    bool *squeezed;   /* (n_values) a reduction that dropped the last axis */
    uint32_t *uses;   /* (n_values) */
    uint32_t *stamp;  /* (n_values) last attempt that met the value */
    uint16_t *local;  /* (n_values) its number in the region, if stamped */
    uint32_t attempt;
    uint8_t *alone; /* (n_nodes) enum reason; NULL: nobody asks */
    /* (n_values) first node that overwrites it, or TERN__NO_ID; NULL: nothing is overwritten */
    tern__id *writer;
} fusion;

static tern__id find(fusion *f, tern__id n)
{
    while (f->parent[n] != n)
        n = f->parent[n] = f->parent[f->parent[n]];
    return n;
}

/* ---- single nodes ---- */

/* A scalar that is written down in the graph: part of every region that reads it. */
static bool is_inline(const tern_graph *g, tern__id n)
{
    const tern__gnode *node = &g->nodes[n];
    return node->op == TERN__OP_full && g->values[node->out].type.dtype == TERN_F32 &&
           tern__type_numel(&g->values[node->out].type) == 1;
}

static bool is_inline_value(const tern_graph *g, tern__id value)
{
    return is_inline(g, g->values[value].node);
}

static int64_t last_size(const tern__type *type)
{
    return type->rank ? type->shape[type->rank - 1] : 1;
}

static bool has_worthwhile_rows(const fusion *f, const tern__type *domain)
{
    int64_t n = last_size(domain), rows = n ? tern__type_numel(domain) / n : 0;
    return n <= TERN__LONGEST_ROW && (n <= LONG_ROW || rows >= f->c->target->workers);
}

/* Who reads the old value of something after it was overwritten (in recorded order) is not to be moved. */
static bool reads_overwritten(const fusion *f, tern__id n)
{
    const tern__gnode *node = &f->g->nodes[n];
    for (uint32_t i = 0; f->writer && i < node->n_in; i++)
        if (f->writer[node->in[i]] < n)
            return true;
    return false;
}

static tern__row_role stays_alone(fusion *f, tern__id n, reason why)
{
    if (f->alone)
        f->alone[n] = (uint8_t)why;
    return TERN__ROW_ROLE_NONE;
}

static tern__row_role role_of(fusion *f, tern__id n, tern__type *domain)
{
    const tern__gnode *node = &f->g->nodes[n];
    tern__call_room room;
    if (node->n_in == 0 || !tern__call_fits(node))
        return TERN__ROW_ROLE_NONE;
    tern__call call = tern__small_call(f->g, node, &room);
    tern__row_role role = tern__row_role_of(&call);
    if (role == TERN__ROW_ROLE_NONE || (node->op == TERN__OP_reshape && !f->squeezed[node->in[0]]))
        return TERN__ROW_ROLE_NONE;
    if (reads_overwritten(f, n))
        return stays_alone(f, n, REASON_OVERWRITTEN);
    if (node->op != TERN__OP_reshape && !f->c->target->fuses(f->c->target, &call))
        return stays_alone(f, n, REASON_NO_INSTRUCTION);
    tern__row_domain_of(&call, role, domain);
    if (role != TERN__ROW_ROLE_MAP && !has_worthwhile_rows(f, domain))
        return stays_alone(f, n, REASON_ROWS);
    f->squeezed[node->out] = role == TERN__ROW_ROLE_REDUCE && room.out[0].rank < room.in[0]->rank;
    return role;
}

/* ---- joining groups ---- */

static bool join_domains(const group *a, const group *b, tern__type *out)
{
    if (tern__row_is_full(&a->domain, &b->domain))
        *out = a->domain.rank >= b->domain.rank ? a->domain : b->domain;
    else if (b->role == TERN__ROW_ROLE_MAP && tern__row_is_each(&a->domain, &b->domain) &&
             a->domain.rank >= b->domain.rank)
        *out = a->domain;
    else if (a->role == TERN__ROW_ROLE_MAP && tern__row_is_each(&b->domain, &a->domain) &&
             b->domain.rank >= a->domain.rank)
        *out = b->domain;
    else
        return false;
    return true;
}

/* Counts what the members of `from` read that neither group makes; false if one reads a squeezed value of
 * the other. */
static bool count_inputs(fusion *f, tern__id from, tern__id other, int *inputs, int *constants)
{
    for (tern__id m = f->groups[from].head; m != TERN__NO_ID; m = f->next[m]) {
        const tern__gnode *node = &f->g->nodes[m];
        for (uint32_t i = 0; i < node->n_in; i++) {
            tern__id value = node->in[i], maker = find(f, f->g->values[value].node);
            if (maker == other && f->squeezed[value] && node->op != TERN__OP_reshape)
                return false;
            if (maker == from || maker == other || f->stamp[value] == f->attempt)
                continue;
            f->stamp[value] = f->attempt;
            *(is_inline_value(f->g, value) ? constants : inputs) += 1;
        }
    }
    return true;
}

/* Does whatever `n` reads, other than group `a`, stand before `position`? */
static bool known_before(fusion *f, tern__id n, tern__id a, uint32_t position)
{
    const tern__gnode *node = &f->g->nodes[n];
    for (uint32_t i = 0; i < node->n_in; i++) {
        tern__id maker = f->g->values[node->in[i]].node, group_of = find(f, maker);
        if (group_of != a && f->g->nodes[maker].leaf == TERN__NO_ID && !is_inline(f->g, maker) &&
            f->groups[group_of].position >= position)
            return false;
    }
    return true;
}

/* A cast to a larger type: made early it would take more memory for longer than what it reads. */
static bool widens(const tern_graph *g, tern__id n)
{
    const tern__gnode *node = &g->nodes[n];
    return node->op == TERN__OP_cast &&
           tern__type_bytes(&g->values[node->out].type) > tern__type_bytes(&g->values[node->in[0]].type);
}

/* Where both could run as one; TERN__NO_ID: nowhere. `b` holds node n, which reads from a. */
static uint32_t common_position(fusion *f, tern__id a, tern__id b, tern__id n)
{
    const group *x = &f->groups[a], *y = &f->groups[b];
    if (x->first_use > y->position && y->position > x->position)
        return y->position;
    if (y->n_members == 1 && !widens(f->g, n) && known_before(f, n, a, x->position))
        return x->position;
    return TERN__NO_ID;
}

static void try_to_join(fusion *f, tern__id a, tern__id b, tern__id n)
{
    group *x = &f->groups[a], *y = &f->groups[b];
    tern__type domain;
    int inputs = 0, constants = 0;
    f->attempt++;
    if (x->role == TERN__ROW_ROLE_NONE || !join_domains(x, y, &domain) ||
        !count_inputs(f, a, b, &inputs, &constants) || !count_inputs(f, b, a, &inputs, &constants) ||
        inputs > TERN__REGION_MAX_INPUTS ||
        x->n_members + y->n_members + (uint32_t)constants > TERN__REGION_MAX_OPS)
        return;
    uint32_t position = common_position(f, a, b, n);
    if (position == TERN__NO_ID)
        return;
    f->parent[a] = b;
    f->next[x->tail] = y->head;
    y->head = x->head;
    y->n_members += x->n_members;
    y->position = position;
    y->first_use = x->first_use < y->first_use ? x->first_use : y->first_use;
    y->role = x->role > y->role ? x->role : y->role;
    y->domain = domain;
}

static void take_node(fusion *f, tern__id n)
{
    const tern__gnode *node = &f->g->nodes[n];
    group *own = &f->groups[n];
    f->parent[n] = n;
    f->next[n] = TERN__NO_ID;
    *own = (group){.head = n, .tail = n, .n_members = 1, .position = n, .first_use = UINT32_MAX};
    own->role = role_of(f, n, &own->domain);
    for (uint32_t i = 0; i < node->n_in && own->role != TERN__ROW_ROLE_NONE; i++) {
        tern__id maker = find(f, f->g->values[node->in[i]].node);
        if (maker != n)
            try_to_join(f, maker, n, n);
    }
    if (node->op == TERN__OP_reshape && own->n_members == 1)
        own->role = TERN__ROW_ROLE_NONE; /* only together with what it reads */
    for (uint32_t i = 0; i < node->n_in; i++) {
        group *maker = &f->groups[find(f, f->g->values[node->in[i]].node)];
        if (maker != own && own->position < maker->first_use)
            maker->first_use = own->position;
        /* What reads a value before it is overwritten stays before that. */
        if (f->writer && f->writer[node->in[i]] < own->first_use)
            own->first_use = f->writer[node->in[i]];
    }
}

/* ---- what is overwritten ---- */

/* Leaves that share memory stand for each other: `first` (by alias number) of them. */
static tern__id base_leaf(const tern_graph *g, const tern__id *first, tern__id value)
{
    value = tern__graph_view_base(g, value);
    uint32_t leaf = g->nodes[g->values[value].node].leaf;
    uint32_t alias = leaf == TERN__NO_ID ? TERN__NO_ID : g->leaves[leaf].alias;
    return alias == TERN__NO_ID ? value : first[alias];
}

static tern_status find_first_aliases(fusion *f, tern__id **out)
{
    const tern_graph *g = f->g;
    uint32_t n = 0; /* alias numbers are those of the graph that was captured */
    for (uint32_t l = 0; l < g->n_leaves; l++)
        if (g->leaves[l].alias != TERN__NO_ID && g->leaves[l].alias >= n)
            n = g->leaves[l].alias + 1;
    *out = tern__arena_alloc(f->c->arena, n * sizeof **out);
    if (!*out)
        return tern__out_of_memory(n * sizeof **out);
    for (uint32_t l = g->n_leaves; l-- > 0;)
        if (g->leaves[l].alias != TERN__NO_ID)
            (*out)[g->leaves[l].alias] = g->nodes[g->leaves[l].node].out;
    return TERN_OK;
}

static tern_status find_writers(fusion *f)
{
    const tern_graph *g = f->g;
    if (g->n_writes == 0)
        return TERN_OK;
    f->writer = tern__arena_alloc(f->c->arena, g->n_values * sizeof *f->writer);
    if (!f->writer)
        return tern__out_of_memory(g->n_values * sizeof *f->writer);
    memset(f->writer, 0xff, g->n_values * sizeof *f->writer);
    tern__id *first;
    TERN_TRY(find_first_aliases(f, &first));
    for (tern__id n = 0; n < g->n_nodes; n++) {
        if (!(tern__ops[g->nodes[n].op].flags & TERN__WRITES))
            continue;
        tern__id base = base_leaf(g, first, g->nodes[n].in[0]);
        if (f->writer[base] == TERN__NO_ID)
            f->writer[base] = n;
    }
    for (tern__id v = 0; v < g->n_values; v++)
        f->writer[v] = f->writer[base_leaf(g, first, v)];
    return TERN_OK;
}

/* ---- regions ---- */

static bool is_local(const fusion *f, tern__id value)
{
    return f->stamp[value] == f->attempt;
}

static bool add_value(fusion *f, tern__region_draft *d, tern__id value, tern__id *inputs)
{
    uint16_t number;
    if (is_local(f, value))
        return true;
    if (!tern__region_add_input(d, &f->g->values[value].type, &number))
        return false;
    inputs[number] = value;
    f->stamp[value] = f->attempt;
    f->local[value] = number;
    return true;
}

static bool add_op(fusion *f, tern__region_draft *d, const tern__gnode *node)
{
    uint16_t in[TERN__MAX_INPUTS_FIXED], first;
    tern__type types[TERN__MAX_RESULTS_FIXED];
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = f->local[node->in[i]];
    for (uint32_t i = 0; i < node->n_out; i++)
        types[i] = f->g->values[node->out + i].type;
    if (!tern__region_add_op(d, node->op, (int)node->n_in, in, node->attrs, (int)node->n_out, types, &first))
        return false;
    for (uint32_t i = 0; i < node->n_out; i++) {
        f->stamp[node->out + i] = f->attempt;
        f->local[node->out + i] = (uint16_t)(first + i);
    }
    return true;
}

typedef struct region_ends {
    tern__id inputs[TERN__REGION_MAX_INPUTS], outputs[TERN__REGION_MAX_OUTPUTS];
    double bytes_before, bytes_inside; /* moved by the nodes one by one; of values that stay inside */
    int inside;
} region_ends;

/* Members in recorded order. */
static void list_members(fusion *f, const group *own, tern__id *members)
{
    uint32_t n = 0;
    for (tern__id m = own->head; m != TERN__NO_ID; m = f->next[m]) {
        uint32_t at = n++;
        for (; at > 0 && members[at - 1] > m; at--)
            members[at] = members[at - 1];
        members[at] = m;
    }
}

/* Inputs stand first in a region, so the members are walked three times: what comes from outside,
 * constants, themselves. */
static bool draft_body(fusion *f, const group *own, const tern__id *members, tern__region_draft *d,
                       region_ends *ends)
{
    const tern_graph *g = f->g;
    tern__id self = find(f, own->head);
    tern__region_begin(d, &own->domain);
    f->attempt++;
    for (uint32_t k = 0; k < own->n_members; k++)
        for (uint32_t i = 0; i < g->nodes[members[k]].n_in; i++) {
            tern__id value = g->nodes[members[k]].in[i];
            if (find(f, g->values[value].node) != self && !is_inline_value(g, value) &&
                !add_value(f, d, value, ends->inputs))
                return false;
        }
    for (uint32_t k = 0; k < own->n_members; k++)
        for (uint32_t i = 0; i < g->nodes[members[k]].n_in; i++) {
            tern__id value = g->nodes[members[k]].in[i];
            if (is_inline_value(g, value) && !is_local(f, value) &&
                !add_op(f, d, &g->nodes[g->values[value].node]))
                return false;
        }
    for (uint32_t k = 0; k < own->n_members; k++)
        if (!add_op(f, d, &g->nodes[members[k]]))
            return false;
    return true;
}

/* Values that are read outside leave the region. */
static bool draft_outputs(fusion *f, const group *own, const tern__id *members, tern__region_draft *d,
                          region_ends *ends)
{
    const tern_graph *g = f->g;
    uint32_t inside[TERN__REGION_MAX_VALUES] = {0};
    for (uint32_t k = 0; k < own->n_members; k++)
        for (uint32_t i = 0; i < g->nodes[members[k]].n_in; i++)
            inside[f->local[g->nodes[members[k]].in[i]]]++;
    ends->inside = 0;
    ends->bytes_inside = ends->bytes_before = 0;
    for (uint32_t k = 0; k < own->n_members; k++) {
        const tern__gnode *node = &g->nodes[members[k]];
        for (uint32_t i = 0; i < node->n_out; i++) {
            tern__id value = node->out + i;
            if (f->uses[value] == inside[f->local[value]]) {
                ends->inside++;
                ends->bytes_inside += (double)tern__type_bytes(&g->values[value].type);
                continue;
            }
            if (node->op == TERN__OP_reshape)
                return false; /* a view of something else: it cannot be a result of its own */
            ends->outputs[d->region.n_out < TERN__REGION_MAX_OUTPUTS ? d->region.n_out : 0] = value;
            if (!tern__region_add_output(d, f->local[value]))
                return false;
        }
        tern__call_room room;
        tern__call call = tern__small_call(g, node, &room);
        ends->bytes_before += tern__op_bytes(&call);
    }
    return d->region.n_out > 0;
}

static void describe(fusion *f, const group *own, const tern__id *members, const region_ends *ends,
                     double bytes_after)
{
    if (!f->c->log)
        return;
    char names[320] = "", domain[TERN__TYPE_TEXT], value[TERN__VALUE_TEXT];
    size_t used = 0;
    for (uint32_t k = 0; k < own->n_members; k++) {
        const tern__gnode *node = &f->g->nodes[members[k]];
        int added = snprintf(names + used, sizeof names - used, "%s%s %s", k ? ", " : "",
                             tern__value_text(f->c, f->g, node->out, value), tern__ops[node->op].name);
        if (added < 0 || (size_t)added + 8 >= sizeof names - used) {
            snprintf(names + used, sizeof names - used, ", ...");
            break;
        }
        used += (size_t)added;
    }
    tern__log_fusion(f->c, "row program", f->g, own->n_members, members, ends->bytes_before, bytes_after);
    tern__note(f->c,
               "fused %u nodes (%s) into a row program over %s: %d intermediate%s in the cache, %.1f KiB of "
               "traffic less; estimated speed-up %.1fx if traffic is what counts",
               own->n_members, names, tern__shape_text(own->domain.rank, own->domain.shape, domain),
               ends->inside, ends->inside == 1 ? " stays" : "s stay",
               (ends->bytes_before - bytes_after) / 1024,
               bytes_after > 0 ? ends->bytes_before / bytes_after : 1.0);
}

/* ---- writing the new graph ---- */

/* Scalars that went into regions are written for those who read them otherwise. */
static tern_status copy_with_scalars(fusion *f, tern__rewrite *w, tern__id n)
{
    const tern__gnode *node = &f->g->nodes[n];
    for (uint32_t i = 0; i < node->n_in; i++)
        if (w->map[node->in[i]] == TERN__NO_ID && is_inline_value(f->g, node->in[i]))
            TERN_TRY(tern__rewrite_copy(w, f->g->values[node->in[i]].node));
    return tern__rewrite_copy(w, n);
}

static tern_status keep_names(const fusion *f, tern__rewrite *w, const region_ends *ends, uint32_t n_out,
                              tern__id first)
{
    for (uint32_t i = 0; i < n_out; i++) {
        const char *name = f->g->values[ends->outputs[i]].name;
        if (!name)
            continue;
        w->to->values[first + i].name = tern__arena_strndup(&w->to->arena, name, strlen(name));
        if (!w->to->values[first + i].name)
            return tern__out_of_memory(strlen(name));
    }
    return TERN_OK;
}

static tern_status emit_fused(fusion *f, tern__rewrite *w, const tern__region *region,
                              const region_ends *ends, const char *origin)
{
    tern__id in[TERN__REGION_MAX_INPUTS], first;
    tern__type out[TERN__REGION_MAX_OUTPUTS];
    for (int i = 0; i < region->n_in; i++)
        in[i] = w->map[ends->inputs[i]];
    for (int i = 0; i < region->n_out; i++)
        out[i] = region->types[region->out[i]];
    tern__attr body = {.region = region};
    TERN_TRY(tern__graph_add(w->to, TERN__OP_fused, region->n_in, in, &body, region->n_out, out, &first));
    w->to->nodes[w->to->n_nodes - 1].origin = origin;
    for (int i = 0; i < region->n_out; i++)
        w->map[ends->outputs[i]] = first + (tern__id)i;
    return keep_names(f, w, ends, region->n_out, first);
}

static tern_status emit_group(fusion *f, tern__rewrite *w, tern__id n)
{
    const group *own = &f->groups[find(f, n)];
    tern__id members[TERN__REGION_MAX_OPS];
    tern__region_draft draft;
    region_ends ends;
    if (own->n_members == 1)
        return copy_with_scalars(f, w, n);
    list_members(f, own, members);
    if (!draft_body(f, own, members, &draft, &ends) || !draft_outputs(f, own, members, &draft, &ends)) {
        for (uint32_t k = 0; k < own->n_members; k++)
            TERN_TRY(copy_with_scalars(f, w, members[k]));
        return TERN_OK;
    }
    double after = 0;
    for (int i = 0; i < draft.region.n_in; i++)
        after += (double)tern__type_bytes(&draft.types[i]);
    for (int i = 0; i < draft.region.n_out; i++)
        after += (double)tern__type_bytes(&draft.types[draft.out[i]]);
    describe(f, own, members, &ends, after);
    f->c->changes++;
    return emit_fused(f, w, &draft.region, &ends, tern__origin_of(f->g, own->n_members, members));
}

static tern_status rewrite(fusion *f)
{
    tern__rewrite w;
    const tern_graph *g = f->g;
    TERN_TRY(tern__rewrite_begin(f->c, &w));
    for (tern__id n = 0; n < g->n_nodes; n++)
        if (g->nodes[n].leaf !=
            TERN__NO_ID) /* a group may run before a constant that it reads was recorded */
            TERN_TRY(tern__rewrite_copy(&w, n));
    for (tern__id n = 0; n < g->n_nodes; n++)
        if (g->nodes[n].leaf == TERN__NO_ID && !is_inline(g, n) && f->groups[find(f, n)].position == n)
            TERN_TRY(emit_group(f, &w, n));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (w.map[g->outputs[i].value] == TERN__NO_ID && is_inline_value(g, g->outputs[i].value))
            TERN_TRY(tern__rewrite_copy(&w, g->values[g->outputs[i].value].node));
    return tern__rewrite_end(&w);
}

static tern_status prepare(fusion *f)
{
    size_t n = f->g->n_nodes, v = f->g->n_values;
    tern__arena *arena = f->c->arena;
    f->parent = tern__arena_alloc(arena, n * sizeof *f->parent);
    f->next = tern__arena_alloc(arena, n * sizeof *f->next);
    f->groups = tern__arena_alloc(arena, n * sizeof *f->groups);
    f->squeezed = tern__arena_alloc_zero(arena, v, sizeof *f->squeezed);
    f->stamp = tern__arena_alloc_zero(arena, v, sizeof *f->stamp);
    f->local = tern__arena_alloc(arena, v * sizeof *f->local);
    if (!f->parent || !f->next || !f->groups || !f->squeezed || !f->stamp || !f->local)
        return tern__out_of_memory(n * sizeof *f->groups);
    if (f->c->log)
        f->alone = tern__arena_alloc_zero(arena, n, 1); /* without memory there is no word about it */
    TERN_TRY(tern__count_uses(f->c, f->g, &f->uses));
    return find_writers(f);
}

/* ---- what was not fused ---- */

static bool works_on_rows(fusion *f, tern__id n)
{
    return f->alone[n] != REASON_NONE || f->groups[find(f, n)].role != TERN__ROW_ROLE_NONE;
}

/* Are the node and that which makes its operand two steps, though both work on rows? */
static bool are_apart(fusion *f, tern__id maker, tern__id n)
{
    return f->g->nodes[maker].leaf == TERN__NO_ID && !is_inline(f->g, maker) &&
           find(f, maker) != find(f, n) && works_on_rows(f, maker) && works_on_rows(f, n);
}

/* Ops and reasons, with how many there are and the first. */
typedef struct tally {
    uint32_t count[TERN__OP_COUNT][REASON_COUNT];
    tern__id first[TERN__OP_COUNT][REASON_COUNT];
} tally;

/* A node counts once. */
static void count_node(fusion *f, tally *t, tern__id n, reason why)
{
    const tern__gnode *node = &f->g->nodes[n];
    if (why == REASON_NONE || f->stamp[node->out] == f->attempt)
        return;
    f->stamp[node->out] = f->attempt;
    if (t->count[node->op][why]++ == 0)
        t->first[node->op][why] = n;
}

static void count_apart(fusion *f, tally *t)
{
    tern__type domain;
    for (tern__id n = 0; n < f->g->n_nodes; n++)
        for (uint32_t i = 0; i < f->g->nodes[n].n_in; i++) {
            tern__id maker = f->g->values[f->g->nodes[n].in[i]].node;
            if (!are_apart(f, maker, n))
                continue;
            count_node(f, t, maker, (reason)f->alone[maker]);
            count_node(f, t, n, (reason)f->alone[n]);
            if (!f->alone[maker] && !f->alone[n])
                count_node(f, t, n,
                           join_domains(&f->groups[find(f, maker)], &f->groups[find(f, n)], &domain)
                               ? REASON_LIMITS
                               : REASON_SHAPES);
        }
}

/* One line for each op and reason: large graphs have many of a kind. */
static void explain_rest(fusion *f)
{
    static const char *const sentences[] = {"",
#define REASON_TEXT(id, sentence) sentence,
                                            REASONS(REASON_TEXT)
#undef REASON_TEXT
    };
    tally *t = tern__arena_alloc_zero(f->c->arena, 1, sizeof *t);
    f->attempt++;
    if (t)
        count_apart(f, t);
    for (int op = 0; t && op < TERN__OP_COUNT; op++)
        for (int why = 1; why < REASON_COUNT; why++) {
            char value[TERN__VALUE_TEXT], more[32] = "";
            uint32_t count = t->count[op][why];
            if (count == 0)
                continue;
            if (count > 1)
                snprintf(more, sizeof more, " and %u more", count - 1);
            tern__note(f->c, "not fused: %s %s%s: %s",
                       tern__value_text(f->c, f->g, f->g->nodes[t->first[op][why]].out, value),
                       tern__ops[op].name, more, sentences[why]);
        }
}

tern_status tern__pass_fuse(tern__compilation *c)
{
    fusion f = {.c = c, .g = c->graph};
    if (!c->target->fuses || c->graph->n_nodes < 2)
        return TERN_OK;
    TERN_TRY(prepare(&f));
    bool any = false;
    for (tern__id n = 0; n < f.g->n_nodes; n++) {
        take_node(&f, n);
        any = any || f.groups[find(&f, n)].n_members > 1;
    }
    if (f.alone)
        explain_rest(&f);
    return any ? rewrite(&f) : TERN_OK;
}
