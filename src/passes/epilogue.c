/* epilogue.c - products hand their results on: where one elementwise node or fused region is all that reads the result of a
 * matrix product, both become one region with the product as its first op (region.h). The result is then computed tile by
 * tile, and what reads it does so while a tile is in the cache.
 *
 * The product moves to where its reader is. What it reads must still be there: products of memory that is overwritten
 * stay. Whether there is a kernel that can do it, only the target knows: it is asked to choose one. */
#include <string.h>

#include "base/status.h"
#include "graph/call.h"
#include "graph/region.h"
#include "passes/rewrite.h"

tern_status tern__pass_epilogue(tern__compilation *c);

typedef struct search {
    tern__compilation *c;
    const tern_graph *g;
    uint32_t *uses; /* (n_values) */
    uint8_t *holds; /* (n_values), or NULL: nothing is overwritten */
} search;

/* A region with product, and what it reads. */
typedef struct attempt {
    tern__region_draft draft;
    tern__id inputs[TERN__REGION_MAX_INPUTS];
} attempt;

/* ---- which ---- */

/* Operand i of the reader, if it is a product that nobody else reads; else NULL. */
static const tern__gnode *product_at(const search *s, const tern__gnode *reader, uint32_t i)
{
    const tern_graph *g = s->g;
    const tern__id value = reader->in[i];
    const tern__gnode *product = &g->nodes[g->values[value].node];
    uint32_t reads = 0;
    if (!tern__op_is_product(product->op) || tern__type_numel(&g->values[value].type) < 2)
        return NULL;
    for (uint32_t k = 0; k < reader->n_in; k++)
        reads += reader->in[k] == value;
    if (s->uses[value] != reads)
        return NULL;
    for (uint32_t k = 0; s->holds && k < product->n_in; k++)
        if (s->holds[product->in[k]] & TERN__HELD_WRITTEN)
            return NULL;
    return product;
}

/* Does the node map elements, and nothing else? Regions are checked when they are made. */
static bool is_reader(const search *s, const tern__gnode *node)
{
    if (node->op == TERN__OP_fused)
        return !tern__region_has_product(node->attrs[TERN__ATTR_fused_body].region);
    return (tern__ops[node->op].flags & TERN__ELEMENTWISE) && tern__call_fits(node) &&
           node->leaf == TERN__NO_ID && s->c->target->fuses;
}

/* ---- the new region ---- */

static bool add_input(const search *s, attempt *a, tern__id value, uint16_t *number)
{
    for (uint16_t i = 0; i < a->draft.region.n_in; i++)
        if (a->inputs[i] == value) {
            *number = i;
            return true;
        }
    if (!tern__region_add_input(&a->draft, &s->g->values[value].type, number))
        return false;
    a->inputs[*number] = value;
    return true;
}

static bool add_node(const search *s, attempt *a, const tern__gnode *node, const uint16_t *in,
                     uint16_t *first)
{
    tern__type types[TERN__MAX_RESULTS_FIXED];
    for (uint32_t i = 0; i < node->n_out; i++)
        types[i] = s->g->values[node->out + i].type;
    return tern__region_add_op(&a->draft, node->op, (int)node->n_in, in, node->attrs, (int)node->n_out, types,
                               first);
}

/* `numbers` are those of the reader's operands in the new region. */
static bool add_region(attempt *a, const tern__region *r, const uint16_t *numbers)
{
    uint16_t map[TERN__REGION_MAX_VALUES], in[TERN__MAX_INPUTS_FIXED], first;
    memcpy(map, numbers, r->n_in * sizeof *map);
    for (int i = 0; i < r->n_ops; i++) {
        const tern__region_op *op = &r->ops[i];
        for (int k = 0; k < op->n_in; k++)
            in[k] = map[op->in[k]];
        if (!tern__region_add_op(&a->draft, op->op, op->n_in, in, op->attrs, op->n_out, &r->types[op->out],
                                 &first))
            return false;
        for (int k = 0; k < op->n_out; k++)
            map[op->out + k] = (uint16_t)(first + k);
    }
    for (int i = 0; i < r->n_out; i++)
        if (!tern__region_add_output(&a->draft, map[r->out[i]]))
            return false;
    return true;
}

static bool is_number(const tern_graph *g, const tern__gnode *node)
{
    const tern__type *type = &g->values[node->out].type;
    return node->op == TERN__OP_full && type->dtype == TERN_F32 && tern__type_numel(type) == 1;
}

/* A node by itself is a region of one op; numbers that are written in the graph become part of it. */
static bool add_single(const search *s, attempt *a, const tern__gnode *reader, uint16_t *numbers)
{
    uint16_t first;
    for (uint32_t i = 0; i < reader->n_in; i++) {
        const tern__gnode *maker = &s->g->nodes[s->g->values[reader->in[i]].node];
        if (is_number(s->g, maker) && !add_node(s, a, maker, numbers, &numbers[i]))
            return false;
    }
    if (!add_node(s, a, reader, numbers, &first))
        return false;
    for (uint32_t i = 0; i < reader->n_out; i++)
        if (!tern__region_add_output(&a->draft, (uint16_t)(first + i)))
            return false;
    return true;
}

static bool draft(const search *s, const tern__gnode *product, const tern__gnode *reader, attempt *a)
{
    const tern_graph *g = s->g;
    const bool single = reader->op != TERN__OP_fused;
    uint16_t in[TERN__MAX_INPUTS_FIXED], numbers[TERN__REGION_MAX_INPUTS] = {0}, y;
    tern__region_begin(&a->draft, &g->values[product->out].type);
    for (uint32_t i = 0; i < product->n_in; i++)
        if (!add_input(s, a, product->in[i], &in[i]))
            return false;
    for (uint32_t i = 0; i < reader->n_in; i++) {
        const tern__gnode *maker = &g->nodes[g->values[reader->in[i]].node];
        if (maker != product && !(single && is_number(g, maker)) &&
            !add_input(s, a, reader->in[i], &numbers[i]))
            return false;
    }
    if (!add_node(s, a, product, in, &y))
        return false;
    for (uint32_t i = 0; i < reader->n_in; i++)
        if (reader->in[i] == product->out)
            numbers[i] = y;
    return single ? add_single(s, a, reader, numbers)
                  : add_region(a, reader->attrs[TERN__ATTR_fused_body].region, numbers);
}

/* Is it a region, and one that the target can run? */
static tern_status check(const search *s, const attempt *a, bool *right)
{
    const tern__region *r = &a->draft.region;
    const tern__type *in[TERN__REGION_MAX_INPUTS];
    tern__type out[TERN__REGION_MAX_OUTPUTS];
    tern__attr body = {.region = r};
    tern__choice choice;
    for (int i = 0; i < r->n_in; i++)
        in[i] = &a->draft.types[i];
    for (int i = 0; i < r->n_out; i++)
        out[i] = r->types[r->out[i]];
    const tern__call call = {.op = &tern__ops[TERN__OP_fused],
                             .n_in = r->n_in,
                             .n_out = r->n_out,
                             .in = in,
                             .attrs = &body,
                             .out = out};
    tern_status status = tern__region_check(r, r->n_in, in);
    if (status == TERN_OK)
        status = s->c->target->choose(s->c->target, &call, NULL, s->c->arena, &choice);
    *right = status == TERN_OK;
    return status == TERN_OUT_OF_MEMORY ? status : TERN_OK;
}

/* The product that goes into the reader's region, with that region; NULL: none. */
static tern_status find(const search *s, const tern__gnode *reader, attempt *a, const tern__gnode **out)
{
    *out = NULL;
    for (uint32_t i = 0; !*out && i < reader->n_in && is_reader(s, reader); i++) {
        const tern__gnode *product = product_at(s, reader, i);
        bool right = false;
        if (product && draft(s, product, reader, a))
            TERN_TRY(check(s, a, &right));
        *out = right ? product : NULL;
    }
    return TERN_OK;
}

/* ---- writing the new graph ---- */

static void describe(const search *s, const tern__gnode *product, tern__id reader)
{
    const tern_graph *g = s->g;
    const tern__gnode *node = &g->nodes[reader];
    const double bytes = (double)tern__type_bytes(&g->values[product->out].type);
    double before = 2 * bytes; /* the product's result, written and read */
    char from[TERN__VALUE_TEXT], to[TERN__VALUE_TEXT];
    if (!s->c->log)
        return;
    for (uint32_t i = 0; i < product->n_in; i++)
        before += (double)tern__type_bytes(&g->values[product->in[i]].type);
    for (uint32_t i = 0; i < node->n_in; i++)
        before += node->in[i] == product->out ? 0 : (double)tern__type_bytes(&g->values[node->in[i]].type);
    for (uint32_t i = 0; i < node->n_out; i++)
        before += (double)tern__type_bytes(&g->values[node->out + i].type);
    const tern__id both[2] = {g->values[product->out].node, reader};
    tern__log_fusion(s->c, "epilogue", g, 2, both, before, before - 2 * bytes);
    tern__note(s->c, "%s hands its result to %s tile by tile, which alone reads it: %.1f KiB of traffic less",
               tern__value_text(s->c, g, product->out, from), tern__value_text(s->c, g, node->out, to),
               2 * bytes / 1024);
}

static tern_status emit(const search *s, tern__rewrite *w, const tern__gnode *product, tern__id n,
                        const attempt *a)
{
    const tern__gnode *reader = &s->g->nodes[n];
    const tern__id from[] = {s->g->values[product->out].node, n};
    const tern__region *r = &a->draft.region;
    tern__id in[TERN__REGION_MAX_INPUTS], first;
    tern__type out[TERN__REGION_MAX_OUTPUTS];
    tern__attr body = {.region = r};
    for (int i = 0; i < r->n_in; i++)
        in[i] = w->map[a->inputs[i]];
    for (int i = 0; i < r->n_out; i++)
        out[i] = r->types[r->out[i]];
    TERN_TRY(tern__graph_add(w->to, TERN__OP_fused, r->n_in, in, &body, r->n_out, out, &first));
    w->to->nodes[w->to->n_nodes - 1].origin = tern__origin_of(s->g, 2, from);
    for (tern__id i = 0; i < r->n_out; i++) {
        const char *name = s->g->values[reader->out + i].name;
        w->map[reader->out + i] = first + i;
        if (name && !(w->to->values[first + i].name = tern__arena_strndup(&w->to->arena, name, strlen(name))))
            return tern__out_of_memory(strlen(name));
    }
    return TERN_OK;
}

static tern_status rewrite(const search *s)
{
    tern__rewrite w;
    attempt a;
    uint32_t removed;
    TERN_TRY(tern__rewrite_begin(s->c, &w));
    for (tern__id n = 0; n < s->g->n_nodes; n++) {
        const tern__gnode *reader = &s->g->nodes[n], *product;
        TERN_TRY(find(s, reader, &a, &product));
        if (!product) {
            TERN_TRY(tern__rewrite_copy(&w, n));
            continue;
        }
        describe(s, product, n);
        s->c->changes++;
        TERN_TRY(emit(s, &w, product, n, &a));
    }
    TERN_TRY(tern__rewrite_end(&w));
    return s->c->changes ? tern__remove_dead(s->c, false, &removed) : TERN_OK; /* the products themselves */
}

tern_status tern__pass_epilogue(tern__compilation *c)
{
    search s = {.c = c, .g = c->graph};
    bool any = false;
    TERN_TRY(tern__count_uses(c, s.g, &s.uses));
    if (s.g->n_writes > 0)
        TERN_TRY(tern__find_holds(c, s.g, &s.holds));
    for (tern__id n = 0; n < s.g->n_nodes && !any; n++)
        for (uint32_t i = 0; i < s.g->nodes[n].n_in && is_reader(&s, &s.g->nodes[n]); i++)
            any = any || product_at(&s, &s.g->nodes[n], i);
    return any ? rewrite(&s) : TERN_OK;
}
