/* pipeline.c - runs the passes of passes.def in order. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/trace.h"
#include "graph/text.h"
#include "passes/rewrite.h"

#define TERN_PASS(name, level, kind, description) tern_status tern__pass_##name(tern__compilation *c);
#include "passes/passes.def"
#undef TERN_PASS

const tern__pass tern__passes[] = {
#define TERN_PASS(name, level, kind, description) \
    {#name, description, TERN_LEVEL_##level, TERN__PASS_##kind, tern__pass_##name},
#include "passes/passes.def"
#undef TERN_PASS
};
const int tern__n_passes = (int)TERN__COUNT(tern__passes);
_Static_assert(TERN__COUNT(tern__passes) <= 64, "tern__compile_options.disabled has a bit for each");

/* ---- the report ---- */

void tern__report_init(tern__report *report)
{
    *report = (tern__report){0};
    tern__arena_init(&report->arena, 0);
}

void tern__report_free(tern__report *report)
{
    for (uint32_t i = 0; i < report->n_passes; i++)
        tern__free(report->passes[i].notes);
    tern__strbuf_free(&report->line);
    tern__free(report->passes);
    tern__free(report->fusions);
    tern__arena_free(&report->arena);
    tern__report_init(report);
}

static bool name_nodes(tern__compilation *c, const tern_graph *g, const tern__id *nodes, tern__fusion *f)
{
    tern__arena *arena = &c->report->arena;
    f->nodes = tern__arena_alloc(arena, f->n_nodes * sizeof *f->nodes);
    f->ops = tern__arena_alloc(arena, f->n_nodes * sizeof *f->ops);
    for (uint32_t i = 0; f->nodes && f->ops && i < f->n_nodes; i++) {
        char text[TERN__VALUE_TEXT];
        tern__value_text(c, g, g->nodes[nodes[i]].out, text);
        f->ops[i] = tern__ops[g->nodes[nodes[i]].op].name;
        f->nodes[i] = tern__arena_strndup(arena, text, strlen(text));
        if (!f->nodes[i])
            return false;
    }
    return f->nodes && f->ops;
}

/* A report that there is no memory for is no reason to fail. */
void tern__note(tern__compilation *c, const char *format, ...)
{
    tern__pass_log *log = c->log;
    if (!log)
        return;
    tern__strbuf *line = &c->report->line;
    line->length = 0;
    line->failed = false;
    va_list args;
    va_start(args, format);
    tern__strbuf_add_v(line, format, args);
    va_end(args);
    if (line->failed ||
        !tern__grow((void **)&log->notes, &log->cap_notes, log->n_notes + 1, sizeof *log->notes))
        return;
    const char *note = tern__arena_strndup(&c->report->arena, line->text, line->length);
    if (note)
        log->notes[log->n_notes++] = note;
}

void tern__log_fusion(tern__compilation *c, const char *kind, const tern_graph *g, uint32_t n,
                      const tern__id *nodes, double bytes_before, double bytes_after)
{
    tern__report *r = c->report;
    if (!r || !c->log ||
        !tern__grow((void **)&r->fusions, &r->cap_fusions, r->n_fusions + 1, sizeof *r->fusions))
        return;
    tern__fusion *f = &r->fusions[r->n_fusions];
    *f = (tern__fusion){.n_nodes = n, .bytes_before = bytes_before, .bytes_after = bytes_after};
    f->kind = tern__arena_strndup(&r->arena, kind, strlen(kind));
    if (f->kind && name_nodes(c, g, nodes, f))
        r->n_fusions++;
}

/* ---- one pass after the other ---- */

typedef struct pipeline {
    tern__compilation *c;
    uint32_t next;  /* log to fill */
    uint32_t label; /* number for the next value that a pass makes */
} pipeline;

static void begin_pass(pipeline *p, const char *name, bool custom)
{
    tern__compilation *c = p->c;
    c->changes = 0;
    c->log = c->report ? &c->report->passes[p->next++] : NULL;
    if (c->log)
        *c->log = (tern__pass_log){.name = name,
                                   .custom = custom,
                                   .nodes_before = c->graph->n_nodes,
                                   .nodes_after = c->graph->n_nodes};
}

static tern_status end_pass(pipeline *p, const char *name, uint64_t start)
{
    tern__compilation *c = p->c;
    if (c->log) {
        TERN_TRY(tern__labels_number(c->graph, &p->label));
        c->log->ran = true;
        c->log->changes = c->changes;
        c->log->nodes_after = c->graph->n_nodes;
        c->log->ns = tern__now_ns() - start;
    }
    if (c->options.observe) {
        c->options.observe(c->options.observe_user, name, (int)c->changes, c->graph);
        tern__graph_forget_labels(c->graph); /* the next pass changes what it may have asked for */
    }
    return TERN_OK;
}

bool tern__pass_is_on(const tern__compile_options *options, tern__pass_id pass)
{
    return options->level >= tern__passes[pass].level && !(options->disabled >> pass & 1);
}

static tern_status run_pass(tern__compilation *c, const tern__pass *pass)
{
    uint64_t start = tern__trace_begin(), scope = tern__watch_enter(pass->name, "pass");
    tern_status status = pass->run(c);
    tern__watch_leave(scope);
    tern__trace_end(start, pass->name, "pass", UINT32_MAX, 0, 0);
#if TERN_DEBUG
    if (status == TERN_OK && c->changes > 0 && pass->kind == TERN__PASS_GRAPH) {
        status = tern_graph_verify(c->graph);
        if (status != TERN_OK && status != TERN_OUT_OF_MEMORY)
            status =
                tern__fail(TERN_INTERNAL, "pass '%s' broke the graph: %s", pass->name, tern_last_error());
    }
#endif
    return status;
}

/* The caller's passes that run before pass number `at`. */
static tern_status run_extensions(pipeline *p, int at)
{
    const tern__extensions *e = p->c->options.extensions;
    for (int i = 0; e && i < e->n_passes; i++) {
        const tern__extension *x = &e->passes[i];
        if (x->at != at)
            continue;
        begin_pass(p, x->pass.name, true);
        uint64_t start = p->c->log ? tern__now_ns() : 0;
        if (x->off || p->c->options.level < x->pass.level)
            continue;
        TERN_TRY(tern__run_custom(p->c, &x->pass));
        TERN_TRY(end_pass(p, x->pass.name, start));
    }
    return TERN_OK;
}

/* Values keep their names, numbers too, from the recorded graph to the plan: what is said of one can be found in all. */
static tern_status run_all(pipeline *p)
{
    tern__compilation *c = p->c;
    if (c->report)
        TERN_TRY(tern__labels_fix(c->graph, &p->label));
    for (int i = 0; i < tern__n_passes; i++) {
        const tern__pass *pass = &tern__passes[i];
        TERN_TRY(run_extensions(p, i));
        begin_pass(p, pass->name, false);
        uint64_t start = c->log ? tern__now_ns() : 0;
        if (!tern__pass_is_on(&c->options, (tern__pass_id)i))
            continue;
        TERN_TRY(run_pass(c, pass));
        TERN_TRY(end_pass(p, pass->name, start));
    }
    return TERN_OK;
}

static tern_status make_logs(tern__report *report, const tern__compile_options *options)
{
    size_t n = (size_t)tern__n_passes + (options->extensions ? (size_t)options->extensions->n_passes : 0);
    report->passes = tern__alloc_zero(n, sizeof *report->passes);
    if (!report->passes)
        return tern__out_of_memory(n * sizeof *report->passes);
    report->n_passes = (uint32_t)n;
    return TERN_OK;
}

/* Passes may make constants that are filled from the graph's own later on: those must not go meanwhile, even if the graph as it
 * is then has no use for them. */
static tern_status hold_leaves(const tern_graph *g, tern__arena *arena, tern__storage ***held)
{
    *held = tern__arena_alloc_zero(arena, g->n_leaves, sizeof **held);
    if (!*held)
        return tern__out_of_memory(g->n_leaves * sizeof **held);
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        (*held)[i] = g->leaves[i].storage;
        if ((*held)[i])
            tern__storage_retain((*held)[i]);
    }
    return TERN_OK;
}

tern_status tern__compile(tern_graph *graph, const tern__target *target, const tern__compile_options *options,
                          tern__arena *arena, tern__plan *plan, tern__report *report)
{
    memset(plan, 0, sizeof *plan);
    tern_graph spare;
    if (report)
        TERN_TRY(make_logs(report, options));
    uint32_t n_held = graph->n_leaves;
    tern__storage **held;
    TERN_TRY(hold_leaves(graph, arena, &held));
    tern__graph_init(&spare);
    tern__compilation c = {.graph = graph,
                           .spare = &spare,
                           .options = *options,
                           .report = report,
                           .target = target,
                           .arena = arena,
                           .plan = plan};
    tern_status status = run_all(&(pipeline){.c = &c});
    tern__graph_clear(&spare);
    for (uint32_t i = 0; i < n_held; i++)
        tern__storage_release(held[i]);
    TERN_TRY(status);
    char scratch[64] = "";
    if (plan->scratch_bytes > 0)
        snprintf(scratch, sizeof scratch, ", up to %zu of them scratch for a kernel", plan->scratch_bytes);
    TERN__FAIL_IF(
        options->memory_limit && plan->arena_bytes > options->memory_limit, TERN_LIMIT,
        "compile: intermediates need %zu bytes and the limit is %zu (at least %zu are in use at once%s)",
        plan->arena_bytes, options->memory_limit, plan->live_bytes, scratch);
    return TERN_OK;
}
