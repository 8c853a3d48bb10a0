/* pipeline.c - runs the passes of passes.def in order. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/trace.h"
#include "passes/pass.h"

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

/* ---- options ---- */

static const char *const level_names[] = {
#define TERN_LEVEL_NAME(id, number, name, meaning) [number] = name,
    TERN_LEVEL_LIST(TERN_LEVEL_NAME)
#undef TERN_LEVEL_NAME
};

const char *tern_level_name(tern_level level)
{
    return (unsigned)level < TERN__COUNT(level_names) ? level_names[level] : "invalid";
}

tern_status tern_level_parse(const char *name, tern_level *out)
{
    for (size_t i = 0; name && i < TERN__COUNT(level_names); i++)
        if (strcmp(name, level_names[i]) == 0) {
            *out = (tern_level)i;
            return TERN_OK;
        }
    return tern__fail(TERN_NOT_FOUND, "there is no level '%s': none, low, medium or high", name ? name : "");
}

tern_compile_options tern_compile_options_default(void)
{
    return (tern_compile_options){.level = TERN_LEVEL_MEDIUM};
}

static tern_status find_pass(const char *name, int *out)
{
    for (int i = 0; name && i < tern__n_passes; i++)
        if (strcmp(tern__passes[i].name, name) == 0) {
            *out = i;
            return TERN_OK;
        }
    return tern__fail(TERN_NOT_FOUND, "compile: there is no pass '%s'; `tern list passes` names them",
                      name ? name : "");
}

tern_status tern__compile_options_from(const tern_compile_options *options, tern__compile_options *out)
{
    tern_compile_options defaults = tern_compile_options_default();
    if (!options)
        options = &defaults;
    TERN__FAIL_IF((unsigned)options->level >= TERN__COUNT(level_names), TERN_INVALID_ARGUMENT,
                  "compile: level %d is not one", (int)options->level);
    TERN__FAIL_IF(options->n_disabled < 0 || (options->n_disabled > 0 && !options->disabled),
                  TERN_INVALID_ARGUMENT, "compile: %d disabled passes at NULL", options->n_disabled);
    *out = (tern__compile_options){.level = options->level, .memory_limit = options->memory_limit};
    for (int i = 0; i < options->n_disabled; i++) {
        int pass = 0;
        TERN_TRY(find_pass(options->disabled[i], &pass));
        TERN__FAIL_IF(tern__passes[pass].kind == TERN__PASS_PLAN, TERN_INVALID_ARGUMENT,
                      "compile: pass '%s' makes the plan and cannot be switched off",
                      tern__passes[pass].name);
        out->disabled |= (uint64_t)1 << pass;
    }
    return TERN_OK;
}

/* ---- running ---- */

void tern__note(tern__compilation *c, const char *format, ...)
{
    if (!c->log)
        return;
    char line[TERN__MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    tern__strbuf_add(&c->log->notes, line);
    tern__strbuf_add(&c->log->notes, "\n");
}

static tern_status run_pass(tern__compilation *c, const tern__pass *pass)
{
    uint64_t start = tern__trace_begin();
    tern_status status = pass->run(c);
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

static tern_status run_all(tern__compilation *c, tern__pass_log *logs)
{
    for (int i = 0; i < tern__n_passes; i++) {
        const tern__pass *pass = &tern__passes[i];
        c->log = logs ? &logs[i] : NULL;
        c->changes = 0;
        bool runs = c->options.level >= pass->level && !(c->options.disabled >> i & 1);
        uint64_t start = c->log ? tern__now_ns() : 0;
        if (runs)
            TERN_TRY(run_pass(c, pass));
        if (c->log) {
            c->log->ran = runs;
            c->log->changes = c->changes;
            c->log->nodes_after = c->graph->n_nodes;
            c->log->ns = tern__now_ns() - start;
        }
    }
    return TERN_OK;
}

tern_status tern__compile(tern_graph *graph, const tern__target *target, const tern__compile_options *options,
                          tern__arena *arena, tern__plan *plan, tern__pass_log *logs)
{
    memset(plan, 0, sizeof *plan);
    tern_graph spare;
    tern__graph_init(&spare);
    tern__compilation c = {
        .graph = graph, .spare = &spare, .options = *options, .target = target, .arena = arena, .plan = plan};
    tern_status status = run_all(&c, logs);
    tern__graph_clear(&spare);
    TERN_TRY(status);
    TERN__FAIL_IF(options->memory_limit && plan->arena_bytes > options->memory_limit, TERN_LIMIT,
                  "compile: intermediates need %zu bytes, the limit is %zu", plan->arena_bytes,
                  options->memory_limit);
    return TERN_OK;
}
