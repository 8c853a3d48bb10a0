/* place.c - which buffer each value lies in, and how. Views and updates share the buffer of their operand; every other
 * result gets one of its own. Also finds how long each buffer is in use. */
#include <string.h>

#include "base/status.h"
#include "graph/region.h"
#include "passes/place.h"
#include "passes/rewrite.h"

tern_status tern__pass_place(tern__compilation *c);

static void own_buffer(const tern_graph *g, tern__id value, tern__place *places)
{
    places[value] = (tern__place){.root = value, .first = UINT32_MAX, .last = 0};
    tern__layout_contiguous(&g->values[value].type, &places[value].layout);
}

static void place_leaf(const tern_graph *g, const tern__gnode *node, tern__place *places)
{
    places[node->out] = (tern__place){
        .root = node->out, .first = UINT32_MAX, .last = 0, .layout = g->leaves[node->leaf].layout};
    places[node->out].layout.offset = 0; /* the run is given the address of the first element */
}

/* Shares operand 0's buffer if the layout allows; false: the view must be a copy. */
static bool place_view(const tern_graph *g, const tern__gnode *node, tern__place *places)
{
    const tern__place *from = &places[node->in[0]];
    tern__layout layout;
    if (!tern__op_view(&tern__ops[node->op], node->attrs, &g->values[node->in[0]].type, &from->layout,
                       &g->values[node->out].type, &layout))
        return false;
    places[node->out] = (tern__place){.root = from->root, .layout = layout};
    return true;
}

static bool is_graph_output(const tern_graph *g, tern__id root, const tern__place *places,
                            tern__id writer_result)
{
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        tern__id value = g->outputs[i].value;
        if (value < writer_result && places[value].root == root)
            return true;
    }
    return false;
}

static tern_status place_update(const tern_graph *g, const tern__gnode *node, tern__place *places)
{
    const char *op = tern__ops[node->op].name;
    const tern__place *from = &places[node->in[0]];
    const tern__type *type = &g->values[node->in[0]].type;
    const tern__gnode *base = &g->nodes[g->values[from->root].node];
    TERN__FAIL_IF(base->leaf != TERN__NO_ID && base->op != TERN__OP_state, TERN_UNSUPPORTED,
                  "%s: the target is an %s of the program: use a state, or write into a copy (contiguous)",
                  op, tern__ops[base->op].name);
    TERN__FAIL_IF(base->leaf == TERN__NO_ID && is_graph_output(g, from->root, places, node->out),
                  TERN_UNSUPPORTED,
                  "%s: the old value of the target is an output too: write into a copy (contiguous)", op);
    for (uint32_t i = 1; i < node->n_in; i++) {
        const tern__place *x = &places[node->in[i]];
        const tern__type *x_type = &g->values[node->in[i]].type;
        TERN__FAIL_IF(
            x->root == from->root && tern__layout_overlap(x_type, &x->layout, type, &from->layout) &&
                !(node->op == TERN__OP_overwrite &&
                  tern__layout_same(x_type, &x->layout, type, &from->layout)),
            TERN_UNSUPPORTED, "%s: operand %u lies in the target: give it a copy (contiguous)", op, i);
    }
    for (int i = 0; i < type->rank; i++)
        TERN__FAIL_IF(from->layout.strides[i] == 0 && type->shape[i] > 1, TERN_UNSUPPORTED,
                      "%s: the target is a broadcast view: write into a copy (contiguous)", op);
    places[node->out] = (tern__place){.root = from->root, .layout = from->layout};
    return TERN_OK;
}

/* Which memory a value lies in (equal numbers: the same), and where in it. */
static tern__id memory_of(const tern_graph *g, const tern__place *places, tern__id value,
                          tern__layout *layout)
{
    const tern__place *place = &places[value];
    uint32_t leaf = g->nodes[g->values[place->root].node].leaf;
    *layout = place->layout;
    if (leaf == TERN__NO_ID || g->leaves[leaf].alias == TERN__NO_ID)
        return place->root;
    layout->offset += g->leaves[leaf].layout.offset;
    return g->n_values + g->leaves[leaf].alias;
}

/* May result r of the elementwise or fused node `producer` be written straight into the target of `update`, an overwrite that alone
 * reads it? Operands that share memory with the target must be the very same view of it, and read before the result is written:
 * then element i is. */
static bool writes_through(const tern_graph *g, const tern__gnode *producer, uint32_t r,
                           const tern__gnode *update, const tern__place *places, const uint32_t *uses)
{
    const bool fused = producer->op == TERN__OP_fused;
    const tern__id result = producer->out + r;
    if (!(fused || ((tern__ops[producer->op].flags & TERN__ELEMENTWISE) && producer->n_out == 1)) ||
        update->in[0] > producer->out || uses[result] != 1 ||
        !tern__type_equal(&g->values[result].type, &g->values[update->out].type))
        return false;
    const tern__type *type = &g->values[update->in[0]].type;
    tern__layout target, operand;
    const tern__id memory = memory_of(g, places, update->in[0], &target);
    for (uint32_t i = 0; i < producer->n_in; i++) {
        const tern__type *operand_type = &g->values[producer->in[i]].type;
        if (memory_of(g, places, producer->in[i], &operand) == memory &&
            !(tern__layout_same(operand_type, &operand, type, &target) &&
              (!fused ||
               tern__region_may_overwrite(producer->attrs[TERN__ATTR_fused_body].region, (int)i, (int)r))) &&
            tern__layout_overlap(operand_type, &operand, type, &target))
            return false;
    }
    /* results that have their targets already */
    for (tern__id other = producer->out; other < producer->out + producer->n_out; other++)
        if (places[other].root != TERN__NO_ID && memory_of(g, places, other, &operand) == memory &&
            tern__layout_overlap(&g->values[other].type, &operand, type, &target))
            return false;
    return true;
}

/* Results of order[at] that are overwrites' new values lie in the targets of these, as long as such overwrites follow it one after
 * the other: nobody reads the old value in between. */
static void place_in_targets(const tern__compilation *c, uint32_t at, const uint32_t *uses)
{
    const tern_graph *g = c->graph;
    const tern__gnode *node = &g->nodes[c->order[at]];
    for (uint32_t i = at + 1; i < g->n_nodes; i++) {
        const tern__gnode *update = &g->nodes[c->order[i]];
        if (update->op != TERN__OP_overwrite || update->in[1] < node->out ||
            update->in[1] >= node->out + node->n_out ||
            !writes_through(g, node, update->in[1] - node->out, update, c->places, uses))
            return;
        const tern__place *target = &c->places[update->in[0]];
        c->places[update->in[1]] = (tern__place){.root = target->root, .layout = target->layout};
    }
}

static void touch(tern__place *root, uint32_t step)
{
    if (step < root->first)
        root->first = step;
    if (step > root->last)
        root->last = step;
}

static void touch_operands(const tern__gnode *node, tern__place *places, uint32_t step)
{
    for (uint32_t i = 0; i < node->n_in; i++)
        touch(&places[places[node->in[i]].root], step);
    for (uint32_t i = 0; i < node->n_out; i++)
        touch(&places[places[node->out + i].root], step);
}

static tern_status place_node(tern__compilation *c, uint32_t at, const uint32_t *uses, uint32_t *steps,
                              uint32_t *operands)
{
    const tern_graph *g = c->graph;
    const tern__id id = c->order[at];
    const tern__gnode *node = &g->nodes[id];
    const tern__op *op = &tern__ops[node->op];
    c->needs_step[id] = false;
    if (node->leaf != TERN__NO_ID) {
        place_leaf(g, node, c->places);
        return TERN_OK;
    }
    if ((op->flags & TERN__VIEW) && place_view(g, node, c->places))
        return TERN_OK;
    if (op->flags & TERN__WRITES) {
        TERN_TRY(place_update(g, node, c->places));
        if (node->op == TERN__OP_overwrite && c->places[node->in[1]].root == c->places[node->out].root &&
            tern__layout_same(&g->values[node->in[1]].type, &c->places[node->in[1]].layout,
                              &g->values[node->out].type, &c->places[node->out].layout))
            return TERN_OK; /* written through by its producer */
    } else {
        if (uses)
            place_in_targets(c, at, uses);
        for (uint32_t i = 0; i < node->n_out; i++)
            if (c->places[node->out + i].root == TERN__NO_ID)
                own_buffer(g, node->out + i, c->places);
    }
    c->needs_step[id] = true;
    touch_operands(node, c->places, (*steps)++);
    *operands += node->n_in + node->n_out;
    return TERN_OK;
}

tern_status tern__place_values(tern__compilation *c)
{
    const tern_graph *g = c->graph;
    c->places = tern__arena_alloc(c->arena, g->n_values * sizeof *c->places);
    c->needs_step = tern__arena_alloc(c->arena, g->n_nodes);
    if (!c->places || !c->needs_step)
        return tern__out_of_memory(g->n_values * sizeof *c->places);
    for (uint32_t v = 0; v < g->n_values; v++)
        c->places[v].root = TERN__NO_ID; /* of those that the running order has not come to */
    uint32_t steps = 0, operands = 0, *uses = NULL;
    if (g->n_writes > 0)
        TERN_TRY(tern__count_uses(c, g, &uses));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TERN_TRY(place_node(c, i, uses, &steps, &operands));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        c->places[c->places[g->outputs[i].value].root].is_output = true;
    c->plan->n_steps = steps;
    c->plan->n_operands = operands;
    return TERN_OK;
}

tern_status tern__pass_place(tern__compilation *c)
{
    return tern__place_values(c);
}
