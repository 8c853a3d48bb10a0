/* one_pass.c - a compilation with one pass in it. */
#include "one_pass.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

static tern_status run(tern__compilation *c, const char *name)
{
    for (int i = 0; i < tern__n_passes; i++)
        if (strcmp(tern__passes[i].name, name) == 0)
            return tern__passes[i].run(c);
    return TERN_NOT_FOUND;
}

tern_status one_pass(tern_ctx *ctx, const char *name, tern_graph *graph, uint32_t *changes, char **notes)
{
    tern_graph spare;
    tern__arena arena;
    tern__plan plan = {0};
    tern__pass_log log = {0};
    tern__graph_init(&spare);
    tern__arena_init(&arena, 0);
    tern__compilation c = {.graph = graph,
                           .spare = &spare,
                           .options = {.level = TERN_LEVEL_HIGH},
                           .log = &log,
                           .target = ctx->device_ops->target(ctx->device),
                           .arena = &arena,
                           .plan = &plan};
    tern_status status = tern__graph_find_aliases(graph);
    if (status == TERN_OK)
        status = run(&c, name);
    if (status == TERN_OK)
        status = tern_graph_verify(graph);
    if (changes)
        *changes = c.changes;
    if (notes)
        *notes = strdup(log.notes.text ? log.notes.text : "");
    tern__strbuf_free(&log.notes);
    tern__graph_clear(&spare);
    tern__arena_free(&arena);
    return status;
}
