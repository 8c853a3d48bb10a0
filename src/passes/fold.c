/* fold.c - constant folding: what depends on constants alone is computed once, now, by the machine that
 * would have computed it at every run.
 *
 * Only constants with data count, not inputs that happen to be there. Sources (full, arange, rand, ...)
 * cost little to make again: they are folded together with a constant that they meet, and by themselves at level high
 * only, whose programs run often; and only while they are small. A note counts those that are left to the runs. Nothing is stored that is larger than the constants it was made of by
 * more than GROWTH. Views of constants become constants that share their storage; broadcasts stay views.
 * An output that turns out to be constant is copied from one at every run, because it belongs to whoever
 * asked for it. */
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "passes/rewrite.h"

tern_status tern__pass_fold(tern__compilation *c);

static const size_t GROWTH = 1 << 20;        /* bytes */
static const size_t SMALL_SOURCE = 64 << 10; /* bytes */
enum { MOST = 16 };                          /* operands or results of a node that is folded */

/* ---- which nodes ---- */

/* The constant that a value is, or is a broadcast of. */
static const tern__leaf *constant_behind(const tern_graph *g, tern__id value)
{
    while (g->nodes[g->values[value].node].op == TERN__OP_broadcast)
        value = g->nodes[g->values[value].node].in[0];
    return tern__constant_of(g, value);
}

static bool is_small_source(const tern_graph *g, tern__id value)
{
    const tern__gnode *node = &g->nodes[g->values[value].node];
    return (tern__ops[node->op].flags & TERN__SOURCE) &&
           tern__type_bytes(&g->values[value].type) <= SMALL_SOURCE;
}

/* A source by itself. `full` says more as it is, and takes no memory as part of a fused step: it is kept as long as what
 * reads it can see that a constant is as uniform. */
static bool is_worth_keeping(const tern__gnode *node, const tern__type *type)
{
    int64_t n = tern__type_numel(type);
    return n > 1 && tern__type_bytes(type) <= SMALL_SOURCE &&
           (node->op != TERN__OP_full || n <= TERN__UNIFORM_AT_MOST);
}

/* Does the node, whose operands are values of `g`, depend on constants alone? `types` are those of its
 * results. */
static bool is_foldable(const tern__compilation *c, const tern_graph *g, const tern__gnode *node,
                        const tern__id *in, const tern__value *results)
{
    if (tern__ops[node->op].flags & TERN__SOURCE)
        return c->options.level >= TERN_LEVEL_HIGH && is_worth_keeping(node, &results->type);
    if (!(tern__ops[node->op].flags & TERN__PURE) || node->n_in == 0 || node->n_in > MOST ||
        node->n_out > MOST || node->op == TERN__OP_broadcast)
        return false;
    size_t from = 0, to = 0;
    bool constants = false;
    for (uint32_t i = 0; i < node->n_in; i++) {
        const tern__leaf *leaf = constant_behind(g, in[i]);
        if (!leaf && (!is_small_source(g, in[i]) || (tern__ops[node->op].flags & TERN__VIEW)))
            return false;
        constants = constants || leaf;
        if (leaf && !tern__size_add(from, tern__type_bytes(&g->values[g->nodes[leaf->node].out].type), &from))
            return false;
    }
    for (uint32_t i = 0; i < node->n_out; i++)
        if (!tern__size_add(to, tern__type_bytes(&results[i].type), &to))
            return false;
    return (constants || c->options.level >= TERN_LEVEL_HIGH) && (to <= from || to - from <= GROWTH);
}

/* Is there anything to fold? Folding makes more of it, but it begins with a node like this. */
static bool has_work(const tern__compilation *c)
{
    const tern_graph *g = c->graph;
    tern__op_set present;
    tern__ops_present(g, &present);
    bool sources = false;
    for (int op = 0; op < TERN__OP_COUNT; op++)
        sources =
            sources || ((tern__ops[op].flags & TERN__SOURCE) && tern__op_in(&present, (tern__opcode)op));
    if (!tern__op_in(&present, TERN__OP_constant) && !(sources && c->options.level >= TERN_LEVEL_HIGH))
        return false;
    for (tern__id n = 0; n < g->n_nodes; n++)
        if (is_foldable(c, g, &g->nodes[n], g->nodes[n].in, &g->values[g->nodes[n].out]))
            return true;
    return false;
}

/* ---- folding one ---- */

typedef struct folder {
    tern__compilation *c;
    tern__rewrite w;
} folder;

/* A small source as a leaf, for the time of one evaluation. */
static tern_status make_source(folder *f, tern__id value, tern__leaf *leaf)
{
    const tern__gnode *node = &f->w.to->nodes[f->w.to->values[value].node];
    tern__type type = f->w.to->values[value].type;
    tern__call call = {.op = &tern__ops[node->op], .n_out = 1, .attrs = node->attrs, .out = &type};
    tern__layout_contiguous(&type, &leaf->layout);
    return tern__evaluate(f->c, &call, NULL, &leaf->storage);
}

/* The layout of a constant, or of a broadcast of it. */
static void broadcast_layout(const tern_graph *g, tern__id value, const tern__leaf *leaf, tern__layout *out)
{
    const tern__type *from = &g->values[g->nodes[leaf->node].out].type;
    *out = leaf->layout;
    if (g->nodes[leaf->node].out != value)
        tern__view_broadcast(from, &leaf->layout, &g->values[value].type, out);
}

/* Operands as leaves; those made for the occasion are marked. */
static tern_status gather_operands(folder *f, const tern__gnode *node, const tern__id *in, tern__leaf *leaves,
                                   bool *made)
{
    for (uint32_t i = 0; i < node->n_in; i++) {
        const tern__leaf *leaf = constant_behind(f->w.to, in[i]);
        leaves[i] = leaf ? *leaf : (tern__leaf){0};
        if (leaf) {
            broadcast_layout(f->w.to, in[i], leaf, &leaves[i].layout);
        } else {
            TERN_TRY(make_source(f, in[i], &leaves[i]));
            made[i] = true;
        }
    }
    return TERN_OK;
}

static tern_status evaluate(folder *f, const tern__gnode *node, const tern__id *in, tern__type *types,
                            tern__storage **storages)
{
    tern__leaf leaves[MOST];
    const tern__leaf *pointers[MOST];
    const tern__type *in_types[MOST];
    bool made[MOST] = {false};
    for (uint32_t i = 0; i < node->n_in; i++) {
        pointers[i] = &leaves[i];
        in_types[i] = &f->w.to->values[in[i]].type;
    }
    tern_status status = gather_operands(f, node, in, leaves, made);
    tern__call call = {.op = &tern__ops[node->op],
                       .n_in = (int)node->n_in,
                       .n_out = (int)node->n_out,
                       .in = in_types,
                       .attrs = node->attrs,
                       .out = types};
    if (status == TERN_OK)
        status = tern__evaluate(f->c, &call, pointers, storages);
    for (uint32_t i = 0; i < node->n_in; i++)
        if (made[i])
            tern__storage_release(leaves[i].storage);
    return status;
}

static void note(folder *f, tern__id n, const char *how)
{
    const tern__gnode *node = &f->w.from->nodes[n];
    char value[TERN__VALUE_TEXT], type[TERN__TYPE_TEXT];
    f->c->changes++;
    if (f->c->log)
        tern__note(f->c, "%s, %s, is a constant now: %s", tern__value_text(f->c, f->w.from, node->out, value),
                   tern__type_text(&f->w.from->values[node->out].type, type), how);
}

/* The constant goes by the name of what it was. */
static void keep_name(folder *f, tern__id old)
{
    f->w.to->values[f->w.map[old]].name = f->w.from->values[old].name;
}

/* A view that needs no copy: the same storage in another layout. */
static tern_status fold_view(folder *f, tern__id n, const tern__id *in, bool *done)
{
    const tern__gnode *node = &f->w.from->nodes[n];
    const tern__leaf *leaf = constant_behind(f->w.to, in[0]);
    const tern__type *type = &f->w.from->values[node->out].type;
    tern__layout from, layout;
    broadcast_layout(f->w.to, in[0], leaf, &from);
    *done =
        tern__op_view(&tern__ops[node->op], node->attrs, &f->w.to->values[in[0]].type, &from, type, &layout);
    if (!*done)
        return TERN_OK;
    note(f, n, "a view of one, which shares its data");
    TERN_TRY(tern__rewrite_emit_constant(&f->w, NULL, type, leaf->storage, &layout, &f->w.map[node->out]));
    keep_name(f, node->out);
    return TERN_OK;
}

/* Results in storages of their own. A buffer that somebody will write to, or keep, is a copy of the
 * constant. */
static tern_status emit_results(folder *f, tern__id n, const tern__type *types, tern__storage **storages)
{
    const tern__gnode *node = &f->w.from->nodes[n];
    for (uint32_t i = 0; i < node->n_out; i++) {
        tern__id old = node->out + i, *value = &f->w.map[old];
        TERN_TRY(tern__rewrite_emit_constant(&f->w, NULL, &types[i], storages[i], NULL, value));
        if (f->w.holds[old] & (TERN__HELD_OUTPUT | TERN__HELD_WRITTEN)) {
            TERN_TRY(tern__rewrite_emit(&f->w, TERN__OP_contiguous, 1, value, NULL, value));
            f->w.held[*value] |= f->w.holds[old];
        }
        keep_name(f, old);
    }
    return TERN_OK;
}

/* Copies of constants that are held are what folding would make of them, and a source is as good as a copy. */
static bool is_copy_that_stays(const folder *f, const tern__gnode *node)
{
    bool copies =
        node->op == TERN__OP_contiguous || (tern__ops[node->op].flags & (TERN__VIEW | TERN__SOURCE));
    return copies && (f->w.holds[node->out] & (TERN__HELD_OUTPUT | TERN__HELD_WRITTEN));
}

static tern_status fold_node(folder *f, tern__id n)
{
    const tern__gnode *node = &f->w.from->nodes[n];
    tern__id in[MOST];
    tern__type types[MOST];
    tern__storage *storages[MOST];
    bool done = false;
    f->w.origin = node->origin;
    for (uint32_t i = 0; i < node->n_in && i < MOST; i++)
        in[i] = f->w.map[node->in[i]];
    if (!is_foldable(f->c, f->w.to, node, in, &f->w.from->values[node->out]))
        return tern__rewrite_copy(&f->w, n);
    if (tern__ops[node->op].flags & TERN__VIEW)
        TERN_TRY(fold_view(f, n, in, &done));
    if (done)
        return TERN_OK;
    if (is_copy_that_stays(f, node))
        return tern__rewrite_copy(&f->w, n);
    for (uint32_t i = 0; i < node->n_out; i++)
        types[i] = f->w.from->values[node->out + i].type;
    tern_status status = evaluate(f, node, in, types, storages);
    if (status == TERN_UNSUPPORTED)
        return tern__rewrite_copy(&f->w, n);
    TERN_TRY(status);
    note(f, n, tern__ops[node->op].name);
    status = emit_results(f, n, types, storages);
    for (uint32_t i = 0; i < node->n_out; i++)
        tern__storage_release(storages[i]);
    return status;
}

/* What is made anew in every run though it is always the same, and why. */
static tern_status note_sources(tern__compilation *c)
{
    const tern_graph *g = c->graph;
    const bool high = c->options.level >= TERN_LEVEL_HIGH;
    uint32_t n_sources = 0, *uses;
    tern__id first = TERN__NO_ID;
    char value[TERN__VALUE_TEXT], type[TERN__TYPE_TEXT];
    TERN_TRY(tern__count_uses(c, g, &uses));
    for (tern__id n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        if (!(tern__ops[node->op].flags & TERN__SOURCE) || uses[node->out] == 0 ||
            tern__type_numel(&g->values[node->out].type) <= 1)
            continue;
        first = n_sources++ ? first : n;
    }
    if (n_sources == 0)
        return TERN_OK;
    const tern__gnode *node = &g->nodes[first];
    tern__note(c, "%s = %s, %s%s made in every run%s", tern__value_text(c, g, node->out, value),
               tern__ops[node->op].name, tern__type_text(&g->values[node->out].type, type),
               n_sources > 1 ? ", and other sources are" : ", is",
               high ? ": an output, or too large to be kept for that"
                    : ", with what depends on nothing else: level high makes small ones constants");
    return TERN_OK;
}

static tern_status fold(tern__compilation *c)
{
    folder f = {.c = c};
    TERN_TRY(tern__rewrite_begin_held(c, &f.w));
    for (tern__id n = 0; n < f.w.from->n_nodes; n++)
        TERN_TRY(fold_node(&f, n));
    return tern__rewrite_end(&f.w);
}

tern_status tern__pass_fold(tern__compilation *c)
{
    if (has_work(c))
        TERN_TRY(fold(c));
    return c->log ? note_sources(c) : TERN_OK;
}
