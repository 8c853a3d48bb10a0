/* graph_look.c - graphs as their users see them: nodes, values, attributes and what they are called in print. */
#include <string.h>

#include "base/status.h"
#include "graph/region.h"
#include "graph/text.h"
#include "graph/text_data.h"

static tern_status check_node(const tern_graph *g, tern_node node, const void *out)
{
    TERN__FAIL_IF(!g || !out, TERN_INVALID_ARGUMENT, "graph: a NULL argument");
    TERN__FAIL_IF(node >= g->n_nodes, TERN_OUT_OF_RANGE, "graph: node %u: there are %u", node, g->n_nodes);
    return TERN_OK;
}

tern_status tern_graph_node(const tern_graph *graph, tern_node node, tern_node_info *out)
{
    TERN_TRY(check_node(graph, node, out));
    const tern__gnode *n = &graph->nodes[node];
    const tern__op *op = &tern__ops[n->op];
    bool leaf = n->leaf != TERN__NO_ID;
    *out = (tern_node_info){.op = op->name,
                            .n_operands = (int)n->n_in,
                            .n_results = (int)n->n_out,
                            .n_attrs = op->n_attrs,
                            .operands = n->in,
                            .result = n->out,
                            .name = leaf && n->attrs[0].count ? n->attrs[0].text : NULL,
                            .origin = n->origin,
                            .is_leaf = leaf,
                            .has_data = leaf && graph->leaves[n->leaf].bound,
                            .removed = n->removed};
    return TERN_OK;
}

tern_status tern_graph_value(const tern_graph *graph, tern_value value, tern_value_info *out)
{
    TERN__FAIL_IF(!graph || !out, TERN_INVALID_ARGUMENT, "graph_value: a NULL argument");
    TERN__FAIL_IF(value >= graph->n_values, TERN_OUT_OF_RANGE, "graph: value %u: there are %u", value,
                  graph->n_values);
    const tern__value *v = &graph->values[value];
    *out = (tern_value_info){.name = v->name,
                             .dtype = v->type.dtype,
                             .rank = v->type.rank,
                             .shape = v->type.shape,
                             .node = v->node,
                             .result = (int)v->result};
    return TERN_OK;
}

tern_status tern_graph_output_value(const tern_graph *graph, int i, tern_value *out)
{
    TERN__FAIL_IF(!graph || !out, TERN_INVALID_ARGUMENT, "graph_output_value: a NULL argument");
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= graph->n_outputs, TERN_OUT_OF_RANGE,
                  "graph output %d: the graph has %u outputs", i, graph->n_outputs);
    *out = graph->outputs[i].value;
    return TERN_OK;
}

/* ---- attributes ---- */

static void fill_attr(const tern__attr_spec *spec, const tern__attr *attr, tern_attr_info *out)
{
    *out = (tern_attr_info){
        .name = spec->name, .is_set = tern__attr_is_set(spec, attr), .count = (int)attr->count};
    switch (spec->kind) {
    case TERN__ATTR_INT:
    case TERN__ATTR_BOOL:
    case TERN__ATTR_DTYPE:
        out->kind = spec->kind == TERN__ATTR_INT    ? TERN_ATTR_INT
                    : spec->kind == TERN__ATTR_BOOL ? TERN_ATTR_BOOL
                                                    : TERN_ATTR_DTYPE;
        out->i = attr->i;
        break;
    case TERN__ATTR_FLOAT:
        out->kind = TERN_ATTR_FLOAT;
        out->f = attr->f;
        break;
    case TERN__ATTR_INTS:
        out->kind = TERN_ATTR_INTS;
        out->ints = attr->ints;
        break;
    case TERN__ATTR_TEXT:
        out->kind = TERN_ATTR_TEXT;
        out->text = attr->text;
        break;
    case TERN__ATTR_BODY:
        out->kind = TERN_ATTR_BODY;
        out->count = attr->region ? attr->region->n_ops : 0;
        break;
    }
}

tern_status tern_graph_attr(const tern_graph *graph, tern_node node, int i, tern_attr_info *out)
{
    TERN_TRY(check_node(graph, node, out));
    const tern__op *op = &tern__ops[graph->nodes[node].op];
    TERN__FAIL_IF(i < 0 || i >= op->n_attrs, TERN_OUT_OF_RANGE, "%s: attribute %d: there are %d", op->name, i,
                  op->n_attrs);
    fill_attr(&op->attrs[i], &graph->nodes[node].attrs[i], out);
    return TERN_OK;
}

tern_status tern_graph_attr_named(const tern_graph *graph, tern_node node, const char *name,
                                  tern_attr_info *out)
{
    TERN_TRY(check_node(graph, node, out));
    TERN__FAIL_IF(!name, TERN_INVALID_ARGUMENT, "graph_attr_named: the name is NULL");
    const tern__op *op = &tern__ops[graph->nodes[node].op];
    for (int i = 0; i < op->n_attrs; i++)
        if (strcmp(op->attrs[i].name, name) == 0)
            return tern_graph_attr(graph, node, i, out);
    return tern__fail(TERN_NOT_FOUND, "%s has no attribute '%s'", op->name, name);
}

/* ---- in print ---- */

tern_status tern_graph_label(const tern_graph *graph, tern_value value, const char **out)
{
    const char *const *labels;
    TERN__FAIL_IF(!graph || !out, TERN_INVALID_ARGUMENT, "graph_label: a NULL argument");
    TERN__FAIL_IF(value >= graph->n_values, TERN_OUT_OF_RANGE, "graph: value %u: there are %u", value,
                  graph->n_values);
    TERN_TRY(tern__graph_labels(graph, &labels));
    *out = labels[value];
    return TERN_OK;
}

static void add_leaf(tern__strbuf *s, const tern_graph *g, const tern__gnode *node)
{
    const tern__attr *name = &node->attrs[0];
    const tern__leaf *leaf = &g->leaves[node->leaf];
    const tern__type *type = &g->values[node->out].type;
    tern__strbuf_add(s, tern__ops[node->op].name);
    if (name->count > 0) {
        tern__strbuf_add(s, " ");
        tern__quoted_add(s, name->text, name->count);
    }
    if (leaf->storage && !leaf->storage->deferred && tern__type_numel(type) <= TERN__MAX_PRINTED) {
        tern__strbuf_add(s, " ");
        tern__data_add(s, type, &leaf->layout, leaf->storage);
    }
}

static void add_body(tern__strbuf *s, const tern__region *r)
{
    tern__strbuf_add(s, " {");
    for (int i = 0; i < r->n_ops; i++)
        tern__strbuf_addf(s, "%s%s", i ? " + " : "", tern__ops[r->ops[i].op].name);
    tern__strbuf_add(s, "}");
}

tern_status tern_graph_call_text(const tern_graph *graph, tern_node node, char **out)
{
    const char *const *labels;
    TERN_TRY(check_node(graph, node, out));
    TERN_TRY(tern__graph_labels(graph, &labels));
    const tern__gnode *n = &graph->nodes[node];
    const tern__op *op = &tern__ops[n->op];
    tern__strbuf s = TERN__STRBUF_EMPTY;
    if (n->leaf != TERN__NO_ID) {
        add_leaf(&s, graph, n);
        return tern__strbuf_take(&s, out);
    }
    tern__strbuf_addf(&s, "%s(", op->name);
    for (uint32_t i = 0; i < n->n_in; i++)
        tern__strbuf_addf(&s, "%s%s", i ? ", " : "", labels[n->in[i]]);
    tern__strbuf_add(&s, ")");
    if (n->op == TERN__OP_fused && n->attrs[0].region)
        add_body(&s, n->attrs[0].region);
    else
        tern__attrs_add(&s, op, n->attrs);
    return tern__strbuf_take(&s, out);
}
