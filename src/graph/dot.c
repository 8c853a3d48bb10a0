/* dot.c - a graph as a picture: text for Graphviz (`dot -Tsvg`). Leaves are rounded and coloured by kind, edges carry
 * the type of what flows, outputs stand at the bottom. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/region.h"
#include "graph/text.h"

/* clang-format off */
static const char HEADER[] =
    "  graph [rankdir=TB, nodesep=0.35, ranksep=0.45, fontname=\"Helvetica\", fontsize=13, labelloc=t]\n"
    "  node  [shape=box, style=filled, fillcolor=\"#f4f4f5\", color=\"#71717a\", fontname=\"Helvetica\", fontsize=11,"
    " height=0.35, margin=\"0.14,0.06\"]\n"
    "  edge  [color=\"#71717a\", fontcolor=\"#52525b\", fontname=\"Helvetica\", fontsize=9, arrowsize=0.6]\n";

/* Fill and border of the nodes that are not plain operations. */
static const char *const INPUT    = "style=\"filled,rounded\", fillcolor=\"#dbeafe\", color=\"#3b82f6\"";
static const char *const CONSTANT = "style=\"filled,rounded\", fillcolor=\"#dcfce7\", color=\"#22a35a\"";
static const char *const STATE    = "style=\"filled,rounded\", fillcolor=\"#fef3c7\", color=\"#d97706\"";
static const char *const WRITE    = "fillcolor=\"#fef3c7\", color=\"#d97706\"";
static const char *const OUTPUT   = "style=\"filled,rounded,bold\", fillcolor=\"#f3e8ff\", color=\"#9333ea\"";
/* clang-format on */

/* One graph of a drawing. Two of them in one drawing need different names for their nodes. */
typedef struct drawing {
    tern__strbuf *s;
    const tern_graph *g;
    const tern__label *labels;
    const char *prefix; /* of nodes: "" or "a_" */
} drawing;

/* How many bytes the UTF-8 character at `text` takes; 0 if it is none. */
static size_t character_bytes(const char *text, size_t length)
{
    unsigned char c = (unsigned char)text[0];
    size_t n = c < 0x80                ? 1
               : c >= 0xc2 && c < 0xe0 ? 2
               : (c & 0xf0) == 0xe0    ? 3
               : c >= 0xf0 && c < 0xf5 ? 4
                                       : 0;
    if (n > length)
        return 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Inside a quoted label: Graphviz gives a meaning to quotes, backslashes and entities, and wants UTF-8. */
static void add_escaped(tern__strbuf *s, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t n = character_bytes(text + i, length - i);
        unsigned char c = (unsigned char)text[i];
        if (n == 0 || c < ' ' || c == 0x7f)
            tern__strbuf_addf(s, "\\\\x%02x", c);
        else if (c == '"' || c == '\\')
            tern__strbuf_addf(s, "\\%c", c);
        else if (c == '&')
            tern__strbuf_add(s, "&amp;");
        else
            tern__strbuf_add_n(s, text + i, n);
        i += n ? n : 1;
    }
}

static void add_text(tern__strbuf *s, const char *text)
{
    add_escaped(s, text, strlen(text));
}

/* Word `i` of a list such as "values indices"; if there are any number of them, "xs" and [i]. */
static void add_word(tern__strbuf *s, const char *words, uint32_t i, bool any)
{
    for (uint32_t left = i; left > 0 && strchr(words, ' '); left--)
        words = strchr(words, ' ') + 1;
    tern__strbuf_add_n(s, words, strcspn(words, " "));
    if (any)
        tern__strbuf_addf(s, "[%u]", i);
}

static const char *style_of(const tern__gnode *node)
{
    switch (node->op) {
    case TERN__OP_input:
        return INPUT;
    case TERN__OP_constant:
        return CONSTANT;
    case TERN__OP_state:
        return STATE;
    default:
        return tern__ops[node->op].flags & TERN__WRITES ? WRITE : NULL;
    }
}

/* The name in bold would need HTML labels, whose escapes are other ones; a line of its own does as well. */
static void add_leaf(tern__strbuf *s, const tern_graph *g, const tern__label *labels, const tern__gnode *node)
{
    const tern__attr *name = &node->attrs[0];
    if (name->count > 0)
        add_escaped(s, name->text, name->count);
    else
        tern__label_add(s, g, labels, node->out);
    tern__strbuf_addf(s, "\\n%s ", tern__ops[node->op].name);
    tern__type_add(s, &g->values[node->out].type);
}

static void add_op(tern__strbuf *s, const tern__op *op, const tern__attr *attrs)
{
    tern__strbuf_add(s, op->name);
    for (int i = 0; i < op->n_attrs; i++) {
        if (!tern__attr_is_set(&op->attrs[i], &attrs[i]))
            continue;
        tern__strbuf value = TERN__STRBUF_EMPTY;
        tern__attr_add(&value, op->attrs[i].kind, &attrs[i]);
        tern__strbuf_addf(s, "\\n%s = ", op->attrs[i].name);
        if (value.text)
            add_text(s, value.text);
        s->failed = s->failed || value.failed;
        tern__strbuf_free(&value);
    }
}

static void add_call(tern__strbuf *s, const tern__gnode *node)
{
    add_op(s, &tern__ops[node->op], node->attrs);
    if (node->origin) {
        tern__strbuf_add(s, "\\n(");
        add_text(s, node->origin);
        tern__strbuf_add(s, ")");
    }
}

static const tern__region *body_of(const tern__gnode *node)
{
    return node->op == TERN__OP_fused ? node->attrs[0].region : NULL;
}

/* The ops of a fused node, in a box. */
static void add_region(const drawing *d, const tern__region *r, uint32_t id)
{
    char domain[TERN__TYPE_TEXT];
    tern__strbuf *s = d->s;
    tern__strbuf_addf(
        s,
        "  subgraph cluster_%s%u {\n    label=\"fused over %s\"; fontname=\"Helvetica\"; fontsize=10;"
        " style=\"rounded,filled\"; color=\"#0d9488\"; fillcolor=\"#f0fdfa\"\n",
        d->prefix, id, tern__shape_text(r->domain.rank, r->domain.shape, domain));
    for (int k = 0; k < r->n_ops; k++) {
        tern__strbuf_addf(s, "    %sn%u_%d [label=\"", d->prefix, id, k);
        add_op(s, &tern__ops[r->ops[k].op], r->ops[k].attrs);
        tern__strbuf_add(s, "\"]\n");
    }
    tern__strbuf_add(s, "  }\n");
}

/* The op of a region that gives a value; -1: it comes from outside. */
static int maker_in(const tern__region *r, uint16_t value)
{
    for (int k = 0; k < r->n_ops; k++)
        if (value >= r->ops[k].out && value < r->ops[k].out + r->ops[k].n_out)
            return k;
    return -1;
}

/* Where a value comes from: "n3", or "n3_1" inside a box. */
static void add_source(const drawing *d, tern__id value)
{
    const tern_graph *g = d->g;
    const tern__value *v = &g->values[value];
    const tern__region *r = body_of(&g->nodes[v->node]);
    tern__strbuf_addf(d->s, "%sn%u", d->prefix, v->node);
    if (r && v->result < r->n_out)
        tern__strbuf_addf(d->s, "_%d", maker_in(r, r->out[v->result]));
}

static void add_node(const drawing *d, uint32_t id)
{
    const tern_graph *g = d->g;
    const tern__gnode *node = &g->nodes[id];
    tern__strbuf *s = d->s;
    if (body_of(node)) {
        add_region(d, body_of(node), id);
        return;
    }
    tern__strbuf_addf(s, "  %sn%u [label=\"", d->prefix, id);
    if (node->leaf < g->n_leaves)
        add_leaf(s, g, d->labels, node);
    else
        add_call(s, node);
    tern__strbuf_add(s, "\", tooltip=\"");
    tern__node_head_add(s, g, d->labels, id);
    const char *style = style_of(node);
    tern__strbuf_addf(s, "\"%s%s]\n", style ? ", " : "", style ? style : "");
}

/* What flows: which of several results it is, which operand it becomes where that matters, and its type:
 * "values -> x f32[4,2]". */
static void add_edge_label(tern__strbuf *s, const tern_graph *g, tern__id value, const tern__op *reader,
                           uint32_t i)
{
    const tern__value *v = &g->values[value];
    const tern__gnode *from = &g->nodes[v->node];
    bool named = reader && reader->max_in != 1 && !(reader->flags & TERN__COMMUTATIVE);
    tern__strbuf_add(s, "label=\" ");
    if (from->n_out > 1 && !body_of(from)) {
        add_word(s, tern__ops[from->op].results, v->result, tern__ops[from->op].n_out < 0);
        tern__strbuf_add(s, named ? " \xe2\x86\x92 " : " "); /* an arrow */
    }
    if (named) {
        add_word(s, reader->inputs, i, reader->max_in < 0);
        tern__strbuf_add(s, " ");
    }
    tern__type_add(s, &v->type);
    tern__strbuf_add(s, "\"");
}

/* Edges into and inside a box. */
static void add_region_edges(const drawing *d, const tern__gnode *node, uint32_t id)
{
    tern__strbuf *s = d->s;
    const tern__region *r = body_of(node);
    for (int k = 0; k < r->n_ops; k++)
        for (int i = 0; i < r->ops[k].n_in; i++) {
            uint16_t value = r->ops[k].in[i];
            tern__strbuf_add(s, "  ");
            if (value < node->n_in)
                add_source(d, node->in[value]);
            else
                tern__strbuf_addf(s, "%sn%u_%d", d->prefix, id, maker_in(r, value));
            tern__strbuf_addf(s, " -> %sn%u_%d [label=\" ", d->prefix, id, k);
            tern__type_add(s, &r->types[value]);
            tern__strbuf_add(s, "\"]\n");
        }
}

static void add_edges(const drawing *d, uint32_t id)
{
    const tern_graph *g = d->g;
    tern__strbuf *s = d->s;
    const tern__gnode *node = &g->nodes[id];
    if (body_of(node)) {
        add_region_edges(d, node, id);
        return;
    }
    for (uint32_t i = 0; i < node->n_in; i++) {
        tern__strbuf_add(s, "  ");
        add_source(d, node->in[i]);
        tern__strbuf_addf(s, " -> %sn%u [", d->prefix, id);
        add_edge_label(s, g, node->in[i], &tern__ops[node->op], i);
        tern__strbuf_add(s, "]\n");
    }
}

static void add_outputs(const drawing *d)
{
    const tern_graph *g = d->g;
    tern__strbuf *s = d->s;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        tern__strbuf_addf(s, "  %so%u [label=\"", d->prefix, i);
        add_text(s, g->outputs[i].name);
        tern__strbuf_add(s, "\\noutput ");
        tern__type_add(s, &g->values[g->outputs[i].value].type);
        tern__strbuf_addf(s, "\", %s]\n  ", OUTPUT);
        add_source(d, g->outputs[i].value);
        tern__strbuf_addf(s, " -> %so%u [", d->prefix, i);
        add_edge_label(s, g, g->outputs[i].value, NULL, 0);
        tern__strbuf_add(s, "]\n");
    }
}

static tern_status add_graph(tern__strbuf *s, const tern_graph *g, const char *prefix)
{
    tern__label *labels;
    TERN_TRY(tern__labels_make(g, &labels));
    drawing d = {.s = s, .g = g, .labels = labels, .prefix = prefix};
    for (uint32_t i = 0; i < g->n_nodes; i++)
        add_node(&d, i);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        add_edges(&d, i);
    add_outputs(&d);
    tern__free(labels);
    return TERN_OK;
}

static void begin(tern__strbuf *s, const char *name)
{
    tern__strbuf_add(s, "digraph \"");
    add_text(s, name);
    tern__strbuf_add(s, "\" {\n");
    tern__strbuf_add(s, HEADER);
}

static tern_status finish(tern__strbuf *s, tern_status status, char **out)
{
    tern__strbuf_add(s, "}\n");
    if (status == TERN_OK)
        return tern__strbuf_take(s, out);
    tern__strbuf_free(s);
    return status;
}

tern_status tern_graph_dot(const tern_graph *graph, char **out)
{
    TERN__FAIL_IF(!graph || !out, TERN_INVALID_ARGUMENT, "graph_dot: a NULL argument");
    tern__strbuf s = TERN__STRBUF_EMPTY;
    begin(&s, graph->name);
    return finish(&s, add_graph(&s, graph, ""), out);
}

static tern_status add_side(tern__strbuf *s, const tern_graph *g, const char *title, const char *prefix)
{
    tern__strbuf_addf(
        s,
        "  subgraph cluster_%s {\n  label=\"%s: %u nodes\"; fontname=\"Helvetica\"; fontsize=13;"
        " style=\"rounded\"; color=\"#a1a1aa\"; margin=16\n",
        title, title, g->n_nodes);
    TERN_TRY(add_graph(s, g, prefix));
    tern__strbuf_add(s, "  }\n");
    return TERN_OK;
}

tern_status tern__graph_dot_pair(const tern_graph *before, const tern_graph *after, char **out)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    begin(&s, before->name);
    tern_status status = add_side(&s, before, "recorded", "a_");
    if (status == TERN_OK)
        status = add_side(&s, after, "compiled", "b_");
    return finish(&s, status, out);
}
