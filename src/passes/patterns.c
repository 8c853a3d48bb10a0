/* patterns.c - fusion patterns of the caller's, tried node by node. What a pattern does is taken back if it says that it failed,
 * if the target cannot run what it made, or if the graph does not hold together afterwards.
 *
 * Looking for cycles after every match would cost a walk of the graph each time. So matches are taken on trust first; only if
 * the whole does not settle is everything taken back and tried again, with a look after each. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "graph/call.h"
#include "graph/region.h"
#include "passes/custom.h"
#include "passes/rewrite.h"

tern_status tern__pass_patterns(tern__compilation *c);

typedef struct matcher {
    tern__compilation *c;
    tern_edit edit;
    bool careful;
    uint32_t fused, failures;
} matcher;

/* ---- was it right? ---- */

static tern_status check_regions(const matcher *m, uint32_t first)
{
    const tern__target *target = m->c->target;
    const tern_graph *g = m->edit.graph;
    for (tern__id n = first; n < g->n_nodes; n++) {
        const tern__region *r =
            g->nodes[n].op == TERN__OP_fused ? g->nodes[n].attrs[TERN__ATTR_fused_body].region : NULL;
        for (int i = 0; r && !g->nodes[n].removed && i < r->n_ops; i++) {
            const tern__type *in[TERN__MAX_INPUTS_FIXED];
            tern__call call = tern__region_call(r, i, in);
            TERN__FAIL_IF(call.n_in > 0 && (!target->fuses || !target->fuses(target, &call)),
                          TERN_UNSUPPORTED, "%s cannot run %s of these types in a fused step", target->name,
                          call.op->name);
        }
    }
    return TERN_OK;
}

static tern_status check(const matcher *m, const tern__edit_mark *mark)
{
    TERN__FAIL_IF(m->edit.n_edits == mark->edits, TERN_INVALID_ARGUMENT,
                  "it says that it fused, but changed nothing");
    TERN_TRY(check_regions(m, mark->nodes));
    return m->careful ? tern__edit_check(&m->edit) : TERN_OK;
}

/* ---- what it brought ---- */

static double bytes_of(const matcher *m, tern__id n)
{
    tern__call_room room;
    tern__call call;
    if (tern__call_of(m->edit.graph, n, &room, m->c->arena, &call) != TERN_OK)
        return 0; /* no memory for a line of the report */
    return tern__op_bytes(&call);
}

/* Nodes that it removed moved so many bytes; those that it added move so many. */
static void log_match(const matcher *m, const char *kind, const char *value, const tern__edit_mark *mark)
{
    const tern_graph *g = m->edit.graph;
    tern__id gone[TERN__REGION_MAX_OPS];
    uint32_t n = 0;
    double before = 0, after = 0;
    for (size_t i = mark->changes; i < m->edit.n_changes && n < TERN__REGION_MAX_OPS; i++) {
        const tern__edit_change *change = &m->edit.changes[i];
        if (change->kind != TERN__CHANGED_REMOVED || change->index >= mark->nodes)
            continue;
        gone[n++] = change->index;
        before += bytes_of(m, change->index);
    }
    for (tern__id i = mark->nodes; i < g->n_nodes; i++)
        if (!g->nodes[i].removed)
            after += bytes_of(m, i);
    if (n == 0) { /* what it replaced goes when nobody reads it any more */
        tern__note(m->c, "pattern '%s' put something else in the place of %s", kind, value);
        return;
    }
    tern__log_fusion(m->c, kind, g, n, gone, before, after);
    tern__note(m->c, "pattern '%s' made one step of %u node%s", kind, n, n == 1 ? "" : "s");
}

/* ---- trying ---- */

/* true: the pattern applied. */
static bool try_at(matcher *m, const tern_fusion_pattern *pattern, tern__id n)
{
    char value[TERN__VALUE_TEXT];
    tern__edit_mark mark = tern__edit_here(&m->edit);
    tern__value_text(m->c, m->edit.graph, m->edit.graph->nodes[n].out, value);
    tern__forget_error();
    tern_match answer = pattern->fuse(pattern->user, &m->edit, n);
    if (answer == TERN_MATCH_FUSED && check(m, &mark) == TERN_OK) {
        log_match(m, pattern->name, value, &mark);
        m->fused++;
        return true;
    }
    if (m->edit.n_edits != mark.edits || m->edit.n_changes != mark.changes)
        tern__edit_undo(&m->edit, mark);
    if (answer == TERN_MATCH_NONE)
        return false;
    m->failures++;
    tern__note(m->c, "pattern '%s' failed at %s, the compiler goes on without it: %s", pattern->name, value,
               tern_last_error()[0] ? tern_last_error() : "it gave no reason");
    return false;
}

static void try_all(matcher *m)
{
    const tern__extensions *e = m->c->options.extensions;
    const tern_graph *g = m->edit.graph;
    uint32_t nodes = g->n_nodes;
    for (tern__id n = 0; n < nodes; n++)
        for (int i = 0; i < e->n_patterns; i++) {
            const tern_fusion_pattern *pattern = &e->patterns[i];
            if (g->nodes[n].removed || g->nodes[n].leaf != TERN__NO_ID ||
                (pattern->op && strcmp(tern__ops[g->nodes[n].op].name, pattern->op) != 0))
                continue;
            if (try_at(m, pattern, n))
                break;
        }
}

static tern_status settle(matcher *m, const uint64_t *sharing)
{
    /* Edges between outputs and buffers do not depend on the order of nodes: look before the graph changes hands. */
    TERN_TRY(tern__sharing_check(m->edit.graph, sharing));
    return tern__edit_take(m->c, &m->edit);
}

/* Forgets what a first attempt reported. */
static void start_over(matcher *m, tern__edit_mark start, size_t n_fusions)
{
    tern__edit_undo(&m->edit, start);
    m->careful = true;
    m->fused = m->failures = 0;
    if (m->c->report)
        m->c->report->n_fusions = n_fusions;
    if (m->c->log)
        m->c->log->n_notes = 0;
}

static tern_status run(matcher *m, const uint64_t *sharing)
{
    tern__edit_mark start = tern__edit_here(&m->edit);
    size_t n_fusions = m->c->report ? m->c->report->n_fusions : 0;
    try_all(m);
    if (m->fused == 0)
        return TERN_OK;
    tern_status status = settle(m, sharing);
    if (status == TERN_OK || status == TERN_OUT_OF_MEMORY)
        return status;
    start_over(m, start, n_fusions);
    try_all(m);
    status = m->fused > 0 ? settle(m, sharing) : TERN_OK;
    if (status == TERN_OK || status == TERN_OUT_OF_MEMORY)
        return status;
    tern__note(m->c, "all matches were taken back: %s", tern_last_error());
    tern__edit_undo(&m->edit, start);
    if (m->c->report)
        m->c->report->n_fusions = n_fusions;
    m->failures += m->fused;
    m->fused = 0;
    return TERN_OK;
}

tern_status tern__pass_patterns(tern__compilation *c)
{
    matcher m = {.c = c};
    uint64_t *sharing;
    if (!c->options.extensions || c->options.extensions->n_patterns == 0)
        return TERN_OK;
    TERN_TRY(tern__sharing_find(c, &sharing));
    TERN_TRY(tern__edit_open(&m.edit, c->graph));
    m.edit.note = tern__note_line;
    m.edit.note_user = c;
    tern_status status = run(&m, sharing);
    tern__edit_close(&m.edit);
    TERN_TRY(status);
    c->changes = m.fused;
    if (c->log)
        c->log->failures = m.failures;
    uint32_t removed;
    return m.fused > 0 ? tern__remove_dead(c, false, &removed) : TERN_OK;
}
