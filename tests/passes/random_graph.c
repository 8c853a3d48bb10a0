/* random_graph.c - the generator: leaves first, then one small recipe after the other, each of which picks operands
 * that suit it. A recipe that finds none, or that inference refuses, is simply left out. */
#include "random_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/node.h"
#include "random_builder.h"
#include "tensor/convert.h"

/* ---- random numbers ---- */

uint64_t random_next(random_state *r)
{
    uint64_t z = (r->s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t random_below(random_state *r, int64_t n)
{
    return (int64_t)(random_next(r) % (uint64_t)n);
}

bool random_chance(random_state *r, int percent)
{
    return random_below(r, 100) < percent;
}

static double random_number(random_state *r, bool special)
{
    static const double odd[] = {0.0,  -0.0,  NAN, INFINITY, -INFINITY, 1e-42, -1e-42,
                                 3e38, 65504, 0.5, 1.5,      2.5,       -0.5};
    if (special && random_chance(r, 8))
        return odd[random_below(r, (int64_t)(sizeof odd / sizeof odd[0]))];
    if (random_chance(r, 25))
        return (double)random_below(r, 9) - 4;
    return (double)random_below(r, 1 << 20) / (1 << 18) - 2;
}

static double random_integer(random_state *r, tern_dtype dtype)
{
    if (dtype == TERN_BOOL)
        return (double)random_below(r, 2);
    if (dtype == TERN_U8)
        return (double)random_below(r, random_chance(r, 80) ? 8 : 256);
    double most = dtype == TERN_I8 ? 127 : 2147483647.0;
    if (random_chance(r, 3))
        return random_chance(r, 50) ? most : -most - 1;
    return (double)random_below(r, 17) - 8;
}

void random_fill(random_state *r, const tern__type *type, bool special, void *data)
{
    enum { MOST = 4096 };
    double values[MOST];
    int64_t columns = type->rank > 0 ? type->shape[type->rank - 1] : 1;
    int64_t rows = columns > 0 ? tern__type_numel(type) / columns : 0;
    size_t row_bytes = (size_t)tern__row_units(type->dtype, columns) * tern__dtype_unit_bytes(type->dtype);
    if (columns > MOST) /* zeros, which every type has; not what lay there */
        memset(data, 0, tern__type_bytes(type));
    for (int64_t row = 0; row < rows && columns <= MOST; row++) {
        for (int64_t i = 0; i < columns; i++)
            values[i] = tern__dtype_is_float(type->dtype)    ? random_number(r, special)
                        : tern__dtype_is_packed(type->dtype) ? (double)random_below(r, 3) - 1
                                                             : random_integer(r, type->dtype);
        tern__convert_row(TERN_F64, values, type->dtype, (char *)data + (size_t)row * row_bytes, columns);
    }
}

/* ---- building ---- */

const tern__type *type_of(const builder *b, tern__id value)
{
    return &b->g->values[value].type;
}

static bool note_values(builder *b, tern__id first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (first + i >= RANDOM_MAX_VALUES)
            return false;
        const tern__gnode *node = &b->g->nodes[b->g->values[first + i].node];
        unsigned flags = tern__ops[node->op].flags;
        fact *f = &b->facts[first + i];
        bool view = (flags & TERN__VIEW) != 0;
        *f = (fact){.base = view ? b->facts[node->in[0]].base : first + i,
                    .spent = view && b->facts[node->in[0]].spent};
        f->writable = node->op == TERN__OP_state || node->op == TERN__OP_contiguous ||
                      (flags & TERN__WRITES) ||
                      (node->op == TERN__OP_slice && b->facts[node->in[0]].writable);
    }
    return true;
}

bool add_leaf(builder *b, tern__opcode op, const tern__type *type, tern__id *out)
{
    char name[16];
    tern__storage *storage = NULL;
    if (b->g->n_values >= RANDOM_MAX_VALUES)
        return false;
    if (op == TERN__OP_input) {
        snprintf(name, sizeof name, "x%d", b->n_inputs++);
    } else {
        snprintf(name, sizeof name, "%s%u", op == TERN__OP_state ? "s" : "c", b->g->n_leaves);
        if (tern__storage_create(NULL, tern__type_bytes(type), 0, &storage) != TERN_OK)
            return false;
        random_fill(&b->r, type, b->options.special, storage->host);
    }
    tern_status status = tern__graph_add_leaf(b->g, op, name, type, storage, NULL, out);
    tern__storage_release(storage);
    return status == TERN_OK && note_values(b, *out, 1);
}

bool add_index_leaf(builder *b, tern_dtype dtype, int rank, const int64_t *shape, int64_t low, int64_t limit,
                    tern__id *out)
{
    tern__type type = {.dtype = dtype, .rank = rank};
    memcpy(type.shape, shape, (size_t)rank * sizeof *shape);
    if (limit <= low || !add_leaf(b, TERN__OP_constant, &type, out))
        return false;
    char *data = b->g->leaves[b->g->n_leaves - 1].storage->host;
    for (int64_t i = 0; i < tern__type_numel(&type); i++) {
        double index = (double)(low + random_below(&b->r, limit - low));
        tern__convert(TERN_F64, &index, 0, dtype, data + i * (int64_t)tern__dtype_unit_bytes(dtype), 0, 1);
    }
    return true;
}

/* What was overwritten is gone. */
static bool readable(const builder *b, uint32_t n_in, const tern__id *in)
{
    for (uint32_t i = 0; i < n_in; i++)
        if (b->facts[in[i]].spent)
            return false;
    return true;
}

static bool results_are_small(const builder *b, const tern__type *out, int n_out)
{
    for (int i = 0; i < n_out; i++)
        if (tern__type_numel(&out[i]) > (b->options.large ? 100000 : 600) || out[i].rank > 5)
            return false;
    return true;
}

bool add_op(builder *b, tern__opcode op, uint32_t n_in, const tern__id *operands, const tern__attr *attrs,
            tern__id *out)
{
    enum { MOST = 8 };
    const tern__op *row = &tern__ops[op];
    const tern__type *types[MOST];
    tern_dtype dtypes[MOST];
    tern__type results[MOST];
    tern__id in[MOST];
    int n_out = tern__op_results(row, attrs);
    if (n_in > MOST || n_out > MOST || n_out < 0 || b->g->n_values + MOST >= RANDOM_MAX_VALUES ||
        !readable(b, n_in, operands))
        return false;
    for (uint32_t i = 0; i < n_in; i++) {
        in[i] = operands[i];
        types[i] = type_of(b, in[i]);
    }
    tern__call call = {
        .op = row, .n_in = (int)n_in, .n_out = n_out, .in = types, .attrs = attrs, .out = results};
    if (tern__op_infer(&call, dtypes) != TERN_OK || !results_are_small(b, results, n_out))
        return false;
    for (uint32_t i = 0; i < n_in; i++) {
        if (dtypes[i] == type_of(b, in[i])->dtype)
            continue;
        tern__attr dtype = {.i = dtypes[i]};
        if (op == TERN__OP_cast || !add_op(b, TERN__OP_cast, 1, &in[i], &dtype, &in[i]))
            return false;
    }
    for (uint32_t i = 0; i < n_in; i++) /* the casts may have moved the values */
        types[i] = type_of(b, in[i]);
    if (tern__op_infer(&call, dtypes) != TERN_OK)
        return false;
    tern__id first;
    if (tern__graph_add(b->g, op, n_in, in, attrs, (uint32_t)n_out, results, &first) != TERN_OK ||
        !note_values(b, first, (uint32_t)n_out))
        return false;
    if (row->flags & TERN__WRITES) {
        tern__id base = b->facts[in[0]].base;
        for (tern__id v = 0; v < first; v++)
            if (b->facts[v].base == base)
                b->facts[v].spent = true;
    }
    *out = first;
    return true;
}

bool add_unary(builder *b, tern__opcode op, tern__id x, tern__id *out)
{
    tern__attr attrs[TERN__MAX_ATTRS];
    tern__op_default_attrs(&tern__ops[op], attrs);
    return add_op(b, op, 1, &x, attrs, out);
}

tern__id pick(builder *b)
{
    int64_t n = b->g->n_values;
    /* Half of the time something recent: chains grow, and old values are shared all the same. */
    int64_t window = random_chance(&b->r, 50) && n > 8 ? 8 : n;
    return (tern__id)(n - 1 - random_below(&b->r, window));
}

bool pick_where(builder *b, bool (*suits)(const tern__type *type), tern__id *out)
{
    for (int i = 0; i < 12; i++) {
        *out = pick(b);
        if (suits(type_of(b, *out)))
            return true;
    }
    return false;
}

/* ---- the whole ---- */

random_graph_options random_graph_options_default(void)
{
    return (random_graph_options){.min_nodes = 4, .max_nodes = 40, .writes = true, .special = true};
}

static tern_dtype random_dtype(random_state *r)
{
    static const tern_dtype often[] = {TERN_F32, TERN_F32, TERN_F32, TERN_F32, TERN_F32,
                                       TERN_F32, TERN_I32, TERN_I32, TERN_F16, TERN_BF16,
                                       TERN_F64, TERN_I64, TERN_I8,  TERN_U8,  TERN_BOOL};
    return often[random_below(r, (int64_t)(sizeof often / sizeof often[0]))];
}

/* Axes of one graph come from one short list, and some are 1: then operands often broadcast. */
static tern__type random_type(builder *b)
{
    tern__type type = {.dtype = random_dtype(&b->r), .rank = (int)random_below(&b->r, 4)};
    for (int i = 0; i < type.rank; i++)
        type.shape[i] = random_chance(&b->r, 25) ? 1 : b->sizes[3 - type.rank + i];
    if (type.rank > 0 && random_chance(&b->r, 2))
        type.shape[random_below(&b->r, type.rank)] = 0;
    return type;
}

static bool add_leaves(builder *b)
{
    static const tern__opcode kinds[] = {TERN__OP_input,    TERN__OP_input,    TERN__OP_input,
                                         TERN__OP_constant, TERN__OP_constant, TERN__OP_state};
    for (int i = 0; i < 3; i++)
        b->sizes[i] = 1 + random_below(&b->r, 5);
    if (b->options.large) { /* rows and columns; a few of them make a step worth sharing */
        b->sizes[1] = 24 + random_below(&b->r, 40);
        b->sizes[2] = 300 + random_below(&b->r, 300);
    }
    int n = 2 + (int)random_below(&b->r, 6);
    for (int i = 0; i < n; i++) {
        tern__opcode kind = i == 0 ? TERN__OP_input : kinds[random_below(&b->r, 6)];
        tern__type type = random_type(b);
        if (i == 0)
            type.dtype = TERN_F32;
        tern__id ignored;
        if (kind == TERN__OP_state && !b->options.writes)
            kind = TERN__OP_constant;
        if (!add_leaf(b, kind, &type, &ignored))
            return false;
    }
    return true;
}

/* What nobody reads becomes an output mostly, and so do a few others. */
static tern_status add_outputs(builder *b)
{
    tern_graph *g = b->g;
    bool used[RANDOM_MAX_VALUES] = {false};
    for (uint32_t n = 0; n < g->n_nodes; n++)
        for (uint32_t i = 0; i < g->nodes[n].n_in; i++)
            used[g->nodes[n].in[i]] = true;
    for (tern__id v = 0; v < g->n_values; v++) {
        bool leaf = g->nodes[g->values[v].node].leaf != TERN__NO_ID;
        if (!b->facts[v].spent && random_chance(&b->r, leaf ? 3 : used[v] ? 8 : 75))
            TERN_TRY(tern__graph_add_output(g, v, NULL));
    }
    for (tern__id v = g->n_values; g->n_outputs == 0 && v-- > 0;)
        if (!b->facts[v].spent)
            TERN_TRY(tern__graph_add_output(g, v, NULL));
    return TERN_OK;
}

tern_status random_graph_make(uint64_t seed, const random_graph_options *options, tern_graph **out)
{
    tern_graph *g;
    TERN_TRY(tern__graph_new(&g));
    builder b = {.g = g, .r = {seed}, .options = options ? *options : random_graph_options_default()};
    random_next(&b.r);
    uint32_t nodes =
        (uint32_t)(b.options.min_nodes + random_below(&b.r, b.options.max_nodes - b.options.min_nodes + 1));
    bool made = add_leaves(&b);
    for (int tries = 0; made && g->n_nodes < nodes && tries < 1000 && g->n_values + 40 < RANDOM_MAX_VALUES;
         tries++)
        random_recipe(&b);
    tern_status status = made ? add_outputs(&b) : TERN_OUT_OF_MEMORY;
    if (status == TERN_OK)
        status = tern_graph_verify(g);
    if (status != TERN_OK) {
        tern_graph_free(g);
        return status;
    }
    *out = g;
    return TERN_OK;
}
