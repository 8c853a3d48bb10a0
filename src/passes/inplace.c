/* inplace.c - an elementwise or fused step may write a result over an operand that nobody reads afterwards.
 *
 * Safe when the operand is an intermediate in a buffer of its own (not a leaf, not an output), of the same size and dense
 * like the result, this step is the last to touch that buffer, and every other operand in the same buffer is the very same
 * view of it: then element i is read before it is overwritten. Of a fused step moreover whatever reads the operand must be
 * needed for the result (region.h). */
#include "base/status.h"
#include "graph/region.h"
#include "passes/place.h"

tern_status tern__pass_inplace(tern__compilation *c);

/* Does the op read an element of the operand before it writes that of the result? */
static bool reads_first(const tern__gnode *node, uint32_t operand, uint32_t result)
{
    if (node->op == TERN__OP_fused)
        return tern__region_may_overwrite(node->attrs[TERN__ATTR_fused_body].region, (int)operand,
                                          (int)result);
    return (tern__ops[node->op].flags & TERN__ELEMENTWISE) && node->n_out == 1;
}

bool tern__may_reuse(const tern__compilation *c, const tern__gnode *node, uint32_t operand, uint32_t r)
{
    const tern_graph *g = c->graph;
    tern__id value = node->in[operand];
    const tern__place *place = &c->places[value], *root = &c->places[place->root];
    const tern__type *type = &g->values[value].type, *result = &g->values[node->out + r].type;
    const tern__place *to = &c->places[node->out + r];
    if (to->root != node->out + r || to->is_output ||
        g->nodes[g->values[place->root].node].leaf != TERN__NO_ID || root->is_output)
        return false;
    if (!tern__shape_equal(type, result) ||
        tern__dtype_unit_bytes(type->dtype) != tern__dtype_unit_bytes(result->dtype) ||
        tern__type_bytes(&g->values[place->root].type) != tern__type_bytes(result) ||
        place->layout.offset != 0 || !tern__layout_is_contiguous(type, &place->layout))
        return false;
    for (uint32_t i = 0; i < node->n_in; i++) {
        const tern__place *other = &c->places[node->in[i]];
        if (other->root == place->root &&
            !(reads_first(node, i, r) &&
              tern__layout_same(&g->values[node->in[i]].type, &other->layout, type, &place->layout)))
            return false;
    }
    return true;
}

/* The result and everything that was placed in its buffer move to the operand's. */
static void reuse(tern__compilation *c, tern__id out, tern__id root)
{
    tern__place *result = &c->places[out];
    c->places[root].last = result->last;
    c->places[root].is_output = result->is_output;
    result->root = root;
    /* Values after this node that were views of the result follow when they are met (see below). */
}

static bool is_taken(const tern__compilation *c, const tern__gnode *node, uint32_t result, tern__id root)
{
    for (uint32_t r = 0; r < result; r++)
        if (c->places[node->out + r].root == root)
            return true;
    return false;
}

/* Puts result r over the first operand that allows it. */
static bool find_operand(tern__compilation *c, const tern__gnode *node, uint32_t r, uint32_t step,
                         bool explain)
{
    for (uint32_t k = 0; k < node->n_in; k++) {
        tern__id root = c->places[node->in[k]].root;
        if (c->places[root].last != step || is_taken(c, node, r, root) || !tern__may_reuse(c, node, k, r))
            continue;
        reuse(c, node->out + r, root);
        if (explain)
            tern__note(c, "step %u (%s) writes its result over operand %u, which nobody reads afterwards",
                       step, tern__ops[node->op].name, k);
        return true;
    }
    return false;
}

uint32_t tern__reuse_operands(tern__compilation *c, bool explain)
{
    const tern_graph *g = c->graph;
    uint32_t step = 0, reused = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        tern__id id = c->order[i];
        const tern__gnode *node = &g->nodes[id];
        /* Views and updates of a result that moved: their root is what their root's root has become. */
        for (uint32_t r = 0; r < node->n_out; r++) {
            tern__place *place = &c->places[node->out + r];
            place->root = c->places[place->root].root;
        }
        if (!c->needs_step[id])
            continue;
        uint32_t number = step++;
        for (uint32_t r = 0; r < node->n_out; r++)
            reused += find_operand(c, node, r, number, explain);
    }
    return reused;
}

tern_status tern__pass_inplace(tern__compilation *c)
{
    c->changes += tern__reuse_operands(c, true);
    return TERN_OK;
}
