/* rebatch.c - re-infers a graph for another size of the batch. */
#include "graph/rebatch.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "graph/text.h"

/* One node on its way: operand types before and after. */
typedef struct change {
    const tern__gnode *node;
    const tern__type **was, **is; /* (n_in) */
    tern__arena *arena;
} change;

/* ---- attributes that count elements ---- */

static tern_status copy_ints(const change *c, int at, tern__attr *attrs)
{
    const tern__attr *from = &c->node->attrs[at];
    int64_t *ints = tern__arena_alloc(c->arena, (from->count + 1) * sizeof *ints);
    if (!ints)
        return tern__out_of_memory(from->count * sizeof *ints);
    for (uint32_t i = 0; i < from->count; i++)
        ints[i] = from->ints[i];
    attrs[at].ints = ints;
    return TERN_OK;
}

/* size * is / was, if that is a whole number. */
static bool scale(int64_t size, int64_t was, int64_t is, int64_t *out)
{
    int64_t product;
    if (was == 0 || !tern__i64_mul(size, is, &product) || product % was != 0)
        return false;
    *out = product / was;
    return true;
}

/* Axes [x, x_end) of the operand hold the same elements as axes [y, y_end) of the result, as few of both
 * as possible. In them the axis that changed begins behind `before` elements' worth of slower axes: so
 * does the size that follows it. */
static bool scale_group(const tern__type *was, const tern__type *is, int x, int x_end, int64_t *shape, int y,
                        int y_end)
{
    int64_t before = 1;
    for (int i = x; i < x_end; i++) {
        if (was->shape[i] == is->shape[i]) {
            before *= was->shape[i];
            continue;
        }
        int64_t reached = 1;
        int at = -1;
        for (int k = y; k < y_end && at < 0; k++) {
            if (reached == before || reached * shape[k] > before)
                at = k;
            reached *= shape[k];
        }
        if (at < 0 || !scale(shape[at], was->shape[i], is->shape[i], &shape[at]))
            return false;
        before *= is->shape[i];
    }
    return true;
}

static bool reshape_sizes(const tern__type *was, const tern__type *is, int rank, int64_t *shape)
{
    int64_t old[TERN__MAX_RANK];
    memcpy(old, shape, (size_t)rank * sizeof *old);
    for (int x = 0, y = 0; x < was->rank;) {
        int x_end = x + 1, y_end = y;
        int64_t from = was->shape[x], to = 1;
        if (y_end < rank)
            to = old[y_end++];
        while (from != to) {
            if (from == 0 || to == 0)
                return false; /* nothing tells which sizes belong together */
            if (from < to && x_end < was->rank)
                from *= was->shape[x_end++];
            else if (to < from && y_end < rank)
                to *= old[y_end++];
            else
                return false;
        }
        if (!scale_group(was, is, x, x_end, shape, y, y_end))
            return false;
        x = x_end;
        y = y_end;
    }
    return true;
}

static tern_status reshape_attrs(const change *c, tern__attr *attrs)
{
    const tern__attr *shape = &c->node->attrs[TERN__ATTR_reshape_shape];
    for (uint32_t i = 0; i < shape->count; i++)
        if (shape->ints[i] == -1)
            return TERN_OK;
    TERN_TRY(copy_ints(c, TERN__ATTR_reshape_shape, attrs));
    int64_t *sizes = attrs[TERN__ATTR_reshape_shape].ints;
    TERN__FAIL_IF(!reshape_sizes(c->was[0], c->is[0], (int)shape->count, sizes), TERN_SHAPE,
                  "no size of the result is that of the batch: give the size that follows it as -1");
    return TERN_OK;
}

static tern_status broadcast_attrs(const change *c, tern__attr *attrs)
{
    const int lead = (int)c->node->attrs[TERN__ATTR_broadcast_shape].count - c->was[0]->rank;
    TERN_TRY(copy_ints(c, TERN__ATTR_broadcast_shape, attrs));
    int64_t *sizes = attrs[TERN__ATTR_broadcast_shape].ints + lead;
    for (int i = 0; i < c->was[0]->rank; i++)
        if (c->was[0]->shape[i] != c->is[0]->shape[i]) {
            TERN__FAIL_IF(c->was[0]->shape[i] != sizes[i], TERN_SHAPE,
                          "it repeats the batch, which was 1 when it was recorded");
            sizes[i] = c->is[0]->shape[i];
        }
    return TERN_OK;
}

static tern_status slice_attrs(const change *c, tern__attr *attrs)
{
    TERN_TRY(copy_ints(c, TERN__ATTR_slice_start, attrs));
    TERN_TRY(copy_ints(c, TERN__ATTR_slice_stop, attrs));
    const int64_t *step = c->node->attrs[TERN__ATTR_slice_step].ints;
    for (int i = 0; i < c->was[0]->rank; i++) {
        const int64_t was = c->was[0]->shape[i], is = c->is[0]->shape[i];
        int64_t *start = &attrs[TERN__ATTR_slice_start].ints[i],
                *stop = &attrs[TERN__ATTR_slice_stop].ints[i];
        if (was == is)
            continue;
        if (step[i] > 0 && *stop >= was)
            *stop = is;
        if (step[i] < 0 && *start >= was - 1)
            *start = is - 1;
        TERN__FAIL_IF(*start > is || *stop > is || *start < -is, TERN_SHAPE,
                      "it takes [%" PRId64 ":%" PRId64 "] of a batch of %" PRId64, *start, *stop, is);
    }
    return TERN_OK;
}

static tern_status split_attrs(const change *c, tern__attr *attrs)
{
    int axis;
    if (!tern__axis_normalise(c->node->attrs[TERN__ATTR_split_axis].i, c->was[0]->rank, &axis) ||
        c->was[0]->shape[axis] == c->is[0]->shape[axis])
        return TERN_OK;
    TERN__FAIL_IF(c->node->attrs[TERN__ATTR_split_sizes].count != 1, TERN_SHAPE,
                  "it cuts the batch into parts of fixed sizes");
    TERN_TRY(copy_ints(c, TERN__ATTR_split_sizes, attrs));
    attrs[TERN__ATTR_split_sizes].ints[0] = c->is[0]->shape[axis];
    return TERN_OK;
}

/* The attributes for the new operands; by default what they were. */
static tern_status change_attrs(const change *c, tern__attr *attrs)
{
    switch (c->node->op) {
    case TERN__OP_reshape:
        return reshape_attrs(c, attrs);
    case TERN__OP_broadcast:
        return broadcast_attrs(c, attrs);
    case TERN__OP_slice:
        return slice_attrs(c, attrs);
    case TERN__OP_split:
        return split_attrs(c, attrs);
    default:
        return TERN_OK;
    }
}

/* ---- nodes ---- */

static tern_status add_leaf(const tern_graph *g, tern__id n, bool batched, int64_t size, tern_graph *to)
{
    tern__type type = g->values[g->nodes[n].out].type;
    if (batched) {
        type.shape[0] = size;
        TERN_TRY(tern__type_make("input", type.dtype, type.rank, type.shape, &type));
    }
    return tern__graph_clone_node(g, n, g->nodes[n].attrs, &type, to);
}

static tern_status infer(const change *c, const tern__attr *attrs, tern__type *types)
{
    tern_dtype *operands = tern__arena_alloc(c->arena, (c->node->n_in + 1) * sizeof *operands);
    if (!operands)
        return tern__out_of_memory(c->node->n_in * sizeof *operands);
    const tern__call call = {.op = &tern__ops[c->node->op],
                             .n_in = (int)c->node->n_in,
                             .n_out = (int)c->node->n_out,
                             .in = c->is,
                             .attrs = attrs,
                             .out = types};
    return tern__op_infer(&call, operands);
}

static tern_status add_node(const tern_graph *g, tern__id n, tern_graph *to)
{
    const tern__gnode *node = &g->nodes[n];
    const tern__op *op = &tern__ops[node->op];
    tern__type *types = tern__arena_alloc(&to->arena, (node->n_out + 1) * sizeof *types);
    change c = {.node = node,
                .was = tern__arena_alloc(&to->arena, (node->n_in + 1) * sizeof *c.was),
                .is = tern__arena_alloc(&to->arena, (node->n_in + 1) * sizeof *c.is),
                .arena = &to->arena};
    if (!types || !c.was || !c.is)
        return tern__out_of_memory(node->n_out * sizeof *types + node->n_in * 2 * sizeof *c.was);
    bool same = true;
    for (uint32_t i = 0; i < node->n_in; i++) {
        c.was[i] = &g->values[node->in[i]].type;
        c.is[i] = &to->values[node->in[i]].type;
        same = same && tern__type_equal(c.was[i], c.is[i]);
    }
    for (uint32_t i = 0; i < node->n_out; i++)
        types[i] = g->values[node->out + i].type;
    if (same)
        return tern__graph_clone_node(g, n, node->attrs, types, to);
    tern__attr attrs[TERN__MAX_ATTRS];
    for (int i = 0; i < op->n_attrs; i++)
        attrs[i] = node->attrs[i];
    TERN_TRY(change_attrs(&c, attrs));
    TERN_TRY(infer(&c, attrs, types));
    return tern__graph_clone_node(g, n, attrs, types, to);
}

tern_status tern__graph_rebatch(const tern_graph *g, const bool *batched, int64_t size, tern_graph *to)
{
    to->name = tern__arena_strndup(&to->arena, g->name, strlen(g->name));
    if (!to->name)
        return tern__out_of_memory(strlen(g->name));
    TERN_TRY(tern__graph_reserve(to, g->n_nodes, g->n_values));
    for (tern__id n = 0; n < g->n_nodes; n++) {
        const uint32_t leaf = g->nodes[n].leaf;
        tern_status status =
            leaf == TERN__NO_ID ? add_node(g, n, to) : add_leaf(g, n, batched[leaf], size, to);
        if (status == TERN_OUT_OF_MEMORY)
            return status;
        if (status != TERN_OK)
            return tern__graph_blame(g, n, status);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        TERN_TRY(tern__graph_add_output(to, g->outputs[i].value, g->outputs[i].name));
    return TERN_OK;
}

/* ---- a size like no other ---- */

static bool is_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return true;
}

static bool divides_a_size(const tern_graph *g, int64_t n)
{
    for (uint32_t v = 0; v < g->n_values; v++)
        for (int i = 0; i < g->values[v].type.rank; i++)
            if (g->values[v].type.shape[i] > 0 && g->values[v].type.shape[i] % n == 0)
                return true;
    return false;
}

int64_t tern__graph_probe_size(const tern_graph *g, int64_t least)
{
    int64_t n = least < 10 ? 11 : least + 1;
    while (!is_prime(n) || divides_a_size(g, n))
        n++;
    return n;
}
