/* edit_fuse.c - nodes that somebody chose become one fused node. The fuse pass chooses by itself (passes/fuse.c); here the
 * choice is given, and what does not fit together is said. */
#include <string.h>

#include "base/status.h"
#include "graph/call.h"
#include "graph/edit.h"
#include "graph/region.h"

typedef struct chosen {
    tern_edit *e;
    const tern_graph *g;
    tern__id nodes[TERN__REGION_MAX_OPS]; /* in an order in which they can run */
    int n;
    tern__id values[TERN__REGION_MAX_VALUES]; /* of the graph, by number in the region */
    tern__region_draft draft;
} chosen;

static tern_status fail_large(void)
{
    return tern__fail(TERN_UNSUPPORTED, "edit_fuse: more than %d ops, %d operands or %d results",
                      TERN__REGION_MAX_OPS, TERN__REGION_MAX_INPUTS, TERN__REGION_MAX_OUTPUTS);
}

static bool is_chosen(const chosen *c, tern__id node)
{
    for (int i = 0; i < c->n; i++)
        if (c->nodes[i] == node)
            return true;
    return false;
}

static tern_status role_of(const chosen *c, tern__id n, tern__row_role *role, tern__type *domain)
{
    const tern__gnode *node = &c->g->nodes[n];
    tern__call_room room;
    *role = TERN__ROW_ROLE_NONE;
    if (tern__call_fits(node)) {
        tern__call call = tern__small_call(c->g, node, &room);
        *role = tern__row_role_of(&call);
        if (*role > TERN__ROW_ROLE_CONSTANT)
            tern__row_domain_of(&call, *role, domain);
    }
    TERN__FAIL_IF(*role == TERN__ROW_ROLE_NONE, TERN_UNSUPPORTED,
                  "edit_fuse: node %u (%s) does not work row by row", n, tern__ops[node->op].name);
    return TERN_OK;
}

/* The largest domain; of equal ones, that of a reduction. Whether the others fit it is checked in the end. */
static tern_status find_domain(const chosen *c, tern__type *out)
{
    int64_t largest = -1;
    for (int i = 0; i < c->n; i++) {
        tern__row_role role;
        tern__type domain;
        TERN_TRY(role_of(c, c->nodes[i], &role, &domain));
        if (role == TERN__ROW_ROLE_CONSTANT)
            continue;
        int64_t size = tern__type_numel(&domain);
        if (size > largest || (size == largest && role > TERN__ROW_ROLE_MAP)) {
            largest = size;
            *out = domain;
        }
    }
    TERN__FAIL_IF(largest < 0, TERN_UNSUPPORTED, "edit_fuse: numbers alone are no work");
    return TERN_OK;
}

static bool is_listed(const tern__id *nodes, int n, tern__id node)
{
    for (int i = 0; i < n; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static bool is_ready(const chosen *c, const tern_node *nodes, int n, tern__id node)
{
    const tern__gnode *at = &c->g->nodes[node];
    for (uint32_t i = 0; i < at->n_in; i++) {
        tern__id maker = c->g->values[at->in[i]].node;
        if (is_listed(nodes, n, maker) && !is_chosen(c, maker))
            return false;
    }
    return true;
}

static bool is_number(const tern_graph *g, tern__id node)
{
    const tern__type *type = &g->values[g->nodes[node].out].type;
    return g->nodes[node].op == TERN__OP_full && type->dtype == TERN_F32 && tern__type_numel(type) == 1;
}

/* Numbers that are written in the graph become part of the region; elsewhere they stay as well. */
static tern_status take_numbers(chosen *c, const tern_node *nodes, int n)
{
    for (int k = 0; k < n; k++)
        for (uint32_t i = 0; i < c->g->nodes[nodes[k]].n_in; i++) {
            tern__id maker = c->g->values[c->g->nodes[nodes[k]].in[i]].node;
            if (!is_number(c->g, maker) || is_chosen(c, maker) || is_listed(nodes, n, maker))
                continue;
            if (c->n == TERN__REGION_MAX_OPS)
                return fail_large();
            c->nodes[c->n++] = maker;
        }
    return TERN_OK;
}

/* Who reads from another chosen node comes after it. */
static tern_status put_in_order(chosen *c, const tern_node *nodes, int n)
{
    TERN_TRY(take_numbers(c, nodes, n));
    n += c->n;
    if (n > TERN__REGION_MAX_OPS)
        return fail_large();
    int given = n - c->n;
    for (bool moved = true; c->n < n && moved;) {
        moved = false;
        for (int i = 0; i < given; i++) {
            if (is_chosen(c, nodes[i]) || !is_ready(c, nodes, given, nodes[i]))
                continue;
            c->nodes[c->n++] = nodes[i];
            moved = true;
        }
    }
    TERN__FAIL_IF(c->n < n, TERN_INVALID_ARGUMENT,
                  "edit_fuse: a node is named twice, or they read each other");
    return TERN_OK;
}

static uint16_t number_of(const chosen *c, tern__id value)
{
    for (uint16_t i = 0; i < c->draft.region.n_values; i++)
        if (c->values[i] == value)
            return i;
    return UINT16_MAX;
}

static tern_status draft_inputs(chosen *c)
{
    for (int k = 0; k < c->n; k++) {
        const tern__gnode *node = &c->g->nodes[c->nodes[k]];
        for (uint32_t i = 0; i < node->n_in; i++) {
            tern__id value = node->in[i];
            uint16_t number;
            if (is_chosen(c, c->g->values[value].node) || number_of(c, value) != UINT16_MAX)
                continue;
            if (!tern__region_add_input(&c->draft, &c->g->values[value].type, &number))
                return fail_large();
            c->values[number] = value;
        }
    }
    return TERN_OK;
}

static tern_status draft_ops(chosen *c)
{
    for (int k = 0; k < c->n; k++) {
        const tern__gnode *node = &c->g->nodes[c->nodes[k]];
        uint16_t in[TERN__MAX_INPUTS_FIXED], first;
        tern__type types[TERN__MAX_RESULTS_FIXED];
        for (uint32_t i = 0; i < node->n_in; i++)
            in[i] = number_of(c, node->in[i]);
        for (uint32_t i = 0; i < node->n_out; i++)
            types[i] = c->g->values[node->out + i].type;
        if (!tern__region_add_op(&c->draft, node->op, (int)node->n_in, in, node->attrs, (int)node->n_out,
                                 types, &first))
            return fail_large();
        for (uint32_t i = 0; i < node->n_out; i++)
            c->values[first + i] = node->out + i;
    }
    return TERN_OK;
}

/* Values that are read outside leave the region. */
static tern_status draft_outputs(chosen *c)
{
    int inside[TERN__REGION_MAX_VALUES] = {0};
    for (int k = 0; k < c->n; k++)
        for (uint32_t i = 0; i < c->g->nodes[c->nodes[k]].n_in; i++)
            inside[number_of(c, c->g->nodes[c->nodes[k]].in[i])]++;
    for (uint16_t v = c->draft.region.n_in; v < c->draft.region.n_values; v++)
        if (tern_edit_uses(c->e, c->values[v]) > inside[v] &&
            !is_number(c->g, c->g->values[c->values[v]].node) && !tern__region_add_output(&c->draft, v))
            return fail_large();
    TERN__FAIL_IF(c->draft.region.n_out == 0, TERN_INVALID_ARGUMENT, "edit_fuse: nobody reads a result");
    return TERN_OK;
}

static tern_status check(const chosen *c)
{
    const tern__type *in[TERN__REGION_MAX_INPUTS];
    for (int i = 0; i < c->draft.region.n_in; i++)
        in[i] = &c->draft.types[i];
    tern_status status = tern__region_check(&c->draft.region, c->draft.region.n_in, in);
    if (status == TERN_OK || status == TERN_OUT_OF_MEMORY)
        return status;
    tern__fail_in(status, "edit_fuse");
    return TERN_UNSUPPORTED;
}

static tern_status write_node(chosen *c, tern_node *out)
{
    const tern__region *r = &c->draft.region;
    tern__type types[TERN__REGION_MAX_OUTPUTS];
    tern__attr body = {.region = r};
    tern__id first;
    for (int i = 0; i < r->n_out; i++)
        types[i] = r->types[r->out[i]];
    TERN_TRY(tern__edit_add(c->e, TERN__OP_fused, r->n_in, c->values, &body, r->n_out, types, &first));
    *out = c->g->values[first].node;
    c->g->nodes[*out].origin = tern__origin_of(c->g, (uint32_t)c->n, c->nodes);
    /* Members would read each other through the new node: they go first, all at once. */
    for (int i = 0; i < r->n_out; i++)
        TERN_TRY(tern_edit_replace(c->e, c->values[r->out[i]], first + (tern__id)i));
    for (int k = c->n; k-- > 0;)
        if (!is_number(c->g, c->nodes[k]) || tern_edit_uses(c->e, c->g->nodes[c->nodes[k]].out) == 0)
            TERN_TRY(tern_edit_remove(c->e, c->nodes[k]));
    return TERN_OK;
}

tern_status tern_edit_fuse(tern_edit *edit, int n, const tern_node *nodes, tern_node *out)
{
    TERN__FAIL_IF(!edit || n < 1 || !nodes || !out, TERN_INVALID_ARGUMENT,
                  "edit_fuse: needs an edit, nodes and a place for the new one");
    if (n > TERN__REGION_MAX_OPS)
        return fail_large();
    for (int i = 0; i < n; i++)
        TERN_TRY(tern__edit_check_node(edit, nodes[i]));
    chosen c = {.e = edit, .g = edit->graph};
    tern__type domain;
    tern_node node;
    TERN_TRY(put_in_order(&c, nodes, n));
    TERN_TRY(find_domain(&c, &domain));
    tern__region_begin(&c.draft, &domain);
    TERN_TRY(draft_inputs(&c));
    TERN_TRY(draft_ops(&c));
    TERN_TRY(draft_outputs(&c));
    TERN_TRY(check(&c));
    tern__edit_mark mark = tern__edit_here(edit);
    tern_status status = write_node(&c, &node);
    if (status != TERN_OK) {
        tern__edit_undo(edit, mark);
        return status;
    }
    *out = node;
    return TERN_OK;
}
