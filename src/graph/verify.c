/* verify.c - every rule that a graph keeps, checked. Passes are verified after they ran, parsed graphs before they
 * are handed out. Trusts nothing: ids, counts and pointers are looked at before they are followed. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/text.h"

/* ---- one application of an op ------------------------------------------------------------------------------- */

tern_status tern__call_check(const tern__call *call, tern_dtype *operands, int *operand)
{
    const tern__op *op = call->op;
    *operand = -1;
    TERN_TRY(tern__op_infer(call, operands));
    for (int i = 0; i < call->n_in; i++) {
        if (operands[i] == call->in[i]->dtype)
            continue;
        *operand = i;
        return tern__fail(TERN_DTYPE, "%s: operand %d is %s but %s is needed: insert cast", op->name, i,
                          tern_dtype_name(call->in[i]->dtype), tern_dtype_name(operands[i]));
    }
    return TERN_OK;
}

/* ---- the nodes ---------------------------------------------------------------------------------------------- */

/* Room that is reused from node to node. */
typedef struct checker {
    const tern_graph *g;
    const tern__type **in;
    tern_dtype *operands;
    tern__type *out;
    size_t cap_in, cap_operands, cap_out;
    tern__id *writers; /* (n_values) the node that overwrites the value; NULL until there is one */
    tern__id node;     /* to blame */
} checker;

static tern_status make_room(checker *c, size_t n_in, size_t n_out)
{
    if (!tern__grow((void **)&c->in, &c->cap_in, n_in, sizeof *c->in) ||
        !tern__grow((void **)&c->operands, &c->cap_operands, n_in, sizeof *c->operands) ||
        !tern__grow((void **)&c->out, &c->cap_out, n_out, sizeof *c->out))
        return tern__out_of_memory(n_in * sizeof *c->in + n_out * sizeof *c->out);
    return TERN_OK;
}

/* Ids and pointers: afterwards they may be followed. */
static tern_status check_links(const tern_graph *g, tern__id id, tern__id first_value)
{
    const tern__gnode *node = &g->nodes[id];
    TERN__FAIL_IF((unsigned)node->op >= TERN__OP_COUNT, TERN_INTERNAL, "op %d does not exist", (int)node->op);
    TERN__FAIL_IF(node->out != first_value || node->n_out > g->n_values - first_value, TERN_INTERNAL,
                  "its results are values %u to %u, but %u of %u is next", node->out,
                  node->out + node->n_out - 1, first_value, g->n_values);
    for (uint32_t i = 0; i < node->n_out; i++)
        TERN__FAIL_IF(g->values[node->out + i].node != id || g->values[node->out + i].result != i,
                      TERN_INTERNAL, "result %u says that it is result %u of node %u", i,
                      g->values[node->out + i].result, g->values[node->out + i].node);
    TERN__FAIL_IF((node->n_in > 0 && !node->in) || node->n_in > INT32_MAX, TERN_INTERNAL,
                  "it has no operands");
    for (uint32_t i = 0; i < node->n_in; i++)
        TERN__FAIL_IF(node->in[i] >= first_value, TERN_INVALID_ARGUMENT,
                      "operand %u is used before its definition", i);
    TERN__FAIL_IF(tern__ops[node->op].n_attrs > 0 && !node->attrs, TERN_INTERNAL, "it has no attributes");
    return TERN_OK;
}

/* Inference has looked at the other kinds of attributes. */
static tern_status check_text(const tern__attr_spec *spec, const tern__attr *attr)
{
    TERN__FAIL_IF(attr->count > TERN__MAX_NAME, TERN_LIMIT, "%s has more than %d bytes", spec->name,
                  TERN__MAX_NAME);
    TERN__FAIL_IF(attr->count > 0 && (!attr->text || strnlen(attr->text, attr->count) != attr->count),
                  TERN_INVALID_ARGUMENT, "%s is shorter than it says", spec->name);
    return TERN_OK;
}

static tern_status check_leaf(const tern_graph *g, const tern__gnode *node)
{
    if (!(tern__ops[node->op].flags & TERN__LEAF)) {
        TERN__FAIL_IF(node->leaf != TERN__NO_ID, TERN_INTERNAL, "it is no leaf, but has the data of one");
        return TERN_OK;
    }
    TERN__FAIL_IF(node->leaf >= g->n_leaves, TERN_INTERNAL, "leaf %u does not exist", node->leaf);
    const tern__leaf *leaf = &g->leaves[node->leaf];
    const tern__type *type = &g->values[node->out].type;
    char text[TERN__TYPE_TEXT];
    TERN__FAIL_IF(leaf->node != (tern__id)(node - g->nodes), TERN_INTERNAL, "its data belong to node %u",
                  leaf->node);
    TERN__FAIL_IF(leaf->storage && !tern__layout_fits(type, &leaf->layout, leaf->storage->bytes),
                  TERN_OUT_OF_RANGE, "%s does not fit in its storage of %zu bytes",
                  tern__type_text(type, text), leaf->storage->bytes);
    return TERN_OK;
}

static tern_status overwritten(const checker *c, tern__id value, tern__id writer)
{
    tern__label *labels = NULL;
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern__labels_make(c->g, &labels); /* without it values go by their ids */
    tern__label_add(&s, c->g, labels, value);
    tern__strbuf_add(&s, " is overwritten already by ");
    tern__node_head_add(&s, c->g, labels, writer);
    tern__strbuf_add(&s, ": use its result, or read before it");
    tern_status status = tern__fail(TERN_INVALID_ARGUMENT, "%s",
                                    s.failed || !s.text ? "an operand is overwritten already" : s.text);
    tern__strbuf_free(&s);
    tern__free(labels);
    return status;
}

/* Operand 0 of a write is gone afterwards: nobody reads or writes it again. */
static tern_status check_overwritten(checker *c, tern__id id)
{
    const tern_graph *g = c->g;
    const tern__gnode *node = &g->nodes[id];
    for (uint32_t i = 0; c->writers && i < node->n_in; i++) {
        tern__id value = tern__graph_view_base(g, node->in[i]);
        if (c->writers[value] != TERN__NO_ID)
            return overwritten(c, node->in[i], c->writers[value]);
    }
    if (!(tern__ops[node->op].flags & TERN__WRITES) || node->n_in == 0)
        return TERN_OK;
    if (!c->writers) {
        c->writers = tern__alloc(g->n_values * sizeof *c->writers);
        if (!c->writers)
            return tern__out_of_memory(g->n_values * sizeof *c->writers);
        memset(c->writers, 0xff, g->n_values * sizeof *c->writers);
    }
    tern__id target = tern__graph_view_base(g, node->in[0]);
    TERN__FAIL_IF(g->nodes[g->values[target].node].op == TERN__OP_constant, TERN_INVALID_ARGUMENT,
                  "operand 0 is a constant, which cannot be written");
    c->writers[target] = id;
    return TERN_OK;
}

static tern_status check_node(checker *c, tern__id id, tern__id first_value)
{
    const tern_graph *g = c->g;
    const tern__gnode *node = &g->nodes[id];
    TERN_TRY(check_links(g, id, first_value));
    const tern__op *op = &tern__ops[node->op];
    int n_out = tern__op_results(op, node->attrs);
    TERN__FAIL_IF(n_out < 0 || (uint32_t)n_out != node->n_out, TERN_INTERNAL,
                  "%s gives %d results, but it has %u", op->name, n_out, node->n_out);
    TERN_TRY(make_room(c, node->n_in, node->n_out));
    for (uint32_t i = 0; i < node->n_in; i++)
        c->in[i] = &g->values[node->in[i]].type;
    tern__call call = {
        .op = op, .n_in = (int)node->n_in, .n_out = n_out, .in = c->in, .attrs = node->attrs, .out = c->out};
    int operand;
    TERN_TRY(tern__call_check(&call, c->operands, &operand));
    for (int i = 0; i < n_out; i++) {
        char got[TERN__TYPE_TEXT], want[TERN__TYPE_TEXT];
        const tern__type *type = &g->values[node->out + (uint32_t)i].type;
        TERN__FAIL_IF(!tern__type_equal(type, &c->out[i]),
                      type->dtype == c->out[i].dtype ? TERN_SHAPE : TERN_DTYPE, "result %d is %s, not %s", i,
                      tern__type_text(&c->out[i], want), tern__type_text(type, got));
    }
    for (int i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].kind == TERN__ATTR_TEXT)
            TERN_TRY(check_text(&op->attrs[i], &node->attrs[i]));
    TERN__FAIL_IF(node->origin && strlen(node->origin) > TERN__MAX_NAME, TERN_LIMIT,
                  "its origin has more than %d bytes", TERN__MAX_NAME);
    TERN_TRY(check_leaf(g, node));
    return check_overwritten(c, id);
}

/* ---- names and outputs -------------------------------------------------------------------------------------- */

static tern_status check_value_names(checker *c, tern__names *names)
{
    for (uint32_t i = 0; i < c->g->n_values; i++) {
        const tern__value *value = &c->g->values[i];
        uint32_t before;
        if (!value->name)
            continue;
        c->node = value->node;
        size_t length = strnlen(value->name, TERN__MAX_NAME + 1);
        TERN__FAIL_IF(!tern__is_identifier(value->name, length) && !tern__is_number_name(value->name),
                      TERN_INVALID_ARGUMENT,
                      "'%.40s' cannot be a value's name: it is not an identifier of at most %d characters",
                      value->name, TERN__MAX_NAME);
        TERN_TRY(tern__names_add(names, value->name, length, i, &before));
        TERN__FAIL_IF(before != TERN__NO_ID, TERN_INVALID_ARGUMENT, "%%%s names another value already",
                      value->name);
    }
    return TERN_OK;
}

static tern_status check_leaf_names(checker *c, tern__names *names)
{
    for (uint32_t i = 0; i < c->g->n_leaves; i++) {
        tern__id node = c->g->leaves[i].node;
        c->node = TERN__NO_ID;
        TERN__FAIL_IF(node >= c->g->n_nodes || c->g->nodes[node].leaf != i, TERN_INTERNAL,
                      "leaf %u belongs to no node", i);
        c->node = node;
        const tern__attr *name = &c->g->nodes[c->node].attrs[0];
        uint32_t before;
        if (name->count == 0)
            continue;
        TERN_TRY(tern__names_add(names, name->text, name->count, i, &before));
        TERN__FAIL_IF(before != TERN__NO_ID, TERN_INVALID_ARGUMENT, "\"%s\" is the name of another %s",
                      name->text, tern__ops[c->g->nodes[c->g->leaves[before].node].op].name);
    }
    return TERN_OK;
}

static tern_status check_outputs(checker *c, tern__names *names)
{
    c->node = TERN__NO_ID;
    for (uint32_t i = 0; i < c->g->n_outputs; i++) {
        const tern__output *output = &c->g->outputs[i];
        uint32_t before;
        TERN__FAIL_IF(output->value >= c->g->n_values, TERN_INTERNAL, "output %u is value %u of %u", i,
                      output->value, c->g->n_values);
        TERN__FAIL_IF(!output->name, TERN_INTERNAL, "output %u has no name", i);
        size_t length = strnlen(output->name, TERN__MAX_NAME + 1);
        TERN__FAIL_IF(length == 0 || length > TERN__MAX_NAME, TERN_INVALID_ARGUMENT,
                      "the name of output %u has %s", i,
                      length == 0 ? "no characters" : "more than 256 bytes");
        TERN_TRY(tern__names_add(names, output->name, length, i, &before));
        TERN__FAIL_IF(before != TERN__NO_ID, TERN_INVALID_ARGUMENT, "outputs %u and %u are both named \"%s\"",
                      before, i, output->name);
    }
    return TERN_OK;
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

static tern_status check_names(checker *c, tern_status (*check)(checker *c, tern__names *names))
{
    tern__names names = {0};
    tern_status status = check(c, &names);
    tern__names_free(&names);
    return status;
}

static tern_status check_all(checker *c)
{
    tern__id values = 0;
    for (tern__id i = 0; i < c->g->n_nodes; i++) {
        c->node = i;
        TERN_TRY(check_node(c, i, values));
        values += c->g->nodes[i].n_out;
    }
    c->node = TERN__NO_ID;
    TERN__FAIL_IF(values != c->g->n_values, TERN_INTERNAL, "the graph has %u values, but its nodes give %u",
                  c->g->n_values, values);
    TERN_TRY(check_names(c, check_value_names));
    TERN_TRY(check_names(c, check_leaf_names));
    return check_names(c, check_outputs);
}

tern_status tern__graph_blame(const tern_graph *g, tern__id id, tern_status status)
{
    char message[TERN__MESSAGE_MAX];
    memcpy(message, tern_last_error(), strlen(tern_last_error()) + 1);
    const char *rest = message;
    if ((unsigned)g->nodes[id].op < TERN__OP_COUNT) {
        const char *op = tern__ops[g->nodes[id].op].name;
        size_t length = strlen(op);
        if (strncmp(message, op, length) == 0 && strncmp(message + length, ": ", 2) == 0)
            rest += length + 2;
    }
    tern__label *labels = NULL;
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern__labels_make(g, &labels);
    tern__node_head_add(&s, g, labels, id);
    if (!s.failed && s.text)
        tern__fail(status, "%s: %s", s.text, rest);
    else
        tern__fail(status, "%s", message);
    tern__strbuf_free(&s);
    tern__free(labels);
    return status;
}

tern_status tern__graph_check(const tern_graph *g, tern__id *node)
{
    checker c = {.g = g, .node = TERN__NO_ID};
    tern_status status = check_all(&c);
    tern__free(c.in);
    tern__free(c.operands);
    tern__free(c.out);
    tern__free(c.writers);
    *node = c.node;
    if (status == TERN_OK || status == TERN_OUT_OF_MEMORY || c.node == TERN__NO_ID)
        return status;
    return tern__graph_blame(g, c.node, status);
}

tern_status tern_graph_verify(const tern_graph *graph)
{
    TERN__FAIL_IF(!graph, TERN_INVALID_ARGUMENT, "graph_verify: graph is NULL");
    tern__id ignored;
    return tern__graph_check(graph, &ignored);
}
