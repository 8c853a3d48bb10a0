/* edit_finish.c - an edited graph in topological order again, and edits that users begin themselves. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/edit.h"
#include "graph/text.h"

/* ---- in order again ---- */

enum { WAITING, OPEN, DONE };

typedef struct sorter {
    const tern_graph *g;
    uint8_t *state;  /* (n_nodes) */
    tern__id *order; /* (n_nodes) */
    uint32_t n_order;
    tern__id *path; /* nodes that wait for their operands, each for the one behind it */
    uint32_t n_path;
} sorter;

/* "%a -> %b -> %a": who needs whom. */
static tern_status fail_cycle(const sorter *s, tern__id node)
{
    tern__label *labels = NULL;
    tern__strbuf text = TERN__STRBUF_EMPTY;
    uint32_t from = s->n_path, shown = 0;
    while (from > 0 && s->path[from - 1] != node)
        from--;
    tern__labels_make(s->g, &labels); /* without it values go by their numbers */
    tern__label_add(&text, s->g, labels, s->g->nodes[node].out);
    for (uint32_t i = s->n_path; i-- > from - 1 && shown < 8; shown++) {
        tern__strbuf_add(&text, " -> ");
        tern__label_add(&text, s->g, labels, s->g->nodes[s->path[i]].out);
    }
    tern_status status = tern__fail(TERN_INVALID_ARGUMENT, "edit: values need each other in a circle: %s%s",
                                    text.text && !text.failed ? text.text : "(no memory to name them)",
                                    shown == 8 ? " ..." : "");
    tern__strbuf_free(&text);
    tern__free(labels);
    return status;
}

/* Old nodes keep their order; new ones come before their first reader. */
static tern_status sort_from(sorter *s, tern__id root)
{
    s->path[s->n_path++] = root;
    while (s->n_path > 0) {
        tern__id n = s->path[s->n_path - 1];
        const tern__gnode *node = &s->g->nodes[n];
        s->state[n] = OPEN;
        uint32_t i = 0;
        while (i < node->n_in && s->state[s->g->values[node->in[i]].node] == DONE)
            i++;
        if (i == node->n_in) {
            s->state[n] = DONE;
            s->order[s->n_order++] = n;
            s->n_path--;
            continue;
        }
        tern__id next = s->g->values[node->in[i]].node;
        if (s->state[next] == OPEN)
            return fail_cycle(s, next);
        s->path[s->n_path++] = next;
    }
    return TERN_OK;
}

static tern_status sort(sorter *s)
{
    for (tern__id n = 0; n < s->g->n_nodes; n++)
        if (s->state[n] == WAITING && !s->g->nodes[n].removed)
            TERN_TRY(sort_from(s, n));
    return TERN_OK;
}

static tern_status write_nodes(const sorter *s, tern__id *map, tern_graph *to)
{
    const tern_graph *g = s->g;
    TERN_TRY(tern__graph_reserve(to, s->n_order, g->n_values));
    for (uint32_t k = 0; k < s->n_order; k++) {
        const tern__gnode *node = &g->nodes[s->order[k]];
        tern__id first, *in = tern__arena_alloc(&to->arena, node->n_in * sizeof *in);
        if (!in)
            return tern__out_of_memory(node->n_in * sizeof *in);
        for (uint32_t i = 0; i < node->n_in; i++)
            in[i] = map[node->in[i]];
        TERN_TRY(tern__graph_adopt(to, g, s->order[k], in, &first));
        for (uint32_t i = 0; i < node->n_out; i++)
            map[node->out + i] = first + i;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        TERN_TRY(tern__graph_add_output(to, map[g->outputs[i].value], g->outputs[i].name));
    return TERN_OK;
}

static tern_status write_graph(tern_edit *e, const sorter *s, tern__id *map, tern_graph *to)
{
    tern_graph *g = e->graph;
    tern__arena_free(&to->arena);
    to->arena = g->arena;
    tern__arena_init(&g->arena, 0);
    to->name = g->name;
    tern_status status = write_nodes(s, map, to);
    if (status == TERN_OK)
        status = tern_graph_verify(to);
    if (status != TERN_OK) { /* what was written is dropped; the arena goes back to its graph */
        g->arena = to->arena;
        tern__arena_init(&to->arena, 0);
        tern__graph_clear(to);
    }
    return status;
}

static sorter sorter_for(const tern_graph *g)
{
    size_t n = (size_t)g->n_nodes + 1;
    return (sorter){.g = g,
                    .state = tern__alloc_zero(n, 1),
                    .order = tern__alloc(n * sizeof(tern__id)),
                    .path = tern__alloc(n * sizeof(tern__id))};
}

static void sorter_free(sorter *s)
{
    tern__free(s->state);
    tern__free(s->order);
    tern__free(s->path);
}

tern_status tern__edit_check(const tern_edit *e)
{
    sorter s = sorter_for(e->graph);
    tern_status status =
        s.state && s.order && s.path ? sort(&s) : tern__out_of_memory(e->graph->n_nodes * sizeof(tern__id));
    sorter_free(&s);
    return status;
}

tern_status tern__edit_put_in_order(tern_edit *e, tern_graph *to)
{
    const tern_graph *g = e->graph;
    sorter s = sorter_for(g);
    tern__id *map = tern__alloc(((size_t)g->n_values + 1) * sizeof *map);
    tern_status status = s.state && s.order && s.path && map
                             ? sort(&s)
                             : tern__out_of_memory(((size_t)g->n_values + 1) * sizeof *map);
    if (status == TERN_OK)
        status = write_graph(e, &s, map, to);
    sorter_free(&s);
    tern__free(map);
    return status;
}

/* ---- edits of their own ---- */

tern_status tern_edit_begin(const tern_graph *graph, tern_edit **out)
{
    TERN__FAIL_IF(!graph || !out, TERN_INVALID_ARGUMENT, "edit_begin: a NULL argument");
    tern_edit *e = tern__alloc(sizeof *e);
    if (!e)
        return tern__out_of_memory(sizeof *e);
    tern_graph copy;
    tern__graph_init(&copy);
    tern_status status = tern__graph_clone(graph, &copy);
    if (status == TERN_OK)
        status = tern__edit_open(e, &copy);
    if (status != TERN_OK) {
        tern__graph_clear(&copy);
        tern__free(e);
        return status;
    }
    e->own = copy;
    e->graph = &e->own;
    *out = e;
    return TERN_OK;
}

const tern_graph *tern_edit_graph(const tern_edit *edit)
{
    return edit ? edit->graph : NULL;
}

tern_status tern_edit_finish(tern_edit *edit, tern_graph **out)
{
    TERN__FAIL_IF(!edit || !out, TERN_INVALID_ARGUMENT, "edit_finish: a NULL argument");
    TERN__FAIL_IF(edit->graph != &edit->own, TERN_STATE,
                  "edit_finish: the pass that runs ends this edit by returning");
    tern_graph *g;
    TERN_TRY(tern__graph_new(&g));
    tern_status status = tern__edit_put_in_order(edit, g);
    if (status != TERN_OK) {
        tern_graph_free(g);
        return status;
    }
    /* Leaves are bound by their place in this graph from now on. */
    for (uint32_t i = 0; i < g->n_leaves; i++)
        g->leaves[i].source = g->leaves[i].alias = i;
    status = tern__graph_find_aliases(g);
    if (status != TERN_OK) {
        tern_graph_free(g);
        return status;
    }
    tern_edit_free(edit);
    *out = g;
    return TERN_OK;
}

void tern_edit_free(tern_edit *edit)
{
    if (!edit || edit->graph != &edit->own)
        return;
    tern__edit_close(edit);
    tern__graph_clear(&edit->own);
    tern__free(edit);
}
