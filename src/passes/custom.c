/* custom.c - passes of the caller's: run on an edit of the graph, then verified. */
#include "passes/custom.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "passes/rewrite.h"

/* ---- what outputs share memory with ---- */

/* The value in whose buffer `value` lies, as far as the graph tells. */
static tern__id base_of(const tern_graph *g, tern__id value)
{
    const tern__gnode *node = &g->nodes[g->values[value].node];
    while ((tern__ops[node->op].flags & (TERN__VIEW | TERN__WRITES)) && node->n_in > 0) {
        value = node->in[0];
        node = &g->nodes[g->values[value].node];
    }
    return value;
}

/* Leaves by what they were when the graph was given; other buffers by the first output that lies in them. */
static uint64_t sharing_of(const tern_graph *g, uint32_t output)
{
    tern__id base = base_of(g, g->outputs[output].value);
    uint32_t leaf = g->nodes[g->values[base].node].leaf;
    if (leaf != TERN__NO_ID)
        return (uint64_t)1 << 32 | g->leaves[leaf].source;
    for (uint32_t i = 0; i < output; i++)
        if (base_of(g, g->outputs[i].value) == base)
            return i;
    return output;
}

tern_status tern__sharing_find(tern__compilation *c, uint64_t **out)
{
    const tern_graph *g = c->graph;
    *out = tern__arena_alloc(c->arena, (g->n_outputs + 1) * sizeof **out);
    if (!*out)
        return tern__out_of_memory(g->n_outputs * sizeof **out);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        (*out)[i] = sharing_of(g, i);
    return TERN_OK;
}

tern_status tern__sharing_check(const tern_graph *g, const uint64_t *before)
{
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint64_t now = sharing_of(g, i);
        TERN__FAIL_IF(now != before[i], TERN_INVALID_ARGUMENT,
                      "output '%s' %s: callers may write into either; insert contiguous", g->outputs[i].name,
                      now >> 32  ? "would share memory with a leaf"
                      : now != i ? "would share memory with another output"
                                 : "would no longer share memory as it was recorded");
    }
    return TERN_OK;
}

/* ---- running ---- */

void tern__note_line(void *user, const char *line)
{
    tern__note(user, "%s", line);
}

void tern__forget_error(void)
{
    tern__fail(TERN_OK, "%s", "");
}

tern_status tern__edit_take(tern__compilation *c, tern_edit *edit)
{
    tern__graph_reset(c->spare);
    TERN_TRY(tern__edit_put_in_order(edit, c->spare));
    tern_graph old = *c->graph;
    *c->graph = *c->spare;
    *c->spare = old;
    return TERN_OK;
}

static tern_status fail_of(const tern_custom_pass *pass, tern_status status, const char *what)
{
    char reason[TERN__MESSAGE_MAX];
    bool known = strcmp(tern_status_name(status), "unknown") != 0;
    snprintf(reason, sizeof reason, "%s", tern_last_error()[0] ? tern_last_error() : "it gave no reason");
    return tern__fail(known ? status : TERN_INVALID_ARGUMENT, "compile: pass '%s' %s: %s", pass->name, what,
                      reason);
}

tern_status tern__run_custom(tern__compilation *c, const tern_custom_pass *pass)
{
    uint64_t *sharing;
    tern_edit edit;
    TERN_TRY(tern__sharing_find(c, &sharing));
    TERN_TRY(tern__edit_open(&edit, c->graph));
    edit.note = tern__note_line;
    edit.note_user = c;
    tern__forget_error();
    tern_status status = pass->run(pass->user, &edit);
    uint32_t edits = edit.n_edits;
    if (status != TERN_OK) {
        tern__edit_close(&edit);
        return fail_of(pass, status, "failed");
    }
    if (edits > 0) {
        status = tern__edit_take(c, &edit);
        if (status == TERN_OK)
            status = tern__sharing_check(c->graph, sharing);
    }
    tern__edit_close(&edit);
    if (status != TERN_OK)
        return status == TERN_OUT_OF_MEMORY ? status : fail_of(pass, status, "broke the graph");
    uint32_t removed = 0;
    if (edits > 0)
        TERN_TRY(tern__remove_dead(c, false, &removed));
    c->changes = edits;
    return TERN_OK;
}
