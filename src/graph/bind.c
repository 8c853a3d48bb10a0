/* bind.c - data for leaves of a graph that came without. */
#include <string.h>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/node.h"

static tern__leaf *find_leaf(tern_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_leaves; i++)
        if (strcmp(g->nodes[g->leaves[i].node].attrs[TERN__ATTR_input_name].text, name) == 0)
            return &g->leaves[i];
    return NULL;
}

tern_status tern_graph_bind(tern_graph *graph, const char *name, tern_tensor *t)
{
    TERN__FAIL_IF(!graph || !name || !t, TERN_INVALID_ARGUMENT,
                  "graph_bind: needs a graph, a name and a tensor");
    TERN_TRY(tern__tensor_check(t));
    tern__leaf *leaf = name[0] ? find_leaf(graph, name) : NULL;
    TERN__FAIL_IF(!leaf, TERN_NOT_FOUND, "graph_bind: no input or constant is called '%s'", name);
    tern__gnode *node = &graph->nodes[leaf->node];
    TERN__FAIL_IF(node->op == TERN__OP_state || leaf->bound, TERN_STATE, "graph_bind: %s '%s' %s",
                  tern__ops[node->op].name, name,
                  node->op == TERN__OP_state ? "changes: it cannot be a constant" : "has its data");
    const tern__type *type = &graph->values[node->out].type;
    char want[TERN__TYPE_TEXT], given[TERN__TYPE_TEXT];
    TERN__FAIL_IF(!tern__type_equal(type, &t->type), TERN_SHAPE, "graph_bind: '%s' is %s, got %s", name,
                  tern__type_text(type, want), tern__type_text(&t->type, given));
    TERN__FAIL_IF(!t->constant || !t->storage, TERN_STATE,
                  "graph_bind: the tensor for '%s' is no constant: freeze it (tern_freeze)", name);
    node->op = TERN__OP_constant;
    leaf->storage = t->storage;
    tern__storage_retain(t->storage);
    leaf->layout = t->layout;
    leaf->bound = true;
    return TERN_OK;
}
