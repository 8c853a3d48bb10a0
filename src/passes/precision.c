/* precision.c - where it was asked for, f32 values between steps are stored as bf16 or f16: half the bytes.
 *
 * Products, attention and whatever else no row program can take read and write the small type; their kernels sum in
 * f32. Constants that they read (weights) are rounded once, here. What works row by row goes on in f32: a value that is
 * read on the far side of a product is rounded when it is made and widened by each reader, and vertical fusion then takes
 * these casts into the regions on both sides. So every value is rounded at most once, where it is stored. Outputs, states,
 * integers and single numbers keep their types, and so does a product of inputs that are larger than its result. Below medium there is no
 * fusion, and casts would take more than they save: there it is refused (options.c). */
#include "base/status.h"
#include "graph/call.h"
#include "graph/region.h"
#include "passes/rewrite.h"

tern_status tern__pass_precision(tern__compilation *c);

enum { MOST_IN = TERN__MAX_INPUTS_FIXED };

typedef struct narrower {
    tern__compilation *c;
    tern__rewrite w;
    tern_dtype small;
    tern__id *stored; /* (old values) the new value of the small type, or TERN__NO_ID */
    uint32_t *passed; /* (old nodes) how many nodes that store the small type stand before */
} narrower;

static bool is_f32(const tern_graph *g, tern__id value)
{
    return g->values[value].type.dtype == TERN_F32;
}

/* Inputs and states are stored by others: reading them as the small type takes a rounded copy, which must not be larger than what
 * it is for. */
static bool copies_more_than_it_saves(const tern_graph *g, const tern__gnode *node)
{
    for (uint32_t i = 0; i < node->n_in; i++) {
        const tern__id base = tern__graph_view_base(g, node->in[i]);
        const uint32_t leaf = g->nodes[g->values[base].node].leaf;
        if (leaf != TERN__NO_ID && is_f32(g, node->in[i]) && !tern__constant_of(g, base) &&
            tern__type_bytes(&g->values[node->in[i]].type) > tern__type_bytes(&g->values[node->out].type))
            return true;
    }
    return false;
}

/* One number saves nothing, and scatter_add adds in the type that it has. */
static bool is_better_full(const tern_graph *g, const tern__gnode *node)
{
    return node->op == TERN__OP_scatter_add || tern__type_numel(&g->values[node->out].type) == 1;
}

/* Can the node read and write the small type wherever it has f32 now, and is it not one that regions take? */
static bool stores_small(const narrower *s, const tern__gnode *node)
{
    const tern_graph *g = s->w.from;
    const tern__op *op = &tern__ops[node->op];
    if (node->n_in == 0 || !tern__call_fits(node) || (op->flags & (TERN__LEAF | TERN__VIEW | TERN__WRITES)) ||
        !is_f32(g, node->out) || is_better_full(g, node) || copies_more_than_it_saves(g, node))
        return false;
    tern__call_room room;
    tern__type small[MOST_IN];
    tern__call call = tern__small_call(g, node, &room);
    if (tern__row_role_of(&call) != TERN__ROW_ROLE_NONE)
        return false;
    bool any = false;
    for (uint32_t i = 0; i < node->n_in; i++) {
        small[i] = *room.in[i];
        if (small[i].dtype == TERN_F32)
            small[i].dtype = s->small;
        any |= small[i].dtype == s->small;
        room.in[i] = &small[i];
    }
    tern_dtype operands[MOST_IN];
    if (!any || tern__op_infer(&call, operands) != TERN_OK)
        return false;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (operands[i] != small[i].dtype)
            return false;
    return room.out[0].dtype == s->small;
}

static tern_status cast(narrower *s, tern__id value, tern_dtype dtype, tern__id *out)
{
    tern__attr to = {.i = dtype};
    return tern__rewrite_emit(&s->w, TERN__OP_cast, 1, &value, &to, out);
}

/* A constant of the small type in the place of an f32 one. */
static tern_status round_constant(narrower *s, const tern__leaf *leaf, tern__id old, tern__id *out)
{
    const tern__type *from = &s->w.from->values[old].type;
    tern__type to = *from;
    to.dtype = s->small;
    tern__attr attr = {.i = s->small};
    tern__call call = {
        .op = &tern__ops[TERN__OP_cast], .n_in = 1, .n_out = 1, .in = &from, .attrs = &attr, .out = &to};
    tern__storage *storage = NULL;
    TERN_TRY(tern__evaluate(s->c, &call, &leaf, &storage));
    tern__layout layout;
    tern__layout_contiguous(&to, &layout);
    tern_status status = tern__rewrite_emit_constant(
        &s->w, s->w.from->nodes[leaf->node].attrs[TERN__ATTR_constant_name].text, &to, storage, &layout, out);
    tern__storage_release(storage);
    char value[TERN__VALUE_TEXT];
    tern__note(s->c, "constant %s, which products read, is rounded to %s",
               tern__value_text(s->c, s->w.from, old, value), tern_dtype_name(s->small));
    return status;
}

/* Is the value another of another shape, and no constant? */
static bool is_reshaped(const tern_graph *g, tern__id value)
{
    return g->nodes[g->values[value].node].op == TERN__OP_reshape && !tern__constant_of(g, value);
}

static tern_status small_value(narrower *s, tern__id old, tern__id *out);

/* A reshaped value is stored as what it was made of, which others may read as well. */
static tern_status small_reshaped(narrower *s, tern__id old)
{
    const tern_graph *g = s->w.from;
    tern__id whole = old, small; /* of several in a row only the last shape counts */
    while (s->stored[whole] == TERN__NO_ID && is_reshaped(g, whole))
        whole = g->nodes[g->values[whole].node].in[0];
    TERN_TRY(small_value(s, whole, &small));
    return tern__rewrite_emit(&s->w, TERN__OP_reshape, 1, &small, g->nodes[g->values[old].node].attrs,
                              &s->stored[old]);
}

/* The value as it is stored: rounded once, whoever reads it, in whatever shape. */
static tern_status small_value(narrower *s, tern__id old, tern__id *out)
{
    if (s->stored[old] == TERN__NO_ID && is_reshaped(s->w.from, old))
        TERN_TRY(small_reshaped(s, old));
    if (s->stored[old] == TERN__NO_ID) {
        const tern__leaf *leaf = tern__constant_of(s->w.from, old);
        tern_status status = leaf ? round_constant(s, leaf, old, &s->stored[old]) : TERN_UNSUPPORTED;
        if (status == TERN_UNSUPPORTED)
            status = cast(s, s->w.map[old], s->small, &s->stored[old]);
        TERN_TRY(status);
    }
    *out = s->stored[old];
    return TERN_OK;
}

/* The value in f32, for a reader that stands at node n: as it was made if that is near, else widened from storage. Each
 * reader widens for itself, so that nothing between steps is f32. */
static tern_status full_value(narrower *s, tern__id old, tern__id n, tern__id *out)
{
    const tern_graph *g = s->w.from;
    tern__id maker = g->values[old].node;
    bool leaf = tern__ops[g->nodes[maker].op].flags & TERN__LEAF;
    bool near = s->w.map[old] != TERN__NO_ID && (leaf || s->passed[n] == s->passed[maker]);
    if (near || !is_f32(g, old)) {
        *out = s->w.map[old];
        return TERN_OK;
    }
    tern__id small;
    TERN_TRY(small_value(s, old, &small));
    return cast(s, small, TERN_F32, out);
}

static tern_status emit_small(narrower *s, const tern__gnode *node)
{
    const tern_graph *g = s->w.from;
    tern__id in[MOST_IN], first;
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (is_f32(g, node->in[i]))
            TERN_TRY(small_value(s, node->in[i], &in[i]));
        else
            in[i] = s->w.map[node->in[i]];
    }
    TERN_TRY(tern__rewrite_emit(&s->w, node->op, node->n_in, in, node->attrs, &first));
    for (uint32_t i = 0; i < node->n_out; i++)
        *(is_f32(g, node->out + i) ? &s->stored[node->out + i] : &s->w.map[node->out + i]) = first + i;
    s->c->changes++;
    char value[TERN__VALUE_TEXT];
    tern__note(s->c, "%s, %s, is stored as %s", tern__value_text(s->c, g, node->out, value),
               tern__ops[node->op].name, tern_dtype_name(s->small));
    return TERN_OK;
}

/* A view of what is stored small is a view of that. */
static bool views_small(const narrower *s, const tern__gnode *node)
{
    return (tern__ops[node->op].flags & TERN__VIEW) && s->stored[node->in[0]] != TERN__NO_ID &&
           s->w.map[node->in[0]] == TERN__NO_ID;
}

static tern_status emit_full(narrower *s, tern__id n)
{
    const tern__gnode *node = &s->w.from->nodes[n];
    tern__id in[MOST_IN], first;
    bool same = node->n_in <= MOST_IN;
    for (uint32_t i = 0; i < node->n_in; i++) {
        tern__id full;
        TERN_TRY(full_value(s, node->in[i], n, &full));
        same &= full == s->w.map[node->in[i]];
        if (s->w.map[node->in[i]] == TERN__NO_ID && node->n_in > MOST_IN)
            s->w.map[node->in[i]] = full; /* concat of many: its operands are shared */
        else if (i < MOST_IN)
            in[i] = full;
    }
    if (same || node->n_in > MOST_IN || node->n_in == 0)
        return tern__rewrite_copy(&s->w, n);
    if (node->n_out == 1)
        return tern__rewrite_become(&s->w, n, node->op, node->n_in, in, node->attrs);
    TERN_TRY(tern__rewrite_emit(&s->w, node->op, node->n_in, in, node->attrs, &first));
    for (uint32_t i = 0; i < node->n_out; i++)
        s->w.map[node->out + i] = first + i;
    return TERN_OK;
}

static tern_status narrow_node(narrower *s, tern__id n)
{
    const tern__gnode *node = &s->w.from->nodes[n];
    s->w.origin = node->origin;
    if (stores_small(s, node))
        return emit_small(s, node);
    if (views_small(s, node))
        return tern__rewrite_emit(&s->w, node->op, 1, &s->stored[node->in[0]], node->attrs,
                                  &s->stored[node->out]);
    return emit_full(s, n);
}

/* Outputs have the type that they had. */
static tern_status widen_outputs(narrower *s)
{
    for (uint32_t i = 0; i < s->w.from->n_outputs; i++) {
        tern__id value = s->w.from->outputs[i].value;
        if (s->w.map[value] == TERN__NO_ID)
            TERN_TRY(cast(s, s->stored[value], TERN_F32, &s->w.map[value]));
    }
    return TERN_OK;
}

tern_status tern__pass_precision(tern__compilation *c)
{
    if (c->options.precision == TERN_PRECISION_EXACT)
        return TERN_OK;
    narrower s = {.c = c, .small = c->options.precision == TERN_PRECISION_BF16 ? TERN_BF16 : TERN_F16};
    uint32_t n_nodes = c->graph->n_nodes, n_values = c->graph->n_values, removed;
    s.stored = tern__arena_alloc(c->arena, n_values * sizeof *s.stored);
    s.passed = tern__arena_alloc(c->arena, n_nodes * sizeof *s.passed);
    if (!s.stored || !s.passed)
        return tern__out_of_memory(n_values * sizeof *s.stored);
    for (uint32_t i = 0; i < n_values; i++)
        s.stored[i] = TERN__NO_ID;
    TERN_TRY(tern__rewrite_begin(c, &s.w));
    uint32_t passed = 0;
    for (tern__id n = 0; n < n_nodes; n++) {
        s.passed[n] = passed;
        passed += stores_small(&s, &s.w.from->nodes[n]);
    }
    for (tern__id n = 0; n < n_nodes; n++)
        TERN_TRY(narrow_node(&s, n));
    TERN_TRY(widen_outputs(&s));
    TERN_TRY(tern__rewrite_end(&s.w));
    return tern__remove_dead(c, false, &removed);
}
