/* specialise.c - what shapes and types make unnecessary.
 *
 *   matmul of a transpose          the flag of the product says it; the view goes
 *   op of a broadcast              ops that broadcast by themselves read the small operand
 *   unary op of a broadcast        is computed on the small operand and broadcast afterwards
 *   split                          parts are views of the whole, unless somebody keeps or writes them
 *   reshape of permuted elements   where no view can be that, they are put in order first, by the kernel that does nothing else
 *
 * That a product has one row or one column is plain from its shape: choosing the vector kernel is left to kernel
 * selection, which sees it. */
#include <string.h>

#include "base/status.h"
#include "passes/rewrite.h"

tern_status tern__pass_specialise(tern__compilation *c);

enum { MOST = 4 }; /* operands of ops that are looked at */

/* A node with other operands and, for a product, other flags. */
typedef struct special {
    tern__id in[MOST];
    tern__attr attrs[2];
    bool transposed, widened; /* what was done */
} special;

static const tern__gnode *producer(const tern_graph *g, tern__id value)
{
    return &g->nodes[g->values[value].node];
}

/* ---- transposes ---- */

static bool swaps_last_two(const tern__gnode *node)
{
    if (node->op != TERN__OP_permute || node->attrs[TERN__ATTR_permute_axes].count < 2)
        return false;
    int64_t rank = node->attrs[TERN__ATTR_permute_axes].count;
    for (int64_t i = 0; i < rank; i++) {
        int64_t axis = node->attrs[TERN__ATTR_permute_axes].ints[i], want = i == rank - 1   ? rank - 2
                                                                            : i == rank - 2 ? rank - 1
                                                                                            : i;
        if (axis != want && axis + rank != want)
            return false;
    }
    return true;
}

static void fold_transposes(const tern_graph *g, special *s)
{
    for (int i = 0; i < 2; i++)
        while (swaps_last_two(producer(g, s->in[i]))) {
            s->in[i] = producer(g, s->in[i])->in[0];
            s->attrs[i].i = !s->attrs[i].i;
            s->transposed = true;
        }
}

/* ---- broadcasts ---- */

/* Do the operands broadcast to `type` by themselves? */
static bool broadcasts_to(const tern_graph *g, uint32_t n_in, const tern__id *in, const tern__type *type)
{
    tern__type shape = {.dtype = type->dtype};
    for (uint32_t i = 0; i < n_in; i++)
        if (!tern__shape_broadcast(&shape, &g->values[in[i]].type, &shape))
            return false;
    return tern__shape_equal(&shape, type);
}

/* The two last axes of a product's operand are no business of broadcasting; the leading ones are. */
static bool product_reads(const tern_graph *g, const tern__id *in, uint32_t i, const tern__type *type)
{
    const tern__type *wide = &g->values[in[i]].type, *small = &g->values[producer(g, in[i])->in[0]].type;
    const tern__type *other = &g->values[in[1 - i]].type;
    if (small->rank < 2 || other->rank < 2 || small->shape[small->rank - 1] != wide->shape[wide->rank - 1] ||
        small->shape[small->rank - 2] != wide->shape[wide->rank - 2])
        return false;
    tern__type a = *small, b = *other, lead, want = *type;
    a.rank -= 2;
    b.rank -= 2;
    want.rank -= 2;
    return tern__shape_broadcast(&a, &b, &lead) && tern__shape_equal(&lead, &want);
}

/* May operand i, a broadcast, be read as it was before? */
static bool reads_small(const tern_graph *g, tern__opcode op, uint32_t n_in, const tern__id *in, uint32_t i,
                        const tern__type *type)
{
    tern__id without[MOST];
    if (op == TERN__OP_matmul)
        return product_reads(g, in, i, type);
    memcpy(without, in, n_in * sizeof *in);
    without[i] = producer(g, in[i])->in[0];
    if (op == TERN__OP_overwrite || op == TERN__OP_quantise || op == TERN__OP_dequantise)
        return i == 1; /* it broadcasts to operand 0 */
    return broadcasts_to(g, n_in, without, type);
}

/* Does the op broadcast its operands? */
static bool widens(tern__opcode op)
{
    const tern__op *row = &tern__ops[op];
    return (row->flags & TERN__ELEMENTWISE && row->min_in >= 2) || op == TERN__OP_overwrite ||
           op == TERN__OP_matmul;
}

static void drop_broadcasts(const tern_graph *g, tern__opcode op, uint32_t n_in, const tern__type *type,
                            special *s)
{
    for (uint32_t i = 0; i < n_in; i++)
        while (producer(g, s->in[i])->op == TERN__OP_broadcast && reads_small(g, op, n_in, s->in, i, type)) {
            s->in[i] = producer(g, s->in[i])->in[0];
            s->widened = true;
        }
}

/* What becomes of a node with operands `in` of `g`; false: it stays. */
static bool specialise(const tern_graph *g, const tern__gnode *node, const tern__id *in,
                       const tern__type *type, special *s)
{
    if (node->n_in > MOST || !widens(node->op))
        return false;
    s->transposed = s->widened = false;
    memcpy(s->in, in, node->n_in * sizeof *in);
    if (node->op == TERN__OP_matmul) {
        memcpy(s->attrs, node->attrs, sizeof s->attrs);
        fold_transposes(g, s);
    }
    drop_broadcasts(g, node->op, node->n_in, type, s);
    return s->transposed || s->widened;
}

/* op(broadcast(x)) where x is smaller: the op may come first. */
static bool comes_first(const tern_graph *g, const tern__gnode *node, const tern__id *in,
                        const tern__type *type)
{
    if (!(tern__ops[node->op].flags & TERN__ELEMENTWISE) || node->n_in != 1 ||
        tern__dtype_is_packed(type->dtype) || producer(g, in[0])->op != TERN__OP_broadcast)
        return false;
    const tern__type *small = &g->values[producer(g, in[0])->in[0]].type;
    return !tern__dtype_is_packed(small->dtype) && tern__type_numel(small) < tern__type_numel(type);
}

/* reshape(permute(x)) that has to copy: which x tells that is dense in memory. */
static bool has_to_copy(const tern_graph *g, const tern__gnode *node, tern__id in, const tern__type *type)
{
    const tern__gnode *permute = producer(g, in);
    if (node->op != TERN__OP_reshape || permute->op != TERN__OP_permute)
        return false;
    const tern__gnode *base = producer(g, permute->in[0]);
    const tern__type *x = &g->values[permute->in[0]].type, *turned = &g->values[in].type;
    tern__layout dense, view, none;
    if (base->leaf != TERN__NO_ID || (tern__ops[base->op].flags & (TERN__VIEW | TERN__WRITES)) ||
        tern__dtype_is_packed(x->dtype))
        return false;
    tern__layout_contiguous(x, &dense);
    return tern__op_view(&tern__ops[permute->op], permute->attrs, x, &dense, turned, &view) &&
           !tern__op_view(&tern__ops[node->op], node->attrs, turned, &view, type, &none);
}

/* ---- the pass ---- */

typedef struct specialiser {
    tern__compilation *c;
    tern__rewrite w;
} specialiser;

static tern_status op_then_broadcast(specialiser *s, tern__id n, tern__id wide)
{
    const tern__gnode *node = &s->w.from->nodes[n];
    const tern__type type = s->w.from->values[node->out].type;
    char value[TERN__VALUE_TEXT];
    int64_t shape[TERN__MAX_RANK];
    tern__id small = producer(s->w.to, wide)->in[0];
    memcpy(shape, type.shape, sizeof shape);
    tern__attr to = {.ints = shape, .count = (uint32_t)type.rank};
    TERN_TRY(tern__rewrite_emit(&s->w, node->op, 1, &small, node->attrs, &small));
    s->c->changes++;
    tern__note(s->c, "%s is computed before it is broadcast: fewer elements",
               tern__value_text(s->c, s->w.from, node->out, value));
    return tern__rewrite_become(&s->w, n, TERN__OP_broadcast, 1, &small, &to);
}

static bool is_held(const specialiser *s, const tern__gnode *node)
{
    unsigned held = 0;
    for (uint32_t i = 0; i < node->n_out; i++)
        held |= s->w.holds[node->out + i];
    return held & (TERN__HELD_OUTPUT | TERN__HELD_WRITTEN);
}

static tern_status split_by_views(specialiser *s, tern__id n, tern__id x)
{
    const tern__gnode *node = &s->w.from->nodes[n];
    const tern__type from = s->w.to->values[x].type;
    int64_t start[TERN__MAX_RANK] = {0}, stop[TERN__MAX_RANK], step[TERN__MAX_RANK];
    char value[TERN__VALUE_TEXT];
    int axis = 0;
    tern__axis_normalise(node->attrs[TERN__ATTR_split_axis].i, from.rank,
                         &axis); /* inference has checked it */
    memcpy(stop, from.shape, sizeof stop);
    for (int i = 0; i < TERN__MAX_RANK; i++)
        step[i] = 1;
    tern__attr attrs[3] = {{.ints = start, .count = (uint32_t)from.rank},
                           {.ints = stop, .count = (uint32_t)from.rank},
                           {.ints = step, .count = (uint32_t)from.rank}};
    for (uint32_t i = 0; i < node->n_out; i++) {
        stop[axis] = start[axis] + node->attrs[TERN__ATTR_split_sizes].ints[i];
        TERN_TRY(tern__rewrite_emit(&s->w, TERN__OP_slice, 1, &x, attrs, &s->w.map[node->out + i]));
        start[axis] = stop[axis];
    }
    s->c->changes++;
    tern__note(s->c, "%s and the other parts are views of what was split: no copies",
               tern__value_text(s->c, s->w.from, node->out, value));
    return TERN_OK;
}

static tern_status order_then_reshape(specialiser *s, tern__id n, tern__id turned)
{
    const tern__gnode *node = &s->w.from->nodes[n];
    char value[TERN__VALUE_TEXT];
    TERN_TRY(tern__rewrite_emit(&s->w, TERN__OP_contiguous, 1, &turned, NULL, &turned));
    s->c->changes++;
    tern__note(s->c, "%s is a view of elements that are put in order first",
               tern__value_text(s->c, s->w.from, node->out, value));
    return tern__rewrite_become(&s->w, n, TERN__OP_reshape, 1, &turned, node->attrs);
}

static tern_status emit_special(specialiser *s, tern__id n, const special *as)
{
    const tern__gnode *node = &s->w.from->nodes[n];
    const char *why = as->transposed && as->widened
                          ? "reads its operands untransposed and as small as they are"
                      : as->transposed ? "has the transpose in its flags"
                                       : "broadcasts its operands itself";
    char value[TERN__VALUE_TEXT];
    s->c->changes++;
    tern__note(s->c, "%s, %s, %s", tern__value_text(s->c, s->w.from, node->out, value),
               tern__ops[node->op].name, why);
    const tern__attr *attrs = node->op == TERN__OP_matmul ? as->attrs : node->attrs;
    return tern__rewrite_become(&s->w, n, node->op, node->n_in, as->in, attrs);
}

static tern_status specialise_node(specialiser *s, tern__id n)
{
    const tern__gnode *node = &s->w.from->nodes[n];
    const tern__type *type = &s->w.from->values[node->out].type;
    tern__id in[MOST];
    special changed;
    s->w.origin = node->origin;
    if (node->n_in == 0 || node->n_in > MOST)
        return tern__rewrite_copy(&s->w, n);
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = s->w.map[node->in[i]];
    if (node->op == TERN__OP_split && !is_held(s, node) && !(s->w.held[in[0]] & TERN__HELD_WRITTEN))
        return split_by_views(s, n, in[0]);
    if (comes_first(s->w.to, node, in, type) && !is_held(s, node))
        return op_then_broadcast(s, n, in[0]);
    if (has_to_copy(s->w.to, node, in[0], type) && !is_held(s, node))
        return order_then_reshape(s, n, in[0]);
    if (specialise(s->w.to, node, in, type, &changed))
        return emit_special(s, n, &changed);
    return tern__rewrite_copy(&s->w, n);
}

static bool has_work(const tern_graph *g)
{
    tern__op_set present;
    special ignored;
    tern__ops_present(g, &present);
    if (!tern__op_in(&present, TERN__OP_permute) && !tern__op_in(&present, TERN__OP_broadcast) &&
        !tern__op_in(&present, TERN__OP_split))
        return false;
    for (tern__id n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        const tern__type *type = &g->values[node->out].type;
        if (node->n_in > 0 &&
            (node->op == TERN__OP_split || comes_first(g, node, node->in, type) ||
             has_to_copy(g, node, node->in[0], type) || specialise(g, node, node->in, type, &ignored)))
            return true;
    }
    return false;
}

tern_status tern__pass_specialise(tern__compilation *c)
{
    if (!has_work(c->graph))
        return TERN_OK;
    specialiser s = {.c = c};
    uint32_t removed;
    TERN_TRY(tern__rewrite_begin_held(c, &s.w));
    for (tern__id n = 0; n < s.w.from->n_nodes; n++)
        TERN_TRY(specialise_node(&s, n));
    TERN_TRY(tern__rewrite_end(&s.w));
    return c->changes ? tern__remove_dead(c, false, &removed) : TERN_OK;
}
