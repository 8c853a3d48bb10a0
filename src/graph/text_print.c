/* text_print.c - a graph as text (docs/graph-text.md), and the pieces that others print too. */
#include "graph/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/text_data.h"

void tern__type_add(tern__strbuf *s, const tern__type *type)
{
    char text[TERN__TYPE_TEXT];
    tern__strbuf_add(s, tern__type_text(type, text));
}

void tern__quoted_add(tern__strbuf *s, const char *text, size_t length)
{
    tern__strbuf_add(s, "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            tern__strbuf_addf(s, "\\%c", c);
        else if (c == '\n' || c == '\t' || c == '\r')
            tern__strbuf_add(s, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        else if (c < ' ' || c == 0x7f)
            tern__strbuf_addf(s, "\\x%02x", c);
        else
            tern__strbuf_add_n(s, text + i, 1);
    }
    tern__strbuf_add(s, "\"");
}

bool tern__attr_is_set(const tern__attr_spec *spec, const tern__attr *attr)
{
    switch (spec->kind) {
    case TERN__ATTR_FLOAT: /* by its bits: 0 is not -0 */
        return memcmp(&attr->f, &spec->fallback, sizeof attr->f) != 0;
    case TERN__ATTR_INTS:
    case TERN__ATTR_TEXT:
        return attr->count > 0;
    case TERN__ATTR_BODY:
        return false;
    default:
        return attr->i != (int64_t)spec->fallback;
    }
}

void tern__attr_add(tern__strbuf *s, tern__attr_kind kind, const tern__attr *attr)
{
    char number[TERN__NUMBER_TEXT];
    switch (kind) {
    case TERN__ATTR_INT:
        tern__strbuf_addf(s, "%" PRId64, attr->i);
        break;
    case TERN__ATTR_FLOAT:
        tern__strbuf_add(s, tern__number_text(TERN_F64, attr->f, number));
        break;
    case TERN__ATTR_BOOL:
        tern__strbuf_add(s, attr->i ? "true" : "false");
        break;
    case TERN__ATTR_INTS:
        tern__strbuf_add(s, "[");
        for (uint32_t i = 0; i < attr->count; i++)
            tern__strbuf_addf(s, "%s%" PRId64, i ? "," : "", attr->ints[i]);
        tern__strbuf_add(s, "]");
        break;
    case TERN__ATTR_DTYPE:
        tern__strbuf_add(s, tern_dtype_name((tern_dtype)attr->i));
        break;
    case TERN__ATTR_TEXT:
        tern__quoted_add(s, attr->text, attr->count);
        break;
    case TERN__ATTR_BODY: /* a block of its own behind the attributes: text_region.c */
        break;
    }
}

static void add_quoted(tern__strbuf *s, const char *text)
{
    tern__quoted_add(s, text, strlen(text));
}

/* input "x" f32[2] {1, 2} */
static void add_leaf(tern__strbuf *s, const tern_graph *g, const tern__gnode *node)
{
    const tern__type *type = &g->values[node->out].type;
    const tern__leaf *leaf = &g->leaves[node->leaf];
    const tern__attr *name = &node->attrs[0];
    tern__strbuf_addf(s, "%s ", tern__ops[node->op].name);
    if (name->count > 0) {
        tern__quoted_add(s, name->text, name->count);
        tern__strbuf_add(s, " ");
    }
    tern__type_add(s, type);
    if (leaf->storage && !leaf->storage->deferred && tern__type_numel(type) <= TERN__MAX_PRINTED) {
        tern__strbuf_add(s, " ");
        tern__data_add(s, type, &leaf->layout, leaf->storage);
    }
}

void tern__attrs_add(tern__strbuf *s, const tern__op *op, const tern__attr *attrs)
{
    bool any = false;
    for (int i = 0; i < op->n_attrs; i++) {
        if (!tern__attr_is_set(&op->attrs[i], &attrs[i]))
            continue;
        tern__strbuf_addf(s, "%s%s=", any ? ", " : " {", op->attrs[i].name);
        tern__attr_add(s, op->attrs[i].kind, &attrs[i]);
        any = true;
    }
    tern__strbuf_add(s, any ? "}" : "");
}

/* topk(%0) {k=4} : f32[32,4], i64[32,4] */
static void add_call(tern__strbuf *s, const tern_graph *g, const tern__label *labels, const tern__gnode *node)
{
    const tern__op *op = &tern__ops[node->op];
    tern__strbuf_addf(s, "%s(", op->name);
    for (uint32_t i = 0; i < node->n_in; i++) {
        tern__strbuf_add(s, i ? ", " : "");
        tern__label_add(s, g, labels, node->in[i]);
    }
    tern__strbuf_add(s, ")");
    tern__attrs_add(s, op, node->attrs);
    if (node->op == TERN__OP_fused && node->attrs[0].region)
        tern__region_add(s, g, labels, node);
    for (uint32_t i = 0; i < node->n_out; i++) {
        tern__strbuf_add(s, i ? ", " : " : ");
        tern__type_add(s, &g->values[node->out + i].type);
    }
}

static void add_node(tern__strbuf *s, const tern_graph *g, const tern__label *labels, const tern__gnode *node)
{
    tern__strbuf_add(s, "  ");
    for (uint32_t i = 0; i < node->n_out; i++) {
        tern__strbuf_add(s, i ? ", " : "");
        tern__label_add(s, g, labels, node->out + i);
    }
    tern__strbuf_add(s, " = ");
    if (node->leaf < g->n_leaves)
        add_leaf(s, g, node);
    else
        add_call(s, g, labels, node);
    if (node->origin) {
        tern__strbuf_add(s, " from ");
        add_quoted(s, node->origin);
    }
    tern__strbuf_add(s, "\n");
}

static void add_outputs(tern__strbuf *s, const tern_graph *g, const tern__label *labels)
{
    char number[16];
    tern__strbuf_add(s, "  return");
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        tern__strbuf_add(s, i ? ", " : " ");
        tern__label_add(s, g, labels, g->outputs[i].value);
        snprintf(number, sizeof number, "%u", i);
        if (strcmp(g->outputs[i].name, number) != 0) {
            tern__strbuf_add(s, " as ");
            add_quoted(s, g->outputs[i].name);
        }
    }
    tern__strbuf_add(s, "\n");
}

tern_status tern_graph_print(const tern_graph *graph, char **out)
{
    TERN__FAIL_IF(!graph || !out, TERN_INVALID_ARGUMENT, "graph_print: a NULL argument");
    tern__label *labels;
    TERN_TRY(tern__labels_make(graph, &labels));
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern__strbuf_add(&s, "graph ");
    if (strcmp(graph->name, "graph") != 0) {
        if (tern__is_identifier(graph->name, strlen(graph->name)))
            tern__strbuf_add(&s, graph->name);
        else
            add_quoted(&s, graph->name);
        tern__strbuf_add(&s, " ");
    }
    tern__strbuf_add(&s, "{\n");
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        add_node(&s, graph, labels, &graph->nodes[i]);
    add_outputs(&s, graph, labels);
    tern__strbuf_add(&s, "}\n");
    tern__free(labels);
    return tern__strbuf_take(&s, out);
}
