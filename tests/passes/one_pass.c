/* one_pass.c - a compilation with one pass in it. */
#include "one_pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "graph/text.h"
#include "runtime/context.h"

static const tern__pass *find(const char *name)
{
    for (int i = 0; i < tern__n_passes; i++)
        if (strcmp(tern__passes[i].name, name) == 0)
            return &tern__passes[i];
    return NULL;
}

/* A pass of the plan needs what is always made before it. */
static tern_status run(tern__compilation *c, const tern__pass *pass)
{
    tern__pass_log *log = c->log;
    c->log = NULL;
    for (const tern__pass *p = tern__passes; p < pass && pass->kind != TERN__PASS_GRAPH; p++)
        if (p->kind == TERN__PASS_PLAN)
            TERN_TRY(p->run(c));
    c->log = log;
    c->changes = 0;
    return pass->run(c);
}

/* ---- the plan as text ---- */

static void add_result(tern__strbuf *s, const tern__compilation *c, const tern__label *labels,
                       const tern__id *moved, tern__id value)
{
    const tern__id root = c->places[value].root;
    tern__label_add(s, c->graph, labels, moved[value]);
    if (root != value) {
        tern__strbuf_add(s, " in ");
        tern__label_add(s, c->graph, labels, moved[root]);
    }
    if (c->homes && c->homes[root].space == TERN__SPACE_ARENA)
        tern__strbuf_addf(s, " at %zu", c->homes[root].offset);
}

/* "# step 2: exp writes %y in %x at 64, with rowprogram on 1" as far as it is known. */
static void add_plan(tern__strbuf *s, const tern__compilation *c, const tern__label *labels,
                     const tern__id *moved, const tern__gnode *nodes)
{
    uint32_t step = 0;
    for (uint32_t i = 0; i < c->graph->n_nodes; i++) {
        const tern__gnode *node = &nodes[c->order[i]];
        if (!c->needs_step[c->order[i]])
            continue;
        tern__strbuf_addf(s, "# step %u: %s writes ", step, tern__ops[node->op].name);
        for (uint32_t r = 0; r < node->n_out; r++) {
            tern__strbuf_add(s, r ? ", " : "");
            add_result(s, c, labels, moved, node->out + r);
        }
        if (c->plan->steps)
            tern__strbuf_addf(s, ", with %s", c->plan->steps[step].kernel_name);
        tern__strbuf_add(s, "\n");
        step++;
    }
}

static tern_status describe(tern__compilation *c, char **out)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern__label *labels = NULL;
    const tern__id *moved;
    tern__gnode *nodes = tern__arena_alloc(c->arena, c->graph->n_nodes * sizeof *nodes);
    if (!nodes)
        return TERN_OUT_OF_MEMORY;
    memcpy(nodes, c->graph->nodes, c->graph->n_nodes * sizeof *nodes);
    TERN_TRY(tern__graph_reorder(c->graph, c->order, &moved));
    TERN_TRY(tern__labels_make(c->graph, &labels));
    if (c->places)
        add_plan(&s, c, labels, moved, nodes);
    *out = strdup(s.text ? s.text : "");
    tern__free(labels);
    tern__strbuf_free(&s);
    return TERN_OK;
}

tern_status one_pass(tern_ctx *ctx, const char *name, const tern_compile_options *options, tern_graph *graph,
                     one_result *out)
{
    const tern__pass *pass = find(name);
    tern_graph spare;
    tern__arena arena;
    tern__plan plan = {0};
    tern__pass_log log = {0};
    tern__report report;
    tern__strbuf notes = TERN__STRBUF_EMPTY;
    if (!pass)
        return TERN_NOT_FOUND;
    tern__graph_init(&spare);
    tern__arena_init(&arena, 0);
    tern__report_init(&report);
    tern__compilation c = {.graph = graph,
                           .spare = &spare,
                           .report = &report,
                           .log = &log,
                           .target = ctx->device_ops->target(ctx->device),
                           .arena = &arena,
                           .plan = &plan};
    *out = (one_result){0};
    tern_status status = tern__compile_options_from(options, &c.options);
    if (status == TERN_OK)
        status = tern__graph_find_aliases(graph);
    if (status == TERN_OK)
        status = run(&c, pass);
    if (status == TERN_OK && pass->kind != TERN__PASS_GRAPH)
        status = describe(&c, &out->plan);
    else
        out->plan = strdup("");
    if (status == TERN_OK)
        status = tern_graph_verify(graph);
    out->changes = c.changes;
    for (size_t i = 0; i < log.n_notes; i++)
        tern__strbuf_addf(&notes, "%s\n", log.notes[i]);
    out->notes = strdup(notes.text ? notes.text : "");
    tern__strbuf_free(&notes);
    tern__free(log.notes);
    tern__report_free(&report);
    tern__compile_options_drop(&c.options);
    tern__graph_clear(&spare);
    tern__arena_free(&arena);
    return status;
}

void one_result_free(one_result *result)
{
    free(result->notes);
    free(result->plan);
}
