/* horizontal.c - matrix products that share an operand become one: the query, key and value projections of a layer, the
 * gate and up projections of its feed-forward part. One step instead of three, and the shared operand is read once.
 *
 * The other operands must be constants with data that nobody else reads; they are joined now, and the results are views of
 * the one product. Every output is the same chain of operations as before. Joining copies the weights, which only pays for
 * a program that runs often: hence level high. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "graph/node.h"
#include "passes/rewrite.h"
#include "tensor/deferred.h"
#include "tensor/derived.h"

tern_status tern__pass_horizontal(tern__compilation *c);

enum { MOST = 8 }; /* products that become one */

typedef struct group {
    uint32_t n;
    tern__id members[MOST]; /* nodes, in order */
    struct group *next;     /* of the same shared operand */
} group;

typedef struct joiner {
    tern__compilation *c;
    tern__rewrite w;
    const tern_graph *g;  /* as it was */
    const uint32_t *uses; /* (n_values) */
    const uint8_t *holds; /* (n_values) */
    group **of_value;     /* (n_values) groups that read this value; the latest first */
    group **of_node;      /* (n_nodes) the group that a node belongs to */
} joiner;

/* ---- which products ---- */

static const tern__type *type_of(const tern_graph *g, tern__id value)
{
    return &g->values[value].type;
}

/* The axis of the weights along which results lie, and along which weights are joined. */
static int column_axis(const tern__gnode *node)
{
    return node->op != TERN__OP_matmul || node->attrs[TERN__ATTR_matmul_transpose_b].i ? 0 : 1;
}

static bool is_candidate(const joiner *j, const tern__gnode *node)
{
    if (!tern__op_is_plain_product(node->op))
        return false;
    if (node->n_in > 2)
        return false; /* scales of blocks would have to be joined as well */
    const tern__type *weight = type_of(j->g, node->in[1]);
    const tern__leaf *leaf = tern__constant_of(j->g, node->in[1]);
    return leaf && weight->rank == 2 && j->uses[node->in[1]] == 1 && tern__type_numel(weight) > 0 &&
           !(j->holds[node->out] & (TERN__HELD_OUTPUT | TERN__HELD_WRITTEN)) &&
           (!tern__dtype_is_packed(weight->dtype) || tern__layout_is_contiguous(weight, &leaf->layout));
}

/* Do two products of one operand differ in their weights alone? */
static bool alike(const tern_graph *g, const tern__gnode *a, const tern__gnode *b)
{
    const tern__type *s = type_of(g, a->in[1]), *t = type_of(g, b->in[1]);
    return a->op == b->op && s->dtype == t->dtype &&
           tern__attrs_equal(&tern__ops[a->op], a->attrs, b->attrs) &&
           s->shape[1 - column_axis(a)] == t->shape[1 - column_axis(b)];
}

/* Adds node n to a group of its operand that has room, or begins one. There are few kinds of products, so few groups are
 * looked at: those that are full are behind the one that was begun last. */
static tern_status add_to_group(joiner *j, tern__id n)
{
    const tern__gnode *node = &j->g->nodes[n];
    group **first = &j->of_value[node->in[0]];
    int looked_at = 0;
    for (group *at = *first; at && looked_at < 16; at = at->next, looked_at++)
        if (at->n < MOST && alike(j->g, &j->g->nodes[at->members[0]], node)) {
            at->members[at->n++] = n;
            j->of_node[n] = at;
            return TERN_OK;
        }
    group *made = tern__arena_alloc_zero(j->c->arena, 1, sizeof *made);
    if (!made)
        return tern__out_of_memory(sizeof *made);
    made->members[made->n++] = n;
    made->next = *first;
    *first = made;
    j->of_node[n] = made;
    return TERN_OK;
}

/* *any: some group has more than one member. */
static tern_status find_groups(joiner *j, bool *any)
{
    const tern_graph *g = j->g;
    uint32_t *uses;
    uint8_t *holds;
    TERN_TRY(tern__count_uses(j->c, g, &uses));
    TERN_TRY(tern__find_holds(j->c, g, &holds));
    j->uses = uses;
    j->holds = holds;
    j->of_value = tern__arena_alloc_zero(j->c->arena, g->n_values, sizeof *j->of_value);
    j->of_node = tern__arena_alloc_zero(j->c->arena, g->n_nodes, sizeof *j->of_node);
    if (!j->of_value || !j->of_node)
        return tern__out_of_memory(g->n_values * sizeof *j->of_value);
    for (tern__id n = 0; n < g->n_nodes; n++) {
        if (!is_candidate(j, &g->nodes[n]))
            continue;
        TERN_TRY(add_to_group(j, n));
        *any = *any || j->of_node[n]->n > 1;
    }
    return TERN_OK;
}

/* ---- joining ---- */

/* Weights joined along their first axis follow each other. They are made when they are packed, which is when the parts are
 * read, and kept with the first part, so that other programs find them. */
typedef struct joined {
    uint32_t n;
    struct part {
        tern__storage *storage; /* held by us, but for the first: that one holds us */
        size_t offset, bytes;
    } parts[MOST];
} joined;

static tern_status fill_joined(void *user, size_t offset, void *host, size_t bytes)
{
    const joined *all = user;
    char *to = host;
    (void)offset; /* all of it */
    for (uint32_t i = 0; i < all->n; i++) {
        const struct part *p = &all->parts[i];
        TERN_TRY(tern__storage_copy(p->storage, p->offset, p->bytes, to));
        to += p->bytes;
    }
    TERN__FAIL_IF(to != (char *)host + bytes, TERN_INTERNAL, "horizontal: %zu bytes were to be joined",
                  bytes);
    return TERN_OK;
}

static void drop_joined(void *user)
{
    joined *all = user;
    for (uint32_t i = 1; i < all->n; i++)
        tern__storage_release(all->parts[i].storage);
    tern__free(all);
}

static tern_status defer_joined(const joined *key, const tern__type *type, tern__storage **out)
{
    joined *all = tern__alloc_zero(1, sizeof *all);
    if (!all)
        return tern__out_of_memory(sizeof *all);
    *all = *key;
    for (uint32_t i = 1; i < all->n; i++)
        tern__storage_retain(all->parts[i].storage);
    tern__source source = {.fill = fill_joined, .drop = drop_joined, .user = all};
    tern_status status = tern__storage_defer(tern__type_bytes(type), &source, out);
    if (status != TERN_OK)
        drop_joined(all);
    return status;
}

static tern_status join_rows(tern_pool *pool, const group *at, const tern__type *const *types,
                             const tern__leaf *const *leaves, const tern__type *type, tern__storage **out)
{
    joined key;
    memset(&key, 0, sizeof key); /* compared as bytes */
    key.n = at->n;
    /* What a pass made lives no longer than this compilation needs it, and what is not frozen may change: nobody else
     * will ask. */
    bool shared = true;
    for (uint32_t i = 0; i < at->n; i++)
        shared = shared && leaves[i]->source != TERN__NO_ID && leaves[i]->storage->frozen;
    for (uint32_t i = 0; i < at->n; i++) {
        key.parts[i].storage = leaves[i]->storage;
        key.parts[i].offset = (size_t)leaves[i]->layout.offset * tern__dtype_unit_bytes(types[i]->dtype);
        key.parts[i].bytes = tern__type_bytes(types[i]);
    }
    if (!shared) {
        TERN_TRY(tern__storage_create(pool, tern__type_bytes(type), 0, out));
        tern_status status = fill_joined(&key, 0, (*out)->host, (*out)->bytes);
        if (status != TERN_OK)
            tern__storage_release(*out);
        return status;
    }
    *out = tern__derived_get(leaves[0]->storage, &key, sizeof key);
    if (*out)
        return TERN_OK;
    TERN_TRY(defer_joined(&key, type, out));
    tern__derived_put(leaves[0]->storage, &key, sizeof key, *out);
    return TERN_OK;
}

static tern_status join_weights(joiner *j, const group *at, tern__type *type, tern__storage **out)
{
    const tern__gnode *first = &j->g->nodes[at->members[0]];
    const tern__type *types[MOST];
    const tern__leaf *leaves[MOST];
    int axis = column_axis(first);
    int64_t shape[2];
    memcpy(shape, type_of(j->g, first->in[1])->shape, sizeof shape);
    shape[axis] = 0;
    bool rows = axis == 0;
    for (uint32_t i = 0; i < at->n; i++) {
        tern__id weight = j->g->nodes[at->members[i]].in[1];
        types[i] = type_of(j->g, weight);
        leaves[i] = tern__constant_of(j->g, weight);
        rows = rows && tern__layout_is_contiguous(types[i], &leaves[i]->layout);
        if (!tern__i64_add(shape[axis], types[i]->shape[axis], &shape[axis]))
            return TERN_UNSUPPORTED;
    }
    TERN_TRY(tern__type_make("horizontal", types[0]->dtype, 2, shape, type));
    if (rows)
        return join_rows(j->c->target->pool, at, types, leaves, type, out);
    tern__attr attr = {.i = axis};
    tern__call call = {.op = &tern__ops[TERN__OP_concat],
                       .n_in = (int)at->n,
                       .n_out = 1,
                       .in = types,
                       .attrs = &attr,
                       .out = type};
    return tern__evaluate(j->c, &call, leaves, out);
}

/* Member i is columns [first, first + count) of the product. */
static tern_status emit_part(joiner *j, tern__id member, tern__id product, int64_t first, int64_t count)
{
    const tern__type *type = &j->w.to->values[product].type;
    int64_t start[TERN__MAX_RANK] = {0}, stop[TERN__MAX_RANK], step[TERN__MAX_RANK];
    uint32_t rank = (uint32_t)type->rank;
    memcpy(stop, type->shape, sizeof stop);
    for (int i = 0; i < TERN__MAX_RANK; i++)
        step[i] = 1;
    start[rank - 1] = first;
    stop[rank - 1] = first + count;
    tern__attr attrs[3] = {
        {.ints = start, .count = rank}, {.ints = stop, .count = rank}, {.ints = step, .count = rank}};
    return tern__rewrite_become(&j->w, member, TERN__OP_slice, 1, &product, attrs);
}

/* Apart, each product reads the common operand; together they read it once. */
static void describe(joiner *j, const group *at, const tern__type *weights)
{
    const tern__gnode *first = &j->g->nodes[at->members[0]];
    double common = (double)tern__type_bytes(type_of(j->g, first->in[0]));
    double after = common + (double)tern__type_bytes(weights), results = 0;
    char text[TERN__TYPE_TEXT], value[TERN__VALUE_TEXT];
    for (uint32_t i = 0; i < at->n; i++)
        results += (double)tern__type_bytes(type_of(j->g, j->g->nodes[at->members[i]].out));
    after += results;
    tern__log_fusion(j->c, "product", j->g, at->n, at->members, after + (at->n - 1) * common, after);
    tern__note(j->c,
               "%u x %s of %s became one with weights %s, %zu bytes joined now; their results, %.0f bytes, "
               "live together",
               at->n, tern__ops[first->op].name, tern__value_text(j->c, j->g, first->in[0], value),
               tern__type_text(weights, text), tern__type_bytes(weights), results);
}

/* The one product in the place of its first member, and the parts of all of them. */
static tern_status emit_group(joiner *j, const group *at, const tern__type *type, tern__storage *storage)
{
    const tern__gnode *first = &j->g->nodes[at->members[0]];
    tern__id in[2] = {j->w.map[first->in[0]]}, product;
    TERN_TRY(tern__rewrite_emit_constant(&j->w, NULL, type, storage, NULL, &in[1]));
    j->w.origin = tern__origin_of(j->g, at->n, at->members);
    TERN_TRY(tern__rewrite_emit(&j->w, first->op, 2, in, first->attrs, &product));
    int64_t column = 0;
    for (uint32_t i = 0; i < at->n; i++) {
        int64_t columns = type_of(j->g, j->g->nodes[at->members[i]].in[1])->shape[column_axis(first)];
        TERN_TRY(emit_part(j, at->members[i], product, column, columns));
        column += columns;
    }
    j->c->changes++;
    describe(j, at, type);
    return TERN_OK;
}

static tern_status join_node(joiner *j, tern__id n)
{
    group *at = j->of_node[n];
    if (!at || at->n < 2)
        return tern__rewrite_copy(&j->w, n);
    if (at->members[0] != n)
        return TERN_OK; /* a part of what its first member became */
    tern__type type;
    tern__storage *storage;
    tern_status status = join_weights(j, at, &type, &storage);
    if (status == TERN_UNSUPPORTED) {
        at->n = 0; /* all stay as they are */
        return tern__rewrite_copy(&j->w, n);
    }
    TERN_TRY(status);
    status = emit_group(j, at, &type, storage);
    tern__storage_release(storage);
    return status;
}

tern_status tern__pass_horizontal(tern__compilation *c)
{
    tern__op_set present;
    bool any = false;
    tern__ops_present(c->graph, &present);
    if (!tern__op_in(&present, TERN__OP_constant) || !tern__op_flag_in(&present, TERN__PRODUCT))
        return TERN_OK;
    joiner j = {.c = c, .g = c->graph};
    TERN_TRY(find_groups(&j, &any));
    if (!any)
        return TERN_OK;
    uint32_t removed;
    TERN_TRY(tern__rewrite_begin(c, &j.w));
    for (tern__id n = 0; n < j.g->n_nodes; n++)
        TERN_TRY(join_node(&j, n));
    TERN_TRY(tern__rewrite_end(&j.w));
    return tern__remove_dead(c, false, &removed);
}
