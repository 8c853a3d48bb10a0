/* layout.c - data in the form that the target's kernels read fastest: images (images.c), and constants.
 *
 * A product whose second operand is a constant with data becomes a product with the packed constant, if
 * the target prefers that. What is packed is kept with the constant (tensor/derived.h), so that other
 * programs and batch sizes share it; the constant itself stays what the user sees, and is no longer needed
 * by the plan. A gather from a constant that is packed anyway (the table of tokens that is also the head of a model) reads the
 * packed form too, where its tiles are those of linear (16 bits, blocks), or both would be in memory. So does one from a constant
 * whose data have yet to be made: then a product that comes later finds it packed. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/call.h"
#include "graph/node.h"
#include "passes/images.h"
#include "passes/rewrite.h"
#include "tensor/deferred.h"
#include "tensor/derived.h"

tern_status tern__pass_layout(tern__compilation *c);

/* What tells one packed form of a storage's data from another. Compared as bytes: unused ones are 0. */
typedef struct pack_key {
    const void *how;
    int axis;
    tern__type from, to;
    tern__layout layout;
} pack_key;

typedef struct packed_value {
    tern__packing packing;
    tern__id value; /* of the new graph; TERN__NO_ID: none yet */
} packed_value;

typedef struct layouter {
    tern__compilation *c;
    tern__rewrite w;
    packed_value *packed; /* (n_values) of constants */
    void *stage; /* pages where deferred constants are made to be packed, one after the other; or NULL */
    size_t stage_bytes;
} layouter;

static void unstage(layouter *l)
{
    tern__pages_unmap(l->stage, l->stage_bytes);
    l->stage = NULL;
    l->stage_bytes = 0;
}

enum {
    /* A stage that is larger is given back after its use: packed constants are many, and what is left of it counts with them. */
    STAGE_KEPT = 16 << 20,
    /* Of a constant that is made and packed at once: pages that are used again and again need not be cleared again. */
    PIECE = 8 << 20,
};

/* The operand of a node that may be packed. */
static uint32_t packed_operand(const tern__gnode *node)
{
    return node->op == TERN__OP_gather ? 0 : 1;
}

/* The constant that the target could pack for a node; NULL: none. */
static const tern__leaf *packable(const tern__compilation *c, const tern_graph *g, const tern__gnode *node,
                                  tern__packing *out)
{
    const uint32_t operand = packed_operand(node);
    const tern__leaf *leaf = node->n_in >= 2 ? tern__constant_of(g, node->in[operand]) : NULL;
    if (!leaf || !tern__call_fits(node))
        return NULL;
    tern__call_room room;
    tern__call call = tern__small_call(g, node, &room);
    return tern__type_numel(call.in[operand]) > 0 && c->target->packing(c->target, &call, out) ? leaf : NULL;
}

static void make_key(const tern__packing *packing, const tern__type *type, const tern__layout *layout,
                     pack_key *key)
{
    memset(key, 0, sizeof *key);
    key->how = packing->how;
    key->axis = packing->axis;
    key->from.dtype = type->dtype;
    key->to.dtype = packing->type.dtype;
    for (int d = 0; d < type->rank; d++) {
        key->from.shape[d] = type->shape[d];
        key->layout.strides[d] = layout->strides[d];
    }
    for (int d = 0; d < packing->type.rank; d++)
        key->to.shape[d] = packing->type.shape[d];
    key->layout.offset = layout->offset;
}

static bool same_packing(const tern__packing *a, const tern__packing *b)
{
    return a->axis == b->axis && a->how == b->how && tern__type_equal(&a->type, &b->type);
}

/* Is the constant packed like this already, or by a product of this graph? */
static bool is_packed_anyway(const tern__compilation *c, const tern_graph *g, tern__id value,
                             const tern__leaf *leaf, const tern__packing *packing)
{
    pack_key key;
    tern__packing other;
    make_key(packing, &g->values[value].type, &leaf->layout, &key);
    tern__storage *made = tern__derived_get(leaf->storage, &key, sizeof key);
    bool found = made != NULL;
    tern__storage_release(made);
    for (tern__id n = 0; n < g->n_nodes && !found; n++) {
        const tern__gnode *node = &g->nodes[n];
        found = tern__op_is_plain_product(node->op) && node->in[1] == value && packable(c, g, node, &other) &&
                same_packing(&other, packing);
    }
    return found;
}

/* The constant that a node is to have packed; NULL: none. */
static const tern__leaf *packs(const tern__compilation *c, const tern_graph *g, const tern__gnode *node,
                               tern__packing *out)
{
    const tern__leaf *leaf = packable(c, g, node, out);
    const bool of_choice = leaf && node->op == TERN__OP_gather && !leaf->storage->deferred;
    return of_choice && !is_packed_anyway(c, g, node->in[0], leaf, out) ? NULL : leaf;
}

/* Makes room for `bytes` on the stage. */
static tern_status set_stage(layouter *l, size_t bytes)
{
    if (l->stage && l->stage_bytes >= bytes)
        return TERN_OK;
    const size_t mask = tern__page_size() - 1, whole = bytes ? (bytes + mask) & ~mask : mask + 1;
    unstage(l);
    l->stage = tern__pages_map(whole, true);
    if (!l->stage)
        return tern__out_of_memory(whole);
    l->stage_bytes = whole;
    return TERN_OK;
}

/* Rows of a constant that are made and packed at once; all of them where it is there anyway, or cannot be made in pieces. */
static int64_t piece_rows(const tern__leaf *leaf, const tern__type *type, const tern__packing *packing)
{
    const tern__storage *storage = leaf->storage;
    const size_t step = storage->deferred ? tern__deferred_step(storage) : 0, all = tern__type_bytes(type);
    const int64_t rows = type->rank > 0 ? type->shape[0] : 0;
    if (step == 0 || rows == 0 || packing->axis != 0 || packing->tile == 0 || all != storage->bytes ||
        all / (size_t)rows % step != 0 || !tern__layout_is_contiguous(type, &leaf->layout))
        return rows;
    const size_t tile_bytes = all / (size_t)rows * (size_t)packing->tile;
    const int64_t tiles = tile_bytes < PIECE ? (int64_t)(PIECE / tile_bytes) : 1;
    return tiles * packing->tile < rows ? tiles * packing->tile : rows;
}

/* Rows [begin, end) of a constant, all of it or a piece, made on the stage and packed. */
static tern_status pack_rows(layouter *l, const tern__leaf *leaf, const tern__type *type,
                             const tern__packing *packing, int64_t begin, int64_t end, char *to)
{
    const tern__storage *storage = leaf->storage;
    const bool whole = begin == 0 && end == type->shape[0];
    const size_t row_bytes = whole ? 0 : tern__type_bytes(type) / (size_t)type->shape[0];
    const size_t at = (size_t)begin * row_bytes,
                 bytes = whole ? storage->bytes : (size_t)(end - begin) * row_bytes;
    char *data = storage->host;
    if (storage->deferred) {
        TERN_TRY(set_stage(l, bytes));
        TERN_TRY(tern__storage_copy(storage, at, bytes, l->stage));
        data = l->stage;
    }
    tern__type piece = *type;
    tern__packing part = *packing;
    if (!whole) {
        piece.shape[0] = end - begin;
        part.type.shape[0] = (end - begin + packing->tile - 1) / packing->tile;
        to += (size_t)(begin / packing->tile) *
              (tern__type_bytes(&packing->type) / (size_t)packing->type.shape[0]);
    }
    const int64_t offset = leaf->layout.offset * (int64_t)tern__dtype_unit_bytes(type->dtype);
    const tern__buffer from = {data + offset, &piece, leaf->layout.strides};
    return l->c->target->pack(l->c->target, &part, &from, to);
}

static tern_status make_packed(layouter *l, const tern__leaf *leaf, const tern__type *type,
                               const tern__packing *packing, tern__storage **out)
{
    tern_status status = tern__storage_create(l->c->target->pool, tern__type_bytes(&packing->type), 0, out);
    if (status != TERN_OK)
        return status;
    const int64_t rows = type->rank > 0 ? type->shape[0] : 0, piece = piece_rows(leaf, type, packing);
    for (int64_t begin = 0; begin < rows && status == TERN_OK; begin += piece)
        status = pack_rows(l, leaf, type, packing, begin, rows - begin < piece ? rows : begin + piece,
                           (*out)->host);
    if (l->stage_bytes > STAGE_KEPT)
        unstage(l);
    if (status != TERN_OK)
        tern__storage_release(*out);
    return status;
}

/* The packed constant that the node reads, found or made; one reference of the caller's. */
static tern_status get_packed(layouter *l, const tern__gnode *node, const tern__leaf *leaf,
                              const tern__packing *packing, bool *found, tern__storage **out)
{
    const tern__type *type = &l->w.from->values[node->in[packed_operand(node)]].type;
    pack_key key;
    make_key(packing, type, &leaf->layout, &key);
    *out = tern__derived_get(leaf->storage, &key, sizeof key);
    *found = *out != NULL;
    if (*found)
        return TERN_OK;
    const uint64_t scope = tern__watch_enter_part("layout", "pass", node->origin);
    const tern_status status = make_packed(l, leaf, type, packing, out);
    tern__watch_leave(scope);
    if (status != TERN_OK)
        return status;
    (*out)->frozen = true;
    if (leaf->storage->frozen)
        tern__derived_put(leaf->storage, &key, sizeof key, *out);
    return TERN_OK;
}

static void note(layouter *l, const tern__gnode *node, const tern__packing *packing, bool found)
{
    const tern_graph *g = l->w.from;
    char value[TERN__VALUE_TEXT], from[TERN__TYPE_TEXT], to[TERN__TYPE_TEXT];
    if (!l->c->log)
        return;
    const tern__id operand = node->in[packed_operand(node)];
    const tern__type *type = &g->values[operand].type;
    tern__note(l->c, "%s, %s of %zu bytes, is read packed: %s of %zu bytes, %s",
               tern__value_text(l->c, g, operand, value), tern__type_text(type, from), tern__type_bytes(type),
               tern__type_text(&packing->type, to), tern__type_bytes(&packing->type),
               found ? "which was there already" : "made now");
}

/* The packed constant as a value of the new graph. */
static tern_status packed_constant(layouter *l, const tern__gnode *node, const tern__leaf *leaf,
                                   const tern__packing *packing, tern__id *out)
{
    const tern__id value = node->in[packed_operand(node)];
    packed_value *known = &l->packed[value];
    if (known->value != TERN__NO_ID && same_packing(&known->packing, packing)) {
        *out = known->value;
        return TERN_OK;
    }
    tern__storage *storage;
    bool found;
    TERN_TRY(get_packed(l, node, leaf, packing, &found, &storage));
    note(l, node, packing, found);
    tern_status status = tern__rewrite_emit_constant(&l->w, NULL, &packing->type, storage, NULL, out);
    tern__storage_release(storage);
    *known = (packed_value){.packing = *packing, .value = *out};
    return status;
}

/* While a deferred constant that is made whole is packed, both forms are there. The largest goes first, when nothing else is, and is found by its
 * node later. */
static tern_status pack_largest(layouter *l)
{
    const tern_graph *g = l->w.from;
    const tern__leaf *largest = NULL;
    const tern__gnode *reader = NULL;
    tern__packing packing, of_largest;
    for (tern__id n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        const tern__leaf *leaf = packs(l->c, g, node, &packing);
        if (!leaf || !leaf->storage->deferred || leaf->storage->bytes <= STAGE_KEPT ||
            (largest && leaf->storage->bytes <= largest->storage->bytes))
            continue;
        const tern__type *its = &g->values[node->in[packed_operand(node)]].type;
        if (piece_rows(leaf, its, &packing) < its->shape[0])
            continue;
        largest = leaf;
        reader = node;
        of_largest = packing;
    }
    if (!largest)
        return TERN_OK;
    tern__storage *storage;
    bool found;
    TERN_TRY(get_packed(l, reader, largest, &of_largest, &found, &storage));
    tern__storage_release(storage); /* the constant keeps it */
    return TERN_OK;
}

static tern_status layout_node(layouter *l, tern__id n)
{
    const tern__gnode *node = &l->w.from->nodes[n];
    tern__packing packing;
    const tern__leaf *leaf = packs(l->c, l->w.from, node, &packing);
    if (!leaf)
        return tern__rewrite_copy(&l->w, n);
    tern__id in[TERN__MAX_INPUTS_FIXED], packed;
    TERN_TRY(packed_constant(l, node, leaf, &packing, &packed));
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = i == packed_operand(node) ? packed : l->w.map[node->in[i]];
    l->c->changes++;
    return tern__rewrite_become(&l->w, n, packing.op, node->n_in, in, packing.attrs);
}

/* What a product's weights are, that they cannot be packed once. */
static const char *why_not_constant(const tern__gnode *producer)
{
    switch (producer->op) {
    case TERN__OP_input:
        return "an input, which may be another in every run: give it as a constant";
    case TERN__OP_state:
        return "a state, which changes";
    default:
        return "computed in every run";
    }
}

/* Ternary weights are as good as always constants: where they are not, every run packs them again. Other products read them
 * as they are. */
static void note_unpacked(tern__compilation *c)
{
    const tern_graph *g = c->graph;
    for (tern__id n = 0; c->log && c->target->packing && n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        char value[TERN__VALUE_TEXT];
        if (!tern__op_is_plain_product(node->op) || tern__constant_of(g, node->in[1]))
            continue;
        const tern__gnode *maker = &g->nodes[g->values[node->in[1]].node];
        tern__value_text(c, g, node->in[1], value);
        if (maker->op == TERN__OP_constant)
            tern__note(c,
                       "%s has no data: not packed; give them when it is compiled (tern_graph_bind, "
                       "--constant %s=FILE)",
                       value, maker->attrs[TERN__ATTR_constant_name].text);
        else if (node->op == TERN__OP_ternary_matmul)
            tern__note(c, "%s is not packed once, but in every run, because it is %s", value,
                       why_not_constant(maker));
    }
}

tern_status tern__pass_layout(tern__compilation *c)
{
    tern__packing packing;
    bool any = false;
    TERN_TRY(tern__layout_images(c));
    note_unpacked(c);
    const tern_graph *g = c->graph;
    for (tern__id n = 0; c->target->packing && n < g->n_nodes && !any; n++)
        any = packs(c, g, &g->nodes[n], &packing) != NULL;
    if (!any)
        return TERN_OK;
    layouter l = {.c = c};
    l.packed = tern__arena_alloc(c->arena, g->n_values * sizeof *l.packed);
    if (!l.packed)
        return tern__out_of_memory(g->n_values * sizeof *l.packed);
    for (tern__id v = 0; v < g->n_values; v++)
        l.packed[v].value = TERN__NO_ID;
    TERN_TRY(tern__rewrite_begin(c, &l.w));
    tern_status status = pack_largest(&l);
    for (tern__id n = 0; n < l.w.from->n_nodes && status == TERN_OK; n++)
        status = layout_node(&l, n);
    unstage(&l);
    TERN_TRY(status);
    TERN_TRY(tern__rewrite_end(&l.w));
    uint32_t removed;
    return tern__remove_dead(c, false, &removed); /* constants that are needed no more */
}
